package profile

import (
	"encoding/binary"

	"github.com/cbtrace/cbtrace/internal/ingest/jsonscan"
	"github.com/cbtrace/cbtrace/internal/model"
)

// quick reads the line at the scanner if it is spelled like one before it. false: nothing was read.
//
// It walks the tree of the texts that stood before the values of earlier lines (learnt), from the root to a text that closes the line:
//
//  1. The text at b[i] is found among those that followed the value before (next): mostly the first of them, for which two words are compared.
//  2. A value that says something about the process and is what it was on the line before (same) is taken over without being read; any other value is
//     read by what its key is for.
//  3. Behind a value that was read a run may follow: the texts and values about the process that stood there on an earlier line. One comparison passes
//     over all of it, and the walk goes on from its last text.
//  4. Once in coolLines lines a run is built behind such a value (beginRun, cool counts down to it). It ends before the next value that has to be read, or
//     behind the end of the line (endRun).
//
// Where no text fits or a value is not plain the record is dropped, and the caller reads the line the general way, from which its texts are learnt. Nothing
// looks whether a value ends where it was read to: where it goes on, no text fits.
func (d *Decoder) quick() bool {
	at := d.learnt.root // the last text that was found
	if at == nil || len(at.next) == 0 {
		return false
	}
	s, b := &d.s, d.blk.Data
	start, line := s.Pos(), s.Line()
	d.begin()
	d.track.base = nil
	for i := start; i+2*margin <= len(b) && len(at.next) > 0; {
		w0, w1 := binary.LittleEndian.Uint64(b[i:]), binary.LittleEndian.Uint64(b[i+8:])
		if n := at.next[0]; n.text.rest == "" && n.text.fits(w0, w1) {
			at = n
		} else if at = at.follow(b, i, w0, w1); at == nil {
			break
		}
		from := i // of the text; from here on i is behind it
		if i += at.text.size; i+margin > len(b) && !at.last {
			break
		}
		if at.last {
			d.endRun(at, b, i, i)
		} else if at.same.size > 0 && at.same.fits(binary.LittleEndian.Uint64(b[i:]), binary.LittleEndian.Uint64(b[i+8:])) {
			i = d.again(at, i)
		} else {
			if d.track.base != nil {
				d.endRun(at, b, from, from)
			}
			switch c := b[i]; {
			case c-'0' <= 9:
				i = d.number(at, b, i)
			case c == '"' && at.role == model.ProfileRequest:
				i = d.quickID(at, b, i)
			case c == '"' && at.role == model.ProfileName && d.line.nameKey == 0:
				i = d.quickName(at, b, i)
			default:
				i = d.value(at, b, i)
			}
			if i < 0 {
				break
			}
			if at.nRuns > 0 {
				if r := at.hit(b, i); r != nil {
					d.apply(r)
					i += len(r.raw)
					at = r.end
				}
			}
			if at.cool--; at.cool < 0 && !at.last {
				d.beginRun(at, i)
			}
		}
		if at.last {
			if !d.emitUsual(line) {
				d.emit(line, start)
			}
			if s.Seek(i); s.Exact("\n") {
				s.SetLine(line + 1)
			}
			return true
		}
	}
	d.batch.Drop()
	return false
}

// value reads a plain value at b[i]: a text of ASCII without escapes, a number without an exponent, true, false or null. It returns where the value ends,
// -1 where it is not plain.
func (d *Decoder) value(p *spot, b []byte, i int) int {
	switch b[i] {
	case '-':
		return d.number(p, b, i)
	case '"':
		end := jsonscan.PlainEnd(b, i+1)
		if end < 0 {
			return -1
		}
		if t := b[i+1 : end]; p.role != model.ProfileOther || p.attr != model.AttrNone {
			d.takeText(p.key, p.attr, t, true)
			d.remember(p, b[i:end+1], t)
		}
		return end + 1
	case 't':
		if string(b[i:i+4]) == "true" {
			d.takeBool(p.key, p.attr, true)
			return i + 4
		}
	case 'f':
		if string(b[i:i+5]) == "false" {
			d.takeBool(p.key, p.attr, false)
			return i + 5
		}
	case 'n':
		if string(b[i:i+4]) == "null" {
			return i + 4
		}
	}
	return -1
}

// quickID reads the id of a request, which is mostly that of the line before.
func (d *Decoder) quickID(p *spot, b []byte, i int) int {
	n := len(p.id)
	if n > 0 && i+n <= len(b) && string(b[i:i+n]) == string(p.id) {
		if p.inBatch == d.batches { // its text is there already
			d.batch.Attrs = append(d.batch.Attrs, model.BatchAttr{Key: p.attr, Kind: model.StrValue, Off: p.idAt, Len: uint32(n - 2)})
			return i + n
		}
	} else {
		end := jsonscan.PlainEnd(b, i+1)
		if end < 0 {
			return -1
		}
		n = end + 1 - i
		if p.id = p.id[:0]; n > maxID || string(b[i+1:end]) == "None" {
			d.batch.AddText(p.attr, b[i+1:end])
			return end + 1
		}
		p.id = append(p.id, b[i:end+1]...)
	}
	p.inBatch, p.idAt = d.batches, uint32(len(d.batch.Text))
	d.batch.AddText(p.attr, p.id[1:n-1])
	return i + n
}

// quickName reads the name of a line, which is mostly one of a few.
func (d *Decoder) quickName(p *spot, b []byte, i int) int {
	w0, w1 := binary.LittleEndian.Uint64(b[i:]), binary.LittleEndian.Uint64(b[i+8:])
	for tried, k := 0, p.expect; tried < len(p.names); tried, k = tried+1, k+1 {
		if k >= len(p.names) {
			k = 0
		}
		n := &p.names[k]
		if end := i + n.text.size; n.text.fits(w0, w1) && (n.text.rest == "" || end <= len(b) && string(b[i+margin:end]) == n.text.rest) {
			p.names[p.name].after = k
			p.name, p.expect = k, n.after
			d.line.name, d.line.nameKey, d.line.known = b[i+1:end-1], p.key, n.known
			return end
		}
	}
	end := jsonscan.PlainEnd(b, i+1)
	if end <= i+1 {
		return -1
	}
	d.line.name, d.line.nameKey = b[i+1:end], p.key
	d.line.known = d.nameOf(d.line.name)
	if len(p.names) < maxNames {
		p.names = append(p.names, knownText{text: patternOf(b[i : end+1]), known: d.line.known})
	}
	return end + 1
}

// number reads a number whose digits fit into a decimal; see value.
func (d *Decoder) number(p *spot, b []byte, i int) int {
	from := i
	var m decimal
	if b[i] == '-' {
		m.neg = true
		i++
	}
	n, whole, i := digits(b, i)
	if whole == 0 || whole > 18 {
		return -1
	}
	m.mant = n
	if i < len(b) && b[i] == '.' {
		f, places, end := digits(b, i+1)
		if i = end; places == 0 || whole+places > 18 {
			return -1
		}
		m.mant, m.exp = n*powers[places]+f, -int32(places)
	}
	switch p.role { // should the number go on, with an exponent, no text fits behind it
	case model.ProfileStart:
		if d.line.start.key == 0 {
			d.line.start = moment{dec: m, key: p.key}
			return i
		}
		d.takeMoment(p.role, moment{dec: m, key: p.key})
	case model.ProfileDuration:
		if d.line.dur.key == 0 {
			d.line.dur = moment{dec: m, key: p.key}
			return i
		}
		d.takeMoment(p.role, moment{dec: m, key: p.key})
	case model.ProfileEnd:
		d.takeMoment(p.role, moment{dec: m, key: p.key})
	case model.ProfileOther:
		if p.attr != model.AttrNone {
			d.addNumber(p.attr, b[from:i])
		}
	default:
		d.takeNumber(p.key, p.attr, b[from:i])
		d.remember(p, b[from:i], b[from:i])
	}
	return i
}

// digits reads the decimal digits at b[i]. It returns how many there are, a number above 18 where there are more than that, and where they end.
func digits(b []byte, i int) (n uint64, count, end int) {
	if i+16 > len(b) {
		return 0, 0, i
	}
	n, count = jsonscan.LeadingDigits(binary.LittleEndian.Uint64(b[i:]))
	if count < 8 {
		return n, count, i + count
	}
	v, more := jsonscan.LeadingDigits(binary.LittleEndian.Uint64(b[i+8:]))
	if more > 0 {
		n = n*powers[more] + v
	}
	count += more
	for i += count; count >= 16 && i < len(b) && b[i]-'0' <= 9 && count <= 18; i++ {
		n = n*10 + uint64(b[i]-'0')
		count++
	}
	return n, count, i
}
