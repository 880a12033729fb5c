package split

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/modeltest"
)

const ms = 1_000_000

// opts writes named numbers, unknown ones as "-"; times in ms where they are whole.
func opts(words ...any) string {
	var b strings.Builder
	for i := 0; i < len(words); i += 2 {
		if o := words[i+1].(model.Opt); o.OK {
			fmt.Fprintf(&b, " %s=%d", words[i], o.V)
		}
	}
	return strings.TrimSpace(b.String())
}

func (l *Lookup) text(d *model.Dict) string {
	inMS := func(o model.Opt) model.Opt {
		if o.OK && o.V%ms == 0 {
			o.V /= ms
		}
		return o
	}
	s := l.Basis.String() + " " + opts("rpc", inMS(l.RPC), "submit", inMS(l.Submit), "l2", inMS(l.L2Load), "min", inMS(l.L2LoadMin), "other", inMS(l.ServerOther),
		"poll", inMS(l.PollWait), "server", inMS(l.Server), "wait", inMS(l.Wait), "polls", l.NPolls, "longest", inMS(l.PollMaxInterval),
		"usual", inMS(l.PollInterval), "over", inMS(l.Overshoot))
	if l.AtMost {
		s += " at_most"
	}
	if l.OtherAtMost {
		s += " other_at_most"
	}
	if l.PollsInferred {
		s += " inferred"
	}
	for _, leg := range l.Legs {
		s += fmt.Sprintf(" %s=%d", d.Str(leg.Stage), leg.NS/ms)
	}
	return s
}

// R7.1–R7.4, worked out by hand.
func TestLookups(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		// The example of R7.1: 90 ms = 50 ms l2_load + 40 ms poll_wait.
		{"sync end", `
cb.lookup.rpc          sched  0ms 90ms
  cb.lookup            server 0ms 50ms
    cb.sparse_prefetch server 0ms 50ms l2_keys=4
      cb.l2_load       server 0ms 50ms`,
			"measured rpc=90 submit=0 l2=50 other=0 poll=40"},
		// ENDs that the collecting poll stamps prove no work: cb.l2_load still tells the same.
		{"async end with cb.l2_load", `
cb.lookup.rpc          sched  0ms 90ms
  cb.lookup            server 0ms 90ms
    cb.sparse_prefetch server 0ms 90ms l2_keys=4
      cb.l2_load       server 0ms 50ms`,
			"measured rpc=90 submit=0 l2=50 other=0 poll=40"},
		{"async end without", `
cb.lookup.rpc          sched  0ms 90ms
  cb.lookup            server 0ms 90ms
    cb.sparse_prefetch server 0ms 90ms l2_keys=4`,
			"inferred_upper rpc=90 submit=0 l2=90 other=0 poll=0 at_most"},
		// Submit at 0, polls at 50 and 90: the one at 50 found no answer.
		{"async end without, with polls", `
cb.lookup.rpc          sched  0ms 90ms polls=50ms,90ms
  cb.lookup            server 0ms 90ms
    cb.sparse_prefetch server 0ms 90ms l2_keys=4`,
			"inferred_upper rpc=90 submit=0 l2=90 min=50 other=0 poll=0 polls=2 longest=50 usual=40 over=0 at_most"},
		{"one poll gives no minimum", `
cb.lookup.rpc          sched  0ms 90ms polls=88ms
  cb.lookup            server 1ms 89ms
    cb.sparse_prefetch server 1ms 89ms l2_keys=4`,
			"inferred_upper rpc=90 submit=1 l2=88 other=0 poll=1 polls=1 longest=88 usual=88 at_most"},
		// The load ends at 50, the prefetch's own time before it counts as work, that after it as waiting; classify runs when collected.
		{"every part", `
cb.lookup.rpc              sched  0ms 100ms n_polls=4
  cb.lookup                server 5ms 95ms
    cb.fingerprint_match   server 6ms 10ms
    cb.sparse_prefetch     server 12ms 90ms l2_keys=4
      cb.l2_load           server 20ms 50ms
    cb.classify            server 91ms 93ms`,
			// other: 5–20 own time and match, 90–93 own time of cb.lookup and classify
			"measured rpc=100 submit=5 l2=30 other=18 poll=47 polls=4 usual=25 over=2 inferred"},
		{"two loads side by side count once", `
cb.lookup.rpc          sched  0ms 100ms
  cb.lookup            server 0ms 80ms
    cb.sparse_prefetch server 0ms 80ms l2_keys=4
      cb.l2_load       server 0ms 30ms
      cb.l2_load       server 20ms 60ms`,
			"measured rpc=100 submit=0 l2=60 other=0 poll=40"},
		{"no L2 key was needed", `
cb.lookup.rpc            sched  0ms 20ms
  cb.lookup              server 2ms 19ms
    cb.fingerprint_match server 3ms 9ms`,
			"measured rpc=20 submit=2 l2=0 other=7 poll=11"},
		{"a prefetch without L2 keys is no load", `
cb.lookup.rpc          sched  0ms 20ms
  cb.lookup            server 2ms 19ms
    cb.sparse_prefetch server 3ms 9ms l2_keys=0`,
			"measured rpc=20 submit=2 l2=0 other=7 poll=11"},
		{"the coordinator counts whole", `
cb.lookup.rpc            sched  0ms 20ms
  cb.lookup              server 2ms 19ms
    cb.coordinator_match server 3ms 9ms`,
			"inferred_upper rpc=20 submit=2 l2=0 other=7 poll=11 other_at_most"},
		{"a lookup without children counts whole", `
cb.lookup.rpc sched  0ms 20ms
  cb.lookup   server 2ms 19ms`,
			"inferred_upper rpc=20 submit=2 l2=0 other=17 poll=1 other_at_most"},
		{"a leg of the standard path with L2 hits stands in", `
cb.lookup.rpc            sched  0ms 20ms
  cb.lookup              server 2ms 19ms
    mp.lookup_prefetch   server 3ms 9ms l2_hit_tokens=256`,
			"inferred_upper rpc=20 submit=2 l2=6 other=1 poll=11 at_most"},
		{"a leg of the standard path without is work", `
cb.lookup.rpc            sched  0ms 20ms
  cb.lookup              server 2ms 19ms
    mp.lookup_prefetch   server 3ms 9ms l2_hit_tokens=0`,
			"measured rpc=20 submit=2 l2=0 other=7 poll=11"},
		{"nothing stands in beside a cb.l2_load", `
cb.lookup.rpc            sched  0ms 20ms
  cb.lookup              server 0ms 20ms
    mp.lookup_prefetch   server 1ms 9ms l2_hit_tokens=256
    cb.sparse_prefetch   server 9ms 20ms l2_keys=1
      cb.l2_load         server 10ms 15ms`,
			"measured rpc=20 submit=0 l2=5 other=10 poll=5"},
		{"the server sticks out", `
cb.lookup.rpc            sched  10ms 30ms
  cb.lookup              server 5ms 40ms
    cb.fingerprint_match server 6ms 35ms`,
			"measured rpc=20 submit=0 l2=0 other=20 poll=0"},
		{"no common clock", `
cb.lookup.rpc            sched  10ms 60ms
  cb.lookup              server 400ms 440ms
    cb.fingerprint_match server 400ms 440ms`,
			"durations_only rpc=50 l2=0 other=40 poll=10"},
		{"no common clock, a load", `
cb.lookup.rpc          sched  10ms 60ms
  cb.lookup            server 60ms 100ms
    cb.sparse_prefetch server 60ms 95ms l2_keys=1
      cb.l2_load       server 61ms 90ms`,
			"durations_only rpc=50 l2=29 other=1 poll=20"},
		{"no common clock, more work than time", `
cb.lookup.rpc sched  10ms 60ms
  cb.lookup   server 60ms 120ms`,
			"durations_only rpc=50 l2=0 other=60 poll=0"},
		{"touching by a tick is a clock", `
cb.lookup.rpc            sched  10ms 60ms
  cb.lookup              server 59ms 100ms
    cb.fingerprint_match server 59ms 100ms`,
			"measured rpc=50 submit=49 l2=0 other=1 poll=0"},
		{"outside, but the same process", `
cb.lookup.rpc            server 10ms 60ms
  cb.lookup              server 60ms 100ms
    cb.fingerprint_match server 60ms 100ms`,
			"measured rpc=50 submit=50 l2=0 other=0 poll=0"},
		{"an rpc alone", `
cb.lookup.rpc sched 10ms 60ms n_polls=5`,
			"no_server rpc=50 polls=5 usual=10 inferred"},
		// CONTRACT 9.2 C: legs 1–3 and 3–20 cover 19, residual 9.
		{"today's server alone", `
cb.request               server 0ms 30ms
  cb.lookup              server 0ms 28ms
    cb.fingerprint_match server 1ms 3ms
    cb.sparse_prefetch   server 3ms 20ms l2_keys=2`,
			"no_rpc server=28 wait=9 cb.fingerprint_match=2 cb.sparse_prefetch=17"},
		{"legs that overlap and stick out", `
request                server 0ms 30ms
  mp.lookup_prefetch   server 5ms 25ms
    l1.read            server 0ms 15ms
    l2.disk_load       server 10ms 20ms
    mp.store           server 20ms 24ms`,
			"no_rpc server=20 wait=5 l1.read=10 l2.disk_load=10"},
		{"a leg has no row of its own", `
cb.request               server 0ms 30ms
  cb.lookup              server 0ms 28ms
    mp.lookup_prefetch   server 3ms 20ms`,
			"no_rpc server=28 wait=11 mp.lookup_prefetch=17"},
		{"ended by a shutdown", `
request                server 0ms 30ms
  mp.lookup_prefetch   server 0ms 40s +shutdown
  mp.lookup_prefetch   server 3ms 9ms`,
			"no_rpc server=6 wait=6"},
		{"a negative or untimed rpc is none", `
cb.request               sched  0ms 90ms
  cb.lookup              server 0ms 10ms
    cb.fingerprint_match server 1ms 3ms
    cb.classify          server 5ms 4ms
  cb.lookup.rpc          sched  30ms 20ms
  cb.lookup.rpc          sched  - -`,
			"no_rpc server=10 wait=8 cb.fingerprint_match=2 cb.classify=0"},
		// It ends before it starts, at 59: cb.lookup was at work until then, not until its own end.
		{"a leaf of negative length", `
cb.lookup.rpc            sched  0ms 90ms
  cb.lookup              server 0ms 80ms
    cb.fingerprint_match server 1ms 10ms
    cb.classify          server 60ms 59ms`,
			"measured rpc=90 submit=0 l2=0 other=59 poll=31"},
		{"two rpcs, in order; each its own lookups", `
cb.request                 sched  0ms 90ms
  cb.lookup.rpc            sched  50ms 80ms
    cb.lookup              server 52ms 70ms
      cb.fingerprint_match server 52ms 60ms
  cb.lookup.rpc            sched  10ms 20ms`,
			"no_server rpc=10\nmeasured rpc=30 submit=2 l2=0 other=8 poll=20"},
		// R7.4: intervals 10, 10, 10, 17 of one and 4 of the other: the median of the request is 10.
		{"polls", `
cb.request                 sched  0ms 90ms
  cb.lookup.rpc            sched  0ms 48ms polls=10ms,20ms,30ms,47ms
    cb.lookup              server 1ms 32ms
      cb.fingerprint_match server 1ms 32ms
  cb.lookup.rpc            sched  60ms 64ms polls=64ms`,
			"measured rpc=48 submit=1 l2=0 other=31 poll=16 polls=4 longest=17 usual=10 over=15\nno_server rpc=4 polls=1 longest=4 usual=10"},
		{"the leaf that the last poll ran is not what it waited for", `
cb.lookup.rpc            sched  0ms 50ms polls=20ms,40ms
  cb.lookup              server 1ms 48ms
    cb.fingerprint_match server 1ms 30ms
    cb.classify          server 41ms 47ms`,
			"measured rpc=50 submit=1 l2=0 other=46 poll=3 polls=2 longest=20 usual=20 over=10"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sp Splitter
			r := modeltest.Request(t, c.text)
			out := sp.Split(r)
			var got []string
			for i := range out.Lookups {
				l := &out.Lookups[i]
				if l.Submit.OK && l.Submit.V+l.L2Load.V+l.ServerOther.V+l.PollWait.V != l.RPC.V {
					t.Errorf("parts of lookup %d do not sum to it", i)
				}
				got = append(got, l.text(r.Dict))
			}
			if text := strings.Join(got, "\n"); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

// R5.8: submit and poll_wait compare two clocks, so they are as uncertain as those are against each other; on one clock they are not.
func TestUncertainty(t *testing.T) {
	const text = `
cb.lookup.rpc            sched  0ms 20ms
  cb.lookup              server 2ms 19ms
    cb.fingerprint_match server 3ms 9ms`
	for _, c := range []struct {
		name       string
		text       string
		sched, off model.Opt // how well the clocks are known, ns
		want       model.Opt
	}{
		{"two clocks", text, model.Some(0), model.Some(250_000), model.Some(250_000)},
		{"neither is the reference", text, model.Some(100_000), model.Some(250_000), model.Some(350_000)},
		{"the server's is not known", text, model.Some(0), model.Opt{}, model.Opt{}},
		{"one clock", strings.ReplaceAll(text, "server ", "sched "), model.Some(100_000), model.Opt{}, model.Some(0)},
		{"no server", "cb.lookup.rpc sched 0ms 20ms", model.Some(0), model.Opt{}, model.Opt{}},
	} {
		r := modeltest.Linked(t, c.text)
		for i := range r.Aligned {
			a := &r.Aligned[i]
			u := c.off
			if a.Clock == r.Dict.Process("sched") {
				u = c.sched
			}
			a.Uncertainty, a.Known = time.Duration(u.V), u.OK
		}
		var sp Splitter
		if got := sp.Split(r).Lookups[0].Uncertainty; got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
