package model

import "testing"

// Every name of the table finds its row; names beside them find none.
func TestAttrOf(t *testing.T) {
	for k := AttrNone + 1; k < NumAttrs; k++ {
		name := Attrs[k].Name
		if name == "" {
			t.Errorf("attribute %d has no name", k)
		}
		if got := AttrOf([]byte(name)); got != k {
			t.Errorf("AttrOf(%q) = %d, want %d", name, got, k)
		}
		for _, near := range []string{name + "s", name[1:], name[:len(name)-1] + "_", "x" + name[1:]} {
			if got := AttrOf([]byte(near)); got != AttrNone && Attrs[got].Name != near {
				t.Errorf("AttrOf(%q) = %q", near, Attrs[got].Name)
			}
		}
	}
	for _, name := range []string{"", "a", "gen_ai.usage.tokens", "http.request.method"} {
		if got := AttrOf([]byte(name)); got != AttrNone {
			t.Errorf("AttrOf(%q) = %q", name, Attrs[got].Name)
		}
	}
}

func BenchmarkAttrOf(b *testing.B) {
	keys := [][]byte{[]byte("requested_tokens"), []byte("net.peer.name"), []byte("request_id"), []byte("custom.attribute.3")}
	for i := 0; b.Loop(); i++ {
		AttrOf(keys[i&3])
	}
}
