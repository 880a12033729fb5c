package otlpproto

import (
	"math/rand/v2"
	"testing"
)

// Messages made at random, with fields shuffled, repeated, left out and unknown, and now and then a byte changed: the same spans as pdata.
func TestRandomMessages(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	spans := 0
	for range 4000 {
		data := randomMessage(r).bytes()
		compare(t, data)
		if want, err := slowDecode(data); err == nil {
			spans += len(want)
		}
		if len(data) > 0 {
			data[r.IntN(len(data))] ^= 1 << r.IntN(8)
			compare(t, data)
		}
	}
	if spans < 4000 {
		t.Errorf("only %d spans were compared", spans)
	}
}

func randomMessage(r *rand.Rand) msg {
	return fields(r, 3, func() []byte { return sub(fieldResourceSpans, randomResourceSpans(r)) })
}

// fields is up to n fields made by the given makers, in any order.
func fields(r *rand.Rand, n int, makers ...func() []byte) (m msg) {
	for range r.IntN(n + 1) {
		m = append(m, makers[r.IntN(len(makers))]())
	}
	return m
}

func unknown(r *rand.Rand) func() []byte {
	return func() []byte {
		num := 20 + r.IntN(400)
		switch r.IntN(4) {
		case 0:
			return number(num, r.Uint64())
		case 1:
			return fixed(num, r.Uint64())
		case 2:
			return append(tag(num, wireI32), 1, 2, 3, 4)
		}
		return length(num, make([]byte, r.IntN(300)))
	}
}

func randomResourceSpans(r *rand.Rand) msg {
	names := []string{"service.name", "service.instance.id", "host.name", "process.pid", "other"}
	m := fields(r, 2, func() []byte {
		return sub(fieldResource, fields(r, 6, unknown(r), func() []byte { return number(2, 1) }, func() []byte {
			return sub(1, randomPair(r, names[r.IntN(len(names))]))
		}))
	}, unknown(r))
	m = append(m, fields(r, 3, func() []byte { return sub(fieldScopes, randomScopeSpans(r)) }, func() []byte { return text(3, "schema") })...)
	r.Shuffle(len(m), func(i, j int) { m[i], m[j] = m[j], m[i] })
	return m
}

func randomScopeSpans(r *rand.Rand) msg {
	return fields(r, 5, unknown(r), func() []byte {
		return sub(fieldScope, fields(r, 3, func() []byte { return text(1, "cb.scheduler") }, func() []byte { return text(2, "1") }))
	}, func() []byte { return sub(fieldSpans, randomSpan(r)) }, func() []byte { return sub(fieldSpans, randomSpan(r)) })
}

func randomSpan(r *rand.Rand) msg {
	id := func(num, size int) func() []byte {
		return func() []byte {
			b := make([]byte, size)
			for i := range b {
				b[i] = byte(r.IntN(3))
			}
			if r.IntN(10) == 0 {
				b = nil
			}
			return length(num, b)
		}
	}
	keys := []string{"hit_tokens", "success", "worker_id", "recomp_ratio", "request_id", "outside", "gen_ai.prompt", "a very long key of the sort that some write"}
	m := fields(r, 14, id(1, 16), id(2, 8), id(4, 8), unknown(r),
		func() []byte { return text(5, []string{"cb.lookup.rpc", "x", "", "b\xc3"}[r.IntN(4)]) },
		func() []byte { return number(6, r.Uint64N(7)) },
		func() []byte { return fixed(7, r.Uint64()>>r.IntN(3)) },
		func() []byte { return fixed(8, r.Uint64()>>r.IntN(3)) },
		func() []byte { return sub(9, randomPair(r, keys[r.IntN(len(keys))])) },
		func() []byte { return sub(9, randomPair(r, keys[r.IntN(len(keys))])) },
		func() []byte { return sub(11, msg{fixed(1, 5), text(2, "e")}) },
		func() []byte {
			return sub(15, fields(r, 3, func() []byte { return number(3, r.Uint64N(3)) }, func() []byte { return text(2, "m") }))
		})
	return m
}

func randomPair(r *rand.Rand, key string) msg {
	return fields(r, 3, func() []byte { return text(1, key) }, func() []byte { return text(1, key) }, unknown(r), func() []byte { return sub(2, randomValue(r, 4)) },
		func() []byte { return sub(2, randomValue(r, 4)) })
}

func randomValue(r *rand.Rand, depth int) msg {
	makers := []func() []byte{
		func() []byte {
			return text(valueString, []string{"", "True", "None", "1280", "0.25", "text \"x\"\n", "\xff"}[r.IntN(7)])
		},
		func() []byte { return number(valueBool, r.Uint64N(2)) },
		func() []byte { return number(valueInt, r.Uint64()>>r.IntN(64)) },
		func() []byte { return fixed(valueDouble, r.Uint64()) },
		func() []byte { return length(valueBytes, []byte{1, 2, 3}[:r.IntN(4)]) },
	}
	if depth > 0 {
		makers = append(makers, func() []byte {
			return sub(valueArray, fields(r, 3, unknown(r), func() []byte { return sub(1, randomValue(r, depth-1)) }))
		}, func() []byte {
			return sub(valueKVList, fields(r, 3, func() []byte { return sub(1, randomPair(r, "k")) }))
		})
	}
	return fields(r, 2, makers...)
}
