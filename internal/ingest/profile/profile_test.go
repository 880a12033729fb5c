package profile

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

// now is the present of the tests, a few days after epoch.
var now = time.Date(2025, 12, 5, 0, 0, 0, 0, time.UTC)

// epoch is what instants are shown from, in ns: 2025-11-29T16:00:00Z.
const epoch = 1_764_432_000_000_000_000

// A reading is what became of some lines.
type reading struct {
	records []string
	skipped []string // line: error
	rep     decode.Report
	out     Outcome
}

// A setup is how lines are read.
type setup struct {
	keys    *Keys
	keepAll bool
	slow    bool // without the fast reading of lines alike
	near    func(from, to int64) bool
	given   *model.ProfilePlan
	cut     int // bytes of a block; 0: one block
}

// read reads lines as the reader of inputs does: the first ones to a Head, then blocks, each line in one of them.
func (c setup) read(t testing.TB, text string) reading {
	t.Helper()
	d := model.NewDict()
	f := d.AddFile("dir/cb.jsonl")
	h := NewHead(c.keys)
	h.Given(c.given)
	h.Add([]byte(text))
	plan := h.Plan()
	var r reading
	if plan.Refused() == "" {
		b := model.NewBatch(d, c.keepAll)
		dec := Decoder{learnt: learnt{never: c.slow}}
		line := int64(1)
		for rest := text; len(rest) > 0; {
			n := len(rest)
			if c.cut > 0 && c.cut < n {
				if n = strings.IndexByte(rest[c.cut:], '\n'); n < 0 {
					n = len(rest)
				} else {
					n += c.cut + 1
				}
			}
			for block := []byte(rest[:n]); len(block) > 0; {
				b.Reset()
				done, passed := dec.Decode(decode.Block{File: f, Path: "dir/cb.jsonl", Family: "dir/cb.jsonl", Data: block, Line: line}, plan, b, &r.rep)
				for i := range b.Records {
					r.records = append(r.records, shown(b, &b.Records[i]))
				}
				if passed != decode.Newlines(block[:done]) {
					t.Errorf("%d lines in %q", passed, block[:done])
				}
				line += passed
				block = block[done:]
			}
			rest = rest[n:]
		}
		for _, p := range r.rep.Problems {
			r.skipped = append(r.skipped, fmt.Sprintf("%d: %s", p.Line, p.Text))
		}
		if int64(len(r.records)) != r.rep.Records {
			t.Errorf("%d records, counted as %d", len(r.records), r.rep.Records)
		}
	}
	r.out = plan.Finish(c.near, now)
	return r
}

// shown is a record as `line name stage start+duration flags process key=value…`: the start in µs from epoch, from 0 where it is on no absolute clock.
func shown(b *model.Batch, r *model.Record) string {
	micros := func(ns int64) string { return strconv.FormatFloat(float64(ns)/1000, 'f', -1, 64) }
	text := fmt.Sprintf("%d %s", r.Pos, b.Dict.Str(r.Name))
	if r.StageID != 0 {
		text += " " + b.Dict.Str(r.StageID)
	}
	start := int64(r.Start)
	if r.Flags&model.RecordUnanchored == 0 {
		start -= epoch
	}
	text += " " + micros(start)
	if r.Flags&model.RecordNoEnd == 0 {
		text += "+" + micros(int64(r.End-r.Start))
	}
	for _, f := range []struct {
		flag model.RecordFlags
		name string
	}{{model.RecordNoEnd, "point"}, {model.RecordUnanchored, "unanchored"}, {model.RecordError, "error"}} {
		if r.Flags&f.flag != 0 {
			text += " " + f.name
		}
	}
	if pid := b.Dict.Res(r.Res).PID; pid != 0 {
		text += fmt.Sprintf(" pid=%d", pid)
	}
	for _, a := range b.AttrsOf(r) {
		v := model.Value{Kind: a.Kind, Int: int64(a.Bits)}
		if a.Kind == model.StrValue {
			v.Str = string(b.TextOf(&a))
		} else if a.Kind == model.FloatValue {
			v = model.Typed(a.Key, model.Value{Kind: model.FloatValue, Float: mathFloat(a.Bits)})
		}
		text += " " + b.Dict.KeyName(a.Key) + "=" + v.Text()
	}
	return text
}

// want compares what lines became.
func (r reading) want(t *testing.T, records, skipped string) {
	t.Helper()
	trim := func(s string) string {
		var out []string
		for _, l := range strings.Split(s, "\n") {
			if l = strings.TrimSpace(l); l != "" {
				out = append(out, l)
			}
		}
		return strings.Join(out, "\n")
	}
	if got := strings.Join(r.records, "\n"); got != trim(records) {
		t.Errorf("records\n%s\nwant\n%s", got, trim(records))
	}
	if got := strings.Join(r.skipped, "\n"); got != trim(skipped) {
		t.Errorf("skipped\n%s\nwant\n%s", got, trim(skipped))
	}
	if int64(len(r.skipped)) != r.rep.Skipped {
		t.Errorf("%d problems, %d skipped", len(r.skipped), r.rep.Skipped)
	}
}

// decodeBlock decodes a block as the reader of inputs does, and drops its records.
func decodeBlock(d *Decoder, plan *Plan, b *model.Batch, data []byte) (rep decode.Report) {
	for line := int64(1); len(data) > 0; {
		b.Reset()
		n, lines := d.Decode(decode.Block{Data: data, Line: line}, plan, b, &rep)
		line += lines
		data = data[n:]
	}
	return rep
}
