package otlpproto

import (
	"encoding/binary"
	"math"
	"slices"
)

// A small protobuf writer for tests: every message is a list of encoded fields, in the order given or reversed.

type msg [][]byte

func tag(num, typ int) []byte { return binary.AppendUvarint(nil, uint64(num)<<3|uint64(typ)) }

func length(num int, b []byte) []byte {
	return append(binary.AppendUvarint(tag(num, wireLen), uint64(len(b))), b...)
}

func text(num int, s string) []byte { return length(num, []byte(s)) }

func number(num int, n uint64) []byte { return binary.AppendUvarint(tag(num, wireVarint), n) }

func fixed(num int, n uint64) []byte {
	return binary.LittleEndian.AppendUint64(tag(num, wireI64), n)
}

func sub(num int, m msg) []byte { return length(num, m.bytes()) }

func (m msg) bytes() []byte { return slices.Concat(m...) }

// down writes the fields of a message in descending order of their numbers, as pdata does; fields of one number keep their order.
func (m msg) down() msg {
	out := slices.Clone(m)
	slices.SortStableFunc(out, func(a, b []byte) int {
		x, _ := binary.Uvarint(a)
		y, _ := binary.Uvarint(b)
		return int(y>>3) - int(x>>3)
	})
	return out
}

func strValue(s string) msg    { return msg{text(valueString, s)} }
func intValue(n int64) msg     { return msg{number(valueInt, uint64(n))} }
func boolValue(n uint64) msg   { return msg{number(valueBool, n)} }
func floatValue(f float64) msg { return msg{fixed(valueDouble, math.Float64bits(f))} }
func bytesValue(b []byte) msg  { return msg{length(valueBytes, b)} }

func arrayValue(items ...msg) msg {
	var list msg
	for _, v := range items {
		list = append(list, sub(1, v))
	}
	return msg{sub(valueArray, list)}
}

func listValue(pairs ...msg) msg {
	var list msg
	for _, kv := range pairs {
		list = append(list, sub(1, kv))
	}
	return msg{sub(valueKVList, list)}
}

func pair(key string, v msg) msg { return msg{text(1, key), sub(2, v)} }

var (
	traceA  = []byte{0xa0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	spanOne = []byte{0, 0, 0, 0, 0, 0, 0, 0x11}
	spanTwo = []byte{0, 0, 0, 0, 0, 0, 0, 0x12}
)

// fullSpan is a span with every field that counts, and some that do not.
func fullSpan(attrs ...msg) msg {
	m := msg{
		length(1, traceA), length(2, spanTwo), text(3, "ot=th:8"), length(4, spanOne), text(5, "cb.lookup.rpc"), number(6, 3),
		fixed(7, 1_000_000_000), fixed(8, 1_090_000_000),
	}
	for _, a := range attrs {
		m = append(m, sub(9, a))
	}
	return append(m,
		number(10, 2), sub(11, msg{fixed(1, 7), text(2, "event")}), sub(13, msg{length(1, traceA), length(2, spanOne)}),
		sub(15, msg{text(2, "deadline"), number(3, 2)}), append(tag(16, wireI32), 1, 1, 0, 0))
}

func request(resource msg, scope string, spans ...msg) []byte {
	ss := msg{sub(1, msg{text(1, scope), text(2, "0.1")})}
	for _, s := range spans {
		ss = append(ss, sub(2, s))
	}
	return msg{sub(1, msg{sub(1, resource), sub(2, ss), text(3, "https://schema")})}.bytes()
}

func resourceOf(pairs ...msg) msg {
	var m msg
	for _, p := range pairs {
		m = append(m, sub(1, p))
	}
	return m
}
