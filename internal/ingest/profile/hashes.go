package profile

import (
	"errors"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A HashDecoder decodes blocks of lookup-hash lines (CONTRACT-lmcache 5.1): which chunks a lookup asked for, by their hashes. They are the bridge from
// ids of requests to keys of storage calls. The zero value is ready.
//
//	{"timestamp":1764432001.03348,"request_id":"…","chunk_size":256,"seq_len":2264,…,"chunk_hashes":["0x2b86c91f",…]}
type HashDecoder struct {
	s      jsonscan.Scanner
	hashes []byte
	id     []byte
	blk    *decode.Block
	rep    *decode.Report
}

// Decode counts the lines of a block. Where all attributes are kept each becomes a point of its request that holds the hashes; in other runs nothing asks
// for them.
func (d *HashDecoder) Decode(blk decode.Block, b *model.Batch, rep *decode.Report) {
	d.blk, d.rep = &blk, rep
	s := &d.s
	s.Reset(blk.Data)
	for s.More() {
		start, line := s.Pos(), s.Line()
		switch s.Kind() {
		case jsonscan.Object:
			d.read(b, line, start)
		case jsonscan.Array:
			for s.Array(); s.Elem(); {
				if s.Kind() == jsonscan.Object {
					d.read(b, s.Line(), s.Pos())
				} else {
					s.Skip()
				}
			}
		default:
			to := nextLine(blk.Data, start)
			if start == 0 && hasBOM(blk.Data) {
				to = len(bom)
			} else {
				d.skip(line, start, errNoObject)
			}
			d.seek(to, start, line)
			continue
		}
		if err := s.Err(); err != nil {
			to := jsonscan.Resync(blk.Data, start)
			if errors.Is(err, jsonscan.ErrEnd) {
				err = decode.ErrTruncated
				rep.Truncated = rep.Truncated || to == len(blk.Data)
			}
			d.skip(line, start, err)
			d.seek(to, start, line)
		}
	}
}

func (d *HashDecoder) skip(line int64, pos int, err error) {
	d.rep.Skip(d.blk.Line+line, d.blk.Offset+int64(pos), err)
}

func (d *HashDecoder) seek(to, start int, line int64) {
	d.s.Seek(to)
	d.s.SetLine(line + decode.Newlines(d.blk.Data[start:to]))
}

var errNoHashes = errors.New("want a request_id and chunk_hashes")

// read reads one line.
func (d *HashDecoder) read(b *model.Batch, line int64, start int) {
	s := &d.s
	d.hashes, d.id = d.hashes[:0], d.id[:0]
	var at decimal
	var when error
	found, size, length := false, int64(0), int64(0)
	s.Object()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case "timestamp":
			if s.Kind() == jsonscan.Number {
				at, when = parseDecimal(s.Raw())
			} else {
				s.Skip()
			}
		case "request_id", "session_id":
			if t, ok := s.Text(); ok {
				d.id = append(d.id[:0], t...)
			}
		case "chunk_size":
			size, _ = s.Int()
		case "seq_len":
			length, _ = s.Int()
		case "chunk_hashes":
			found = s.Kind() == jsonscan.Array
			d.list()
		default:
			s.Skip()
		}
	}
	switch {
	case s.Err() != nil:
		return
	case !found || len(d.id) == 0:
		d.skip(line, start, errNoHashes)
		return
	}
	d.rep.Records++
	if !b.KeepAll {
		return
	}
	r := b.Begin()
	r.Flags |= model.RecordHashes
	if _, ns := at.classify(); when == nil && !at.neg {
		r.Start = model.Time(ns)
	}
	r.Name = b.Names.Intern([]byte(model.LookupHashes))
	r.Pos = d.blk.Line + line
	r.File, r.ID = d.blk.File, model.LineID(d.blk.File, r.Pos)
	r.Res = b.Dict.Resource(model.Resource{}, d.blk.Family)
	b.AddText(model.AttrRequestID, d.id)
	b.AddInt(b.Wants([]byte("chunk_size")), size)
	b.AddInt(b.Wants([]byte("seq_len")), length)
	b.AddText(b.Wants([]byte(model.ChunkHashes)), d.hashes)
	b.End()
}

// list reads hashes and appends them without 0x, a space between two.
func (d *HashDecoder) list() {
	s := &d.s
	if s.Kind() != jsonscan.Array {
		s.Skip()
		return
	}
	for s.Array(); s.Elem(); {
		t, ok := s.Text()
		if !ok {
			continue
		}
		if len(t) > 2 && t[0] == '0' && t[1]|0x20 == 'x' {
			t = t[2:]
		}
		if len(d.hashes) > 0 {
			d.hashes = append(d.hashes, ' ')
		}
		for _, c := range t {
			if c >= 'A' && c <= 'F' {
				c |= 0x20
			}
			d.hashes = append(d.hashes, c)
		}
	}
}
