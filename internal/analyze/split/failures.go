package split

import "github.com/cbtrace/cbtrace/internal/model"

// Failures are the facts of R7.11 that one request shows by itself; aborted is the capture's to say.
type Failures struct {
	RetrieveFailed []*model.Span // cb.retrieve and mp.retrieve with success false
	RequestError   []*model.Span // spans with status ERROR
}

// The codes of failures, which are the codes of their findings.
const (
	RetrieveFailed = "retrieve_failed"
	RequestError   = "request_error"
)

func (f *Failures) appendCodes(codes []string) []string {
	if len(f.RetrieveFailed) > 0 {
		codes = append(codes, RetrieveFailed)
	}
	if len(f.RequestError) > 0 {
		codes = append(codes, RequestError)
	}
	return codes
}

func (sp *Splitter) failures() {
	f := &sp.out.Failures
	f.RetrieveFailed, f.RequestError = f.RetrieveFailed[:0], f.RequestError[:0]
	for _, s := range sp.req.Spans {
		if s.Error {
			f.RequestError = append(f.RequestError, s)
		}
		if (s.Stage == model.StageRetrieve || s.Stage == model.StageMPRetrieve) && s.False(model.AttrSuccess) {
			f.RetrieveFailed = append(f.RetrieveFailed, s)
		}
	}
}
