package decode

import (
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

func TestIDs(t *testing.T) {
	d := model.NewDict()
	names := model.NewInterner(d)
	const full, span = "0123456789abcdef0123456789abcdef", "00000000000000a1"
	for _, c := range []struct{ name, text, want string }{
		{"hex", full, full},
		{"upper case", "0123456789ABCDEF0123456789ABCDEF", full},
		{"0x", "0x" + full, full},
		{"64 bits", "123456789abcdef0", "0000000000000000123456789abcdef0"},
		{"zeros cut", "ff6f8d697499ff", "000000000000000000ff6f8d697499ff"},
		{"base64", "ASNFZ4mrze8BI0VniavN7w==", full},
		{"base64 of other alphabets", "_-_-_-_-_-_-_-_-_-_-_w==", "ffeffeffeffeffeffeffeffeffeffeff"},
		{"base64 of hex text", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", full},
		{"24 hex digits are hex", "0123456789abcdef01234567", "000000000123456789abcdef01234567"},
		{"none", "", ""},
		{"zeros", "00000000000000000000000000000000", ""},
		{"33 digits", full + "0", full + "0"},
		{"free text", "trace-123", "trace-123"},
		{"broken base64", "ASNFZ4mrze8BI0VniavN7!==", "ASNFZ4mrze8BI0VniavN7!=="},
	} {
		if got := d.TraceIDText(TraceID(names, []byte(c.text))); got != c.want {
			t.Errorf("trace id %s: %q is %q, want %q", c.name, c.text, got, c.want)
		}
	}
	for _, c := range []struct{ name, text, want string }{
		{"hex", span, span},
		{"one digit", "7", "0000000000000007"},
		{"16 hex digits are hex, not base64", "abcdefabcdefabcd", "abcdefabcdefabcd"},
		{"base64", "AAAAAAAAAKE=", span},
		{"base64 with + and /", "+/v7//7/+/8=", "fbfbfbfffefffbff"},
		{"base64 of hex text", "MDAwMDAwMDAwMDAwMDBhMQ==", span},
		{"base64 of 16 bytes that are no text", "ASNFZ4mrze8BI0VniavN7w==", "ASNFZ4mrze8BI0VniavN7w=="},
		{"17 digits", span + "0", span + "0"},
		{"zeros", "0000000000000000", ""},
		{"free text", "zzz", "zzz"},
	} {
		if got := d.SpanIDText(SpanID(names, []byte(c.text))); got != c.want {
			t.Errorf("span id %s: %q is %q, want %q", c.name, c.text, got, c.want)
		}
	}
}
