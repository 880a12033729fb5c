package jsonscan

import "testing"

func TestAppendCompact(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"white space", "{ \"a\" :\t[ 1 ,\r\n2.50, -0 , 1E3 ] , \"b\": { } }", `{"a":[1,2.50,-0,1E3],"b":{}}`},
		{"literals", `[true, false, null, NaN, -Infinity]`, `[true,false,null,NaN,-Infinity]`},
		{"one spelling of strings", `["\u0041\/\u00e9\"\\", "é"]`, `["A/é\"\\","é"]`},
		{"short escapes", `"\b\f\n\r\t"`, `"\u0008\u000c\u000a\u000d\u0009"`},
		{"pairs", `["\ud83d\ude00","\ud83d","\ude00"]`, "[\"😀\",\"\uFFFD\",\"\uFFFD\"]"},
		{"no UTF-8", "[\"a\xffb\"]", "[\"a\uFFFDb\"]"},
		{"control characters in keys", `{"x\u0001y": 1, "\u001f\n\"\\": {"\u0000": 2}}`, `{"x\u0001y":1,"\u001f\u000a\"\\":{"\u0000":2}}`},
		{"keys that repeat", `{"a": 1, "a": 2}`, `{"a":1,"a":2}`},
		{"an empty key", `{"": ""}`, `{"":""}`},
	} {
		var s Scanner
		s.Reset([]byte(c.text + ` "next"`))
		if got := string(s.AppendCompact([]byte("before "))); got != "before "+c.want || s.Err() != nil {
			t.Errorf("%s: got %s, %v", c.name, got, s.Err())
		}
		if next, _ := s.Text(); string(next) != "next" {
			t.Errorf("%s: followed by %q", c.name, next)
		}
	}
	for _, broken := range []string{``, `{`, `[1,`, `[1,]`, `{"a"}`, `{"a":}`, `["\q"]`, `["`, `{a:1}`, `[1}`, `]`} {
		var s Scanner
		s.Reset([]byte(broken))
		if s.AppendCompact(nil); s.Err() == nil {
			t.Errorf("%s: no error", broken)
		}
	}
}

// Text that needs no unescaping is appended without allocation.
func TestAppendCompactAllocations(t *testing.T) {
	text := []byte(`{"a": [1, 2, {"b": "c", "d": null}], "e": true}`)
	var s Scanner
	dst := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() {
		s.Reset(text)
		dst = s.AppendCompact(dst[:0])
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
