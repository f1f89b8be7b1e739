# judge: an online judge for quantized CUDA kernel exercises.  `make help` lists what can be made.
MAKEFLAGS += --no-builtin-rules
PREFIX ?= /usr/local
CUDA   ?= $(firstword $(CUDA_HOME) $(patsubst %/bin/nvcc,%,$(shell command -v nvcc 2>/dev/null)) /usr/local/cuda)
CC      = gcc
AR      = gcc-ar
B       = build$(if $(SAN),/san)
Q       = $(if $(V),,@)
VERSION := 0.1.0

HARDEN   = -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fcf-protection
SANITIZE = $(if $(SAN),-fsanitize=address$(COMMA)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer,$(HARDEN))
COMMA    = ,
# Instrumented code at -O3 takes gcc minutes a file and finds nothing more.
OPTIMISE = $(if $(SAN),-O1,-O$(1))
CFLAGS   = -std=gnu17 $(call OPTIMISE,2) -g -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -D_GNU_SOURCE -pthread \
           -DJUDGE_VERSION='"$(VERSION)"' -MMD -MP $(SANITIZE) $(EXTRA)
LDLIBS   = -lseccomp -lcjson -lsodium -lsqlite3 -lmicrohttpd -lmd4c -larchive -lm -ldl -lstdc++

ISAS       = plain avx2 avx512
ISA_plain  = $(if $(SAN),,-O2)		# for machines without AVX2: at -O3 gcc takes thrice as long for it
ISA_avx2   = -mavx2 -mfma -mf16c -mbmi2 -mlzcnt
ISA_avx512 = $(ISA_avx2) -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512
LANES      = $(wildcard sandbox/ptx/alu_lanes_*.c)

SRC   = $(wildcard sandbox/base/*.c sandbox/*.c sandbox/device/*.c) $(filter-out $(LANES),$(wildcard sandbox/ptx/*.c))
OBJ   = $(SRC:%.c=$(B)/obj/%.o) $(foreach i,$(ISAS),$(LANES:%.c=$(B)/obj/%.$(i).o))
JUDGE = $(patsubst %.c,$(B)/obj/%.o,$(filter-out judge/main.c,$(wildcard judge/*.c judge/store/*.c judge/queue/*.c judge/server/*.c judge/author/*.c)))
GUEST = $(patsubst %.c,$(B)/guest/%.o,$(wildcard sandbox/guest/*.c))
REF   = $(patsubst %.c,$(B)/reference/%.o,$(filter-out %_main.c,$(wildcard reference/*.c)))
UNIT  = $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/*_test.c))
BENCH = $(patsubst tests/bench/%.c,$(B)/bench/%,$(wildcard tests/bench/*_bench.c))
FUZZ  = $(patsubst tests/fuzz/%_fuzz.c,%,$(wildcard tests/fuzz/*_fuzz.c))
PROBLEMS = $(patsubst problems/%/oracle.c,$(B)/problems/%/oracle,$(wildcard problems/*/oracle.c))
PROFILES = $(patsubst sandbox/ptx/profiles/%,$(B)/profiles/%,$(wildcard sandbox/ptx/profiles/*.json))

# What is missing is said here, before the compiler says it in its way.
NEEDED  = libseccomp libcjson libsodium sqlite3 libmicrohttpd md4c libarchive
MISSING = $(if $(shell command -v pkg-config),$(foreach p,$(NEEDED),$(if $(shell pkg-config --exists $p && echo yes),,$p)))
ifneq ($(filter all install bundle unit,$(or $(MAKECMDGOALS),all)),)
$(if $(strip $(MISSING)),$(warning pkg-config knows nothing of these libraries: $(strip $(MISSING)).  If a header is not found now: `make setup` installs them))
endif

.PHONY: all demo test test-gpu unit web pages fuzz fuzzers bench bundle clean install setup setup-web help
.DELETE_ON_ERROR:
# linked beside and put in place whole: a failure, or another make at the same time, leaves the one that works
.PRECIOUS: $(B)/judge
.SECONDARY:

# (with `web` asked for as well, the pages are made by that: once)
all: $(B)/judge $(B)/libguest.a $(PROBLEMS) $(PROFILES) $(if $(filter web,$(MAKECMDGOALS)),web,$(if $(shell command -v npm),pages))

help:           ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 22

demo: setup     ## install what is missing, build, grade the INT4 sample on the emulated GPU
	$(Q)$(MAKE) --no-print-directory -j2 all
	$(B)/judge -p int4-gemv problems/int4-gemv/submissions/accepted/step1_textbook.cu

test: setup-web ## install what is missing, build, run every test
	$(Q)$(MAKE) --no-print-directory -j2 all web $(UNIT) $(FUZZ:%=$(B)/tests/fuzz_%) $(B)/storm $(B)/fixture
	$(Q)B=$(B) SAN=$(SAN) tests/run

test-gpu: setup ## on a machine with a GPU: the tests that need one
	$(Q)$(MAKE) --no-print-directory -j2 all
	$(Q)B=$(B) tests/gpu/run

unit: $(UNIT)   ## only the C unit tests
	$(Q)B=$(B) tests/run unit

# clang's coverage and sanitizers in all that reads what a stranger made; the work lies in build/fuzz.
SECONDS ?= 60
fuzz: setup     ## SECONDS=60: that long for each parser, look for inputs that crash it (wants clang)
	$(Q)tests/fuzz/campaign --check
	$(Q)$(MAKE) --no-print-directory -j2 B=build/fuzz CC=clang SAN= EXTRA="-w -DFUZZING" OPTIMISE=-O1 \
		SANITIZE="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer" fuzzers
	$(Q)tests/fuzz/campaign $(SECONDS)
fuzzers: $(FUZZ:%=$(B)/fuzz_%)

bench: setup    ## speed of compile step, jail and emulator, as ratios taken in one run
	$(Q)$(MAKE) --no-print-directory -j2 all $(BENCH)
	$(Q)B=$(B) tests/bench/run

setup:          ## install what the build needs
	$(Q)tests/setup "$(CUDA)"
setup-web:
	$(Q)tests/setup "$(CUDA)" npm chromium fonts-noto-cjk

# The browser side.  Nothing else needs it: where its packages cannot be had, all but the pages is made.
web: $(B)/web/index.html	## the pages (wants npm)
pages:
	$(Q)$(MAKE) --no-print-directory web || echo "judge: the pages of judge serve could not be built; all else can (make web says more)"
$(B)/web/index.html: web/node_modules/.package-lock.json web/build.mjs $(shell find web/src -type f)
	@mkdir -p $(B) && echo "  WEB   $(B)/web"
	$(Q)cd web && node_modules/.bin/tsc --noEmit && node build.mjs $(abspath $(B)/web)
web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	@echo "  NPM   web/node_modules"
	$(Q)cd web && npm ci --no-audit --no-fund --loglevel=error && touch node_modules/.package-lock.json

$(B)/judge: $(B)/obj/judge/main.o $(JUDGE) $(OBJ)
	@echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS) -o $@.new $^ $(LDLIBS) && mv $@.new $@	# one that runs stays whole

$(B)/libguest.a: $(GUEST)
$(B)/libreference.a: $(REF)
$(B)/libguest.a $(B)/libreference.a:
	@echo "  AR    $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# the emulated GPU: its loops over 32 lanes become vectors
$(B)/obj/sandbox/ptx/%.o: CFLAGS += -O3
$(B)/obj/sandbox/ptx/lower%.o: CFLAGS += -O2	# has none

$(B)/obj/judge/server/api_site.o: judge/server/openapi.json

$(B)/obj/%.o: %.c
	@mkdir -p $(@D) && echo "  CC    $<"
	$(Q)$(CC) $(CFLAGS) -c -o $@ $<

$(B)/obj/sandbox/device/%.o: CFLAGS += -isystem $(CUDA)/include

define ISA_RULE
$(B)/obj/%.$(1).o: %.c
	@mkdir -p $$(@D) && echo "  CC    $$< ($(1))"
	$(Q)$(CC) $(CFLAGS) $$(call OPTIMISE,3) -ffp-contract=off -fno-math-errno -fno-trapping-math -DALU_ISA=$(1) $(ISA_$(1)) -c -o $$@ $$<
endef
$(foreach i,$(ISAS),$(eval $(call ISA_RULE,$(i))))

# The guest is linked into submissions: no sanitizer, no PIE, nothing of ours that needs a loader.
$(B)/guest/%.o: %.c
	@mkdir -p $(@D) && echo "  CC    $< (guest)"
	$(Q)$(CC) -std=gnu17 -O2 -g -Wall -Wextra -Wshadow -D_GNU_SOURCE -fno-pie -isystem $(CUDA)/include -MMD -MP -c -o $@ $<

# References are the same bits on every machine: no contraction, no value-changing optimisation.
$(B)/reference/%.o: %.c
	@mkdir -p $(@D) && echo "  CC    $<"
	$(Q)$(CC) -std=gnu17 -O3 -g -Wall -Wextra -Wshadow -ffp-contract=off -MMD -MP -c -o $@ $<

$(B)/problems/%/oracle: problems/%/oracle.c reference/oracle_main.c $(B)/libreference.a $(wildcard reference/*.h)
	@mkdir -p $(@D) && echo "  CC    $<"
	$(Q)$(CC) -std=gnu17 -O3 -Wall -Wextra -ffp-contract=off -static -no-pie -fno-pie -Ireference -I. -o $@ \
		$< reference/oracle_main.c $(B)/libreference.a -lm

$(B)/profiles/%.json: sandbox/ptx/profiles/%.json
	@mkdir -p $(@D) && cp $< $@

# What a test does not call is left out of it, and so is a .c file that it includes to get at its inside.  (Such a file is a
# prerequisite, too, by way of the .d file: so what is compiled is named, and not taken from $^.)
$(B)/libjudge.a: $(JUDGE) $(OBJ)
	@echo "  AR    $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Tests run once: -O1 is compiled faster than it is missed.
$(B)/tests/test.o $(B)/tests/replay.o: $(B)/tests/%.o:
	@mkdir -p $(@D) && echo "  CC    $<"
	$(Q)$(CC) $(CFLAGS) -O1 -I. -c -o $@ $<
$(B)/tests/test.o: tests/unit/test.c
$(B)/tests/replay.o: tests/fuzz/replay.c

$(B)/tests/%: tests/unit/%.c $(B)/tests/test.o $(B)/libjudge.a $(B)/libreference.a
	@mkdir -p $(@D) && echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS) -O1 -Wno-conversion -I. -MF $@.d -o $@ $< $(MORE) $(B)/tests/test.o $(B)/libjudge.a $(B)/libreference.a $(LDLIBS)

$(B)/storm: tests/queue/storm.c
$(B)/fixture: tests/http/fixture.c
$(B)/storm $(B)/fixture: $(B)/libjudge.a
	@echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS) -O1 -Wno-conversion -I. -MF $@.d -o $@ $(filter %.c,$^) $(filter %.a,$^) $(LDLIBS)

$(B)/tests/fuzz_%: tests/fuzz/%_fuzz.c $(B)/tests/replay.o $(B)/libjudge.a
	@mkdir -p $(@D) && echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS) -O1 -Wno-conversion -I. -MF $@.d -o $@ $< $(B)/tests/replay.o $(B)/libjudge.a $(LDLIBS)

$(B)/fuzz_%: tests/fuzz/%_fuzz.c tests/fuzz/mutate.c $(B)/libjudge.a
	@mkdir -p $(@D) && echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS) -fsanitize=fuzzer -I. -MF $@.d -o $@ $< tests/fuzz/mutate.c $(B)/libjudge.a $(LDLIBS)

# Golden data is made on a machine with a GPU: build/golden_gpu tests/golden/forms.txt OUT
$(B)/golden_gpu: tests/golden/gpu.c tests/golden/forms.c $(B)/obj/sandbox/base/err.o $(B)/obj/sandbox/base/arena.o $(B)/obj/sandbox/base/buf.o
	$(Q)$(CC) $(CFLAGS) -I. -MF $@.d -o $@ $(filter %.c %.o,$^) -ldl

$(B)/tests/golden_test: MORE = tests/golden/forms.c
$(B)/tests/golden_test: tests/golden/forms.c
# Its driver is a part of it, found by dlopen(NULL).
$(B)/tests/gpu_test: MORE = tests/unit/stub_cuda.c
$(B)/tests/gpu_test: tests/unit/stub_cuda.c
$(B)/tests/gpu_test: CFLAGS += -isystem $(CUDA)/include -rdynamic

$(B)/bench/%: tests/bench/%.c $(OBJ)
	@mkdir -p $(@D) && echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS) -Wno-conversion -I. -MF $@.d -o $@ $< $(OBJ) $(LDLIBS)

install: all    ## copy to PREFIX (default /usr/local)
	install -D -m 755 $(B)/judge $(DESTDIR)$(PREFIX)/bin/judge
	install -D -m 644 $(B)/libguest.a $(DESTDIR)$(PREFIX)/lib/judge/libguest.a
	install -D -m 644 $(B)/libreference.a $(DESTDIR)$(PREFIX)/lib/judge/libreference.a
	install -D -m 644 judge/judge.1 $(DESTDIR)$(PREFIX)/share/man/man1/judge.1
	mkdir -p $(DESTDIR)$(PREFIX)/share/judge/reference
	cp -r problems $(B)/profiles judge/author/template $(DESTDIR)$(PREFIX)/share/judge/
	[ ! -d $(B)/web ] || cp -r $(B)/web $(DESTDIR)$(PREFIX)/share/judge/
	cp -r reference/*.h reference/oracle_main.c reference/peaks.cu $(DESTDIR)$(PREFIX)/share/judge/reference/
	for p in $(notdir $(patsubst %/,%,$(dir $(PROBLEMS)))); do \
		install -D -m 755 $(B)/problems/$$p/oracle $(DESTDIR)$(PREFIX)/lib/judge/problems/$$p/oracle; done

# Everything in one folder, for a machine that has CUDA but not our libraries' packages.
bundle: all     ## build/bundle: the judge with its libraries, for a machine with a GPU and no packages of ours
	rm -rf $(B)/bundle && $(MAKE) --no-print-directory install PREFIX=$(abspath $(B)/bundle) DESTDIR=
	mv $(B)/bundle/bin/judge $(B)/bundle/bin/judge-program && strip $(B)/bundle/bin/judge-program
	install -m 755 tests/gpu/bundled $(B)/bundle/bin/judge
	mkdir -p $(B)/bundle/lib/judge/libraries
	ldd $(B)/judge | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | grep -Ev '/lib(c|m|dl|pthread|stdc\+\+|gcc_s)\.so' | xargs cp -L -t $(B)/bundle/lib/judge/libraries
	mkdir -p $(B)/bundle/tests && cp -r tests/gpu tests/problems tests/programs tests/cheats $(B)/bundle/tests/

clean:          ## remove build/
	rm -rf build

-include $(shell find $(B) -name '*.d' 2>/dev/null)
