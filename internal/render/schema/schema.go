// Package schema makes the JSON Schema of a document (OUTPUT, `cbtrace schema`) from its Go type, so that the two cannot part.
//
// Fields come in the order of their struct. A struct tag `doc:"…"` becomes the description, `enum:"a|b"` the values of a text. Fields with
// omitempty or omitzero are not required. Documents stay open: fields are added within a version (DESIGN 10).
package schema

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Dialect is the JSON Schema version of what is made here.
const Dialect = "https://json-schema.org/draft/2020-12/schema"

// A Schema is a JSON Schema, as far as documents need it. Maps are kept in order.
type Schema struct {
	Dialect     string     `json:"$schema,omitempty"`
	Title       string     `json:"title,omitempty"`
	Ref         string     `json:"$ref,omitempty"`
	Description string     `json:"description,omitempty"`
	Type        Type       `json:"type,omitempty"`
	Enum        []string   `json:"enum,omitempty"`
	Pattern     string     `json:"pattern,omitempty"`
	AnyOf       []*Schema  `json:"anyOf,omitempty"`
	OneOf       []*Schema  `json:"oneOf,omitempty"`
	Items       *Schema    `json:"items,omitempty"`
	Properties  Properties `json:"properties,omitempty"`
	Values      *Schema    `json:"additionalProperties,omitempty"` // of the values of a map
	Required    []string   `json:"required,omitempty"`
	Defs        Properties `json:"$defs,omitempty"`

	nothing bool
}

// Nothing is what no value is: as Values it says that there are no further properties.
var Nothing = &Schema{nothing: true}

// MarshalJSON writes Nothing as false.
func (s *Schema) MarshalJSON() ([]byte, error) {
	if s.nothing {
		return []byte("false"), nil
	}
	type plain Schema
	return json.Marshal((*plain)(s))
}

// A Type is one type or a choice of several.
type Type []string

// MarshalJSON writes a single type as text.
func (t Type) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// A Property is a named schema.
type Property struct {
	Name   string
	Schema *Schema
}

// Properties are named schemas in the order of their struct.
type Properties []Property

// MarshalJSON writes an object in that order.
func (p Properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(f.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(f.Schema)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Of is the schema of the document type of v.
func Of(title string, v any) (*Schema, error) {
	g := &generator{seen: map[reflect.Type]string{}}
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s, err := g.of(t, title)
	if err != nil {
		return nil, err
	}
	if s.Ref != "" { // the document itself stands at the top
		name := strings.TrimPrefix(s.Ref, defs)
		for i, d := range g.defs {
			if d.Name == name {
				top := *d.Schema
				s, g.defs = &top, append(g.defs[:i:i], g.defs[i+1:]...)
				break
			}
		}
	}
	s.Dialect, s.Title, s.Defs = Dialect, title, g.defs
	return s, nil
}

const defs = "#/$defs/"

// A generator collects the named structs it meets.
type generator struct {
	defs Properties
	seen map[reflect.Type]string
}

var (
	optType       = reflect.TypeFor[model.Opt]()
	optFloatType  = reflect.TypeFor[model.OptFloat]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	marshaler     = reflect.TypeFor[json.Marshaler]()
	described     = reflect.TypeFor[Described]()
)

// Described is what a type with a MarshalJSON of its own says of what it writes.
type Described interface{ JSONSchema() *Schema }

func (g *generator) of(t reflect.Type, where string) (*Schema, error) {
	switch {
	case t == optType:
		return &Schema{Type: Type{"integer", "null"}}, nil
	case t == optFloatType:
		return &Schema{Type: Type{"number", "null"}}, nil
	case t.Kind() != reflect.Interface && t.Implements(described):
		return reflect.Zero(t).Interface().(Described).JSONSchema(), nil
	case t.Kind() != reflect.Interface && t.Implements(marshaler):
		return nil, fmt.Errorf("%s: %s writes its own JSON and has no JSONSchema method", where, t)
	case t.Kind() != reflect.Interface && t.Implements(textMarshaler):
		return &Schema{Type: Type{"string"}}, nil
	}
	switch t.Kind() {
	case reflect.Bool:
		return &Schema{Type: Type{"boolean"}}, nil
	case reflect.String:
		return &Schema{Type: Type{"string"}}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &Schema{Type: Type{"integer"}}, nil
	case reflect.Float32, reflect.Float64:
		return &Schema{Type: Type{"number"}}, nil
	case reflect.Interface:
		return &Schema{}, nil
	case reflect.Pointer:
		s, err := g.of(t.Elem(), where)
		if err != nil {
			return nil, err
		}
		if s.Ref != "" || len(s.AnyOf) > 0 {
			return &Schema{AnyOf: []*Schema{s, {Type: Type{"null"}}}}, nil
		}
		s.Type = append(s.Type, "null")
		return s, nil
	case reflect.Slice, reflect.Array:
		items, err := g.of(t.Elem(), where+"[]")
		return &Schema{Type: Type{"array"}, Items: items}, err
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return nil, fmt.Errorf("%s: keys of type %s", where, t.Key())
		}
		values, err := g.of(t.Elem(), where+"{}")
		return &Schema{Type: Type{"object"}, Values: values}, err
	case reflect.Struct:
		return g.structure(t, where)
	}
	return nil, fmt.Errorf("%s: no schema for %s", where, t)
}

func (g *generator) structure(t reflect.Type, where string) (*Schema, error) {
	if name, ok := g.seen[t]; ok {
		return &Schema{Ref: defs + name}, nil
	}
	s := &Schema{Type: Type{"object"}}
	if t.Name() == "" {
		return s, g.fields(s, t, where)
	}
	name := path.Base(t.PkgPath()) + "." + t.Name()
	g.seen[t] = name
	at := len(g.defs)
	g.defs = append(g.defs, Property{name, s}) // before its fields: a type may hold itself
	if err := g.fields(s, t, where); err != nil {
		return nil, err
	}
	g.defs[at].Schema = s
	return &Schema{Ref: defs + name}, nil
}

// fields adds the fields of a struct; those of embedded structs as its own, but for names that stand before them.
func (g *generator) fields(s *Schema, t reflect.Type, where string) error {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			if err := g.fields(s, f.Type, where); err != nil {
				return err
			}
			continue
		}
		if name == "" {
			return fmt.Errorf("%s: field %s has no name for JSON", where, f.Name)
		}
		if slices.ContainsFunc(s.Properties, func(p Property) bool { return p.Name == name }) {
			continue
		}
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		ft := f.Type
		if optional && ft.Kind() == reflect.Pointer {
			ft = ft.Elem() // absent rather than null
		}
		p, err := g.of(ft, where+"."+name)
		if err != nil {
			return err
		}
		if doc := f.Tag.Get("doc"); doc != "" {
			p.Description = doc
		}
		if enum := f.Tag.Get("enum"); enum != "" {
			to := p
			if p.Items != nil {
				to = p.Items
			}
			to.Enum = strings.Split(enum, "|")
		}
		s.Properties = append(s.Properties, Property{name, p})
		if !optional {
			s.Required = append(s.Required, name)
		}
	}
	return nil
}
