package lct

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"sort"
	"strings"
)

// An obvious second reader: it makes a tree of every record and looks at that.

type slowMap []slowPair

type slowPair struct {
	key, value any
	raw        string // both as they are written: what is unknown of a key tells keys apart by its bytes
}

type slowExt struct{}

// slowValue reads a value; ok is false where there is none.
func slowValue(b []byte) (v any, rest []byte, ok bool) {
	if len(b) == 0 {
		return nil, nil, false
	}
	c, b := b[0], b[1:]
	number := func(n int) (uint64, bool) {
		if len(b) < n {
			return 0, false
		}
		x := uint64(0)
		for _, d := range b[:n] {
			x = x<<8 | uint64(d)
		}
		b = b[n:]
		return x, true
	}
	take := func(n uint64, as func([]byte) any) (any, []byte, bool) {
		if n > uint64(len(b)) {
			return nil, nil, false
		}
		return as(b[:n]), b[n:], true
	}
	text := func(p []byte) any { return string(p) }
	blob := func(p []byte) any { return append([]byte{}, p...) }
	ext := func([]byte) any { return slowExt{} }
	list := func(n uint64) (any, []byte, bool) {
		out := []any{}
		for range n {
			if v, b, ok = slowValue(b); !ok {
				return nil, nil, false
			}
			out = append(out, v)
		}
		return out, b, true
	}
	pairs := func(n uint64) (any, []byte, bool) {
		out := slowMap{}
		for range n {
			var p slowPair
			from := b
			if p.key, b, ok = slowValue(b); !ok {
				return nil, nil, false
			}
			if p.value, b, ok = slowValue(b); !ok {
				return nil, nil, false
			}
			p.raw = string(from[:len(from)-len(b)])
			out = append(out, p)
		}
		return out, b, true
	}
	var n uint64
	switch {
	case c < 0x80:
		return int64(c), b, true
	case c < 0x90:
		return pairs(uint64(c & 15))
	case c < 0xa0:
		return list(uint64(c & 15))
	case c < 0xc0:
		return take(uint64(c&31), text)
	case c >= 0xe0:
		return int64(int8(c)), b, true
	}
	switch c {
	case 0xc0:
		return nil, b, true
	case 0xc2, 0xc3:
		return c == 0xc3, b, true
	case 0xc4, 0xc5, 0xc6:
		if n, ok = number(1 << (c - 0xc4)); ok {
			return take(n, blob)
		}
	case 0xc7, 0xc8, 0xc9:
		if n, ok = number(1 << (c - 0xc7)); ok {
			return take(n+1, ext)
		}
	case 0xca:
		if n, ok = number(4); ok {
			return float64(math.Float32frombits(uint32(n))), b, true
		}
	case 0xcb:
		if n, ok = number(8); ok {
			return math.Float64frombits(n), b, true
		}
	case 0xcc, 0xcd, 0xce, 0xcf:
		if n, ok = number(1 << (c - 0xcc)); ok {
			if n > math.MaxInt64 {
				return n, b, true
			}
			return int64(n), b, true
		}
	case 0xd0, 0xd1, 0xd2, 0xd3:
		if n, ok = number(1 << (c - 0xd0)); ok {
			shift := 64 - 8<<(c-0xd0)
			return int64(n<<shift) >> shift, b, true
		}
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		return take(1<<(c-0xd4)+1, ext)
	case 0xd9, 0xda, 0xdb:
		if n, ok = number(1 << (c - 0xd9)); ok {
			return take(n, text)
		}
	case 0xdc, 0xdd:
		if n, ok = number(2 << (c - 0xdc)); ok {
			return list(n)
		}
	case 0xde, 0xdf:
		if n, ok = number(2 << (c - 0xde)); ok {
			return pairs(n)
		}
	}
	return nil, nil, false
}

// get is the last value of a key.
func (m slowMap) get(key string) any {
	var v any
	for _, p := range m {
		if p.key == any(key) {
			v = p.value
		}
	}
	return v
}

// slowRecords are the arguments and names of the records of newer recordings, after the header.
func slowRecords(file []byte) (names []string, args []slowMap) {
	for file = file[prefix+binary.BigEndian.Uint32(file):]; len(file) >= prefix; {
		n := binary.BigEndian.Uint32(file)
		if n > maxRecord || int(n) > len(file)-prefix {
			break
		}
		v, rest, ok := slowValue(file[prefix : prefix+n])
		file = file[prefix+n:]
		m, isMap := v.(slowMap)
		if !ok || !isMap || len(rest) > 0 || !slowSound(m) {
			continue
		}
		names, args = append(names, m.get("qualname").(string)), append(args, m.get("args").(slowMap))
	}
	return names, args
}

func slowSound(m slowMap) bool {
	have := map[string]bool{}
	for _, p := range m {
		name, _ := p.key.(string)
		ok := true
		switch name {
		case "type":
			ok = p.value == any("record")
		case "t_mono", "t_wall":
			_, whole := p.value.(int64)
			_, float := p.value.(float64)
			ok = whole || float
		case "qualname":
			_, ok = p.value.(string)
		case "args":
			_, ok = p.value.(slowMap)
		}
		if !ok {
			return false
		}
		have[name] = true
	}
	return have["type"] && have["t_mono"] && have["t_wall"] && have["qualname"] && have["args"]
}

// slowKeys are the identities of the keys in a value.
func slowKeys(v any, depth int, found map[string]bool) {
	if depth > nested {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			slowKeys(x, depth+1, found)
		}
	case slowMap:
		if payload, ok := v.get("v").(slowMap); ok && len(v) == 2 && v.get("__t__") == any("ObjectKey") {
			found[slowIdentity(payload)] = true
			return
		}
		for _, p := range v {
			slowKeys(p.value, depth+1, found)
		}
	}
}

// slowIdentity is a key as text: unknown fields in order of their names.
func slowIdentity(m slowMap) string {
	chunk, model, rank, group, salt, more := "", "", int64(0), int64(0), "", []string{}
	for _, p := range m {
		name, _ := p.key.(string)
		switch v := p.value.(type) {
		case string:
			switch name {
			case "chunk_hash":
				chunk = v
				continue
			case "model_name":
				model = v
				continue
			case "cache_salt":
				salt = v
				continue
			}
		case []byte:
			if name == "chunk_hash" {
				chunk = string(v)
				continue
			}
		case int64:
			switch name {
			case "kv_rank":
				rank = v
				continue
			case "object_group_id":
				group = v
				continue
			}
		}
		more = append(more, p.raw)
	}
	sort.Strings(more)
	return fmt.Sprintf("%q %q %d %d %q %q", chunk, model, rank, group, salt, more)
}

// slowEventKey is the identity of the key of an event.
func slowEventKey(m slowMap) string {
	out := slowMap{}
	for _, p := range m {
		digits, ok := p.value.(string)
		if raw, bytes := p.value.([]byte); bytes {
			digits, ok = string(raw), true
		}
		switch {
		case p.key == any("chunk_hash"):
			p.key = "another chunk_hash"
		case ok && p.key == any("chunk_hash_hex"):
			digits = strings.TrimPrefix(digits, "0x")
			raw, err := hex.DecodeString(digits)
			if err != nil {
				raw = []byte(digits)
			}
			p = slowPair{key: "chunk_hash", value: raw}
		}
		out = append(out, p)
	}
	return slowIdentity(out)
}
