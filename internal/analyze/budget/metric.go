package budget

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze/finding"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A family says what a metric is about.
type family uint8

const (
	ofStage family = iota
	ofRequest
	ofRoot
	ofTTFT
	ofQueue
	ofDecodePerToken
	ofLookup
	ofHits
	ofReuse
	ofFinding
	ofRequests
	ofFailed
)

// latencies are the families that every request in latency has one number of, by the first part of their metrics.
var latencies = []struct {
	name string
	of   family
}{
	{"request", ofRequest}, {"latency", ofRequest}, {"root", ofRoot}, {"ttft", ofTTFT}, {"queue", ofQueue}, {"decode_per_token", ofDecodePerToken},
}

// A statistic is what is taken of the numbers of a family.
type statistic uint8

const (
	percentile statistic = iota
	maximum
	mean
	total
	criticalShare
	count
	share    // of Σ rpc
	over     // share of requests above a duration
	rate     // a share of requests, or of tokens
	critical // mean time on the critical path, of the requests in latency; diff alone takes it
)

// percentiles are those that can be asked for (R8.1), in thousandths.
var percentiles = []struct {
	name string
	p    int64
}{{"p50", 500}, {"p90", 900}, {"p95", 950}, {"p99", 990}, {"p99.9", 999}}

// statistics are the last parts of metrics that are no percentiles.
var statistics = []struct {
	name string
	of   statistic
}{{"max", maximum}, {"mean", mean}, {"total", total}, {"critical_share", criticalShare}, {"count", count}}

// lookupParts are the parts of a lookup, and hitParts those of what was found, by name.
var (
	lookupParts = []string{"rpc", "submit", "l2_load", "server_other", "poll_wait"}
	hitParts    = []string{"", "l1", "l2", "prefix", "segmented", "non_prefix"}
)

// A unit is that of a metric's value and of its bound.
type unit uint8

const (
	ns unit = iota
	number
	ratio
)

func (u unit) String() string { return [...]string{"ns", "count", "ratio"}[u] }

// A metric is one of the closed list of R9.1. It is comparable: two that are equal measure the same.
type metric struct {
	of    family
	stat  statistic
	p     int64       // percentile: thousandths
	stage string      // a name, or a pattern with *
	owner model.Owner // of the stage; OwnerNone for names outside the vocabulary
	part  int         // lookupParts, hitParts
	code  int         // finding
	limit time.Duration
}

// unit is that of the metric's value.
func (m metric) unit() unit {
	switch m.stat {
	case percentile, maximum, mean, total, critical:
		return ns
	case count:
		return number
	}
	return ratio
}

// pattern reports whether the metric stands for those of several stages.
func (m metric) pattern() bool { return m.of == ofStage && strings.Contains(m.stage, "*") }

func isLatency(name string) bool {
	for _, l := range latencies {
		if l.name == name {
			return true
		}
	}
	return false
}

// stageName is the stage, with its owner where that is not the one of the vocabulary (R8.2), or where the stage is called as a latency is.
func (m metric) stageName() string {
	if s := model.StageOf(m.stage); s != model.StageNone && m.owner != model.OwnerNone && (s.Info().Owner != m.owner || isLatency(m.stage)) {
		return m.stage + "@" + m.owner.String()
	}
	return m.stage
}

// name is the metric as it is written in a budget.
func (m metric) name() string {
	stat := ""
	switch m.stat {
	case percentile:
		for _, p := range percentiles {
			if p.p == m.p {
				stat = p.name
			}
		}
	case over:
		stat = "over(" + m.limit.String() + ")"
	case share:
		stat = "share"
	case rate:
		stat = "rate"
	case critical:
		stat = "critical"
	default:
		for _, s := range statistics {
			if s.of == m.stat {
				stat = s.name
			}
		}
	}
	switch m.of {
	case ofStage:
		return m.stageName() + "." + stat
	case ofLookup:
		return "lookup." + lookupParts[m.part] + "." + stat
	case ofHits:
		return strings.TrimSuffix("hit_rate."+hitParts[m.part], ".")
	case ofReuse:
		return "effective_reuse"
	case ofFinding:
		return "finding." + finding.Registry[m.code].Code + "." + stat
	case ofRequests:
		return "requests"
	case ofFailed:
		return "failed.rate"
	}
	for _, l := range latencies {
		if l.of == m.of {
			return l.name + "." + stat
		}
	}
	return stat
}

// fixed are the metrics that are a name and nothing else.
var fixed = func() map[string]metric {
	all := map[string]metric{
		"effective_reuse": {of: ofReuse, stat: rate},
		"requests":        {of: ofRequests, stat: count},
		"failed.rate":     {of: ofFailed, stat: rate},
	}
	for i := range hitParts {
		m := metric{of: ofHits, stat: rate, part: i}
		all[m.name()] = m
	}
	for i := range lookupParts {
		m := metric{of: ofLookup, stat: share, part: i}
		all[m.name()] = m
		for _, p := range percentiles {
			m := metric{of: ofLookup, stat: percentile, p: p.p, part: i}
			all[m.name()] = m
		}
	}
	for code := range finding.Registry {
		for _, s := range []statistic{rate, count} {
			m := metric{of: ofFinding, stat: s, code: code}
			all[m.name()] = m
		}
	}
	for _, l := range latencies {
		for _, p := range percentiles {
			all[l.name+"."+p.name] = metric{of: l.of, stat: percentile, p: p.p}
		}
		for _, s := range statistics {
			if s.of != criticalShare {
				all[l.name+"."+s.name] = metric{of: l.of, stat: s.of}
			}
		}
	}
	return all
}()

// unknown is a word that is none of those that can stand in its place.
type unknown struct {
	what string // of what: "metric", "stage"
	word string
	of   []string // what it could have been
}

// message says so, with what is most like it.
func (u *unknown) message(nearest Nearest) string {
	text := fmt.Sprintf("unknown %s %.100q", u.what, u.word)
	if len(u.word) < 100 {
		if near := nearest(u.word, u.of); near != "" {
			return text + "; did you mean " + near + "?"
		}
	}
	if len(u.of) <= listed {
		return text + ": want " + strings.Join(u.of, ", ")
	}
	return text
}

// listed is how many words a message lists at most.
const listed = 12

// Nearest is the candidate that is most like a word, "" when none is.
type Nearest func(word string, candidates []string) string

// stageStatistic reads what stands after a stage.
func stageStatistic(text string) (metric, *unknown) {
	for _, p := range percentiles {
		if p.name == text {
			return metric{stat: percentile, p: p.p}, nil
		}
	}
	for _, s := range statistics {
		if s.name == text {
			return metric{stat: s.of}, nil
		}
	}
	return metric{}, &unknown{"metric of a stage", text, stageStatistics()}
}

func stageStatistics() (all []string) {
	for _, p := range percentiles {
		all = append(all, p.name)
	}
	for _, s := range statistics {
		all = append(all, s.name)
	}
	return all
}

// stageMetric is a statistic of a stage: a name, name@owner, or a pattern.
func stageMetric(stage, stat string) (metric, *unknown) {
	m, bad := stageStatistic(stat)
	if bad != nil {
		return m, bad
	}
	name, owner, given := strings.Cut(stage, "@")
	m.stage = name
	if s := model.StageOf(name); s != model.StageNone {
		m.stage, m.owner = s.String(), s.Info().Owner // an alias is its stage
	}
	if given {
		at := slices.Index(owners, owner)
		if at < 0 {
			return m, &unknown{"owner", owner, owners}
		}
		m.owner = model.Engine + model.Owner(at)
	}
	return m, nil
}

var owners = []string{model.Engine.String(), model.Scheduler.String(), model.Worker.String(), model.Server.String()}

// parseMetric reads a metric that names all it is about.
func parseMetric(text string) (metric, *unknown) {
	if m, ok := fixed[text]; ok {
		return m, nil
	}
	if name, rest, ok := strings.Cut(text, ".over("); ok {
		limit, closed := strings.CutSuffix(rest, ")")
		d, err := time.ParseDuration(limit)
		for _, l := range latencies {
			if l.name == name && closed && err == nil && d >= 0 {
				return metric{of: l.of, stat: over, limit: d}, nil
			}
		}
		return metric{}, &unknown{"metric", text, []string{"request.over(2s)", "ttft.over(800ms)", "queue.over(100ms)", "root.over(2s)", "decode_per_token.over(50ms)"}}
	}
	for _, stat := range stageStatistics() {
		stage, ok := strings.CutSuffix(text, "."+stat)
		if ok && stage != "" && !reserved(stage) {
			return stageMetric(stage, stat)
		}
	}
	return metric{}, &unknown{"metric", text, metricNames(stageNames())}
}

// A Vocabulary is the words of budget files, for editors.
type Vocabulary struct {
	Metrics  []string // that are a name, without those of stages
	Stage    []string // what can be asked of a stage
	Over     []string // what over(…) can be asked of
	Findings []string
	Levels   []string
}

// Words are those of budget files.
func Words() Vocabulary {
	v := Vocabulary{Metrics: metricNames(nil), Stage: stageStatistics(), Findings: findingCodes(), Levels: slices.Clone(levels)}
	for _, l := range latencies {
		v.Over = append(v.Over, l.name)
	}
	return v
}

// reserved reports whether what stands before a statistic belongs to metrics of another kind, so that it is a mistake and no stage.
func reserved(stage string) bool {
	head, _, _ := strings.Cut(stage, ".")
	return isLatency(stage) || slices.Contains([]string{"lookup", "hit_rate", "finding", "failed", "effective_reuse", "requests"}, head)
}

// stageNames are the stages of the vocabulary.
func stageNames() (all []string) {
	for s := model.StageNone + 1; s < model.NumStages; s++ {
		all = append(all, s.String())
	}
	return all
}

// metricNames are the metrics of the closed list, with those of some stages.
func metricNames(stages []string) (all []string) {
	for name := range fixed {
		all = append(all, name)
	}
	for _, s := range stages {
		if reserved(s) {
			continue
		}
		for _, stat := range stageStatistics() {
			all = append(all, s+"."+stat)
		}
	}
	slices.Sort(all)
	return all
}

// glob reports whether a name is what a pattern says, in which * stands for any text.
func glob(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok || len(parts) == 1 {
		return ok && rest == ""
	}
	last := len(parts) - 1
	for _, p := range parts[1:last] {
		_, after, found := strings.Cut(rest, p)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[last])
}
