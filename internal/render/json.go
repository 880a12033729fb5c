package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// JSON writes a document as indented JSON with a line end: fields in the order of their struct, maps by key, the same bytes for the same
// value. Characters that a terminal would act on are written as \u escapes, which any reader turns back (R3.7).
func JSON(w io.Writer, doc any) error { return writeJSON(w, doc, "  ") }

// JSONLine writes a document as one line of JSON.
func JSONLine(w io.Writer, doc any) error { return writeJSON(w, doc, "") }

func writeJSON(w io.Writer, doc any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(doc); err != nil {
		return err
	}
	_, err := w.Write(escapeJSON(b.Bytes()))
	return err
}

// escapeJSON replaces invisible characters of valid JSON text, which stand in strings only, by their \u escapes.
func escapeJSON(b []byte) []byte {
	for i, c := range b {
		if c >= 0x7f {
			return appendEscaped(append(make([]byte, 0, len(b)+64), b[:i]...), b[i:])
		}
	}
	return b
}

func appendEscaped(out, b []byte) []byte {
	for i := 0; i < len(b); {
		if c := b[i]; c < 0x7f {
			out = append(out, c)
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case visible(r):
			out = append(out, b[i:i+n]...)
		case r >= 0x10000:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += n
	}
	return out
}
