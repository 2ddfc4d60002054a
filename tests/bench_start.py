"""bench_start.py PROGRAM CONTEXT_ONLY MODEL_DIR: what a person waits for before the second token, on a card.

The wall time of `-i hi -n 1` beside that of a program that only creates a CUDA context; the first tokens of a chat at
a terminal; -k 0; anonymous memory. MODEL_DIR may hold random weights alone: the tokenizer is put beside them.
"""

import os
import re
import statistics
import subprocess
import sys
import time

import fixture

PROGRAM, CONTEXT_ONLY, MODEL = (os.path.abspath(path) for path in sys.argv[1:4])
RUNS = 5


def prepare():
    if not os.path.exists(os.path.join(MODEL, "tokenizer.bin")):
        fixture.write_model(MODEL)
        export = os.path.join(os.path.dirname(fixture.TESTS), "export.py")
        subprocess.run([sys.executable, export, MODEL], check=True, stdout=subprocess.DEVNULL)


def run(*command):
    """Seconds from exec to exit, and what it wrote."""
    start = time.monotonic()
    got = subprocess.run(command, capture_output=True, text=True, errors="replace")
    seconds = time.monotonic() - start
    assert got.returncode == 0, got.stderr
    return seconds, got.stdout, got.stderr


def kilobytes(status):
    return int(re.search(r"RssAnon:\s+(\d+) kB", status).group(1))


def start():
    run(PROGRAM, MODEL, "-i", "hi", "-n", "1")  # the file is in the page cache now
    context, whole = [], []
    for _ in range(RUNS):
        context.append(run(CONTEXT_ONLY)[0])
        whole.append(run(PROGRAM, MODEL, "-i", "hi", "-n", "1", "-d", "gpu")[0])
    a, b = statistics.median(context), statistics.median(whole)
    print("a CUDA context alone: %.3f s; -i hi -n 1: %.3f s; difference %.3f s (medians of %d; 0.200 wanted)"
          % (a, b, b - a, RUNS))
    print(run(PROGRAM, MODEL, "-i", "hi", "-n", "1", "-v", "1")[2].strip())


def first_tokens():
    for title, wait, text in (
        ("typed at once, a few tokens", 0, "hello there"),
        ("typed after a second, about 200 tokens", 1, "word " * 190),
        ("and again", 0, "other " * 190),
    ):
        if wait or title.startswith("typed at once"):
            chat = fixture.Terminal(PROGRAM, MODEL, "-n", "2", "-v", "1", "-s", "1")
            chat.read_until("> ")
        time.sleep(wait)
        chat.type(text + "\r")
        got = chat.read_until("ms each")
        print("%s: %s" % (title, re.search(r"\d+ prompt tokens.* to the first token", got).group()))
        chat.read_until("> ")
        if title != "typed after a second, about 200 tokens":
            chat.type("\x04")
            chat.status()


def all_candidates():
    for name, options in (("-k 20", ()), ("-k 0 -p 0.95", ("-k", "0")), ("-k 0 -p 0.95 -t 0.1", ("-k", "0", "-t", "0.1"))):
        got = run(PROGRAM, MODEL, "-i", "hi", "-n", "300", "-s", "1", "-v", "1", *options)[2]
        speed = re.search(r"(\d+) tokens, ([\d.]+) tokens/s", got)
        print("%s: %s tokens/s over %s tokens" % (name, speed.group(2), speed.group(1)) if speed else got)


def memory():
    chat = subprocess.Popen([PROGRAM, MODEL, "-n", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL)
    chat.stdin.write(b"hi\n")
    chat.stdin.flush()
    chat.stdout.readline()
    with open("/proc/%d/status" % chat.pid, encoding="ascii") as file:
        whole = kilobytes(file.read())
    chat.stdin.close()
    chat.wait()
    alone = kilobytes(run(CONTEXT_ONLY)[1])
    print("anonymous memory: %.0f MB, of a context alone %.0f MB; difference %.0f MB (200 wanted)"
          % (whole / 1e3, alone / 1e3, (whole - alone) / 1e3))


prepare()
start()
first_tokens()
all_candidates()
memory()
