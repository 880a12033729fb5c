package where

import (
	"strconv"
	"strings"
)

// String is the expression in one form: two that say the same in other spacing and brackets are the same text, which Parse reads as the same.
func (e *Expr) String() string {
	if e.root == nil {
		return "{ }"
	}
	var b strings.Builder
	b.WriteString("{ ")
	e.root.write(&b, opOr)
	b.WriteString(" }")
	return b.String()
}

// write writes a node that stands below || (opOr), && (opAnd) or ! (opNot).
func (n *node) write(b *strings.Builder, below op) {
	bracket := n.op == opOr && below != opOr || n.op == opAnd && below == opNot
	compares := n.op > opNot
	bracket = bracket || compares && n.op != opTrue && below == opNot
	if bracket {
		b.WriteByte('(')
	}
	switch n.op {
	case opOr, opAnd:
		n.left.write(b, n.op)
		b.WriteString(map[op]string{opOr: " || ", opAnd: " && "}[n.op])
		n.right.write(b, n.op)
	case opNot:
		b.WriteByte('!')
		n.left.write(b, opNot)
	case opTrue:
		b.WriteString(n.a.text())
	default:
		b.WriteString(n.a.text() + " " + signOf[n.op] + " " + n.b.text())
	}
	if bracket {
		b.WriteByte(')')
	}
}

func (o *operand) text() string {
	switch {
	case o.field != nil:
		return o.field.name
	case o.null:
		return "nil"
	case o.value.kind == truth:
		return strconv.FormatBool(o.value.num != 0)
	case o.value.kind == text:
		return strconv.Quote(o.value.text)
	}
	return o.token.src
}
