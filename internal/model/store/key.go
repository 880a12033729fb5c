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

// An attrAt names an attribute of a record by its place among them. The zero value, noAttr, is none.
type attrAt int

const noAttr attrAt = 0

func attrAtIndex(i int) attrAt { return attrAt(i + 1) }

// index is the place from 0; -1 of none.
func (at attrAt) index() int { return int(at) - 1 }

// text is that of the attribute; nil of none.
func (at attrAt) text(b *model.Batch, r *model.Record) []byte {
	if at == noAttr {
		return nil
	}
	return b.TextOf(&b.AttrsOf(r)[at.index()])
}

// A selection is what R4.1 and R2.6 make of the attributes of one record.
type selection struct {
	kind      keyKind
	key       attrAt              // the strong or external key
	slot      int                 // which strong key it is
	weak      [numKeySlots]attrAt // the weak ones, first the one that counts most
	nWeak     int
	session   attrAt // session_id that is not empty
	resolved  attrAt // cbtrace.request: wins when it is there
	noRequest bool   // a key of the strong sort was written empty, or cbtrace.request was: the record goes to its process when nothing else holds
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

// selectKey is R4.1: the only place that knows which attribute is a key and how much it counts. Of a key that repeats the last one counts. It is asked once
// for records that look alike (pattern), so it reads no text, only whether there is one.
func selectKey(b *model.Batch, r *model.Record, stage model.Stage, scoped, lm bool) selection {
	var keys [numKeySlots + 1]attrAt // by slot, in order of precedence
	external := noAttr
	attrs := b.AttrsOf(r)
	for i := range attrs {
		if attrs[i].Kind != model.StrValue {
			continue
		}
		if slot := slotOf(attrs[i].Key); slot >= 0 {
			keys[slot] = attrAtIndex(i)
		} else if attrs[i].Key == model.AttrGenAIRequestID {
			external = attrAtIndex(i)
		}
	}
	filled := func(at attrAt) bool { return at != noAttr && attrs[at.index()].Len != 0 }
	record := r.Flags&(model.RecordLine|model.RecordPoint) != 0
	hashes := r.Flags&model.RecordHashes == model.RecordHashes // names a request, but makes none
	known := record && !hashes || stage != model.StageNone && !scoped

	sel := selection{resolved: keys[slotResolved]}
	if filled(keys[slotSession]) {
		sel.session = keys[slotSession]
	}
	for slot, at := range keys[:numKeySlots] {
		strong := known || slot == slotSession && lm
		switch {
		case at == noAttr:
		case !filled(at):
			sel.noRequest = sel.noRequest || strong
		case strong && sel.kind != keyStrong:
			sel.kind, sel.key, sel.slot = keyStrong, at, slot
		case !strong:
			sel.weak[sel.nWeak] = at
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
