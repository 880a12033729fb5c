package model

import (
	"encoding/json"
	"math"
	"testing"
)

// An unknown number is null, never 0 (DESIGN 10), and comes back as it was.
func TestOptJSON(t *testing.T) {
	type doc struct {
		A, B, C Opt
		D, E, F OptFloat
	}
	in := doc{A: Some(0), B: Some(math.MinInt64), D: SomeFloat(0.25), E: SomeFloat(math.NaN())}
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"A":0,"B":-9223372036854775808,"C":null,"D":0.25,"E":null,"F":null}`; string(b) != want {
		t.Errorf("have %s\nwant %s", b, want)
	}
	out := doc{C: Some(7), F: SomeFloat(7)}
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	if out != in {
		t.Errorf("read back %+v, wrote %+v", out, in)
	}
	if err := json.Unmarshal([]byte(`"7"`), &out.A); err == nil {
		t.Error("text was taken for a number")
	}
	if err := json.Unmarshal([]byte(`"7"`), &out.D); err == nil {
		t.Error("text was taken for a ratio")
	}
}
