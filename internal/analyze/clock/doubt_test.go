package clock

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// R5.7: what a sample leaves open. A span that may have ended with its process, as nothing later is known of it; fewer pairs than make an estimate.
func TestDoubts(t *testing.T) {
	doubted := func(c *capture, opt Options) string {
		checker := c.survey().Finish(opt).Checker()
		var ids []string
		for _, r := range c.requests {
			if checker.Doubts(r) {
				ids = append(ids, r.ID)
			}
		}
		return strings.Join(ids, " ")
	}
	for _, c := range []struct{ name, rows, want string }{
		{"nothing later", leak("x", 5000, 95000) + leak("y", 90000, 94995), "x"}, // y lasted 5 s
		{"10 ms later", leak("x", 5000, 95000) + leak("y", 90000, 95010), "x"},
		{"11 ms later", leak("x", 5000, 95000) + leak("y", 90000, 95011), ""},
		{"of 30 s", leak("x", 65000, 95000), ""},
		{"another process goes on", leak("x", 5000, 95000) + "\n	y Q - request 94500 95200 process=other scope=lmcache_mp.server", "x"},
		{"no server's", "x E - llm_request 5000 95000 process=vllm", ""},
	} {
		if got := doubted(captureOf(t, ms, 1, c.rows), Options{}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	w := world{offset: 137 * ms}
	four := w.capture(t, calls(rand.New(rand.NewPCG(1, 2)), 4, 60*sec, 100*us, ms))
	if got := doubted(four, Options{}); got != "r0 r1 r2 r3" {
		t.Errorf("four pairs: %q", got)
	}
	if got := doubted(four, Options{NoSkew: true}); got != "" {
		t.Errorf("no skew: %q", got)
	}
	if got := doubted(w.capture(t, calls(rand.New(rand.NewPCG(1, 2)), 5, 60*sec, 100*us, ms)), Options{}); got != "" {
		t.Errorf("five pairs: %q", got)
	}
}
