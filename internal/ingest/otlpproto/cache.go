package otlpproto

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/cbtrace/cbtrace/internal/model"
)

// caches hold what repeats in a capture, for one dictionary. All are bounded.
type caches struct {
	dict          *model.Dict
	keepAll       bool
	family        string
	names         words[model.StrID]
	keys          words[model.AttrKey]
	resources     map[string]model.ResID // by the bytes of the Resource
	resourceBytes int
	lastResource  string
	lastResID     model.ResID
}

// maxResourceBytes bounds the cache of resources.
const maxResourceBytes = 1 << 20

// bind forgets what was cached for another dictionary or another family of files.
func (c *caches) bind(b *model.Batch, family string) {
	if c.dict == b.Dict && c.keepAll == b.KeepAll && c.family == family {
		return
	}
	*c = caches{dict: b.Dict, keepAll: b.KeepAll, family: family, resources: map[string]model.ResID{}}
}

// Words are cached by a hash of their length and ends. A word is in the slot of its hash or in the one beside it.
const wordSlots = 512

func slot(p []byte) uint64 {
	var head, tail uint64
	switch n := len(p); {
	case n >= 8:
		head, tail = binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[n-8:])
	case n >= 4:
		head, tail = uint64(binary.LittleEndian.Uint32(p)), uint64(binary.LittleEndian.Uint32(p[n-4:]))
	case n > 0:
		head, tail = uint64(p[0]), uint64(p[n-1])<<8|uint64(p[n/2])
	}
	hi, lo := bits.Mul64(head^0x9e3779b97f4a7c15, tail^0xbf58476d1ce4e5b9^uint64(len(p)))
	return (hi ^ lo) % wordSlots
}

// A words is a cache of what a word is known as; ID is model.StrID for names, model.AttrKey for the keys of attributes.
type words[ID ~uint32] [wordSlots]struct {
	text string
	id   ID
}

// find returns what p is known as.
func (w *words[ID]) find(at uint64, p []byte) (id ID, ok bool) {
	if e := &w[at]; e.text == string(p) {
		return e.id, true
	}
	if e := &w[at^1]; e.text == string(p) {
		return e.id, true
	}
	return 0, false
}

// keep remembers a word; the one that it displaces moves to the slot beside.
func (w *words[ID]) keep(at uint64, p []byte, id ID) {
	w[at^1] = w[at]
	w[at].text, w[at].id = string(p), id
}

// name is the id of a span or scope name.
func (d *Decoder) name(p []byte) model.StrID {
	if len(p) == 0 {
		return 0
	}
	at := slot(p)
	if id, ok := d.names.find(at, p); ok {
		return id
	}
	id := d.b.Names.Intern(valid(p))
	d.names.keep(at, p, id)
	return id
}

// key is what Batch.Wants says of an attribute key.
func (d *Decoder) key(p []byte) model.AttrKey {
	if len(p) == 0 {
		return d.b.Wants(p)
	}
	at := slot(p)
	if id, ok := d.keys.find(at, p); ok {
		return id
	}
	id := d.b.Wants(valid(p))
	d.keys.keep(at, p, id)
	return id
}

// resource is the id of a Resource message.
func (d *Decoder) resource(p []byte) (model.ResID, error) {
	if d.lastResource == string(p) && len(p) > 0 {
		return d.lastResID, nil
	}
	if id, ok := d.resources[string(p)]; ok {
		return id, nil
	}
	r, err := readResource(p)
	id := d.b.Dict.Resource(r, d.family)
	if err != nil {
		return id, err
	}
	if d.resourceBytes += len(p); d.resourceBytes > maxResourceBytes {
		clear(d.resources)
		d.resourceBytes = len(p)
	}
	d.lastResource, d.lastResID = string(p), id
	d.resources[d.lastResource] = id
	return id, nil
}

// readResource picks what names a process (R4.11) from the attributes of a Resource. What was read before an error counts.
func readResource(p []byte) (r model.Resource, err error) {
	for i := 0; i < len(p); {
		f, err := next(p, i)
		if err != nil {
			return r, err
		}
		if f.num == 1 {
			if f.typ != wireLen {
				return r, errType
			}
			key, val, err := keyValue(p[f.lo:f.hi])
			if err != nil {
				return r, err
			}
			v, err := readValue(val)
			if err != nil {
				return r, err
			}
			switch string(key) {
			case "service.instance.id":
				r.Instance = v.text()
			case "service.name":
				r.Service = v.text()
			case "host.name":
				r.Host = v.text()
			case "process.pid":
				r.PID = v.whole()
			}
		}
		i = f.hi
	}
	return r, nil
}

// text is a scalar as text.
func (v value) text() string {
	switch v.num {
	case valueString:
		return string(valid(v.data))
	case valueBool, valueInt, valueDouble:
		return v.scalar().Text()
	}
	return ""
}

// whole is a scalar as an integer, 0 when it is none.
func (v value) whole() int64 {
	n, _ := model.Typed(model.AttrPID, v.scalar()).Whole()
	return n
}

func (v value) scalar() model.Value {
	switch v.num {
	case valueString:
		return model.Value{Kind: model.StrValue, Str: string(v.data)}
	case valueBool:
		return model.Value{Kind: model.BoolValue, Int: int64(min(v.n, 1))}
	case valueInt:
		return model.Value{Kind: model.IntValue, Int: int64(v.n)}
	case valueDouble:
		return model.Value{Kind: model.FloatValue, Float: math.Float64frombits(v.n)}
	}
	return model.Value{}
}
