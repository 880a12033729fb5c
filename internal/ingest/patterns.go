package ingest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A pattern is bytes to look for in JSON, in protobuf, or in both.
type pattern struct {
	needle
	text, binary bool
}

func inText(b []byte) pattern   { return pattern{needle{b: b}, true, false} }
func inBinary(b []byte) pattern { return pattern{needle{b: b}, false, true} }

// inDigits is hex digits in lower case, as which JSON has ids: readers take either case, and both in one id.
func inDigits(digits string) pattern { return pattern{needle{[]byte(digits), true}, true, false} }

type matcherKey struct {
	from, to int
	binary   bool
}

// ask adds what text means to what is looked for: an id and its forms, and a trace.
func (p *picker) ask(text string) error {
	if err := p.addID(text); err != nil {
		return err
	}
	if p.half != nil {
		if text[0] == '0' { // such ids are written without it too
			return errPickAll
		}
		var raw [8]byte
		binary.BigEndian.PutUint64(raw[:], *p.half)
		p.add(inDigits(strings.ToLower(text)), inBinary(raw[:]))
		p.addBase64(raw[1:7], 8) // its bytes 9 to 14 of 16 begin a group of three
	}
	if p.whole != nil {
		return p.addTrace(*p.whole)
	}
	return p.addPrefix()
}

// addPrefix looks for trace ids that begin with what was asked for: as hex digits, as base64 and as bytes, where it is long enough for that.
func (p *picker) addPrefix() error {
	n := len(p.prefix)
	if n == 0 {
		return nil
	}
	if p.prefix[0] == '0' { // ids are written without the zeros before them too
		return errPickAll
	}
	var raw [16]byte
	if _, err := hex.Decode(raw[:], append(slices.Clone(p.prefix), '0')[:n+n%2]); err != nil {
		return errPickAll
	}
	whole := n * 4 / 6 // characters of base64 that it decides
	if whole < minPattern || n/2 < minPattern && slices.ContainsFunc(p.files, func(k *seekable) bool { return k.frame != nil }) {
		return errPickAll
	}
	p.add(inDigits(string(p.prefix)))
	p.addBase64(raw[:], whole)
	p.addDigitsBase64(p.prefix)
	if n/2 >= minPattern {
		p.add(inBinary(slices.Clone(raw[:n/2])))
	}
	return nil
}

// addDigitsBase64 looks for hex digits that were taken for bytes and written in base64 (decode.TraceID); that needs no + and no /.
func (p *picker) addDigitsBase64(digits []byte) {
	n := len(digits) * 8 / 6
	p.add(inText([]byte(base64.RawStdEncoding.EncodeToString(digits)[:n])), inText([]byte(base64.RawStdEncoding.EncodeToString(bytes.ToUpper(digits))[:n])))
}

// addBase64 looks for the first n characters of bytes in base64, of either alphabet, with what JSON writers may make of / and +.
func (p *picker) addBase64(raw []byte, n int) {
	standard := base64.RawStdEncoding.EncodeToString(raw)[:n]
	p.add(inText([]byte(standard)), inText([]byte(base64.RawURLEncoding.EncodeToString(raw)[:n])))
	for _, plus := range []string{"+", `\u002B`, `\u002b`} {
		for _, slash := range []string{"/", `\/`} {
			p.add(inText([]byte(strings.NewReplacer("+", plus, "/", slash).Replace(standard))))
		}
	}
}

// addID looks for an id, and for what is left of it where it is the child of another, between quotes or behind its length: an external id.
func (p *picker) addID(id string) error {
	if len(id) < minPattern || len(id) > maxPattern-2 || len(p.ids) > maxIDs || !plainText(id) {
		return errPickAll
	}
	p.add(pattern{needle{b: []byte(id)}, true, true})
	for _, form := range formsOf(id)[1:] {
		if len(form)+2 < minPattern || !plainText(form) {
			return errPickAll
		}
		p.add(inText([]byte(`"`+form+`"`)), inBinary(append([]byte{stringTag, byte(len(form))}, form...)))
	}
	return nil
}

// stringTag begins the text of an OTLP attribute in protobuf.
const stringTag = 1<<3 | 2

// plainText reports whether JSON writes a text as it is, whoever writes it: many escape more than they must, for HTML.
func plainText(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c > '~' || strings.IndexByte("\"\\/<>&'+=`", c) >= 0 {
			return false
		}
	}
	return true
}

// addTrace looks for a trace id: as hex digits, with or without zeros before them, as base64, as bytes.
func (p *picker) addTrace(t model.TraceID) error {
	if _, opaque := t.Opaque(); opaque || len(p.traces) > maxTraces {
		return errPickAll
	}
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:], t.Hi)
	binary.BigEndian.PutUint64(raw[8:], t.Lo)
	digits := hex.EncodeToString(raw[:])
	forms := []string{digits}
	if short := strings.TrimLeft(digits, "0"); len(short) > 16 {
		forms = []string{short} // stands in the whole id too
	} else if short != digits { // an id of 64 bits, perhaps without the zeros before it
		if forms = append(forms, digits[16:], `"`+short+`"`); len(short)+2 < minPattern {
			return errPickAll
		}
	}
	p.add(inBinary(raw[:]))
	for _, form := range forms {
		p.add(inDigits(form))
	}
	p.addBase64(raw[:], 21) // 126 of its 128 bits: padding or not
	p.addDigitsBase64([]byte(digits))
	return nil
}

func (p *picker) add(patterns ...pattern) {
	for _, n := range patterns {
		if !slices.ContainsFunc(p.patterns, func(o pattern) bool { return string(o.b) == string(n.b) && o.fold == n.fold && o.text == n.text }) {
			p.patterns = append(p.patterns, n)
		}
	}
}

// matcher is a matcher of the patterns from one on up to another; nil: there are none.
func (p *picker) matcher(from, to int, binary bool) *matcher {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := matcherKey{from, to, binary}
	if m, ok := p.matchers[key]; ok {
		return m
	}
	var patterns []needle
	for _, n := range p.patterns[from:to] {
		if n.binary && binary || n.text && !binary {
			patterns = append(patterns, n.needle)
		}
	}
	var m *matcher
	if len(patterns) > 0 {
		m = newMatcher(patterns)
	}
	p.matchers[key] = m
	return m
}
