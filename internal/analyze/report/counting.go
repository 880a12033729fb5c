package report

import "github.com/cbtrace/cbtrace/internal/model"

// A Counting says which requests of a capture count (R4.4): those with a stage of the vocabulary, and the others too where they were asked for or the
// capture holds nothing else. What it holds is known once all of it was seen and nothing more is merged (R2.3); what was selected of it changes nothing.
type Counting struct {
	Asked bool // for the others (--all)
	Known bool // the capture holds a request with a stage of the vocabulary, selected or not
}

// All reports whether every request counts.
func (c Counting) All() bool { return c.Asked || !c.Known }

// Alone reports whether the others count because the capture holds nothing else, which is said then.
func (c Counting) Alone() bool { return !c.Asked && !c.Known }

// Counts reports whether a request of these flags counts.
func (c Counting) Counts(f model.RowFlags) bool { return f.Known() || c.All() }

// Counting is that of the capture that the requests were selected from.
func (a *Aggregate) Counting() Counting {
	return Counting{Asked: a.opt.All, Known: a.known || a.main.requests > 0}
}

// Know says that the capture holds requests with a stage of the vocabulary, though none may have been selected.
func (a *Aggregate) Know() { a.known = true }
