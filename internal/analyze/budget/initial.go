package budget

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/analyze/report"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A Proposal is a budget file to begin with: what a capture shows, and some headroom.
type Proposal struct {
	Headroom float64
	Requests int64
	Rules    []ProposedRule // as they are to stand in the file
}

// A ProposedRule is an entry of a budget file with the observation it comes from.
type ProposedRule struct {
	Section string // a heading before it, "" for the one before
	Rule    string // the entry in YAML's flow style
	Seen    string // what was observed
	Off     bool   // nothing was observed: the entry stands as a comment
}

// DefaultHeadroom is how far over what was observed a proposed limit lies.
const DefaultHeadroom = 0.25

// proposedStages is how many stages get a rule: those that hold most of the critical path.
const proposedStages = 5

// Propose makes a budget of what a capture shows: the time to first token first where it leads (R4.28), then latency, the stages that hold
// requests up, lookups, hits, failures. Limits are observed values with headroom, rounded away from them; a percentile is proposed where there
// are values enough to judge it. An SLO becomes a rule on the share of requests that miss it.
func Propose(s *Subject, slos []report.SLO, headroom float64) (*Proposal, error) {
	f := s.Figures
	p := &proposer{Proposal: &Proposal{Headroom: headroom, Requests: f.Requests.Total}}
	var metrics []metric
	for _, l := range latencies {
		metrics = append(metrics, metric{of: l.of, stat: percentile})
	}
	pop, err := s.population(&filter{}, metrics)
	if err != nil {
		return nil, err
	}
	p.pop = pop
	first, then := ofTTFT, ofRequest
	if !f.Decision.ByTTFT {
		first, then = ofRequest, ofTTFT
	}
	p.section = "What the caller waits"
	for _, slo := range slos {
		p.slo(slo)
	}
	p.durations(metric{of: first}, 950, 990)
	p.durations(metric{of: then}, 950)
	p.durations(metric{of: ofDecodePerToken}, 950)
	p.section = "Where the time goes: the stages that hold requests up"
	p.stages(f)
	p.section = "Lookups"
	p.durations(metric{of: ofLookup}, 990)
	p.share(metric{of: ofLookup, stat: share, part: slices.Index(lookupParts, "poll_wait")})
	p.section = "What the cache is worth"
	p.atLeast(metric{of: ofHits, stat: rate})
	p.atLeast(metric{of: ofReuse, stat: rate})
	p.section = "What must not happen"
	p.failures(f)
	p.section = "A capture that is cut short is no pass"
	n := f.Requests.Total // more than half of them, which selftest drops
	p.add(fmt.Sprintf("{metric: requests, min: %d}", max(n/2+1, int64(float64(n)*(1-headroom)))), strconv.FormatInt(n, 10))
	return p.Proposal, nil
}

type proposer struct {
	*Proposal
	pop     *population
	section string
}

func (p *proposer) add(rule, seen string) { p.entry(ProposedRule{Rule: rule, Seen: seen}) }

func (p *proposer) entry(r ProposedRule) {
	r.Section, p.section = p.section, ""
	p.Rules = append(p.Rules, r)
}

// durations proposes the percentiles that there are values enough for; where even the first has too few, the median.
func (p *proposer) durations(m metric, wanted ...int64) {
	m.stat = percentile
	n := 0
	for _, at := range append(wanted, 500) {
		m.p = at
		x := p.pop.measure(m)
		if x.known && x.n >= report.NeededN(at) && x.value > 0 && (at != 500 || n == 0) {
			p.add(fmt.Sprintf("{metric: %s, max: %s}", m.name(), upDuration(x.value*(1+p.Headroom))), amount(x.value, ns))
			n++
		}
	}
}

func (p *proposer) stages(f *report.Figures) {
	rows := slices.Clone(f.Stages)
	slices.SortStableFunc(rows, func(a, b report.Stage) int { return cmp.Compare(b.CriticalNS, a.CriticalNS) })
	n := 0
	for _, row := range rows {
		stage := model.StageOf(row.Stage)
		if stage == model.StageNone || stage.Info().Root || stage.Info().Owner.String() != row.Owner || row.CriticalNS == 0 || n == proposedStages {
			continue
		}
		before := len(p.Rules)
		p.durations(metric{of: ofStage, stage: row.Stage, owner: stage.Info().Owner}, 950)
		if len(p.Rules) > before {
			n++
		}
	}
}

// share proposes a limit on a share, the headroom on top of it.
func (p *proposer) share(m metric) {
	if x := p.pop.measure(m); x.known && x.n >= leastRequests && x.value < 1 {
		p.add(fmt.Sprintf("{metric: %s, max: %s}", m.name(), upShare(x.value*(1+p.Headroom))), digits(x.value))
	}
}

// atLeast proposes that a rate does not fall by more than the headroom.
func (p *proposer) atLeast(m metric) {
	if x := p.pop.measure(m); x.known && x.value > 0 {
		p.add(fmt.Sprintf("{metric: %s, min: %s}", m.name(), downShare(x.value*(1-p.Headroom))), digits(x.value))
	}
}

// slo proposes that no larger share of requests misses an objective than now, and 1 % at least.
func (p *proposer) slo(s report.SLO) {
	for _, l := range latencies {
		if l.name != s.Metric {
			continue
		}
		m := metric{of: l.of, stat: over, limit: s.Bound}
		if s.Below {
			m.limit -= time.Nanosecond
		}
		x := p.pop.measure(m)
		r := ProposedRule{Seen: "no request has that number", Off: !x.known}
		if x.known {
			r.Seen = digits(x.value)
		} else {
			x.value = 0
		}
		r.Rule = fmt.Sprintf("{metric: %s, max: %s}", m.name(), upShare(max(0.01, x.value*(1+p.Headroom))))
		p.entry(r)
	}
}

// failures proposes that what did not happen stays so, and that what happened does not become more.
func (p *proposer) failures(f *report.Figures) {
	m := metric{of: ofFailed, stat: rate}
	x := p.pop.measure(m)
	limit := "0"
	if x.value > 0 {
		limit = upShare(x.value * (1 + p.Headroom))
	}
	p.add(fmt.Sprintf("{metric: %s, max: %s}", m.name(), limit), digits(x.value))
	for code := range finding.Registry {
		info := &finding.Registry[code]
		if info.Scope != finding.Request || info.Severity != finding.Error && code != finding.DoubleRepeat && code != finding.DroppedChunks {
			continue
		}
		x := p.pop.measure(metric{of: ofFinding, stat: rate, code: code})
		limit := "0"
		if x.value > 0 {
			limit = upShare(x.value * (1 + p.Headroom))
		}
		p.add(fmt.Sprintf("{finding: %s, max_rate: %s}", info.Code, limit), digits(x.value))
	}
}

// upDuration is a duration with two significant digits, rounded up, in its largest whole unit.
func upDuration(v float64) string {
	d := time.Duration(math.Ceil(up(v)))
	for _, u := range []struct {
		name string
		size time.Duration
	}{{"s", time.Second}, {"ms", time.Millisecond}, {"us", time.Microsecond}} {
		if d >= u.size && d%u.size == 0 {
			return strconv.FormatInt(int64(d/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(d), 10) + "ns"
}

// up rounds up to two significant digits.
func up(v float64) float64 {
	if v <= 0 {
		return 0
	}
	size := math.Pow(10, math.Floor(math.Log10(v))-1)
	return math.Round(math.Ceil(v/size-1e-9)*size*1e12) / 1e12
}

func upShare(v float64) string {
	return strconv.FormatFloat(min(1, math.Ceil(v*1000-1e-9)/1000), 'f', -1, 64)
}

func downShare(v float64) string {
	return strconv.FormatFloat(math.Floor(v*100+1e-9)/100, 'f', -1, 64)
}
