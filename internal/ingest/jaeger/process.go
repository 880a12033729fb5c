package jaeger

import (
	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/model"
)

// caches hold what repeats from value to value, for one dictionary and one family of files. All are bounded.
type caches struct {
	dict    *model.Dict
	keepAll bool
	family  string

	names         decode.Words[model.StrID]
	keys          decode.Words[model.AttrKey]
	resources     map[string]model.ResID // by the bytes of the process
	resourceBytes int
	none          model.ResID // of spans without a process
	hasNone       bool
}

// maxResourceBytes bounds the cache of processes.
const maxResourceBytes = 1 << 20

// bind forgets what was cached for another dictionary or another family of files.
func (c *caches) bind(b *model.Batch, family string) {
	if c.dict != b.Dict || c.keepAll != b.KeepAll || c.family != family {
		*c = caches{dict: b.Dict, keepAll: b.KeepAll, family: family, resources: map[string]model.ResID{}}
	}
}

// name is the id of a name.
func (d *Decoder) name(p []byte) model.StrID {
	id, ok := d.names.Find(p)
	if !ok {
		id = d.b.Names.Intern(p)
		d.names.Keep(p, id)
	}
	return id
}

func (d *Decoder) noResource() model.ResID {
	if !d.hasNone {
		d.none, d.hasNone = d.b.Dict.Resource(model.Resource{}, d.family), true
	}
	return d.none
}

// processes reads {"p1":{"serviceName":…,"tags":[…]}}.
func (d *Decoder) processes() {
	s := &d.s
	if !s.Object() {
		return
	}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		p := d.trace.proc(d.name(key))
		d.define(p, s.Raw())
	}
}

// processMap reads [{"processId":"p1","process":{…}}].
func (d *Decoder) processMap() {
	s := &d.s
	if !s.Array() {
		return
	}
	for s.Elem() {
		if !s.Object() {
			continue
		}
		p := int32(noProc)
		var raw []byte
		for key, ok := s.Key(); ok; key, ok = s.Key() {
			switch string(key) {
			case "processId", "processID":
				if t, ok := s.Text(); ok {
					p = d.trace.proc(d.name(t))
				}
			case "process":
				raw = s.Raw()
			default:
				s.Skip()
			}
		}
		if p >= 0 && raw != nil {
			d.define(p, raw)
		}
	}
}

func (d *Decoder) define(p int32, raw []byte) {
	if d.s.Err() == nil {
		d.trace.procs[p].res, d.trace.procs[p].known = d.resource(raw), true
	}
}

// resource is the id of a process, by its bytes.
func (d *Decoder) resource(raw []byte) model.ResID {
	if id, ok := d.resources[string(raw)]; ok {
		return id
	}
	id := d.b.Dict.Resource(readProcess(raw), d.family)
	if d.resourceBytes += len(raw); d.resourceBytes > maxResourceBytes {
		clear(d.resources)
		d.resourceBytes = len(raw)
	}
	d.resources[string(raw)] = id
	return id
}

// readProcess picks what names a process (R4.11): serviceName, and tags that were attributes of the resource. hostname is what Jaeger's own
// clients called it.
func readProcess(raw []byte) (r model.Resource) {
	var s jsonscan.Scanner
	var hostname string
	s.Reset(raw)
	if !s.Object() {
		return r
	}
	tag := func(key string, v model.Value) {
		switch key {
		case "service.instance.id":
			r.Instance = v.Text()
		case "host.name":
			r.Host = v.Text()
		case "hostname":
			hostname = v.Text()
		case "process.pid":
			r.PID, _ = model.Typed(model.AttrPID, v).Whole()
		}
	}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case "serviceName":
			if t, ok := s.Text(); ok {
				r.Service = string(t)
			}
		case "tags":
			if s.Array() {
				for s.Elem() {
					if key, v, ok := readTag(&s); ok {
						tag(key, v)
					}
				}
			}
		case "tag": // Elasticsearch, all tags as fields
			if s.Object() {
				for key, ok := s.Key(); ok; key, ok = s.Key() {
					name := dotted(key)
					tag(name, scalar(&s, typeNone))
				}
			}
		default:
			s.Skip()
		}
	}
	if r.Host == "" {
		r.Host = hostname
	}
	return r
}

// readTag reads one tag of a process, of either dialect.
func readTag(s *jsonscan.Scanner) (name string, v model.Value, ok bool) {
	if !s.Object() {
		return "", v, false
	}
	typ := typeNone
	var raw []byte
	for key, more := s.Key(); more; key, more = s.Key() {
		switch k := memberOf(key); k {
		case memberKey:
			if t, isText := s.Text(); isText {
				name, ok = string(t), true
			}
		case memberType:
			typ = readType(s)
		case memberOther:
			s.Skip()
		default:
			raw = s.Raw()
		}
	}
	if raw == nil {
		return name, v, false
	}
	var in jsonscan.Scanner
	in.Reset(raw)
	return name, scalar(&in, typ), ok
}

// scalar reads a value that is no list.
func scalar(s *jsonscan.Scanner, typ tagType) (v model.Value) {
	switch s.Kind() {
	case jsonscan.String:
		t, _ := s.Text()
		return model.Value{Kind: model.StrValue, Str: string(t)}
	case jsonscan.Number:
		raw := s.Raw()
		if n, err := jsonscan.ParseInt(raw); err == nil && typ != typeFloat && isInteger(raw) {
			return model.Value{Kind: model.IntValue, Int: n}
		}
		return model.Value{Kind: model.StrValue, Str: string(raw)}
	case jsonscan.Bool:
		if t, _ := s.Bool(); t {
			return model.Value{Kind: model.BoolValue, Int: 1}
		}
		return model.Value{Kind: model.BoolValue}
	}
	s.Skip()
	return v
}

// dotted is a key of the tag map of Elasticsearch, where dots are written as @.
func dotted(key []byte) string {
	name := []byte(string(key))
	for i, c := range name {
		if c == '@' {
			name[i] = '.'
		}
	}
	return string(name)
}
