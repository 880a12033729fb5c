package model

import (
	"bytes"
	"math"
	"strconv"
)

// A SpanKind is OTLP's: 0 unspecified, 1 internal, 2 server, 3 client, 4 producer, 5 consumer.
type SpanKind uint8

const (
	KindServer   SpanKind = 2
	KindClient   SpanKind = 3
	KindProducer SpanKind = 4
	KindConsumer SpanKind = 5
)

// RecordFlags are facts of a record that its reader saw.
type RecordFlags uint8

const (
	RecordError      RecordFlags = 1 << iota // status ERROR
	RecordLine                               // a profile line: its name is the line's, its stage comes from ProfileNames (StageID)
	RecordPoint                              // a moment (an LCT record, a counter): no duration, class point whatever its name
	RecordUnanchored                         // Start is on a clock without an epoch; untimed until aligned (R4.12)
	RecordNoEnd                              // a line without a duration
)

// RecordHashes is RecordLine and RecordPoint together: a lookup-hash line. It is a point, and its request_id is a weak key (R4.1): it alone makes no request.
const RecordHashes = RecordLine | RecordPoint

// Lookup-hash lines (CONTRACT-lmcache 5.1), which readers keep with KeepAll alone: points of this name with the hashes of the chunks that a lookup asked for,
// in lower-case hex with a space between two.
const (
	LookupHashes = "lookup_hashes"
	ChunkHashes  = "chunk_hashes"
)

// A Record is one span, profile line or LCT record as a reader saw it, in base units (ns). It holds no pointers:
// names are ids of the Dict, texts and attributes ranges of its Batch.
type Record struct {
	Trace      TraceID
	ID, Parent SpanID
	Start, End Time  // raw; End 0: open (R4.8); Start 0, or neither: untimed (R3.5)
	Pos        int64 // line number from 1, or byte offset in the decompressed input
	Name       StrID // as written
	StageID    StrID // the stage of a profile line, else 0
	Scope      StrID // tracer name
	Res        ResID
	File       FileID
	AttrLo     uint32 // its attributes are Batch.Attrs[AttrLo:AttrHi]
	AttrHi     uint32
	Kind       SpanKind
	Flags      RecordFlags
}

// A BatchAttr is one attribute of a record. Numbers and truths are in Bits, text is Batch.Text[Off:Off+Len].
type BatchAttr struct {
	Bits     uint64
	Key      AttrKey
	Off, Len uint32
	Kind     ValueKind
}

// A Batch is what a reader appends to: flat slices that are reused. A reader fills one Record after the other:
//
//	r := b.Begin()
//	r.Name = b.Names.Intern(name)
//	b.AddText(key, value) … b.AddInt(key, value)
//	b.End()        // or b.Drop() when the record turns out to be broken
//
// Records of a block stay open to patching until the batch is handed on: a resource or scope that comes after its spans
// is written into b.Records[first:] then. Attributes are kept when the table has their key, all of them with KeepAll.
type Batch struct {
	Dict    *Dict
	Names   *Interner
	KeepAll bool // keep attributes outside the table too (inspect)

	// ShowSensitive keeps the values of secret keys (R3.6). Otherwise they are replaced by <redacted n bytes> as they are added,
	// so that nothing past the readers ever holds one. No key of the table is secret.
	ShowSensitive bool
	secrecy       map[AttrKey]Secrecy // what SecrecyOf said of the keys outside the table

	Records []Record
	Attrs   []BatchAttr
	Text    []byte
}

// NewBatch returns an empty batch for one goroutine.
func NewBatch(d *Dict, keepAll bool) *Batch {
	return &Batch{Dict: d, Names: NewInterner(d), KeepAll: keepAll}
}

// Reset empties the batch; its memory stays.
func (b *Batch) Reset() { b.Records, b.Attrs, b.Text = b.Records[:0], b.Attrs[:0], b.Text[:0] }

// Begin appends an empty record. The pointer is good until the next Begin.
func (b *Batch) Begin() *Record {
	n := len(b.Records)
	if n < cap(b.Records) {
		b.Records = b.Records[:n+1] // cleared in place, not copied
	} else {
		b.Records = append(b.Records, Record{})
	}
	r := &b.Records[n]
	*r = Record{AttrLo: uint32(len(b.Attrs))}
	return r
}

// End closes the last record: the attributes added since Begin are its own.
func (b *Batch) End() { b.Records[len(b.Records)-1].AttrHi = uint32(len(b.Attrs)) }

// Drop takes the last record back.
func (b *Batch) Drop() {
	last := len(b.Records) - 1
	b.Attrs = b.Attrs[:b.Records[last].AttrLo]
	b.Records = b.Records[:last]
}

// Wants returns the key under which an attribute is kept, AttrNone when it is not.
func (b *Batch) Wants(key []byte) AttrKey {
	if k := AttrOf(key); k != AttrNone || !b.KeepAll {
		return k
	}
	return NumAttrs + AttrKey(b.Names.Intern(key))
}

// KeyName is the text of a key.
func (d *Dict) KeyName(k AttrKey) string {
	if k < NumAttrs {
		return Attrs[k].Name
	}
	return d.Str(StrID(k - NumAttrs))
}

func (b *Batch) put(k AttrKey, kind ValueKind, bits uint64) {
	b.Attrs = append(b.Attrs, BatchAttr{Key: k, Kind: kind, Bits: bits})
}

// AddInt adds an integer attribute to the open record, AddFloat a float, AddBool a truth, AddText text. Values are typed as the table
// wants them (Typed). Of a key that repeats the last one counts.
func (b *Batch) AddInt(k AttrKey, v int64) {
	switch {
	case k == AttrNone:
	case b.hides(k, IntValue):
		b.addRedacted(k, len(strconv.FormatInt(v, 10)))
	case k < NumAttrs && Attrs[k].Type == Text:
		var digits [20]byte // text keys such as worker_id are often written as integers: no allocation for them
		b.addString(k, strconv.AppendInt(digits[:0], v, 10))
	default:
		b.put(k, IntValue, uint64(v))
	}
}

// AddFloat adds a float; see AddInt.
func (b *Batch) AddFloat(k AttrKey, v float64) {
	if k == AttrNone {
		return
	}
	if b.hides(k, FloatValue) {
		b.addRedacted(k, len(strconv.FormatFloat(v, 'g', -1, 64)))
		return
	}
	b.addValue(k, Typed(k, Value{Kind: FloatValue, Float: v}))
}

// AddBool adds a truth; see AddInt.
func (b *Batch) AddBool(k AttrKey, v bool) {
	if k == AttrNone {
		return
	}
	if b.hides(k, BoolValue) {
		b.addRedacted(k, len(strconv.FormatBool(v)))
		return
	}
	n := int64(0)
	if v {
		n = 1
	}
	b.addValue(k, Typed(k, Value{Kind: BoolValue, Int: n}))
}

// AddText adds text; see AddInt. The bytes are copied.
func (b *Batch) AddText(k AttrKey, v []byte) {
	if k == AttrNone {
		return
	}
	if k >= NumAttrs {
		if b.hides(k, StrValue) && !isRedacted(v) { // where it was before, as in a shard, its size stays
			b.addRedacted(k, len(v))
			return
		}
		b.addShown(k, v)
		return
	}
	switch Attrs[k].Type {
	case Text:
		if string(v) != "None" {
			b.addShown(k, v)
		}
		return
	case Number:
		if n, ok := parseInt(v); ok {
			b.put(k, IntValue, uint64(n))
			return
		}
		if bytes.IndexByte(v, '.') >= 0 { // "12.5": the conversion stays on the stack
			if f, err := strconv.ParseFloat(string(v), 64); err == nil {
				b.AddFloat(k, f)
				return
			}
		}
	case Truth: // LMCache writes child attributes as text ("True"): without a copy of it
		switch string(v) {
		case "True", "true", "TRUE":
			b.put(k, BoolValue, 1)
			return
		case "False", "false", "FALSE":
			b.put(k, BoolValue, 0)
			return
		}
	}
	if typed := Typed(k, Value{Kind: StrValue, Str: string(v)}); typed.Kind != StrValue {
		b.addValue(k, typed)
		return
	}
	b.addShown(k, v) // what is no number under the key of one
}

// parseInt reads a decimal integer of up to 18 digits.
func parseInt(v []byte) (int64, bool) {
	neg := len(v) > 0 && v[0] == '-'
	if neg {
		v = v[1:]
	}
	if len(v) == 0 || len(v) > 18 {
		return 0, false
	}
	n := int64(0)
	for _, c := range v {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}

func (b *Batch) addString(k AttrKey, v []byte) {
	off := uint32(len(b.Text))
	b.Text = append(b.Text, v...)
	b.Attrs = append(b.Attrs, BatchAttr{Key: k, Kind: StrValue, Off: off, Len: uint32(len(v))})
}

// addShown adds text, without the secret values that JSON in it holds (R3.6).
func (b *Batch) addShown(k AttrKey, v []byte) {
	if !b.ShowSensitive && bytes.IndexByte(v, '{') >= 0 {
		v = redactText(v, []byte(b.Dict.KeyName(k)), 1)
	}
	b.addString(k, v)
}

// hides reports whether values of a kind are to be replaced under a key (R3.6).
func (b *Batch) hides(k AttrKey, kind ValueKind) bool {
	if k < NumAttrs || b.ShowSensitive {
		return false
	}
	secrecy, ok := b.secrecy[k]
	if !ok {
		if b.secrecy == nil {
			b.secrecy = map[AttrKey]Secrecy{}
		}
		secrecy = SecrecyOf(b.Dict.KeyName(k))
		b.secrecy[k] = secrecy
	}
	return secrecy.Hides(kind)
}

func (b *Batch) addRedacted(k AttrKey, n int) { b.addString(k, []byte(Redacted(n))) }

func (b *Batch) addValue(k AttrKey, v Value) {
	switch v.Kind {
	case IntValue, BoolValue:
		b.put(k, v.Kind, uint64(v.Int))
	case FloatValue:
		b.put(k, FloatValue, math.Float64bits(v.Float))
	case StrValue:
		b.addString(k, []byte(v.Str))
	}
}

// AttrsOf are the attributes of a record.
func (b *Batch) AttrsOf(r *Record) []BatchAttr { return b.Attrs[r.AttrLo:r.AttrHi] }

// TextOf is the text of an attribute that holds text.
func (b *Batch) TextOf(a *BatchAttr) []byte { return b.Text[a.Off : a.Off+a.Len] }
