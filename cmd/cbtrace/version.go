package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "the version of this program",
		Example: "  cbtrace version",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.version()
		},
	}
}

// version prints it.
func (a *app) version() error {
	return a.print("", func(w io.Writer) error {
		_, err := fmt.Fprintln(w, versionLine(debug.ReadBuildInfo()))
		return err
	})
}

// versionLine is the version of the module, the commit it was built from and the Go it was built with, as far as the build knows.
func versionLine(info *debug.BuildInfo, ok bool) string {
	version, commit := "(devel)", ""
	if ok {
		if info.Main.Version != "" {
			version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = " " + s.Value + commit
			case s.Key == "vcs.modified" && s.Value == "true":
				commit += " with changes"
			}
		}
	}
	return fmt.Sprintf("cbtrace %s%s, %s %s/%s", version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
