package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// A Style is what the place that a page goes to can show. The zero value is text without colour, as wide as it comes.
type Style struct {
	Width int  // columns of a line; 0: as many as it takes
	Color bool // a terminal that knows colours
	ASCII bool // nothing outside ASCII (LC_ALL=C)
}

// A Tone says why something is set apart. Colour never says what the text beside it does not.
type Tone uint8

const (
	Plain Tone = iota
	Strong
	Faint
	Good
	Warn
	Bad
	OnPath
	Overlap
	numTones
)

// sgr is how a terminal shows a tone.
var sgr = [numTones]string{Strong: "1", Faint: "2", Good: "32", Warn: "33", Bad: "1;31", OnPath: "36", Overlap: "35"}

// Tones are marked by control characters, which text from inputs never holds (Escape) and which take no room in a line.
// What writes the page turns them into colours or takes them out, so that nothing before it has to know which.
const (
	toneMarks = 0x01 // + the tone
	toneEnd   = 0x0f
	hardBlank = 0x0e // a blank at which no line is broken
)

// unbroken is text that stays on one line, so that it can be copied.
func unbroken(s string) string { return strings.ReplaceAll(s, " ", string(rune(hardBlank))) }

// Toned is text set apart.
func Toned(t Tone, s string) string {
	if t == Plain || s == "" {
		return s
	}
	return string(rune(toneMarks+t)) + s + string(rune(toneEnd))
}

// An ink is where text of pages is written: it takes blanks off the ends of lines, shows tones or takes them out, and makes any other
// control character safe.
type ink struct {
	w     io.Writer
	color bool
	line  []byte
	tone  Tone // that the line before left open
}

func (k *ink) Write(p []byte) (int, error) {
	k.line = append(k.line, p...)
	end := bytes.LastIndexByte(k.line, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	var out []byte
	for line := range bytes.Lines(k.line[:end]) {
		out = append(k.appendLine(out, trimEnd(line)), '\n')
	}
	k.line = append(k.line[:0], k.line[end:]...)
	if _, err := k.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// trimEnd takes blanks off the end of a line, also those before the end of a tone.
func trimEnd(line []byte) []byte {
	line = bytes.TrimRight(line, " \n")
	rest, ended := bytes.CutSuffix(line, []byte{toneEnd})
	if !ended {
		return line
	}
	return append(bytes.TrimRight(rest, " "), toneEnd)
}

func (k *ink) appendLine(out, line []byte) []byte {
	if k.color && k.tone != Plain && len(line) > 0 {
		out = append(out, "\x1b["+sgr[k.tone]+"m"...)
	}
	for _, c := range line {
		switch {
		case c == toneEnd:
			if k.color && k.tone != Plain {
				out = append(out, "\x1b[m"...)
			}
			k.tone = Plain
		case c > toneMarks && c < toneMarks+byte(numTones):
			if k.tone = Tone(c - toneMarks); k.color {
				out = append(out, "\x1b["+sgr[k.tone]+"m"...)
			}
		case c == hardBlank:
			out = append(out, ' ')
		case c < ' ' && c != '\t' || c == 0x7f:
			out = fmt.Appendf(out, `\x%02x`, c)
		default:
			out = append(out, c)
		}
	}
	if k.color && k.tone != Plain && len(line) > 0 {
		out = append(out, "\x1b[m"...)
	}
	return out
}

// ascii is how our own characters are written where there are none outside ASCII.
var ascii = strings.NewReplacer("µ", "u", "–", "-", "−", "-", "…", "...", "×", "x", "±", "+-", "≤", "<=", "→", "->", "·", ".",
	held, "#", overlapped, "+", through, "-", offPath, ".", inNoSpan, ":", beyond, ">", filled, "#")

// Plain is text as the style can show it: without characters outside ASCII where there are none. Those of inputs become \u escapes.
func (s Style) Plain(text string) string {
	if !s.ASCII || isASCII(text) {
		return text
	}
	var b strings.Builder
	for _, r := range ascii.Replace(text) {
		switch {
		case r < utf8.RuneSelf:
			b.WriteByte(byte(r))
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// columns is how many columns of a terminal a text takes.
func columns(s string) int { return displaywidth.String(s) + strings.Count(s, string(rune(hardBlank))) }
