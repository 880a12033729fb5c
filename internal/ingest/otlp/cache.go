package otlp

import (
	"bytes"
	"encoding/binary"

	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/model"
)

// caches hold what repeats from value to value, for one dictionary and one family of files. All are bounded.
type caches struct {
	dict      *model.Dict
	keepAll   bool
	family    string
	names     words
	keys      keys
	resources [slots]struct { // the last few, by the bytes of the object
		raw []byte
		id  model.ResID
	}
	oldest  int
	none    model.ResID // the resource of spans without one
	hasNone bool
	scopes  [slots]struct {
		raw []byte
		id  model.StrID
	}
	oldestScope int
}

const slots = 8

// bind forgets what was cached for another dictionary or another family of files.
func (c *caches) bind(b *model.Batch, family string) {
	if c.dict != b.Dict || c.keepAll != b.KeepAll || c.family != family {
		*c = caches{dict: b.Dict, keepAll: b.KeepAll, family: family}
	}
}

// Words are cached by a hash of their length and ends, one word a slot.
const wordSlots = 512

func slot(p []byte) uint32 {
	var head, tail uint64
	switch n := len(p); {
	case n >= 8:
		head, tail = binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[n-8:])
	case n >= 4:
		head, tail = uint64(binary.LittleEndian.Uint32(p)), uint64(binary.LittleEndian.Uint32(p[n-4:]))
	case n > 0:
		head, tail = uint64(p[0]), uint64(p[n-1])<<8|uint64(p[n/2])
	}
	h := (head ^ uint64(len(p))<<56) * 0x9e3779b97f4a7c15
	h = (h ^ h>>29 ^ tail) * 0xbf58476d1ce4e5b9
	return uint32(h>>40) % wordSlots
}

// words is a cache in front of the Interner, for names.
type words [wordSlots]struct {
	text string
	id   model.StrID
}

func (w *words) id(b *model.Batch, p []byte) model.StrID {
	e := &w[slot(p)]
	if e.text != string(p) {
		e.id, e.text = b.Names.Intern(p), string(p)
	}
	return e.id
}

// keys is a cache in front of Batch.Wants, for attribute keys.
type keys [wordSlots]struct {
	text string
	id   model.AttrKey
}

func (w *keys) id(b *model.Batch, p []byte) model.AttrKey {
	e := &w[slot(p)]
	if e.text != string(p) || len(p) == 0 {
		e.id, e.text = b.Wants(p), string(p)
	}
	return e.id
}

func (d *Decoder) noResource() model.ResID {
	if !d.hasNone {
		d.none, d.hasNone = d.b.Dict.Resource(model.Resource{}, d.family), true
	}
	return d.none
}

// resource reads a Resource. One that was read before is known by its bytes: they are a whole object, so what begins with them is it.
func (d *Decoder) resource() model.ResID {
	s := &d.s
	if s.Kind() != jsonscan.Object {
		s.Skip()
		return d.noResource()
	}
	for i := range d.resources {
		if c := &d.resources[i]; len(c.raw) > 0 && s.Matches(c.raw) {
			return c.id
		}
	}
	raw := s.Raw()
	if s.Err() != nil {
		return d.noResource()
	}
	id := d.b.Dict.Resource(readResource(raw), d.family)
	if newlines(raw) == 0 { // Matches counts none
		c := &d.resources[d.oldest]
		d.oldest = (d.oldest + 1) % slots
		c.raw, c.id = append(c.raw[:0], raw...), id
	}
	return id
}

// readResource picks what names a process (R4.11) from the attributes of a Resource.
func readResource(raw []byte) (r model.Resource) {
	var s jsonscan.Scanner
	s.Reset(raw)
	s.Object()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		if string(key) != "attributes" || !s.Array() {
			if string(key) != "attributes" {
				s.Skip()
			}
			continue
		}
		for s.Elem() {
			readResourceAttribute(&s, &r)
		}
	}
	return r
}

func readResourceAttribute(s *jsonscan.Scanner, r *model.Resource) {
	var name, value []byte
	if !s.Object() {
		return
	}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case "key":
			t, _ := s.Text()
			name = bytes.Clone(t)
		case "value":
			value = s.Raw()
		default:
			s.Skip()
		}
	}
	switch string(name) {
	case "service.instance.id":
		r.Instance = scalar(value).Text()
	case "service.name":
		r.Service = scalar(value).Text()
	case "host.name":
		r.Host = scalar(value).Text()
	case "process.pid":
		r.PID, _ = model.Typed(model.AttrPID, scalar(value)).Whole()
	}
}

// scalar reads an AnyValue that is no list.
func scalar(raw []byte) (v model.Value) {
	var s jsonscan.Scanner
	s.Reset(raw)
	if len(raw) == 0 || !s.Object() {
		return v
	}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case "stringValue", "string_value":
			if t, ok := s.Text(); ok {
				v = model.Value{Kind: model.StrValue, Str: string(t)}
			}
		case "intValue", "int_value":
			if n, err := s.Int(); err == nil {
				v = model.Value{Kind: model.IntValue, Int: n}
			}
		case "doubleValue", "double_value":
			if f, err := s.Float(); err == nil {
				v = model.Value{Kind: model.FloatValue, Float: f}
			}
		case "boolValue", "bool_value":
			if t, ok := s.Bool(); ok {
				v = model.Value{Kind: model.BoolValue}
				if t {
					v.Int = 1
				}
			}
		default:
			s.Skip()
		}
	}
	return v
}

// scopeName reads the name of an InstrumentationScope; see resource.
func (d *Decoder) scopeName() (name model.StrID) {
	s := &d.s
	if s.Kind() != jsonscan.Object {
		s.Skip()
		return 0
	}
	for i := range d.scopes {
		if c := &d.scopes[i]; len(c.raw) > 0 && s.Matches(c.raw) {
			return c.id
		}
	}
	raw := s.Raw()
	if s.Err() != nil {
		return 0
	}
	var in jsonscan.Scanner
	in.Reset(raw)
	in.Object()
	for key, ok := in.Key(); ok; key, ok = in.Key() {
		if string(key) != "name" {
			in.Skip()
		} else if t, ok := in.Text(); ok {
			name = d.b.Names.Intern(t)
		}
	}
	if newlines(raw) == 0 {
		c := &d.scopes[d.oldestScope]
		d.oldestScope = (d.oldestScope + 1) % slots
		c.raw, c.id = append(c.raw[:0], raw...), name
	}
	return name
}

func newlines(b []byte) int64 { return int64(bytes.Count(b, []byte{'\n'})) }
