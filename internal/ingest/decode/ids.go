package decode

import (
	"encoding/base64"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Ids in texts (FORMATS 1.2): which encoding it is follows from length and alphabet alone.
//
//   - hex digits, up to as many as the id has: left-padded with zeros, any case, with or without 0x
//   - base64 of the bytes, padded, either alphabet: 24 characters of a trace id, 12 of a span id
//   - base64 of the hex text: 44 and 24 characters
//   - all zeros, or nothing: no id
//   - anything else is kept as text, so that parents still find each other

const (
	traceDigits = 32
	spanDigits  = 16
)

// TraceID reads the id of a trace.
func TraceID(names *model.Interner, text []byte) model.TraceID {
	if id, ok := hexID(text, traceDigits); ok {
		return id
	}
	if len(text) == 24 || len(text) == 44 {
		if raw, ok := fromBase64(text); ok {
			if len(raw) == 16 {
				return model.TraceID{Hi: beUint64(raw), Lo: beUint64(raw[8:])}
			}
			if id, ok := hexID(raw, traceDigits); ok && len(raw) == traceDigits {
				return id
			}
		}
	}
	return model.OpaqueTrace(names.Intern(text))
}

// SpanID reads the id of a span.
func SpanID(names *model.Interner, text []byte) model.SpanID {
	if id, ok := hexID(text, spanDigits); ok {
		return model.HexID(id.Lo)
	}
	if len(text) == 12 || len(text) == 24 {
		if raw, ok := fromBase64(text); ok {
			if len(raw) == 8 {
				return model.HexID(beUint64(raw))
			}
			if id, ok := hexID(raw, spanDigits); ok && len(raw) == spanDigits {
				return model.HexID(id.Lo)
			}
		}
	}
	return model.SpanID{N: uint64(names.Intern(text)), Kind: model.IDOpaque}
}

const notHex = 0xff

var hexDigit = func() (t [256]byte) {
	for i := range t {
		t[i] = notHex
	}
	for i := range byte(10) {
		t['0'+i] = i
	}
	for i := range byte(6) {
		t['a'+i], t['A'+i] = 10+i, 10+i
	}
	return
}()

// hexID reads up to limit hex digits. No digits at all are the zero id.
func hexID(text []byte, limit int) (id model.TraceID, ok bool) {
	if len(text) > 2 && text[0] == '0' && text[1]|0x20 == 'x' {
		text = text[2:]
	}
	if len(text) > limit {
		return id, false
	}
	bad := byte(0)
	cut := max(0, len(text)-16)
	for _, c := range text[:cut] {
		d := hexDigit[c]
		bad |= d
		id.Hi = id.Hi<<4 | uint64(d&15)
	}
	for _, c := range text[cut:] {
		d := hexDigit[c]
		bad |= d
		id.Lo = id.Lo<<4 | uint64(d&15)
	}
	return id, bad&0xf0 == 0
}

// fromBase64 reads padded base64 of either alphabet.
func fromBase64(text []byte) ([]byte, bool) {
	if len(text) > 44 {
		return nil, false
	}
	var std, out [44]byte
	for i, c := range text {
		switch c {
		case '-':
			c = '+'
		case '_':
			c = '/'
		case '\r', '\n':
			return nil, false // the decoder would skip them
		}
		std[i] = c
	}
	n, err := base64.StdEncoding.Decode(out[:], std[:len(text)])
	return out[:n], err == nil
}

func beUint64(b []byte) (n uint64) {
	for _, c := range b[:8] {
		n = n<<8 | uint64(c)
	}
	return n
}
