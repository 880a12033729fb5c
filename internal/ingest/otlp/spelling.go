package otlp

import "github.com/cbtrace/cbtrace/internal/model"

// Spans of one exporter are spelled alike: between the values of a span stands the same text as in the spans of its name before it. These texts are kept,
// each with those that followed its value lately, and a span is read by comparing it with them, without a look at keys and quotes. Whatever differs is read
// by the calls of the scanner, from there on, and adds its text where it is spelled as the collector does.

// A spelling is the text before a value of a span, from the end of the value before it on.
type spelling struct {
	text  string         // "}},{"key":"request_id","value":{"stringValue":"
	next  [2]spellingID  // what followed the value lately, the last one first
	key   model.AttrKey  // of an attribute
	name  model.StrID    // of a span
	kind  model.SpanKind // of a span
	slot  uint8          // of the key, among the values
	value uint16         // where in the text an AnyValue begins
	role  role
}

// A spellingID is a place in spellings.list.
type spellingID uint32

// Places that are always there.
const (
	noSpelling      spellingID = iota
	behindAttribute            // one that was spelled otherwise
)

// A role is what stands behind a spelling.
type role uint8

const (
	roleNone      role = iota
	roleStart          // the digits of the start of a span
	roleAttribute      // what follows an attribute
	roleText           // what is left of a text that is kept
	roleDropped        // what is left of one that is not
	roleNumber         // what is left of a text under a key of numbers
	roleInt            // what is left of a text that is an integer
	roleFloat          // a number
	roleBool           // true or false
	roleSpanEnd        // nothing: the span is closed
)

const (
	startBits    = 9
	valueBits    = 6
	maxSpellings = 4096
	longest      = 512 // bytes of a spelling
)

// spellings are what was learnt. When they are too many all are forgotten.
type spellings struct {
	list   []spelling
	known  map[string]spellingID      // by their texts
	starts [1 << startBits]spellingID // by what follows the ids of a span
	values [1 << valueBits]lastValue  // by the key
}

// A lastValue is the text that a key had last: ids and names repeat from span to span.
type lastValue struct {
	from, to int           // in the block
	key      model.AttrKey // AttrNone: it was not kept
	attr     int           // in the batch
}

// slotOf is where the last value of a key is. Keys may share a place.
func slotOf(key []byte) (slot uint8) {
	for _, c := range key {
		slot = slot*31 + c
	}
	return slot >> (8 - valueBits)
}

// begin makes ready for another block: nothing points into the last one.
func (l *spellings) begin() {
	l.forgetValues()
	if len(l.list) == 0 || len(l.list) >= maxSpellings {
		*l = spellings{list: append(l.list[:0], spelling{}, spelling{role: roleAttribute}), known: map[string]spellingID{}}
	}
}

// forgetValues is for when attributes were taken back from the batch.
func (l *spellings) forgetValues() { clear(l.values[:]) }

// after is the spelling at b[at] if it is one of those that followed p lately, else 0.
func (l *spellings) after(p *spelling, b []byte, at int) spellingID {
	if n := p.next[0]; n != noSpelling && begins(b, at, l.list[n].text) {
		return n
	}
	if n := p.next[1]; n != noSpelling && begins(b, at, l.list[n].text) {
		p.next = [2]spellingID{n, p.next[0]}
		return n
	}
	return noSpelling
}

// begins reports whether b[at:] begins with a text.
func begins(b []byte, at int, text string) bool {
	end := at + len(text)
	return end <= len(b) && string(b[at:end]) == text
}

// learn keeps a spelling as what follows p and returns its place, 0 where there is no room. The first that follows p gets a place of its own, so that what
// follows in spans of different names is told apart; otherwise one place does for all that are spelled alike.
func (l *spellings) learn(p spellingID, text []byte, s spelling) spellingID {
	if len(text) > longest {
		return noSpelling
	}
	n, ok := l.known[string(text)]
	own := p != noSpelling && l.list[p].next[0] == noSpelling
	if (own || !ok) && len(l.list) < maxSpellings {
		if s.text = string(text); ok {
			s.text = l.list[n].text
		}
		n = spellingID(len(l.list))
		if l.list = append(l.list, s); !ok {
			l.known[s.text] = n
		}
	} else if !ok {
		return noSpelling
	}
	if p != noSpelling {
		next := &l.list[p].next
		*next = [2]spellingID{n, next[0]}
	}
	return n
}
