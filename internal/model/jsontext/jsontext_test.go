package jsontext

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
)

// Every byte by itself and between others: JSON that reads back as the same text, in which what is no UTF-8 is U+FFFD.
func TestAppendQuote(t *testing.T) {
	for c := range 256 {
		for _, text := range []string{string([]byte{byte(c)}), "a" + string([]byte{byte(c)}) + "é", string(rune(c))} {
			quoted := AppendQuote(nil, []byte(text))
			if of := AppendQuote(nil, text); !bytes.Equal(of, quoted) {
				t.Errorf("%q is quoted as %s and %s", text, quoted, of)
			}
			var got string
			if err := json.Unmarshal(quoted, &got); err != nil || got != string([]rune(text)) {
				t.Errorf("%q is quoted as %s, which reads %q, %v", text, quoted, got, err)
			}
		}
	}
}

func TestAppendFloat(t *testing.T) {
	for _, c := range []struct {
		f    float64
		want string
	}{
		{0, `0`}, {math.Copysign(0, -1), `-0`}, {-7.25, `-7.25`}, {1 << 53, `9.007199254740992e+15`}, {1e-7, `1e-07`}, {0.1, `0.1`}, {math.MaxFloat64, `1.7976931348623157e+308`},
		{math.NaN(), `"NaN"`}, {math.Inf(1), `"Infinity"`}, {math.Inf(-1), `"-Infinity"`},
	} {
		if got := AppendFloat(nil, c.f); string(got) != c.want || !json.Valid(got) {
			t.Errorf("%v: got %s, want %s", c.f, got, c.want)
		}
	}
}
