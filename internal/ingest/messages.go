package ingest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// maxMessage bounds the length that a length prefix may ask for. The collector's batches are a few MiB.
const maxMessage = 256 << 20

// A framing tells how many bytes stand before a message and how long it is, from the first bytes of buf. prefix 0: more bytes are needed;
// an error: there is no message.
type framing func(buf []byte) (prefix, length int, err error)

// be32 is a length as 4 bytes, big-endian.
func be32(buf []byte) (prefix, length int, err error) {
	if len(buf) < 4 {
		return 0, 0, nil
	}
	n := binary.BigEndian.Uint32(buf)
	if n > maxMessage {
		return 0, 0, fmt.Errorf("record length %d is over the %d MiB limit", n, maxMessage>>20)
	}
	return 4, int(n), nil
}

// varint is a length as a protobuf varint.
func varint(buf []byte) (prefix, length int, err error) {
	n, size := binary.Uvarint(buf)
	switch {
	case size == 0 && len(buf) < binary.MaxVarintLen64:
		return 0, 0, nil
	case size <= 0:
		return 0, 0, errors.New("record length: not a varint")
	case n > maxMessage:
		return 0, 0, fmt.Errorf("record length %d is over the %d MiB limit", n, maxMessage>>20)
	}
	return size, int(n), nil
}

// field is a field of a protobuf message that stands for itself: messages one after the other are one message, which is cut between its fields.
// The tag and length are part of the record.
func field(buf []byte) (prefix, length int, err error) {
	tag, size := binary.Uvarint(buf)
	switch {
	case size == 0 && len(buf) < binary.MaxVarintLen64:
		return 0, 0, nil
	case size <= 0 || tag>>3 == 0:
		return 0, 0, errors.New("not a protobuf field")
	}
	switch tag & 7 {
	case 0:
		_, n := binary.Uvarint(buf[size:])
		if n == 0 && len(buf) < size+binary.MaxVarintLen64 {
			return 0, 0, nil
		}
		if n <= 0 {
			return 0, 0, errors.New("not a protobuf varint")
		}
		return size, n, nil
	case 1:
		return size, 8, nil
	case 2:
		prefix, length, err = varint(buf[size:])
		if prefix == 0 {
			return 0, 0, err
		}
		return size + prefix, length, nil
	case 5:
		return size, 4, nil
	}
	return 0, 0, errors.New("not a protobuf field")
}

// A messageCutter cuts an input into blocks of whole messages with their prefixes.
type messageCutter struct {
	r      io.Reader
	frame  framing
	broken *error
	size   int // of a block
	rest   []byte
	offset int64 // of the first byte of rest
	count  int64 // messages before rest
	eof    bool
}

func (c *messageCutter) next(buf []byte) (block, error) {
	buf = append(buf[:0], c.rest...)
	for want := max(c.size, len(buf)); ; {
		if !c.eof {
			buf, c.eof = fill(c.r, buf, want, c.broken)
		}
		if len(buf) == 0 {
			return block{}, io.EOF
		}
		end, need, err := whole(buf, c.frame)
		if end == 0 && err != nil {
			return block{offset: c.offset}, err
		}
		if end == 0 && c.eof { // the last message is cut: the decoder keeps what came before the cut
			end = len(buf)
		}
		if end > 0 {
			b := block{data: buf[:end], offset: c.offset, line: c.count}
			c.count += int64(messages(b.data, c.frame))
			c.offset += int64(end)
			c.rest = append(c.rest[:0], buf[end:]...)
			return b, nil
		}
		// A length is believed as far as there are bytes: memory grows with what was read, not with what a prefix says.
		want = min(need, 2*want)
	}
}

// whole is where the last of the whole messages at the beginning of buf ends, and how many bytes the first one needs.
func whole(buf []byte, frame framing) (end, need int, err error) {
	for end < len(buf) {
		prefix, length, err := frame(buf[end:])
		if err != nil {
			return end, 0, err
		}
		if prefix == 0 {
			return end, end + 16, nil
		}
		if length > len(buf)-end-prefix {
			return end, end + prefix + length, nil
		}
		end += prefix + length
	}
	return end, 0, nil
}

// messages counts the messages of a block.
func messages(data []byte, frame framing) (n int) {
	for len(data) > 0 {
		prefix, length, err := frame(data)
		if err != nil || prefix == 0 {
			break
		}
		data = data[min(prefix+length, len(data)):]
		n++
	}
	return n
}
