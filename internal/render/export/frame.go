package export

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cbtrace/cbtrace/internal/model"
	"github.com/cbtrace/cbtrace/internal/render"
)

// Names of frames. Folded stacks have no way to quote, so what their readers would take for something else is written as %XX, byte by byte in
// upper-case hex, and so is % itself: names stay readable, and no two become one. What would be taken for something else:
//
//	;                                                      the end of a frame
//	LF CR TAB, other control and invisible characters      the end of a line, or nothing to see (R3.7)
//	bytes that are not UTF-8, white space but the blank    mended or trimmed
//	blanks at either end                                   trimmed
//	the blank before a number at the end: "layer 12"       a second count, which makes the line a difference of two
//	# at the beginning                                     a comment
//	_[k] _[i] _[j] _[w] at the end                         the colour of the frame
//	- and -- alone                                         separators of threads

// nameless stands for an empty name.
const nameless = "(nameless)"

// Frame is a name from an input as a folded stack has it: safe, never empty, and that of no other name nor of a frame that cbtrace makes up
// (nameless, the stage of a synthetic root, a stage with its owner).
func Frame(name string) string {
	switch name {
	case "":
		return nameless
	case nameless, model.SyntheticStage:
		return quoted(name[:1]) + name[1:]
	case "-", "--":
		return quoted(name)
	}
	if stage, owner, ok := strings.Cut(name, "@"); ok && model.StageOf(stage) != model.StageNone && isOwner(owner) {
		return stage + quoted("@") + owner
	}
	left, right := 0, len(name)
	for left < right && name[left] == ' ' {
		left++
	}
	for right > left && name[right-1] == ' ' {
		right--
	}
	number, colour := numberAt(name), colourAt(name)
	comment := name[0] == '#'
	if left == 0 && right == len(name) && number < 0 && colour < 0 && !comment && !strings.ContainsFunc(name, reserved) && render.Escape(name) == name {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		_, n := utf8.DecodeRuneInString(name[i:])
		c := name[i : i+n]
		if i < left || i >= right || i == number || i == colour || i == 0 && comment || strings.ContainsFunc(c, reserved) || render.Escape(c) != c {
			c = quoted(c)
		}
		b.WriteString(c)
		i += n
	}
	return b.String()
}

// quoted writes every byte as %XX.
func quoted(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

// reserved reports whether a character is quoted wherever it stands; invisible ones and broken UTF-8 are what render.Escape changes.
func reserved(r rune) bool { return r == '%' || r == ';' || r != ' ' && unicode.IsSpace(r) }

func isOwner(s string) bool {
	for o := model.Engine; o <= model.Server; o++ {
		if o.String() == s {
			return true
		}
	}
	return false
}

// numberAt is where the blank before a number at the end of a name stands, such as 12, 1. or 1.5; -1 without one.
func numberAt(name string) int {
	at := strings.LastIndexByte(name, ' ')
	whole, part, _ := strings.Cut(name[at+1:], ".")
	if at < 0 || whole == "" || strings.Trim(whole+part, "0123456789") != "" {
		return -1
	}
	return at
}

// colourAt is where the bracket of a colour at the end of a name stands; -1 without one.
func colourAt(name string) int {
	for _, c := range [...]string{"_[k]", "_[i]", "_[j]", "_[w]"} {
		if strings.HasSuffix(name, c) {
			return len(name) - len(c) + 1
		}
	}
	return -1
}
