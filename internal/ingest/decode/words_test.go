package decode

import (
	"fmt"
	"testing"
)

func TestWords(t *testing.T) {
	var w Words[uint32]
	if _, ok := w.Find([]byte("a")); ok {
		t.Error("found in an empty cache")
	}
	w.Keep(nil, 7)
	if _, ok := w.Find(nil); ok {
		t.Error("the empty text was kept")
	}
	// Keys that differ in one byte at the end, in the middle, or in length only.
	var keys []string
	for i := range 40 {
		keys = append(keys, fmt.Sprintf("custom.attribute.%d", i), fmt.Sprintf("k%d", i), fmt.Sprintf("gen_ai.prompt.%02d.content", i), fmt.Sprintf("%0*d", i+1, 0))
	}
	for i, k := range keys {
		w.Keep([]byte(k), uint32(i))
	}
	kept := 0
	for i, k := range keys {
		if id, ok := w.Find([]byte(k)); ok {
			kept++
			if id != uint32(i) {
				t.Errorf("%s is known as %d, want %d", k, id, i)
			}
		}
	}
	if kept < len(keys)*8/10 {
		t.Errorf("%d of %d words kept", kept, len(keys))
	}
	if n := testing.AllocsPerRun(100, func() { w.Find([]byte("custom.attribute.7")) }); n != 0 {
		t.Errorf("%v allocations a look-up", n)
	}
}
