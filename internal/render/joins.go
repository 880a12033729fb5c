package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cbtrace/cbtrace/internal/analyze/inspect"
	"github.com/cbtrace/cbtrace/internal/model"
)

// relations say why something looks as if it belonged to a request, and what would join it.
var relations = map[inspect.Relation]struct{ word, means, joins string }{
	inspect.ParentOfIts: {"parent", "it holds the parent that spans of this request name",
		"Each has an id of its own, and two ids never become one request: let both processes write the same session_id or request_id."},
	inspect.ChildOfIts: {"child", "its spans name a span of this request as their parent",
		"Each has an id of its own, and two ids never become one request: let both processes write the same session_id or request_id."},
	inspect.SameExternal: {"external id", "the client knows it by the same id",
		"That id fits several internal ids (a retry, or n > 1), so nobody can tell which of them the engine's span is of. If they are one, they need one internal id."},
	inspect.SameFamily: {"same call", "its id is this one with another index, prompt number or suffix",
		"These are choices or prompts of one call of a client, or retries, and stay apart. If they are one, they need one id."},
	inspect.AlikeID: {"alike id", "one id is a part of the other, or differs in case alone",
		"Ids join when they are the same, or when the internal one is the external one with an index before it (0_) and 8 hex digits behind (-0a1b2c3d). Whatever else a process adds to an id has to go."},
	inspect.SameTrace: {"trace", "it has spans in a trace of this request",
		"A span without an id takes that of its nearest ancestor; one of another id, of an empty id, or without a way up does not. With --key trace all of a trace is one request."},
	inspect.SameTime: {"time", "it has only what is missing here, and went on meanwhile; nothing else says so, and a busy system has many such",
		"If it is the same request, let one of the two write the other's id: the engine as gen_ai.request.id, the others as session_id or request_id."},
}

// joinWords say what Source.Joined means.
var joinWords = map[string]string{
	model.JoinID.String():         "the record has the request's id",
	model.JoinTrace.String():      "it has no id of its own; a span above it has, or it is the only id of the trace",
	model.JoinNormalised.String(): "the client's id is the internal one without index and suffix",
	model.JoinAdopted.String():    "an inference",
	model.JoinHash.String():       "a recorded call about chunks that the request asked for",
}

// Joins is how a request was put together, and what looks as if it belonged to it and does not, as a page.
func (v *View) Joins(d *inspect.Document, joins *inspect.Joins) *Page {
	p := &Page{Main: "parts"}
	t, used := partsTable(d)
	p.Say(fmt.Sprintf("%s is made of %s of %s.", Escape(d.Request.ID), Plural(d.Quality.SpansRead+d.Quality.RecordsRead, "record"), processes(len(t.Rows))))
	if lacks := incomplete(d, joins); len(lacks) > 0 {
		p.Say("It looks incomplete: " + strings.Join(lacks, "; ") + ".")
	} else {
		p.Say("Nothing about it looks incomplete.")
	}
	if len(joins.Absent) > 0 {
		p.Say("No input has a record of the " + alternatives(joins.Absent) + ".")
	}
	p.Title("Why its spans are in it")
	p.Table(t)
	for _, word := range used {
		p.Item(Escape(word) + ": " + joinWords[word])
	}
	p.Title("What looks as if it belonged to it, and does not")
	if len(joins.Relatives) == 0 {
		p.Say("Nothing: no other record shares an id, a trace or a parent with it" + complement(joins) + ".")
	}
	p.Table(relativesTable(joins))
	if joins.More > 0 {
		p.Say(Count(joins.More) + " more.")
	}
	p.Title("What would join them")
	said := map[inspect.Relation]bool{}
	none := false
	for _, r := range joins.Relatives {
		none = none || r.ID == ""
		if !said[r.Why] {
			said[r.Why] = true
			p.Item(relations[r.Why].word + ": " + relations[r.Why].means + ". " + relations[r.Why].joins)
		}
	}
	if none {
		p.Item("(none): these records name no request, or an empty one, and belong to their process alone. The request's id on them would join them.")
	}
	return p
}

// alternatives are words as "engine, the worker or the server".
func alternatives(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", the ") + " or the " + words[last]
}

func processes(n int) string {
	if n == 1 {
		return "one process"
	}
	return Count(int64(n)) + " processes"
}

// complement says that nothing that is missing went on meanwhile.
func complement(joins *inspect.Joins) string {
	if len(joins.Missing) == 0 {
		return ""
	}
	return ", and none that has only what is missing went on meanwhile"
}

// incomplete is what a request lacks, in words.
func incomplete(d *inspect.Document, joins *inspect.Joins) (out []string) {
	if len(joins.Missing) > 0 {
		out = append(out, "nothing of the "+alternatives(joins.Missing))
	}
	if d.Request.RootStage == model.SyntheticStage {
		out = append(out, "no span of its root")
	}
	if n := d.Quality.Orphaned; n > 0 {
		out = append(out, Plural(n, "span")+" with a parent that is not in it")
	}
	if n := d.Quality.Open; n > 0 {
		out = append(out, Plural(n, "span")+" without an end")
	}
	if n := d.Quality.Untimed; n > 0 {
		out = append(out, Plural(n, "span")+" without a time")
	}
	return out
}

// partsTable is what each process gave to a request and why it is in it, and the reasons that are there.
func partsTable(d *inspect.Document) (*Table, []string) {
	type part struct {
		process                       string
		owners, files, joined, stages []string
		records                       int64
	}
	add := func(list *[]string, s string) {
		if s != "" && !slices.Contains(*list, s) {
			*list = append(*list, s)
		}
	}
	var parts []*part
	var used []string
	for i := range d.Spans {
		s := &d.Spans[i]
		if len(s.Sources) == 0 {
			continue
		}
		at := slices.IndexFunc(parts, func(p *part) bool { return p.process == s.Process })
		if at < 0 {
			at = len(parts)
			parts = append(parts, &part{process: s.Process})
		}
		p := parts[at]
		add(&p.owners, s.Owner)
		add(&p.stages, s.Stage)
		for _, src := range s.Sources {
			p.records++
			add(&p.files, src.File)
			add(&p.joined, src.Joined)
			add(&used, src.Joined)
		}
	}
	t := &Table{Name: "parts", Columns: []Column{{Name: "process", Shrink: true}, {Name: "of"}, {Name: "records", Kind: Tally}, {Name: "by"}, {Name: "read from", Key: "files", Shrink: true}, {Name: "stages", Shrink: true, Drop: 1}}}
	for _, p := range parts {
		t.Add(Word(p.process), Word(strings.Join(p.owners, ", ")), Of(p.records), Word(strings.Join(p.joined, ", ")), several(p.files), several(p.stages))
	}
	return t, used
}

// several is the first of a list and how many more there are; in CSV all of it.
func several(list []string) Cell {
	all := strings.Join(list, ", ")
	if len(list) < 2 {
		return Word(all)
	}
	return Word(fmt.Sprintf("%s and %d more", list[0], len(list)-1)).InCSV(all)
}

func relativesTable(joins *inspect.Joins) *Table {
	t := &Table{Name: "relatives", Columns: []Column{{Name: "request", Shrink: true}, {Name: "why"}, {Name: "records", Kind: Tally}, {Name: "of"}, {Name: "begins", Kind: Time, Drop: 2}, {Name: "stages", Shrink: true, Drop: 1}}}
	for _, r := range joins.Relatives {
		id := r.ID
		if id == "" {
			id = "(none) of " + r.Process
		}
		t.Add(Word(id), Word(relations[r.Why].word), Of(r.Spans), Word(strings.Join(r.Owners, ", ")), Known(r.FromNS), several(r.Stages))
	}
	return t
}
