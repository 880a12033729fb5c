package clock

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// instances says of which process the lines of a capture are, by file and pid.
func (c *capture) instances(t *Table) map[string]string {
	out := map[string]string{}
	for _, r := range c.requests {
		for _, s := range r.Spans {
			if s.Line {
				l := r.LineProcess(s)
				out[fmt.Sprintf("%s %d", c.dict.Proc(l.Proc).Name, l.PID)] = c.dict.Proc(t.Process(r, s)).Name
			}
		}
	}
	return out
}

// R4.11, by hand. Where a span and a line pair, the line is gone; a second line shows whose it would be.
func TestVotes(t *testing.T) {
	for _, c := range []struct {
		name, rows string
		times      int
		file, want string
	}{
		{"seen both ways", `
			* Q - cb.build_meta 10 20 process=i-sched pid=5
			* a - sched.build_meta 10 20 process=f line pid=4242
			* b - sched.gnnmt 1 9 process=f line pid=4242`, 1, "/f 4242", "/f"}, // of another pid: no pair
		{"most pairs", `
			* Q - cb.build_meta 10 20 process=i-sched
			* a - sched.build_meta 10 20 process=f line pid=4242
			* b - sched.gnnmt 1 9 process=f line pid=4242
			other Q - cb.build_meta 10 20 process=a-first
			other a - sched.build_meta 10 20 process=f line pid=4242`, 2, "/f 4242", "i-sched"},
		{"ties by bytes", `
			* Q - cb.build_meta 10 20 process=i-sched
			* a - sched.build_meta 10 20 process=f line pid=4242
			* b - sched.gnnmt 1 9 process=f line pid=4242
			other Q - cb.build_meta 10 20 process=a-first
			other a - sched.build_meta 10 20 process=f line pid=4242`, 1, "/f 4242", "a-first"},
		{"a pair counts for more than many with the same pid", `
			* Q - cb.request 0 20 process=i-same pid=4242
			* b - sched.gnnmt 1 9 process=f line pid=4242
			other Q - cb.build_meta 10 20 process=z-pair
			other a - sched.build_meta 10 20 process=f line pid=4242`, 9, "/f 4242", "z-pair"},
		{"the same pid in the same requests", `
			* Q - cb.request 0 20 process=i-sched pid=4242
			* b - sched.gnnmt 1 9 process=f line pid=4242`, 1, "/f 4242", "i-sched"},
		{"in other requests only", `
			* b - sched.gnnmt 1 9 process=f line pid=4242
			other Q - cb.request 0 20 process=i-sched pid=4242`, 1, "/f 4242", "/f"},
		{"of another owner", `
			* Q - llm_request 0 20 process=i-engine pid=4242
			* b - sched.gnnmt 1 9 process=f line pid=4242`, 1, "/f 4242", "/f"},
		{"of another rank", `
			* Q - cb.execute 0 20 process=i-w1 pid=4242 worker_id=1
			* b - slk.load 1 9 process=f line pid=4242 worker_id=0`, 1, "/f 4242", "/f"},
		{"an unknown name", `
			* Q - vendor.annotate 0 20 process=i-w0 pid=4300
			* b - slk.load 1 9 process=f line pid=4300`, 1, "/f 4300", "i-w0"},
		{"an unknown name in a container", `
			* Q - GET 0 20 process=i-gateway pid=1
			* b - slk.load 1 9 process=f line pid=1`, 1, "/f 1", "/f"},
	} {
		v := captureOf(t, ms, c.times, c.rows)
		if got := v.instances(v.table())[c.file]; got != c.want {
			t.Errorf("%s: lines of %s are of %q, want %q", c.name, c.file, got, c.want)
		}
	}
}

// What lines say of clocks is said of their instance: two pairs of spans and four of lines make one estimate of six.
func TestClockOfLines(t *testing.T) {
	c := captureOf(t, ms, 4, `
		* Q - cb.request {i}*1000 {i}*1000+99 process=i-sched pid=4242
		* a - gnnmt.cb_unified_submit {i}*1000+10 {i}*1000+11 process=file line pid=4242
		* b - gnnmt.cb_unified_poll {i}*1000+60 {i}*1000+61 process=file line pid=4242
		* V - cb.lookup {i}*1000+115 {i}*1000+150 process=server
		x K - cb.lookup.rpc 10010 10061 process=i-sched
		x V K cb.lookup 10115 10150 process=server
		y K - cb.lookup.rpc 11010 11061 process=i-sched
		y V K cb.lookup 11115 11150 process=server
		z s - slk.load 12000 12050 process=file line pid=4300
		z R - cb.retrieve 12110 12120 process=server`)
	table := c.table()
	row := c.clockOf(table, "server", "i-sched")
	// The server's clock is ahead: −105 ms … −89 ms from rpc ⊇ cb.lookup, −110 ms … −70 ms from the load.
	if row.Pairs != 7 || row.Offset.V != -97*ms || row.Uncertainty.V != 8*ms || row.Basis != BasisPairs {
		t.Errorf("clock of the server: %+v", row)
	}
	for _, r := range table.Clocks() {
		if c.dict.Proc(r.Process).Name == "/file" || c.dict.Proc(r.Reference).Name == "/file" {
			t.Errorf("a row of the file: %+v", r)
		}
	}
	file, sched, server := c.proc("/file"), c.proc("i-sched"), c.proc("server")
	for _, x := range []struct {
		what     string
		from, to model.ProcID
		want     int64
	}{{"file to instance", file, sched, 0}, {"instance to file", sched, file, 0}, {"server to file", server, file, -97 * ms}, {"file to server", file, server, 97 * ms}} {
		if d, _, ok := table.Shift(x.from, x.to, epoch+1000*ms); !ok || int64(d) != x.want {
			t.Errorf("%s: %v, %v, want %d ns", x.what, d, ok, x.want)
		}
	}
	if !table.Routed(file) {
		t.Error("the file has no route")
	}
	rows := table.Against(server, []model.ProcID{file, sched, server})
	if len(rows) != 2 || rows[0].Process != file || rows[0].Offset.V != 97*ms || rows[1].Process != sched || rows[1].Offset != rows[0].Offset {
		t.Errorf("against the server: %+v", rows)
	}
	if rows := table.Against(sched, []model.ProcID{file}); len(rows) != 1 || rows[0].Basis != BasisZero || rows[0].Offset.V != 0 || !rows[0].Offset.OK {
		t.Errorf("against its own clock: %+v", rows)
	}
	// Pid 4300 votes for nobody: its lines stay the file's, and share its clock.
	if got := c.instances(table); got["/file 4242"] != "i-sched" || got["/file 4300"] != "/file" {
		t.Errorf("lines are of %v", got)
	}

	// The same when the names stand the other way round: server before file, but after the instance.
	want := fmt.Sprint(row.Offset, row.Uncertainty, row.Pairs)
	for _, name := range []string{"zz-sched", "a-sched"} {
		c := captureOf(t, ms, 4, `
			* Q - cb.request {i}*1000 {i}*1000+99 process=`+name+` pid=4242
			* a - gnnmt.cb_unified_submit {i}*1000+10 {i}*1000+11 process=file line pid=4242
			* b - gnnmt.cb_unified_poll {i}*1000+60 {i}*1000+61 process=file line pid=4242
			* V - cb.lookup {i}*1000+115 {i}*1000+150 process=server
			x K - cb.lookup.rpc 10010 10061 process=`+name+`
			x V K cb.lookup 10115 10150 process=server
			y K - cb.lookup.rpc 11010 11061 process=`+name+`
			y V K cb.lookup 11115 11150 process=server
			z s - slk.load 12000 12050 process=file line pid=4300
			z R - cb.retrieve 12110 12120 process=server`)
		row := c.clockOf(c.table(), "server", name)
		if got := fmt.Sprint(row.Offset, row.Uncertainty, row.Pairs); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// Votes are part of the survey, whatever the order of requests, and of its file.
func TestVotesInFile(t *testing.T) {
	c := captureOf(t, ms, 3, `
		* Q - cb.request 0 20 process=i-sched pid=4242
		* b - sched.gnnmt 1 9 process=f line pid=4242
		* X - vendor.annotate 0 20 process=i-w0 pid=4300
		* s - slk.load 1 9 process=f line pid=4300
		x B - cb.build_meta 10 20 process=i-other
		x a - sched.build_meta 10 20 process=g line pid=7
		x b - sched.gnnmt 1 9 process=g line pid=7`)
	v := c.survey()
	written := c.bytes(t, v)
	parts := NewSurvey(c.dict)
	for i := len(c.requests) - 1; i >= 0; i-- {
		one := NewSurvey(c.dict)
		one.Add(c.requests[i])
		parts.Merge(one)
	}
	if !bytes.Equal(c.bytes(t, parts), written) {
		t.Error("a survey of parts in another order has other bytes")
	}
	read, err := Read(bytes.NewReader(written), c.dict)
	if err != nil {
		t.Fatal(err)
	}
	if again := c.bytes(t, read); !bytes.Equal(again, written) {
		t.Error("what was read is written otherwise")
	}
	want := map[string]string{"/f 4242": "i-sched", "/f 4300": "i-w0", "/g 7": "i-other"}
	if got := c.instances(read.Finish(Options{})); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("after reading %v, want %v", got, want)
	}
}
