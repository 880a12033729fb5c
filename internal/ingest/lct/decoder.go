package lct

import (
	"bytes"
	"encoding/hex"
	"math"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A Decoder turns records into points for one goroutine: it caches names. The zero value is ready.
//
// A point has the method's name and the instant of t_wall. Arguments that are numbers, truths or texts are its attributes, as far as the batch
// wants them: external_request_id puts it into its request, without one it is of the process (R4.6). A batch that keeps all gets the number of keys of a
// call too, and the hashes of their chunks as lookup-hash lines have them (model.ChunkHashes): through those inspect finds the request of a call that names none.
type Decoder struct {
	dict   *model.Dict
	names  decode.Words[model.StrID]
	finder keyFinder
	keyed  bool
	keys   int64  // that finder found
	chunk  []byte // of the last of them
	chunks []byte // of all, as hex digits
}

// Empty is the signal under which recordings without a record are counted.
const Empty = "recordings without a record"

// Decode decodes a block that a Cutter made.
func (d *Decoder) Decode(blk decode.Block, b *model.Batch, rep *decode.Report) {
	if d.dict != b.Dict {
		*d = Decoder{dict: b.Dict}
		d.finder.found = d.found
	}
	w, h, err := newWalker(&blk, rep)
	if err != nil {
		rep.Skip(0, blk.Offset, err)
		return
	}
	if blk.Offset == 0 && w.at == len(w.data) && !rep.Truncated {
		rep.Signal(Empty)
		return
	}
	res := b.Dict.Resource(model.Resource{Instance: h.Instance()}, blk.Family)
	d.keyed = b.KeepAll && h.Level == Storage
	var r record
	var e event
	for {
		offset, ok := w.next(&r)
		if !ok {
			return
		}
		rep.Records++
		p := b.Begin()
		p.Name, p.Res, p.File, p.Pos = d.name(b, r.qualname), res, blk.File, offset
		p.ID, p.Start, p.Flags = model.LineID(blk.File, offset), wallTime(r.wall), model.RecordPoint
		d.arguments(b, r.args)
		b.End()
		r.addStep(rep)
		if h.Level == Events && string(r.qualname) == batchName {
			if e.read(r.args, nil); len(e.instance) <= maxWord {
				rep.Sequences.Add(e.instance, e.incarnation, e.seq)
			}
		}
	}
}

// arguments adds what the batch wants of the arguments of a record. Lists and maps are not kept: they hold keys, layouts and tokens.
func (d *Decoder) arguments(b *model.Batch, args []byte) {
	d.keys, d.chunk, d.chunks = 0, nil, d.chunks[:0]
	n, i := mapAt(args, 0)
	for range n {
		name, at := textAt(args, i)
		if at < 0 {
			i = skip(args, skip(args, i))
			continue
		}
		i = skip(args, at)
		c := args[at]
		switch {
		case sizes[c] <= sizeArray16: // a list or a map
			if d.keyed {
				d.finder.walk(args, at, 0)
			}
			continue
		case c == 0xc0 || len(name) > maxWord:
			continue
		}
		key := b.Wants(name)
		if key == model.AttrNone {
			continue
		}
		if text, next := textAt(args, at); next > 0 {
			b.AddText(key, text)
		} else if v, next := intAt(args, at); next > 0 {
			b.AddInt(key, v)
		} else if f, next := numberAt(args, at); next > 0 {
			b.AddFloat(key, f)
		} else if c == 0xc2 || c == 0xc3 {
			b.AddBool(key, c == 0xc3)
		}
	}
	if d.keys > 0 {
		b.AddInt(model.AttrNKeys, d.keys)
		b.AddText(b.Wants([]byte(model.ChunkHashes)), d.chunks)
	}
}

// found takes a key of the call in. Keys of one chunk, by rank and object group, stand side by side.
func (d *Decoder) found(k *objKey) {
	d.keys++
	if len(k.chunk) == 0 || bytes.Equal(k.chunk, d.chunk) {
		return
	}
	if len(d.chunks) > 0 {
		d.chunks = append(d.chunks, ' ')
	}
	d.chunk, d.chunks = k.chunk, hex.AppendEncode(d.chunks, k.chunk)
}

// name is the name of a record's point.
func (d *Decoder) name(b *model.Batch, qualname []byte) model.StrID {
	if id, ok := d.names.Find(qualname); ok {
		return id
	}
	name := Method(qualname)
	if len(name) > maxWord {
		name = []byte(model.OtherName)
	}
	id := b.Names.Intern(name)
	if b.Dict.Stage(id) != model.StageNone { // what a later level calls as a span is called is none
		id = b.Names.Intern(append([]byte("lct:"), name...))
	}
	d.names.Keep(qualname, id)
	return id
}

// manager is the class whose calls level storage records; its package has moved and may again.
var manager = []byte("StorageManager.")

// Method is what a qualname calls of the storage manager, otherwise all of it.
func Method(qualname []byte) []byte {
	if at := bytes.LastIndex(qualname, manager); at >= 0 {
		return qualname[at+len(manager):]
	}
	return qualname
}

// wallTime is an instant in s since the Unix epoch as ns; 0 where it is none.
func wallTime(s float64) model.Time {
	if !(s > 0 && s < 9.2e9) {
		return 0
	}
	whole := math.Floor(s)
	return model.Time(int64(whole)*1e9 + int64(math.Round((s-whole)*1e9)))
}
