package model

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Redacted is what is shown instead of a secret value of n bytes (R3.6).
func Redacted(n int) string { return "<redacted " + strconv.Itoa(n) + " bytes>" }

// HiddenText is what is shown instead of a secret text: itself where it was replaced before.
func HiddenText(text string) string {
	if isRedacted([]byte(text)) {
		return text
	}
	return Redacted(len(text))
}

// isRedacted reports whether text is what is shown instead of a secret value: a reader may have seen to it, or the shards of a cut.
func isRedacted(text []byte) bool {
	n, ok := bytes.CutPrefix(text, []byte("<redacted "))
	if ok {
		n, ok = bytes.CutSuffix(n, []byte(" bytes>"))
	}
	return ok && len(n) > 0 && len(n) < 11 && len(bytes.Trim(n, "0123456789")) == 0
}

// Attributes hold JSON as text (bodies, headers, whole calls), and secret values in it are as secret as those with a key of their own. Such
// text may be cut off anywhere (exporters limit its length), and may be what Python writes for a dict, so it is not parsed but scanned for
// keys: a quoted text before a colon.

// deepest is how many layers of text within text are looked into. Deeper ones are not shown where they could hold anything.
const deepest = 4

// AddJSON adds an object or array as compact JSON, with its secret values in it: they are replaced here, or all of it under a secret key (R3.6). It stays
// text whatever type the table has for the key. n of "<redacted n bytes>" counts the UTF-8 text of a string, without quotes and escapes, and the compact
// JSON of any other value. The bytes are copied; see AddInt.
func (b *Batch) AddJSON(k AttrKey, v []byte) {
	switch {
	case k == AttrNone:
	case b.hides(k, StrValue):
		b.addRedacted(k, len(v))
	default:
		b.addShown(k, v)
	}
}

// RedactJSON is JSON without its secret values (R3.6), each replaced as AddJSON does it.
func RedactJSON(v []byte) []byte { return redactText(v, nil, 1) }

// redactText replaces the values of secret keys in text that holds JSON (R3.6); text without any is returned as it is. The key that the text stands under
// counts with those in it: {"prompt": …} of gen_ai is gen_ai.prompt. Depth is 1 for the text of an attribute, 2 for text in it.
func redactText(text, key []byte, depth int) []byte {
	if bytes.IndexByte(text, '{') < 0 || bytes.IndexByte(text, ':') < 0 {
		return text
	}
	if depth > deepest {
		return []byte(Redacted(len(text)))
	}
	var out []byte
	done := 0 // text before it is in out
	replace := func(from, to int, with []byte) {
		out = append(append(out, text[done:from]...), with...)
		done = to
	}
	var path [][]byte // keys of the objects that are open; key is the last one
	var name []byte   // that the last object has so far, for its value: {"name": "authorization", "value": …}
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case '{', '[':
			path = append(path, key)
			key, name = nil, nil
		case '}', ']':
			if n := len(path); n > 0 {
				path = path[:n-1]
			}
			key, name = nil, nil
		case ',':
			key = nil
		case '"', '\'':
			if !opens(text, i) { // an apostrophe, or a mark in what is no JSON
				break
			}
			end := quoted(text, i)
			inner := text[i+1 : max(i+1, end-1)]
			colon := skipBlanks(text, end)
			if colon == len(text) || text[colon] != ':' {
				if shown := redactInner(inner, path, key, depth); shown != nil {
					replace(i, end, shown)
				}
				if k := string(key); k == "name" || k == "key" {
					name = unquote(inner)
				}
				i = end
				continue
			}
			key = unquote(inner)
			i = skipBlanks(text, colon+1)
			secrecy := SecrecyOf(string(joined(path, key)))
			if name != nil && string(key) == "value" {
				secrecy = max(secrecy, SecrecyOf(string(joined(path, name))))
				name = nil // a long one is read once
			}
			if i < len(text) && secrecy != Shown {
				to := valueEnd(text, i)
				n := to - i
				if secrecy == SecretText && isNumber(text[i:to]) {
					i = to
					continue
				}
				if c := text[i]; (c == '"' || c == '\'') && n >= 2 && text[to-1] == c {
					value := unquote(text[i+1 : to-1])
					if n = len(value); isRedacted(value) {
						i = to
						continue
					}
				}
				replace(i, to, []byte(strconv.Quote(Redacted(n))))
				i = to
			}
			continue
		}
		i++
	}
	if out == nil {
		return text
	}
	return append(out, text[done:]...)
}

// redactInner is the text of a quoted value with its own secrets replaced, quoted; nil where it has none.
func redactInner(inner []byte, path [][]byte, key []byte, depth int) []byte {
	if bytes.IndexByte(inner, '{') < 0 {
		return nil
	}
	plain := unquote(inner)
	shown := redactText(plain, joined(path, key), depth+1)
	if bytes.Equal(shown, plain) {
		return nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(string(shown)) // of text it cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Of the keys around one, the last farthest count that are no longer than longest: no row of the table has more parts, lists counted, or longer ones.
const farthest, longest = 8, 64

// joined is a key with those of the objects around it before it, as far as they matter, with dots between them: {"gen_ai": {"prompt": …}}.
func joined(path [][]byte, key []byte) []byte {
	out := make([]byte, 0, 96)
	for _, outer := range path[max(0, len(path)-farthest):] {
		if len(outer) > 0 && len(outer) <= longest { // of a list it is empty
			out = append(append(out, outer...), '.')
		}
	}
	return append(out, key...)
}

// isNumber reports whether a value is a number, a truth or nothing, as JSON or Python has them.
func isNumber(value []byte) bool {
	switch text := string(bytes.TrimSpace(value)); text {
	case "true", "false", "null", "True", "False", "None":
		return true
	default:
		_, err := strconv.ParseFloat(text, 64)
		return err == nil
	}
}

// opens reports whether a quote begins quoted text: it follows what a key or a value may follow, or the letter that Python has before some texts (b'…').
func opens(text []byte, i int) bool {
	if i > 0 && bytes.IndexByte([]byte("bBuUrR"), text[i-1]) >= 0 {
		i--
	}
	for i--; i >= 0; i-- {
		switch text[i] {
		case ' ', '\t', '\n', '\r':
		case '{', '[', ',', ':', '(':
			return true
		default:
			return false
		}
	}
	return true
}

// quoted is where the quoted text that begins at i ends; the end of the text where it is cut off.
func quoted(text []byte, i int) int {
	for n := i + 1; n < len(text); n++ {
		switch text[n] {
		case '\\':
			n++
		case text[i]:
			return n + 1
		}
	}
	return len(text)
}

func skipBlanks(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// valueEnd is where the value that begins at i ends.
func valueEnd(text []byte, i int) int {
	for depth := 0; i < len(text); {
		switch text[i] {
		case '"', '\'':
			if i = quoted(text, i); depth == 0 {
				return i
			}
			continue
		case '{', '[', '(': // Python has tuples and calls too
			depth++
		case '}', ']', ')':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(text)
}

// unquote is what stands between quotes, without its escapes. One that is cut off stays as it is.
func unquote(s []byte) []byte {
	if bytes.IndexByte(s, '\\') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			r, ok := escaped(s[i:])
			if !ok {
				out = append(out, '\\', 'u')
				continue
			}
			i += 4
			if utf16.IsSurrogate(r) && i+2 < len(s) && s[i+1] == '\\' {
				if low, ok := escaped(s[i+2:]); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
					r = utf16.DecodeRune(r, low)
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, s[i])
		}
	}
	return out
}

// escaped is the UTF-16 unit of an escape, from its u on.
func escaped(s []byte) (rune, bool) {
	if len(s) < 5 || s[0] != 'u' {
		return 0, false
	}
	r, err := strconv.ParseUint(string(s[1:5]), 16, 32)
	return rune(r), err == nil
}
