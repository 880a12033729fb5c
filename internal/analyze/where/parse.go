package where

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Limits of an expression: it is written by a person.
const (
	maxLength = 16 << 10 // bytes
	maxDepth  = 100      // of brackets and !
)

// An Expr is an expression that was read. It does not change; any number of goroutines may ask it.
type Expr struct {
	root  *node  // nil: { } selects every request with a span
	wants bool   // asks for spans, not only for fields of the request
	lost  *Error // what a saved report does not keep of it
}

type op uint8

const (
	opAnd op = iota
	opOr
	opNot
	opTrue // a field that is true
	opEqual
	opUnequal
	opLess
	opLessEqual
	opMore
	opMoreEqual
	opMatch
	opNoMatch
)

var comparisons = map[string]op{"=": opEqual, "==": opEqual, "!=": opUnequal, "<": opLess, "<=": opLessEqual, ">": opMore, ">=": opMoreEqual, "=~": opMatch, "!~": opNoMatch}

var signOf = map[op]string{opEqual: "=", opUnequal: "!=", opLess: "<", opLessEqual: "<=", opMore: ">", opMoreEqual: ">=", opMatch: "=~", opNoMatch: "!~"}

var mirrored = map[op]op{opLess: opMore, opMore: opLess, opLessEqual: opMoreEqual, opMoreEqual: opLessEqual}

// A node is && or || of two nodes, ! of one, or a comparison of two operands (opTrue: of one).
type node struct {
	op          op
	left, right *node
	a, b        operand
	re          *regexp.Regexp // of b
}

// An operand is a field or a constant.
type operand struct {
	field *field
	value value
	is    dimension // of a constant number
	null  bool      // nil
	scale float64   // what a number is multiplied by, 0: nothing
	token token
}

// Parse reads an expression. The error is an *Error. nearest finds the candidate that is most like a word, "" when none is; nil: nothing is
// suggested.
func Parse(src string, nearest func(word string, candidates []string) string) (*Expr, error) {
	p := &parser{lexer: lexer{src: src}, nearest: nearest, expr: &Expr{}}
	if len(src) > maxLength {
		return nil, &Error{1, fmt.Sprintf("longer than %d bytes", maxLength)}
	}
	if err := p.spanset(); err != nil {
		return nil, err
	}
	return p.expr, nil
}

type parser struct {
	lexer
	token   token // the next one
	nearest func(string, []string) string
	depth   int
	expr    *Expr
}

func (p *parser) advance() (err *Error) {
	p.token, err = p.next()
	return err
}

func (p *parser) is(sign string) bool { return p.token.kind == tokenSign && p.token.src == sign }

// have is the next token in a message.
func (t *token) have() string {
	if t.kind == tokenEnd {
		return "the end"
	}
	return t.src
}

// spanset reads { … }, which is all there is.
func (p *parser) spanset() *Error {
	if err := p.advance(); err != nil {
		return err
	}
	if !p.is("{") {
		return p.fail(p.token.at, "want { at the beginning, as in { span.hit_rate >= 0.5 }, have %s", p.token.have())
	}
	if err := p.advance(); err != nil {
		return err
	}
	if p.is("}") {
		p.expr.wants = true
	} else {
		var err *Error
		if p.expr.root, err = p.or(); err != nil {
			return err
		}
		if !p.is("}") {
			return p.fail(p.token.at, "want &&, || or }, have %s", p.token.have())
		}
	}
	if err := p.advance(); err != nil {
		return err
	}
	if p.token.kind != tokenEnd {
		return p.fail(p.token.at, "want nothing behind }: one set of spans is all there can be, have %s", p.token.have())
	}
	return nil
}

func (p *parser) or() (*node, *Error)  { return p.chain("||", opOr, p.and) }
func (p *parser) and() (*node, *Error) { return p.chain("&&", opAnd, p.not) }

func (p *parser) chain(sign string, op op, next func() (*node, *Error)) (*node, *Error) {
	n, err := next()
	for err == nil && p.is(sign) {
		if err = p.advance(); err != nil {
			break
		}
		var right *node
		right, err = next()
		n = &node{op: op, left: n, right: right}
	}
	return n, err
}

func (p *parser) not() (*node, *Error) {
	negated, bracket := p.is("!"), p.is("(")
	if !negated && !bracket {
		return p.comparison()
	}
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail(p.token.at, "brackets and ! are more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	if err := p.advance(); err != nil {
		return nil, err
	}
	if negated {
		n, err := p.not()
		return &node{op: opNot, left: n}, err
	}
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	if !p.is(")") {
		return nil, p.fail(p.token.at, "want &&, || or ), have %s", p.token.have())
	}
	return n, p.advance()
}

func (p *parser) comparison() (*node, *Error) {
	a, err := p.operand()
	if err != nil {
		return nil, err
	}
	n := &node{op: opTrue, a: a}
	op, ok := comparisons[p.token.src]
	if p.token.kind != tokenSign || !ok {
		if a.field == nil || a.field.kind != truth {
			return nil, p.fail(p.token.at, "want a comparison such as >= behind %s, have %s", a.token.src, p.token.have())
		}
		return n, nil
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	b, err := p.operand()
	if err != nil {
		return nil, err
	}
	n.op, n.b = op, b
	if n.a.field == nil && n.op != opMatch && n.op != opNoMatch { // 5 < x is x > 5
		n.a, n.b = n.b, n.a
		if turned, ok := mirrored[n.op]; ok {
			n.op = turned
		}
	}
	return n, p.check(n)
}

// words are those that stand for themselves as a text.
var words = []string{"error", "ok"}

func (p *parser) operand() (operand, *Error) {
	t := p.token
	o := operand{token: t}
	switch t.kind {
	case tokenText:
		o.value = value{kind: text, text: t.text}
	case tokenNumber:
		o.value, o.is = value{kind: number, num: t.num}, t.unit
	case tokenWord:
		switch {
		case t.src == "true" || t.src == "false":
			o.value = truthOf(t.src == "true")
		case t.src == "nil":
			o.null = true
		case slices.Contains(words, t.src):
			o.value = value{kind: text, text: t.src}
		default:
			o.field = find(t.src)
			if o.field == nil {
				hint := ""
				if n := near(t.src, p.nearest); n != "" {
					hint = "; did you mean " + n + "?"
				}
				return o, p.fail(t.at, "no field %s%s", t.src, hint)
			}
			p.uses(o.field, t)
		}
	default:
		return o, p.fail(t.at, "want a field or a value, have %s", t.have())
	}
	return o, p.advance()
}

// uses notes what a field asks for.
func (p *parser) uses(f *field, t token) {
	if !strings.HasPrefix(f.name, "request.") {
		p.expr.wants = true
	}
	if f.saved == nil && p.expr.lost == nil {
		p.expr.lost = p.fail(t.at, "%s: a saved report keeps fields of requests (request.…) and the hit numbers of their roots, no other attribute of a span", f.name)
	}
}
