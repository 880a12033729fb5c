package profile

import (
	"strings"
	"testing"
)

func TestMap(t *testing.T) {
	const text = `
version: 1
names:
  my.lookup: sched.gnnmt
  my.kv.*: slk.*
  my.load.*: cb.start_load_kv
  other: cb.retrieve
keys:
  what: name
  when: {role: start, unit: us}
  took: {role: duration, unit: ms}
  done: {role: end}
  who: request
  which: pid
  nth: rank
  dur: {role: duration, unit: s}
  ms: attribute
  broken: failed
`
	keys, err := ReadMap(strings.NewReader(text), "map.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ lines, records string }{
		{`{"what":"my.lookup","when":1764432000000250,"took":0.04,"who":"r","which":7,"nth":2}`, "1 sched.gnnmt cb.schedule 250+40 pid=7 request_id=r rank=2"},
		{`{"what":"my.kv.wait","when":1764432000000250,"took":0.04}`, "1 slk.wait cb.start_load_kv 250+40"},
		{`{"what":"my.load.one","when":1764432000000250,"took":0.04}`, "1 my.load.one cb.start_load_kv 250+40"},
		{`{"what":"other","when":1764432000000250,"took":0.04,"broken":true}`, "1 other cb.retrieve 250+40 success=false"},
		{`{"name":"sched.gnnmt","what":"other","ts":1764432000000250,"took":0.04}`, "1 other cb.retrieve 250+40"},
		{`{"name":"flex.check","ts":1764432000.5,"dur":2}`, "1 flex.check cb.check 500000+2000000"},
		{`{"name":"flex.check","ts":1764432000.5,"done":1764432000600}`, "1 flex.check cb.check 500000+100000"},
		{`{"name":"flex.check","ts":1764432000.5,"ms":7}`, "1 flex.check cb.check 500000 point ms=7"},
		{`{"name":"my.kv.","ts":1764432000.5,"took":1}`, "1 my.kv. 500000+1000"},
		{`{"name":"a","when":17,"took":1}`, "1 a 17+1000 unanchored"}, // of the unit that the map says, on a clock without an epoch
	} {
		r := setup{keys: keys}.read(t, c.lines)
		r.want(t, c.records, "")
		if r.out.Refused != "" {
			t.Errorf("%s: refused %q", c.lines, r.out.Refused)
		}
	}
	if !keys.Match([]string{"what", "when"}) || keys.Match([]string{"what", "which"}) || DefaultKeys().Match([]string{"what", "when"}) {
		t.Error("what looks like a line")
	}
}

// A map is strict: what it does not know is an error that names the line.
func TestMapErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "map.yaml: empty"},
		{"{}", "map.yaml:1: version: 1 is missing"},
		{"- 1", "map.yaml:1: want keys version, names and keys"},
		{"version: 2", `map.yaml:1: version: want 1, have "2"`},
		{"version: 1\nlines: {}", `map.yaml:2: unknown key "lines": want version, names or keys`},
		{"version: 1\nnames: [a]", "map.yaml:2: want names: lines and what they are"},
		{"version: 1\nnames:\n  a: nothing.known", `map.yaml:3: a: "nothing.known" is neither a line nor a stage that is known`},
		{"version: 1\nnames:\n  a: request", `map.yaml:3: a: "request" is neither a line nor a stage that is known`},
		{"version: 1\nnames:\n  a: slk.*", `map.yaml:3: a: "slk.*" ends in .*, but the name does not`},
		{"version: 1\nnames:\n  a: {b: c}", "map.yaml:3: a: want the name of a line or a stage"},
		{"version: 1\nnames:\n  a: cb.check\n  a: cb.check", `map.yaml:4: "a" a second time`},
		{"version: 1\nkeys:\n  a: instant", "map.yaml:3: a: role: want one of name, start, end, duration, request, pid, process, rank, role, failed, success, attribute"},
		{"version: 1\nkeys:\n  a: {unit: s}", "map.yaml:3: a: role is missing"},
		{"version: 1\nkeys:\n  a: {role: start, scale: 2}", `map.yaml:3: a: unknown key "scale": want role or unit`},
		{"version: 1\nkeys:\n  a: duration", "map.yaml:3: a: unit is missing: want s, ms, us or ns"},
		{"version: 1\nkeys:\n  a: {role: duration, unit: min}", `map.yaml:3: a: unit: want s, ms, us or ns, have "min"`},
		{"version: 1\nkeys:\n  a: {role: name, unit: s}", "map.yaml:3: a: a name has no unit"},
		{"version: 1\nkeys:\n  a: [name]", "map.yaml:3: a: role: want one of name, start, end, duration, request, pid, process, rank, role, failed, success, attribute"},
		{"version: 1\nkeys:\n  ? [a]\n  : name", "map.yaml:3: want a name"},
		{"version: 1\n---\nversion: 1", "map.yaml: more than one document"},
		{"version: [1", "map.yaml: yaml: "},
		{"version: 1\nnames:\n  cb.check: cb.check\n" + strings.Repeat("# what stands here is not cut off\n", 1<<15), "map.yaml: more than 1 MiB"},
	} {
		if _, err := ReadMap(strings.NewReader(c.text), "map.yaml"); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

func FuzzReadMap(f *testing.F) {
	f.Add("version: 1\nnames:\n  a: cb.check\n  b.*: slk.*\nkeys:\n  when: {role: start, unit: us}\n  what: name\n")
	f.Add("version: 1\nkeys: &a {x: *a}\n")
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := ReadMap(strings.NewReader(text), "map.yaml")
		if (keys == nil) == (err == nil) {
			t.Fatalf("%q: %v, %v", text, keys, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "map.yaml:") {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
