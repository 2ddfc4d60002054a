"""The look of the sources and the truth of the README.

test_style.py format    clang-format has nothing to change
test_style.py headers   each header, and main.cu, compiles alone, as C11 and as C++17, with gcc and with clang
test_style.py text      what we ask of names and text; what the README says of files, flags and sizes
"""
import os
import re
import shutil
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("QWEN600_BUILD", os.path.join(SOURCE, "build"))
SKIPPED = 77
failures = []


def check(condition, message):
    if not condition:
        failures.append(message)


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def files(*endings):
    """The paths, relative to the top, of the sources with these endings: what git knows, because a model may have
    been cloned in here; in a copy without git everything but build folders."""
    if shutil.which("git") and os.path.exists(os.path.join(SOURCE, ".git")):
        output, status = run("git", "-c", "core.quotePath=off", "ls-files")
        if status == 0 and output:
            return [f for f in output.splitlines() if f.endswith(endings) and os.path.exists(os.path.join(SOURCE, f))]
    found = []
    for folder, folders, names in os.walk(SOURCE):
        folders[:] = sorted(f for f in folders if f not in (".git", "__pycache__") and not f.startswith("build"))
        found += [os.path.relpath(os.path.join(folder, n), SOURCE) for n in sorted(names) if n.endswith(endings)]
    return found


def run(*command, text=""):
    """What a command, given this text, printed on both of its outputs, and its status."""
    done = subprocess.run(command, cwd=SOURCE, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          encoding="utf-8", errors="replace")
    return done.stdout, done.returncode


def check_format():
    if not shutil.which("clang-format"):
        print("skipped: no clang-format")
        sys.exit(SKIPPED)
    output, status = run("clang-format", "--dry-run", "-Werror", *files(".h", ".c", ".cu", ".cuh"))
    for path in sorted(set(re.findall(r"^(\S+):\d+:\d+: error", output, re.M))):
        check(False, "clang-format -i would change " + path)
    check(status == 0 or failures, output)


def check_headers():
    languages = [("c", "c11", ["gcc", "clang", "cc"]), ("c++", "c++17", ["g++", "clang++", "c++"])]
    sources = [[f] for f in files(".h") if "/" not in f] + [["main.cu"], ["main.cu", "-DQWEN600_TINY"]]
    for language, standard, compilers in languages:
        there = [c for c in compilers[:2] if shutil.which(c)] or [c for c in compilers[2:] if shutil.which(c)]
        print(standard + ":", ", ".join(there) or "no compiler")
        check(language != "c" or there, "no C compiler")
        for compiler in there:
            for path, *model in sources:
                output, status = run(compiler, "-x", language, "-std=" + standard, "-Wall", "-Wextra", "-Werror",
                                     "-fsyntax-only", "-I.", *model, "-", text='#include "%s"\n' % path)
                check(status == 0, "%s -std=%s %s: %s" % (compiler, standard, path, output))
    # Some warnings need the optimizer, and which depends on its level: nobody's CMAKE_BUILD_TYPE is to fail.
    for level in "-O0", "-O1", "-Os", "-O3":
        output, status = run("cc", "-x", "c", "-std=c11", "-Wall", "-Wextra", "-Werror", level, "-S", "-o", os.devnull,
                             "main.cu")
        check(status == 0, "cc %s main.cu: %s" % (level, output))


# What must not stand in code, and why; the functions may in tests.
FORBIDDEN = [
    (r"\b(TODO|FIXME|XXX)\b", "say what holds now"),
    (r"\w*(Manager|Helper|Util)\w*|\bnew_\w+", "a name that tells nothing"),
    (r"\b(strcpy|strcat|sprintf|vsprintf|gets|atoi|atof|strtok|rand)\(", "a function that cannot be used safely"),
    (r"-Wno-|diagnostic ignored", "warnings are errors, not switched off"),
    (r"for \([^;]*; \(\w+ = [^;]*\);", "nvcc loses these parentheses, and its host compiler warns: say != NULL"),
    (r"[ \t]+\n", "a space at the end of a line"),
    (r"\r", "a carriage return"),
    (r"\t", "a tab"),
]


def check_text():
    code = files(".h", ".c", ".cu", ".cuh", ".py", ".cmake", "CMakeLists.txt", ".sh")
    for path in code:
        text = read(path)
        if path != "tests/test_style.py":
            for pattern, reason in FORBIDDEN:
                if r"\(" in pattern and path.startswith("tests/"):
                    continue
                for match in re.finditer(pattern, text):
                    line = text.count("\n", 0, match.start()) + 1
                    check(False, "%s:%d: %r: %s" % (path, line, match.group(), reason))
        check(text.endswith("\n") and not text.endswith("\n\n"), path + ": one newline ends a file")
        if path.endswith((".h", ".c", ".cu", ".cuh")):
            check(text.startswith("/* "), path + ": does not open by saying what it is")
    registered = read("tests/CMakeLists.txt")
    for path in code:
        name = re.match(r"tests/(?:test|fuzz)_(\w+)\.", path)
        check(not name or re.search(r"\b(test_)?%s\b" % name[1], registered), path + " is not in tests/CMakeLists.txt")
    check_readme(read("README.md"))


def check_readme(readme):
    for number, line in enumerate(readme.split("\n"), 1):
        check(len(line) <= 110, "README.md:%d: %d columns, not at most 110" % (number, len(line)))

    # The table of the house names exactly what stands at the top.
    top = {f.split("/")[0] for f in files("") if not f.startswith(".")} - {"README.md"}
    table = re.search(r"\| file \| what it is \|\n\|[- |]+\n((?:\|.*\n)+)", readme).group(1)
    named = {name.rstrip("/") for name in re.findall(r"^\| `([^`]+)` \|", table, re.M)}
    for name in sorted(top ^ named):
        check(False, "README.md: %s is in %s" % (name, "the table only" if name in named else "the folder only"))

    # The usage is what the program prints.
    program = os.path.join(BUILD, "qwen600")
    usage = re.search(r"    usage: .*\n\n(?:      -.*\n)+", readme).group()
    if os.path.exists(program):
        printed, status = run(program)
        check(status == 2, "without arguments: status %d, not 2" % status)
        for line in usage.split("\n"):
            check(line.strip() in printed, "README.md: the program's usage lacks: " + line)

    # Numbers follow from config.h, the block of Qwen3-0.6B, which comes after #else.
    config = {n: int(v) for n, v in re.findall(r"\b([A-Z_]+) = (\d+)", read("config.h").split("#else")[1])}
    q, kv = config["HEADS"] * config["HEAD_DIM"], config["KV_HEADS"] * config["HEAD_DIM"]
    layer = config["HIDDEN"] * (2 * q + 2 * kv + 3 * config["INTERMEDIATE"] + 2) + 2 * config["HEAD_DIM"]
    weights = 2 * (config["LAYERS"] * layer + config["HIDDEN"] * (config["VOCAB"] + 1))
    position = 2 * config["LAYERS"] * 2 * kv
    for fact in [
        "%.2f GB in bf16" % (weights / 1e9),
        "%.0f KB of KV cache" % (position / 1e3),
        "KV cache %.2f GB at the default context of %s" % (position * config["DEFAULT_CONTEXT"] / 1e9,
                                                           format(config["DEFAULT_CONTEXT"], ",")),
        "{:,} (for models/tiny".format(config["MAX_CONTEXT"]),
        "a number below {:,}".format(config["VOCAB"]),
        "224 GB/s takes %.1f ms" % (weights / 224e6),
        "{LAYERS} identical layers".format(**config),
        "a vector of {HIDDEN:,} numbers".format(**config),
        "{HEADS} query heads share {KV_HEADS} key/value heads of width {HEAD_DIM}".format(**config),
        "MLP of width {INTERMEDIATE:,}".format(**config),
        "{PREFILL_CHUNK:,} at a time".format(**config),
    ]:
        check(fact in " ".join(readme.split()), "README.md does not say: " + fact)

    # Every file that it names, or shows, is there, and every flag is in the usage.
    for name in re.findall(r"(?:`|!\[.*?\]\()((?:tests|models|docs)/[\w/.]+)", readme):
        check(os.path.exists(os.path.join(SOURCE, name)), "README.md names %s, which is not there" % name)
    for flag in set(re.findall(r"`(-[a-z])\b", readme)) - {"-h"}:
        check("\n      %s <" % flag in usage, "README.md uses %s, which the usage lacks" % flag)


if __name__ == "__main__":
    {"format": check_format, "headers": check_headers, "text": check_text}[sys.argv[1]]()
    print("\n".join(failures) or "all is well")
    sys.exit(1 if failures else 0)
