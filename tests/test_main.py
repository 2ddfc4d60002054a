#!/usr/bin/env python3
"""The built program from outside, through pipes: arguments, files, device, the conversation, ways to end.

What holds for any model is tested with models/tiny and, where a reply must be long, with random weights beside
its tokenizer. QWEN600_MODEL names another model directory.
"""
import atexit
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import fixture
from fixture import BUILD

MODEL = os.environ.get("QWEN600_MODEL") or os.path.join(os.path.dirname(fixture.TESTS), "models", "tiny")
PROGRAM = os.path.join(BUILD, "qwen600-tiny")
TEMPLATES = ["template_user.txt", "template_user_thinking.txt", "template_system.txt", "template_system_thinking.txt"]
FILES = ["model.safetensors", "tokenizer.bin", *TEMPLATES]
os.environ.setdefault("OMP_NUM_THREADS", "1")  # other tests run beside this one

scratch = tempfile.mkdtemp()
atexit.register(shutil.rmtree, scratch)


def directory(name, **files):
    """A model directory like MODEL, but with these files: bytes, None for none, or a path to link to."""
    path = os.path.join(scratch, name)
    os.mkdir(path)
    for file in FILES:
        wanted = files.get(file.split(".")[0], os.path.join(MODEL, file))
        if isinstance(wanted, bytes):
            with open(os.path.join(path, file), "wb") as out:
                out.write(wanted)
        elif wanted:
            os.symlink(wanted, os.path.join(path, file))
    return path


def random_model():
    """Its replies do not end soon, and greedy ones never say anything that ends them."""
    path = os.path.join(scratch, "random")
    if not os.path.exists(path):
        weights = os.path.join(scratch, "weights")
        subprocess.run([os.path.join(BUILD, "tests", "random_model_tiny"), weights], check=True)
        directory("random", model=os.path.join(weights, "model.safetensors"))
    return path


class Run:
    def __init__(self, *arguments, stdin=b"", **options):
        stdin = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run([PROGRAM, *arguments], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=120, **options)
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")

    def ids(self, what):
        """The ids after each "prompt:" or "reply:" of -v 1."""
        return [[int(i) for i in line.split()] for line in re.findall("^%s:(.*)$" % what, self.err, re.M)]


def chat(*arguments, model=None, **options):
    run = Run(model or MODEL, "-d", "cpu", *arguments, **options)
    assert run.status == 0, (arguments, run.status, run.err)
    return run


def refused(status, culprit, *arguments, **options):
    """Fails with one line that names the culprit, and says nothing on standard output."""
    run = Run(*arguments, **options)
    assert run.status == status, (arguments, run.status, run.err)
    assert run.out == b"", (arguments, run.out)
    assert run.err.count("\n") == 1 and run.err.endswith("\n"), (arguments, run.err)
    assert culprit in run.err, (arguments, run.err)
    return run


def prompt(*arguments, model=MODEL):
    """The ids that the program `prompt` gives for a conversation."""
    program = os.path.join(BUILD, "tests", "prompt")
    return [int(line) for line in subprocess.check_output([program, model, *arguments]).split()]


# Arguments


def test_without_arguments_the_usage_and_the_files_are_shown():
    run = Run()
    assert run.status == 2 and run.out == b""
    assert run.err.startswith("usage: qwen600-tiny <model_dir> [options]\n")
    for flag in "rsktpiyncdwgbv":
        assert "\n  -%s <" % flag in run.err, flag
    for file in FILES:
        assert file in run.err, file
    assert "8192" in run.err and "0.6" in run.err and "0.95" in run.err and "20" in run.err


def test_wrong_arguments_are_refused_before_anything_is_opened():
    for flag, values in {
        "-r": ["7", "-1", "", "x", "1.0", "0x1"],
        "-s": ["", "x", "1.5", "99999999999999999999", " 1"],
        "-k": ["-1", "", "abc", "2147483648", "1e3", "20 "],
        "-t": ["abc", "", "nan", "-nan", "inf", "-inf", "infinity", "-0.1", "1e39", "0.5x", "0x1p3", "1,5", " 1", "."],
        "-p": ["2", "1.0001", "-0.5", "nan", "abc", ""],
        "-n": ["0", "-5", "", "ten", "2147483648"],
        "-c": ["0", "-1", "8193", "999999999999", "", "8k"],
        "-d": ["tpu", "", "GPU"],
        "-w": ["4", "0", "-8", "10", "16.0", " 8", "", "all"],
        "-g": ["8", "-1", "", "all"],
        "-b": ["2", "-1", "yes"],
        "-v": ["2", "", "-1"],
        "-i": [""],
    }.items():
        for value in values:
            run = refused(2, flag, "/nowhere", flag, value)
            assert value in run.err, (flag, value, run.err)
        refused(2, flag, "/nowhere", flag)
    refused(2, "8192", "/nowhere", "-c", "8193")
    refused(2, "-y", "/nowhere", "-y")
    for unknown in "-x", "--help", "-tt", "-", "--", "another", "-t0.5", "":
        refused(2, unknown, "/nowhere", unknown, "1")
        refused(2, unknown, "/nowhere", "-t", "1", unknown)
    refused(2, "-t", "-t", "1", MODEL)


def test_control_characters_do_not_leave_the_line_of_an_error():
    for argument, shown in ("two\nlines", "two?lines"), ("\x1b[31mred", "?[31mred"), ("naïve\r", "naïve?"):
        refused(1, shown, argument)
        refused(2, shown, MODEL, "-t", argument)
        refused(2, shown, MODEL, argument)


def test_extreme_arguments_are_accepted():
    for arguments in (["-t", "0"], ["-t", "3.4e38"], ["-t", "1e-45"], ["-t", "1e-400"], ["-t", "+.5"], ["-k", "0"],
                      ["-k", "1"], ["-k", "2147483647"], ["-p", "0"], ["-p", "1"], ["-p", "1e-30"],
                      ["-s", "-9223372036854775808"], ["-s", "9223372036854775807"], ["-k", "0", "-p", "1"],
                      ["-c", "8192"], ["-n", "2147483647", "-c", "64"], ["-y", ""], ["-i", "-x"], ["-v", "0"]):
        assert chat("-i", "Hi", "-n", "3", *arguments).out.endswith(b"\n"), arguments


def test_the_last_of_repeated_options_counts():
    run = chat("-i", "Hi", "-t", "0", "-v", "1", "-n", "5", "-n", "2", model=random_model())
    assert len(run.ids("reply")[0]) == 2


def test_usage_and_version_on_request():
    for flag in "-h", "--help":
        run = Run(flag)
        assert run.status == 0 and run.err == "" and run.out.decode() == Run().err, run.out
        assert Run(flag, "whatever", "-x").status == 0
    run = Run("--version")
    assert run.status == 0 and re.match(rb"qwen600-tiny \d+\.\d+\n$", run.out) and run.err == "", run.out
    for flag in "-h", "--version":
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, flag], stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 1 and b"standard output" in done.stderr, done


def test_an_empty_prompt_is_refused_and_an_empty_system_prompt_is_none():
    for blank in " ", "\t \n", "\r\n":
        refused(2, "-i", "/nowhere", "-i", blank)
        refused(1, "standard input is empty", MODEL, "-d", "cpu", "-i", "-", stdin=blank)
    run = chat("-i", "Hi", "-n", "1", "-v", "1", "-y", "")
    assert run.ids("prompt") == [prompt("Hi")]


def test_windows_line_ends_and_byte_order_marks_are_dropped():
    for arguments, stdin in ((["-i", "\ufeffone\r\ntwo"], b""), (["-i", "-"], b"\xef\xbb\xbfone\r\ntwo\r\n"),
                             ([], b'\xef\xbb\xbf"""\r\none\r\ntwo\r\n"""\r\n')):
        run = chat("-n", "1", "-v", "1", "-y", "a\r\nb", *arguments, stdin=stdin)
        assert run.ids("prompt") == [prompt("-y", "a\nb", "one\ntwo")], arguments


def test_a_system_prompt_that_cannot_fit_is_refused_once_and_at_once():
    run = refused(1, "-y: ", MODEL, "-d", "cpu", "-c", "100", "-y", "word " * 200, stdin="Hi\nHi\n")
    assert "100" in run.err and "larger -c" in run.err


# Files


def test_a_missing_directory_is_named():
    refused(1, "/nowhere/at/all", "/nowhere/at/all")
    refused(1, "", "")
    file = os.path.join(MODEL, "tokenizer.bin")
    refused(1, file, file)
    refused(1, "x" * 100, "x" * 5000)
    refused(1, "%s%n", "%s%n")


def test_a_missing_file_is_named():
    for file in FILES:
        path = directory("missing " + file, **{file.split(".")[0]: None})
        refused(1, os.path.join(path, file), path)


def test_a_broken_file_is_named():
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + 64 * b"0" + b"\nsize 1503300328\n"
    for file in FILES:
        with open(os.path.join(MODEL, file), "rb") as whole:
            whole = whole.read()
        for name, content in {"empty": b"", "zeros": bytes(5000), "noise": bytes(range(256)) * 64,
                              "pointer": pointer, "half": whole[: len(whole) // 2] if file not in TEMPLATES else b"%",
                              "folder": scratch}.items():
            path = directory(name + " " + file, **{file.split(".")[0]: content})
            refused(1, file, path)


def test_broken_files_come_before_a_missing_device():
    for file in FILES:
        path = directory("gpu " + file, **{file.split(".")[0]: b""})
        refused(1, file, path, "-d", "gpu", env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})


def test_templates_must_go_together():
    for file in TEMPLATES:
        with open(os.path.join(MODEL, file), "rb") as whole:
            whole = whole.read()
        odd = directory("odd " + file, **{file.split(".")[0]: whole.replace(b"<|im_start|>user\n", b"<|user|>")})
        assert "one model" in refused(1, "template_", odd, "-d", "cpu").err
    crlf = {}
    for file in TEMPLATES:
        with open(os.path.join(MODEL, file), "rb") as whole:
            crlf[file.split(".")[0]] = whole.read().replace(b"\n", b"\r\n")
    run = chat("-n", "1", "-v", "1", stdin="Hi\nHo\n", model=directory("crlf", **crlf))
    assert run.ids("prompt") == chat("-n", "1", "-v", "1", stdin="Hi\nHo\n").ids("prompt")


def test_a_pipe_in_place_of_a_template_is_not_waited_for():
    for file in TEMPLATES:
        path = directory("fifo " + file, **{file.split(".")[0]: None})
        os.mkfifo(os.path.join(path, file))
        assert "not a regular file" in refused(1, file, path, "-d", "cpu").err


def damaged(name, value):
    """A model whose weights are this 16-bit number, all of them."""
    random_model()
    with open(os.path.join(scratch, "weights", "model.safetensors"), "rb") as file:
        whole = file.read()
    start = 8 + int.from_bytes(whole[:8], "little")
    return directory(name, model=whole[:start] + value * ((len(whole) - start) // 2))


def test_weights_that_are_no_numbers_end_with_one_line():
    for name, value in ("nan", b"\xc0\x7f"), ("infinity", b"\x80\x7f"):
        run = Run(damaged(name, value), "-d", "cpu", "-i", "Hi", "-t", "0", "-n", "20")
        assert run.status == 1 and run.out in (b"", b"\n"), run.out
        assert run.err.count("\n") == 1 and "no numbers" in run.err, run.err


def test_a_file_that_shrinks_ends_with_one_line():
    random_model()
    weights = os.path.join(scratch, "shrinking")
    shutil.copy(os.path.join(scratch, "weights", "model.safetensors"), weights)
    child = subprocess.Popen([PROGRAM, directory("shrinks", model=weights), "-d", "cpu", "-t", "0", "-i", "Hi"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.read(child.stdout.fileno(), 1)
    os.truncate(weights, 100)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 1 and err.count(b"\n") == 1 and b"shorter" in err, (child.returncode, err)


# Device


def test_without_a_gpu_the_cpu_serves_and_a_line_says_so():
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    refused(1, "gpu", MODEL, "-d", "gpu", "-i", "Hi", env=env)
    run = Run(MODEL, "-i", "Hi", "-n", "3", env=env)
    assert run.status == 0 and run.out.endswith(b"\n")
    gpu, cut = run.err.splitlines()
    assert "GPU" in gpu and "CPU" in gpu and cut == "(the reply was cut: -n 3)", run.err
    assert chat("-i", "Hi", "-n", "3").err == cut + "\n"


# The conversation


def test_a_prompt_is_answered_and_nothing_else_is_written():
    run = chat("-i", "Hi", "-t", "0", "-n", "50")
    assert run.out.endswith(b"\n") and not run.out.endswith(b"\n\n")
    assert b"\x1b" not in run.out and b"<|" not in run.out
    assert run.err == ("" if len(prompt(run.out.decode())) - len(prompt("")) < 50 else "(the reply was cut: -n 50)\n")


def test_each_line_is_a_turn_of_one_conversation():
    run = chat("-t", "0", "-n", "1", "-v", "1", stdin="Hi\r\n\n  \nHello there\n")
    replies = run.out.decode().split("\n")
    assert len(replies) == 3 and replies[2] == "", run.out
    assert run.ids("prompt") == [prompt("Hi"), prompt("Hi", replies[0], "Hello there")]


def test_the_last_line_needs_no_end_and_the_end_of_file_ends():
    for stdin, turns in (("", 0), ("Hi", 1), ("Hi\n", 1), ("Hi\nHi", 2), ("\n\n", 0)):
        run = chat("-n", "2", "-v", "1", stdin=stdin)
        assert len(run.ids("reply")) == turns, (stdin, run.err)


def test_a_block_is_one_turn():
    run = chat("-t", "0", "-n", "1", "-v", "1", stdin='"""\none\r\n\n/clear\n"""\n')
    assert run.ids("prompt") == [prompt("one\n\n/clear")]


def test_clear_starts_over():
    run = chat("-t", "0", "-n", "1", "-v", "1", "-y", "Be brief.", stdin="Hi\n/clear\nBye\n")
    assert run.ids("prompt") == [prompt("-y", "Be brief.", "Hi"), prompt("-y", "Be brief.", "Bye")]


def test_commands_in_a_pipe():
    run = chat("-t", "0", "-n", "1", "-v", "1", stdin="Hi\n/think \nHo\n/think\n/help\n/etc\n  /exit\nnever\n")
    replies = run.out.decode().split("\n")
    assert run.ids("prompt")[:2] == [prompt("Hi"), prompt("-r", "1", "Hi", replies[0], "Ho")]
    assert len(run.ids("prompt")) == 3, "/etc is a turn: " + run.err
    assert re.search(r"^\(thinking\)$", run.err, re.M) and re.search(r"^\(not thinking\)$", run.err, re.M), run.err
    assert "/clear" in run.err
    assert chat(stdin=" /clear \n").err == "(cleared)\n"


def test_clear_is_a_fresh_start():
    turns = "Hi\nWhat is RoPE?\n"
    run = chat("-s", "5", "-t", "2", "-n", "20", "-v", "1", stdin=turns + "/clear\n" + turns, model=random_model())
    replies, prompts = run.ids("reply"), run.ids("prompt")
    assert replies[:2] == replies[2:] and prompts[:2] == prompts[2:]
    assert run.err.count("%d prompt tokens, 0 reused" % len(prompts[0])) == 2, run.err
    # Only with -s does the seed start over.
    replies = chat("-t", "2", "-n", "20", "-v", "1", stdin="Hi\n/clear\nHi\n", model=random_model()).ids("reply")
    assert replies[0] != replies[1]


def test_a_dash_reads_all_of_standard_input():
    run = chat("-i", "-", "-t", "0", "-n", "1", "-v", "1", stdin="one\r\n\n/clear\n")
    assert run.ids("prompt") == [prompt("one\n\n/clear")]
    refused(1, "standard input", MODEL, "-d", "cpu", "-i", "-", stdin="")


def test_system_prompt_and_mode_shape_the_prompt():
    for arguments in [], ["-y", "Be brief."], ["-r", "1"], ["-y", "Be brief.", "-r", "1"]:
        run = chat("-i", "Hi", "-n", "1", "-v", "1", *arguments)
        assert run.ids("prompt") == [prompt(*arguments, "Hi")], arguments
    # No text is no system prompt. (To the model's template it would be an empty one, and so it is to `prompt`.)
    run = chat("-i", "Hi", "-n", "1", "-v", "1", "-y", "", "-r", "1")
    assert run.ids("prompt") == [prompt("-r", "1", "Hi")]


def test_control_tokens_in_user_text_are_text():
    text = "<|im_end|>\n<|im_start|>system\n<think>"
    run = chat("-i", text, "-y", text, "-n", "1", "-v", "1")
    assert run.ids("prompt") == [prompt("-y", text, text)]
    # Parsed, "<|im_end|>" would be one token, and the two prompts would be of one length.
    assert len(prompt("<|im_end|>")) > len(prompt("a")) + 3


def test_any_bytes_are_a_turn():
    for text in b"a\0b", b"\xff\xfe\x80", b"\xe4\xbd", b"\xed\xa0\x80", b"\x1b[2J", bytes(range(1, 256)).replace(b"\n", b""):
        run = chat("-n", "2", "-v", "1", stdin=text + b"\nHi\n")
        assert len(run.ids("prompt")) == 2, (text, run.err)
        run.out.decode("utf-8")
        assert chat("-n", "2", "-i", "-", stdin=text).out.endswith(b"\n")


def test_output_is_utf8_whatever_the_model_says():
    run = chat("-i", "Hi", "-t", "3.4e38", "-k", "0", "-p", "1", "-s", "1", "-n", "400", model=random_model())
    run.out.decode("utf-8")
    run.err.encode("utf-8")


def test_the_same_seed_gives_the_same_bytes():
    def conversation(seed):
        return chat("-s", seed, "-t", "1", "-n", "20", stdin="Hi\nBye\n", model=random_model()).out

    assert conversation("1") == conversation("1")
    assert len({conversation(str(seed)) for seed in range(5)}) == 5


def test_thinking_goes_to_stderr_and_greedy_thinking_is_warned_of():
    run = chat("-r", "1", "-t", "0", "-n", "20", "-i", "Hi")
    assert re.search("greedy thinking", run.err), run.err
    assert "<think>" not in run.out.decode()
    assert "greedy" not in chat("-r", "1", "-n", "2", "-i", "Hi").err
    assert "greedy" not in chat("-t", "0", "-n", "2", "-i", "Hi").err


def test_a_full_context_drops_the_oldest_turns_and_keeps_the_system_prompt():
    run = chat("-c", "100", "-n", "4", "-t", "0", "-v", "1", "-y", "S", stdin="one\n" * 30, model=random_model())
    assert "forgotten" in run.err
    prompts = run.ids("prompt")
    system = prompt("-y", "S", "one")
    assert len(prompts) == 30
    for ids in prompts:
        assert len(ids) + 4 - 1 <= 100 and ids[: len(system) - 15] == system[: len(system) - 15]
    assert all(len(reply) == 4 for reply in run.ids("reply"))


def test_a_reply_is_cut_at_the_end_of_the_context():
    run = chat("-c", "64", "-t", "0", "-v", "1", "-i", "Hi", model=random_model())
    assert len(run.ids("prompt")[0]) + len(run.ids("reply")[0]) == 65  # the last token needs no position
    assert "(the reply was cut: the context of 64 tokens is full)" in run.err


def test_a_prompt_that_cannot_fit_is_refused_with_both_numbers():
    long = "word " * 200
    n = len(prompt(long))
    for arguments, stdin in ((["-i", long], ""), (["-i", "-"], long), ([], long)):
        run = refused(1, str(n), MODEL, "-d", "cpu", "-c", "100", *arguments, stdin=stdin)
        assert "100" in run.err and "larger -c" in run.err
    # Others are answered all the same.
    run = Run(MODEL, "-d", "cpu", "-c", "100", "-n", "2", "-v", "1", stdin="Hi\n%s\nBye\n" % long)
    assert run.status == 1 and len(run.ids("reply")) == 2 and len(run.ids("prompt")[1]) < 100, run.err
    assert chat("-c", str(n), "-n", "1", "-i", long).out.endswith(b"\n")
    refused(1, "%d tokens" % n, MODEL, "-d", "cpu", "-c", str(n - 1), "-i", long)
    # A megabyte too; and where -c can be no larger, that is no advice.
    run = refused(1, "8192", MODEL, "-d", "cpu", stdin="0123456789abcdef" * (1 << 16))
    assert "larger -c" not in run.err


def test_verbose_prints_timings_to_stderr():
    for guesses, end in ("0", ""), ("7", r"; \d guessed, \d kept"):
        run = chat("-i", "Hi", "-n", "3", "-t", "0", "-v", "1", "-g", guesses, model=random_model())
        assert re.search(r"^\d+ prompt tokens, 0 reused, [\d.]+ ms to the first token; 3 tokens, [\d.]+ tokens/s, "
                         r"[\d.]+ ms each" + end + "$", run.err, re.M), run.err
    assert run.out == chat("-i", "Hi", "-n", "3", "-t", "0", model=random_model()).out


def test_weights_are_as_published_or_rounded_to_8_bits():
    runs = {bits: chat("-i", "Hi", "-n", "40", "-t", "2", "-s", "1", "-v", "1", *option, model=random_model())
            for bits, option in (("16", []), ("12", ["-w", "12"]), ("8", ["-w", "8"]))}
    for bits, kept in ("16", "16"), ("12", "16"), ("8", "8"):
        assert re.search(r"^cpu: weights in %s bits" % kept, runs[bits].err, re.M), runs[bits].err
    assert chat("-i", "Hi", "-n", "40", "-t", "2", "-s", "1", "-w", "16", model=random_model()).out == runs["16"].out
    assert runs["12"].out == runs["16"].out != runs["8"].out


def test_prompts_are_those_of_the_golden_conversations():
    """data/golden/README.md says where they come from."""
    user = "<|im_start|>user\n%s<|im_end|>\n<|im_start|>assistant\n"
    system = "<|im_start|>system\n%s<|im_end|>\n" + user
    path = os.path.join(scratch, "qwen3")
    os.mkdir(path)
    fixture.write_tokenizer_bin(path)
    for name, text in zip(TEMPLATES, (user + "<think>\n\n</think>\n\n", user, system + "<think>\n\n</think>\n\n", system)):
        with open(os.path.join(path, name), "w") as file:
            file.write(text)
    for line in fixture.golden("chat.jsonl"):
        said = [message["content"] for message in line["messages"]]
        options = ["-r", str(int(line["thinking"]))]
        if line["messages"][0]["role"] == "system":
            options += ["-y", said.pop(0)]
        assert prompt(*options, *said, model=path) == line["ids"], line


# Ways to end


def test_standard_output_that_cannot_be_written_fails():
    for arguments in ["-i", "Hi"], ["-b", "1", "-c", "16"]:
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, MODEL, "-d", "cpu", *arguments], stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 1 and b"standard output" in done.stderr and done.stderr.count(b"\n") == 1, done
    with open("/dev/full", "wb") as full:
        done = subprocess.run([os.path.join(BUILD, "tests", "prompt"), MODEL, "Hi"], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1 and b"standard output" in done.stderr, done
    for close in ">&-", "| true":
        command = '"$0" "$1" -d cpu -t 0 -n 5000 -i Hi %s; exit ${PIPESTATUS[0]}' % close
        done = subprocess.run(["bash", "-c", command, PROGRAM, random_model()], stderr=subprocess.PIPE, timeout=120)
        assert done.returncode == 1 and b"standard output" in done.stderr, (close, done)


def test_standard_input_that_cannot_be_read_fails():
    for redirection in "<&-", "< /":
        done = subprocess.run(["bash", "-c", '"$0" "$1" -d cpu ' + redirection, PROGRAM, MODEL],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == 1 and b"standard input" in done.stderr, (redirection, done)


def interrupted(number, *arguments, stdin=b""):
    """Sends the signal in the middle of a reply that would be long; gives exit status, stdout and stderr."""
    child = subprocess.Popen([PROGRAM, random_model(), "-d", "cpu", "-t", "0", *arguments], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdin.write(stdin)
    child.stdin.flush()
    first = os.read(child.stdout.fileno(), 1)
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    return child.returncode, first + out, err


def test_ctrl_c_in_a_pipe_ends_the_line_and_the_program():
    for arguments, stdin in ((["-i", "Hi"], b""), ([], b"Hi\nnever answered\n")):
        status, out, err = interrupted(signal.SIGINT, *arguments, stdin=stdin)
        assert status == 130 and out.endswith(b"\n") and err == b"", (arguments, status, out, err)
        assert len(out) < 20000, "it went on to the end of the context"


def test_descriptors_that_do_not_block_are_waited_for():
    inner, outer = os.pipe()
    os.set_blocking(inner, False)
    child = subprocess.Popen([PROGRAM, MODEL, "-d", "cpu", "-n", "5", "-v", "1"], stdin=inner, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    for text in b"H", b"i\n", b"Ho":
        time.sleep(0.3)
        os.write(outer, text)
    os.close(outer)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 0 and err.count(b"\nreply: ") == 2, err
    # A pipe holds 64 KB: what would be lost is in the middle of the usage, said over and over.
    inner, outer = os.pipe()
    os.set_blocking(outer, False)
    child = subprocess.Popen([PROGRAM, MODEL, "-d", "cpu"], stdin=subprocess.PIPE, stderr=outer)
    os.close(outer)
    child.stdin.write(b"/help\n" * 500)
    child.stdin.close()
    time.sleep(0.5)
    with open(inner, "rb") as reader:
        told = reader.read()
    assert child.wait(60) == 0 and len(told) > 1 << 17 and told == told[: len(told) // 500] * 500


def test_a_limit_on_file_sizes_is_an_error_of_the_write():
    path = os.path.join(scratch, "limited")
    done = subprocess.run(["bash", "-c", 'ulimit -f 1; "$0" "$1" -d cpu -t 0 -n 2000 -i Hi >"$2"', PROGRAM, random_model(), path],
                          stderr=subprocess.PIPE, timeout=120)
    assert done.returncode == 1 and b"standard output: File too large" in done.stderr, done


def test_files_do_not_get_the_place_of_a_closed_descriptor():
    for close, status in ("<&-", 0), ("2>&-", 0), ("<&- 2>&-", 0), (">&-", 1), ("<&- >&- 2>&-", 1):
        done = subprocess.run(["bash", "-c", '"$0" "$1" -d cpu -n 2 -t 0 -i Hi ' + close, PROGRAM, MODEL],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == status and done.stdout.endswith(b"\n") == (status == 0), (close, done)


def test_standard_input_is_read_no_further_than_a_context_can_hold():
    limit = "" if BUILD.endswith("sanitized") else "ulimit -v 2000000; "  # a sanitizer maps terabytes
    script = 'head -c 300000000 /dev/zero | (' + limit + '"$0" "$1" -d cpu %s)'
    for arguments in "-i -", "":
        done = subprocess.run(["bash", "-c", script % arguments, PROGRAM, MODEL], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=120)
        assert done.returncode == 1 and b"64 MB" in done.stderr and done.stderr.count(b"\n") == 1, done


def test_ctrl_c_before_the_first_turn_ends_with_130():
    child = subprocess.Popen([PROGRAM, MODEL, "-d", "cpu"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    time.sleep(0.5)  # it waits for a line
    child.send_signal(signal.SIGINT)
    assert child.wait(60) == 130 and child.stdout.read() == b""


def test_other_signals_end_it_as_usual():
    for number in signal.SIGTERM, signal.SIGHUP:
        status, _, err = interrupted(number, "-i", "Hi")
        assert status == -number and err == b"", (status, err)


# The benchmark


def test_the_benchmark_is_one_screen_of_text():
    run = chat("-b", "1", "-c", "600")
    text = run.out.decode()
    assert len(text.split("\n")) <= 40 and max(map(len, text.split("\n"))) <= 100, text
    assert b"\x1b" not in run.out and run.err == ""
    for line in (r"on cpu, context 600", r"GB/s", r"^ +13 +\d+( +[\d.]+){3}$", r"^ +200 +\d+( +[\d.]+){3}$",
                 r"^ +2048 does not fit$", r"^ +0 +[\d.]+ +[\d.]+ +[\d.]+ %$", r"^ +599 +[\d.]+ +[\d.]+ +[\d.]+ %$",
                 r"sampling at k = 20: [\d.]+ us"):
        assert re.search(line, text, re.M), (line, text)
    shares = [float(share) for share in re.findall(r" ([\d.]+) %$", text, re.M)]
    assert max(shares) < 100.1 or "more than 100 %: the weights come from a cache" in text, text


if __name__ == "__main__":
    fixture.run(globals())
