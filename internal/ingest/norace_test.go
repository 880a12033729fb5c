//go:build !race

package ingest

// largeInput is how many bytes the large inputs of tests have.
const largeInput = 100 << 20
