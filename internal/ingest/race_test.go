//go:build race

package ingest

// largeInput is how many bytes the large inputs of tests have: less under the race detector, which is slow.
const largeInput = 4 << 20
