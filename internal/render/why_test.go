package render

import (
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/analyze/inspect"
	"github.com/cbtrace/cbtrace/internal/model"
)

func whyText(t *testing.T, w *inspect.Why) string {
	t.Helper()
	var b strings.Builder
	if err := new(View).Why(&inspect.Document{Why: w}).Text(&b, Style{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// CONTRACT-lmcache 9.2 D as the cache decided it, and a wait that is shorter than the clocks are known (R5.8).
func TestWhyPage(t *testing.T) {
	got := whyText(t, &inspect.Why{
		Requested: model.Some(2048), Found: model.Some(1024), Written: model.Some(896),
		Asked: []inspect.Part{{Name: "prefix", Tokens: 512}, {Name: "segmented prefix", Tokens: 256}, {Name: "non-prefix", Tokens: 256}, {Name: "not found", Tokens: 1024}},
		Given: []inspect.Part{{Name: "written", Tokens: 896}, {Name: "dropped", Tokens: 128}, {Name: "not loaded"}},
		Steps: []inspect.Step{
			{Name: "cb.lookup.rpc", StartNS: model.Some(2e6), NS: model.Some(48e6), Says: []inspect.Said{{Key: "n_polls", Value: int64(4)}}},
			{Depth: 1, Name: "submit", StartNS: model.Some(2e6), NS: model.Some(3e6), UncertaintyNS: model.Some(1e6)},
			{Depth: 1, Name: "poll_wait", NS: model.Some(3e5), UncertaintyNS: model.Some(1e6)},
			{Name: "cb.start_load_kv", StartNS: model.Some(4e5), StartDoubtNS: model.Some(5e5), NS: model.Some(9e6)},
			{Name: "cb.retrieve", StartNS: model.Some(62e6), StartDoubtNS: model.Some(5e5), NS: model.Some(8e6), Says: []inspect.Said{{Key: "success", Value: true}, {Key: "tokens", Value: int64(1896)}, {Key: "worker", Value: "\x1b[31m"}}},
		},
	})
	want := `Of 2,048 tokens 1,024 were found (50 %) and 896 of those loaded.

Asked for
tokens                     of requested %
  prefix              512            25.0
+ segmented prefix    256            12.5
+ non-prefix          256            12.5
+ not found         1,024            50.0
= requested         2,048           100.0

Found
tokens               of found %
  written       896        87.5
+ dropped       128        12.5
+ not loaded      0         0
= found       1,024       100.0

Steps
step              start ms  time ms  says
cb.lookup.rpc      2         48      n_polls 4
  submit           2          3
  poll_wait        –          0.3±1
cb.start_load_kv   0.4±0.5    9
cb.retrieve       62          8      success true, tokens 1,896, worker \x1b[31m
`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestDecisions(t *testing.T) {
	some := func(n int64) model.Opt { return model.Some(n) }
	for _, c := range []struct {
		why  inspect.Why
		want string
	}{
		{inspect.Why{}, "Nobody said how many tokens were asked for."},
		{inspect.Why{Requested: some(0), Found: some(0)}, "Nothing was asked for."},
		{inspect.Why{Requested: some(512)}, "512 tokens were asked for, and nobody said how many were found."},
		{inspect.Why{Requested: some(512), Found: some(0), Written: some(0)}, "Of 512 tokens 0 were found (0 %)."},
		{inspect.Why{Requested: some(512), Found: some(256)}, "Of 512 tokens 256 were found (50 %); no load was recorded."},
		{inspect.Why{Requested: some(512), Found: some(512), Written: some(512)}, "Of 512 tokens 512 were found (100 %) and all of those loaded."},
		{inspect.Why{Requested: some(512), EarlyExit: "no_gpu_context"}, "The lookup ended before it searched: no_gpu_context."},
	} {
		if got := decision(&inspect.Document{Why: &c.why}); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
		if text := whyText(t, &c.why); !strings.HasPrefix(text, c.want+"\n") || !strings.Contains(text, "No span of a lookup or of a load was recorded.") {
			t.Errorf("page of %q:\n%s", c.want, text)
		}
	}
}
