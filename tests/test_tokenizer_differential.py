#!/usr/bin/env python3
"""Random Unicode text gets the same ids from qwen600 as from Hugging Face's tokenizers.

Needs the Python package tokenizers; without it the test is skipped (exit status 77). The strings are random
but always the same: the seed is fixed. They are made of the code points that this Python's Unicode tables
assign and of those that are newer, and weighted towards what the tokenizer treats in a special way: marks,
Hangul, apostrophes, digits of all scripts, white space, line ends, control tokens. And of
every code point, both take the same for letters and for numbers.

usage: test_tokenizer_differential.py [STRINGS]
"""

import os
import random
import sys
import tempfile
import unicodedata

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fixture

SEED = 20240501


def generators(control):
    """Functions of a random number generator, each giving a short piece of text."""
    assigned = [chr(p) for p in range(0x110000) if unicodedata.category(chr(p)) not in ("Cn", "Cs", "Co")]
    export = fixture.export
    newer = "".join(
        (export.LETTERS_SINCE_12, export.NUMBERS_SINCE_12, export.NEWER_THAN_16, export.NEWER_THAN_9)
    )
    newer = [*map(chr, sorted(export.code_points(newer)))]
    marks = [c for c in assigned if unicodedata.combining(c)]
    decomposable = [
        c for c in assigned if unicodedata.decomposition(c) and unicodedata.decomposition(c)[0] != "<"
    ]
    numbers = [c for c in assigned if unicodedata.category(c)[0] == "N"]
    spaces = [*map(chr, sorted(fixture.export.code_points(fixture.export.WHITE_SPACE)))]
    # Not white space, though they look like it or str.isspace() says so.
    lookalikes = [*map(chr, range(0x1C, 0x20)), "\u180e", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff"]
    # The second halves of compositions, many of them no marks.
    seconds = sorted({unicodedata.normalize("NFD", c)[-1] for c in decomposable})
    ascii_ = [chr(p) for p in range(128)]
    common = [c for c in assigned if ord(c) < 0x3000 and unicodedata.category(c)[0] == "L"]
    contractions = [
        q + s
        for q in ("'", "\u2019", " '")
        for s in "s t re ve m ll d S T RE vE M lL D \u017f \ufb06 \u1e9e l r v \u212a".split()
    ]
    jamo = [chr(p) for p in (*range(0x1100, 0x1200), *range(0xA960, 0xA97D), *range(0xD7B0, 0xD7FC))]

    def of(letters, most):
        return lambda r: "".join(r.choices(letters, k=r.randint(1, most)))

    return [
        (6, of(assigned, 6)),
        (4, of(ascii_, 8)),
        (4, of("abcdefghijklmnopqrstuvwxyz", 8)),
        (2, of("aeou", 2)),
        (4, of(common, 4)),
        (4, of(marks, 5)),
        (4, of(decomposable, 3)),
        (3, of(seconds, 2)),
        (3, of(numbers, 4)),
        (4, of(spaces, 4)),
        (1, of(lookalikes, 2)),
        (3, of(" ", 4)),
        (3, of("\r\n", 3)),
        (2, of(" \t\n", 5)),
        (4, of(contractions, 2)),
        (3, of(jamo, 4)),
        (
            3,
            lambda r: "".join(
                chr(r.randint(0x1100, 0x1113))
                + chr(r.randint(0x1160, 0x1177))
                + chr(r.randint(0x11A6, 0x11C4))
                for _ in range(r.randint(1, 2))
            ),
        ),
        (2, lambda r: chr(r.randint(0xAC00, 0xD7A3)) + r.choice(["", chr(r.randint(0x11A6, 0x11C4))])),
        (2, lambda r: chr(r.randint(0x4E00, 0x9FA5)) * r.randint(1, 3)),
        (2, lambda r: chr(r.randint(0x1F300, 0x1F64F)) + r.choice(["", "\ufe0f", "\u200d", "\U0001f3fd"])),
        (2, of(control, 1)),
        (1, lambda r: r.choice(control)[: r.randint(1, 9)]),
        (2, of(assigned, 1)),
        (1, of(newer, 3)),
    ]


def main():
    try:
        import tokenizers
    except ImportError:
        print("skipped: the Python package tokenizers is not here")
        return 77
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 24000
    text = fixture.tokenizer_json()
    reference = tokenizers.Tokenizer.from_str(text.decode())
    control = [token["content"] for token in fixture.parsed()["added_tokens"]]
    weights, makers = zip(*generators(control))
    export = fixture.export
    tables = dict(zip("LN", export.unicode_tables()))
    for letter, rows in tables.items():
        split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"\p{%s}" % letter), "removed")
        ours = {p for first, last in rows for p in range(first, last + 1)}
        theirs = {
            p for p in range(0x110000) if not 0xD800 <= p < 0xE000 and not split.pre_tokenize_str(chr(p))
        }
        if ours != theirs:
            print(f"\\p{{{letter}}} differs at", *map(hex, sorted(ours ^ theirs)[:10]))
            return 1
    r = random.Random(SEED)
    strings = [
        "".join(maker(r) for maker in r.choices(makers, weights, k=r.randint(1, 8))) for _ in range(wanted)
    ]

    with tempfile.TemporaryDirectory() as directory:
        fixture.write_tokenizer_bin(directory)
        ours = fixture.tokenize(directory, [s.encode() for s in strings], "-p")
    theirs = [e.ids for e in reference.encode_batch_fast(strings, add_special_tokens=False)]
    wrong = [(s, a, b) for s, a, b in zip(strings, ours, theirs) if a != b]
    for s, a, b in wrong[:10]:
        print(f"{ascii(s)}\n  qwen600:    {a}\n  tokenizers: {b}")
    print(f"{len(strings)} strings of {sum(map(len, strings))} code points, {len(wrong)} different")
    print(f"tokenizers {tokenizers.__version__}, Unicode {unicodedata.unidata_version} in this Python")
    return bool(wrong) or len(ours) != len(strings)


if __name__ == "__main__":
    sys.exit(main())
