package decode

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

const booted = model.Time(1_764_432_000_000_000_000) // what the wall clock said when the monotonic one said 0

// An instant of a record: of the monotonic clock, and how far the wall clock had been set by then.
type instant struct{ mono, ahead time.Duration }

// every is a record each so often up to an end; the wall clock is set at an instant.
func every(step, end, set, by time.Duration) (out []instant) {
	for at := time.Duration(0); at < end; at += step {
		x := instant{mono: at}
		if at >= set {
			x.ahead = by
		}
		out = append(out, x)
	}
	return out
}

func stepsOf(in []instant) *Steps {
	var s Steps
	for _, x := range in {
		s.Add(x.mono, booted+model.Time(x.mono+x.ahead))
	}
	return &s
}

func TestSteps(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	never := time.Hour
	slewed := func(ppm time.Duration) (out []instant) {
		for _, x := range every(100*ms, 600*s, never, 0) {
			out = append(out, instant{x.mono, x.mono * ppm / 1_000_000})
		}
		return out
	}
	for _, c := range []struct {
		name string
		in   []instant
		want string // By of each
	}{
		{"never set", every(100*ms, 60*s, never, 0), ""},
		{"nothing", nil, ""},
		{"set forward", every(100*ms, 60*s, 30*s, 2*s), "2s"},
		{"set back", every(100*ms, 60*s, 30*s, -250*ms), "-250ms"},
		{"by 5 ms, with a record every 10", every(10*ms, 60*s, 30*s, 5*ms), "5ms"},
		{"by a millisecond, which a process may be held up", every(10*ms, 60*s, 30*s, ms), ""},
		{"slewed by 500 ppm", slewed(500), ""},
		{"slewed by 999 ppm", slewed(999), ""},
		{"twice", append(every(100*ms, 60*s, 30*s, s), func() []instant {
			later := every(100*ms, 60*s, 0, 3*s)
			for i := range later {
				later[i].mono += 90 * s
			}
			return later
		}()...), "1s 2s"},
		{"one record that was held up", append(every(100*ms, 60*s, never, 0), instant{30*s + 50*ms, 40 * ms}), ""},
		{"the first record was held up", append(every(100*ms, 60*s, 0, 0)[1:], instant{0, 40 * ms}), ""},
		{"the last record was held up", append(every(100*ms, 60*s, never, 0), instant{60 * s, 40 * ms}), ""},
		{"three records at the end", append(every(100*ms, 60*s, never, 0), instant{60 * s, s}, instant{60*s + ms, s}, instant{60*s + 2*ms, s}), "1s"},
		{"a second apart, over a minute's pause", append(every(100*ms, 10*s, never, 0), instant{70 * s, s}, instant{71 * s, s}), "1s"},
		{"50 ms apart, over a minute's pause: as a slewed clock may get", append(every(100*ms, 10*s, never, 0), instant{70 * s, 50 * ms}, instant{71 * s, 50 * ms}), ""},
		{"a day, set by a second at noon", every(s, 24*time.Hour, 12*time.Hour, s), "1s"},
	} {
		var got []string
		for _, x := range stepsOf(c.in).List() {
			got = append(got, x.By.String())
		}
		if text := fmt.Sprint(got); text != "["+c.want+"]" {
			t.Errorf("%s: %s, want [%s]", c.name, text, c.want)
		}
	}
	at := stepsOf(every(100*ms, 60*s, 30*s, 2*s)).List()[0].At.Sub(booted)
	if at < 31900*ms || at > 32*s {
		t.Errorf("set at %v of the wall clock, want about 32s", at)
	}
}

// The order of records and how an input is cut change nothing, and what is kept is bounded.
func TestStepsMerge(t *testing.T) {
	in := every(time.Second, 24*time.Hour, 12*time.Hour, time.Second)
	want := stepsOf(in)
	if len(want.cells) > maxCells {
		t.Errorf("%d cells", len(want.cells))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for parts := range 5 {
		rng.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
		var all Steps
		for i := range parts + 1 {
			n := len(in) / (parts + 1)
			end := (i + 1) * n
			if i == parts {
				end = len(in)
			}
			all.Merge(stepsOf(in[i*n : end]))
		}
		if all.shift != want.shift || all.base != want.base || !slices.Equal(all.cells, want.cells) {
			t.Errorf("%d parts: other cells", parts+1)
		}
	}
	var far Steps
	far.Add(0, booted)
	far.Add(1<<62, booted)
	if len(far.cells) > maxCells || far.List() != nil {
		t.Errorf("%d cells, steps %v", len(far.cells), far.List())
	}
}
