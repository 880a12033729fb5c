package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/cbtrace/cbtrace/internal/analyze/budget"
)

// since says when the leading time changed.
func since(t *budget.Trend, where *time.Location) string {
	family, p, _ := strings.Cut(t.Metric, ".")
	name := "latency " + p
	if family == "ttft" {
		name = "time to first token, " + p
	}
	last := len(t.Stretches) - 1
	if last == 0 {
		return fmt.Sprintf("No change of the %s that is more than chance.", name)
	}
	text := fmt.Sprintf("%s%s: %s", strings.ToUpper(name[:1]), name[1:], Duration(t.Stretches[0].ValueNS))
	for i, s := range t.Stretches[1:] {
		word := "from"
		if i+1 == last {
			word = "since"
		}
		text += fmt.Sprintf("; %s %s %s", word, unbroken(minute(s.StartUnixNS, where)), Duration(s.ValueNS))
		if before := t.Stretches[i].ValueNS; before > 0 {
			text += fmt.Sprintf(" (× %s)", Number(float64(s.ValueNS)/float64(before)))
		}
	}
	return text + ". The changes are more than chance."
}
