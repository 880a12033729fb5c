package otlpproto

// Walk reads the levels of data as one message, bare or a TraceByIDResponse, without decoding: what tells the framings apart, as the
// length prefix of a framed input does not read as a message. Records are the spans that stand where spans do (or metrics, log records,
// profiles, which have the same levels above them), each of whose fields was well-formed. cut says that data ends inside a field, as the
// first bytes of a longer input do. ok is false when data contradicts the encoding anywhere.
func Walk(data []byte) (records int, cut, ok bool) {
	for i := 0; i < len(data); {
		f, err := next(data, i)
		if err == errShort {
			cut, f.hi = true, len(data)
		} else if err != nil {
			return records, cut, false
		}
		if f.num == fieldResourceSpans && f.typ == wireLen && f.lo > 0 {
			p := data[f.lo:f.hi]
			levels := 2 // down to the spans of a ResourceSpans
			if isTrace(p) {
				levels = 3
			}
			n, ok := walk(p, levels, cut)
			records += n
			if !ok {
				return records, cut, false
			}
		}
		i = f.hi
	}
	return records, cut, true
}

// walk counts the records that are levels below p. Of p that is cut the last field may be short.
func walk(p []byte, levels int, cut bool) (records int, ok bool) {
	for i := 0; i < len(p); {
		f, err := next(p, i)
		short := err == errShort && cut
		if err != nil && !short {
			return records, false
		}
		if short {
			if f.hi = len(p); f.typ != wireLen || f.lo == 0 {
				return records, true
			}
		}
		down := f.num == fieldScopes || f.num == fieldOldScopes
		switch levels {
		case 3:
			down = f.num == fieldResourceSpans
		case 1:
			down = f.num == fieldSpans
		}
		if down && f.typ == wireLen && levels > 0 {
			n, ok := walk(p[f.lo:f.hi], levels-1, short)
			if !ok {
				return records + n, false
			}
			if records += n; levels == 1 && !short {
				records++
			}
		}
		i = f.hi
	}
	return records, true
}
