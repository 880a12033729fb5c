package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// The limit of the heap is --memory and 128 MiB, or an eighth and 16 MiB over what is alive, and it is set again after a collection.
func TestHeapLimit(t *testing.T) {
	const mib = 1 << 20
	for _, c := range [][3]int64{{144 * mib, 50 * mib, 144 * mib}, {144 * mib, 160 * mib, 196 * mib}, {1152 * mib, 600 * mib, 1152 * mib}} {
		if got := limitFor(c[0], c[1]); got != c[2] {
			t.Errorf("limit %d MiB, %d MiB alive: %d MiB, want %d", c[0]/mib, c[1]/mib, got/mib, c[2]/mib)
		}
	}
	before, was := heapLimit.Load(), debug.SetMemoryLimit(-1)
	defer func() {
		heapLimit.Store(before)
		debug.SetMemoryLimit(was)
	}()
	limitHeap(16 * mib)
	alive := make([]byte, 200*mib)
	for range 100 { // a finalizer runs some time after the collection that found its object
		runtime.GC()
		if got := debug.SetMemoryLimit(-1); got >= 241*mib && got < math.MaxInt64 {
			runtime.KeepAlive(alive)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("the limit is %d MiB with 200 MiB alive", debug.SetMemoryLimit(-1)/mib)
}
