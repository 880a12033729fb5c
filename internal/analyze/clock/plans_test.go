package clock

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// planned is a survey of files and what was decided of them.
func planned(files ...filePlanOf) *Survey {
	d := model.NewDict()
	for _, f := range files {
		at := d.File(d.AddFile(f.path))
		at.Family, at.Plan = f.family, f.plan
	}
	v := NewSurvey(d)
	v.AddFiles()
	return v
}

type filePlanOf struct {
	path, family string
	plan         *model.ProfilePlan
}

func written(t *testing.T, v *Survey) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := v.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// R2.2, R4.12: the table keeps what was decided of each profile file; a file that it does not know goes by its family where that is of one mind.
func TestPlans(t *testing.T) {
	ms := &model.ProfilePlan{Units: []model.ProfileKeyUnit{{Key: "dur", Unit: model.Milliseconds}, {Key: "t0", Unit: model.Seconds}}, Anchor: model.AnchorEpoch}
	us := &model.ProfilePlan{Units: []model.ProfileKeyUnit{{Key: "dur", Unit: model.Microseconds}}, Anchor: model.AnchorNone, Divisor: 1000}
	a := planned(filePlanOf{"p/a.jsonl.1", "p/a.jsonl", ms}, filePlanOf{"p/a.jsonl.2", "p/a.jsonl", ms}, filePlanOf{"spans.jsonl", "", nil})
	b := planned(filePlanOf{"p/b.jsonl.1", "p/b.jsonl", ms}, filePlanOf{"p/b.jsonl.2", "p/b.jsonl", us}, filePlanOf{"p/a.jsonl.2", "p/a.jsonl", ms})
	contrary := planned(filePlanOf{"p/a.jsonl.1", "p/a.jsonl", us})

	x, err := Read(bytes.NewReader(written(t, a)), model.NewDict())
	if err != nil {
		t.Fatal(err)
	}
	y, err := Read(bytes.NewReader(written(t, b)), x.dict)
	if err != nil {
		t.Fatal(err)
	}
	x.Merge(y)
	b.Merge(a)
	if !bytes.Equal(written(t, x), written(t, b)) {
		t.Error("merged the other way round: other bytes")
	}
	plans := x.Plans()
	for _, c := range []struct {
		path, family string
		want         *model.ProfilePlan
	}{
		{"p/a.jsonl.1", "p/a.jsonl", ms},
		{"p/a.jsonl.3", "p/a.jsonl", ms}, // by its family
		{"p/b.jsonl.1", "p/b.jsonl", ms},
		{"p/b.jsonl.2", "p/b.jsonl", us},
		{"p/b.jsonl.3", "p/b.jsonl", nil}, // its family is of two minds
		{"q/a.jsonl.1", "q/a.jsonl", nil},
	} {
		got := plans.Of(c.path, c.family)
		if (got == nil) != (c.want == nil) || got != nil && !got.Equal(c.want) {
			t.Errorf("%s: %+v, want %+v", c.path, got, c.want)
		}
	}
	x.Merge(contrary)
	if got := x.Plans().Of("p/a.jsonl.1", "other"); got != nil {
		t.Errorf("surveys disagree: %+v", got)
	}
	if got := x.Plans().Of("p/a.jsonl.2", "p/a.jsonl"); got == nil {
		t.Error("of the other file they do not")
	}
}

// A table names no unit that does not exist, and no more files than there may be.
func TestPlansRefused(t *testing.T) {
	v := planned(filePlanOf{"a", "a", &model.ProfilePlan{Units: []model.ProfileKeyUnit{{Key: "dur", Unit: 7}}}})
	if _, err := Read(bytes.NewReader(written(t, v)), model.NewDict()); !errors.Is(err, ErrDamaged) {
		t.Errorf("a unit of 10^7 ns: %v", err)
	}
	v = planned(filePlanOf{"a", "a", &model.ProfilePlan{Anchor: model.AnchorNone}})
	if _, err := Read(bytes.NewReader(written(t, v)), model.NewDict()); !errors.Is(err, ErrDamaged) {
		t.Errorf("a clock without an epoch and without a divisor: %v", err)
	}
	v = NewSurvey(model.NewDict())
	plans := map[string]filePlan{}
	for i := range maxPlans + 10 {
		plans[fmt.Sprintf("%06d", i)] = filePlan{}
	}
	v.mergePlans(plans)
	if _, ok := v.plans[fmt.Sprintf("%06d", maxPlans-1)]; !ok || len(v.plans) != maxPlans {
		t.Errorf("%d files are kept", len(v.plans))
	}
	if _, err := Read(bytes.NewReader(written(t, v)), model.NewDict()); err != nil {
		t.Error(err)
	}
}
