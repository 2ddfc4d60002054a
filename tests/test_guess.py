#!/usr/bin/env python3
"""Guesses (-g) change the speed, never the reply: some hundred conversations with models/tiny and with random
weights, under all kinds of flags, print the same bytes with and without.

Beside the program runs tests/guessing.c, which guesses far more than is wise.
"""
import concurrent.futures
import os
import random
import re
import subprocess
import sys

import fixture
from fixture import BUILD
from test_main import MODEL, PROGRAM, random_model

sys.path.insert(0, os.path.join(fixture.TESTS, "tiny"))
import data

GUESSING = os.path.join(BUILD, "tests", "guessing")
SENTENCE = "The quick brown fox jumps over the lazy dog. "


def turn(rng):
    name = rng.choice([topic.names[0] for topic in data.TOPICS if topic.names]).lstrip("+")
    text = rng.choice(["What is %s?", "Tell me about %s.", "Explain %s, then explain %s.", "%s", "Repeat: " + 3 * SENTENCE,
                       "2 + 3?", "My name is Ada.", "What is my name?", "你好", "Say ha ha ha ha ha.", '"""\na\n\nb\n"""'])
    return text.replace("%s", name)


def conversations(rng, count):
    """What is typed: questions come again, within a conversation and in the next one."""
    turns, lines = [turn(rng) for _ in range(4)], []
    for i in range(count):
        lines += ["/clear"] * (i > 0) + [turn(rng) if rng.random() < 0.3 else rng.choice(turns) for _ in range(rng.randint(2, 4))]
    return "".join(line + "\n" for line in lines)


def flags(rng):
    chosen = ["-s", str(rng.randint(1, 999)), "-n", rng.choice(["1", "2", "9", "60", "60", "60", "90"])]
    for flag, values in {"-t": ["0", "0.3", "0.6", "1", "1", "2"], "-k": ["1", "5", "20", "20", "100", "0"],
                         "-p": ["0", "0.5", "0.95", "0.95", "1"], "-r": ["0", "1"],
                         "-c": ["100", "150", "300", "8192"], "-y": ["", "Answer in one word.", "Be brief. " * 5]}.items():
        if rng.random() < 0.6:
            chosen += [flag, rng.choice(values)]
    return chosen


def run(program, model, arguments, typed):
    """Status, replies, thinking with all that a person sees, ids; and how many tokens were guessed, and kept."""
    done = subprocess.run([program, model, "-d", "cpu", "-v", "1", *arguments], input=typed.encode(), timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = done.stderr.decode("utf-8", "replace")
    counts = [sum(map(int, re.findall(r"(\d+) " + word, said))) for word in ("guessed", "kept")]
    said = re.sub(r"[\d.]+ (ms|tokens/s)|; \d+ guessed, \d+ kept", "", said)
    return (done.returncode, done.stdout, said), counts


def same(seed, count, model, *fixed):
    """Runs conversations without and with guesses."""
    rng = random.Random(seed)
    arguments, typed = [*flags(rng), *fixed], conversations(rng, count)
    plain, (guessed, _) = run(PROGRAM, model, [*arguments, "-g", "0"], typed)
    assert guessed == 0 and plain[0] in (0, 1), plain
    total = [0, 0]
    for program, guesses in (GUESSING, "7"), (GUESSING, str(rng.randint(1, 6))), (PROGRAM, "7"):
        result, counts = run(program, model, [*arguments, "-g", guesses], typed)
        assert result == plain, (seed, guesses, arguments, typed, plain, result)
        if program == GUESSING:
            total = [a + b for a, b in zip(total, counts)]
    return total


def all_the_same(seeds, count, model, *fixed):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(lambda seed: same(seed, count, model, *fixed), seeds))
    guessed, kept = map(sum, zip(*counts))
    print("%d conversations: %d tokens guessed, %d kept" % (count * len(seeds), guessed, kept))
    return guessed, kept


def test_replies_of_the_bundled_model_are_the_same():
    guessed, kept = all_the_same(range(24), 5, MODEL)
    assert guessed > 6000 and 300 < kept < 0.8 * guessed, (guessed, kept)


def test_replies_of_random_weights_are_the_same():
    guessed, kept = all_the_same(range(100, 104), 2, random_model(), "-n", "100")
    assert guessed > 4000 and kept > 100, (guessed, kept)


if __name__ == "__main__":
    fixture.run(globals())
