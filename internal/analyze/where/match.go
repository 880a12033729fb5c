package where

import (
	"math"

	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Match reports whether a linked request is selected: at least one of its spans satisfies the expression. row is what analysis made of it.
func (e *Expr) Match(r *model.Request, row *model.Row) bool {
	s := &subject{dict: r.Dict, request: rowRequest(r.Dict, row)}
	for _, s.span = range r.Spans {
		if s.span.Has(model.FlagSynthetic) {
			continue
		}
		if e.root == nil || e.root.satisfied(s) {
			return true
		}
		if !e.wants { // it would be the same of every span
			return false
		}
	}
	return false
}

// ID is the id, internal or external, that every request that is selected has; "" where the expression asks for none or for any of several.
func (e *Expr) ID() string {
	_, id := e.root.id()
	return id
}

// IDField is the field that the expression wants to be equal to ID.
func (e *Expr) IDField() string {
	field, _ := e.root.id()
	return field
}

// The fields that hold ids.
const (
	FieldID         = "request.id"
	FieldExternalID = "request.external_id"
)

func (n *node) id() (field, id string) {
	switch {
	case n == nil:
		return "", ""
	case n.op == opAnd:
		if field, id = n.left.id(); id == "" {
			field, id = n.right.id()
		}
		return field, id
	case n.op == opEqual && (n.a.field.name == FieldID || n.a.field.name == FieldExternalID):
		return n.a.field.name, n.b.value.text
	}
	return "", ""
}

// Saved is nil when a saved report keeps what the expression asks for; otherwise an *Error that names what it does not keep (R9.5).
func (e *Expr) Saved() error {
	if e.lost == nil {
		return nil
	}
	return e.lost
}

// MatchDigest reports whether a request of a saved report is selected, by its fields and the hit numbers of its root (R9.5). dict is that of
// the report. The error is that of Saved.
func (e *Expr) MatchDigest(dict *model.Dict, d *report.Digest) (bool, error) {
	if e.lost != nil {
		return false, e.lost
	}
	return e.root == nil || e.root.satisfied(&subject{dict: dict, request: digestRequest(dict, d)}), nil
}

func (n *node) satisfied(s *subject) bool {
	switch n.op {
	case opAnd:
		return n.left.satisfied(s) && n.right.satisfied(s)
	case opOr:
		return n.left.satisfied(s) || n.right.satisfied(s)
	case opNot:
		return !n.left.satisfied(s)
	}
	if n.a.field.kind == texts {
		return n.anyText(s)
	}
	a := n.a.get(s)
	if n.op == opTrue {
		return a.kind == truth && a.num != 0
	}
	if n.b.null {
		return (a.kind == missing) == (n.op == opEqual)
	}
	b := n.b.get(s)
	if a.kind == missing || b.kind == missing || a.kind != b.kind {
		return false
	}
	switch n.op {
	case opMatch:
		return n.re.MatchString(a.text)
	case opNoMatch:
		return !n.re.MatchString(a.text)
	case opEqual:
		return a == b
	case opUnequal:
		return a != b
	case opLess:
		return a.num < b.num
	case opLessEqual:
		return a.num <= b.num
	case opMore:
		return a.num > b.num
	}
	return a.num >= b.num
}

// anyText compares each of the texts of a request: one is enough for = and =~, none may be for != and !~. Without any it is nil.
func (n *node) anyText(s *subject) bool {
	if n.b.null {
		return (s.findings == 0) == (n.op == opEqual)
	}
	found := s.has(func(code string) bool {
		if n.re != nil {
			return n.re.MatchString(code)
		}
		return code == n.b.value.text
	})
	return found == (n.op == opEqual || n.op == opMatch)
}

func (o *operand) get(s *subject) value {
	if o.field == nil {
		return o.value
	}
	of := o.field.of
	if s.span == nil {
		of = o.field.saved
	}
	v := of(s)
	if o.scale != 0 && v.kind == number {
		v.num = math.RoundToEven(v.num * o.scale)
	}
	return v
}
