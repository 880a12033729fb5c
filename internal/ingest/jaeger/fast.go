package jaeger

import (
	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/model"
)

// The layouts that Jaeger's query service writes are checked byte by byte before the scanner is asked: nothing is taken until all of a tag or
// reference has been found to be as expected. What differs in anything (white space, an escape, another order) is left to the scanner.

// fastTag reads {"key":"…","type":"…","value":…} at the scanner's position. false: nothing was read.
func (d *Decoder) fastTag(r *model.Record) bool {
	p := d.src[d.s.Pos():]
	i, ok := after(p, 0, `{"key":"`)
	if !ok {
		return false
	}
	end := jsonscan.PlainEnd(p, i)
	if end < 0 {
		return false
	}
	name := p[i:end]
	if i, ok = after(p, end, `","type":"`); !ok {
		return false
	}
	typ := typeNone
	switch p[i] { // there is a byte: after says so
	case 's':
		typ = typeText
		i, ok = after(p, i, `string","value":`)
	case 'i':
		typ = typeInt
		i, ok = after(p, i, `int64","value":`)
	case 'b':
		typ = typeBool
		i, ok = after(p, i, `bool","value":`)
	case 'f':
		typ = typeFloat
		i, ok = after(p, i, `float64","value":`)
	default:
		return false
	}
	if !ok {
		return false
	}
	from := i
	switch c := p[i]; {
	case c == '"':
		if end = jsonscan.PlainEnd(p, i+1); end < 0 {
			return false
		}
		if i, ok = after(p, end, `"}`); !ok {
			return false
		}
		d.putText(r, d.tagKey(name), typ, p[from+1:end])
	case c >= '0' && c <= '9':
		for i < len(p) && (p[i] >= '0' && p[i] <= '9' || p[i] == '.') {
			i++
		}
		end = i
		if i, ok = after(p, end, `}`); !ok {
			return false
		}
		if k := d.tagKey(name); k != model.AttrNone && k < tagLowest {
			d.putNumber(k, typ, p[from:end])
		}
	case c == 't':
		if i, ok = after(p, i, `true}`); !ok {
			return false
		}
		d.putBool(r, d.tagKey(name), true)
	case c == 'f':
		if i, ok = after(p, i, `false}`); !ok {
			return false
		}
		d.putBool(r, d.tagKey(name), false)
	default:
		return false
	}
	return d.s.Matches(p[:i])
}

// fastReference reads {"refType":"CHILD_OF","traceID":"…","spanID":"…"}, with ids of full length. false: nothing was read.
func (d *Decoder) fastReference() bool {
	p := d.src[d.s.Pos():]
	var ref reference
	i, ok := after(p, 0, `{"refType":"CHILD_OF","traceID":"`)
	if !ok {
		if i, ok = after(p, 0, `{"refType":"FOLLOWS_FROM","traceID":"`); !ok {
			return false
		}
		ref.follows = true
	}
	end := jsonscan.PlainEnd(p, i)
	if end != i+32 {
		return false
	}
	trace := p[i:end]
	if i, ok = after(p, end, `","spanID":"`); !ok {
		return false
	}
	if end = jsonscan.PlainEnd(p, i); end != i+16 {
		return false
	}
	ref.trace, ref.id = decode.TraceID(d.b.Names, trace), decode.SpanID(d.b.Names, p[i:end])
	if i, ok = after(p, end, `"}`); !ok {
		return false
	}
	d.span.refs = append(d.span.refs, ref)
	return d.s.Matches(p[:i])
}

// after returns where in p what follows the text at i begins; ok is false when the text is not there or nothing follows it.
func after(p []byte, i int, text string) (next int, ok bool) {
	next = i + len(text)
	if next >= len(p) || string(p[i:next]) != text {
		return i, false
	}
	return next, true
}
