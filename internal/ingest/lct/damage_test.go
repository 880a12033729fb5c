package lct

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

// CONTRACT-lmcache 2.3, 2.9: what is left of a damaged recording, and what is said of it.
func TestDamage(t *testing.T) {
	header, ops := framed(pack(headerOf(Storage))), operations(5)
	raw := func(body string) []byte { return framed([]byte(body)) }
	record := object{"type", "record", "t_mono", 0.5, "t_wall", 1.7e9, "qualname", calls + "finish_write", "args", object{}}
	for _, c := range []struct {
		name      string
		frames    [][]byte
		records   int64
		skipped   int64
		truncated bool
		says      string
	}{
		{"N = 0", [][]byte{ops[0], {0, 0, 0, 0}, ops[1]}, 2, 1, false, "a frame of no bytes"},
		{"N = 0xffffffff", [][]byte{ops[0], {0xff, 0xff, 0xff, 0xff}, ops[1]}, 1, 1, true, "record length 4294967295 is over the 64 MiB limit"},
		{"N = 0xffffffff at the end", [][]byte{ops[0], {0xff, 0xff, 0xff, 0xff}}, 1, 1, true, "over the 64 MiB limit"},
		{"a length past the end", [][]byte{ops[0], {0, 1, 0, 0}, ops[1]}, 1, 1, true, "ends in the middle of a record"},
		{"a cut length", [][]byte{ops[0], {0, 0}}, 1, 1, true, "ends in the middle of a record"},
		{"a cut body", [][]byte{ops[0], ops[1][:30]}, 1, 1, true, "ends in the middle of a record"},
		{"no msgpack in the middle", [][]byte{ops[0], raw(strings.Repeat("\xc1", 60)), ops[1]}, 2, 1, false, "no msgpack map"},
		{"a list", [][]byte{ops[0], raw("\x91\x01"), ops[1]}, 2, 1, false, "no msgpack map"},
		{"a map of 2³²−1 pairs", [][]byte{ops[0], raw("\xdf\xff\xff\xff\xff" + strings.Repeat("\xa1a\x01", 18)), ops[1]}, 2, 1, false, "does not end"},
		{"a text of 4 GiB", [][]byte{ops[0], raw("\x81\xa4type\xdb\xff\xff\xff\xffx"), ops[1]}, 2, 1, false, "does not end"},
		{"0xc1 in a value", [][]byte{ops[0], raw("\x81\xa4type\xc1"), ops[1]}, 2, 1, false, "no msgpack"},
		{"bytes after the map", [][]byte{ops[0], raw(string(pack(record)) + "\x00"), ops[1]}, 2, 1, false, "bytes after its map"},
		{"a second header", [][]byte{ops[0], header, ops[1]}, 2, 1, false, "no record"},
		{"no type", [][]byte{raw(string(pack(record.without("type"))))}, 0, 1, false, "no record"},
		{"no qualname", [][]byte{raw(string(pack(record.without("qualname"))))}, 0, 1, false, "without t_mono, t_wall, qualname or args"},
		{"no args", [][]byte{raw(string(pack(record.without("args"))))}, 0, 1, false, "without"},
		{"args that are no map", [][]byte{raw(string(pack(record.with("args", 7))))}, 0, 1, false, "without"},
		{"t_mono that is no number", [][]byte{raw(string(pack(record.with("t_mono", "0.5"))))}, 0, 1, false, "without"},
		{"t_mono as an integer", [][]byte{raw(string(pack(record.with("t_mono", 3))))}, 1, 0, false, ""},
		{"unknown keys, also such that are no text", [][]byte{raw(string(pack(append(object{"later", []any{1, object{"a", nil}}, 7, "x"}, record...))))}, 1, 0, false, ""},
		{"another order", [][]byte{raw(string(pack(object{"args", object{}, "qualname", "q", "t_wall", 1.7e9, "t_mono", 3.0, "type", "record"})))}, 1, 0, false, ""},
	} {
		for _, size := range []int{1, 300, wholeFile} {
			_, rep := count(t, size, append([][]byte{header}, c.frames...)...)
			if rep.Records != c.records || rep.Skipped != c.skipped || rep.Truncated != c.truncated {
				t.Errorf("%s, blocks of %d: %d records, %d skipped, truncated %v; want %d, %d, %v", c.name, size, rep.Records, rep.Skipped, rep.Truncated, c.records, c.skipped, c.truncated)
			}
			if c.says != "" && (len(rep.Problems) == 0 || !strings.Contains(rep.Problems[0].Text, c.says)) {
				t.Errorf("%s: says %+v, want %q", c.name, rep.Problems, c.says)
			}
		}
	}
}

// Where a problem lies is told from the beginning of the file, also in later blocks.
func TestOffsets(t *testing.T) {
	header, ops := framed(pack(headerOf(Storage))), operations(5)
	before := len(header)
	for _, f := range ops {
		before += len(f)
	}
	for _, size := range []int{1, 500, wholeFile} {
		_, rep := count(t, size, header, join(ops...), framed([]byte("\xc1")), join(ops...))
		if len(rep.Problems) != 1 || rep.Problems[0].Offset != int64(before) {
			t.Errorf("blocks of %d: %+v, want offset %d", size, rep.Problems, before)
		}
		b, _ := points(t, false, size, header, join(ops...))
		if at := b.Records[4].Pos; at != int64(before-len(ops[4])) {
			t.Errorf("blocks of %d: the last record at %d, want %d", size, at, before-len(ops[4]))
		}
	}
}

// The oldest recorder put its header down again once it knew the configuration: a longer one lies over the first records (CONTRACT-lmcache 2.2).
func TestRewrittenHeader(t *testing.T) {
	short, long := framed(pack(oldest(""))), framed(pack(oldest(strings.Repeat("c", 64))))
	over := len(long) - len(short)
	if over <= 4 {
		t.Fatalf("the longer header is %d bytes longer", over)
	}
	ops := operations(5)
	for _, c := range []struct {
		name    string
		first   [][]byte // before the five operations
		after   [][]byte
		records int64
		skipped int64
	}{
		{"over the first record", nil, nil, 4, 1},
		{"over two small ones", [][]byte{framed(make([]byte, 20)), framed(make([]byte, 20))}, nil, 4, 1},
		{"over all there are", [][]byte{join(ops...)[:over+40]}, nil, 0, 1},
		{"and a cut tail", nil, [][]byte{ops[1][:50]}, 4, 2},
	} {
		body := join(append(c.first, join(ops...))...)
		if c.name == "over all there are" {
			body = body[:over+40]
		}
		body = append(body[over:len(body):len(body)], join(c.after...)...)
		for _, size := range []int{1, 300, wholeFile} {
			_, rep := count(t, size, long, body)
			if rep.Records != c.records || rep.Skipped != c.skipped || !rep.Truncated {
				t.Errorf("%s, blocks of %d: %d records, %d skipped, truncated %v; want %d, %d", c.name, size, rep.Records, rep.Skipped, rep.Truncated, c.records, c.skipped)
			}
			if rep.Problems[0].Offset != int64(len(long)) {
				t.Errorf("%s: damage at %d, want %d", c.name, rep.Problems[0].Offset, len(long))
			}
		}
	}
	// Nothing is searched for in newer recordings, nor behind a header that fits.
	if _, rep := count(t, wholeFile, short, join(ops...)); rep.Records != 5 || rep.Truncated || rep.Skipped != 0 {
		t.Errorf("undamaged: %+v", rep)
	}
	if _, rep := count(t, wholeFile, framed(pack(headerOf(Storage))), join(ops...)[over:]); rep.Records == 4 {
		t.Error("a newer recording was searched for its next record")
	}
}

// What looks like records without end is given up on.
func TestSearchEnds(t *testing.T) {
	var b bytes.Buffer
	b.Write(framed(pack(oldest(""))))
	b.WriteString("\x00\x00\x00\x02zz")
	for b.Len() < 1<<20 { // each claims to be a record whose 15 pairs reach to the end
		var n [4]byte
		binary.BigEndian.PutUint32(n[:], uint32(1<<20-b.Len()))
		b.Write(n[:])
		b.WriteString("\x8f\xa4type\xa6record")
	}
	_, rep := count(t, wholeFile, b.Bytes())
	if rep.Records != 0 || !rep.Truncated {
		t.Errorf("%+v", rep)
	}
}
