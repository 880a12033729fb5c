package otlpproto

import (
	"encoding/binary"
	"os"
	"testing"
)

func TestWalk(t *testing.T) {
	two := request(resourceOf(pair("service.name", strValue("a"))), "s", msg{text(5, "one")}, msg{text(5, "two")})
	answer := msg{length(1, two), number(3, 1)}.bytes()
	varint := append(binary.AppendUvarint(nil, uint64(len(two))), two...)
	be32 := append(binary.BigEndian.AppendUint32(nil, uint32(len(two))), two...)
	batch, err := os.ReadFile("testdata/collector-batch.pb")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		data    []byte
		records int
		cut, ok bool
	}{
		{"bare", two, 2, false, true},
		{"descending, real", batch, 64, false, true},
		{"its first kilobyte", batch[:1024], 3, true, true},
		{"wrapped", answer, 2, false, true},
		{"wrapped, cut inside the second span", answer[:len(answer)-20], 1, true, true},
		{"two messages", append(append([]byte(nil), two...), two...), 4, false, true},
		{"one byte short", two[:len(two)-1], 2, true, true},
		{"nothing", nil, 0, false, true},
		{"with a big-endian length", be32, 0, false, false},
		{"with a varint length", varint, 0, false, false},
		{"a broken span", request(nil, "s", msg{{0x0a, 0x7f}}), 0, false, false},
		{"JSON", []byte(`{"resourceSpans":[]}`), 0, false, false},
		{"zstd says nothing yet", []byte{0x28, 0xb5, 0x2f, 0xfd, 4, 0}, 0, true, true},
	} {
		if records, cut, ok := Walk(c.data); records != c.records || cut != c.cut || ok != c.ok {
			t.Errorf("%s: %d records, cut %v, ok %v", c.name, records, cut, ok)
		}
	}
}
