package model

import (
	"cmp"
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// A Time is an instant in ns since the Unix epoch, on the clock of the process that wrote it. 0 means that none was written.
type Time int64

// Sub returns t−u in ns.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// A TraceID is what one exporter filed spans under, as 128 bits in big-endian order. The zero value means none.
// An id that is not hex (test data has some) is kept as text: Hi is opaqueTrace and Lo the StrID of the text.
type TraceID struct{ Hi, Lo uint64 }

// opaqueTrace is another one in every run, so that no input can hold an id of hex digits that looks like one. Nothing that comes out depends on it.
var opaqueTrace = rand.Uint64()

// OpaqueTrace is the id of a trace whose id is free text.
func OpaqueTrace(text StrID) TraceID { return TraceID{opaqueTrace, uint64(text)} }

// IsZero reports whether there is no trace id.
func (t TraceID) IsZero() bool { return t == TraceID{} }

// Opaque returns the text of an id that is not hex.
func (t TraceID) Opaque() (StrID, bool) { return StrID(t.Lo), t.Hi == opaqueTrace && t.Lo>>32 == 0 }

// An IDKind says how the id of a span is written.
type IDKind uint8

const (
	IDNone      IDKind = iota // no id: a span without a parent
	IDHex                     // 64 bits, shown as 16 hex digits
	IDLine                    // a line or record of a file: FileID<<40 | line (from 1) or record offset, shown as path:line
	IDOpaque                  // free text: a StrID
	IDSynthetic               // made up by cbtrace: Stage<<40 | attempt<<32 | ProcID, shown as +stage:process
)

// A SpanID names a span within its trace. The zero value means none.
type SpanID struct {
	N    uint64
	Kind IDKind
}

// HexID is the id with the given 64 bits; 0 is no id.
func HexID(n uint64) SpanID {
	if n == 0 {
		return SpanID{}
	}
	return SpanID{n, IDHex}
}

const idShift = 40

// LineID is the id of a line (or of the record at an offset) of a file.
func LineID(f FileID, pos int64) SpanID {
	return SpanID{uint64(f)<<idShift | uint64(pos)&(1<<idShift-1), IDLine}
}

// SyntheticID is the id of the span of a stage that was made up for a process and an attempt (from 1).
func SyntheticID(s Stage, p ProcID, attempt int) SpanID {
	return SpanID{uint64(s)<<idShift | uint64(attempt&0xff)<<32 | uint64(uint32(p)), IDSynthetic}
}

// IsZero reports whether there is no id.
func (id SpanID) IsZero() bool { return id.Kind == IDNone }

// CompareSpanIDs orders ids as their texts order, byte by byte.
func (d *Dict) CompareSpanIDs(a, b SpanID) int {
	if a.Kind == IDHex && b.Kind == IDHex {
		return cmp.Compare(a.N, b.N)
	}
	if a == b {
		return 0
	}
	return strings.Compare(d.SpanIDText(a), d.SpanIDText(b))
}

// CompareTraceIDs orders trace ids as their texts order.
func (d *Dict) CompareTraceIDs(a, b TraceID) int {
	_, oa := a.Opaque()
	_, ob := b.Opaque()
	if oa || ob {
		return strings.Compare(d.TraceIDText(a), d.TraceIDText(b))
	}
	if c := cmp.Compare(a.Hi, b.Hi); c != 0 {
		return c
	}
	return cmp.Compare(a.Lo, b.Lo)
}

// SpanIDText is the id as outputs show it; "" for none.
func (d *Dict) SpanIDText(id SpanID) string {
	switch id.Kind {
	case IDHex:
		return hex16(id.N)
	case IDLine:
		return d.File(FileID(id.N>>idShift)).Path + ":" + strconv.FormatUint(id.N&(1<<idShift-1), 10)
	case IDOpaque:
		return d.Str(StrID(id.N))
	case IDSynthetic:
		name := Stages[Stage(id.N>>idShift)].Name
		if name == "" {
			name = SyntheticStage
		}
		text := "+" + name + ":" + d.Proc(ProcID(uint32(id.N))).Name
		if attempt := id.N >> 32 & 0xff; attempt > 1 {
			text += ":" + strconv.FormatUint(attempt, 10)
		}
		return text
	}
	return ""
}

// TraceIDText is the id as outputs show it: 32 lower-case hex digits, or its text; "" for none.
func (d *Dict) TraceIDText(t TraceID) string {
	if t.IsZero() {
		return ""
	}
	if s, ok := t.Opaque(); ok {
		return d.Str(s)
	}
	return hex16(t.Hi) + hex16(t.Lo)
}

func hex16(n uint64) string {
	var b [8]byte
	for i := range b {
		b[i] = byte(n >> (56 - 8*i))
	}
	return hex.EncodeToString(b[:])
}
