package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// file writes the pair of files n of every format. The last one brings its own stragglers too.
func (d *day) file(dir string, formats []string, n int, last bool) (t truth, err error) {
	t.StageSpans, t.StageNS, t.Bytes = map[string]int64{}, map[string]int64{}, map[string]int64{}
	var out [2][]*output
	for side, name := range [2]string{"vllm", "lmcache"} {
		for _, f := range formats {
			o, err := create(filepath.Join(dir, f, fmt.Sprintf("%s-%03d.%s", name, n, suffixes[f])), f)
			if err != nil {
				return t, err
			}
			out[side] = append(out[side], o)
		}
	}
	var batches [processes][]span
	flush := func(p int) error {
		if len(batches[p]) == 0 {
			return nil
		}
		side := 0
		if p >= serverAt {
			side = 1
		}
		m := messageOf(p, batches[p])
		for i := range batches[p] {
			if batches[p][i].unread {
				t.unread += unreadSize
			}
		}
		for i, o := range out[side] {
			size, err := o.write(&m)
			if err != nil {
				return err
			}
			if i == 0 && o.format == "jsonl" {
				t.plain += int64(size)
			}
		}
		batches[p] = batches[p][:0]
		return nil
	}
	put := func(spans []span, want func(process int) bool) error {
		for _, s := range spans {
			if !want(s.process) {
				continue
			}
			t.Spans++
			t.StageSpans[s.name]++
			t.StageNS[s.name] += s.end - s.start
			if batches[s.process] = append(batches[s.process], s); len(batches[s.process]) >= 60+20*(s.process%8) {
				if err := flush(s.process); err != nil {
					return err
				}
			}
		}
		return nil
	}
	from, to := n*perFile, min((n+1)*perFile, d.requests)
	for i := max(0, from-perFile); i < to; i++ {
		r := d.request(i)
		ofServer := func(p int) bool { return p >= serverAt }
		if i < from { // of the file before
			if r.straggler {
				if err := put(r.spans, ofServer); err != nil {
					return t, err
				}
			}
			continue
		}
		t.Requests++
		t.LatencyNS += r.latency
		t.RequestedTokens += r.requested
		t.HitTokens += r.hit
		if r.straggler {
			t.Stragglers++
		}
		if err := put(r.spans, func(p int) bool { return !r.straggler || last || !ofServer(p) }); err != nil {
			return t, err
		}
	}
	for p := range batches {
		if err := flush(p); err != nil {
			return t, err
		}
	}
	for _, side := range out {
		for _, o := range side {
			size, err := o.close()
			if err != nil {
				return t, err
			}
			t.Bytes[o.format] += size
		}
	}
	return t, nil
}

// unreadSize is what k8s.pod.uid takes of a span in JSON.
const unreadSize = int64(len(`{"key":"k8s.pod.uid","value":{"stringValue":"01234567-0123-0123-0123-0123456789ab"}},`))

// messageOf is the export of spans of one process.
func messageOf(p int, spans []span) ptrace.Traces {
	m := ptrace.NewTraces()
	rs := m.ResourceSpans().AppendEmpty()
	a := rs.Resource().Attributes()
	switch {
	case p >= serverAt:
		a.PutStr("service.instance.id", fmt.Sprintf("5f0c2f9e-6a55-4f3e-9a3f-7f0d5f1f6f1%d", p-serverAt))
		a.PutStr("service.name", "lmcache")
	case p >= workerAt:
		a.PutStr("service.instance.id", fmt.Sprintf("vllm-%d-worker-%d", (p-workerAt)/ranks, (p-workerAt)%ranks))
		a.PutStr("service.name", "vllm")
	default:
		a.PutStr("service.instance.id", fmt.Sprintf("vllm-%d", p))
		a.PutStr("service.name", "vllm")
	}
	a.PutInt("process.pid", int64(4200+p))
	a.PutStr("host.name", fmt.Sprintf("node-%d", p%4))
	scopes := map[string]ptrace.SpanSlice{}
	for i := range spans {
		s := &spans[i]
		to, ok := scopes[s.scope]
		if !ok {
			ss := rs.ScopeSpans().AppendEmpty()
			ss.Scope().SetName(s.scope)
			to = ss.Spans()
			scopes[s.scope] = to
		}
		x := to.AppendEmpty()
		x.SetTraceID(s.trace)
		x.SetSpanID(s.id)
		x.SetParentSpanID(s.parent)
		x.SetName(s.name)
		x.SetKind(ptrace.SpanKind(s.kind))
		x.SetFlags(256) // the exporters of the SDKs say that the parent is not remote
		off := skew(p, s.start)
		x.SetStartTimestamp(pcommon.Timestamp(s.start + off))
		x.SetEndTimestamp(pcommon.Timestamp(s.end + off))
		for _, at := range s.attrs {
			switch at.kind {
			case 's':
				x.Attributes().PutStr(at.key, at.text)
			case 'i':
				x.Attributes().PutInt(at.key, at.n)
			case 'f':
				x.Attributes().PutDouble(at.key, at.f)
			}
		}
	}
	return m
}

// The suffixes of the files of each format.
var suffixes = map[string]string{"jsonl": "jsonl", "pb": "pb", "zst": "jsonl.zst", "frames": "json.zstd"}

// An output is one file of a format.
type output struct {
	format string
	f      *os.File
	w      *bufio.Writer
	z      *zstd.Encoder
}

func create(path, format string) (*output, error) {
	if suffixes[format] == "" {
		return nil, fmt.Errorf("no format %q", format)
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	o := &output{format: format, f: f, w: bufio.NewWriterSize(f, 1<<20)}
	switch format {
	case "zst":
		o.z, err = zstd.NewWriter(o.w, zstd.WithEncoderConcurrency(1))
	case "frames":
		o.z, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	}
	return o, err
}

// write writes a message and gives its length before compression.
func (o *output) write(m *ptrace.Traces) (n int, err error) {
	var b []byte
	if o.format == "pb" {
		b, err = (&ptrace.ProtoMarshaler{}).MarshalTraces(*m)
	} else {
		b, err = (&ptrace.JSONMarshaler{}).MarshalTraces(*m)
	}
	if err != nil {
		return 0, err
	}
	n = len(b)
	switch o.format {
	case "jsonl":
		_, err = o.w.Write(append(b, '\n'))
	case "zst":
		_, err = o.z.Write(append(b, '\n'))
	case "frames":
		b = o.z.EncodeAll(b, nil)
		fallthrough
	case "pb":
		_, err = o.w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	}
	return n, err
}

func (o *output) close() (size int64, err error) {
	if o.format == "zst" {
		if err = o.z.Close(); err != nil {
			return 0, err
		}
	}
	if err = o.w.Flush(); err != nil {
		return 0, err
	}
	st, err := o.f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), o.f.Close()
}
