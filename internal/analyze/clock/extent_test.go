package clock

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// strayYear are n requests within seconds of one another, of two spans each.
const strayYear = `
	* Q - cb.request {i}*10 {i}*10+5
	* S Q cb.schedule {i}*10 {i}*10+4`

// R8.8: the smallest groups of instants go while they are at most 0.1 % together.
func TestRange(t *testing.T) {
	const odd = "\n	odd Q - cb.request 300000000 300000001"
	for _, c := range []struct {
		name       string
		rows       string
		times      int
		start, end int64 // ms
	}{
		{"one of 1201 spans", strayYear + odd, 600, 0, 5995},
		{"one of 801 is too many", strayYear + odd, 400, 0, 300_000_001},
		{"three of 3203, in three groups", strayYear + odd + `
			old Q - cb.request 100000000 100000001
			older Q - cb.request 200000000 200000001`, 1600, 0, 15_995},
		{"the group of two is too many together with the other", strayYear + odd + `
			old Q - cb.request 100000000 100000001
			older Q - cb.request 100000000 100000001`, 1200, 0, 100_000_001},
		{"before the others", "\n	odd Q - cb.request 0 1" + `
			* Q - cb.request {i}*10+200000000 {i}*10+200000005
			* S Q cb.schedule {i}*10+200000000 {i}*10+200000004`, 600, 200_000_000, 200_005_995},
		{"exactly a day apart is one time", strayYear + "\n	odd Q - cb.request 86405995 86405995", 600, 0, 86_405_995},
		{"a tick more is not", strayYear + "\n	odd Q - cb.request 86405996 86405996", 600, 0, 5995},
		{"one span alone", "	odd Q - cb.request 7 9", 1, 7, 9},
	} {
		got := captureOf(t, ms, c.times, c.rows)
		start, end, ok := got.table().Range()
		if !ok || int64(start-epoch) != c.start*ms || int64(end-epoch) != c.end*ms {
			t.Errorf("%s: %d … %d ns, want %d … %d ms", c.name, start-epoch, end-epoch, c.start, c.end)
		}
	}
}

// Groups are the same for every order of the instants, to the ends of what 64 bits can tell.
func TestExtentOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	ts := []model.Time{math.MinInt64, math.MaxInt64, -1, 0, 1, -day, day - 1, day}
	for range 3000 {
		ts = append(ts, model.Time(rng.Int64N(int64(40*day))))
	}
	var want extent
	for _, x := range ts {
		want.add(x)
	}
	first, last, _ := want.span()
	if first != -day || last < 39*day || last > 40*day {
		t.Errorf("%d … %d: the two at the ends of time are 2 of 3008", first, last)
	}
	for range 5 {
		rng.Shuffle(len(ts), func(i, j int) { ts[i], ts[j] = ts[j], ts[i] })
		var got, half extent
		for i, x := range ts {
			if i%2 == 0 {
				got.add(x)
			} else {
				half.add(x)
			}
		}
		got.merge(&half)
		if f, l, ok := got.span(); f != first || l != last || !ok {
			t.Errorf("%d … %d, want %d … %d", f, l, first, last)
		}
	}
}
