package where

import (
	"regexp"
	"slices"
	"strings"
)

var kindNames = [...]string{missing: "nothing", number: "a number", text: "a text", truth: "true or false", texts: "a text"}

// check sees whether the operands of a comparison can be compared, and how.
func (p *parser) check(n *node) *Error {
	a, b := &n.a, &n.b
	if a.field == nil {
		return p.fail(a.token.at, "want a field on one side, have %s and %s", a.token.src, b.token.src)
	}
	switch {
	case b.null:
		if n.op != opEqual && n.op != opUnequal {
			return p.fail(b.token.at, "want = nil or != nil")
		}
		return nil
	case n.op == opMatch || n.op == opNoMatch:
		return p.checkMatch(n)
	}
	want, have := a.field.kind, b.value.kind
	if b.field != nil {
		have = b.field.kind
	}
	if b.field == nil && want == text && have == number && b.is == plain { // worker_id = 0
		b.value, have = value{kind: text, text: b.token.src}, text
	}
	switch {
	case want == texts && b.field == nil && have == text, want == have && want != texts:
	default:
		return p.fail(b.token.at, "%s is %s, have %s", a.field.name, kindNames[want], b.token.src)
	}
	if want == number {
		return p.checkNumbers(a, b)
	}
	if n.op != opEqual && n.op != opUnequal {
		return p.fail(b.token.at, "%s is %s: want = or != (or =~ for texts)", a.field.name, kindNames[want])
	}
	if b.field == nil && (want == text || want == texts) {
		return p.checkValue(a.field, b)
	}
	return nil
}

// checkValue refuses a text that a field never has.
func (p *parser) checkValue(f *field, b *operand) *Error {
	if f.values == nil || slices.Contains(f.values, b.value.text) {
		return nil
	}
	if p.nearest != nil {
		if near := p.nearest(b.value.text, f.values); near != "" {
			return p.fail(b.token.at, "%s is never %s; did you mean %q?", f.name, b.token.src, near)
		}
	}
	if len(f.values) > 8 {
		return p.fail(b.token.at, "%s is never %s", f.name, b.token.src)
	}
	return p.fail(b.token.at, "%s is never %s: want one of %s", f.name, b.token.src, strings.Join(f.values, ", "))
}

func (p *parser) checkMatch(n *node) *Error {
	a, b := &n.a, &n.b
	if a.field.kind != text && a.field.kind != texts {
		return p.fail(a.token.at, "%s is %s: regular expressions match texts", a.field.name, kindNames[a.field.kind])
	}
	if b.token.kind != tokenText {
		return p.fail(b.token.at, `want a regular expression as a text, "cb\\..*", have %s`, b.token.src)
	}
	if _, err := regexp.Compile(b.value.text); err != nil { // by itself: ")|(" is right within brackets
		return p.fail(b.token.at, "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	re, err := regexp.Compile(`^(?s:` + b.value.text + `)$`)
	if err != nil {
		return p.fail(b.token.at, "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	n.re = re
	return nil
}

// checkNumbers brings two numbers to one unit.
func (p *parser) checkNumbers(a, b *operand) *Error {
	f := a.field
	if b.field != nil {
		if f.is != b.field.is {
			return p.fail(b.token.at, "%s and %s do not measure the same", f.name, b.field.name)
		}
		a.scale, b.scale = f.ownUnit(), b.field.ownUnit()
		return nil
	}
	switch {
	case b.is == f.is:
		a.scale = f.ownUnit()
	case b.is == plain && (f.unit != "" || f.is == size || b.value.num == 0): // in its own unit
	case f.is == duration:
		return p.fail(b.token.at, "%s is a time: want one with its unit such as 100ms, have %s", f.name, b.token.src)
	case f.is == size:
		return p.fail(b.token.at, "%s is a size: want one such as 64MiB, have %s", f.name, b.token.src)
	default:
		return p.fail(b.token.at, "%s is a number without a unit, have %s", f.name, b.token.src)
	}
	return nil
}
