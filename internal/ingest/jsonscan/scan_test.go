package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// walk reads values the way decoders do and writes them back in a normal form.
func walk(s *Scanner, out *strings.Builder) {
	switch s.Kind() {
	case Object:
		s.Object()
		out.WriteByte('{')
		for key, ok := s.Key(); ok; key, ok = s.Key() {
			quote(out, key)
			out.WriteByte(':')
			walk(s, out)
			out.WriteByte(',')
		}
		out.WriteByte('}')
	case Array:
		s.Array()
		out.WriteByte('[')
		for s.Elem() {
			walk(s, out)
			out.WriteByte(',')
		}
		out.WriteByte(']')
	case String:
		t, _ := s.Text()
		quote(out, t)
	case Bool:
		v, _ := s.Bool()
		out.WriteString(map[bool]string{true: "true", false: "false"}[v])
	default:
		out.Write(s.Raw())
	}
}

func quote(out *strings.Builder, t []byte) {
	q, _ := json.Marshal(string(t))
	out.Write(q)
}

// normal is the same of what encoding/json reads.
func normal(d *json.Decoder, out *strings.Builder) {
	t, err := d.Token()
	if err != nil {
		return
	}
	switch t := t.(type) {
	case json.Delim:
		out.WriteRune(rune(t))
		object := t == '{'
		for d.More() {
			if object {
				key, _ := d.Token()
				if text, ok := key.(string); ok {
					quote(out, []byte(text))
				}
				out.WriteByte(':')
			}
			normal(d, out)
			out.WriteByte(',')
		}
		if end, err := d.Token(); err == nil {
			out.WriteRune(rune(end.(json.Delim)))
		}
	case string:
		quote(out, []byte(t))
	case bool:
		out.WriteString(map[bool]string{true: "true", false: "false"}[t])
	case nil:
		out.WriteString("null")
	case json.Number:
		out.WriteString(t.String())
	}
}

func both(data []byte) (ours, theirs string, err error) {
	var s Scanner
	s.Reset(data)
	var a, b strings.Builder
	walk(&s, &a)
	if s.Err() == nil && s.More() {
		err = errors.New("something follows")
	}
	if json.Valid(data) {
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		normal(d, &b)
	}
	return a.String(), b.String(), errors.Join(s.Err(), err)
}

func TestWalk(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `[[],{}]`, `{"a":{"b":[1,-2.5e+3,"x",true,false,null]},"c":""}`, " {\n \"a\" :\t[ 1 , 2 ]\r\n} ",
		`"plain, longer than eight bytes"`, `"esc\"aped \\ \/ \b\f\n\r\t \u00e9 \ud83d\ude00"`, `"lone \ud800 and \udc00\ud800"`, "\"caf\u00e9 \U0001f600\"",
		`{"k\u0065y":1,"k\"":2}`, `[0]`, `-0`, `123456789012345678901234567890`, `"` + strings.Repeat("ab", 100) + `"`,
	} {
		ours, theirs, err := both([]byte(text))
		if err != nil || ours != theirs {
			t.Errorf("%s:\n got %s, %v\nwant %s", text, ours, err, theirs)
		}
		var s Scanner
		s.Reset([]byte(text))
		if raw := s.Raw(); s.Err() != nil || string(raw) != strings.TrimSpace(text) || s.More() {
			t.Errorf("Raw of %s = %s, %v", text, raw, s.Err())
		}
	}
}

func TestBroken(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"a":1`, "ends"}, {`{"a"`, "ends"}, {`{"a":`, "ends"}, {`{`, "ends"}, {`[1,`, "ends"}, {`"abc`, "ends"}, {`"abc\`, "ends"}, {`"abc\u00`, "ends"}, {`tru`, "ends"}, {`{"a":"b\"`, "ends"},
		{`{"a" 1}`, "want ':', have '1'"}, {`{a:1}`, "want a key, have 'a'"}, {`{"a":1,}`, "want a key, have '}'"}, {`{"a":1 "b":2}`, "want ',' or '}'"}, {`{,}`, "want a key"},
		{`[1,]`, "want a value, have ']'"}, {`[1 2]`, "want ',' or ']'"}, {`[,]`, "want a value, have ','"}, {`[1}`, "want ',' or ']'"}, {`{"a":tru}`, "want a value, have 't'"},
		{`{"a":}`, "want a value"}, {`"a\x"`, "want an escape"}, {`"a\u12g4"`, "want an escape"}, {"\"a\nb\"", "have the end of the line"}, {"\"a\x01b\"", "have byte 0x01"}, {`'a'`, "want a value"},
	} {
		var s Scanner
		s.Reset([]byte(c.text))
		walk(&s, new(strings.Builder))
		if s.Err() == nil || !strings.Contains(s.Err().Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.text, s.Err(), c.want)
		}
		if strings.HasPrefix(c.want, "ends") != errors.Is(s.Err(), ErrEnd) {
			t.Errorf("%s: %v is ErrEnd: %v", c.text, s.Err(), errors.Is(s.Err(), ErrEnd))
		}
		if s.More() || s.Elem() {
			t.Errorf("%s: reading goes on after an error", c.text)
		}
	}
	var s Scanner
	for text, want := range map[string]string{`{"a":[1}`: "want the other bracket, have '}'", `[{"a":"b]`: "ends", `{"a":{"b":1]}`: "want the other bracket"} {
		s.Reset([]byte(text))
		if s.Skip(); s.Err() == nil || !strings.Contains(s.Err().Error(), want) {
			t.Errorf("Skip of %s: got %v, want %s", text, s.Err(), want)
		}
	}
}

// Nesting is bounded, read or skipped, and never recursion in Skip.
func TestDepth(t *testing.T) {
	for _, n := range []int{MaxDepth, MaxDepth + 1, 1 << 20} {
		deep := strings.Repeat("[", n) + strings.Repeat("]", n)
		var s Scanner
		s.Reset([]byte(deep))
		if s.Skip(); (n > MaxDepth) != errors.Is(s.Err(), ErrDepth) {
			t.Errorf("Skip of %d: %v", n, s.Err())
		}
		s.Reset([]byte(deep))
		if walk(&s, new(strings.Builder)); (n > MaxDepth) != errors.Is(s.Err(), ErrDepth) {
			t.Errorf("walk of %d: %v", n, s.Err())
		}
	}
	// What was entered counts for what is skipped in it.
	var s Scanner
	s.Reset([]byte("[[" + strings.Repeat("[", MaxDepth-1)))
	s.Array()
	s.Elem()
	s.Array()
	s.Elem()
	if s.Skip(); !errors.Is(s.Err(), ErrDepth) {
		t.Errorf("Skip within: %v", s.Err())
	}
}

func TestInvalidUTF8(t *testing.T) {
	var s Scanner
	s.Reset([]byte("\"a\xc3\" \"\xe2\x82\" \"ok\xff\xfe\""))
	for _, want := range []string{"a\ufffd", "\ufffd\ufffd", "ok\ufffd\ufffd"} {
		if got, ok := s.Text(); !ok || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, ok, want)
		}
	}
}

func TestInt(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
		err  error
	}{
		{`0`, 0, nil}, {`-1`, -1, nil}, {`"12"`, 12, nil}, {`1750000000000000001`, 1750000000000000001, nil}, {`"9007199254740993"`, 9007199254740993, nil},
		{`9223372036854775807`, math.MaxInt64, nil}, {`-9223372036854775808`, math.MinInt64, nil}, {`9223372036854775808`, 0, ErrRange}, {`"18446744073709551615"`, 0, ErrRange},
		{`-9223372036854775809`, 0, ErrRange}, {`99999999999999999999999999`, 0, ErrRange}, {`000000000000000000000000000012`, 12, nil},
		{`1.750000000000000002e18`, 1750000000000000002, nil}, {`"1.750000000000000003E+18"`, 1750000000000000003, nil}, {`1.5`, 1, nil}, {`-1.9`, -1, nil}, {`12e-1`, 1, nil}, {`5e-3`, 0, nil}, {`1e3`, 1000, nil},
		{`1e19`, 0, ErrRange}, {`1e999999999999`, 0, ErrRange}, {`1e2000000`, 0, ErrRange}, {`0e99999`, 0, nil}, {`1750000000015000000.5`, 1750000000015000000, nil},
		{`{"low":-1601582592,"high":407453626,"unsigned":true}`, 1750000001000000000, nil}, {`{"high":407453626,"low":2693384804}`, 1750000001000000100, nil}, {`{"low":5}`, 5, nil},
		{`{"low":1,"high":2147483648}`, 0, ErrRange}, {`{"high":1}`, 0, ErrNumber}, {`{}`, 0, ErrNumber}, {`{"low":"x"}`, 0, ErrNumber},
		{`null`, 0, ErrNull}, {`""`, 0, ErrNull}, {`"abc"`, 0, ErrNumber}, {`"12x"`, 0, ErrNumber}, {`NaN`, 0, ErrNumber}, {`Infinity`, 0, ErrNumber}, {`true`, 0, ErrNumber}, {`[1]`, 0, ErrNumber},
		{`"1e"`, 0, ErrNumber}, {`"."`, 0, ErrNumber}, {`"1."`, 0, ErrNumber}, {`"-"`, 0, ErrNumber}, {`"1.2.3"`, 0, ErrNumber}, {`"1ex"`, 0, ErrNumber}, {`" 1"`, 0, ErrNumber}, {`"+1"`, 0, ErrNumber},
	} {
		var s Scanner
		s.Reset([]byte(c.text + ` 7`))
		n, err := s.Int()
		if err != c.err || n != c.want && err == nil {
			t.Errorf("Int of %s = %d, %v, want %d, %v", c.text, n, err, c.want, c.err)
		}
		if n, err := s.Int(); n != 7 || err != nil {
			t.Errorf("after %s: %d, %v, %v", c.text, n, err, s.Err())
		}
	}
}

func TestFloatAndBool(t *testing.T) {
	for _, c := range []struct {
		text string
		want float64
		err  error
	}{
		{`1`, 1, nil}, {`0.25`, 0.25, nil}, {`-1e-3`, -0.001, nil}, {`"0.5"`, 0.5, nil}, {`"NaN"`, math.NaN(), nil}, {`NaN`, math.NaN(), nil}, {`"Infinity"`, math.Inf(1), nil}, {`-Infinity`, math.Inf(-1), nil},
		{`123456789012345`, 123456789012345, nil}, {`9007199254740993`, 9007199254740992, nil}, {`null`, 0, ErrNull}, {`""`, 0, ErrNull}, {`"x"`, 0, ErrNumber}, {`{}`, 0, ErrNumber}, {`1e999`, math.Inf(1), nil},
	} {
		var s Scanner
		s.Reset([]byte(c.text))
		f, err := s.Float()
		if err != c.err || f != c.want && !(math.IsNaN(f) && math.IsNaN(c.want)) || s.Err() != nil {
			t.Errorf("Float of %s = %v, %v, want %v, %v", c.text, f, err, c.want, c.err)
		}
	}
	for range 20000 { // short decimals are what strconv makes of them
		text := fmt.Sprintf("%.*f", rand.IntN(8), rand.Float64()*math.Pow10(rand.IntN(8)))
		var s Scanner
		s.Reset([]byte(text))
		if f, err := s.Float(); err != nil || strconv.FormatFloat(f, 'g', -1, 64) != strconv.FormatFloat(must(strconv.ParseFloat(text, 64)), 'g', -1, 64) {
			t.Fatalf("Float of %s = %v, %v", text, f, err)
		}
	}
	for text, want := range map[string][2]bool{`true`: {true, true}, `false`: {false, true}, `"True"`: {true, true}, `"false"`: {false, true}, `1`: {}, `null`: {}, `"yes"`: {}} {
		var s Scanner
		s.Reset([]byte(text))
		if v, ok := s.Bool(); v != want[0] || ok != want[1] || s.More() {
			t.Errorf("Bool of %s = %v, %v", text, v, ok)
		}
	}
}

func must(f float64, _ error) float64 { return f }

// Getters of another type skip what is there.
func TestMismatch(t *testing.T) {
	var s Scanner
	s.Reset([]byte(`{"a":[1,{"b":2}],"c":"x","d":7}`))
	s.Object()
	s.Key()
	if _, ok := s.Text(); ok {
		t.Error("an array is text")
	}
	s.Key()
	if s.Object() || s.Array() {
		t.Error("a string is a container")
	}
	if key, ok := s.Key(); ok || s.Err() == nil { // two values were read for one key: the second was the comma's
		t.Errorf("key %q", key)
	}
}

func TestLinesAndResync(t *testing.T) {
	data := []byte("{\n\"a\": [\n1]}\n\n[2]\n")
	var s Scanner
	s.Reset(data)
	var lines []int64
	for s.More() {
		lines = append(lines, s.Line())
		s.Skip()
	}
	if len(lines) != 2 || lines[0] != 0 || lines[1] != 4 {
		t.Errorf("values begin on lines %v, want 0 and 4", lines)
	}
	if at := Resync(data, 0); at != 14 {
		t.Errorf("Resync = %d, want 14", at)
	}
	if at := Resync(data, 15); at != len(data) {
		t.Errorf("Resync after the last = %d, want %d", at, len(data))
	}
	s.Reset([]byte(`{"a":{"b":1}} {"a":{"b":1}}`))
	s.Object()
	s.Key()
	if !s.Matches([]byte(`{"b":1}`)) || s.Matches([]byte(`{"b":1}`)) {
		t.Error("Matches")
	}
}

// FuzzWalk: what encoding/json accepts is read alike; nothing panics or hangs, Skip ends where walking ends, and AppendCompact writes the same value.
func FuzzWalk(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"x\u00e9",{"b":null}]}`, `[-1.5e3,true]`, "{\"a\xff\":\"\\ud83d\\ude00\"}", `[[[[`, `{"a":"b\`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ours, theirs, err := both(data)
		var s Scanner
		s.Reset(data)
		s.Skip()
		if !json.Valid(data) {
			return
		}
		if errors.Is(err, ErrDepth) {
			return
		}
		if err != nil || ours != theirs {
			t.Fatalf("%q:\n got %s, %v\nwant %s", data, ours, err, theirs)
		}
		if s.Err() != nil || s.More() {
			t.Fatalf("Skip of %q: %v", data, s.Err())
		}
		s.Reset(data)
		compact := s.AppendCompact(nil)
		if again, _, err := both(compact); !json.Valid(compact) || again != ours || err != nil {
			t.Fatalf("%q is compacted to %s, which reads %s, %v", data, compact, again, err)
		}
	})
}
