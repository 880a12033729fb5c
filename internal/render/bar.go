package render

import (
	"slices"
	"strings"
)

// A Stroke is a piece of a bar, from and to being shares of the bar's length.
type Stroke struct {
	From, To float64
	Kind     StrokeKind
}

// A StrokeKind says what a stroke stands for. Where several meet in one character the one with the most of it is shown.
type StrokeKind uint8

const (
	Held       StrokeKind = iota // on the path, and nothing below was running
	Overlapped                   // on the path, while something off it was running
	InNoSpan                     // on the path, and nothing recorded was running
	Through                      // on the path by something below
	OffPath                      // off the path
	Beyond                       // begins or goes on after the end of the bar
	Moment                       // has no length
	Filled                       // of an amount, not of a path
	numStrokes
)

// The characters of strokes, told apart without colour.
const (
	held       = "█"
	overlapped = "▒"
	inNoSpan   = "░"
	through    = "─"
	offPath    = "·"
	beyond     = "▸"
	moment     = "|"
	filled     = "■"
)

var strokes = [numStrokes]struct {
	mark string
	tone Tone
}{Held: {held, OnPath}, Overlapped: {overlapped, Overlap}, InNoSpan: {inNoSpan, OnPath}, Through: {through, Plain}, OffPath: {offPath, Faint},
	Beyond: {beyond, Faint}, Moment: {moment, Faint}, Filled: {filled, Plain}}

const (
	barLeast = 12 // columns of a bar where space is short
	barUsual = 24
	barMost  = 60
)

// drawBar is a bar n columns wide.
func drawBar(all []Stroke, n int) string {
	if len(all) == 0 || n <= 0 {
		return ""
	}
	type cell struct {
		share [numStrokes]float64
		any   bool
	}
	cells := make([]cell, n)
	for _, s := range all {
		from, to := max(0, min(1, s.From))*float64(n), max(0, min(1, s.To))*float64(n)
		if s.Kind == Beyond {
			cells[n-1].any, cells[n-1].share[Beyond] = true, 2 // whatever else is there
			continue
		}
		first := min(int(from), n-1)
		last := max(first, min(n-1, int(to)))
		if last > first && float64(last) == to {
			last--
		}
		for i := first; i <= last; i++ {
			// A stroke that is shorter than a character still has a little of it.
			c := &cells[i]
			c.any = true
			c.share[s.Kind] += max(1e-9, min(to, float64(i+1))-max(from, float64(i)))
		}
	}
	var b strings.Builder
	open := Plain
	for i := range cells {
		mark, tone := " ", Plain
		if c := &cells[i]; c.any {
			k := slices.Index(c.share[:], slices.Max(c.share[:]))
			mark, tone = strokes[k].mark, strokes[k].tone
		}
		if tone != open {
			if open != Plain {
				b.WriteByte(toneEnd)
			}
			if tone != Plain {
				b.WriteByte(toneMarks + byte(tone))
			}
			open = tone
		}
		b.WriteString(mark)
	}
	if open != Plain {
		b.WriteByte(toneEnd)
	}
	return b.String()
}
