// Package schematest holds documents against their JSON Schemas in tests. It reads the schema as text, so that it checks what
// `cbtrace schema` prints and not what its author meant.
package schematest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// known are the keywords that are understood; another one in a schema is an error rather than ignored.
var known = []string{"$schema", "title", "description", "$ref", "$defs", "type", "enum", "pattern", "anyOf", "oneOf", "items", "properties", "required", "additionalProperties"}

// Validate reports where a document is not what a schema says. It is stricter than JSON Schema in one way: a field that the schema does not
// name is an error too, since every field is to be documented.
func Validate(schema, doc []byte) []error {
	root, err := parse(schema)
	if err != nil {
		return []error{fmt.Errorf("schema: %w", err)}
	}
	value, err := parse(doc)
	if err != nil {
		return []error{fmt.Errorf("document: %w", err)}
	}
	v := &validator{}
	v.root, _ = root.(map[string]any)
	v.check("$", root, value)
	return v.errs
}

func parse(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

type validator struct {
	root map[string]any
	errs []error
}

func (v *validator) errorf(at, format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...)))
}

// resolve follows a reference to a definition.
func (v *validator) resolve(at string, s map[string]any) map[string]any {
	for {
		ref, ok := s["$ref"].(string)
		if !ok {
			return s
		}
		all, _ := v.root["$defs"].(map[string]any)
		to, ok := all[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
		if !ok {
			v.errorf(at, "no definition %s", ref)
			return map[string]any{}
		}
		s = to
	}
}

func (v *validator) check(at string, schema, value any) {
	s, ok := schema.(map[string]any)
	if !ok {
		v.errorf(at, "the schema is no object")
		return
	}
	s = v.resolve(at, s)
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(known, key) {
			v.errorf(at, "unknown keyword %q", key)
		}
	}
	if choices, ok := s["anyOf"].([]any); ok {
		v.anyOf(at, choices, value)
	}
	if choices, ok := s["oneOf"].([]any); ok {
		v.oneOf(at, choices, value)
	}
	if pattern, ok := s["pattern"].(string); ok {
		if text, ok := value.(string); ok && !regexp.MustCompile(pattern).MatchString(text) {
			v.errorf(at, "want what %s says, have %q", pattern, text)
		}
	}
	if t, ok := s["type"]; ok && !isOf(t, value) {
		v.errorf(at, "want %v, have %T %.40v", t, value, value)
		return
	}
	if enum, ok := s["enum"].([]any); ok && value != nil && !slices.Contains(enum, value) {
		v.errorf(at, "want one of %v, have %v", enum, value)
	}
	switch value := value.(type) {
	case map[string]any:
		v.object(at, s, value)
	case []any:
		for i, item := range value {
			if items, ok := s["items"]; ok {
				v.check(fmt.Sprintf("%s[%d]", at, i), items, item)
			}
		}
	}
}

func (v *validator) anyOf(at string, choices []any, value any) {
	var all []error
	for _, c := range choices {
		one := &validator{root: v.root}
		one.check(at, c, value)
		if len(one.errs) == 0 {
			return
		}
		all = append(all, one.errs...)
	}
	v.errs = append(v.errs, all...)
}

func (v *validator) oneOf(at string, choices []any, value any) {
	met := 0
	for _, c := range choices {
		one := &validator{root: v.root}
		if one.check(at, c, value); len(one.errs) == 0 {
			met++
		}
	}
	if met != 1 {
		v.errorf(at, "is %d of the %d things of which it must be one", met, len(choices))
	}
}

func (v *validator) object(at string, s, value map[string]any) {
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range required {
		if _, ok := value[fmt.Sprint(name)]; !ok {
			v.errorf(at, "no field %v", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		switch field, ok := properties[name]; {
		case ok:
			v.check(at+"."+name, field, value[name])
		case s["additionalProperties"] == false:
			v.errorf(at, "field %s is not in the schema", name)
		case s["additionalProperties"] != nil:
			v.check(at+"."+name, s["additionalProperties"], value[name])
		case s["type"] != nil:
			v.errorf(at, "field %s is not in the schema", name)
		}
	}
}

// isOf reports whether a value is of a type or of one of several.
func isOf(t, value any) bool {
	if many, ok := t.([]any); ok {
		return slices.ContainsFunc(many, func(t any) bool { return isOf(t, value) })
	}
	switch value := value.(type) {
	case nil:
		return t == "null"
	case bool:
		return t == "boolean"
	case string:
		return t == "string"
	case json.Number:
		n, ok := new(big.Rat).SetString(value.String())
		return t == "number" || t == "integer" && ok && n.IsInt()
	case []any:
		return t == "array"
	}
	return t == "object"
}
