package model

import "testing"

// CONTRACT-lmcache 7.3: the forms of one request's id.
func TestFamily(t *testing.T) {
	for _, c := range []struct{ id, want string }{
		{"chatcmpl-8482be01b733726a-acfe0b55", "chatcmpl-8482be01b733726a"},
		{"chatcmpl-8482be01b733726a", "chatcmpl-8482be01b733726a"}, // 16 hex digits are no suffix
		{"0_chatcmpl-a-0011aabb", "chatcmpl-a"},
		{"13_chatcmpl-a-ffffffff", "chatcmpl-a"},
		{"cmpl-abc-0-0011aabb", "cmpl-abc"},
		{"cmpl-abc-17", "cmpl-abc"},
		{"1_cmpl-abc-2-0011aabb", "cmpl-abc"},
		{"cmpl-7", "cmpl-7"},
		{"cmpl--7", "cmpl--7"},
		{"cmpl-abc-", "cmpl-abc-"},
		{"step-3", "step-3"}, // no number of a prompt
		{"job-deadbeef-0a1b2c3d", "job-deadbeef"},
		{"job-DEADBEEF", "job-DEADBEEF"},
		{"job-deadbee", "job-deadbee"},
		{"_x", "_x"},
		{"7", "7"},
		{"", ""},
	} {
		if got := Family(c.id); got != c.want {
			t.Errorf("Family(%q) = %q, want %q", c.id, got, c.want)
		}
	}
}
