package ingest

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/model"
)

// related are the ids and traces of the requests that a text means. It takes ids for related that may turn out not to be (two children of one external
// id): what is read too much is sorted out by the store.
type related struct {
	text       string
	whole      *model.TraceID // the text as a trace id of 32 digits
	half       *uint64        // of 16
	prefix     []byte         // as the beginning of one, digits in lower case; nil where it is none
	ids, forms map[string]bool
	traces     map[model.TraceID]bool
}

func newRelated(text string) related {
	if at := strings.LastIndexByte(text, '#'); at > 0 && strings.Trim(text[at+1:], "0123456789") == "" {
		text = text[:at]
	}
	r := related{text: text, ids: map[string]bool{}, forms: map[string]bool{}, traces: map[model.TraceID]bool{}}
	if raw, err := hex.DecodeString(text); err == nil {
		switch len(raw) {
		case 16:
			r.whole = &model.TraceID{Hi: binary.BigEndian.Uint64(raw), Lo: binary.BigEndian.Uint64(raw[8:])}
		case 8:
			n := binary.BigEndian.Uint64(raw)
			r.half = &n
		}
	}
	if n := len(text); n >= model.MinPrefix && n < 32 && strings.Trim(text, "0123456789abcdef") == "" {
		r.prefix = []byte(text)
	}
	return r
}

// beginsTrace reports whether the text may be the beginning of a trace id: the id of a request that has no other (R4.4).
func (r *related) beginsTrace(d *model.Dict, t model.TraceID) bool {
	if _, opaque := t.Opaque(); opaque {
		return strings.HasPrefix(d.TraceIDText(t), r.text)
	}
	if len(r.prefix) == 0 || t.IsZero() {
		return false
	}
	var raw [16]byte
	var digits [32]byte
	binary.BigEndian.PutUint64(raw[:], t.Hi)
	binary.BigEndian.PutUint64(raw[8:], t.Lo)
	hex.Encode(digits[:], raw[:])
	return bytes.HasPrefix(digits[:], r.prefix)
}

// namedBy appends the texts of a record that name a request (R4.1, R2.6).
func namedBy(ids []string, b *model.Batch, r *model.Record) []string {
	attrs := b.AttrsOf(r)
	for i := range attrs {
		if a := &attrs[i]; a.Key.NamesRequest() && a.Kind == model.StrValue && a.Len > 0 {
			ids = append(ids, string(b.TextOf(a)))
		}
	}
	return ids
}

// formsOf are an id and the external ids that it may be the child of.
func formsOf(id string) (forms []string) {
	all, ok := model.ExternalForms(id)
	for i, form := range all {
		if ok[i] {
			forms = append(forms, form)
		}
	}
	return forms
}

// fits reports whether a record with this trace and these ids may be of the requests.
func (r *related) fits(trace model.TraceID, ids []string) bool {
	if r.traces[trace] || r.whole != nil && *r.whole == trace || r.half != nil && *r.half == trace.Lo {
		return true
	}
	return slices.ContainsFunc(ids, r.fitsID)
}

func (r *related) fitsID(id string) bool {
	if strings.HasPrefix(id, r.text) || r.forms[id] {
		return true
	}
	return slices.ContainsFunc(formsOf(id), func(form string) bool { return r.ids[form] || form == r.text })
}

// addRelated takes in an id, and reports whether it is new.
func (r *related) addRelated(id string) bool {
	if r.ids[id] {
		return false
	}
	r.ids[id] = true
	for _, form := range formsOf(id) {
		r.forms[form] = true
	}
	return true
}

// keep drops the records of a batch that are of other requests.
func (r *related) keep(b *model.Batch) {
	kept := b.Records[:0]
	var ids []string
	for i := range b.Records {
		rec := &b.Records[i]
		ids = namedBy(ids[:0], b, rec)
		if r.fits(rec.Trace, ids) {
			kept = append(kept, *rec)
		}
	}
	b.Records = kept
}
