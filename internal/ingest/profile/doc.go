// Package profile decodes CB_PROFILE lines: JSON objects, one a line, that the CacheBlend plugin writes of the scheduler's and the workers' work.
// Their keys are not documented; model.ProfileKeys and model.ProfileNames assume them, and a Map overrides both (--profile-map).
//
//	keys.go     what the keys and names of lines mean
//	mapfile.go  --profile-map
//	decimal.go  numbers of times, never through a float
//	line.go     what a line says
//	head.go     the first lines of an input: units that only several lines together tell (R4.12)
//	nest.go     the unit under which one request's lines nest
//	decoder.go  lines to records
//	learn.go    how the lines before were spelled
//	quick.go    fast reading of lines that are spelled like those
//	runs.go     what stays the same from line to line
//	facts.go    what all blocks of an input saw, and what follows: refused, without an epoch, choices
//	hashes.go   lookup-hash lines, which are no profile lines but lie beside them (CONTRACT-lmcache 5.1)
//
// A unit needs the beginning of an input before any line can be decoded, although blocks decode in parallel: the reader shows the first blocks to a
// Head, makes a Plan of it, and every Decoder of the input works by that Plan. What contradicts it is noted in the blocks' Facts, and once all
// are decoded Plan.Finish decides from all of them, so that the answer does not depend on their order.
package profile
