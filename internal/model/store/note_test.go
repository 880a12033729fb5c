package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cbtrace/cbtrace/internal/model"
)

func someNotes() []note {
	a, b := hashID([]byte("a")), hashID([]byte("b"))
	return []note{
		{kind: noteWeak, about: a, from: 4095},
		{kind: noteStrong, about: b},
		{kind: noteExternal, about: a, from: 1},
		{kind: noteFit, about: a, key: b, level: 3, forms: forms{1, noForm, 4095, 0}},
		{kind: noteTaken, about: b, level: 2},
		{kind: noteJoined, about: a, key: b, found: foundFits, join: model.JoinNormalised},
		{kind: noteJoined, about: a, key: a, found: foundAmbiguous},
		{kind: notePair, about: a, key: b},
	}
}

// Notes come back as they were written, from memory and from disk, where a damaged one is an error.
func TestNotes(t *testing.T) {
	for _, memory := range []int64{0, 1} {
		s := New(model.NewDict(), Config{Memory: memory, Partitions: 4, TempDir: t.TempDir()})
		defer s.Close()
		w := s.newNoteWriter()
		var want []note
		for range 100 { // several chunks
			want = append(want, someNotes()...)
		}
		for i := range want {
			for _, box := range []inbox{inboxAsked, inboxPairs} {
				if err := w.put(box, 3, &want[i]); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.flush(); err != nil {
			t.Fatal(err)
		}
		sc := s.newScanner()
		read := func(box inbox, part int) (got []note, err error) {
			err = sc.eachNote(context.Background(), s.inbox(box, part), func(n *note) error {
				got = append(got, *n)
				return nil
			})
			return got, err
		}
		for _, box := range []inbox{inboxAsked, inboxPairs} {
			if got, err := read(box, 3); err != nil || !slices.Equal(got, want) {
				t.Fatalf("memory %d, inbox %d: %d notes, %v; want %d", memory, box, len(got), err, len(want))
			}
		}
		if got, err := read(inboxAsked, 2); err != nil || len(got) != 0 {
			t.Errorf("another partition has %d notes, %v", len(got), err)
		}
		if memory == 0 {
			continue
		}
		path := filepath.Join(s.spill.dir, spillNames[fileWaiting])
		info, err := os.Stat(path)
		if err != nil || info.Size() != int64(2*len(want)*noteLen) {
			t.Fatalf("%v, %v", info, err)
		}
		if err := flip(path, info.Size()-1); err != nil {
			t.Fatal(err)
		}
		if _, err := read(inboxPairs, 3); !errors.Is(err, errCorrupt) {
			t.Errorf("a damaged note: %v", err)
		}
	}
}

// What waits on disk and was damaged there makes identify fail, whichever step meets it.
func TestIdentifyDamaged(t *testing.T) {
	for _, at := range []int64{0, 1, 2, 3} { // quarters of the file
		d, batches, _ := workload(400, 10, true)
		s := New(d, Config{Memory: 256 << 10, TempDir: t.TempDir()})
		fill(t, s, batches)
		path := filepath.Join(s.spill.dir, spillNames[fileWaiting])
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := flip(path, info.Size()*at/4); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Identify(context.Background()); !errors.Is(err, errCorrupt) {
			t.Errorf("quarter %d: %v", at, err)
		}
		s.Close()
	}
}
