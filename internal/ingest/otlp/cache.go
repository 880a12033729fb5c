package otlp

import (
	"bytes"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/model"
)

// caches hold what repeats from value to value. All are bounded.
type caches struct {
	dict    *model.Dict
	keepAll bool
	names   decode.Words[model.StrID]
	keys    decode.Words[model.AttrKey] // outside the table
	scopes  [4]known[model.StrID]
	spellings
	resources
}

// resources are those of a family of files: service names without an instance are told apart by it (R4.11).
type resources struct {
	family  string
	recent  [4]known[model.ResID] // the last ones, by the bytes of their objects
	older   map[string]model.ResID
	size    int         // bytes in older
	none    model.ResID // of spans without one
	hasNone bool
}

// bind forgets what was cached for another dictionary or another family of files.
func (c *caches) bind(b *model.Batch, family string) {
	if c.dict != b.Dict || c.keepAll != b.KeepAll {
		*c = caches{dict: b.Dict, keepAll: b.KeepAll}
	}
	if c.older == nil || c.family != family {
		c.resources = resources{family: family, older: map[string]model.ResID{}}
	}
}

// maxResources bounds the bytes of resources that are remembered.
const maxResources = 1 << 20

// known is what the bytes of an object were found to mean.
type known[ID any] struct {
	raw []byte
	id  ID
}

// find passes over the next value when it is one of those known. They are whole objects, so what begins with one is it.
func find[ID any](s *jsonscan.Scanner, all *[4]known[ID]) (id ID, ok bool) {
	for i := range all {
		if len(all[i].raw) > 0 && s.Matches(all[i].raw) {
			if i > 0 {
				all[i], all[i-1] = all[i-1], all[i]
				i--
			}
			return all[i].id, true
		}
	}
	return id, false
}

// keep remembers what raw means, unless it has newlines, which Matches would not count.
func keep[ID any](all *[4]known[ID], raw []byte, id ID) {
	if decode.Newlines(raw) == 0 {
		last := &all[len(all)-1]
		last.raw, last.id = append(last.raw[:0], raw...), id
	}
}

// name is the id of the name of a span.
func (d *Decoder) name(text []byte) model.StrID {
	id, ok := d.names.Find(text)
	if !ok {
		id = d.b.Names.Intern(text)
		d.names.Keep(text, id)
	}
	return id
}

// key is what an attribute is kept under, AttrNone when it is not kept.
func (d *Decoder) key(text []byte) model.AttrKey {
	k := model.AttrOf(text)
	if k != model.AttrNone || !d.keepAll {
		return k
	}
	k, ok := d.keys.Find(text)
	if !ok {
		k = d.b.Wants(text)
		d.keys.Keep(text, k)
	}
	return k
}

func (d *Decoder) noResource() model.ResID {
	if !d.hasNone {
		d.none, d.hasNone = d.b.Dict.Resource(model.Resource{}, d.family), true
	}
	return d.none
}

// resource reads a Resource. One that was read before is known by its bytes.
func (d *Decoder) resource() model.ResID {
	s := &d.s
	if s.Kind() != jsonscan.Object {
		s.Skip()
		return d.noResource()
	}
	if id, ok := find(s, &d.recent); ok {
		return id
	}
	raw := s.Raw()
	if s.Err() != nil {
		return d.noResource()
	}
	id, ok := d.older[string(raw)]
	if !ok {
		id = d.b.Dict.Resource(readResource(raw), d.family)
		if d.size += len(raw); d.size > maxResources {
			clear(d.older)
			d.size = len(raw)
		}
		d.older[string(raw)] = id
	}
	keep(&d.recent, raw, id)
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
	if id, ok := find(s, &d.scopes); ok {
		return id
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
	keep(&d.scopes, raw, name)
	return name
}
