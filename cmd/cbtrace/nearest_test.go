package main

import "testing"

func TestNearest(t *testing.T) {
	words := []string{"late_poll", "orphan", "relookup"}
	for word, want := range map[string]string{"late_pol": "late_poll", "latepoll": "late_poll", "orphans": "orphan", "": "", "store": "", "relokup": "relookup"} {
		if got := nearest(word, words); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"kitten", "sitting", 3}, {"abc", "", 3}, {"", "ab", 2}, {"flaw", "lawn", 2}, {"same", "same", 0}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
