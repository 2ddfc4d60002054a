"""make demo and make install from a copy of the sources, as from a clean clone; the demo through a pipe, and typed at
a terminal."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import fixture

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEADLINE = 180  # seconds, of which the build takes most


def piped(folder, text, *arguments):
    return subprocess.run(["make", "demo", *arguments], cwd=folder, input=text.encode(), timeout=DEADLINE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_three_piped_lines_get_three_replies(folder):
    done = piped(folder, "What is RMSNorm?\nMy name is Ada.\nWhat is my name?\n", "ARGS=-t 0")
    stdout, stderr = done.stdout.decode(), done.stderr.decode()
    replies = [line for line in stdout.split("\n") if line]
    assert done.returncode == 0, stderr
    assert len(replies) == 3, stdout
    assert "Ada" in replies[-1], stdout
    assert "qwen600-tiny" in stderr, "the build speaks on stderr: " + stderr
    assert os.path.exists(os.path.join(folder, "build-demo", "qwen600-tiny"))
    assert not os.path.exists(os.path.join(folder, "build")), "the demo builds into its own folder"


def test_arguments_are_passed_on(folder):
    done = piped(folder, "", "ARGS=-i 'What is a KV cache?' -t 0")
    direct = subprocess.run(["build-demo/qwen600-tiny", "models/tiny", "-i", "What is a KV cache?", "-t", "0"],
                            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0 and done.stdout == direct.stdout != b"", done.stderr
    assert piped(folder, "", "ARGS=-t abc").returncode != 0, "a wrong flag fails"


def test_the_transcript_in_the_readme_is_real(folder):
    with open(os.path.join(folder, "README.md"), encoding="utf-8") as file:
        block = re.search(r"(?:^    [>\w].*\n)*^    > (?:.*\n)(?:^    .*\n)*", file.read(), re.M).group()
    turns = [turn.split("\n", 1) for turn in block.replace("\n    ", "\n").strip().split("> ")[1:]]
    assert len(turns) >= 2, block
    done = piped(folder, "".join(said + "\n" for said, _ in turns), "ARGS=-t 0")
    assert done.stdout.decode().split() == " ".join(reply for _, reply in turns).split(), done.stdout


def test_chat_at_a_terminal(folder):
    terminal = fixture.Terminal("make", "demo", "ARGS=-t 0", folder=folder)
    terminal.read_until("> ")
    terminal.type("My name is Ada.\n")
    terminal.read_until("> ")
    terminal.type("What is my name?\n")
    assert "Ada" in terminal.read_until("> ")
    terminal.type("\x04")
    assert terminal.status() == 0, terminal.output


def test_interrupt_at_the_prompt_is_no_error_of_make(folder):
    # Where there is an editor Ctrl-C is a key like another; elsewhere make is interrupted, too.
    for name, statuses in ("xterm", [0]), ("dumb", [130, -signal.SIGINT]):
        terminal = fixture.Terminal("make", "demo", folder=folder, TERM=name)
        terminal.read_until("> ")
        terminal.type("\x03")
        assert terminal.status() in statuses, (name, terminal.output)
        assert "***" not in terminal.output, (name, terminal.output)


def test_install_and_uninstall(folder):
    root = os.path.join(folder, "root")
    tree = lambda: sorted(os.path.relpath(os.path.join(f, n), root) for f, _, names in os.walk(root) for n in names)
    make = lambda *words: subprocess.run(["make", *words, "DESTDIR=" + root], cwd=folder, timeout=DEADLINE,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    subprocess.run(["cmake", "-B", "build", "-DGPU=OFF", "-DBUILD_TESTING=OFF"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "build", "--target", "qwen600"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    for words, prefix in ([], "usr/local"), (["PREFIX=/opt/q w"], "opt/q w"):
        done = make("install", *words)
        assert done.returncode == 0, done.stdout
        assert tree() == [prefix + "/bin/qwen600", prefix + "/share/man/man1/qwen600.1"], tree()
        program = os.path.join(root, prefix, "bin/qwen600")
        run = subprocess.run([program, "no-such-model"], stderr=subprocess.PIPE, encoding="utf-8")
        assert run.returncode == 1 and "no-such-model" in run.stderr, run
        assert os.stat(program).st_mode & 0o777 == 0o755
        assert os.stat(os.path.join(root, prefix, "share/man/man1/qwen600.1")).st_mode & 0o777 == 0o644
        for _ in range(2):  # the second time there is nothing, which is no error
            done = make("uninstall", *words)
            assert done.returncode == 0 and tree() == [], done.stdout
    # It builds only what is missing, so that root, who may have no nvcc, does not replace what a user built.
    os.utime(os.path.join(folder, "main.cu"))
    assert "cmake" not in make("install", "-n").stdout
    os.remove(os.path.join(folder, "build/qwen600"))
    assert "cmake --build" in make("install", "-n").stdout


def test_without_a_working_nvcc_one_line_says_so(folder):
    for name, nvcc in ("missing", "/nowhere/nvcc"), ("broken", "/bin/false"):
        done = subprocess.run(["cmake", "-B", "build-" + name, "-DBUILD_TESTING=OFF"], cwd=folder,
                              env={**os.environ, "CUDACXX": nvcc}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              encoding="utf-8")
        assert done.returncode == 0, done.stdout
        assert len(re.findall("no GPU engine: %s .*" % nvcc, done.stdout)) == 1, done.stdout
        assert "rror" not in done.stdout, done.stdout


def test_a_card_that_nvcc_does_not_know_gets_code_that_fits(folder):
    with open(os.path.join(folder, "CMakeLists.txt"), encoding="utf-8") as file:
        function = re.search(r"function\(choose_architectures\).*?\nendfunction\(\)", file.read(), re.S).group()
    nvcc, script = os.path.join(folder, "nvcc"), os.path.join(folder, "choose.cmake")
    for known, cards, chosen in (
        ("80 86 89 90", "", "80;86;90-real"),
        ("80 86 89 90", "120", "89-virtual"),
        ("80 86 89 90 100", "90;100;120", "90-real;100-real;89-virtual"),
        ("80 86 89 90 100", "103", "100-virtual"),
        ("80 86 89 90 100 120", "", "80;86;90;120"),
        ("80 86 89 90 100 120", "86;130", "86;120-virtual"),
    ):
        with open(nvcc, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nprintf 'compute_%%s\\n' %s\n" % known)
        os.chmod(nvcc, 0o755)
        with open(script, "w", encoding="utf-8") as file:
            file.write('cmake_minimum_required(VERSION 3.20)\nset(NVCC "%s")\nset(cards "%s")\n%s\n'
                       'choose_architectures()\nmessage("chosen: ${CMAKE_CUDA_ARCHITECTURES}")\n'
                       % (nvcc, cards, function))
        done = subprocess.run(["env", "-u", "CUDAARCHS", "cmake", "-P", script], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding="utf-8")
        assert "chosen: %s\n" % chosen in done.stdout, (known, cards, done.stdout)


if __name__ == "__main__":
    if not shutil.which("make"):
        print("skipped: no make")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch:
        copy = os.path.join(scratch, "qwen600")
        shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("build*", ".git", "__pycache__", "Qwen3*"))
        for variable in "MAKEFLAGS", "MAKELEVEL":
            os.environ.pop(variable, None)
        fixture.run(globals(), copy)
