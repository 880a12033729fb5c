package lct

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/cbtrace/cbtrace/internal/ingest/decode"
	"github.com/cbtrace/cbtrace/internal/model"
)

const (
	prefix    = 4        // bytes of a length
	maxHeader = 16 << 20 // bytes of a header: it holds a configuration as JSON
	maxRecord = 64 << 20 // bytes of a record: batches of events hold the tokens of their chunks
	maxDepth  = 32       // of what is nested in a header
	version   = 1        // format_version
)

// The levels of a recording that are known. Records of others are counted and shown by their qualnames.
const (
	Storage = "storage"
	Events  = "events"
)

const magic = "LMCT"

// A Header is what the first frame of a recording says.
type Header struct {
	Level         string
	FormatVersion int64
	Schema        model.Opt      // trace_schema_version; the oldest recorder wrote none
	LMCache       string         // lmcache_version, as the oldest recorder wrote it
	MonoStart     float64        // s on the monotonic clock of the process
	WallStart     float64        // s since the Unix epoch
	ConfigDigest  string         // of the storage manager's configuration; "" when unknown
	Meta          map[string]any // level_meta, nil when there is none, as encoding/json has it with its Numbers
}

// Oldest reports whether the recorder put its header down again in place.
func (h *Header) Oldest() bool { return h.LMCache != "" }

// Instance is the process of the recording as its spans name it (service.instance.id), "" when the header does not say.
func (h *Header) Instance() string {
	s, _ := h.Meta["instance_id"].(string)
	return s
}

var (
	errNoHeader  = fmt.Errorf("%w: the first frame is no header of an LMCache recording", decode.ErrUnknownFormat)
	errMagic     = fmt.Errorf("%w: the header of an LMCache recording with another magic than %s", decode.ErrUnknownFormat, magic)
	errCutHeader = fmt.Errorf("header: %w", decode.ErrTruncated)
)

// Sniff reports whether an input looks like a recording, from its first bytes; whole says that they are all of it. An error says why it cannot
// be used. The header is empty where the bytes do not hold all of it.
func Sniff(head []byte, whole bool) (h Header, ok bool, err error) {
	if len(head) < prefix+2 || !looksLike(head[prefix:]) {
		return h, false, nil
	}
	h, n, err := ReadHeader(head)
	if errors.Is(err, errCutHeader) && !whole && n <= maxHeader+prefix {
		return Header{}, true, nil
	}
	return h, true, err
}

// looksLike reports whether a frame begins as one of LMCache's does: a map whose first key is type, or one with the magic at its beginning.
func looksLike(b []byte) bool {
	n, i := mapAt(b, 0)
	if i < 0 || n == 0 {
		return false
	}
	for range min(n, 4) {
		key, next := textAt(b, i)
		if next < 0 {
			return false
		}
		value, _ := blobAt(b, next)
		switch {
		case string(key) == "type" && (string(value) == "header" || string(value) == "record"):
			return true
		case string(key) == "magic" && string(value) == magic:
			return true
		}
		if i = skip(b, next); i < 0 {
			return false
		}
	}
	return false
}

// ReadHeader reads the header at the beginning of b and returns how many bytes its frame has. Where the header is cut the error is
// decode.ErrTruncated and n says how many bytes it needs.
func ReadHeader(b []byte) (h Header, n int, err error) {
	if len(b) < prefix {
		return h, prefix, errCutHeader
	}
	size := binary.BigEndian.Uint32(b)
	if size > maxHeader {
		return h, 0, fmt.Errorf("header: length %d is over the %d MiB limit", size, maxHeader>>20)
	}
	n = prefix + int(size)
	if len(b) < n {
		return h, n, errCutHeader
	}
	return h, n, h.read(b[prefix:n])
}

func (h *Header) read(b []byte) error {
	n, i := mapAt(b, 0)
	if i < 0 {
		return errNoHeader
	}
	kind, isMagic, anyMagic := "", false, false
	for range n {
		key, at := textAt(b, i)
		if at < 0 {
			return errNoHeader
		}
		if i = skip(b, at); i < 0 {
			return errNoHeader
		}
		value, _ := blobAt(b, at)
		switch string(key) {
		case "type":
			kind = string(value)
		case "magic":
			anyMagic, isMagic = true, string(value) == magic
		case "format_version":
			h.FormatVersion, _ = intAt(b, at)
		case "level":
			h.Level = plain(value)
		case "trace_schema_version":
			if v, next := intAt(b, at); next > 0 {
				h.Schema = model.Some(v)
			}
		case "lmcache_version":
			h.LMCache = plain(value)
		case "t_mono_start":
			h.MonoStart, _ = numberAt(b, at)
		case "t_wall_start":
			h.WallStart, _ = numberAt(b, at)
		case "sm_config_digest":
			h.ConfigDigest = plain(value)
		case "level_meta":
			h.Meta = meta(b[at:i])
		}
	}
	switch {
	case kind != "header" && !anyMagic:
		return errNoHeader
	case !isMagic:
		return errMagic
	case h.FormatVersion != version:
		return fmt.Errorf("%w: format_version %d, want %d", decode.ErrVersion, h.FormatVersion, version)
	}
	return nil
}

// maxWord is how long a text of a header may be that says one thing.
const maxWord = 1 << 10

// plain is a text of a header, cut where it is too long to be a word.
func plain(b []byte) string {
	if len(b) > maxWord {
		b = b[:maxWord]
	}
	return readable(b)
}

// readable is a text, or other bytes in hexadecimal digits.
func readable(b []byte) string {
	if !utf8.Valid(b) {
		return hex.EncodeToString(b)
	}
	return string(b)
}

// maxMeta is how many bytes of level_meta are taken. A decoder takes memory by the lengths it reads, which are no larger than this.
const maxMeta = 64 << 10

// meta is what the header says of its level, as JSON has it; nil when it is no map. Secret values are not kept (R3.6).
func meta(b []byte) map[string]any {
	n, i := mapAt(b, 0)
	if i < 0 || n == 0 || len(b) > maxMeta {
		return nil
	}
	m := make(map[string]any)
	for range n {
		key, at := textAt(b, i)
		if at < 0 {
			break
		}
		i = skip(b, at)
		value := b[at:i]
		if !shallow(value) {
			continue
		}
		d := msgpack.NewDecoder(bytes.NewReader(value))
		d.UseLooseInterfaceDecoding(true)
		v, err := d.DecodeInterfaceLoose()
		if err != nil {
			v = nil // an extension that others define
		}
		m[readable(key)] = jsonValue(v)
	}
	return withoutSecrets(m)
}

// withoutSecrets is a map as JSON has it after its secret values were replaced (R3.6).
func withoutSecrets(m map[string]any) (shown map[string]any) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if e.Encode(m) != nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(model.RedactJSON(text.Bytes())))
	d.UseNumber()
	if d.Decode(&shown) != nil {
		return nil
	}
	return shown
}

// shallow reports whether values are nested less than maxDepth deep: what decodes them calls itself for each level.
func shallow(b []byte) bool {
	var left [maxDepth]int // values that are still to come, by level
	depth := 0
	for i := 0; i < len(b); {
		c := b[i]
		n, next := arrayAt(b, i)
		if next < 0 {
			if n, next = mapAt(b, i); next > 0 {
				n *= 2
			}
		}
		if next > 0 {
			if depth++; depth == maxDepth {
				return false
			}
			left[depth] = n
			i = next
		} else if i = skip(b, i); i < 0 || c == 0xc1 {
			return false
		} else {
			left[depth]--
		}
		for depth > 0 && left[depth] <= 0 {
			depth--
			left[depth]--
		}
	}
	return true
}

// jsonValue is a decoded value as JSON has it.
func jsonValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = jsonValue(x)
		}
		return v
	case []any:
		for i := range v {
			v[i] = jsonValue(v[i])
		}
		return v
	case string: // or bytes
		return readable([]byte(v))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return v
	case nil, bool, int64, uint64:
		return v
	}
	return nil // an extension: times and what others define
}
