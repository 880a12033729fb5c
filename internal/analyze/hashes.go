package analyze

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

// Recorded calls that name no request are of the process (R4.6). For inspect those are found that a request made, through the chunks it asked for: its
// lookup-hash lines name them, and so do the keys of the calls. A call is the request's when all of its chunks are the request's and it lies within the
// time of the request's records; where requests share a prefix and overlap in time it may be another's.

const (
	aroundRequest = time.Second // clocks differ, and stores come after the last span
	maxJoined     = 1 << 14     // calls of a request
)

// A chunkSet is what a request asked for, and the calls that fit.
type chunkSet struct {
	chunks   map[string]bool
	from, to model.Time
	calls    []*model.Span
}

// callsByHash are the calls of requests with these ids that are found through hashes, by the id of their group.
func (c *Capture) callsByHash(ctx context.Context, ids map[string]bool) (map[string]*chunkSet, error) {
	if !c.reads("lookup-hashes") || !c.reads("lct-storage") {
		return nil, nil
	}
	sets := map[string]*chunkSet{}
	for id := range ids {
		sets[id] = &chunkSet{}
		if at := strings.LastIndexByte(id, '#'); at > 0 { // a second execution is told apart later (R4.7)
			sets[id[:at]] = &chunkSet{}
		}
	}
	line := c.Dict.InternString(model.LookupHashes)
	key := model.NumAttrs + model.AttrKey(c.Dict.InternString(model.ChunkHashes))
	err := c.partitions(ctx, func(int) func(*model.Request) error {
		return func(g *model.Request) error {
			if s := sets[g.ID]; s != nil { // one group, one worker
				s.fill(g, line, key)
			}
			return nil
		}
	})
	if err != nil {
		return nil, err
	}
	for id, s := range sets {
		if len(s.chunks) == 0 {
			delete(sets, id)
		}
	}
	if len(sets) == 0 {
		return nil, nil
	}
	err = c.store.ReadProcess(ctx, func(p *model.Span) error {
		if !p.IsPoint() || p.Name == line || p.Has(model.FlagUntimed) {
			return nil
		}
		hashes := p.Attr(key).Str
		if hashes == "" {
			return nil
		}
		for _, s := range sets {
			if p.RawStart >= s.from && p.RawStart <= s.to && s.holds(hashes) {
				s.add(c.Dict, p)
			}
		}
		return nil
	})
	for _, s := range sets {
		s.first(c.Dict)
	}
	return sets, err
}

// reads reports whether an input of a format was read, however it was compressed.
func (c *Capture) reads(format string) bool {
	return slices.ContainsFunc(c.Inputs, func(in model.InputStats) bool {
		name, _, _ := strings.Cut(in.Format, "+")
		return name == format && in.Records > 0
	})
}

// fill takes in the chunks and the time of a request.
func (s *chunkSet) fill(g *model.Request, line model.StrID, key model.AttrKey) {
	s.chunks = map[string]bool{}
	for _, p := range g.Spans {
		if p.Name == line && p.IsPoint() {
			for hash := range strings.FieldsSeq(p.Attr(key).Str) {
				s.chunks[strings.Clone(hash)] = true
			}
		}
		if p.Has(model.FlagUntimed) {
			continue
		}
		if s.from == 0 || p.RawStart < s.from {
			s.from = p.RawStart
		}
		s.to = max(s.to, p.RawStart, p.RawEnd)
	}
	s.from, s.to = s.from-model.Time(aroundRequest), s.to+model.Time(aroundRequest)
}

// holds reports whether all chunks of a call are of the request.
func (s *chunkSet) holds(hashes string) bool {
	for hash := range strings.FieldsSeq(hashes) {
		if !s.chunks[hash] {
			return false
		}
	}
	return true
}

// add keeps a copy of a call.
func (s *chunkSet) add(d *model.Dict, p *model.Span) {
	call := *p
	call.Attrs, call.Sources, call.Kids, call.Steps, call.Polls = slices.Clone(p.Attrs), slices.Clone(p.Sources), nil, nil, nil
	for i := range call.Attrs {
		call.Attrs[i].Value.Str = strings.Clone(call.Attrs[i].Value.Str)
	}
	for i := range call.Sources {
		call.Sources[i].Joined = model.JoinHash
	}
	if s.calls = append(s.calls, &call); len(s.calls) >= 2*maxJoined {
		s.first(d)
	}
}

// first sorts the calls and keeps the first of them. It does so now and then, and at the end.
func (s *chunkSet) first(d *model.Dict) {
	slices.SortFunc(s.calls, func(a, b *model.Span) int { return byStart(d, a, b) })
	s.calls = s.calls[:min(len(s.calls), maxJoined)]
}

// with gives a request the calls that were found for it.
func (s *chunkSet) with(g *model.Request) {
	if s == nil || len(s.calls) == 0 {
		return
	}
	spans := slices.Concat(g.Spans, s.calls)
	slices.SortStableFunc(spans, func(a, b *model.Span) int { return byStart(g.Dict, a, b) })
	g.Spans = spans
}

// byStart is the order of the spans of a grouped request: by raw start and id, untimed ones last.
func byStart(d *model.Dict, a, b *model.Span) int {
	late := func(s *model.Span) int {
		if s.Has(model.FlagUntimed) {
			return 1
		}
		return 0
	}
	return cmp.Or(late(a)-late(b), cmp.Compare(a.RawStart, b.RawStart), d.CompareSpanIDs(a.ID, b.ID))
}
