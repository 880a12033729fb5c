package jaeger

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Without white space the fast paths read a file, with white space the scanner does: the same spans and attributes.
func TestFastPathsAgree(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("%v, %v", files, err)
	}
	docs := map[string][]byte{"corpus": corpus(20), "tags": []byte(`{"spans":[{"spanID":"1","tags":[
		{"key":"a","type":"string","value":"x\"y"},{"key":"é","type":"string","value":"é"},{"key":"b","type":"int64","value":-5},{"key":"c","type":"float64","value":1e3},
		{"key":"d","type":"float64","value":1.5},{"key":"e","type":"bool","value":false},{"key":"f","type":"bool","value":"true"},{"key":"g","type":"int64","value":"7"},
		{"key":"h","type":"binary","value":"AA=="},{"key":"i","type":"string","value":null},{"key":"j","type":"string","value":[1]},{"key":"k","value":1,"type":"int64"},
		{"key":"error","type":"bool","value":true},{"key":"error","type":"string","value":"why"},{"key":"span.kind","type":"string","value":"client"},
		{"key":"span.kind","type":"int64","value":3},{"key":"error","type":"int64","value":1},{"key":"success","type":"string","value":"True"},{"key":"","type":"string","value":""}],
		"references":[{"refType":"CHILD_OF","traceID":"000000000000000000000000000000ab","spanID":"00000000000000cd"}]}]}`)}
	for _, name := range files {
		if docs[name], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range docs {
		var tight, wide bytes.Buffer
		dec := json.NewDecoder(bytes.NewReader(data))
		for dec.More() { // values in a row
			var doc json.RawMessage
			if err := dec.Decode(&doc); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := json.Compact(&tight, doc); err != nil {
				t.Fatal(err)
			}
			if err := json.Indent(&wide, doc, "", "  "); err != nil {
				t.Fatal(err)
			}
		}
		a, repA, _ := decodeAll(t, tight.Bytes(), true)
		b, repB, _ := decodeAll(t, wide.Bytes(), true)
		if !slices.Equal(a, b) || repA.ErrorCount != repB.ErrorCount {
			for i := range min(len(a), len(b)) {
				if a[i] != b[i] {
					t.Errorf("%s: span %d\nfast %s\nslow %s", name, i, a[i], b[i])
					break
				}
			}
			t.Errorf("%s: %d and %d spans; %s; %s", name, len(a), len(b), texts(repA), texts(repB))
		}
	}
}
