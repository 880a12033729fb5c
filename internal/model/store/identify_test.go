package store

import (
	"slices"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// traceText is the id of a trace of a test as outputs show it.
func traceText(word string) string { return model.NewDict().TraceIDText(traceOf(word)) }

func TestIdentify(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  Config
		rows string
		want []string
		sum  func(s Summary) bool
	}{
		{name: "R4.1 a session of a user is no key; R4.3 its span belongs to the span above it; R4.4 its own trace is a request", rows: `
g Q - cb.request 1 100 session_id=good
g A Q app.step 10 20 scope=app session_id=user-1
app B - GET 1 50 scope=app session_id=user-1
app C B sql 10 20 scope=app`, want: []string{"good: cb.request/id [app.step]/trace", traceText("app") + " (trace): [GET]/trace [sql]/trace"},
			sum: func(s Summary) bool {
				return s.WeakLost == 1 && s.WeakHeld == 0 && s.TraceKeyed == 1 && s.Unattributed == 0 && s.Records == 4 && s.Spans == 4
			}},
		{name: "R4.22 request is vocabulary only with a scope of LMCache or a session that is strong elsewhere", rows: `
g Q - cb.request 1 100 session_id=good
h B - request 1 500 scope=app session_id=user-1
i C - request 2 500 scope=app session_id=good
j D - request 3 500 scope=lmcache_mp.server session_id=fine
k E - timeout 3 500 scope=app request_id=good`, want: []string{"fine: request/id", "good: cb.request/id request/id [timeout]/id", traceText("h") + " (trace): [request]/trace"}},
		{name: "R4.1 session_id, then request_id, req_id, external_request_id", rows: `
a Q - cb.request 1 100 session_id=good
a A Q cb.schedule 10 20 session_id=good request_id=other req_id=third external_request_id=ext
b Q - cb.request 1 100 session_id=next
c B - cb.schedule 10 20 request_id=next req_id=good external_request_id=good
d Q - cb.request 1 100 session_id=last
e C - cb.schedule 10 20 req_id=last external_request_id=good`, want: []string{"good: cb.request/id cb.schedule/id", "last: cb.request/id cb.schedule/id", "next: cb.request/id cb.schedule/id"}},
		{name: "R4.1 weak keys hold where they are strong, the first that does", rows: `
g Q - cb.request 1 100 session_id=good
h A - app.step 10 20 scope=app request_id=good
i B - GET 1 50 scope=app request_id=unheard-of
j C - request 1 500 scope=app
k D - app.step 10 20 scope=app session_id=user-1 req_id=good
l E - mp.other 10 20 scope=lmcache_mp.server session_id=good
m F - mp.other 10 20 scope=lmcache_mp.server request_id=good`, want: []string{
			"good: cb.request/id [app.step]/id [app.step]/id [mp.other]/id [mp.other]/id",
			traceText("i") + " (trace): [GET]/trace", traceText("j") + " (trace): [request]/trace"},
			sum: func(s Summary) bool { return s.WeakHeld == 1 && s.WeakLost == 2 && s.TraceKeyed == 2 }},
		{name: "R4.1 a weak key of a scope of LMCache is strong as session_id", rows: `
g Q - mp.other 1 100 scope=lmcache_mp.server session_id=good
h A - app.step 10 20 scope=app request_id=good`, want: []string{"good: [mp.other]/id [app.step]/id"}},
		{name: "R4.4 trace as key", rows: `
g Q - cb.request 1 100 session_id=good
l Q - cb.request 1 200
l S Q cb.schedule 10 150`, want: []string{"good: cb.request/id", traceText("l") + " (trace): cb.request/trace cb.schedule/trace"}},
		{name: "R4.4 --key id leaves it out", cfg: Config{KeyMode: KeyByID}, rows: `
g Q - cb.request 1 100 session_id=good
l Q - cb.request 1 200`, want: []string{"good: cb.request/id"}, sum: func(s Summary) bool { return s.Unattributed == 1 }},
		{name: "R4.4 --key trace keys everything so; what has no trace stays with its id", cfg: Config{KeyMode: KeyByTrace}, rows: `
g Q - cb.request 1 100 session_id=good
l Q - cb.request 1 200 session_id=good
l E - llm_request 2 200 gen_ai.request.id=ext scope=vllm
- - - sched.gnnmt 1 5 request_id=good line`, want: []string{"good: sched.gnnmt/id",
			traceText("g") + " (trace): cb.request/trace", traceText("l") + " (trace) ext=ext: cb.request/trace llm_request/trace"}},
		{name: "R4.2 several internal ids fit: it stays alone, they are candidates", rows: `
a E - llm_request 2 100 gen_ai.request.id=pre scope=vllm
b E - llm_request 3000 3100 gen_ai.request.id=post scope=vllm
c Q - cb.request 1000 1100 session_id=chat-00000001
d Q - cb.request 1000 1100 session_id=chat-00000002
e E - llm_request 1000 1200 gen_ai.request.id=chat scope=vllm`, want: []string{"chat ext=chat ambiguous: llm_request/id", "chat-00000001 ext=chat candidate: cb.request/id",
			"chat-00000002 ext=chat candidate: cb.request/id", "post ext=post: llm_request/id", "pre ext=pre: llm_request/id"},
			sum: func(s Summary) bool { return s.Ambiguous == 1 && s.Alone == 2 && s.Joined == 0 }},
		{name: "R4.2 exactly first, then stripped", rows: `
a Q - cb.request 1 100 session_id=chat-00000001
b E - llm_request 2 200 gen_ai.request.id=chat-00000001 scope=vllm
c Q - cb.request 1 100 session_id=0_talk-00000001
d E - llm_request 2 200 gen_ai.request.id=talk scope=vllm`, want: []string{
			"0_talk-00000001 ext=talk: cb.request/id llm_request/normalised_id", "chat-00000001 ext=chat-00000001: cb.request/id llm_request/id"},
			sum: func(s Summary) bool { return s.Joined == 2 && s.Ambiguous == 0 && s.Alone == 0 }},
		{name: "R4.2 an id that fits exactly is no candidate of a shorter one", rows: `
a Q - cb.request 1 100 session_id=job-deadbeef
b Q - cb.request 1 100 session_id=job-0a1b2c3d
c E - llm_request 2 200 gen_ai.request.id=job-deadbeef scope=vllm
d E - llm_request 2 200 gen_ai.request.id=job scope=vllm`, want: []string{
			"job-0a1b2c3d ext=job: cb.request/id llm_request/normalised_id", "job-deadbeef ext=job-deadbeef: cb.request/id llm_request/id"}},
		{name: "R4.2 the suffix goes once only, and only 8 hex digits", rows: `
a Q - cb.request 1 100 session_id=job-deadbeef-0a1b2c3d
b E - llm_request 2 200 gen_ai.request.id=job-deadbeef scope=vllm
c E - llm_request 2 200 gen_ai.request.id=job scope=vllm
d Q - cb.request 1 100 session_id=cmpl-abc-0
e E - llm_request 2 200 gen_ai.request.id=cmpl-abc scope=vllm`, want: []string{
			"cmpl-abc ext=cmpl-abc: llm_request/id", "cmpl-abc-0: cb.request/id", "job ext=job: llm_request/id",
			"job-deadbeef-0a1b2c3d ext=job-deadbeef: cb.request/id llm_request/normalised_id"}},
		{name: "R4.2 the index of a choice goes before the suffix; an external id may begin with a number", rows: `
a Q - cb.request 1 100 session_id=1_cmpl-abc-0-0011aabb
b E - llm_request 2 200 gen_ai.request.id=cmpl-abc-0-0011aabb scope=vllm
c E - llm_request 2 200 gen_ai.request.id=cmpl-abc-0 scope=vllm
d Q - cb.request 1 100 session_id=2024_job-0011aabb
e E - llm_request 2 200 gen_ai.request.id=2024_job scope=vllm`, want: []string{
			"1_cmpl-abc-0-0011aabb ext=cmpl-abc-0-0011aabb: cb.request/id llm_request/normalised_id",
			"2024_job-0011aabb ext=2024_job: cb.request/id llm_request/normalised_id", "cmpl-abc-0 ext=cmpl-abc-0: llm_request/id"}},
		{name: "R4.2 several llm_requests of one external id all join its only internal id", rows: `
a Q - cb.request 1 100 session_id=chat-00000001
b E - llm_request 2 200 gen_ai.request.id=chat scope=vllm
c F - llm_request 3 200 gen_ai.request.id=chat scope=vllm`, want: []string{"chat-00000001 ext=chat: cb.request/id llm_request/normalised_id llm_request/normalised_id"}},
		{name: "R4.2 an llm_request with a strong key needs no join", rows: `
a Q - cb.request 1 100 session_id=chat-00000001
b E - llm_request 2 200 gen_ai.request.id=chat request_id=chat-00000001 scope=vllm`, want: []string{"chat-00000001 ext=chat: cb.request/id llm_request/id"}},
		{name: "R4.3 spans below an llm_request come with it to the internal id", rows: `
a Q - cb.request 1 100 session_id=chat-00000001
b E - llm_request 2 200 gen_ai.request.id=chat scope=vllm
b C E llm_core 10 20 scope=vllm
b D C llm_step 11 20 scope=vllm`, want: []string{"chat-00000001 ext=chat: cb.request/id llm_request/normalised_id [llm_core]/trace [llm_step]/trace"}},
		{name: "R4.3 in a trace of two requests each span goes with the nearest key above it; one above both is nobody's", rows: `
a G - GET 1 900 scope=app
a H G middleware 2 900 scope=app
a Q H cb.request 10 100 session_id=one
a A Q cb.schedule 11 20
a B A inner 12 20
a R H cb.request 200 300 session_id=two
a C R cb.schedule 201 220
a D nowhere lost 201 220`, want: []string{"one: cb.request/id cb.schedule/trace [inner]/trace", "two: cb.request/id cb.schedule/trace"},
			sum: func(s Summary) bool { return s.Contested == 1 && s.Unattributed == 3 && s.TraceKeyed == 0 }},
		{name: "R4.3 a span above the only key of a trace is part of its request", rows: `
a G - GET 1 900 scope=app
a Q G cb.request 10 100 session_id=one`, want: []string{"one: [GET]/trace cb.request/id"}},
		{name: "R4.3 a ring of parents ends, and a weak key counts on the way up", rows: `
a Q - cb.request 10 100 session_id=one
a R - cb.request 10 100 session_id=two
a A B x 20 30 scope=app
a B A y 20 30 scope=app
a C - app.step 20 40 scope=app request_id=two
a D C below 21 30 scope=app`, want: []string{"one: cb.request/id", "two: cb.request/id [app.step]/id [below]/trace"},
			sum: func(s Summary) bool { return s.Unattributed == 2 }},
		{name: "R4.3 one of two copies of a span has the key", rows: `
a Q - cb.request 10 100 session_id=one
a R - cb.request 10 100 session_id=two
a A R cb.schedule 20 30 session_id=one
a A R cb.schedule 20 30
a B A below 21 30 scope=app`, want: []string{"one: cb.request/id cb.schedule/trace cb.schedule/id [below]/trace", "two: cb.request/id"}},
		{name: "R4.5 an empty id belongs to the process, in a trace with keys too", rows: `
a Q - cb.request 10 100 session_id=one
a R Q cb.chunks.evicted 10 10 session_id= scope=lmcache_mp.blend
b S - cb.chunks.evicted 10 10 session_id= scope=lmcache_mp.blend
c T - cb.request 10 10 session_id= request_id=two`, want: []string{"one: cb.request/id", "two: cb.request/id"},
			sum: func(s Summary) bool { return s.Unattributed == 2 }},
		{name: "R4.6 lines and points without a request belong to the process, with one to it", rows: `
- - - sched.gnnmt 10 20 request_id=one line
- - - engine.step 10 20 line
- - - sched.gnnmt 10 20 request_id= line
- - - StorageManager.reserve_write 15 15 point
- - - StorageManager.submit_prefetch_task 16 16 external_request_id=one point`, want: []string{"one: sched.gnnmt/id [StorageManager.submit_prefetch_task]/id"},
			sum: func(s Summary) bool {
				return s.ProcessRecords == 3 && s.Unattributed == 0 && s.Records == 5 && s.Spans == 0
			}},
		{name: "a span without key and trace belongs to the process", rows: `
- A - app.step 10 20 scope=app
- B - app.step 10 20 scope=app session_id=user-1
- C - app.step 10 20 scope=app session_id=one
- D - cb.request 10 20 session_id=one`, want: []string{"one: [app.step]/id cb.request/id"}, sum: func(s Summary) bool { return s.Unattributed == 2 }},
		{name: "R2.6 cbtrace.request wins over keys, joins and traces", rows: `
a Q - cb.request 1 100 session_id=one cbtrace.request=one
a A Q cb.schedule 3 20 cbtrace.request=one
a B Q GET 3 20 scope=app cbtrace.request=
b E - llm_request 2 100 gen_ai.request.id=two scope=vllm cbtrace.request=one
c W - request 5 20 scope=app session_id=one cbtrace.request=one
d S - app.step 6 20 scope=app session_id=one cbtrace.request=` + traceText("d"), want: []string{
			traceText("d") + " (trace): [app.step]/trace",
			"one ext=two: cb.request/id llm_request/normalised_id cb.schedule/trace request/id"}, sum: func(s Summary) bool { return s.Unattributed == 1 }},
		{name: "R2.6 a span without a key goes with one that names its own trace as its request", rows: `
d E - llm_request 1 100 gen_ai.request.id=ext scope=vllm cbtrace.request=` + traceText("d") + `
d S E app.step 6 20 scope=app`, want: []string{traceText("d") + " (trace) ext=ext: llm_request/trace [app.step]/trace"}},
		{name: "R2.6 a shard knows its ambiguous ids again", rows: `
c Q - cb.request 1000 1100 session_id=chat-00000001 cbtrace.request=chat-00000001
d Q - cb.request 1000 1100 session_id=chat-00000002 cbtrace.request=chat-00000002
e E - llm_request 1000 1200 gen_ai.request.id=chat scope=vllm cbtrace.request=chat`, want: []string{"chat ext=chat ambiguous: llm_request/id",
			"chat-00000001 ext=chat candidate: cb.request/id", "chat-00000002 ext=chat candidate: cb.request/id"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			slices.Sort(tt.want)
			got, sum := newCapture().requests(t, tt.cfg, tt.rows)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got\n%q\nwant\n%q", got, tt.want)
			}
			if tt.sum != nil && !tt.sum(sum) {
				t.Errorf("summary %+v", sum)
			}
		})
	}
}

// R4.12: a refused file has no records and makes no key strong.
func TestRefusedFile(t *testing.T) {
	c := newCapture("a.json", "b.jsonl")
	c.dict.File(1).Refused.Store(true)
	got, _ := c.requests(t, Config{}, `
a Q - cb.request 10 100 session_id=one
a R Q app.step 10 100 scope=app
b S - app.step 10 100 scope=app session_id=two
- - - sched.gnnmt 10 20 request_id=two line file=1
- - - sched.gnnmt 10 20 request_id=one line file=1`)
	want := []string{"one: cb.request/id [app.step]/trace", traceText("b") + " (trace): [app.step]/trace"}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
