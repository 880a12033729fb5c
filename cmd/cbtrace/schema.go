package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cbtrace/cbtrace/internal/render"
	"github.com/cbtrace/cbtrace/internal/render/schema"
)

func newSchema(a *app) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "schema COMMAND",
		Short: "the JSON Schema of what a command prints",
		Long:  "Prints the JSON Schema of what COMMAND prints with --format json: " + documents() + ". Fields are added within a version, never renamed or removed.",
		Example: `  cbtrace schema report              what report --format json holds, field by field
  cbtrace schema report -o report.schema.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("want one of %s", documents())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := schema.Command(args[0])
			if err != nil {
				return err
			}
			if s == nil {
				return usagef("no document of %q: want one of %s", args[0], documents())
			}
			return a.print(path, func(w io.Writer) error { return render.JSON(w, s) })
		},
	}
	cmd.Flags().StringVarP(&path, "output", "o", "", "write to `FILE`, which is whole or not there")
	return cmd
}

// documents are the commands that print JSON.
func documents() string {
	var names []string
	for _, d := range schema.Documents {
		names = append(names, d.Command)
	}
	return strings.Join(names, ", ")
}
