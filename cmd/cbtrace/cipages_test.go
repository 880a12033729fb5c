package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The files for CI systems and schedulers in README and docs are YAML, and the commands of cbtrace in them have the flags that they use.
func TestPagesForCI(t *testing.T) {
	command := regexp.MustCompile("cbtrace ([a-z]+)([^|&;>\n#`]*)")
	flag := regexp.MustCompile(`--([a-z-]+)`)
	for _, page := range []struct {
		path             string
		blocks, commands int // of YAML, and of cbtrace, at least
	}{{"README.md", 2, 4}, {"docs/ci.md", 0, 3}, {"docs/shards.md", 1, 5}, {"docs/where.md", 0, 2}, {"docs/profile-map.md", 1, 2}} {
		text := string(read(t, filepath.Join("..", "..", filepath.FromSlash(page.path))))
		blocks := 0
		for _, part := range strings.Split(text, "```yaml\n")[1:] {
			block, _, _ := strings.Cut(part, "```")
			var v map[string]any
			if err := yaml.Unmarshal([]byte(block), &v); err != nil || len(v) == 0 {
				t.Errorf("%s: %v in\n%s", page.path, err, block)
			}
			blocks++
		}
		commands := 0
		folded := regexp.MustCompile(`\n +--`).ReplaceAllString(text, " --") // a command of several lines in YAML
		for _, m := range command.FindAllStringSubmatch(folded, -1) {
			cmd, _, err := newRoot(&app{getenv: os.Getenv}).Find([]string{m[1]})
			if err != nil {
				continue // prose
			}
			commands++
			for _, f := range flag.FindAllStringSubmatch(m[2], -1) {
				if cmd.Flags().Lookup(f[1]) == nil && cmd.InheritedFlags().Lookup(f[1]) == nil && f[1] != "help" {
					t.Errorf("%s: %q: no flag --%s", page.path, m[0], f[1])
				}
			}
		}
		if blocks < page.blocks || commands < page.commands {
			t.Errorf("%s: %d blocks and %d commands", page.path, blocks, commands)
		}
	}
}
