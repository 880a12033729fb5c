// Package lct reads LMCache's recordings (.lct, CONTRACT-lmcache 2): frames of a length as 4 bytes, big-endian, and a msgpack map. The first
// map is the header, the others are records: calls of the storage manager (level storage), batches of cache events (level events), or what
// later levels hold.
//
// Records are walked by hand, without a copy or an allocation; package msgpack reads what the header says of its level. Nothing is allocated
// by a length field. Texts of errors never hold what a record does: recordings of events hold token ids (R3.6).
//
// Traps:
//   - A record is a moment, the entry of a call: it has no result and no duration.
//   - The oldest recorder (a header with lmcache_version) put its header down again in place once it knew the configuration. A longer one
//     lies over the first records; what follows has to be found again.
//   - Lengths say nothing about versions; keys come in any order; unknown keys, tags and levels are no damage.
//   - A length over the limit or past the end of the file is where a killed recorder stopped: what came before counts, nothing after it.
package lct
