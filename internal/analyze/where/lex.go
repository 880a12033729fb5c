package where

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// An Error is a mistake in an expression.
type Error struct {
	Column int // in characters, from 1
	Text   string
}

func (e *Error) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Text) }

type tokenKind uint8

const (
	tokenEnd    tokenKind = iota
	tokenSign             // { } ( ) && || ! and the comparisons
	tokenWord             // a field, true, false, nil, or a word that stands for a text
	tokenText             // "…" or `…`
	tokenNumber           // with or without a unit
)

type token struct {
	kind tokenKind
	at   int    // byte offset
	src  string // as written
	text string // of a tokenText
	num  float64
	unit dimension // of a tokenNumber: what its unit measures
}

// A dimension is what a number measures.
type dimension uint8

const (
	plain    dimension = iota
	duration           // ns
	size               // bytes
)

var units = []struct {
	name string
	is   dimension
	of   float64
}{
	{"ns", duration, 1}, {"us", duration, 1e3}, {"µs", duration, 1e3}, {"μs", duration, 1e3}, {"ms", duration, 1e6}, {"s", duration, 1e9},
	{"m", duration, 60e9}, {"h", duration, 3600e9}, {"d", duration, 86400e9},
	{"B", size, 1}, {"kB", size, 1e3}, {"KB", size, 1e3}, {"MB", size, 1e6}, {"GB", size, 1e9}, {"TB", size, 1e12},
	{"KiB", size, 1 << 10}, {"MiB", size, 1 << 20}, {"GiB", size, 1 << 30}, {"TiB", size, 1 << 40},
}

var signs = []string{"&&", "||", "==", "=~", "!=", "!~", "<=", ">=", "{", "}", "(", ")", "!", "=", "<", ">"}

// A lexer cuts an expression into tokens.
type lexer struct {
	src string
	pos int
}

func (l *lexer) fail(at int, format string, args ...any) *Error {
	return &Error{utf8.RuneCountInString(l.src[:at]) + 1, fmt.Sprintf(format, args...)}
}

func (l *lexer) next() (token, *Error) {
	for l.pos < len(l.src) && strings.IndexByte(" \t\r\n", l.src[l.pos]) >= 0 {
		l.pos++
	}
	rest := l.src[l.pos:]
	t := token{at: l.pos}
	if rest == "" {
		return t, nil
	}
	digit := func(i int) bool { return i < len(rest) && rest[i] >= '0' && rest[i] <= '9' }
	switch c := rest[0]; {
	case c == '"' || c == '`':
		return l.quoted()
	case digit(0) || (c == '-' || c == '.') && digit(1) || c == '-' && len(rest) > 1 && rest[1] == '.' && digit(2):
		return l.number()
	case isWord(c):
		n := 1
		for n < len(rest) && (isWord(rest[n]) || digit(n)) {
			n++
		}
		t.kind, t.src = tokenWord, rest[:n]
		l.pos += n
		return t, nil
	}
	for _, s := range signs {
		if strings.HasPrefix(rest, s) {
			t.kind, t.src = tokenSign, s
			l.pos += len(s)
			return t, nil
		}
	}
	r, _ := utf8.DecodeRuneInString(rest)
	switch {
	case rest[0] == '\'':
		return t, l.fail(l.pos, `texts stand in "…"`)
	case rest[0] == '&' || rest[0] == '|':
		return t, l.fail(l.pos, "want %s%[1]s, have %[1]s", rest[:1])
	}
	return t, l.fail(l.pos, "%q means nothing here", r)
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '.'
}

func (l *lexer) quoted() (token, *Error) {
	t := token{kind: tokenText, at: l.pos}
	quote := l.src[l.pos]
	for i := l.pos + 1; i < len(l.src); i++ {
		switch c := l.src[i]; {
		case c == '\\' && quote == '"':
			i++
		case c == quote:
			t.src = l.src[l.pos : i+1]
			l.pos = i + 1
			text, err := strconv.Unquote(t.src)
			if err != nil {
				return t, l.fail(t.at, "%s is no text: a \\ in it stands before a letter that means nothing, or a line ends in it", t.src)
			}
			t.text = text
			return t, nil
		}
	}
	return t, l.fail(t.at, "a text without its closing %c", quote)
}

// number reads 12, -1.5, 1e3, 90ms, 1m30s, 64MiB.
func (l *lexer) number() (token, *Error) {
	t := token{kind: tokenNumber, at: l.pos}
	sign := 1.0
	if l.src[l.pos] == '-' {
		sign = -1
		l.pos++
	}
	for part := 0; ; part++ {
		from := l.pos
		l.digits()
		value, err := strconv.ParseFloat(l.src[from:l.pos], 64)
		if err != nil {
			return t, l.fail(from, "%q is no number", l.src[from:l.pos])
		}
		unitAt := l.pos
		for l.pos < len(l.src) && (isWord(l.src[l.pos]) && l.src[l.pos] != '.' || l.src[l.pos] >= 0x80) {
			l.pos++
		}
		is, of, ok := plain, 1.0, l.pos == unitAt
		for _, u := range units {
			if u.name == l.src[unitAt:l.pos] {
				is, of, ok = u.is, u.of, true
			}
		}
		switch {
		case !ok:
			return t, l.fail(unitAt, "unknown unit %q: want ns, us, ms, s, m, h, d, or B, kB, MB, GB, KiB, MiB, GiB", l.src[unitAt:l.pos])
		case part > 0 && (is != duration || t.unit != duration):
			return t, l.fail(from, "want one number, have %s", l.src[t.at:l.pos])
		}
		t.unit, t.num = is, t.num+value*of
		if is != duration || l.pos == len(l.src) || l.src[l.pos] < '0' || l.src[l.pos] > '9' {
			break
		}
	}
	t.num *= sign
	t.src = l.src[t.at:l.pos]
	return t, nil
}

// digits goes past digits, a fraction and an exponent.
func (l *lexer) digits() {
	run := func() {
		for l.pos < len(l.src) && l.src[l.pos] >= '0' && l.src[l.pos] <= '9' {
			l.pos++
		}
	}
	run()
	if l.pos < len(l.src) && l.src[l.pos] == '.' {
		l.pos++
		run()
	}
	if i := l.pos; i < len(l.src) && (l.src[i] == 'e' || l.src[i] == 'E') {
		if i++; i < len(l.src) && (l.src[i] == '-' || l.src[i] == '+') {
			i++
		}
		if i < len(l.src) && l.src[i] >= '0' && l.src[i] <= '9' {
			l.pos = i
			run()
		}
	}
}
