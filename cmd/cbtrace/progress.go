package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/cbtrace/cbtrace/internal/ingest"
	"github.com/cbtrace/cbtrace/internal/render"
)

// A screen is the standard error: on a terminal a line that says how far reading has come stands below all that is written to it.
type screen struct {
	w  io.Writer
	mu sync.Mutex

	drawn bool // the line is there
	still bool // no line comes any more
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	return s.w.Write(p)
}

// wipe takes the line away; the next tick draws it again.
func (s *screen) wipe() {
	if s.drawn {
		_, _ = io.WriteString(s.w, "\r\x1b[K") // a terminal that is gone is no matter
		s.drawn = false
	}
}

func (s *screen) draw(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.still {
		_, _ = io.WriteString(s.w, "\r"+line+"\x1b[K")
		s.drawn = true
	}
}

// stop takes the line away for good.
func (s *screen) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	s.still = true
}

// A progress tells how far a run has come: while it reads, on a line of stderr, and at its end what it did. The zero value tells nothing.
type progress struct {
	ingest.Progress
	start   time.Time
	total   int64 // bytes to read, 0 when that is not known
	columns int
	plain   render.Style
	told    bool // something was shown, or is to be at the end
}

// How often the line is drawn, and how long nothing is shown at first: a short run stays quiet.
const (
	tick  = 100 * time.Millisecond
	grace = 500 * time.Millisecond
)

// progress begins to tell of reading a set of inputs, and returns what readers count in; nil where nothing is to be told.
func (a *app) progress(set *ingest.Set) *ingest.Progress {
	when := a.terminal.progress.value
	columns, terminal := terminalOf(a.stderr.w)
	if when == "never" || when == "auto" && (!terminal || a.quiet || a.getenv("TERM") == "dumb") {
		return nil
	}
	if a.told != nil {
		return &a.told.Progress
	}
	p := &progress{start: time.Now(), columns: columns, plain: render.Style{ASCII: !a.unicode()}, told: when == "always"}
	for _, in := range set.Inputs {
		if in.Size < 0 {
			p.total = 0
			break
		}
		p.total += in.Size
	}
	a.told = p
	if terminal {
		go p.show(a.stderr)
	}
	return &p.Progress
}

// show draws the line until the screen stands still.
func (p *progress) show(s *screen) {
	for range time.Tick(tick) {
		if time.Since(p.start) < grace {
			continue
		}
		s.mu.Lock()
		still := s.still
		p.told = p.told || !still
		s.mu.Unlock()
		if still {
			return
		}
		s.draw(render.Cut(p.plain.Plain(p.line(time.Since(p.start))), max(narrowest, p.columns)-1))
	}
}

// line says how far reading has come, or that it is over.
func (p *progress) line(after time.Duration) string {
	bytes, spans, seconds := p.Bytes.Load(), p.Spans.Load(), after.Seconds()
	if p.total > 0 && bytes >= p.total {
		return fmt.Sprintf("read %s, %s; working, %s", render.Bytes(bytes), render.Short(spans)+" spans", render.Elapsed(after))
	}
	rate := float64(bytes) / seconds
	text := "reading " + render.Bytes(bytes)
	if p.total > 0 {
		text += " of " + render.Bytes(p.total)
	}
	text += fmt.Sprintf(", %s/s, %s spans", render.Bytes(int64(rate)), render.Short(spans))
	if p.total > 0 && rate > 0 {
		text += ", " + render.Elapsed(time.Duration(float64(p.total-bytes)/rate*float64(time.Second))) + " left"
	}
	return text
}

// tellWork ends with what the run did, where progress was shown and nobody interrupted it.
func (a *app) tellWork(ctx context.Context) {
	a.stderr.stop()
	p := a.told
	if p == nil || ctx.Err() != nil {
		return
	}
	a.stderr.mu.Lock()
	told := p.told
	a.stderr.mu.Unlock()
	if told && p.Bytes.Load() > 0 {
		fmt.Fprintln(a.stderr, p.plain.Plain(fmt.Sprintf("%s spans, %s, %s%s", render.Short(p.Spans.Load()), render.Bytes(p.Bytes.Load()), render.Elapsed(time.Since(p.start)), peak())))
	}
}

// peak is how much memory the run held at most, where the system says so.
func peak() string {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return ""
	}
	bytes := int64(u.Maxrss)
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" {
		bytes *= 1024
	}
	return ", peak " + render.Bytes(bytes)
}
