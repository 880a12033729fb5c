package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/cbtrace/cbtrace/internal/model"
)

// CacheWorth is what the cache took of the paths of requests and what it saved them, both as means of a request. What was taken is measured. What
// was saved is an estimate: nobody computed the tokens that were loaded. It is the time that forward passes grow by when a token is computed
// rather than loaded, times the tokens that were loaded.
type CacheWorth struct {
	Requests     int64          `json:"requests" doc:"that it rests on: in latency, with their prompt's tokens, their loaded tokens and their forward pass known; of models with 20 of them"`
	LoadedTokens int64          `json:"loaded_tokens" doc:"of all of them"`
	PerTokenNS   model.OptFloat `json:"per_token_ns" doc:"what computing a token takes more of the forward pass than loading it; of several models the mean over loaded tokens"`
	SpentNS      int64          `json:"spent_ns" doc:"a request's path in lookups, loads and finding out what to compute anew"`
	SavedNS      int64          `json:"saved_ns" doc:"estimated: a request's forward pass that loaded tokens made needless"`
	SavedLowNS   int64          `json:"saved_low_ns" doc:"with 95 % confidence at least"`
	SavedHighNS  int64          `json:"saved_high_ns" doc:"with 95 % confidence at most"`

	Models []string `json:"-"` // whose requests those are, sorted
}

const (
	worthRequests = 20  // of a model, below which nothing is estimated
	worthSigmas   = 2.0 // about 95 %
	mostTokens    = 1 << 24
)

// A forwardPass is that of one request: tokens that it computed and that were loaded for it, and how long it held the path, in ns.
type forwardPass struct {
	computed, loaded, ns float64
}

// passes are the forward passes of one model, and what the cache took of the same requests.
type passes struct {
	all    []forwardPass
	spent  sum
	loaded sum
}

// forwardOf is the forward pass of a request and what the cache took of its path; ok is false where not all of it is known.
func forwardOf(d *Digest) (p forwardPass, spent int64, ok bool) {
	loaded := d.Written
	if d.Hit.OK && d.Hit.V == 0 {
		loaded = model.Some(0)
	}
	if !d.Flags.InLatency() || !d.PromptTokens.OK || !loaded.OK || loaded.V < 0 || d.PromptTokens.V > mostTokens || loaded.V > mostTokens {
		return p, 0, false
	}
	forward := int64(0)
	for i := range d.Stages {
		s := &d.Stages[i]
		switch s.Stage.Info().Bound {
		case model.BoundForward:
			ok = ok || s.Spans > 0
			forward += s.Critical
		case model.BoundRPC, model.BoundMatch, model.BoundL2IO, model.BoundL1, model.BoundGPUCopy, model.BoundRecompute:
			spent += s.Critical
		}
	}
	return forwardPass{float64(max(0, d.PromptTokens.V-loaded.V)), float64(loaded.V), float64(forward)}, spent, ok
}

// worthSums are the forward passes of requests by model.
type worthSums map[model.StrID]*passes

func (w *worthSums) add(d *Digest) {
	p, spent, ok := forwardOf(d)
	if !ok {
		return
	}
	f := w.of(d.Model)
	f.all = append(f.all, p)
	f.spent.add(spent)
	f.loaded.add(int64(p.loaded))
}

// of are the passes of a model.
func (w *worthSums) of(id model.StrID) *passes {
	if *w == nil {
		*w = worthSums{}
	}
	f := (*w)[id]
	if f == nil {
		f = &passes{}
		(*w)[id] = f
	}
	return f
}

func (w *worthSums) merge(o worthSums) {
	for id, from := range o {
		f := w.of(id)
		f.all = append(f.all, from.all...)
		f.spent.merge(from.spent)
		f.loaded.merge(from.loaded)
	}
}

// worth is the estimate; nil where the requests do not tell. Passes and models are put in an order that does not depend on how they were read,
// and no product is fused with a sum, so that all machines agree (R2.5).
func (w worthSums) worth(names func(model.StrID) string) *CacheWorth {
	byModel := map[string]*passes{}
	for id, f := range w {
		slices.SortFunc(f.all, func(a, b forwardPass) int {
			if a.computed != b.computed {
				return cmp.Compare(a.computed, b.computed)
			}
			return cmp.Or(cmp.Compare(a.loaded, b.loaded), cmp.Compare(a.ns, b.ns))
		})
		byModel[names(id)] = f
	}
	var out CacheWorth
	var spent, loaded sum
	saved, variance := 0.0, 0.0
	for _, name := range sortedKeys(byModel) {
		f := byModel[name]
		perToken, sigma, ok := savedPerToken(f.all)
		if !ok {
			continue
		}
		out.Requests += int64(len(f.all))
		out.Models = append(out.Models, name)
		spent.merge(f.spent)
		loaded.merge(f.loaded)
		saved += float64(perToken * f.loaded.float())
		off := sigma * f.loaded.float()
		variance += float64(off * off)
	}
	if out.Requests == 0 {
		return nil
	}
	n, off := float64(out.Requests), float64(worthSigmas*math.Sqrt(variance))
	out.LoadedTokens, out.SpentNS = loaded.int64(), int64(math.Round(spent.float()/n))
	out.SavedNS, out.SavedLowNS, out.SavedHighNS = int64(math.Round(saved/n)), int64(math.Round((saved-off)/n)), int64(math.Round((saved+off)/n))
	if loaded.float() > 0 {
		out.PerTokenNS = model.SomeFloat(math.Round(saved/loaded.float()*1000) / 1000)
	}
	return &out
}

// savedPerToken is by how much a forward pass is longer when a token is computed instead of loaded, and the standard error of that. Least
// squares over ns = a + b·computed + c·loaded, where c is what recomputing some of the loaded tokens costs: b − c. ok is false where passes are
// too few, their tokens do not differ enough to tell b from c, or the answer may as well be nothing.
func savedPerToken(all []forwardPass) (perToken, sigma float64, ok bool) {
	n := float64(len(all))
	if len(all) < worthRequests {
		return 0, 0, false
	}
	var at forwardPass // the means
	for _, p := range all {
		at.computed, at.loaded, at.ns = at.computed+p.computed, at.loaded+p.loaded, at.ns+p.ns
	}
	at = forwardPass{at.computed / n, at.loaded / n, at.ns / n}
	var cc, ll, cl, cn, ln, nn float64 // products of deviations, added up
	for _, p := range all {
		c, l, t := p.computed-at.computed, p.loaded-at.loaded, p.ns-at.ns
		cc, ll, cl = cc+float64(c*c), ll+float64(l*l), cl+float64(c*l)
		cn, ln, nn = cn+float64(c*t), ln+float64(l*t), nn+float64(t*t)
	}
	det := float64(cc*ll) - float64(cl*cl)
	if det <= float64(1e-6*float64(cc*ll)) { // one is as good as a multiple of the other
		return 0, 0, false
	}
	b := (float64(cn*ll) - float64(ln*cl)) / det
	c := (float64(ln*cc) - float64(cn*cl)) / det
	rest := max(0, nn-float64(b*cn)-float64(c*ln)) / (n - 3)
	sigma = math.Sqrt(float64(rest*(cc+ll+float64(2*cl))) / det)
	perToken = b - c
	return perToken, sigma, perToken > float64(worthSigmas*sigma)
}
