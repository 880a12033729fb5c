package store

import (
	"strings"

	"github.com/cbtrace/cbtrace/internal/model"
)

// A KeyMode says by what requests are told apart (R4.4).
type KeyMode uint8

const (
	KeyAuto    KeyMode = iota // by id, a trace without any by its trace id
	KeyByID                   // by id; a trace without any is left out
	KeyByTrace                // every record that has a trace by its trace id
)

func (m KeyMode) String() string { return [...]string{"auto", "id", "trace"}[m] }

// A keyKind says what the attributes of a record alone say of its request (R4.1).
type keyKind uint8

const (
	keyNone     keyKind = iota // no key: its trace may tell (R4.3)
	keyStrong                  // an internal id
	keyWeak                    // ids that hold only where they are strong elsewhere
	keyExternal                // gen_ai.request.id of an llm_request
	keyProcess                 // of no request: an empty id (R4.5), a line or point without one (R4.6)
)

// The key attributes in order of precedence (R4.1), and the two that stand apart.
const (
	slotSession = iota
	slotRequest
	slotReq
	slotExternalRequest
	numKeySlots
	slotResolved = numKeySlots
)

var keyAttrs = [...]model.AttrKey{slotSession: model.AttrSessionID, slotRequest: model.AttrRequestID, slotReq: model.AttrReqID,
	slotExternalRequest: model.AttrExternalRequestID, slotResolved: model.AttrResolved}

// slotOf is the place of an attribute in keyAttrs, -1 for another.
func slotOf(k model.AttrKey) int {
	switch k {
	case model.AttrSessionID:
		return slotSession
	case model.AttrRequestID:
		return slotRequest
	case model.AttrReqID:
		return slotReq
	case model.AttrExternalRequestID:
		return slotExternalRequest
	case model.AttrResolved:
		return slotResolved
	}
	return -1
}

// A selection is what R4.1 and R2.6 make of the attributes of one record. Attributes are given by their index in the record, from 1; 0 is none.
type selection struct {
	kind      keyKind
	key       int              // the strong or external key
	slot      int              // which strong key it is
	weak      [numKeySlots]int // the weak ones, first the one that counts most
	nWeak     int
	session   int  // session_id that is not empty
	resolved  int  // cbtrace.request: wins when it is there
	noRequest bool // a key of the strong sort was written empty, or cbtrace.request was: the record goes to its process when nothing else holds
}

// scopes are what R4.1 and R4.22 ask of a tracer's name.
func scopes(name string) (lm, mp bool) {
	return strings.HasPrefix(name, "lmcache"), strings.HasPrefix(name, "lmcache_mp")
}

// stageOf is the stage of a record by its name, and whether that depends on a session that is strong elsewhere (R4.22).
func stageOf(d *model.Dict, r *model.Record, lm bool) (s model.Stage, scoped bool) {
	if r.Flags&model.RecordLine != 0 {
		if r.StageID != 0 && r.StageID < model.StrID(model.NumStages) {
			return model.Stage(r.StageID), false
		}
		return model.StageNone, false
	}
	s = d.Stage(r.Name)
	return s, model.Stages[s].Scoped && !lm
}

// selectKey is R4.1: the only place that knows which attribute is a key and how much it counts.
func selectKey(b *model.Batch, r *model.Record, stage model.Stage, scoped, lm bool) selection {
	var at [numKeySlots + 1]int
	external := 0
	attrs := b.AttrsOf(r)
	for i := range attrs {
		a := &attrs[i]
		if a.Kind != model.StrValue {
			continue
		}
		if slot := slotOf(a.Key); slot >= 0 {
			at[slot] = i + 1
		} else if a.Key == model.AttrGenAIRequestID {
			external = i + 1
		}
	}
	filled := func(i int) bool { return i != 0 && attrs[i-1].Len != 0 }
	record := r.Flags&(model.RecordLine|model.RecordPoint) != 0
	hashes := r.Flags&model.RecordHashes == model.RecordHashes // names a request, but makes none
	known := record && !hashes || stage != model.StageNone && !scoped

	sel := selection{resolved: at[slotResolved]}
	if filled(at[slotSession]) {
		sel.session = at[slotSession]
	}
	for slot, i := range at[:numKeySlots] {
		strong := known || slot == slotSession && lm
		switch {
		case i == 0:
		case !filled(i):
			sel.noRequest = sel.noRequest || strong
		case strong && sel.kind != keyStrong:
			sel.kind, sel.key, sel.slot = keyStrong, i, slot
		case !strong:
			sel.weak[sel.nWeak] = i
			sel.nWeak++
		}
	}
	switch {
	case sel.kind == keyStrong:
	case stage == model.StageLLMRequest && !record && filled(external):
		sel.kind, sel.key = keyExternal, external
	case sel.nWeak > 0:
		sel.kind = keyWeak
	case sel.noRequest || record || r.Trace.IsZero():
		sel.kind = keyProcess
	}
	return sel
}
