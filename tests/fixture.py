"""What the tests of the tokenizer share: the tokenizer of Qwen3 in data/qwen3, and the program tokenize."""

import functools
import json
import lzma
import os
import shutil
import subprocess
import sys

TESTS = os.path.dirname(os.path.abspath(__file__))
QWEN3 = os.path.join(TESTS, "data", "qwen3")

sys.path.insert(0, os.path.dirname(TESTS))
import export

BUILD = os.environ.get("QWEN600_BUILD", os.path.join(os.path.dirname(TESTS), "build"))


@functools.lru_cache(maxsize=None)
def tokenizer_json():
    """The bytes of the published tokenizer.json."""
    with lzma.open(os.path.join(QWEN3, "tokenizer.json.xz")) as file:
        return file.read()


def parsed():
    return json.loads(tokenizer_json())


def read_json(name):
    with open(os.path.join(QWEN3, name), encoding="utf-8") as file:
        return json.load(file)


def golden(name):
    """The lines of tests/data/golden/NAME."""
    with open(os.path.join(TESTS, "data", "golden", name), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write_model(directory):
    """An unpacked model directory without weights."""
    for name in ("config.json", "tokenizer_config.json", "generation_config.json"):
        shutil.copy(os.path.join(QWEN3, name), directory)
    with open(os.path.join(directory, "tokenizer.json"), "wb") as file:
        file.write(tokenizer_json())


def write_tokenizer_bin(directory):
    """Only tokenizer.bin, which needs no jinja2."""
    binary, _ = export.tokenizer_bin(parsed(), read_json("tokenizer_config.json"))
    with open(os.path.join(directory, "tokenizer.bin"), "wb") as file:
        file.write(binary)


def tokenize(directory, texts, *options):
    """The ids of each text (bytes), from one run of the program tokenize."""
    program = os.path.join(BUILD, "tests", "tokenize")
    records = b"".join(b"%d\n%s" % (len(text), text) for text in texts)
    run = subprocess.run([program, "-l", *options, directory], input=records, capture_output=True)
    assert run.returncode == 0, run.stderr.decode(errors="replace")
    return [[int(token) for token in line.split()] for line in run.stdout.decode().split("\n")[:-1]]
