#!/usr/bin/env python3
"""The built program at a terminal: prompt, colours, typing, Ctrl-C, end of file, and the terminal left clean."""
import os
import re
import signal
import time

import fixture
from test_main import MODEL, PROGRAM, prompt, random_model

PROMPT = "\x1b[1;32m> \x1b[0m"  # COLOR_PROMPT, then COLOR_RESET


def chat(*arguments, model=MODEL, ready=PROMPT, **env):
    terminal = fixture.Terminal(PROGRAM, model, "-d", "cpu", *arguments, **env)
    terminal.read_until(ready)
    return terminal


def ends(terminal, status):
    """It has ended with this status, in the terminal's normal colour, with the cursor at the start of a line."""
    got = terminal.status()
    assert got == status, (got, terminal.output)
    colours = re.findall("\x1b\\[[0-9;]*m", terminal.output)
    assert not colours or colours[-1] == "\x1b[0m", terminal.output[-200:]
    assert terminal.output.endswith("\r\n"), terminal.output[-200:]


def test_a_line_is_answered_and_the_prompt_comes_back():
    terminal = chat("-n", "5", "-v", "1")
    terminal.type("Hi\n")
    assert "prompt: %s\r\n" % " ".join(map(str, prompt("Hi"))) in terminal.read_until(PROMPT)
    terminal.type("\n   \n")  # nothing to answer
    assert "prompt:" not in terminal.read_until(PROMPT) + terminal.read_until(PROMPT)
    terminal.type("\x04")
    ends(terminal, 0)


def test_end_of_file_at_the_prompt_ends():
    terminal = chat()
    terminal.type("\x04")
    ends(terminal, 0)


def test_ctrl_c_at_the_prompt_exits_130():
    terminal = chat()
    terminal.type("\x03")
    ends(terminal, 130)
    terminal = chat()
    terminal.type("half a line\x03")
    ends(terminal, 130)


def test_ctrl_c_during_a_reply_brings_the_prompt_back():
    terminal = chat("-t", "0", "-v", "1", model=random_model())
    terminal.type("one\n")
    terminal.read_until("prompt: ")
    time.sleep(0.3)
    terminal.type("\x03")
    shown = terminal.read_until(PROMPT)
    reply = re.search("\nreply: (.*)\r\n", shown).group(1).split()
    assert 0 < len(reply) < 8000, "the reply went on to the end"
    # The turn is part of the conversation.
    terminal.type("two\n")
    terminal.read_until("prompt: ")
    ids = terminal.read_until("\r\n").split()
    first = prompt("-r", "1", "one")  # the thinking template: past turns have no empty thought
    assert ids[: len(first)] == [str(i) for i in first]
    assert len(ids) > len(first) + len(prompt("two"))
    time.sleep(0.1)
    terminal.type("\x03")
    terminal.read_until(PROMPT)
    terminal.type("\x03")
    ends(terminal, 130)


def test_ctrl_c_with_a_given_prompt_exits_130():
    terminal = chat("-t", "0", "-v", "1", "-i", "Hi", model=random_model(), ready="prompt: ")
    time.sleep(0.3)
    terminal.type("\x03")
    ends(terminal, 130)


def test_other_signals_leave_the_terminal_clean():
    for number in signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT:
        terminal = chat("-t", "0", "-r", "1", model=random_model())
        terminal.type("Hi\n")
        terminal.read_until("\n")
        time.sleep(0.2)
        os.kill(terminal.child, number)
        assert terminal.status() == -number
        colours = re.findall("\x1b\\[[0-9;]*m", terminal.output)
        assert colours[-1] == "\x1b[0m"


def test_a_block_of_lines_is_one_turn():
    terminal = chat("-n", "1", "-v", "1")
    terminal.type('"""\n')
    terminal.read_until(". ")  # more is expected
    terminal.type("one\n\n")
    terminal.read_until(". ")
    terminal.type('/clear"""\n')
    assert "prompt: %s\r\n" % " ".join(map(str, prompt("one\n\n/clear"))) in terminal.read_until(PROMPT)
    terminal.type('"""open\n\x04')  # the end of the input closes it, and then ends
    terminal.read_until("prompt: ")
    ends(terminal, 0)


def test_clear_starts_over():
    terminal = chat("-n", "1", "-v", "1")
    terminal.type("one\n")
    terminal.read_until(PROMPT)
    terminal.type("/clear\n")
    terminal.read_until(PROMPT)
    terminal.type("two\n")
    assert "prompt: %s\r\n" % " ".join(map(str, prompt("two"))) in terminal.read_until(PROMPT)
    terminal.type("\x04")
    ends(terminal, 0)


def test_a_refused_prompt_is_no_reason_to_leave():
    terminal = chat("-n", "1", "-v", "1", "-c", "64")
    terminal.type("word " * 100 + "\n")
    assert "64" in terminal.read_until(PROMPT)
    terminal.type("two\n")
    assert "\nreply: " in terminal.read_until(PROMPT)
    terminal.type("\x04")
    ends(terminal, 0)


def test_thinking_is_dim_unless_no_color_is_set():
    for env, dim in ({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False):
        ready = PROMPT if dim else "> "
        terminal = chat("-r", "1", "-t", "0", "-n", "20", ready=ready, **env)
        terminal.type("What is RoPE?\n")
        shown = terminal.read_until(ready)
        assert "<think>" in shown, shown
        assert ("\x1b[2m<think>\x1b[0m" in shown) == dim, shown
        assert dim or "\x1b" not in terminal.output, terminal.output
        terminal.type("\x04")
        ends(terminal, 0)


if __name__ == "__main__":
    fixture.run(globals())
