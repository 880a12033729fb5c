# build, demo, test and lint need Go alone; race needs gcc, oracle python3, bench-day gcc, python3, jq and zstd.
FUZZTIME ?= 60s
BENCH    ?= .
COUNT    ?= 10
ORACLE   ?= ../shared/oracle/accept.py
ONLY     ?=
DEMO     ?= testdata/demo
REQUESTS ?= 60000
SCALES   ?= 1,4,16
ROUNDS   ?= 5
SLOW     ?= true
KEEP     ?=

.PHONY: stats-power build demo demo-data test race lint fuzz bench bench-day golden cover oracle cross

build:
	CGO_ENABLED=0 go build -trimpath -o bin/cbtrace ./cmd/cbtrace

demo: build
	./bin/cbtrace report $(DEMO)
	./bin/cbtrace list --sort ttft --limit 5 $(DEMO)
	./bin/cbtrace inspect chatcmpl-90a5 $(DEMO)

demo-data:
	go run ./testdata/gen -o testdata/demo

test:
	CGO_ENABLED=0 go test ./...

race: # without what has but one goroutine and takes long (-short)
	CGO_ENABLED=1 go test -race -short -timeout 20m ./...

lint:
	@out=$$(gofmt -l cmd internal testdata/gen); test -z "$$out" || { echo "gofmt: $$out"; exit 1; }
	go vet ./... ./testdata/gen && go tool staticcheck ./... ./testdata/gen

fuzz: # two targets at a time, one worker each
	@for p in $$(go list ./...); do go test -list '^Fuzz' $$p | grep '^Fuzz' | sed "s|^|$$p |"; done | \
	  xargs -P 2 -L 1 sh -c '.ci/fuzz $$0 $$1 $(FUZZTIME)'

bench:
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) ./... | tee bench.txt

bench-day: build
	mkdir -p bin/bench && cd testdata/bench && go build -o ../../bin/bench/ ./gen ./pdata ./run && CGO_ENABLED=1 go build -o ../../bin/bench/ ./duck && cp lines.py ../../bin/bench/
	./bin/bench/run -cbtrace bin/cbtrace -tools bin/bench -requests=$(REQUESTS) -scales=$(SCALES) -rounds=$(ROUNDS) -slow=$(SLOW) -keep=$(KEEP)

golden:
	go test ./cmd/cbtrace ./internal/render ./internal/analyze/where -update

cover:
	go test -coverprofile cover.out -coverpkg ./... ./... && go tool cover -func cover.out | tail -1

oracle: build
	@if [ -f $(ORACLE) ]; then python3 $(ORACLE) ./bin/cbtrace $(if $(ONLY),--only $(ONLY)) $(ORACLEFLAGS); else echo "oracle: skipped, no $(ORACLE)"; fi

cross:
	@for t in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64; do echo $$t; \
	  GOOS=$${t%/*} GOARCH=$${t#*/} CGO_ENABLED=0 go build -trimpath -o bin/cbtrace-$${t%/*}-$${t#*/} ./cmd/cbtrace || exit 1; done

# how often the gate is wrong and what it can see: half an hour of a core; docs/statistics.md holds what it prints
stats-power:
	go test ./internal/analyze/budget -run '^TestPower' -power -v -timeout 4h
