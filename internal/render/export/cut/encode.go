package cut

import (
	"strconv"

	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/model/jsontext"
)

// Spans that follow one another and share file, resource and scope stand on one line.
type openLine struct {
	to    *[]byte // nil: none is open
	place place
	res   model.ResID
	scope model.StrID
	from  int // where it begins
}

// maxLine is after how many bytes a line is closed.
const maxLine = 256 << 10

func (w *Writer) closeLine() {
	o := &w.open
	if o.to == nil {
		return
	}
	*o.to = append(*o.to, "]}]}]}\n"...)
	w.held += len(*o.to) - o.from
	*o = openLine{}
}

// span adds a span to the open line, or to a new one.
func (w *Writer) span(s *model.Span, request string, p place) {
	if o := &w.open; o.to != nil && o.place == p && o.res == s.Res && o.scope == s.Scope && len(*o.to)-o.from < maxLine {
		*o.to = append(*o.to, ',')
	} else {
		w.closeLine()
		b := w.buffer(p)
		w.open = openLine{b, p, s.Res, s.Scope, len(*b)}
		*b = append(*b, `{"resourceSpans":[{"resource":{"attributes":[`...)
		*b = appendResource(*b, w.dict.Res(s.Res))
		*b = append(*b, `]},"scopeSpans":[{"scope":{"name":`...)
		*b = append(jsontext.AppendQuote(*b, w.dict.Str(s.Scope)), `},"spans":[`...)
	}
	*w.open.to = appendSpan(*w.open.to, w.dict, s, request)
}

func appendResource(b []byte, r *model.Resource) []byte {
	first := len(b)
	for _, a := range [...]struct{ key, value string }{{"service.name", r.Service}, {"service.instance.id", r.Instance}, {"host.name", r.Host}} {
		if a.value != "" {
			b = appendAttr(b, first, a.key, model.Value{Kind: model.StrValue, Str: a.value})
		}
	}
	if r.PID != 0 {
		b = appendAttr(b, first, "process.pid", model.Value{Kind: model.IntValue, Int: r.PID})
	}
	return b
}

func appendSpan(b []byte, d *model.Dict, s *model.Span, request string) []byte {
	b = append(b, '{')
	if !s.Trace.IsZero() {
		b = append(jsontext.AppendQuote(append(b, `"traceId":`...), d.TraceIDText(s.Trace)), ',')
	}
	if s.ID.Kind == model.IDHex || s.ID.Kind == model.IDOpaque { // the others tell a place in an input
		b = append(jsontext.AppendQuote(append(b, `"spanId":`...), d.SpanIDText(s.ID)), ',')
	}
	if !s.ParentID.IsZero() {
		b = append(jsontext.AppendQuote(append(b, `"parentSpanId":`...), d.SpanIDText(s.ParentID)), ',')
	}
	b = jsontext.AppendQuote(append(b, `"name":`...), d.Str(s.Name))
	if s.Kind != 0 {
		b = strconv.AppendUint(append(b, `,"kind":`...), uint64(s.Kind), 10)
	}
	end := s.RawEnd
	b = strconv.AppendInt(append(b, `,"startTimeUnixNano":"`...), int64(s.RawStart), 10)
	b = strconv.AppendInt(append(b, `","endTimeUnixNano":"`...), int64(end), 10)
	b = append(b, `","attributes":[`...)
	first := len(b)
	for i := range s.Attrs {
		if a := &s.Attrs[i]; a.Key != model.AttrResolved && a.Value.Kind != model.NoValue {
			b = appendAttr(b, first, d.KeyName(a.Key), a.Value)
		}
	}
	b = appendAttr(b, first, model.Attrs[model.AttrResolved].Name, model.Value{Kind: model.StrValue, Str: request})
	b = append(b, ']')
	if s.Error {
		b = append(b, `,"status":{"code":2}`...)
	}
	return append(b, '}')
}

// appendAttr adds an attribute to a list that begins at first.
func appendAttr(b []byte, first int, key string, v model.Value) []byte {
	if len(b) > first {
		b = append(b, ',')
	}
	b = jsontext.AppendQuote(append(b, `{"key":`...), key)
	b = append(b, `,"value":{`...)
	switch v.Kind {
	case model.IntValue:
		b = append(strconv.AppendInt(append(b, `"intValue":"`...), v.Int, 10), '"')
	case model.FloatValue:
		b = jsontext.AppendFloat(append(b, `"doubleValue":`...), v.Float)
	case model.BoolValue:
		b = strconv.AppendBool(append(b, `"boolValue":`...), v.Int != 0)
	default:
		b = jsontext.AppendQuote(append(b, `"stringValue":`...), v.Str)
	}
	return append(b, `}}`...)
}

// appendProfile writes a profile line, with times in ns whatever they were in.
func appendProfile(b []byte, d *model.Dict, s *model.Span, request string) []byte {
	b = jsontext.AppendQuote(append(b, `{"name":`...), d.Str(s.Name))
	if s.RawStart <= 0 {
		b = append(b, `,"ts":1`...) // of a unit that nobody knows: untimed, as it was
	} else {
		b = strconv.AppendInt(append(b, `,"`+model.ProfileStartNS+`":`...), int64(s.RawStart), 10)
		if s.Class != model.Point || s.RawEnd != s.RawStart { // a point or counter has no duration
			b = strconv.AppendInt(append(b, `,"dur_ns":`...), int64(s.RawEnd-s.RawStart), 10)
		}
	}
	if pid := d.Res(s.Res).PID; pid != 0 {
		b = strconv.AppendInt(append(b, `,"pid":`...), pid, 10)
	}
	if s.Error {
		b = append(b, `,"failed":true`...)
	}
	for i := range s.Attrs {
		a := &s.Attrs[i]
		key := d.KeyName(a.Key)
		if a.Key == model.AttrResolved || a.Value.Kind == model.NoValue || written(key) {
			continue
		}
		b = append(jsontext.AppendQuote(append(b, ','), key), ':')
		switch v := a.Value; v.Kind {
		case model.IntValue:
			b = strconv.AppendInt(b, v.Int, 10)
		case model.FloatValue:
			b = jsontext.AppendFloat(b, v.Float)
		case model.BoolValue:
			b = strconv.AppendBool(b, v.Int != 0)
		default:
			b = jsontext.AppendQuote(b, v.Str)
		}
	}
	b = jsontext.AppendQuote(append(b, `,"`+model.Attrs[model.AttrResolved].Name+`":`...), request)
	return append(b, "}\n"...)
}

// written reports whether what a key of a line says was written already.
func written(key string) bool {
	for i := range model.ProfileKeys {
		if k := &model.ProfileKeys[i]; k.Key == key {
			switch k.Role {
			case model.ProfileName, model.ProfileStart, model.ProfileEnd, model.ProfileDuration, model.ProfilePID, model.ProfileFailed:
				return true
			}
		}
	}
	return false
}
