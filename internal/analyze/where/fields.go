package where

import (
	"math"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A kind is what a value is.
type kind uint8

const (
	missing kind = iota
	number
	text
	truth // num is 0 or 1
	texts // several texts of one request: findings
)

// A value is what a field has, or a constant.
type value struct {
	kind kind
	num  float64
	text string
}

func numberOf(n int64, ok bool) value {
	if !ok {
		return value{}
	}
	return value{kind: number, num: float64(n)}
}

func optOf(o model.Opt) value { return numberOf(o.V, o.OK) }

func textOf(s string) value {
	if s == "" {
		return value{}
	}
	return value{kind: text, text: s}
}

func truthOf(b bool) value {
	v := value{kind: truth}
	if b {
		v.num = 1
	}
	return v
}

func rateOf(part, of model.Opt) value {
	if !part.OK || !of.OK || of.V == 0 {
		return value{}
	}
	return value{kind: number, num: float64(part.V) / float64(of.V)}
}

// A subject is what an expression is asked about: a request, and one of its spans or, of a saved report, none.
type subject struct {
	dict *model.Dict
	span *model.Span
	request
}

// A field is something that can be compared.
type field struct {
	name   string
	kind   kind
	is     dimension
	unit   string   // of an attribute in s or ms: its own, in which a bare number is taken
	values []string // all there can be, nil when there are too many to tell
	of     func(*subject) value
	saved  func(*subject) value // of what a saved report keeps; nil: it does not keep it
}

// spanFields are the fields of a span that are no attributes.
var spanFields = []field{
	{name: "name", kind: text, of: func(s *subject) value { return textOf(s.dict.Str(s.span.Name)) }},
	{name: "stage", kind: text, of: func(s *subject) value { return textOf(s.dict.Str(s.span.StageKey)) }},
	{name: "owner", kind: text, values: namesOf(model.Engine, model.Server), of: func(s *subject) value { return textOf(s.span.Owner().String()) }},
	{name: "process", kind: text, of: func(s *subject) value { return textOf(s.dict.Proc(s.span.Proc).Name) }},
	{name: "class", kind: text, values: namesOf(model.Work, model.Point), of: func(s *subject) value { return textOf(s.span.Class.String()) }},
	{name: "status", kind: text, values: []string{"error", "ok"}, of: func(s *subject) value {
		if s.span.Error {
			return textOf("error")
		}
		return textOf("ok")
	}},
	{name: "duration", kind: number, is: duration, of: func(s *subject) value {
		return numberOf(int64(s.span.Dur()), !s.span.Has(model.FlagUntimed|model.FlagOpen))
	}},
}

// resourceFields are what a file says of the process that wrote a span.
var resourceFields = []field{
	{name: "resource.service.name", kind: text, of: func(s *subject) value { return textOf(s.dict.Res(s.span.Res).Service) }},
	{name: "resource.service.instance.id", kind: text, of: func(s *subject) value { return textOf(s.dict.Res(s.span.Res).Instance) }},
	{name: "resource.host.name", kind: text, of: func(s *subject) value { return textOf(s.dict.Res(s.span.Res).Host) }},
	{name: "resource.process.pid", kind: number, of: func(s *subject) value {
		pid := s.dict.Res(s.span.Res).PID
		return numberOf(pid, pid != 0)
	}},
}

// namesOf are the names of the numbers from first to last.
func namesOf[E interface {
	~uint8
	String() string
}](first, last E) []string {
	var out []string
	for e := first; e <= last; e++ {
		out = append(out, e.String())
	}
	return out
}

// A part is a number of tokens or keys that a root or a lookup says was found, and how a digest has it.
type part struct {
	keys  []model.AttrKey // the first that is there counts
	rate  string          // LMCache's name of its share of requested_tokens; "": there is none
	saved func(*request) model.Opt
}

var parts = []part{
	{[]model.AttrKey{model.AttrRequestedTokens}, "", func(r *request) model.Opt { return r.hits.Requested }},
	{[]model.AttrKey{model.AttrHitTokens}, "hit_rate", func(r *request) model.Opt { return r.hits.Hit }},
	{[]model.AttrKey{model.AttrPrefixHitTokens, model.AttrPrefixCoverageTokens}, "prefix_hit_rate", func(r *request) model.Opt { return r.hits.Prefix }},
	{[]model.AttrKey{model.AttrSegmentedPrefixHitTokens}, "segmented_prefix_hit_rate", func(r *request) model.Opt { return r.hits.Segmented }},
	{[]model.AttrKey{model.AttrNonPrefixHitTokens, model.AttrNNonPrefixTokens}, "non_prefix_hit_rate", func(r *request) model.Opt { return r.hits.NonPrefix }},
	{[]model.AttrKey{model.AttrL1HitTokens}, "l1_hit_rate", func(r *request) model.Opt { return r.hits.L1Tokens }},
	{[]model.AttrKey{model.AttrL2HitTokens}, "l2_hit_rate", func(r *request) model.Opt { return r.hits.L2Tokens }},
	{[]model.AttrKey{model.AttrL1HitKeys}, "", func(r *request) model.Opt { return r.hits.L1Keys }},
	{[]model.AttrKey{model.AttrL2HitKeys}, "", func(r *request) model.Opt { return r.hits.L2Keys }},
}

// attrFields are the attributes of the table, those of parts first.
var attrFields = func() (out []field) {
	opt := func(s *subject, keys []model.AttrKey) model.Opt {
		n, ok := s.span.Int(keys...)
		return model.Opt{V: n, OK: ok}
	}
	for _, p := range parts {
		for _, k := range p.keys {
			out = append(out, field{name: "span." + model.Attrs[k].Name, kind: number,
				of:    func(s *subject) value { return optOf(opt(s, p.keys)) },
				saved: func(s *subject) value { return optOf(p.saved(&s.request)) }})
		}
		if p.rate == "" {
			continue
		}
		asked := []model.AttrKey{model.AttrRequestedTokens}
		out = append(out, field{name: "span." + p.rate, kind: number,
			of:    func(s *subject) value { return writtenRate(opt(s, p.keys), opt(s, asked)) },
			saved: func(s *subject) value { return writtenRate(p.saved(&s.request), s.hits.Requested) }})
	}
	for k := model.AttrNone + 1; k < model.NumAttrs; k++ {
		if f := attrField(k); !slices.ContainsFunc(out, func(o field) bool { return o.name == f.name }) {
			out = append(out, f)
		}
	}
	return out
}()

// writtenRate is a share of the tokens asked for as LMCache writes it: 0 when nothing was asked for.
func writtenRate(part, of model.Opt) value {
	if part.OK && of.OK && of.V == 0 {
		return numberOf(0, true)
	}
	return rateOf(part, of)
}

// attrField is the field of an attribute of the table.
func attrField(k model.AttrKey) field {
	info := &model.Attrs[k]
	f := field{name: "span." + info.Name}
	switch info.Type {
	case model.Text:
		f.kind = text
		f.of = func(s *subject) value { return textOf(s.span.Text(k)) }
	case model.Truth:
		f.kind = truth
		f.of = func(s *subject) value {
			if v := s.span.Attr(k); v.Kind == model.BoolValue {
				return truthOf(v.Int != 0)
			}
			return value{}
		}
	default:
		f.kind = number
		f.of = func(s *subject) value {
			n, ok := s.span.Attr(k).Number()
			if !ok || math.IsNaN(n) {
				return value{}
			}
			return value{kind: number, num: n}
		}
		switch info.Unit {
		case "s", "ms":
			f.is, f.unit = duration, info.Unit
		case "bytes":
			f.is = size
		}
	}
	return f
}

// ownUnit is how many ns one of the attribute's own units is; 0 where it has none.
func (f *field) ownUnit() float64 {
	switch f.unit {
	case "s":
		return 1e9
	case "ms":
		return 1e6
	}
	return 0
}

var codes = func() (all []string) {
	for i := range finding.Registry {
		if finding.Registry[i].Scope == finding.Request {
			all = append(all, finding.Registry[i].Code)
		}
	}
	return all
}()

// has reports whether a request shows a finding whose code fits.
func (r *request) has(fits func(code string) bool) bool {
	for i := range finding.Registry {
		if r.findings.Has(i) && fits(finding.Registry[i].Code) {
			return true
		}
	}
	return false
}

// fields are all fields by name.
var fields = func() map[string]*field {
	all := map[string]*field{}
	for _, list := range [][]field{spanFields, resourceFields, attrFields, requestFields} {
		for i := range list {
			f := &list[i]
			all[f.name] = f
		}
	}
	return all
}()

// Fields are the names of all fields, sorted, for help texts.
func Fields() []string {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// find is the field of a word; span.name is another way to write name, and .x to write span.x.
func find(word string) *field {
	if f := fields[word]; f != nil {
		return f
	}
	if rest, ok := strings.CutPrefix(word, "span."); ok && !strings.Contains(rest, ".") {
		if f := fields[rest]; f != nil {
			return f
		}
	}
	if strings.HasPrefix(word, ".") {
		return fields["span"+word]
	}
	return nil
}

// near is a field that a word may have meant, "" when there is none.
func near(word string, nearest func(string, []string) string) string {
	for _, scope := range []string{"span.", "request.", "resource."} {
		if fields[scope+word] != nil {
			return scope + word
		}
	}
	if nearest == nil {
		return ""
	}
	return nearest(word, Fields())
}
