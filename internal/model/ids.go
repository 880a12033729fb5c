package model

// The forms of one request's id (CONTRACT-lmcache 7.3): vLLM adds a suffix of its own to the id that a client knows, the index of a choice
// before it (n > 1), and the number of a prompt to that of a completion.

// MinPrefix is the shortest beginning of an id that finds a request, in bytes (R3.1).
const MinPrefix = 6

// TrimIndex takes the index of one of several choices off an internal id: `1_cmpl-a-0-0011aabb`.
func TrimIndex[T ~string | ~[]byte](id T) (T, bool) {
	i := digits(id)
	if i == 0 || i == len(id) || id[i] != '_' {
		return id, false
	}
	return id[i+1:], true
}

// TrimSuffix takes the 8 hex digits off that vLLM adds to an id: `cmpl-a-0-0011aabb`.
func TrimSuffix[T ~string | ~[]byte](id T) (T, bool) {
	n := len(id) - 9
	if n < 0 || id[n] != '-' {
		return id, false
	}
	for i := n + 1; i < len(id); i++ {
		if c := id[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return id, false
		}
	}
	return id[:n], true
}

// NumForms is how many external ids an internal one may be the child of.
const NumForms = 4

// ExternalForms are the external ids that an internal id may be the child of, the likeliest first (R4.2): the id itself, without the index of a choice,
// without vLLM's suffix where an index was taken for one (a client's id may begin with a number), without both. ok says which there are.
func ExternalForms[T ~string | ~[]byte](id T) (forms [NumForms]T, ok [NumForms]bool) {
	forms[0], ok[0] = id, true
	forms[1], ok[1] = TrimIndex(id)
	child := forms[1]
	if ok[1] {
		forms[2], ok[2] = TrimSuffix(id)
	}
	forms[3], ok[3] = TrimSuffix(child)
	return forms, ok
}

// Family is what the ids of one call of a client have in common: of the choices (n > 1) and of the prompts of a completion, with or without
// vLLM's suffix. Ids of different families have nothing to do with each other, as far as ids tell.
func Family(id string) string {
	child, _ := TrimIndex(id)
	base, _ := TrimSuffix(child)
	if len(base) > len(completion) && base[:len(completion)] == completion {
		n := len(base)
		for n > 0 && base[n-1] >= '0' && base[n-1] <= '9' {
			n--
		}
		if n-1 > len(completion) && n < len(base) && base[n-1] == '-' {
			return base[:n-1]
		}
	}
	return base
}

// completion begins the ids of the prompts of a completion, which end in the number of the prompt.
const completion = "cmpl-"

// digits is how many decimal digits an id begins with.
func digits[T ~string | ~[]byte](id T) int {
	n := 0
	for n < len(id) && id[n] >= '0' && id[n] <= '9' {
		n++
	}
	return n
}

// UnrelatedAtLeast is how many requests that have nothing to do with each other (Family) a trace must hold to count as one that leaked (R2.2, finding
// context_leak). Two may be a retry under a new id, or the two halves of one answer; with more nobody can tell them apart by their trace.
const UnrelatedAtLeast = 3
