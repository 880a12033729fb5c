// Package model holds what every part of cbtrace speaks of: the vocabulary, records, spans, requests and their trees, rows, and the series of R8.3.
// It knows no format, no file and no clock but those it is given.
//
// What of the inputs is unlike what one would think, and where that is taken care of:
//
//   - A capture begins and ends in the middle of requests. Their parents are missing (R4.16, R4.17), their windows touch its edge (R7.13).
//   - A request is in several traces, and a trace holds several requests: neither id is the other (R4.1–R4.5, package store).
//   - The engine calls a request by another id than the client and the cache, with an index before it or 8 digits behind (ids.go, R4.2).
//   - The server's own root closes before its work is done, or long after (R4.24); spans under it hang by id where they do not belong (R4.18).
//   - A poll stamps the END of some of the server's spans: the server was done before, and nobody knows when (R7.1, R7.2).
//   - Spans end when their process is stopped, minutes after their work (R4.30).
//   - Clocks are apart by more than what they measure, and drift; one process is never moved against itself (align.go, section 5).
//   - One piece of work is seen twice, as a span and as a profile line, or as an open span and a closed one (R4.8–R4.10).
//   - One request loads twice: by several ranks, which is usual, or again, which may be waste (attempts.go, R7.9, R7.10).
//   - Numbers are written as texts, truths as "True", and nothing as "None" (attrs.go, R7.6).
//   - Profile lines give times in any unit, on clocks without an epoch (profileplan.go, R4.12).
//   - Values hold prompts and credentials, also inside JSON in texts; they are replaced where they are read (redact.go, R3.6).
package model
