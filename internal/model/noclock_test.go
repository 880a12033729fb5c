package model

import "time"

// noClock is a Clock that moves nothing and knows of no shutdown.
type noClock struct{}

func (noClock) Shift(from, to ProcID, _ Time) (shift, uncertainty time.Duration, ok bool) {
	return 0, 0, from == to
}
func (noClock) Routed(ProcID) bool                 { return false }
func (noClock) Anchor(ProcID) (ProcID, bool)       { return 0, false }
func (noClock) Process(_ *Request, s *Span) ProcID { return s.Proc }
func (noClock) Shutdown(*Span, uint64, bool) bool  { return false }
