package model

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// InParallel calls do for each number below n, in their order, on as many goroutines as there are processors.
func InParallel(n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	wg.Wait()
}
