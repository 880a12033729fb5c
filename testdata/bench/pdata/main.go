// Command pdata parses OTLP files with the collector's own library, on all processors, and counts spans: what reading alone costs there.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

func main() {
	var files []string
	for _, dir := range os.Args[1:] {
		found, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			fatal(err)
		}
		files = append(files, found...)
	}
	messages := make(chan []byte, 64)
	free := sync.Pool{New: func() any { return []byte(nil) }}
	var spans atomic.Int64
	var wg sync.WaitGroup
	json := true
	for _, f := range files {
		json = json && strings.HasSuffix(f, ".jsonl")
	}
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for m := range messages {
				var t ptrace.Traces
				var err error
				if json {
					t, err = (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(m)
				} else {
					t, err = (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(m)
				}
				if err != nil {
					fatal(err)
				}
				spans.Add(int64(t.SpanCount()))
				free.Put(m[:0]) //nolint: the slice is what is kept
			}
		})
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			fatal(err)
		}
		r := bufio.NewReaderSize(f, 4<<20)
		for {
			m, err := next(r, json, free.Get().([]byte))
			if err == io.EOF {
				break
			}
			if err != nil {
				fatal(fmt.Errorf("%s: %w", name, err))
			}
			messages <- m
		}
		f.Close()
	}
	close(messages)
	wg.Wait()
	fmt.Println(spans.Load())
}

// next reads one message: a line, or what a big-endian length says.
func next(r *bufio.Reader, json bool, buf []byte) ([]byte, error) {
	if json {
		for {
			part, err := r.ReadSlice('\n')
			buf = append(buf, part...)
			if err == nil {
				return buf[:len(buf)-1], nil
			}
			if err != bufio.ErrBufferFull {
				return nil, err
			}
		}
	}
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(length[:]))
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	_, err := io.ReadFull(r, buf[:n])
	return buf[:n], err
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "pdata:", err)
	os.Exit(1)
}
