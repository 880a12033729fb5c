package profile

import (
	"syscall"
	"testing"
	"time"
)

// cpu is the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// reportCPU adds a metric of bytes per second of processor time, which other work on the machine changes less than the clock on the wall.
func reportCPU(b *testing.B, bytes int, since time.Duration) {
	if d := cpu() - since; d > 0 {
		b.ReportMetric(float64(bytes)*float64(b.N)/d.Seconds()/1e6, "MB/cpu-s")
	}
}
