#!/usr/bin/env python3
"""The built program at a terminal: the editor, prompt, colours, Ctrl-C, end of file, and the terminal left clean.

Where the editor is at work the screen is compared, not the bytes: Screen understands what the program writes."""
import fcntl
import os
import re
import select
import shutil
import signal
import struct
import termios
import time
import unicodedata

from random import Random

import fixture
from test_main import MODEL, PROGRAM, directory, prompt, random_model, scratch

PROMPT = "\x1b[1;32m> \x1b[0m"  # COLOR_PROMPT, then COLOR_RESET


def chat(*arguments, model=MODEL, ready=PROMPT, **env):
    terminal = fixture.Terminal(PROGRAM, model, "-d", "cpu", *arguments, **{"TERM": "xterm", **env})
    terminal.read_until(ready)
    return terminal


class Screen:
    """A program at a terminal of so many columns and rows, and what is to be seen there. As most terminals do, it
    wraps rows anew when it is resized."""

    def __init__(self, *command, columns=40, rows=12, **env):
        self.terminal = fixture.Terminal(*command, **{"TERM": "xterm", **env})
        self.columns, self.rows = columns, rows
        self.lines, self.wrapped = [[]], [False]  # from the first line ever; wrapped: it goes on in the next
        self.row = self.column = 0
        self.seen, self.pasting = 0, False
        self.tell_size()

    def tell_size(self):
        fcntl.ioctl(self.terminal.fd, termios.TIOCSWINSZ, struct.pack("HHHH", self.rows, self.columns, 0, 0))

    def top(self):
        return max(0, len(self.lines) - self.rows)

    def down(self, wrapped):
        self.wrapped[self.row] = wrapped
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append([])
            self.wrapped.append(False)

    def put(self, character):
        if unicodedata.category(character) in ("Mn", "Me", "Cf"):
            if self.column:
                self.lines[self.row][self.column - 1] += character
            return
        width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if self.column + width > self.columns:
            self.down(True)
            self.column = 0
        line = self.lines[self.row]
        line += [" "] * (self.column + width - len(line))
        line[self.column:self.column + width] = [character] + [""] * (width - 1)
        self.column += width

    def sequence(self, private, numbers, letter):
        number = int(numbers.split(";")[0] or 0)
        if private:
            assert letter in "hl" and number == 2004, (numbers, letter)
            self.pasting = letter == "h"
        elif letter == "A":
            self.row = max(self.top(), self.row - max(1, number))
        elif letter == "C":
            self.column = min(self.columns - 1, self.column + max(1, number))
        elif letter == "J" and number == 0:
            del self.lines[self.row][self.column:], self.lines[self.row + 1:], self.wrapped[self.row + 1:]
            self.wrapped[self.row] = False
        elif letter == "J":  # what was there is left above, as xterm has it
            self.row = self.top()
            del self.lines[self.row:], self.wrapped[self.row:]
            self.lines.append([])
            self.wrapped.append(False)
        elif letter == "H":
            self.row, self.column = self.top(), 0
        else:
            assert letter == "m", (numbers, letter)

    def look(self):
        """Takes in what was written since the last look."""
        text = self.terminal.output
        while self.seen < len(text):
            match = re.compile("\x1b\\[(\\??)([0-9;]*)([A-Za-z])").match(text, self.seen)
            if match:
                self.sequence(*match.groups())
                self.seen = match.end()
                continue
            if text[self.seen] == "\x1b":
                return  # its rest is on the way
            if text[self.seen] == "\r":
                self.column = 0
            elif text[self.seen] == "\n":
                self.down(False)
            else:
                assert text[self.seen] >= " " and not "\x7f" <= text[self.seen] < "\xa0", repr(text[self.seen:])
                self.put(text[self.seen])
            self.seen += 1

    def resize(self, columns, rows=None):
        self.wait()
        cursor, wrapped, joined, line = None, self.wrapped, [], []
        for row, cells in enumerate(self.lines):
            if row == self.row:
                cursor = (len(joined), len(line) + self.column)
            line += cells
            if not wrapped[row]:
                joined.append(line)
                line = []
        joined += [line] if line else []
        self.columns, self.rows = columns, rows or self.rows
        self.lines, self.wrapped = [], []
        for number, line in enumerate(joined):
            for at in range(0, max(1, len(line)), columns):
                if number == cursor[0] and at <= cursor[1]:
                    self.row, self.column = len(self.lines), cursor[1] - at
                self.lines.append(line[at:at + columns])
                self.wrapped.append(at + columns < len(line))
        self.tell_size()

    def wait(self, seconds=0.2):
        """Reads until nothing more comes, or a while longer."""
        end = time.monotonic() + 1
        while time.monotonic() < end and select.select([self.terminal.fd], [], [], seconds)[0]:
            data = os.read(self.terminal.fd, 65536)
            self.terminal.output += self.terminal.decoder.decode(data)
        self.look()

    def text(self):
        return [unicodedata.normalize("NFC", "".join(line)).rstrip() for line in self.lines[self.top():]]

    def shows(self, *lines, cursor=None):
        """The last lines are, or will soon be, these, with the cursor in this column of the last, or (up, column)."""
        end = time.monotonic() + 120
        while True:
            self.wait(0.05)
            up, column = cursor if isinstance(cursor, tuple) else (0, cursor)
            if self.text()[-len(lines):] == list(lines) and (
                    cursor is None or (len(self.lines) - 1 - self.row, self.column) == (up, column)):
                return
            assert time.monotonic() < end, (lines, cursor, self.text(), (len(self.lines) - 1 - self.row, self.column))

    def until(self, pattern):
        """Waits until a line like this is there, and gives it."""
        end = time.monotonic() + 120
        while True:
            self.wait(0.05)
            for line in self.lines:
                if re.search(pattern, "".join(line)):
                    return "".join(line)
            assert time.monotonic() < end, (pattern, self.text())

    def type(self, text):
        self.terminal.type(text)

    def paste(self, text):
        assert self.pasting
        self.terminal.type("\x1b[200~%s\x1b[201~" % text.replace("\n", "\r"))


def edit(*arguments, model=MODEL, columns=40, rows=12, **env):
    screen = Screen(PROGRAM, model, "-d", "cpu", *arguments, columns=columns, rows=rows, **env)
    screen.shows(">", cursor=2)
    return screen


LEFT, RIGHT, UP, DOWN, HOME, END, DELETE = "\x1b[D", "\x1b[C", "\x1b[A", "\x1b[B", "\x1b[H", "\x1b[F", "\x1b[3~"


def ctrl(letter):
    return chr(ord(letter) & 0x1F)


def sent(terminal, text, *before):
    """The ids of the next prompt are those of this text."""
    line = terminal.read_until("prompt: ") and terminal.read_until("\r\n")
    assert line.split() == [str(i) for i in prompt(*before, text)], line


def ends(terminal, status):
    """It has ended with this status, in the terminal's normal colour, with the cursor at the start of a line."""
    got = terminal.status()
    assert got == status, (got, terminal.output)
    colours = re.findall("\x1b\\[[0-9;]*m", terminal.output)
    assert not colours or colours[-1] == "\x1b[0m", terminal.output[-200:]
    assert terminal.output.endswith("\r\n"), terminal.output[-200:]
    modes = re.findall("\x1b\\[\\?2004[hl]", terminal.output)
    assert not modes or modes[-1] == "\x1b[?2004l", terminal.output[-200:]


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
    assert "\n" not in terminal.read_until(PROMPT)  # it is cleared, and the prompt is there again
    terminal.type("\x03")
    ends(terminal, 130)
    terminal = chat(TERM="dumb", ready="> ")  # without the editor it ends at once
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
        assert dim or not re.search("\x1b\\[[0-9;]*m", terminal.output), terminal.output
        terminal.type("\x04")
        ends(terminal, 0)


# The editor


def test_keys_edit_the_line():
    screen = edit("-n", "1")
    screen.type("helo")
    screen.shows("> helo", cursor=6)
    screen.type(LEFT + "l")
    screen.shows("> hello", cursor=6)
    screen.type(HOME + "x")
    screen.shows("> xhello", cursor=3)
    screen.type(END + " world" + ctrl("A") + DELETE)
    screen.shows("> hello world", cursor=2)
    screen.type(ctrl("F") * 2 + RIGHT + ctrl("B") + ctrl("D"))
    screen.shows("> helo world", cursor=4)
    screen.type(ctrl("E") + ctrl("W") + "all")
    screen.shows("> helo all", cursor=10)
    screen.type("\x1bb" + "\x1b[1;5D" + "\x1b[1;5C" + ctrl("K"))
    screen.shows("> helo", cursor=6)
    screen.type(LEFT + "\x7f\x08" + ctrl("U"))
    screen.shows("> o", cursor=2)
    screen.type("\x1b[4~" + LEFT * 9 + RIGHT * 9 + "\x1b[1~" + "\x1bOC" + "\x1b[99~" + "\x1b[24;3~" + "\x07" + "!")
    screen.shows("> o!", cursor=4)
    screen.type(ctrl("D") + DELETE + RIGHT + ctrl("L"))
    screen.shows("> o!", cursor=4)
    assert len(screen.lines) - screen.top() == 1 or screen.text()[0] == "> o!"
    screen.type("\x1b" + LEFT + "\x1b\x1b" + LEFT + "\x1b[[A" + "\x1b[[E" + "?")  # Alt with an arrow, twice; F1 and F5
    screen.shows("> ?o!", cursor=3)
    screen.type(ctrl("U") + ctrl("K") + "\x04")
    ends(screen.terminal, 0)


def test_characters_are_whole_and_have_their_width():
    screen = edit(columns=20)
    screen.type("a你好🙂e\u0301x")
    screen.shows("> a你好🙂\u00e9x", cursor=11)
    screen.type(LEFT * 2)
    screen.shows("> a你好🙂\u00e9x", cursor=9)
    screen.type("\x7f")
    screen.shows("> a你好\u00e9x", cursor=7)
    screen.type(DELETE + "\x7f")
    screen.shows("> a你x", cursor=5)
    screen.type(END + "y你好你好你好你")  # the last one finds one column and goes on in the next row
    screen.shows("> a你xy你好你好你好", "你", cursor=2)
    screen.type(LEFT + "\x7f" * 3)
    screen.shows("> a你xy你好你你", cursor=13)
    screen.type(ctrl("U") + ctrl("K") + "\x1b[24~" + "\x16\x1b")  # keys that mean nothing here
    screen.shows(">", cursor=2)
    screen.type("\x04")
    ends(screen.terminal, 0)


def test_a_long_line_wraps():
    screen = edit("-n", "1", "-v", "1", columns=20)
    text = "0123456789" * 5
    for n in 17, 18, 19, 37, 38, 39, 50:
        screen.type(ctrl("U") + text[:n])
        lines = [("> " + text[:n])[i:i + 20] for i in range(0, n + 3, 20)]
        screen.shows(*lines, cursor=(n + 2) % 20)
    screen.type(HOME)
    screen.shows("> 012345678901234567", "89012345678901234567", "890123456789", cursor=(2, 2))
    screen.type(RIGHT * 17 + "x")
    screen.shows("> 01234567890123456x", "78901234567890123456", "7890123456789", cursor=(1, 0))
    screen.type("\x7f" * 2 + DELETE)
    screen.shows("> 012345678901234589", "01234567890123456789", "0123456789", cursor=(2, 18))
    screen.type("\r")
    sent(screen.terminal, "0123456789012345" + "89" + "0123456789" * 3)


def test_the_line_is_drawn_anew_when_the_terminal_is_resized():
    screen = edit(columns=20)
    screen.type("0123456789" * 3)
    screen.shows("> 012345678901234567", "890123456789", cursor=12)
    screen.resize(30)
    screen.shows("> 0123456789012345678901234567", "89", cursor=2)
    screen.resize(10)
    screen.shows("> 01234567", "8901234567", "8901234567", "89", cursor=2)
    screen.type(HOME)
    screen.resize(60)
    screen.shows("> " + "0123456789" * 3, cursor=2)
    assert screen.text().count("> " + "0123456789" * 3) == 1 and "".join(screen.text()).count("> ") == 1
    screen.type(ctrl("K") + "\x04")
    ends(screen.terminal, 0)


def rows_of(text, columns):
    """What a terminal of so many columns shows of the prompt and this text."""
    rows, used = [""], 0
    for character in "> " + text:
        width = 0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) == "W" else 1
        if used + width > columns:
            rows.append("")
            used = 0
        rows[-1] += character
        used += width
    return [unicodedata.normalize("NFC", row) for row in rows] + ([""] if used == columns else [])


def test_any_keys_in_any_order():
    """A few hundred keys, against a list of characters that does the same."""
    random = Random(600)
    screen = edit(columns=20, rows=40)
    characters, cursor = [], 0
    for burst in range(40):
        for _ in range(random.randrange(1, 15)):
            key = random.choice(["a", "b", " ", "你", "🙂", "e\u0301", "x\u0323\u0301", "word ", LEFT, LEFT, RIGHT, "\x7f", DELETE,
                                 HOME, END, ctrl("K"), ctrl("U"), ctrl("W"), "more words "])
            screen.type(key)
            if key == LEFT:
                cursor = max(0, cursor - 1)
            elif key == RIGHT:
                cursor = min(len(characters), cursor + 1)
            elif key in (HOME, END):
                cursor = 0 if key == HOME else len(characters)
            elif key == "\x7f":
                del characters[max(0, cursor - 1):cursor]
                cursor = max(0, cursor - 1)
            elif key == DELETE:
                del characters[cursor:cursor + 1]
            elif key == ctrl("K"):
                del characters[cursor:]
            elif key == ctrl("U"):
                del characters[:cursor]
                cursor = 0
            elif key == ctrl("W"):
                start = cursor
                while start > 0 and characters[start - 1] == " ":
                    start -= 1
                while start > 0 and characters[start - 1] != " ":
                    start -= 1
                del characters[start:cursor]
                cursor = start
            else:
                inserted = [key] if len(key) < 4 and key[0] != " " else list(key)
                characters[cursor:cursor] = inserted
                cursor += len(inserted)
        rows = rows_of("".join(characters), 20)
        before = rows_of("".join(characters[:cursor]), 20)
        column = sum(2 if unicodedata.east_asian_width(c) == "W" else 1
                     for c in unicodedata.normalize("NFD", before[-1]) if not unicodedata.combining(c))
        screen.shows(*[row.rstrip() for row in rows], cursor=(len(rows) - len(before), column))


def test_any_bytes_are_survived():
    random = Random(11)
    screen = edit("-n", "1", columns=30, rows=5)
    for _ in range(60):
        data = bytes(random.choice(b"\x1b[;0123456789ABCDHFO~\xe4\xbd\xa0\xcc\x81\xf0\x9f\x00\x01\t ab\x7f\x10\x0e\x0c\xff")
                     for _ in range(random.randrange(1, 60)))
        os.write(screen.terminal.fd, data)
        screen.wait(0.01)
        if random.random() < 0.3:
            screen.resize(random.choice([1, 2, 3, 8, 30, 80]), random.choice([1, 2, 5]))
    screen.type("\x1b[201~" + "a\x03\x03")
    ends(screen.terminal, 130)


def test_history_is_the_turns_of_this_chat():
    screen = edit("-n", "1")
    for text in "one", "two", "/think", "two":
        screen.type(text + "\r")
        screen.until("1 token after" if text != "/think" else "thinking")
        screen.shows(">", cursor=2)
    screen.type("half" + UP)
    screen.shows("> two", cursor=5)
    screen.type(UP)
    screen.shows("> one", cursor=5)
    screen.type(UP + "!")
    screen.shows("> one!", cursor=6)
    screen.type(DOWN)
    screen.shows("> two", cursor=5)
    screen.type(DOWN + DOWN)
    screen.shows("> half", cursor=6)
    screen.type(ctrl("P") + ctrl("N") + ctrl("U") + "\x04")
    ends(screen.terminal, 0)


def test_a_paste_is_one_turn():
    screen = edit("-n", "1", "-v", "1", columns=20, rows=6)
    screen.paste("one\n\ttwo\n\nthree\n")
    screen.shows("> one", "    two", "", "three", "", cursor=0)
    screen.type(LEFT * 3 + "\x7f")
    screen.shows("> one", "    two", "", "thee", "", cursor=(1, 2))
    screen.type("\r")
    sent(screen.terminal, "one\n\ttwo\n\nthee")
    screen.until("context: ")
    screen.shows(">", cursor=2)
    screen.type("/clear\r")
    screen.shows("(cleared)", ">")
    screen.paste('"""quoted"""\n/clear')  # no block, no command
    screen.type("\r")
    sent(screen.terminal, '"""quoted"""\n/clear')
    screen.until("context: ")
    screen.shows(">", cursor=2)
    screen.paste("\x03\x1b[A\x04")  # keys in a paste are text
    screen.shows("> ^C^[[A^D", cursor=10)
    screen.type(ctrl("U"))
    screen.paste("/clear")
    screen.type("\r")
    screen.shows("(cleared)", ">")
    screen.type('"""a\r')
    screen.shows('> """a', ".", cursor=2)
    screen.paste("b\nc\n")
    screen.type('"""\r')
    sent(screen.terminal, "a\nb\nc")
    screen.until("context: ")


def test_a_line_may_be_longer_than_the_screen_and_than_4095_bytes():
    text = " ".join("line %d" % i for i in range(500))
    screen = edit("-n", "1", "-v", "1", columns=40, rows=8)
    screen.type(text)  # no paste: it comes in parts
    screen.shows(("> " + text)[-((len(text) + 2) % 40):], cursor=(len(text) + 2) % 40)
    screen.type(HOME)
    screen.shows(*[("> " + text)[i:i + 40].rstrip() for i in range(0, 320, 40)], cursor=(7, 2))
    screen.type("x" + END + ctrl("A") + DELETE + END + "\r")
    sent(screen.terminal, text)
    screen.until("context: ")
    everything = "".join("".join(line).ljust(40) for line in screen.lines)
    assert "> " + text in everything, "all of it stays to be read"
    screen.shows(">", cursor=2)
    screen.paste("\n".join(text.split(" ")))
    screen.type("\r")
    screen.until("forgotten|499$")
    sent_ids = screen.terminal.output.rsplit("prompt: ", 1)[1].split("\r\n")[0].split()
    assert len(sent_ids) > 2000


def test_what_is_typed_ahead_is_kept():
    screen = edit("-v", "1", "-t", "0", model=random_model())
    screen.type("one\r")
    screen.until("^prompt: ")
    screen.type("ahead")
    time.sleep(0.3)
    assert "ahead" not in screen.terminal.output
    screen.type("\x03")  # ends the reply, not what is typed
    screen.shows("> ahead", cursor=7)
    screen.type("!" + ctrl("U") + "\x04")
    ends(screen.terminal, 0)


def test_ctrl_c_leaves_a_block():
    screen = edit("-n", "1", "-v", "1")
    screen.type('"""\rone\rtw')
    screen.shows('> """', ". one", ". tw", cursor=4)
    screen.type("\x03")
    screen.shows('> """', ". one", ". tw", ">", cursor=2)
    screen.type("three\r")
    sent(screen.terminal, "three")
    screen.until("context: ")
    screen.type('"""\r\x03')
    screen.shows('> """', ".", ">", cursor=2)
    screen.type("\x03")
    ends(screen.terminal, 130)


# What it tells


def test_it_says_what_it_is_and_what_to_type():
    screen = edit(columns=200)
    assert re.search(r"^qwen600-tiny: \S+tiny on CPU.*, context 8192$", screen.text()[-3]), screen.text()
    assert "Enter" in screen.text()[-2] and "/help" in screen.text()[-2], screen.text()
    screen.type("/help\r")
    for word in "turn", "/clear", "/think", "/exit", "Ctrl-C", '"""', "Up, Down":
        screen.until(re.escape(word))
    assert max(len("".join(line).rstrip()) for line in screen.lines[3:]) <= 80, screen.text()
    screen.type("/exit\r")
    ends(screen.terminal, 0)


def test_a_reply_is_followed_by_its_figures():
    screen = edit("-t", "0", columns=120)
    screen.type("What is RoPE?\r")
    assert re.search(r"^\[[\d.]+ tk/s, \d+ tokens in [\d.]+s, the first after [\d.]+s, context \d+ of 8192\]$",
                     screen.until(r"tk/s")), screen.text()
    assert re.search("\x1b\\[2m\\[[^\n]*\\]\x1b\\[0m\r\n", screen.terminal.output)
    screen.shows(">", cursor=2)
    screen.type("\x04")
    ends(screen.terminal, 0)


def test_commands_at_a_terminal():
    screen = edit("-n", "1", "-v", "1", columns=100)
    screen.type("  /think \r")
    screen.shows("(thinking)", ">")
    screen.type("one\r")
    sent(screen.terminal, "one", "-r", "1")
    screen.until("context: ")
    screen.type("/clear\r/think\r")
    screen.shows("(cleared)", "> /think", "(not thinking)", ">")
    screen.type("/claer\r")
    screen.until("^\\(/claer is no command: /help names them; in a block it is text\\)$")
    screen.type('/a/path\r')
    sent(screen.terminal, "/a/path")
    screen.until("context: ")
    screen.type("/exit\r")
    ends(screen.terminal, 0)


def test_a_file_that_shrinks_is_told_on_a_line_of_its_own():
    weights = os.path.join(scratch, "shrinking_too")
    shutil.copy(os.path.join(MODEL, "model.safetensors"), weights)
    screen = edit(model=directory("shrinks_too", model=weights), columns=120)
    os.truncate(weights, 100)
    screen.type("a prompt of so many tokens that how far it is is shown\r")
    ends(screen.terminal, 1)
    screen.look()
    assert any("".join(line).startswith("qwen600-tiny: a file of the model") for line in screen.lines), screen.text()


def test_nothing_that_the_model_says_commands_the_terminal():
    terminal = chat("-t", "3.4e38", "-k", "0", "-p", "1", "-s", "1", "-n", "400", "-i", "Hi", "-r", "1", model=random_model(),
                    ready="%")
    assert terminal.status() == 0
    ours = re.sub("\x1b\\[[0-9;]*m|[\r\n\t]", "", terminal.output)
    assert re.search("\\^[@-_?]", ours) and not re.search("[\x00-\x1f\x7f-\x9f]", ours), ours


def test_a_long_prompt_shows_how_far_it_is():
    terminal = chat("-n", "1")
    terminal.type("\x1b[200~%s\x1b[201~\r" % ("word " * 1500))
    assert terminal.read_until("(the reply was cut: -n 1)").count("\rreading: ") > 1
    assert max(map(len, re.findall("\r(reading: [^\r]*)", terminal.output))) <= 20
    terminal.read_until(PROMPT)
    terminal.type("\x04")
    ends(terminal, 0)


# Other terminals


def test_a_terminal_that_moves_no_cursor_gets_plain_lines():
    for term in "dumb", "":
        terminal = chat("-n", "1", "-v", "1", ready="> ", TERM=term)
        terminal.type("one\n")
        sent(terminal, "one")
        terminal.read_until("> ")
        terminal.type("word " * 1000 + "\n")
        assert "cuts a line at 4095 bytes" in terminal.read_until("> ").split("prompt: ")[0]
        terminal.type("\x04")
        ends(terminal, 0)
        assert "\x1b" not in terminal.output


def test_without_colour_the_editor_still_edits():
    screen = edit("-t", "0", NO_COLOR="1")
    screen.type("x" + LEFT + "What is RoPE?" + DELETE + "\r")
    screen.until("tk/s")
    screen.shows(">", cursor=2)
    screen.type("\x04")
    ends(screen.terminal, 0)
    assert not re.search("\x1b\\[[0-9;]*m", screen.terminal.output)


# Ways out

REPORT = 'stty -g; "$0" "$@"; status=$?; stty -g; exit $status'


def child_of(parent):
    """The process that this one waits for."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % entry) as file:
                    name, _, rest = file.read().partition(") ")
                if int(rest.split()[1]) == parent and "(qwen600" in name:
                    return int(entry)
            except OSError:
                pass
    raise AssertionError("no child of %d" % parent)


def test_the_terminal_gets_back_what_it_had():
    ways = [(signal.Signals[name], False) for name in "SIGHUP SIGQUIT SIGTERM SIGINT SIGABRT SIGSEGV SIGBUS SIGUSR1 SIGALRM "
            "SIGXCPU SIGSYS".split()] + [(signal.SIGRTMIN + 1, False)]
    ways += [(signal.SIGHUP, True), (signal.SIGTERM, True), (signal.SIGINT, True)]
    for way, replying in ways + [("\x04", False), ("\x03", False), ("/exit\r", False)]:
        screen = Screen("sh", "-c", REPORT, PROGRAM, random_model(), "-d", "cpu", "-t", "0", "-v", "1",
                        ASAN_OPTIONS="handle_segv=0")
        screen.shows(">", cursor=2)
        assert screen.pasting
        if replying:
            screen.type("Hi\r")
            screen.until("^prompt: ")
        if isinstance(way, str):
            screen.type(way)
        else:
            os.kill(child_of(screen.terminal.child), way)
        if way == signal.SIGINT and replying:
            screen.shows(">", cursor=2)
            screen.type("\x04")
        screen.terminal.status()
        screen.look()
        states = [line for line in screen.terminal.output.split("\r\n") if re.search("^([0-9a-f]+:){10}", line)]
        assert len(states) == 2 and states[0] == states[1], (way, replying, screen.terminal.output[-300:])
        assert not screen.pasting, (way, replying)


def test_stop_and_go_on():
    screen = Screen("bash", "--norc", "--noediting", "-i", PS1="$ ", columns=60)
    screen.shows("$")
    screen.type("stty -g; %s %s -d cpu -n 1 -v 1\n" % (PROGRAM, MODEL))
    screen.shows(">", cursor=2)
    screen.type("half" + LEFT + "\x1a")
    screen.until("Stopped")
    assert not screen.pasting
    screen.type("stty -g\n")
    end = time.monotonic() + 120
    while len(re.findall("(?:[0-9a-f]+:){10}.*", screen.terminal.output)) < 2 and time.monotonic() < end:
        screen.wait()
    first, second = re.findall("(?:[0-9a-f]+:){10}.*", screen.terminal.output)
    assert first == second
    screen.type("fg\n")
    screen.shows("> half", cursor=5)
    assert screen.pasting
    screen.type("!\r")
    sent(screen.terminal, "hal!f")
    screen.until("context: ")
    screen.shows(">", cursor=2)
    os.kill(child_of(screen.terminal.child), signal.SIGSTOP)  # which cannot be caught
    screen.until("Stopped")
    screen.type("fg\n")
    screen.shows(">", cursor=2)
    screen.type("\x04")
    screen.until("^\\$")
    screen.type("exit\n")
    screen.terminal.status()


if __name__ == "__main__":
    fixture.run(globals())
