module github.com/cbtrace/cbtrace

go 1.26
