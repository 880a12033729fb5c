package ingest

import "testing"

// R4.11: what is rotated stays one process, what is numbered apart does not.
func TestFamily(t *testing.T) {
	for _, c := range []struct{ shown, want string }{
		{"traces.jsonl", "traces.jsonl"},
		{"a/data-2022-09-14T05-02-14.173.json.gz", "a/data.json"},
		{"profile/cb_profile-sched-000.jsonl", "profile/cb_profile-sched.jsonl"},
		{"profile/cb_profile-sched-001.jsonl.zst", "profile/cb_profile-sched.jsonl"},
		{"profile/cb_profile-worker0-000.jsonl", "profile/cb_profile-worker0.jsonl"},
		{"hashes/lookup_hashes_20251129_160000_000001.jsonl", "hashes/lookup_hashes.jsonl"},
		{"hashes/lookup_hashes_20251129_160000-000.jsonl", "hashes/lookup_hashes.jsonl"},
		{"profile.jsonl.1", "profile.jsonl"},
		{"profile.2025-11-29T16:00:00.jsonl", "profile.jsonl"},
		{"rank-000.jsonl", "rank-000.jsonl"},
		{"cb_profile_worker_001.jsonl", "cb_profile_worker_001.jsonl"},
		{"cb_profile-4242.jsonl", "cb_profile-4242.jsonl"},
		{"v1.2/profile.jsonl", "v1.2/profile.jsonl"},
		{"000.jsonl", "000.jsonl"},
	} {
		if got := family(c.shown); got != c.want {
			t.Errorf("family(%q) = %q, want %q", c.shown, got, c.want)
		}
	}
}
