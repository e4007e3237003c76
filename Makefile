# Everyday commands; CMake does the work (see CMakePresets.json).
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
export JOBS
# Those with unit tests. tests/mpi has MPI programs.
rooms := $(filter-out mpi,$(sort $(notdir $(patsubst %/,%,$(dir $(wildcard tests/*/*_test.cpp))))))

.PHONY: help build lab apps demo test test-more test-all test-gpu test-mpich-suite test-rdma test-aarch64 test-memory-order test-mpi-sanitizers check docs format install wheel deb dist release clean
.DEFAULT_GOAL := help

help:
	@echo "make build             the tool, build/bin/lapwing, and the preload libraries, build/lib"
	@echo "make lab               the laboratory, build/bin/lapwing-lab: lapwing predict and verify"
	@echo "make apps              the sample applications, build/apps (docs/applications.md), and the programs of bench/compare"
	@echo "make demo              overlap on virtual hosts, one for each core, the MPI beside Lapwing, with plots"
	@echo "make check ROOM=task   the unit tests of one room, $(rooms)"
	@echo "make test              unit tests, the tool, and MPI programs on Open MPI and MPICH: at most 10 minutes on 2 cores"
	@echo "make test-more         what CI runs after it: the address sanitizer, fuzzing, proofs, PyPI's MPIs, mpi4py's tests"
	@echo "make test-all          all of these on both MPIs, real applications, the thread sanitizer, the documentation's site, and the wheel"
	@echo "make test-gpu          the wheel on PyPI's MPIs, with buffers of an NVIDIA card; needs the card's driver only"
	@echo "make test-mpich-suite  MPICH's own tests of collectives, by MPICH and by each engine; fetches its source"
	@echo "make test-rdma         the link over libfabric and the kernel engine on Linux 6.1 with Soft-RoCE, in QEMU; fetches its kernel"
	@echo "make test-aarch64      compiled for aarch64, and run in QEMU; fetches Debian's arm64 packages; as root"
	@echo "make test-memory-order the shared-memory protocol and the gate under a weak memory model, by Relacy"
	@echo "make test-mpi-sanitizers  Lapwing in MPI programs under the address and the thread sanitizer"
	@echo "make docs              the documentation as a site that needs no server, build/site; fetches its generator from PyPI"
	@echo "make format            format the C and C++ sources"
	@echo "make install PREFIX=   install what make build has built, in $(PREFIX)"
	@echo "make wheel             dist/lapwing-*.whl, for glibc 2.28 and later; fetches its compiler, and the sources of two libraries"
	@echo "make deb               Debian packages, dist/deb"
	@echo "make dist              the source of the last commit, dist/lapwing-*.tar.gz"
	@echo "make release           all of these for a release, checked, with bills of materials and checksums (scripts/release)"
	@echo "make clean             remove all build directories"
	@echo
	@echo "build, apps, demo, test, docs, wheel and deb install the Debian packages that are missing (as root or by sudo)."

# A build directory that is configured stays as it is: after make test it holds the tests, too.
build:
	@scripts/install-dependencies build
	@test -f build/build.ninja || cmake --preset release
	cmake --build --preset release --parallel $(JOBS)

lab:
	@scripts/install-dependencies build
	cmake --preset release -DLAPWING_LAB=ON
	cmake --build --preset release --parallel $(JOBS) --target lab

apps:
	@scripts/install-dependencies build apps
	cmake --preset release
	cmake --build --preset release --parallel $(JOBS) --target apps compare_programs lapwing_tool lapwing-openmpi lapwing-mpich

demo:
	@scripts/install-dependencies demo
	cmake --preset release
	cmake --build --preset release --parallel $(JOBS) --target demo
	@scripts/demo

test:
	@scripts/install-dependencies test
	scripts/test release

test-more:
	@scripts/install-dependencies test more
	scripts/test address more least

test-all:
	@scripts/install-dependencies test more applications
	scripts/test --all
	$(MAKE) wheel

test-gpu:
	@ls dist/lapwing-*.whl >/dev/null 2>&1 || $(MAKE) wheel
	tests/pypi/run.py build-gpu gpu --wheel dist/lapwing-*.whl

test-rdma:
	@scripts/install-dependencies test rdma
	cmake --preset release -DLAPWING_TESTS=ON
	scripts/test-rdma

test-aarch64:
	scripts/test-aarch64

test-memory-order:
	@scripts/install-dependencies test memory-order
	cmake --preset release -DLAPWING_TESTS=ON
	scripts/test-memory-order

test-mpi-sanitizers:
	scripts/test-mpi-sanitizers

test-mpich-suite:
	@scripts/install-dependencies test
	cmake --preset release -DLAPWING_TESTS=ON
	cmake --build --preset release --parallel $(JOBS) --target lapwing_tool lapwing-mpich mpich_yield
	tests/mpich_suite/run.py build --table build/mpich_suite/table.txt

check:
	@test -n "$(ROOM)" -a "$(filter $(ROOM),$(rooms))" = "$(ROOM)" || \
		{ echo "make check: ROOM is '$(ROOM)' and must be one of: $(rooms)" >&2; exit 1; }
	@scripts/install-dependencies test
	@grep -qs LAPWING_TESTS:BOOL=ON build/CMakeCache.txt || cmake --preset release -DLAPWING_TESTS=ON
	cmake --build --preset release --parallel $(JOBS) --target $(ROOM)_test
	ctest --preset release --parallel $(JOBS) --label-regex '^unit' --tests-regex '^$(ROOM)[.]'

docs:
	@scripts/install-dependencies build docs
	@test -f build/build.ninja || cmake --preset release
	cmake --build --preset release --parallel $(JOBS) --target lapwing_tool
	scripts/docs

format:
	scripts/format

install:
	@test -f build/build.ninja || { echo "make install: nothing is built; run make build first" >&2; exit 1; }
	cmake --install build --prefix "$(PREFIX)"

# scripts/test-packages tries what these make, in clean systems.
wheel:
	@scripts/install-dependencies build wheel
	packaging/wheel/build

deb:
	@scripts/install-dependencies build deb
	scripts/make-deb

dist:
	scripts/make-dist

release:
	scripts/release

clean:
	rm -rf build build-* dist
