#!/usr/bin/env python3
"""Every call that can fail, failing: no run may crash, hang, or go on as if nothing were wrong.

failing.c, preloaded, makes the n-th call of a kind fail, and then all later ones too, in a few conversations with
models/tiny. Each run must end with exit status 0 and the same replies, or with a line that says what failed (if
all later calls fail too, with one for each turn). Skipped (exit status 77) where no library can be preloaded.

usage: test_failures.py [all]    all: every call, not some of each kind
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time

import fixture

PROGRAM = os.path.join(fixture.BUILD, "qwen600-tiny")
MODEL = os.path.join(os.path.dirname(fixture.TESTS), "models", "tiny")
CONFIG = os.path.join(os.path.dirname(fixture.TESTS), "config.h")
SOME = 40  # calls of a kind in a scenario
CC = os.environ.get("CC", "cc")

TURNS = b'What is RoPE?\n\n"""\nMy name\nis Ada.\n"""\n\xff\xe4\xb8\n/clear\nHi.\n'
CPU = ["-d", "cpu"]  # what the CUDA runtime does without memory is its own affair
SCENARIOS = {  # name: (arguments, standard input)
    "a prompt": ([MODEL, "-i", "What is RoPE?", "-n", "4", "-c", "256", "-s", "1", *CPU], b""),
    "a prompt from standard input": (
        [MODEL, "-i", "-", "-n", "4", "-c", "256", "-t", "0", *CPU],
        b"Hi. " * 30 + b"\n",
    ),
    "turns": ([MODEL, "-n", "3", "-c", "256", "-t", "0", "-r", "1", "-y", "Be brief.", *CPU], TURNS),
    "a full context": ([MODEL, "-n", "3", "-c", "48", "-k", "0", "-s", "2", *CPU], b"What is RoPE?\n" * 5),
    "a prompt that is too long": ([MODEL, "-n", "3", "-c", "32", "-t", "0", *CPU], b"Hi. " * 60 + b"\nHi.\n"),
    "no model": (["/no/such"], b""),
}


class Failures:
    def __init__(self, folder):
        self.folder, self.library = folder, os.path.join(folder, "failing.so")
        self.runs, self.bad = 0, []

    def run(self, scenario, **variables):
        arguments, text = SCENARIOS[scenario]
        environment = {**os.environ, "OMP_NUM_THREADS": "2", "LD_PRELOAD": self.library, **variables}
        self.runs += 1
        return subprocess.run(
            [PROGRAM, *arguments], input=text, capture_output=True, env=environment, timeout=60
        )

    def counts(self, scenario):
        """(an undisturbed run, {kind: how many calls it made})."""
        path = os.path.join(self.folder, "counts")
        run = self.run(scenario, FAIL_COUNTS=path)
        with open(path) as file:
            return run, {kind: int(n) for kind, n in map(str.split, file)}

    def check(self, scenario, usual, kind, at, rest):
        problem, text = "", SCENARIOS[scenario][1] or b"\n"
        try:
            run = self.run(scenario, FAIL_KIND=kind, FAIL_AT=str(at), **({"FAIL_REST": "1"} if rest else {}))
        except subprocess.TimeoutExpired:
            run, problem = None, "hangs"
        if run:
            usual_lines = usual.stderr.split(b"\n")
            lines = [line for line in run.stderr.split(b"\n") if line not in usual_lines]
            said = [
                line
                for line in lines
                if line.startswith((b"qwen600-tiny: ", b"libgomp: ", b"(out of memory"))
            ]
            if run.returncode not in (0, 1):
                problem = f"ends with {run.returncode}"
            elif (
                run.returncode == 1
                and usual.returncode == 0
                and not 1 <= len(said) <= (text.count(b"\n") if rest else 1)
            ):
                problem = f"says {len(said)} lines"
            elif run.returncode == 0 and not said and run.stdout != usual.stdout:
                problem = "replies something else and says nothing"
        if problem:
            which = f"{scenario}: {kind} {at}{' and all later ones' if rest else ''}: {problem}"
            self.bad.append(which)
            print(which, run and run.stderr[-300:], flush=True)


def test_every_failing_call_ends_in_a_line(failures, everything):
    for scenario in SCENARIOS:
        usual, counts = failures.counts(scenario)
        for kind, n in counts.items():
            some = range(1, n + 1)
            if not everything and n > SOME:
                some = sorted({1 + i * (n - 1) // (SOME - 1) for i in range(SOME)})
            for at in some:
                for rest in (False, True):
                    if not rest or at < n:
                        failures.check(scenario, usual, kind, at, rest)
    assert not failures.bad, f"{len(failures.bad)} of {failures.runs} runs"


def test_every_kind_of_call_is_seen(failures, everything):
    """Or the test above tests nothing."""
    seen = {kind for scenario in SCENARIOS for kind, n in failures.counts(scenario)[1].items() if n}
    assert {"malloc", "realloc", "open", "fstat", "read", "mmap", "write", "thread"} <= seen, seen


def test_a_build_that_would_compute_something_else_is_refused(failures, everything):
    for flags, line in [
        (["-ffast-math"], "-ffast-math computes something else"),
        (["-Ofast"], "-ffast-math computes something else"),
        (["-U__SIZEOF_POINTER__", "-D__SIZEOF_POINTER__=4"], "needs a 64-bit machine (no -m32)"),
        (["-U__BYTE_ORDER__", "-D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__"], "needs a little-endian machine"),
        ([], None),
    ]:
        command = [CC, "-std=c11", "-fsyntax-only", *flags, "-x", "c", CONFIG]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode != 0) == bool(line) and (line or "") in done.stderr, (flags, done.stderr)


def main():
    folder = tempfile.mkdtemp()
    failures = Failures(folder)
    start = time.monotonic()
    source = os.path.join(fixture.TESTS, "failing.c")
    try:
        command = [CC, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", source, "-o", failures.library, "-ldl"]
        if not shutil.which(CC) or subprocess.run(command).returncode != 0:
            print("skipped: no C library that can be preloaded can be built here (failing.c is for glibc)")
            return 77
        if not failures.counts("a prompt")[1].get("malloc"):
            print("skipped: the library is not loaded here")
            return 77
        everything = sys.argv[1:] == ["all"]
        for name, test in list(globals().items()):
            if name.startswith("test_"):
                test(failures, everything)
                print(f"{name} ok, {failures.runs} runs, {time.monotonic() - start:.0f} s", flush=True)
    finally:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
