package inspect

import (
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// Against is where a request stands among many, those of a day. Ranks are shares of those requests that took as long or less; stages have
// theirs in critical_path.by_stage.
type Against struct {
	Inputs       []string       `json:"inputs" doc:"the capture or saved reports that were named"`
	Requests     int64          `json:"requests" doc:"those with a stage of the vocabulary, or all where there are no others"`
	Compared     int64          `json:"compared" doc:"those of them that count in latency; of more than 30,000 requests a sample"`
	DurationRank model.OptFloat `json:"duration_rank"`
	TTFTRank     model.OptFloat `json:"ttft_rank" doc:"among those with a time to first token"`
}

// A rank is a share of requests by weight (R8.6).
type rank struct{ atOrBelow, all float64 }

func (r *rank) add(value, mine int64, weight float64) {
	if r.all += weight; value <= mine {
		r.atOrBelow += weight
	}
}

func (r *rank) share() model.OptFloat {
	if r.all == 0 {
		return model.OptFloat{}
	}
	return model.SomeFloat(r.atOrBelow / r.all)
}

// Hold says where the request stands among those of a day: of its window, its time to first token, and its time in each stage of the
// vocabulary on the path. A request of the day that did not wait for a stage spent 0 in it. Spans of other names are in no request table
// (R8.4), and have no rank.
func (d *Document) Hold(day *report.Figures, inputs []string) {
	a := &Against{Inputs: inputs, Requests: day.Requests.Total}
	var window, ttft rank
	stages := make([]rank, len(d.CriticalPath.ByStage))
	at := map[model.Stage]int{}
	for i := range d.CriticalPath.ByStage {
		if s := model.StageOf(d.CriticalPath.ByStage[i].Stage); s != model.StageNone {
			at[s] = i
		}
	}
	spent := make([]int64, len(stages))
	for q := range day.Table.All {
		if !q.Flags.InLatency() || !day.Counts(q.Flags) {
			continue
		}
		weight := q.Weight
		if weight == 0 {
			weight = 1
		}
		a.Compared++
		window.add(q.Window, d.Window.DurationNS.V, weight)
		if q.TTFT.OK {
			ttft.add(q.TTFT.V, d.Request.TTFTNS.V, weight)
		}
		clear(spent)
		for i := range q.Stages {
			if n, ok := at[q.Stages[i].Stage]; ok {
				spent[n] += q.Stages[i].Critical
			}
		}
		for _, n := range at {
			stages[n].add(spent[n], d.CriticalPath.ByStage[n].NS, weight)
		}
	}
	if d.Window.DurationNS.OK {
		a.DurationRank = window.share()
	}
	if d.Request.TTFTNS.OK {
		a.TTFTRank = ttft.share()
	}
	for i := range stages {
		d.CriticalPath.ByStage[i].Rank = stages[i].share()
	}
	d.Against = a
}
