package profile

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// docs/profile-map.md: its map is one, its lines are read by it, its tables are those of the program.
func TestMapPage(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "profile-map.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	block := func(language string) string {
		_, rest, _ := strings.Cut(page, "```"+language+"\n")
		text, _, ok := strings.Cut(rest, "```")
		if !ok {
			t.Fatalf("no block of %s", language)
		}
		return text
	}
	keys, err := ReadMap(strings.NewReader(block("yaml")), "map.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := setup{keys: keys}.read(t, block("json"))
	r.want(t, `
		1 sched.gnnmt cb.schedule 250+40000 pid=5242 request_id=chatcmpl-7f3a
		2 slk.wait cb.start_load_kv 50250+4000 pid=5300 request_id=chatcmpl-7f3a rank=0
		3 my_plugin.fwd cb.model_forward 55250+12500 pid=5300 request_id=chatcmpl-7f3a rank=0
		4 my_plugin.extra 80250 point pid=5300 request_id=chatcmpl-7f3a`, "")

	// rows are the first cells of the table under a heading.
	rows := func(heading string) (cells []string) {
		_, rest, ok := strings.Cut(page, "\n"+heading+"\n")
		if !ok {
			t.Fatalf("no table %s", heading)
		}
		for _, line := range strings.Split(rest, "\n")[1:] {
			if !strings.HasPrefix(line, "| ") {
				break
			}
			cells = append(cells, line)
		}
		return cells
	}
	code := regexp.MustCompile("`([^`]+)`")
	words := func(line string) (words []string) {
		for _, m := range code.FindAllStringSubmatch(line, -1) {
			words = append(words, m[1])
		}
		return words
	}
	var roles []string
	for _, line := range rows("| role | the key says |") {
		roles = append(roles, words(line)[0])
	}
	if got := strings.Join(roles, ", "); got != roleNames() {
		t.Errorf("roles %s, want %s", got, roleNames())
	}
	for unit := range mapUnits {
		if !strings.Contains(page, "`"+unit+"`") {
			t.Errorf("no unit %s", unit)
		}
	}
	var lines []string
	for _, n := range model.ProfileNames {
		lines = append(lines, "| `"+n.Line+"` | `"+n.Stage.String()+"` |")
	}
	if got := rows("| line | stage |"); !slices.Equal(got, lines) {
		t.Errorf("names\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
	have, want := rows("| what | keys, the first that is there counts |"), assumedKeys()
	if !slices.Equal(have, want) {
		t.Errorf("keys\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}

// assumedKeys are the rows of the table of keys, but for the one that only cut writes.
func assumedKeys() (rows []string) {
	for _, group := range []struct {
		what  string
		roles []model.ProfileRole
	}{
		{"name", []model.ProfileRole{model.ProfileName}},
		{"start", []model.ProfileRole{model.ProfileStart}},
		{"end", []model.ProfileRole{model.ProfileEnd}},
		{"duration", []model.ProfileRole{model.ProfileDuration}},
		{"request", []model.ProfileRole{model.ProfileRequest}},
		{"process", []model.ProfileRole{model.ProfilePID, model.ProfileProc, model.ProfileProcess}},
		{"failure", []model.ProfileRole{model.ProfileFailed, model.ProfileOK}},
	} {
		var keys []string
		for _, k := range model.ProfileKeys {
			if !slices.Contains(group.roles, k.Role) || k.Key == model.ProfileStartNS {
				continue
			}
			key := "`" + k.Key + "`"
			if k.Role == model.ProfileDuration && k.Unit != model.UnitUnsaid {
				key += " (" + k.Unit.String() + ")"
			}
			keys = append(keys, key)
		}
		rows = append(rows, "| "+group.what+" | "+strings.Join(keys, ", ")+" |")
	}
	return rows
}
