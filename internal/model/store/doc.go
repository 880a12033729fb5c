// Package store takes in records, finds the request that each belongs to (identify, DESIGN 4a), and gives them out again grouped by request.
//
// Records are kept encoded, without pointers, in chunks of streams:
//
//   - a keyed stream per partition: records whose request is known, in the partition of the hash of its id
//   - a waiting stream per partition: records without a strong key (R4.1), in the partition of their trace
//   - one stream of the processes: records that belong to no request
//
// A chunk is a run of records and a dictionary. A record names its (request, trace, file) by the number of an entry of the dictionary, so that an
// id and a trace id cost nothing per record, and identify reads dictionaries instead of records: they hold every (trace, key) pair of the capture.
//
// What else records have in common, such as their name, stage, resource and the keys of their attributes, is their shape: a record names it by its number in a
// table of the store, and what follows from a shape is worked out once by every reader. A table is bounded; a record of a shape that it does not take spells it
// out.
//
// Identify goes over the waiting records and the dictionaries a fixed number of times and moves each waiting record to the partition of its request.
// What a partition has to know of another one it is told in notes, which lie in streams too: tables are of one partition at a time. Only spans without a
// key in traces of several requests, and what is above them, are kept in memory for all partitions together.
//
// Partitions are ranges of the hash of the request's id and requests come out in the order of that hash: the sequence of requests is the same for any
// number of partitions and writers, in memory or on disk, and for any order of arrival (R2.4). 64 bits of the hash are the XXH64 of the id.
package store
