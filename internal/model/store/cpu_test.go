package store

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/cbtrace/cbtrace/internal/model"
)

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestCPU(t *testing.T) {
	for _, keyless := range []bool{false, true} {
		for _, mem := range []int64{0, 4 << 20} {
			d, batches, n := workload(20000, 20, keyless)
			best := [3]time.Duration{1 << 60, 1 << 60, 1 << 60}
			for range 6 {
				s := New(d, Config{TempDir: t.TempDir(), Memory: mem})
				a := cpu()
				fill(t, s, batches)
				b := cpu()
				s.Identify(context.Background())
				c := cpu()
				r := s.Reader()
				for i := range s.Partitions() {
					r.Read(context.Background(), i, func(r *model.Request) error { return nil })
				}
				e := cpu()
				for i, v := range []time.Duration{b - a, c - b, e - c} {
					best[i] = min(best[i], v)
				}
				s.Close()
			}
			f := func(d time.Duration) string { return fmt.Sprintf("%.2fM/s", float64(n)/d.Seconds()/1e6) }
			fmt.Println("keyless", keyless, "mem", mem, "add", f(best[0]), "identify", f(best[1]), "read", f(best[2]))
		}
	}
}
