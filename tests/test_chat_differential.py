#!/usr/bin/env python3
"""Random conversations get the same ids from the program `prompt` as from Hugging Face's apply_chat_template.

Needs the Python packages transformers and jinja2; without them the test is skipped (exit status 77). The
conversations are random but always the same. They are built from what the template and the tokenizer treat in a
special way: thoughts, finished or not, line ends around them, pieces of control tokens, and text that would join
with the template's at their border if the two were not encoded as one.

One difference is by design and left out: here control tokens in the user's text stay text, and so do those in a
reply's, but for the two that enclose a thought.

usage: test_chat_differential.py [CONVERSATIONS]
"""

import functools
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fixture

SEED = 600
TEXT = ["Hello", " world", "2+2", " = ", "4.", "I'm", "'LL", "\n", "\n\n", " ", "   ", "\t", "\r\n", "é", "e\u0301",
        "\u0301", "\u0308\u0323", "你好", "한", "ㅎ", "🙂", "\u200d", "0", "12345", "%s", "%d", "%", "\\n", "\"", "<",
        ">", "</", "<|", "|>", "<think", "think>", "/think>", "<|im_end", "im_start|>", "user", "assistant", "system",
        "user\n", "x = `a ** b`", "**bold**", "\u00a0", "\u2028", "!", "?\n\n", "...", "A" * 40, "-r", "-"]
THOUGHTS = ["<think>", "</think>", "<think>\n", "\n</think>", "\n</think>\n\n", "</think>\n\n\n\n", "<think>\n\n</think>\n\n",
            "<think></think>", "</think> \n", "</think>\r\n\n", "<think><think>"]


def text(r, most=5):
    return "".join(r.choices(TEXT, k=r.randint(1, most)))


def without(control, make, r):
    """What make gives, without these control tokens in it."""
    while True:
        made = make(r)
        if not any(token in made for token in control):
            return made


def reply(r):
    kind = r.randrange(8)
    if kind == 0:
        return ""
    if kind == 1:
        return r.choice(["\n", "\n\n", " \n"]) + text(r)
    if kind == 2:
        return f"<think>\n{text(r)}\n</think>\n\n{text(r)}"
    if kind == 3:
        return "<think>\n" + text(r)
    if kind == 4:
        return text(r)
    return "".join(r.choice([text(r, 2), r.choice(THOUGHTS)]) for _ in range(r.randint(1, 6)))


def conversation(r, control):
    thoughts = ("<think>", "</think>")
    plain = functools.partial(without, control, text)
    said = functools.partial(without, [token for token in control if token not in thoughts], reply)
    messages = []
    if r.random() < 0.4:
        messages.append({"role": "system", "content": r.choice(["", "You are terse.", plain(r)])})
    for _ in range(r.choice([0, 0, 1, 1, 2, 3, 6])):
        messages.append({"role": "user", "content": plain(r)})
        messages.append({"role": "assistant", "content": said(r)})
    messages.append({"role": "user", "content": plain(r)})
    return messages, r.random() < 0.5


def prompt(directory, messages, thinking):
    program = os.path.join(fixture.BUILD, "tests", "prompt")
    system = ["-y", messages[0]["content"]] if messages[0]["role"] == "system" else []
    said = [m["content"] for m in messages if m["role"] != "system"]
    run = subprocess.run([program, directory, *system, "-r", str(int(thinking)), "--", *said], capture_output=True)
    assert run.returncode == 0, run.stderr.decode(errors="replace")
    return [int(line) for line in run.stdout.split()]


def main():
    try:
        import jinja2
        import transformers
    except ImportError as missing:
        print(f"skipped: {missing}")
        return 77
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    control = [token["content"] for token in fixture.parsed()["added_tokens"]]
    r = random.Random(SEED)
    wrong = 0
    with tempfile.TemporaryDirectory() as directory:
        fixture.write_model(directory)
        subprocess.run([sys.executable, fixture.export.__file__, directory], check=True, capture_output=True)
        reference = transformers.AutoTokenizer.from_pretrained(directory)
        for _ in range(wanted):
            messages, thinking = conversation(r, control)
            ours = prompt(directory, messages, thinking)
            theirs = reference.apply_chat_template(
                messages, add_generation_prompt=True, enable_thinking=thinking, tokenize=False
            )
            theirs = reference(theirs, add_special_tokens=False)["input_ids"]
            if ours != theirs:
                wrong += 1
                if wrong <= 10:
                    print(f"{messages!a} thinking={thinking}\n  qwen600:      {ours}\n  transformers: {theirs}")
    print(f"{wanted} conversations, {wrong} different; transformers {transformers.__version__}, jinja2 {jinja2.__version__}")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
