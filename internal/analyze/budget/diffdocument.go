package budget

import "github.com/cbtrace/cbtrace/internal/model"

// DiffSchema names the document of diff and its version.
const DiffSchema = "cbtrace.diff/v1"

// The verdicts on a metric of two sides.
const (
	Better = "better"
	Worse  = "worse"
	NoSign = "~" // no evidence of a difference; of too few requests it is Insufficient
)

// A Diff is what `diff --format json` prints (OUTPUT): what is different in b, seen from a.
type Diff struct {
	Schema   string        `json:"schema" enum:"cbtrace.diff/v1" doc:"name and version of this document"`
	A        DiffSide      `json:"a"`
	B        DiffSide      `json:"b"`
	Changed  bool          `json:"changed" doc:"a metric is better or worse, or a stage appeared or vanished"`
	Metrics  []DiffMetric  `json:"metrics" doc:"by contribution to the change of the leading mean, largest first; then those without one"`
	Mix      DiffMix       `json:"mix"`
	Appeared []string      `json:"appeared" doc:"stages that b has and a has not, by name"`
	Vanished []string      `json:"vanished" doc:"stages that a has and b has not, by name"`
	Findings []DiffFinding `json:"findings" doc:"requests that show them, by code"`
	Leading  string        `json:"leading" enum:"ttft|request" doc:"the time that leads: to first token where at least half of the requests have one on both sides"`
	Alpha    float64       `json:"alpha" doc:"chance of any metric being told better or worse where nothing is"`
	Notes    []string      `json:"notes"`
}

// A DiffSide is one of the two.
type DiffSide struct {
	Label    string `json:"label"`
	Requests int64  `json:"requests"`
}

// A DiffMetric is a metric on both sides; percentiles are per request.
type DiffMetric struct {
	Metric         string         `json:"metric"`
	A              model.OptFloat `json:"a"`
	B              model.OptFloat `json:"b"`
	Delta          model.OptFloat `json:"delta" doc:"b − a"`
	Ratio          model.OptFloat `json:"ratio" doc:"b / a"`
	Low            model.OptFloat `json:"low" doc:"one-sided 95 % lower bound of the delta"`
	High           model.OptFloat `json:"high" doc:"one-sided 95 % upper bound of the delta"`
	P              model.OptFloat `json:"p" doc:"two-sided"`
	Verdict        string         `json:"verdict" enum:"better|worse|~|insufficient"`
	ContributionNS model.Opt      `json:"contribution_ns" doc:"of a stage: change of its mean time on the leading path; over all stages they sum to the change of the mean"`

	Unit   string         `json:"unit" enum:"ns|count|ratio"`
	NA     int64          `json:"n_a" doc:"requests of a that have it"`
	NB     int64          `json:"n_b" doc:"requests of b that have it"`
	WholeP model.OptFloat `json:"whole_p" doc:"of medians: p-value of the whole distributions being one (Mann–Whitney); it decides nothing"`
}

// A DiffMix is what a change of the mix of hit class and prompt length does.
type DiffMix struct {
	ExplainedNS model.Opt `json:"explained_ns" doc:"of the change of the leading mean; null where the mix does not differ"`
}

// A DiffFinding is a finding on both sides.
type DiffFinding struct {
	Code string `json:"code"`
	A    int64  `json:"a"`
	B    int64  `json:"b"`
}

// Find is the row of a metric, nil when there is none.
func (d *Diff) Find(metric string) *DiffMetric {
	for i := range d.Metrics {
		if d.Metrics[i].Metric == metric {
			return &d.Metrics[i]
		}
	}
	return nil
}
