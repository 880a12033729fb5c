package otlpproto

import (
	"math"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

// caches hold what repeats in a capture, for one dictionary. All are bounded.
type caches struct {
	dict          *model.Dict
	keepAll       bool
	family        string
	names         decode.Words[model.StrID]
	keys          decode.Words[model.AttrKey]
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

// name is the id of a span or scope name.
func (d *Decoder) name(p []byte) model.StrID {
	id, ok := d.names.Find(p)
	if !ok {
		id = d.b.Names.Intern(valid(p))
		d.names.Keep(p, id)
	}
	return id
}

// key is what Batch.Wants says of an attribute key.
func (d *Decoder) key(p []byte) model.AttrKey {
	id, ok := d.keys.Find(p)
	if !ok {
		id = d.b.Wants(valid(p))
		d.keys.Keep(p, id)
	}
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
