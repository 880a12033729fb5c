package profile

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// spelling is how one writer writes lines: which keys, in what order and unit, with what white space.
type spelling struct {
	keys                          []string // name, start, duration or end, request, pid, rank, two others; in order
	name, start, dur, end, id     string
	startUnit, durUnit            int // powers of ten of ns
	colon, comma, open, end1, pad string
}

func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

func newSpelling(rng *rand.Rand, startUnits map[string]int) spelling {
	s := spelling{name: pick(rng, "name", "event", "op"), start: pick(rng, "ts", "start_ts", "t0"), id: pick(rng, "request_id", "req_id", "session_id"),
		colon: pick(rng, ":", ": "), comma: pick(rng, ",", ", "), open: pick(rng, "{", "{ "), end1: pick(rng, "}", " }"), pad: pick(rng, "", "", " ", "\r")}
	unitOf := func(key string) int {
		if _, ok := startUnits[key]; !ok {
			startUnits[key] = pick(rng, 0, 3, 6, 9)
		}
		return startUnits[key]
	}
	s.startUnit = unitOf(s.start)
	switch rng.IntN(4) {
	case 0:
		s.dur, s.durUnit = "dur_us", 3
	case 1:
		s.dur, s.durUnit = "duration_ms", 6
	case 2:
		s.dur, s.durUnit = "elapsed_s", 9
	case 3:
		s.end = pick(rng, "end", "t1")
		s.durUnit = unitOf(s.end)
	}
	s.keys = []string{"name", "start", "dur", "id", "pid", "rank", "more", "null"}
	rng.Shuffle(len(s.keys), func(i, j int) { s.keys[i], s.keys[j] = s.keys[j], s.keys[i] })
	return s
}

// number writes ns in a unit, without the zeros at the end of its fraction.
func number(ns int64, unit int) string {
	text := fmt.Sprintf("%0*d", unit+1, ns)
	whole, fraction := text[:len(text)-unit], strings.TrimRight(text[len(text)-unit:], "0")
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// line writes a line and says what it is to become.
func (s *spelling) line(rng *rand.Rand, n int) (text, want string) {
	name := pick(rng, "sched.gnnmt", "slk.wait", "flex.check.layer3", "vendor.thing", `quo"te`)
	stage := map[string]string{"sched.gnnmt": " cb.schedule", "slk.wait": " cb.start_load_kv", "flex.check.layer3": " cb.check"}[name]
	start, dur := epoch+rng.Int64N(1e15), rng.Int64N(1e10)
	id, pid, rank := "chatcmpl-"+strconv.FormatUint(rng.Uint64(), 16), 1+rng.IntN(3), rng.IntN(2)
	var parts, attrs []string
	for _, k := range s.keys {
		var key, value string
		switch k {
		case "name":
			key, value = s.name, strconv.Quote(name)
		case "start":
			key, value = s.start, number(start, s.startUnit)
		case "dur":
			if key, value = s.dur, number(dur, s.durUnit); s.end != "" {
				key, value = s.end, number(start+dur, s.durUnit)
			}
		case "id":
			key, value = s.id, strconv.Quote(id)
			attrs = append(attrs, s.id+"="+id)
		case "pid":
			key, value = "pid", strconv.Itoa(pid)
		case "rank":
			key, value = "rank", strconv.Itoa(rank)
			attrs = append(attrs, "rank="+value)
		case "more":
			key, value = "imp_count", strconv.Itoa(n)
			attrs = append(attrs, "imp_count="+value)
		case "null":
			key, value = "note", pick(rng, "null", "true", `"text"`, "-1.5e3", `{"a":[1]}`, "[]")
		}
		parts = append(parts, strconv.Quote(key)+s.colon+value)
	}
	micros := func(ns int64) string { return strconv.FormatFloat(float64(ns)/1000, 'f', -1, 64) }
	return s.open + strings.Join(parts, s.comma) + s.end1 + s.pad,
		fmt.Sprintf("%d %s%s %s+%s pid=%d %s", n, name, stage, micros(start-epoch), micros(dur), pid, strings.Join(attrs, " "))
}

// Lines of several writers, each with a spelling of its own, in turns.
func TestRandomLines(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 9))
		units := map[string]int{}
		var writers []spelling
		for range 1 + rng.IntN(4) {
			writers = append(writers, newSpelling(rng, units))
		}
		var text strings.Builder
		var want []string
		for n := range 200 {
			line, record := writers[rng.IntN(len(writers))].line(rng, n+1)
			text.WriteString(line + "\n")
			want = append(want, record)
		}
		for _, c := range []setup{{}, {slow: true}, {cut: 1000}} {
			r := c.read(t, text.String())
			r.want(t, strings.Join(want, "\n"), "")
			if r.out.Refused != "" || t.Failed() {
				t.Fatalf("seed %d, %+v: refused %q", seed, c, r.out.Refused)
			}
		}
	}
}
