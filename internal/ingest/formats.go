package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/ingest/otlpproto"
)

// A format is one way in which an input is written, compression apart.
type format struct {
	sniff  func(src *source) verdict // from the first bytes
	cut    func(src *source) cutter
	decode func(w *worker, blk decode.Block, rep *decode.Report)
	lines  bool // positions are lines (or messages), not bytes
}

// A verdict says whether an input is of a format. The zero value: it is not.
type verdict struct {
	ok      bool
	name    string // as OUTPUT inputs[].format
	unread  string // it is known, but not read: a note
	refused error  // it is known, and of no use here
}

// formats are tried from top to bottom; names of files say nothing.
var formats = []format{
	{sniffLCT, cutLCT, (*worker).recording, false},
	{sniffFramedZstd, cutMessages(be32), (*worker).framedZstd, true},
	{sniffProfile, cutJSON, (*worker).lines, true},
	{sniffHashes, cutJSON, (*worker).hashes, true},
	{sniffValues, cutJSON, (*worker).json, true},
	{sniffBE32, cutMessages(be32), framed(be32), false},
	{sniffVarint, cutMessages(varint), framed(varint), false},
	{sniffMessage, cutMessages(field), (*worker).message, false},
}

// find is the format of an input. NUL bytes at its beginning are dropped unless they are the length of a message, of which two are not empty.
func find(src *source) (*format, verdict) {
	if n := countNULs(src.head); n >= 8 || n > 0 && !sniffLCT(src).ok && !sniffFramedZstd(src).ok && !sniffBE32(src).ok {
		src.dropNULs()
	}
	for i := range formats {
		if v := formats[i].sniff(src); v.ok {
			return &formats[i], v
		}
	}
	return nil, verdict{refused: unknown(src)}
}

// savedReport is how saved reports begin, which commands read without this package.
const savedReport = "cbtrace report\n"

// unknown says what an input looks like that is of no format.
func unknown(src *source) error {
	text := bytes.TrimPrefix(src.head, bom)
	switch trimmed := bytes.TrimSpace(text); {
	case src.broken != nil:
		return &unread{src.why()}
	case len(src.head) == 0 && src.nuls > 0:
		return errors.New("nothing but NUL bytes")
	case len(src.head) == 0:
		return errors.New("empty")
	case bytes.HasPrefix(src.head, []byte(savedReport)) && src.suffix != "":
		return errors.New("a saved report, compressed: report, list, merge, diff and gate read it once it is decompressed")
	case bytes.HasPrefix(src.head, []byte(savedReport)):
		return errors.New("a saved report, which has no spans: report, list, merge, diff and gate read it where an argument names it, a file or -")
	case len(trimmed) == 0:
		return errors.New("nothing but white space")
	case jsonKind(trimmed) != jsonscan.Other:
		return fmt.Errorf("%w: JSON, but %s at its top", decode.ErrUnknownFormat, jsonKind(trimmed))
	}
	return decode.ErrUnknownFormat
}

func jsonKind(b []byte) jsonscan.Kind {
	var s jsonscan.Scanner
	s.Reset(b)
	k := s.Kind()
	if s.Skip(); s.Err() != nil || s.More() {
		return jsonscan.Other
	}
	return k
}

var bom = []byte("\xef\xbb\xbf")

// sniffValues: JSON, or text with JSON values on lines of their own.
func sniffValues(src *source) verdict {
	text := bytes.TrimPrefix(src.head, bom)
	trimmed := bytes.TrimLeft(text, " \t\r\n")
	if len(trimmed) == 0 {
		return verdict{}
	}
	begins := trimmed[0] == '{' || trimmed[0] == '['
	if !begins && bytes.IndexByte(text, 0) >= 0 {
		return verdict{}
	}
	k, keys := src.values()
	switch {
	case k != nil && k.read:
		return verdict{ok: true, name: k.name}
	case k != nil && k.name != "":
		return verdict{ok: true, name: k.name, unread: k.says + ": not read yet"}
	case k != nil:
		return verdict{ok: true, refused: fmt.Errorf("%w: %s", decode.ErrUnknownFormat, k.says)}
	case len(keys) > 0:
		return verdict{ok: true, refused: fmt.Errorf("%w: JSON with the keys %s; the nearest is OTLP JSON, which has resourceSpans", decode.ErrUnknownFormat, strings.Join(quoted(keys), ", "))}
	case begins && jsonKind(trimmed) != jsonscan.Other:
		return verdict{ok: true, refused: fmt.Errorf("%w: JSON without anything in it", decode.ErrUnknownFormat)}
	case begins && src.broken == nil:
		return verdict{ok: true, refused: fmt.Errorf("%w: broken JSON", decode.ErrUnknownFormat)}
	}
	return verdict{}
}

// quoted are the first few keys, for a message.
func quoted(keys []string) []string {
	out := []string{}
	for _, k := range keys[:min(len(keys), 5)] {
		out = append(out, fmt.Sprintf("%q", k))
	}
	return out
}

// sniffBE32: a length as 4 bytes, then a protobuf message of that length, as the collector writes them.
func sniffBE32(src *source) verdict {
	if len(src.head) >= 4 && src.whole && binary.BigEndian.Uint32(src.head) == 0xffffffff {
		return verdict{ok: true, name: "otlp-proto+framed"} // a damaged length, which the cutter names
	}
	if n, ok := framedMessages(src, be32); ok && n > 0 {
		return verdict{ok: true, name: "otlp-proto+framed"}
	}
	return verdict{}
}

// sniffVarint: a length as a varint, then a message. By chance a bare message may look so; the reading with more spans counts.
func sniffVarint(src *source) verdict {
	n, ok := framedMessages(src, varint)
	if !ok || n == 0 {
		return verdict{}
	}
	if bare, _, ok := otlpproto.Walk(src.head); ok && bare >= n {
		return verdict{}
	}
	return verdict{ok: true, name: "otlp-proto+framed"}
}

// framedMessages walks the framed messages in the head and counts their records. ok: all of it can be read so, to the end.
func framedMessages(src *source, frame framing) (records int, ok bool) {
	h, seen := src.head, 0
	for len(h) > 0 {
		prefix, length, err := frame(h)
		if err != nil || prefix == 0 && src.whole {
			return 0, false
		}
		if prefix == 0 {
			break
		}
		end := prefix + length
		if end > len(h) && src.whole && seen > 0 {
			break // a cut tail
		}
		n, cut, walks := otlpproto.Walk(h[prefix:min(end, len(h))])
		if !walks || cut && end <= len(h) {
			return 0, false
		}
		records += n
		seen++
		if end > len(h) {
			if n == 0 && !src.whole {
				records++ // a message so large that no span of it is whole here
			}
			break
		}
		h = h[end:]
	}
	return records, true
}

// sniffMessage: one protobuf message, which several one after the other are too. In one whose first record is larger than the head, the first
// field must be the list of resource spans.
func sniffMessage(src *source) verdict {
	if n, cut, ok := otlpproto.Walk(src.head); ok && (n > 0 || cut && !src.whole && src.head[0] == 1<<3|2) {
		return verdict{ok: true, name: "otlp-proto"}
	}
	return verdict{}
}

// sniffFramedZstd: the collector's compression: zstd without its feature gate: a length as 4 bytes, then a zstd frame with one message.
// The first message that can be read tells what they are.
func sniffFramedZstd(src *source) verdict {
	if len(src.head) < 8 || !isZstd(src.head[4:]) {
		return verdict{}
	}
	for h := src.head; len(h) > 4; {
		prefix, length, err := be32(h)
		if err != nil {
			return verdict{ok: true, refused: err}
		}
		end := min(prefix+length, len(h))
		if v := sniffZstd(h[prefix:end]); v.ok {
			return v
		}
		h = h[end:]
	}
	return verdict{ok: true, refused: fmt.Errorf("%w: zstd frames with something else in them", decode.ErrUnknownFormat)}
}

// sniffZstd tells what is in a zstd frame, or in the beginning of one.
func sniffZstd(frame []byte) verdict {
	z, err := zstd.NewReader(bytes.NewReader(frame), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow))
	if err != nil {
		return verdict{}
	}
	defer z.Close()
	inner := &source{r: z}
	if inner.peek(); inner.broken != nil {
		inner.whole = false
	}
	v := sniffValues(inner)
	if !v.ok {
		v = sniffMessage(inner)
	}
	if v.ok && v.unread == "" && v.refused == nil {
		v.name += "+zstd+framed"
	}
	return v
}

func cutJSON(src *source) cutter {
	c := &jsonCutter{r: src.all(), broken: &src.broken, size: src.block, limit: src.limit, line: 1, begin: src.nuls, offset: src.nuls}
	return c.next
}

func cutMessages(frame framing) func(src *source) cutter {
	return func(src *source) cutter {
		c := &messageCutter{r: src.all(), frame: frame, broken: &src.broken, size: src.block, offset: src.nuls}
		return c.next
	}
}
