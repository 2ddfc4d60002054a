"""What tests share: the tokenizer of Qwen3 in data/qwen3, the program tokenize, a terminal, how a script runs."""

import codecs
import functools
import json
import lzma
import os
import pty
import select
import shutil
import subprocess
import sys
import time

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


class Terminal:
    """A program at a terminal of its own. `output` is all that it wrote, control characters included."""

    def __init__(self, *command, folder=".", **env):
        self.output = self.unread = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.child, self.fd = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            os.environ.pop("NO_COLOR", None)
            os.environ.update(env)
            os.execvp(command[0], command)

    def read_until(self, text):
        """What it writes next, up to and with this text; None: to the end."""
        end = time.monotonic() + 180
        while text is None or text not in self.unread:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            assert ready, "waited in vain for %r; there is %r" % (text, self.unread)
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                data = b""  # how Linux says that the other side is closed
            if not data:
                assert text is None, "ended before %r; there is %r" % (text, self.unread)
                break
            decoded = self.decoder.decode(data)
            self.output += decoded
            self.unread += decoded
        found = len(self.unread) if text is None else self.unread.index(text) + len(text)
        read, self.unread = self.unread[:found], self.unread[found:]
        return read

    def type(self, text):
        os.write(self.fd, text.encode())

    def status(self):
        """The exit status, or the signal's number made negative."""
        self.read_until(None)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])


def run(tests, *arguments):
    """Runs the tests among a script's globals(), or those that have the script's argument in their names."""
    for name, test in list(tests.items()):
        if name.startswith("test_") and (len(sys.argv) < 2 or sys.argv[1] in name):
            start = time.monotonic()
            test(*arguments)
            print("%s ok, %.1f s" % (name, time.monotonic() - start), flush=True)
