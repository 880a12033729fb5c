package report

import (
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

// maxBuckets is how many buckets of time are kept (R8.7).
const maxBuckets = 512

// bucketWidths are the lengths of a bucket in seconds; each divides the next. Above the last they double.
var bucketWidths = [...]int64{60, 120, 600, 1800, 3600, 7200, 21600, 43200, 86400}

// bucketWidth is the length in seconds on a level.
func bucketWidth(level int) int64 {
	if last := len(bucketWidths) - 1; level > last {
		return bucketWidths[last] << (level - last)
	}
	return bucketWidths[level]
}

// maxLevel is the last one whose length in ns still fits.
const maxLevel = len(bucketWidths) - 1 + 16

// BucketLevel is the level of a length of --bucket; ok is false for one that is not in R8.7.
func BucketLevel(d time.Duration) (level int, ok bool) {
	for level := range maxLevel + 1 {
		if time.Duration(bucketWidth(level))*time.Second == d {
			return level, true
		}
	}
	return 0, false
}

// A bucket is what is kept of the requests whose window starts in a stretch of time.
type bucket struct {
	key              int64 // in buckets.by
	requests, failed int64
	latency, ttft    series
	hits             hitRate
	windows, tokens  sum
}

func (b *bucket) merge(o *bucket) {
	b.requests += o.requests
	b.failed += o.failed
	b.latency.merge(&o.latency)
	b.ttft.merge(&o.ttft)
	b.hits.merge(o.hits)
	b.windows.merge(o.windows)
	b.tokens.merge(o.tokens)
}

// buckets are stretches of time of one length, aligned to the epoch: of the finest length at which at most maxBuckets hold a request.
// That length depends on the set of requests alone, since a coarser one never holds more.
type buckets struct {
	level  int
	by     map[int64]*bucket   // by start of the stretch / its length
	lately [maxBuckets]*bucket // of this level, by the last bits of that number
}

func (b *buckets) at(start model.Time) *bucket { return b.atSecond(floorDiv(int64(start), second)) }

func (b *buckets) atSecond(seconds int64) *bucket {
	for {
		key := floorDiv(seconds, bucketWidth(b.level))
		lately := &b.lately[uint64(key)%maxBuckets]
		if have := *lately; have != nil && have.key == key {
			return have
		}
		if have := b.by[key]; have != nil {
			*lately = have
			return have
		}
		if len(b.by) == maxBuckets && b.level < maxLevel {
			b.coarsen(b.level + 1)
			continue
		}
		if b.by == nil {
			b.by = map[int64]*bucket{}
		}
		*lately = &bucket{key: key}
		b.by[key] = *lately
		return *lately
	}
}

// coarsen makes the stretches as long as on a level.
func (b *buckets) coarsen(level int) {
	if level <= b.level {
		return
	}
	ratio := bucketWidth(level) / bucketWidth(b.level)
	by := map[int64]*bucket{}
	for key, have := range b.by {
		to := floorDiv(key, ratio)
		if by[to] == nil {
			by[to] = &bucket{key: to}
		}
		by[to].merge(have)
	}
	*b = buckets{level: level, by: by}
}

func (b *buckets) merge(o *buckets) {
	b.coarsen(o.level)
	for key, have := range o.by {
		b.atSecond(key * bucketWidth(o.level)).merge(have)
	}
}
