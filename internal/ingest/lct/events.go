package lct

// The names of the records of level events.
const (
	batchName     = "events.batch"
	lifecycleName = "events.lifecycle"
)

// An event is what an events.batch or events.lifecycle says. Its slices lie in the block.
type event struct {
	instance            []byte
	incarnation, seq    int64
	kind, tier, backend []byte // of a batch
	phase               []byte // of a lifecycle
	shared              bool
}

// read reads the arguments of a record, which are sound. each gets every entry of a batch; nil passes over them.
func (e *event) read(args []byte, each func(entry)) {
	*e = event{}
	n, i := mapAt(args, 0)
	for range n {
		key, at := textAt(args, i)
		if at < 0 {
			at = skip(args, i)
		}
		switch string(key) {
		case "instance_id":
			e.instance, _ = textAt(args, at)
		case "incarnation":
			e.incarnation, _ = intAt(args, at)
		case "seq":
			e.seq, _ = intAt(args, at)
		case "event_type":
			e.kind, _ = textAt(args, at)
		case "tier":
			e.tier, _ = textAt(args, at)
		case "backend":
			e.backend, _ = textAt(args, at)
		case "phase":
			e.phase, _ = textAt(args, at)
		case "shared":
			e.shared = isTrue(args, at)
		case "entries":
			if count, next := arrayAt(args, at); each != nil && next > 0 {
				var x entry
				for range count {
					next = x.read(args, next)
					each(x)
				}
				i = next
				continue
			}
		}
		i = skip(args, at)
	}
}

// An entry is one chunk of a batch.
type entry struct {
	key    []byte // a msgpack map, nil without
	bytes  int64  // size_bytes
	tokens bool   // it holds token ids
}

// read reads the entry at i and returns the place after it.
func (e *entry) read(args []byte, i int) int {
	*e = entry{}
	n, next := mapAt(args, i)
	if next < 0 {
		return skip(args, i)
	}
	for range n {
		name, at := textAt(args, next)
		if at < 0 {
			at = skip(args, next)
		}
		next = skip(args, at)
		switch string(name) {
		case "key":
			if _, in := mapAt(args, at); in > 0 {
				e.key = args[at:next]
			}
		case "size_bytes":
			e.bytes, _ = intAt(args, at)
		case "token_ids":
			n, _ := arrayAt(args, at)
			e.tokens = n > 0
		}
	}
	return next
}
