package model

import "testing"

// R4.25: a moment beyond the window (a recorded call, a lookup-hash line on a clock of its own) is no work that ran on; a span there is.
func TestPointsAreNoTail(t *testing.T) {
	const text = `
		Q - cb.request 0 1000
		A Q app.flush 5000 5000`
	for _, c := range []struct {
		name  string
		class Class
		want  int64
	}{{"a span", Work, 4000}, {"a point", Point, 0}} {
		r := rows(t, text)
		r.Spans[1].Class = c.class
		var b Builder
		r = b.Clean(r)[0]
		b.Link(r, 1, noClock{}, LinkOptions{})
		if got := r.Tail.Microseconds(); got != c.want {
			t.Errorf("%s: tail %d µs, want %d", c.name, got, c.want)
		}
	}
}
