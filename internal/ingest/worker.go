package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/ingest/jaeger"
	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/ingest/lct"
	"github.com/cbtrace/cbtrace/internal/ingest/otlp"
	"github.com/cbtrace/cbtrace/internal/ingest/otlpproto"
	"github.com/cbtrace/cbtrace/internal/ingest/profile"
	"github.com/cbtrace/cbtrace/internal/model"
)

// A worker decodes blocks: one goroutine with a batch, a sink and a decoder of each format.
type worker struct {
	batch *model.Batch
	sink  Sink
	block []byte        // memory for the next one
	first bool          // the block is the first of its file, whose names are wanted
	seen  []model.StrID // those of them so far
	spans days
	pick  *Pick // whose records are kept; nil: all
	err   error // of the sink

	values     otlp.Decoder
	traces     jaeger.Decoder
	messages   otlpproto.Decoder
	profile    profile.Decoder
	lookups    profile.HashDecoder
	plan       *profile.Plan // of the input whose block is decoded, where it holds profile lines
	recordings lct.Decoder
	frames     *zstd.Decoder
	plain      []byte // a decompressed message
}

// batchRecords is how many records a batch gathers between the values or messages of a block before it is handed on, while they are in the processor's cache.
const batchRecords = 200

// full reports whether the batch is to be handed on before more is decoded.
func (w *worker) full() bool { return len(w.batch.Records) >= batchRecords }

// flush hands the batch on.
func (w *worker) flush() {
	if w.first {
		w.sample()
	}
	if w.pick != nil {
		w.pick.keep(w.batch)
	}
	if len(w.batch.Records) > 0 && w.err == nil {
		w.spans.addBatch(w.batch)
		w.err = w.sink.Add(w.batch)
	}
	w.batch.Reset()
}

// json decodes JSON values: OTLP, Jaeger's, and what stands between. Each decoder takes what is its own from the beginning of what is left;
// the one that knows the first key is asked first, so that the other need not pass over a large value in vain.
func (w *worker) json(blk decode.Block, rep *decode.Report) {
	for len(blk.Data) > 0 {
		if w.full() {
			w.flush()
		}
		n, jaegers := 0, jaeger.Begins(blk.Data)
		if jaegers {
			n = w.traces.Decode(blk, w.batch, rep)
		}
		if n == 0 {
			n = w.values.Decode(blk, w.batch, rep)
		}
		if n == 0 && !jaegers {
			n = w.traces.Decode(blk, w.batch, rep)
		}
		if n == 0 {
			n = foreign(blk, rep)
		}
		blk.Line += decode.Newlines(blk.Data[:n])
		blk.Offset += int64(n)
		blk.Data = blk.Data[n:]
	}
}

// foreign passes over what stands at the beginning of a block and has no decoder, says what it is, and returns its length.
func foreign(blk decode.Block, rep *decode.Report) int {
	data := blk.Data
	if bytes.HasPrefix(data, bom) {
		return len(bom)
	}
	line, offset := blk.Line, blk.Offset
	if data[0] != '{' && data[0] != '[' {
		rep.Skip(line, offset, errors.New("no JSON value"))
		if n := bytes.IndexByte(data, '\n'); n >= 0 {
			return n + 1
		}
		return len(data)
	}
	var s jsonscan.Scanner
	s.Reset(data)
	v := shapeOf(&s, nil)
	if err := s.Err(); err != nil {
		if errors.Is(err, jsonscan.ErrEnd) {
			rep.Truncated, err = true, decode.ErrTruncated
		}
		rep.Skip(line, offset, err)
		return jsonscan.Resync(data, 0)
	}
	switch k := kindOf(&v); {
	case k != nil:
		rep.Skip(line, offset, fmt.Errorf("no OTLP JSON but %s", k.says))
	case v.empty:
		rep.Skip(line, offset, errors.New("no OTLP JSON"))
	default:
		rep.Skip(line, offset, fmt.Errorf("no OTLP JSON but a value with the keys %s", strings.Join(quoted(v.keys), ", ")))
	}
	return s.Pos()
}

// message decodes a protobuf message.
func (w *worker) message(blk decode.Block, rep *decode.Report) { w.messages.Decode(blk, w.batch, rep) }

// framed decodes a block of protobuf messages with their lengths before them.
func framed(frame framing) func(w *worker, blk decode.Block, rep *decode.Report) {
	return func(w *worker, blk decode.Block, rep *decode.Report) {
		for at := 0; at < len(blk.Data); {
			prefix, length, err := frame(blk.Data[at:])
			if prefix == 0 {
				if err == nil {
					rep.Truncated, err = true, decode.ErrTruncated
				}
				rep.Skip(0, blk.Offset+int64(at), err)
				return
			}
			at += prefix
			sub := blk
			sub.Data, sub.Offset = blk.Data[at:min(at+length, len(blk.Data))], blk.Offset+int64(at)
			if w.message(sub, rep); length > len(sub.Data) && !rep.Truncated {
				rep.Truncated = true
				rep.Problem(0, sub.Offset, decode.ErrTruncated)
			}
			at += length
			if w.full() {
				w.flush()
			}
		}
	}
}

// framedZstd decodes a block of zstd frames with one message in each and their lengths before them. Positions count messages, from 1.
func (w *worker) framedZstd(blk decode.Block, rep *decode.Report) {
	for n, data := int64(1), blk.Data; len(data) > 0; n++ {
		number := blk.Line + n
		prefix, length, _ := be32(data)
		if prefix == 0 || length > len(data)-prefix {
			rep.Truncated = true
			rep.Skip(number, blk.Offset, decode.ErrTruncated)
			return
		}
		sub := blk
		err := w.inflate(data[prefix : prefix+length])
		data = data[prefix+length:]
		if err != nil {
			rep.Skip(number, blk.Offset, fmt.Errorf("zstd frame: %w", err))
			continue
		}
		sub.Data, sub.Line, sub.Offset = w.plain, number, 0
		if first := bytes.TrimLeft(sub.Data, " \t\r\n"); len(first) > 0 && (first[0] == '{' || first[0] == '[') {
			w.json(sub, rep)
		} else {
			from := len(w.batch.Records)
			w.message(sub, rep)
			for i := from; i < len(w.batch.Records); i++ {
				w.batch.Records[i].Pos = number
			}
		}
		if w.full() {
			w.flush()
		}
	}
}

// trustedSize is how large a message may say it is for its memory to be taken at once. Beyond that memory grows with what comes out.
const trustedSize = 16 << 20

// inflate decompresses a message into w.plain.
func (w *worker) inflate(frame []byte) (err error) {
	if w.frames == nil {
		if w.frames, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow)); err != nil {
			return err
		}
	}
	var h zstd.Header
	if err := h.Decode(frame); err != nil {
		return err
	}
	if h.HasFCS && h.FrameContentSize <= trustedSize {
		w.plain, err = w.frames.DecodeAll(frame, w.plain[:0])
		return err
	}
	if err := w.frames.Reset(bytes.NewReader(frame)); err != nil {
		return err
	}
	w.plain = w.plain[:0]
	for want := blockSize; ; want = min(2*want, maxMessage+1) {
		var ended bool
		if w.plain, ended = fill(w.frames, w.plain, want, &err); ended {
			return err
		}
		if len(w.plain) > maxMessage {
			return fmt.Errorf("a message of more than %d MiB", maxMessage>>20)
		}
	}
}

// sampleNames is how many names of spans are kept of the beginning of an input.
const sampleNames = 20

// sample takes in the names of the batch.
func (w *worker) sample() {
	for i := range w.batch.Records {
		if id := w.batch.Records[i].Name; len(w.seen) < sampleNames && !slices.Contains(w.seen, id) {
			w.seen = append(w.seen, id)
		}
	}
}

// names are those that were sampled, sorted, which are forgotten.
func (w *worker) names() []string {
	names := make([]string, len(w.seen))
	for i, id := range w.seen {
		names[i] = w.batch.Dict.Str(id)
	}
	w.seen = w.seen[:0]
	slices.Sort(names)
	return names
}
