package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

// besideRecords is what a run may take beside the records that --memory bounds: near that the garbage collector works harder instead of letting the heap
// grow to twice what is alive.
const besideRecords = 128 << 20

// heapLimit is --memory and what lies beside it.
var heapLimit atomic.Int64

// limitHeap bounds the heap of the process, by the collector's means: what is alive stays, and the bound gives way to it, since a collector without room
// would do nothing but collect.
func limitHeap(memory int64) {
	heapLimit.Store(memory + besideRecords)
	debug.SetMemoryLimit(heapLimit.Load())
	watchHeap()
}

// watchHeap has every collection set the limit of the next one: an object that is found dead says that one is over.
var watchHeap = sync.OnceFunc(func() {
	var again func(*[16]byte)
	again = func(o *[16]byte) {
		debug.SetMemoryLimit(limitFor(heapLimit.Load(), heapLive()))
		runtime.SetFinalizer(o, again)
	}
	runtime.SetFinalizer(new([16]byte), again)
})

// limitFor leaves an eighth of what is alive, and a little more, to collect in.
func limitFor(limit, live int64) int64 { return max(limit, live+live/8+roomToCollect) }

const roomToCollect = 16 << 20

// heapLive is how many bytes were alive when they were last collected.
func heapLive() int64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(s[0].Value.Uint64())
}
