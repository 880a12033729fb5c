package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/render/schema"
	"github.com/cbtrace/cbtrace/internal/render/schema/schematest"
)

type inner struct {
	A model.Opt      `json:"a" doc:"ns"`
	B model.OptFloat `json:"b"`
}

type document struct {
	Name  string           `json:"name" enum:"x|y"`
	inner                  // its fields are the document's
	List  []node           `json:"list"`
	Tags  []string         `json:"tags" enum:"p|q"`
	By    map[string]int64 `json:"by"`
	Any   any              `json:"any"`
	Maybe *inner           `json:"maybe"`
	Opt   *inner           `json:"opt,omitempty"`
	No    int              `json:"-"`
}

// node holds itself.
type node struct {
	Kids []node `json:"kids"`
}

func TestOf(t *testing.T) {
	s, err := schema.Of("doc", document{})
	if err != nil {
		t.Fatal(err)
	}
	have, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"doc","type":"object","properties":{` +
		`"name":{"type":"string","enum":["x","y"]},` +
		`"a":{"description":"ns","type":["integer","null"]},"b":{"type":["number","null"]},` +
		`"list":{"type":"array","items":{"$ref":"#/$defs/schema_test.node"}},` +
		`"tags":{"type":"array","items":{"type":"string","enum":["p","q"]}},` +
		`"by":{"type":"object","additionalProperties":{"type":"integer"}},"any":{},` +
		`"maybe":{"anyOf":[{"$ref":"#/$defs/schema_test.inner"},{"type":"null"}]},` +
		`"opt":{"$ref":"#/$defs/schema_test.inner"}},` +
		`"required":["name","a","b","list","tags","by","any","maybe"],` +
		`"$defs":{"schema_test.node":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/schema_test.node"}}},"required":["kids"]},` +
		`"schema_test.inner":{"type":"object","properties":{"a":{"description":"ns","type":["integer","null"]},"b":{"type":["number","null"]}},"required":["a","b"]}}}`
	if string(have) != want {
		t.Errorf("have %s\nwant %s", have, want)
	}
}

func TestOfRefuses(t *testing.T) {
	for name, v := range map[string]any{
		"a channel":          struct{ C chan int }{},
		"a field of no name": struct{ C int }{},
		"keys that are no text": struct {
			M map[int]int `json:"m"`
		}{},
		"JSON of its own": struct {
			M own `json:"m"`
		}{},
	} {
		if s, err := schema.Of("doc", v); err == nil {
			t.Errorf("%s: have %+v", name, s)
		}
	}
}

type own struct{}

func (own) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

func TestValidate(t *testing.T) {
	s, err := schema.Of("doc", document{})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(s)
	good := `{"name":"x","a":1,"b":0.5,"list":[{"kids":[{"kids":[]}]}],"tags":["p"],"by":{"k":1},"any":[{}],"maybe":null}`
	for _, row := range []struct{ from, to, want string }{
		{"", "", ""},
		{`"a":1`, `"a":null`, ""},
		{`"maybe":null`, `"maybe":null,"opt":{"a":1,"b":1}`, ""},
		{`"a":1`, `"a":1.5`, "$.a: want [integer null]"},
		{`"a":1`, `"a":"1"`, "$.a: want [integer null]"},
		{`"a":1,`, ``, "$: no field a"},
		{`"x"`, `"z"`, "$.name: want one of [x y]"},
		{`["p"]`, `["p","r"]`, "$.tags[1]: want one of [p q]"},
		{`"k":1`, `"k":"1"`, "$.by.k: want integer"},
		{`{"kids":[]}`, `{}`, "$.list[0].kids[0]: no field kids"},
		{`"maybe":null`, `"maybe":{"a":1}`, "$.maybe: no field b"},
		{`"maybe":null`, `"maybe":null,"opt":null`, "$.opt: want object"},
		{`"maybe":null`, `"maybe":null,"more":1`, "$: field more is not in the schema"},
	} {
		errs := schematest.Validate(text, []byte(strings.Replace(good, row.from, row.to, 1)))
		switch {
		case row.want == "" && len(errs) > 0:
			t.Errorf("%s: %v", row.to, errs)
		case row.want != "" && (len(errs) == 0 || !strings.HasPrefix(errs[0].Error(), row.want)):
			t.Errorf("%s: have %v, want %s", row.to, errs, row.want)
		}
	}
}
