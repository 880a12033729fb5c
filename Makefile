# build, demo, test and lint need Go alone; race needs gcc, oracle needs python3.
FUZZTIME ?= 60s
BENCH    ?= .
COUNT    ?= 10
ORACLE   ?= ../shared/oracle/accept.py
ONLY     ?= cases,unified,split,siblings,server
DEMO     ?= testdata/otlp

.PHONY: build demo test race lint fuzz bench golden cover oracle cross

build:
	CGO_ENABLED=0 go build -trimpath -o bin/cbtrace ./cmd/cbtrace

demo: build
	./bin/cbtrace report $(DEMO)
	./bin/cbtrace inspect chatcmpl-93ab $(DEMO)

test:
	CGO_ENABLED=0 go test ./...

race:
	CGO_ENABLED=1 go test -race ./...

lint:
	@out=$$(gofmt -l cmd internal); test -z "$$out" || { echo "gofmt: $$out"; exit 1; }
	go vet ./... && go tool staticcheck ./...

fuzz:
	@for p in $$(go list ./...); do for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	  echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$p || exit 1; done; done

bench:
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) ./... | tee bench.txt

golden:
	go test ./cmd/cbtrace ./internal/render -update

cover:
	go test -coverprofile cover.out -coverpkg ./... ./... && go tool cover -func cover.out | tail -1

oracle: build
	@if [ -f $(ORACLE) ]; then python3 $(ORACLE) ./bin/cbtrace --only $(ONLY) $(ORACLEFLAGS); else echo "oracle: skipped, no $(ORACLE)"; fi

cross:
	@for t in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64; do echo $$t; \
	  GOOS=$${t%/*} GOARCH=$${t#*/} CGO_ENABLED=0 go build -trimpath -o bin/cbtrace-$${t%/*}-$${t#*/} ./cmd/cbtrace || exit 1; done
