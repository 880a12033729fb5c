// Package analyze drives the phases of DESIGN 2 over a capture: read, identify, survey (run.go), and analysis of one request at a time into a row (row.go),
// which the aggregates of the packages below it add up. It reads through an interface (Read) and writes nothing.
package analyze
