#!/usr/bin/env python3
"""The program tokenize, with the tokenizer of Qwen3: the goldens, any bytes, long inputs.

Needs only Python's standard library: export.py makes tokenizer.bin, without the templates. The goldens are
Hugging Face's (data/golden/README.md)."""

import hashlib
import json
import os
import random
import subprocess
import tempfile
import types
import unicodedata
import unittest

import fixture

MEGABYTE = 1 << 20
SHA256 = "bcca4cef92b35caa73af1bde9d35209b90c2783cd9710dfc8189d9bca3a856a5"  # of tokenizer.bin
directory = tempfile.TemporaryDirectory()


def setUpModule():
    fixture.write_tokenizer_bin(directory.name)


def tearDownModule():
    directory.cleanup()


def encode(texts, *options):
    return fixture.tokenize(directory.name, texts, *options)


def run(*arguments, text=b""):
    program = os.path.join(fixture.BUILD, "tests", "tokenize")
    return subprocess.run([program, *arguments], input=text, capture_output=True, timeout=60)


class OtherUnicode(types.SimpleNamespace):
    """unicodedata as it was before, or will be after, the code points that export.py has in its own lists."""

    def __init__(self, newest):
        e = fixture.export
        late = e.code_points(e.LETTERS_SINCE_12) | e.code_points(e.NUMBERS_SINCE_12)
        later = e.code_points(e.NEWER_THAN_16) - late
        nfc = {p for p in e.code_points(e.NEWER_THAN_9) if not unicodedata.combining(chr(p))}
        changed = (
            {**dict.fromkeys(later, "Lo"), **dict.fromkeys(late, "Co")}
            if newest
            else dict.fromkeys(late, "Cn")
        )
        super().__init__(
            category=lambda c: changed.get(ord(c)) or unicodedata.category(c),
            combining=lambda c: 230 if newest and ord(c) in nfc else unicodedata.combining(c),
            decomposition=lambda c: "1100 1161" if newest and c == "가" else unicodedata.decomposition(c),
            normalize=unicodedata.normalize,
        )


class Tokenizer(unittest.TestCase):
    def test_tokenizer_bin_is_the_same_whichever_python_makes_it(self):
        with open(os.path.join(directory.name, "tokenizer.bin"), "rb") as file:
            self.assertEqual(hashlib.sha256(file.read()).hexdigest(), SHA256)
        tiny = os.path.join(os.path.dirname(fixture.TESTS), "models", "tiny")
        values = []
        for name in ("tokenizer.json", "tokenizer_config.json"):
            with open(os.path.join(tiny, name), encoding="utf-8") as file:
                values.append(json.load(file))
        with open(os.path.join(tiny, "tokenizer.bin"), "rb") as file:
            self.assertEqual(file.read(), fixture.export.tokenizer_bin(*values)[0])

    def test_tokenizer_bin_knows_unicode_16_whatever_python_does(self):
        tables = fixture.export.unicode_tables()
        for newest in (False, True):
            fixture.export.unicodedata = OtherUnicode(newest)
            try:
                self.assertEqual(fixture.export.unicode_tables(), tables)
            finally:
                fixture.export.unicodedata = unicodedata

    def test_every_golden_text_has_the_ids_of_hugging_face(self):
        goldens = fixture.golden("tokenizer.jsonl") + fixture.golden("chat.jsonl")
        self.assertGreater(len(goldens), 700)
        for golden, ids in zip(goldens, encode([golden["text"].encode() for golden in goldens], "-p")):
            self.assertEqual(ids, golden["ids"], ascii(golden["text"]))

    def test_control_tokens_are_text_unless_asked_for(self):
        text = b"<|im_start|>user\nhi<|im_end|>"
        self.assertIn(151645, encode([text], "-p")[0])
        self.assertLess(max(encode([text])[0]), 151643)

    def test_every_byte_sequence_comes_back(self):
        added = {token["id"]: token["content"] for token in fixture.parsed()["added_tokens"]}
        texts = fixture.export.token_texts(fixture.parsed()["model"]["vocab"], added)
        r = random.Random(7)
        alphabet = [bytes([b]) for b in range(256)] + [
            "é".encode(),
            "中".encode(),
            "🙂".encode(),
            b"\r\n",
            b" a",
        ]
        samples = [b"".join(r.choices(alphabet, k=r.randint(1, 40))) for _ in range(5000)]
        # Truncated, overlong, surrogate, beyond Unicode.
        samples += [
            b"\xe4\xb8",
            b"a\xc3",
            b"\xc0\xaf",
            b"\xed\xa0\x80",
            b"\xf4\x90\x80\x80",
            b"\xf8\x88\x80\x80\x80",
        ]
        checked = 0
        for sample, ids in zip(samples, encode(samples)):
            self.assertTrue(all(0 <= number < len(texts) for number in ids))
            if sample.decode(errors="surrogateescape") == unicodedata.normalize(
                "NFC", sample.decode(errors="surrogateescape")
            ):
                self.assertEqual(b"".join(texts[number] for number in ids), sample)
                checked += 1
        self.assertGreater(checked, 4000)

    def test_a_megabyte_of_anything_takes_no_quadratic_time(self):
        # A quadratic step anywhere would run into run()'s limit of a minute; a run takes about half a second.
        golden = "".join(golden["text"] for golden in fixture.golden("tokenizer.jsonl"))
        for text in [
            golden,
            "a",
            " ",
            "\n",
            "\n ",
            "\u0301",
            "\u0301\u0323",
            "a\u0315\u0300\u0323",
            "가각힣",
            "\u1100\u1161\u11a8",
        ] + ["thequickbrownfox", "1", "'", "中", "<|", "<|im_end|>", "\u1f82", "\0"]:
            data = text.encode()
            data *= MEGABYTE // len(data) + 1
            done = run("-p", directory.name, text=data)
            self.assertEqual((done.returncode, done.stderr), (0, b""), ascii(text[:20]))
            self.assertGreater(len(done.stdout.split()), MEGABYTE // 200)

    def test_prints_one_id_a_line(self):
        self.assertEqual(run(directory.name, text=b"Hello, world!").stdout, b"9707\n11\n1879\n0\n")
        self.assertEqual(run(directory.name, "-p", text=b"<think>").stdout, b"151667\n")
        self.assertEqual(run(directory.name).stdout, b"")

    def test_says_what_is_wrong(self):
        for arguments, text, status, line in [
            ([], b"", 2, b"usage: tokenize"),
            (["-x", directory.name], b"", 2, b"usage: tokenize"),
            ([directory.name, directory.name], b"", 2, b"usage: tokenize"),
            (
                ["/no/such"],
                b"",
                1,
                b"/no/such/tokenizer.bin: No such file or directory: export.py makes this file",
            ),
            ([directory.name, "-l"], b"5\nabc", 1, b"ends inside a text of 5 bytes"),
            ([directory.name, "-l"], b"abc", 1, b"a length must stand before each text"),
        ]:
            done = run(*arguments, text=text)
            self.assertEqual(done.returncode, status, arguments)
            self.assertIn(line, done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1)


if __name__ == "__main__":
    unittest.main()
