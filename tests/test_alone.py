"""test_alone.py: the program needs nothing but the C library beside it, and what goes wrong goes wrong at once."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from fixture import BUILD, run

PROGRAM = os.path.join(BUILD, "qwen600")
C_LIBRARY = {"c", "m", "dl", "pthread", "rt"}  # the last three are in the first since glibc 2.34


def test_the_c_library_is_all_that_is_loaded():
    listed = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, check=True).stdout
    loaded = set(re.findall(r"^\s*lib([\w+-]+)\.so", listed, re.M))
    # Where there are no static ones of these, they may be there.
    static = subprocess.run(["cc", "-print-file-name=libgomp.a"], capture_output=True, text=True).stdout
    allowed = C_LIBRARY if static.startswith("/") else C_LIBRARY | {"gomp", "gcc_s"}
    assert loaded <= allowed, listed


def test_a_copy_runs_where_the_toolkit_is_not():
    with tempfile.TemporaryDirectory() as directory:
        shutil.copy(PROGRAM, directory)
        got = subprocess.run([os.path.join(directory, "qwen600")], capture_output=True, text=True, env={})
    assert got.returncode == 2 and got.stderr.startswith("usage: "), got.stderr


def test_an_error_message_takes_milliseconds():
    seconds = []
    for _ in range(10):
        start = time.monotonic()
        got = subprocess.run([PROGRAM, "no-such-dir"], capture_output=True, text=True)
        seconds.append(time.monotonic() - start)
        assert got.returncode == 1 and "no-such-dir" in got.stderr
    print("%.1f ms" % (1e3 * min(seconds)))
    assert min(seconds) < 0.05


if not os.path.exists(PROGRAM):
    print("skipped: there is no %s" % PROGRAM)
    sys.exit(77)
run(globals())
