package ingest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

// lineOfSpan is an export with one span, as a line.
func lineOfSpan(trace, name string, start int64, id, pad string) string {
	return fmt.Sprintf(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":%q,"spanId":"00000000000000a1","name":%q,"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[{"key":"request_id","value":{"stringValue":%q}},{"key":"pad","value":{"stringValue":%q}}]}]}]}]}`+"\n",
		trace, name, start, start+1e6, id, pad)
}

// A recordSink keeps where records stand and what they are called.
type recordSink struct {
	names *[]string
}

func (s recordSink) Add(b *model.Batch) error {
	for i := range b.Records {
		*s.names = append(*s.names, fmt.Sprintf("%s@%d", b.Dict.Str(b.Records[i].Name), b.Records[i].Pos))
	}
	return nil
}
func (recordSink) Close() error { return nil }

// readPicked reads what a Pick leaves of a set.
func readPicked(t *testing.T, set *Set, id string, sampled bool) (names []string, pick *Pick) {
	t.Helper()
	opt := Options{Jobs: 1, PickFrom: 1}
	pick, err := set.Pick(context.Background(), id, sampled, opt)
	if err != nil {
		t.Fatal(err)
	}
	opt.Pick = pick
	stats, err := set.Read(context.Background(), model.NewDict(), opt, func() Sink { return recordSink{&names} })
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range stats {
		if len(st.Errors) > 0 || st.Unusable != "" {
			t.Errorf("%+v", st)
		}
	}
	slices.Sort(names)
	return names, pick
}

// Of a file of 2 MB only the lines of the request are read, wherever they stand, with their line numbers: those with its id, those of its trace, and
// those of the trace of its external id.
func TestPickLines(t *testing.T) {
	const want, other = "1123456789abcdef1123456789abcdef", "fedcba98fedcba98fedcba98fedcba98"
	var file strings.Builder
	pad := strings.Repeat("x", 1000)
	for n := 1; n <= 2000; n++ {
		switch at := int64(1.7e18) + int64(n)*1e9; n {
		case 1:
			file.WriteString(lineOfSpan(want, "first", at, "other-request", pad))
		case 230: // lies over the end of a chunk
			file.WriteString(lineOfSpan(strings.ToUpper(want), "long", at, "other-request", strings.Repeat("y", 40_000)))
		case 1000:
			file.WriteString(lineOfSpan(want, "named", at, "chatcmpl-77-0011aabb", pad))
		case 1500:
			file.WriteString(strings.Replace(lineOfSpan(other, "llm_request", at, "chatcmpl-77", pad), "request_id", "gen_ai.request.id", 1))
		case 1501:
			file.WriteString(lineOfSpan(other, "child", at, "", pad))
		case 1600: // the digits as if they were the bytes
			file.WriteString(lineOfSpan(base64.StdEncoding.EncodeToString([]byte(want)), "digits", at, "", pad))
		case 1700: // hex digits in either case, as readers take them
			file.WriteString(lineOfSpan("1123456789AbcDEf1123456789aBCdeF", "mixed", at, "", pad))
		case 2000:
			file.WriteString(strings.TrimSuffix(lineOfSpan(want, "last", at, "", pad), "\n"))
		default:
			file.WriteString(lineOfSpan(fmt.Sprintf("%032x", 1<<40+n), "of another", at, fmt.Sprint("chatcmpl-1", n, "-0011aabb"), pad))
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := Expand([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"child@1501", "digits@1600", "first@1", "last@2000", "llm_request@1500", "long@230", "mixed@1700", "named@1000"}
	for _, id := range []string{"chatcmpl-77-0011aabb", "chatcmpl-77", "chatcmpl-77-0", want, want[16:], want[:9], want[:31], "chatcmpl-77#2", "1123456789aBcdEF1123456789AbCDEf", "1123456789aBcdEF"} {
		names, pick := readPicked(t, set, id, false)
		if pick == nil || !slices.Equal(names, all) {
			t.Errorf("%s: %v, want %v; %v", id, names, all, pick)
		}
	}
	if names, pick := readPicked(t, set, "nothing-has-it", false); pick == nil || len(names) > 0 {
		t.Errorf("nothing has it: %v", names)
	}
	for _, id := range []string{"chat", `chatcmpl-7"7`, "chatcmpl-7+7=", want[:7], "0123456789", "0123456789abcdef", "chatcmpl"} { // too short, written in many ways, no bytes to search for, zeros that may be left out, in every line
		if _, pick := readPicked(t, set, id, false); pick != nil && id != "chatcmpl" {
			t.Errorf("%s: %v", id, pick)
		}
	}
	names, pick := readPicked(t, set, "chatcmpl-77", true)
	if pick.Sampled < 200_000 || !slices.Contains(names, "of another@2") || !slices.Contains(names, "of another@1999") || len(names) > 2000 {
		t.Errorf("a sample of %d bytes, %d records", pick.Sampled, len(names))
	}
}

// What cannot be searched is read as a whole: a compressed file, one JSON document, a file whose lines are broken where the id stands.
func TestPickNothing(t *testing.T) {
	line := lineOfSpan("0123456789abcdef0123456789abcdef", "a", 1.7e18, "chatcmpl-77", "")
	for name, data := range map[string]string{
		"broken lines": strings.Repeat(lineOfSpan("0123456789abcdef0123456789abcdee", "a", 1.7e18, "other", ""), 3) + strings.TrimSuffix(line, "]}]}\n") + "\n",
		"pretty":       lineOfSpan("0123456789abcdef0123456789abcdee", "a", 1.7e18, "other", "") + strings.ReplaceAll(line, ",", ",\n"),
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		set, err := Expand([]string{dir}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if pick, err := set.Pick(context.Background(), "chatcmpl-77", true, Options{PickFrom: 1}); pick != nil || err != nil {
			t.Errorf("%s: %v, %v", name, pick, err)
		}
	}
	small, err := Expand([]string{"testdata"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if pick, err := small.Pick(context.Background(), "chatcmpl-77", true, Options{}); pick != nil || err != nil {
		t.Errorf("a small capture: %v, %v", pick, err)
	}
}

// NUL bytes before the first line, of a writer that went on after its file was cut, are no damage here either.
func TestPickAfterNULs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	data := strings.Repeat("\x00", 100) + strings.Repeat(lineOfSpan("0123456789abcdef0123456789abcdee", "of another", 1.7e18, "other", ""), 3) +
		lineOfSpan("0123456789abcdef0123456789abcdef", "named", 1.7e18, "chatcmpl-77", "")
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := Expand([]string{path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if names, pick := readPicked(t, set, "chatcmpl-77", true); pick == nil || !slices.Equal(names, []string{"named@4", "of another@1", "of another@2", "of another@3"}) {
		t.Errorf("%v, %v", names, pick)
	}
}

func TestWithout(t *testing.T) {
	runs := []piece{{off: 0, end: 100, sample: true}, {off: 200, end: 300, sample: true}}
	out := []piece{{off: 0, end: 10}, {off: 50, end: 60}, {off: 60, end: 70}, {off: 190, end: 210}, {off: 290, end: 310}}
	want := []piece{{off: 10, end: 50, sample: true}, {off: 70, end: 100, sample: true}, {off: 210, end: 290, sample: true}}
	if got := without(runs, out); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := without(runs[:1], []piece{{off: 0, end: 100}}); got != nil {
		t.Errorf("%v", got)
	}
}

// The start of a span is told from its neighbour, the end, before or after it.
func TestFirstFixed(t *testing.T) {
	field := func(tag byte, n uint64) []byte { return binary.LittleEndian.AppendUint64([]byte{tag}, n) }
	start, end := field(startTag, 1_764_432_000_000_000_001), field(endTag, 1_764_432_000_000_000_009)
	junk := []byte{startTag, 1, 2, startTag}
	for _, b := range [][]byte{slices.Concat(junk, start, end), slices.Concat(junk, end, start), slices.Concat(start, end)} {
		if got := firstFixed(b); got != 1_764_432_000_000_000_001 {
			t.Errorf("%x: %d", b, got)
		}
	}
	for _, b := range [][]byte{nil, junk, start, slices.Concat(start, junk, end), bytes.Repeat([]byte{startTag}, 40)} {
		if got := firstFixed(b); got != 0 {
			t.Errorf("%x: %d", b, got)
		}
	}
}

// A sample has the first and the last instant and is spread evenly between them.
func TestSpread(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const chunks = 400
	if err := f.Truncate(chunks * chunkSize); err != nil {
		t.Fatal(err)
	}
	k := &seekable{f: f, size: chunks * chunkSize, frame: be32}
	for i := range chunks {
		k.chunks = append(k.chunks, chunk{off: int64(i) * chunkSize, end: int64(i+1) * chunkSize, first: model.Time(1e18 + i*1e9)})
	}
	runs, err := spread([]*seekable{k}, make([][]piece, 1), reach{})
	if err != nil {
		t.Fatal(err)
	}
	sum, far := int64(0), int64(0)
	last := int64(0)
	for _, p := range runs[0] {
		sum += p.end - p.off
		far = max(far, p.off-last)
		last = p.end
	}
	if n := len(runs[0]); n != sampleSlices || runs[0][0].off != 0 || last != k.size || sum > sampleBytes || sum < sampleBytes/3 || far > 27*chunkSize {
		t.Errorf("%d runs of %d bytes, from %d to %d, gaps up to %d", n, sum, runs[0][0].off, last, far)
	}
}

// With it goes what was written beside the request, in all files of its time.
func TestSpreadBeside(t *testing.T) {
	file := func(first model.Time, chunks int) *seekable {
		f, err := os.Create(filepath.Join(t.TempDir(), "a"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		k := &seekable{f: f, size: int64(chunks) * chunkSize, frame: be32}
		if err := f.Truncate(k.size); err != nil {
			t.Fatal(err)
		}
		for i := range chunks {
			k.chunks = append(k.chunks, chunk{off: int64(i) * chunkSize, end: int64(i+1) * chunkSize, first: first + model.Time(i)*1e9})
		}
		return k
	}
	const start = model.Time(1e18)
	day, next, later, before := file(start, 1000), file(start+530e9, 3), file(start+800e9, 100), file(start-2*farTime, 100)
	files := []*seekable{day, next, later, before}
	has := func(pieces []piece, chunk int64) bool {
		return slices.ContainsFunc(pieces, func(p piece) bool { return p.off <= chunk*chunkSize && p.end >= (chunk+1)*chunkSize })
	}
	// From the second of chunk 500 to that of 506: with 7 before and behind. The next file begins 24 s after it.
	runs, err := spread(files, make([][]piece, 4), reach{start + 500e9, start + 506e9 + 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file  int
		chunk int64
		want  bool
	}{{0, 493, true}, {0, 500, true}, {0, 506, true}, {0, 513, true}, {1, 0, true}, {1, 2, true}} {
		if got := has(runs[c.file], c.chunk); got != c.want {
			t.Errorf("file %d, chunk %d: %v", c.file, c.chunk, got)
		}
	}
	even, err := spread(files, make([][]piece, 4), reach{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(runs[2], even[2]) || !reflect.DeepEqual(runs[3], even[3]) || has(even[0], 500) {
		t.Errorf("%v, %v of files of other times; %v", runs[2], runs[3], even[0])
	}
	size := func(runs [][]piece) (n int64) {
		for _, pieces := range runs {
			for _, p := range pieces {
				n += p.end - p.off
			}
		}
		return n
	}
	if more := size(runs) - size(even); more <= 0 || more > besideBytes || size(runs) > mostSampled {
		t.Errorf("%d bytes, %d of them beside", size(runs), more)
	}

	// Of 60 files of one minute each that of the request comes first, then those next to it.
	files = files[:0]
	for n := range 60 {
		files = append(files, file(start+model.Time(n)*60e9, 60))
	}
	hits := make([][]piece, 60)
	hits[38] = []piece{{off: 30 * chunkSize, end: 30*chunkSize + 10}}
	if runs, err = spread(files, hits, reach{start + 38*60e9 + 30e9, start + 38*60e9 + 31e9}); err != nil || !has(runs[38], 25) || !has(runs[38], 36) {
		t.Errorf("%v, %v of the file of the request", err, runs[38])
	}
	var r reach
	r.add(12345e9, 12346e9) // a clock without an epoch
	r.add(start, start+5)
	if r != (reach{start, start + 5}) {
		t.Errorf("%v", r)
	}
}

// A file that becomes shorter while it is searched is one that cannot be searched: no crash.
func TestGuard(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	line := lineOfSpan("0123456789abcdef0123456789abcdef", "a", 1.7e18, "other", strings.Repeat("x", 3000))
	if err := os.WriteFile(path, []byte(strings.Repeat(line, 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := Expand([]string{path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	k, err := set.seekable(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer k.close()
	sum := 0
	look := func() error {
		data, _, err := k.view(nil, k.chunks[0].off, k.chunks[0].end)
		sum += bytes.Count(data, []byte("x"))
		return err
	}
	if err := guard(look); err != nil || sum == 0 {
		t.Fatal(sum, err)
	}
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	if err := guard(look); err != errNotSeekable {
		t.Errorf("%v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("another panic is not kept back")
		}
	}()
	_ = guard(func() error { return []error{}[sum] })
}
