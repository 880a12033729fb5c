package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A map says what the names and keys of lines mean where that differs from what is assumed, or is not known (--profile-map):
//
//	version: 1
//	names:
//	  my_plugin.lookup: sched.gnnmt        # a name of lines,
//	  my_plugin.kv.*: slk.*                # all that begin so, keeping the rest,
//	  my_plugin.load: cb.start_load_kv     # or a stage
//	keys:
//	  what: name
//	  when: {role: start, unit: us}
//	  took: {role: duration, unit: ms}
//	  who: request
//	  dur: {role: duration, unit: s}
//
// Roles are those of mapRoles; instants and durations have a unit of s, ms, us or ns, which instants may leave to their magnitude.
// Anything else in it is an error with its line.

// mapRoles are the roles that a key can be given.
var mapRoles = []struct {
	name string
	role model.ProfileRole
	attr model.AttrKey
}{
	{"name", model.ProfileName, 0},
	{"start", model.ProfileStart, 0},
	{"end", model.ProfileEnd, 0},
	{"duration", model.ProfileDuration, 0},
	{"request", model.ProfileRequest, model.AttrRequestID},
	{"pid", model.ProfilePID, model.AttrPID},
	{"process", model.ProfileProc, 0},
	{"rank", model.ProfileProcess, model.AttrRank},
	{"role", model.ProfileProcess, model.AttrRole},
	{"failed", model.ProfileFailed, 0},
	{"success", model.ProfileOK, 0},
	{"attribute", model.ProfileOther, 0},
}

var mapUnits = map[string]model.ProfileUnit{"s": model.Seconds, "ms": model.Milliseconds, "us": model.Microseconds, "µs": model.Microseconds, "ns": model.Nanoseconds}

// maxMapped is how many keys a map may name.
const maxMapped = 100

// maxMap is how many bytes a map may have.
const maxMap = 1 << 20

// ReadMap reads a map; file is what it is called in errors.
func ReadMap(r io.Reader, file string) (*Keys, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxMap+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(b) > maxMap {
		return nil, fmt.Errorf("%s: more than %d MiB", file, maxMap>>20)
	}
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	m := mapReader{file: file}
	if len(doc.Content) == 0 {
		return nil, fmt.Errorf("%s: empty", file)
	}
	if err := m.read(doc.Content[0]); err != nil {
		return nil, err
	}
	if err := dec.Decode(&doc); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one document", file)
	}
	return newKeys(m.keys, m.names), nil
}

// A mapReader reads one map.
type mapReader struct {
	file  string
	keys  []model.ProfileKey
	names []nameRule
}

func (m *mapReader) fail(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", m.file, n.Line, fmt.Sprintf(format, args...))
}

// pairs are the keys and values of a mapping, each key once.
func (m *mapReader) pairs(n *yaml.Node, what string, each func(key, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return m.fail(n, "want %s", what)
	}
	var seen []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.Value == "" {
			return m.fail(key, "want a name")
		}
		if slices.Contains(seen, key.Value) {
			return m.fail(key, "%q a second time", key.Value)
		}
		seen = append(seen, key.Value)
		if err := each(key, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (m *mapReader) read(top *yaml.Node) error {
	version := false
	err := m.pairs(top, "keys version, names and keys", func(key, value *yaml.Node) error {
		switch key.Value {
		case "version":
			if version = true; value.Value != "1" {
				return m.fail(value, "version: want 1, have %q", value.Value)
			}
			return nil
		case "names":
			return m.pairs(value, "names: lines and what they are", m.name)
		case "keys":
			return m.pairs(value, "keys: keys and what they mean", m.key)
		}
		return m.fail(key, "unknown key %q: want version, names or keys", key.Value)
	})
	if err == nil && !version {
		err = m.fail(top, "version: 1 is missing")
	}
	return err
}

// name reads `line: line or stage`.
func (m *mapReader) name(key, value *yaml.Node) error {
	r := nameRule{name: key.Value, to: value.Value}
	if value.Kind != yaml.ScalarNode || r.to == "" {
		return m.fail(value, "%s: want the name of a line or a stage", key.Value)
	}
	r.name, r.below = cutStar(r.name)
	if r.to, r.keep = cutStar(r.to); r.keep && !r.below {
		return m.fail(value, "%s: %q ends in .*, but the name does not", key.Value, value.Value)
	}
	probe := r.to
	if r.keep {
		probe += "x"
	}
	if model.ProfileStage(probe) == model.StageNone {
		return m.fail(value, "%s: %q is neither a line nor a stage that is known", key.Value, value.Value)
	}
	m.names = append(m.names, r)
	return nil
}

// cutStar cuts the star off a name that ends in ".*".
func cutStar(s string) (prefix string, below bool) {
	if p, ok := strings.CutSuffix(s, ".*"); ok {
		return p + ".", true
	}
	return s, false
}

// key reads `key: role` or `key: {role: …, unit: …}`.
func (m *mapReader) key(key, value *yaml.Node) error {
	k := model.ProfileKey{Key: key.Value, Unit: model.UnitUnsaid}
	role, unit := value, (*yaml.Node)(nil)
	if value.Kind == yaml.MappingNode {
		role = nil
		err := m.pairs(value, "role and unit", func(part, v *yaml.Node) error {
			switch part.Value {
			case "role":
				role = v
			case "unit":
				unit = v
			default:
				return m.fail(part, "%s: unknown key %q: want role or unit", key.Value, part.Value)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if role == nil {
			return m.fail(value, "%s: role is missing", key.Value)
		}
	}
	at := -1
	if role.Kind == yaml.ScalarNode {
		at = slices.IndexFunc(mapRoles, func(r struct {
			name string
			role model.ProfileRole
			attr model.AttrKey
		}) bool {
			return r.name == role.Value
		})
	}
	if at < 0 {
		return m.fail(role, "%s: role: want one of %s", key.Value, roleNames())
	}
	k.Role, k.Attr = mapRoles[at].role, mapRoles[at].attr
	if err := m.unit(&k, role, unit); err != nil {
		return err
	}
	if len(m.keys) == maxMapped {
		return m.fail(key, "more than %d keys", maxMapped)
	}
	m.keys = append(m.keys, k)
	return nil
}

// unit reads the unit of a time.
func (m *mapReader) unit(k *model.ProfileKey, role, unit *yaml.Node) error {
	instant := k.Role == model.ProfileStart || k.Role == model.ProfileEnd
	switch {
	case unit == nil && k.Role == model.ProfileDuration:
		return m.fail(role, "%s: unit is missing: want s, ms, us or ns", k.Key)
	case unit == nil:
		return nil
	case !instant && k.Role != model.ProfileDuration:
		return m.fail(unit, "%s: a %s has no unit", k.Key, role.Value)
	}
	u, ok := mapUnits[unit.Value]
	if !ok || unit.Kind != yaml.ScalarNode {
		return m.fail(unit, "%s: unit: want s, ms, us or ns, have %q", k.Key, unit.Value)
	}
	k.Unit = u
	return nil
}

func roleNames() string {
	var names []string
	for _, r := range mapRoles {
		names = append(names, r.name)
	}
	return strings.Join(names, ", ")
}
