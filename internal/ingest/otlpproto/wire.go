package otlpproto

import (
	"encoding/binary"
	"errors"
	"math"
)

// Wire types of the protobuf encoding. Groups (3, 4) are refused: OTLP has none.
const (
	wireVarint = 0
	wireI64    = 1
	wireLen    = 2
	wireI32    = 5
)

// What can be wrong with a message. errShort is the only one that a cut input explains.
var (
	errShort  = errors.New("a field runs past the end of its message")
	errTag    = errors.New("not a protobuf field")
	errVarint = errors.New("an integer of more than 64 bits")
	errGroup  = errors.New("a group, which OTLP does not have")
	errType   = errors.New("a known field of another type")
	errDeep   = errors.New("a value that nests too deep")
)

// A field is one field of a message: its number, wire type and value. Of wireLen the value is the bytes [lo, hi); of the others it is n.
type field struct {
	num    uint64
	typ    uint8
	n      uint64
	lo, hi int // of wireLen; hi is also where the next field begins, for every type
}

// varint reads a base-128 integer at p[i] and returns where it ends.
func varint(p []byte, i int) (uint64, int, error) {
	if i < len(p) && p[i] < 0x80 {
		return uint64(p[i]), i + 1, nil
	}
	return longVarint(p, i)
}

func longVarint(p []byte, i int) (uint64, int, error) {
	v, n := binary.Uvarint(p[i:])
	switch {
	case n > 0:
		return v, i + n, nil
	case n == 0:
		if len(p)-i >= binary.MaxVarintLen64 {
			return 0, i, errVarint
		}
		return 0, i, errShort
	}
	return 0, i, errVarint
}

// next reads the field at p[i]. With errShort and wireLen, f.lo says where the bytes begin that are there.
func next(p []byte, i int) (f field, err error) {
	tag, i, err := varint(p, i)
	if err != nil {
		return f, err
	}
	f.num, f.typ = tag>>3, uint8(tag&7)
	if f.num == 0 || f.num > math.MaxInt32>>2 {
		return f, errTag
	}
	switch f.typ {
	case wireLen:
		n, at, err := varint(p, i)
		if err != nil {
			return f, err
		}
		f.lo = at
		if n > uint64(len(p)-at) {
			return f, errShort
		}
		f.hi = at + int(n)
	case wireVarint:
		f.n, f.hi, err = varint(p, i)
		return f, err
	case wireI64:
		if len(p)-i < 8 {
			return f, errShort
		}
		f.n, f.hi = binary.LittleEndian.Uint64(p[i:]), i+8
	case wireI32:
		if len(p)-i < 4 {
			return f, errShort
		}
		f.n, f.hi = uint64(binary.LittleEndian.Uint32(p[i:])), i+4
	case 3, 4:
		return f, errGroup
	default:
		return f, errTag
	}
	return f, nil
}

// cutAt reports whether err says that the bytes of a wireLen field are not all there; f.lo is where they begin then.
func (f *field) cutAt(err error) bool { return err == errShort && f.typ == wireLen && f.lo > 0 }
