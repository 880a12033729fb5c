package finding

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Counted is a number of things: "1 span", "2,048 tokens".
func Counted[T int | int64](n T, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return model.Digits(int64(n)) + " " + what + "s"
}

// length is a duration with four digits: "52.35 ms".
func length(d time.Duration) string {
	for _, u := range [...]struct {
		name string
		size time.Duration
	}{{"s", time.Second}, {"ms", time.Millisecond}, {"µs", time.Microsecond}} {
		if d >= u.size || d <= -u.size {
			return strconv.FormatFloat(float64(d)/float64(u.size), 'g', significantDigit, 64) + " " + u.name
		}
	}
	return strconv.FormatInt(int64(d), 10) + " ns"
}

// within is a length that may be wrong: "16 ms ± 3 ms" (R5.8).
func within(d, doubt time.Duration) string {
	if doubt == 0 {
		return length(d)
	}
	return length(d) + " ± " + length(doubt)
}

// doubt is how far the times of two spans may be wrong against each other; 0 where nobody knows.
func (d *Detector) doubt(s, o *model.Span) time.Duration {
	if u, ok := d.req.UncertaintyBetween(s, o); ok {
		return u
	}
	return 0
}

// most is the largest number that spans give under any of the keys.
func most(spans []*model.Span, keys ...model.AttrKey) int64 {
	n := int64(0)
	for _, s := range spans {
		for _, k := range keys {
			n = max(n, s.Count(k))
		}
	}
	return n
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func sayOrphan(d *Detector, spans []*model.Span) string {
	return Counted(len(spans), "span") + verb(len(spans), " names", " name") + " a parent that is not in the request."
}

func sayNegative(d *Detector, spans []*model.Span) string {
	back := time.Duration(0)
	for _, s := range spans {
		back = max(back, -s.Dur())
	}
	return fmt.Sprintf("%s %s before the start, by up to %s.", Counted(len(spans), "span"), verb(len(spans), "ends", "end"), length(back))
}

func sayDuplicateRoot(d *Detector, spans []*model.Span) string {
	return fmt.Sprintf("%s share stage and process with another, and not each holds a lookup of its own.", Counted(len(spans), "root"))
}

func sayReused(d *Detector, spans []*model.Span) string {
	return "This is a further execution under an id that was used before."
}

func sayAmbiguous(d *Detector, spans []*model.Span) string {
	return "The external id of this llm_request fits several internal ids; it was joined with none of them."
}

func sayShutdown(d *Detector, spans []*model.Span) string {
	longest := time.Duration(0)
	for _, s := range spans {
		longest = max(longest, s.Dur())
	}
	return fmt.Sprintf("%s ended with %s process, after up to %s (inferred).", Counted(len(spans), "span"), verb(len(spans), "its", "their"), length(longest))
}

func sayEarlyExit(d *Detector, spans []*model.Span) string {
	reason := d.in.Split.Hits.EarlyExit
	if reason == "" {
		return "The lookup ended before it searched: the server had no GPU context."
	}
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + "…"
	}
	return fmt.Sprintf("The lookup ended before it searched: %q.", reason)
}

func sayStale(d *Detector, spans []*model.Span) string {
	return fmt.Sprintf("%s matched but no longer stored.", Counted(most(spans, model.AttrStaleChunks, model.AttrStale), "chunk"))
}

func sayDropped(d *Detector, spans []*model.Span) string {
	return fmt.Sprintf("%s found but not written, in one scatter.", Counted(most(spans, model.AttrDropped), "chunk"))
}

func sayTimeout(d *Detector, spans []*model.Span) string {
	return fmt.Sprintf("%s timed out; only local chunks counted.", Counted(len(spans), "match step"))
}

func sayRankNotOK(d *Detector, spans []*model.Span) string {
	return fmt.Sprintf("%s %s per_rank_ok false.", Counted(len(spans), "span"), verb(len(spans), "says", "say"))
}

func sayRankMismatch(d *Detector, spans []*model.Span) string {
	return fmt.Sprintf("%s of %s loaded.", Counted(len(d.ranks), "rank"), model.Digits(d.world))
}

func sayIdentity(d *Detector, spans []*model.Span) string {
	h := &d.in.Split.Hits
	off := h.Hit.V - h.Parts
	return fmt.Sprintf("hit_tokens is %s, its parts add up to %s: off by %s%s.", model.Digits(h.Hit.V), model.Digits(h.Parts), map[bool]string{true: "+"}[off > 0], model.Digits(off))
}

func sayMissing(d *Detector, spans []*model.Span) string {
	return Counted(len(spans), "cb.execute") + " without cb.model_forward."
}

func sayRetrieveFailed(d *Detector, spans []*model.Span) string {
	return Counted(len(spans), "retrieve") + " failed."
}

func sayError(d *Detector, spans []*model.Span) string {
	return fmt.Sprintf("%s %s status ERROR.", Counted(len(spans), "span"), verb(len(spans), "has", "have"))
}

func sayRelookup(d *Detector, spans []*model.Span) string {
	return "Looked up and loaded in " + Counted(d.in.Split.Loads.Attempts, "attempt") + "."
}

func sayDouble(d *Detector, spans []*model.Span) string {
	l, hit := &d.in.Split.Loads, d.in.Split.Hits.Hit
	if len(l.Double) == 1 {
		return "The load began in another trace after the server's request had ended: a pass before it left nothing."
	}
	var b strings.Builder
	for i, n := range l.Double {
		switch p := &l.Passes[n]; {
		case i == maxPasses:
			b.WriteString(" + …")
		case i > maxPasses:
		case p.Written.OK:
			b.WriteString(" + " + model.Digits(p.Written.V))
		default:
			b.WriteString(" + ?")
		}
	}
	s := fmt.Sprintf("%d passes of one rank wrote %s tokens", len(l.Double), b.String()[len(" + "):])
	if hit.OK {
		s += " where " + model.Digits(hit.V) + " were found"
	}
	if l.Wasted.V > 0 {
		s += "; " + model.Digits(l.Wasted.V) + " of all tokens written were for nothing"
	}
	return s + "."
}

func sayNewTrace(d *Detector, spans []*model.Span) string {
	return fmt.Sprintf("%s in another trace than the server's cb.request before %s.", Counted(len(spans), "retrieve"), verb(len(spans), "it", "them"))
}

func sayLatePoll(d *Detector, spans []*model.Span) string {
	sp := d.in.Split
	for i := range sp.Lookups {
		if l := &sp.Lookups[i]; late(l) {
			s := fmt.Sprintf("The answer waited %s for the last poll, where %s is usual between polls",
				within(time.Duration(l.Overshoot.V), time.Duration(l.Uncertainty.V)), length(time.Duration(l.PollInterval.V)))
			if l.PollsInferred {
				s += " (inferred, there are no poll lines)"
			}
			return s + "."
		}
	}
	return ""
}

func sayDeadline(d *Detector, spans []*model.Span) string {
	longest, doubt := time.Duration(0), time.Duration(0)
	for i := range d.in.Split.Loads.Delays {
		if delay := &d.in.Split.Loads.Delays[i]; time.Duration(delay.NS) > longest {
			longest, doubt = time.Duration(delay.NS), d.doubt(delay.Lookup, delay.Retrieve)
		}
	}
	return fmt.Sprintf("The load began %s after the lookup had ended; the deadline is %s.", within(longest, doubt), length(d.in.Deadline))
}

func sayTail(d *Detector, spans []*model.Span) string {
	return fmt.Sprintf("Background work ran %s past a window of %s.", length(d.req.Tail), length(d.req.Window()))
}
