#!/usr/bin/env python3
"""export.py: make what qwen600 reads beside the weights, from the files that a Hugging Face model comes with.

    usage: export.py MODEL_DIR [-o DIR]

Reads tokenizer.json, tokenizer_config.json (or chat_template.jinja) and config.json in MODEL_DIR. Writes into
MODEL_DIR, or DIR:

    tokenizer.bin    the vocabulary, the merges and the Unicode tables; tokenizer.h tells the format
    template_*.txt   the chat template with %s where text goes: for a user's turn alone and with a system
                     prompt before it, each for an answer at once and for one after thinking

It compares config.json with config.h, and it refuses whatever qwen600 would not reproduce exactly: a wrong
guess here is a slightly stupid model later, and nobody knows why. Needs Python and jinja2.
"""

import argparse
import json
import os
import re
import struct
import sys
import tempfile
import unicodedata

# What tokenizer_word() in tokenizer.h matches.
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# Unicode's White_Space (PropList.txt), as ranges. unicodedata has no such table, and str.isspace() is true of
# U+001C to U+001F as well.
WHITE_SPACE = [
    (0x09, 0x0D), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A),
    (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000),
]  # fmt: skip

# Hugging Face's normalizer (tokenizers 0.23.2) has the tables of Unicode 9.0: for it, and so for the model,
# newer marks have no combining class and newer letters do not compose. What has a class or a decomposition in
# these ranges, up to Unicode 18, is newer than 9.0.
NEWER_THAN_NFC = [
    (0x5C8, 0x5C9), (0x7FD, 0x7FD), (0x897, 0x8D3), (0x9FE, 0x9FE), (0xC3C, 0xC3C), (0xD3B, 0xD3C),
    (0xEBA, 0xEBA), (0x1715, 0x1715), (0x1ABF, 0x1AF0), (0x1DF6, 0x1DFA), (0xA82C, 0xA82C),
    (0x105C9, 0x105E4), (0x10D24, 0x10F85), (0x11070, 0x11070), (0x1133B, 0x1133B), (0x11383, 0x113D0),
    (0x1145E, 0x1145E), (0x11839, 0x11A99), (0x11D42, 0x1612F), (0x16D68, 0x16FF1), (0x1D127, 0x1D128),
    (0x1D250, 0x1D281), (0x1E08F, 0x1E6F5),
]  # fmt: skip

# Added tokens that the chat cannot do without.
CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>")

# Names in config.json and in config.h.
CONSTANTS = {
    "num_hidden_layers": "LAYERS",
    "hidden_size": "HIDDEN",
    "num_attention_heads": "HEADS",
    "num_key_value_heads": "KV_HEADS",
    "head_dim": "HEAD_DIM",
    "intermediate_size": "INTERMEDIATE",
    "vocab_size": "VOCAB",
    "max_position_embeddings": "MAX_CONTEXT",
    "rms_norm_eps": "RMS_NORM_EPS",
    "rope_theta": "ROPE_THETA",
}


class Refusal(Exception):
    """One line: what is wrong with the input, and what to do."""


def require(condition, line):
    if not condition:
        raise Refusal(line)


def shown(value):
    """A value for a message, not too long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else text[:100] + "..."


def require_one_of(found, allowed, name):
    """Refuses a setting that would change the result. True is not 1 here."""
    known = any(found == value and type(found) is type(value) for value in allowed)
    require(known, f"{name} is {shown(found)}; qwen600 knows {shown(allowed[0])}")


def member(parent, key, kind, name):
    """parent[key], which must be of that type."""
    value = parent.get(key)
    require(isinstance(value, kind), f"{name}: {key} is missing or of another type than {kind.__name__}")
    return value


# ---- tokenizer.bin ----


def byte_alphabet():
    """{character: byte}: how byte-level BPE spells bytes. Printable Latin-1 stands for itself, the other
    bytes have the characters from U+0100 on (openai/gpt-2, encoder.py)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {**{chr(b): b for b in printable}, **{chr(0x100 + i): b for i, b in enumerate(others)}}


def ranges(points, value):
    """Rows (first, last, value) of the code points, in ascending order, whose value is not 0."""
    rows = []
    for point in points:
        v = value(chr(point))
        if v and rows and rows[-1][1:] == [point - 1, v]:
            rows[-1][1] = point
        elif v:
            rows.append([point, point, v])
    return rows


def unicode_tables():
    """The last six tables of tokenizer.bin, each a list of rows."""
    points = [p for p in range(0x110000) if not 0xD800 <= p < 0xE000]
    letters = [row[:2] for row in ranges(points, lambda c: unicodedata.category(c)[0] == "L")]
    numbers = [row[:2] for row in ranges(points, lambda c: unicodedata.category(c)[0] == "N")]

    newer = {p for first, last in NEWER_THAN_NFC for p in range(first, last + 1)}
    points = [p for p in points if p not in newer]
    combining = ranges(points, unicodedata.combining)
    decomposed, composed = [], []
    for p in points:
        mapping = unicodedata.decomposition(chr(p))
        if not mapping or mapping[0] == "<":  # none, or one for compatibility only; Hangul has none here
            continue
        full = [ord(c) for c in unicodedata.normalize("NFD", chr(p))]
        require(
            len(full) <= 4, "this Python's Unicode tables have a decomposition of more than 4 code points"
        )
        decomposed.append([p, *full, *[0] * (4 - len(full))])
        pair = [int(code, 16) for code in mapping.split()]
        if len(pair) == 2 and unicodedata.normalize("NFC", chr(p)) == chr(p):  # not excluded from composition
            composed.append([*pair, p])
    return [letters, numbers, WHITE_SPACE, combining, decomposed, sorted(composed)]


def check_pipeline(tokenizer):
    """Refuses what is not NFC, Qwen2's split pattern and plain byte-level BPE."""
    model = member(tokenizer, "model", dict, "tokenizer.json")
    steps = member(tokenizer, "pre_tokenizer", dict, "tokenizer.json").get("pretokenizers")
    require(
        isinstance(steps, list) and len(steps) == 2 and all(isinstance(step, dict) for step in steps),
        "tokenizer.json: pre_tokenizer is not Split, then ByteLevel",
    )
    split, bytelevel = steps
    for name, found, allowed in [
        ("model.type", model.get("type"), ["BPE"]),
        ("dropout", model.get("dropout"), [None]),
        ("unk_token", model.get("unk_token"), [None]),
        ("continuing_subword_prefix", model.get("continuing_subword_prefix"), ["", None]),
        ("end_of_word_suffix", model.get("end_of_word_suffix"), ["", None]),
        ("byte_fallback", model.get("byte_fallback", False), [False]),
        ("ignore_merges", model.get("ignore_merges", False), [False]),
        ("normalizer", tokenizer.get("normalizer"), [{"type": "NFC"}]),
        ("pretokenizers[0].type", split.get("type"), ["Split"]),
        ("pretokenizers[0].pattern", split.get("pattern"), [{"Regex": PATTERN}]),
        ("pretokenizers[0].behavior", split.get("behavior"), ["Isolated"]),
        ("pretokenizers[0].invert", split.get("invert"), [False]),
        ("pretokenizers[1].type", bytelevel.get("type"), ["ByteLevel"]),
        ("pretokenizers[1].add_prefix_space", bytelevel.get("add_prefix_space"), [False]),
        ("pretokenizers[1].use_regex", bytelevel.get("use_regex"), [False]),
    ]:
        require_one_of(found, allowed, f"tokenizer.json: {name}")
    for name in ("post_processor", "decoder"):
        stage = tokenizer.get(name) or {"type": "ByteLevel"}
        kind = stage.get("type") if isinstance(stage, dict) else stage
        require_one_of(kind, ["ByteLevel"], f"tokenizer.json: {name}.type")


def is_id(value):
    return type(value) is int and 0 <= value < 1 << 24


def added_tokens(tokenizer, config):
    """{id: text} of the tokens that are found in text before anything else happens to it."""
    added = {}
    for token in member(tokenizer, "added_tokens", list, "tokenizer.json"):
        require(
            isinstance(token, dict) and isinstance(token.get("content"), str) and is_id(token.get("id")),
            f"tokenizer.json: an added token without a text or an id: {shown(token)}",
        )
        name = f"tokenizer.json: added token {shown(token['content'])}"
        require(len(token["content"].encode()) > 1, f"{name} is too short")
        require(
            token["id"] not in added and token["content"] not in added.values(), f"{name} stands there twice"
        )
        for flag in ("single_word", "lstrip", "rstrip", "normalized"):
            require_one_of(token.get(flag), [False], f"{name}: {flag}")
        added[token["id"]] = token["content"]
    for content in CONTROL:
        require(
            content in added.values(), f"tokenizer.json: no added token {content}: not a Qwen3 chat model's"
        )
    # transformers would add what is only here.
    for number, token in (config.get("added_tokens_decoder") or {}).items():
        content = token.get("content") if isinstance(token, dict) else None
        require(
            number.isdecimal() and content is not None and added.get(int(number)) == content,
            f"tokenizer_config.json: added token {number}, {shown(content)}, is not in tokenizer.json",
        )
    return added


def token_texts(vocab, added):
    """The bytes of each id; none for an id that has no token."""
    alphabet = byte_alphabet()
    texts = {number: content.encode() for number, content in added.items()}
    for token, number in vocab.items():
        if is_id(number) and added.get(number) == token:
            continue
        if not is_id(number) or number in texts:
            raise Refusal(f"tokenizer.json: token {shown(token)} has no id of its own: {shown(number)}")
        if not token or not all(c in alphabet for c in token):
            raise Refusal(f"tokenizer.json: token {shown(token)} is not byte-level")
        texts[number] = bytes(alphabet[c] for c in token)
    for number, content in added.items():
        require(vocab.get(content, number) == number, f"tokenizer.json: {content} has two ids")
    for character, byte in alphabet.items():
        require(character in vocab, f"tokenizer.json: the vocabulary has no token for byte {byte}")
    return [texts.get(number, b"") for number in range(max(texts) + 1)]


def merge_rows(merges, vocab, texts):
    """Rows (left, right, merged) of ids, in rank order."""
    rows = {}
    for merge in merges:
        pair = merge.split(" ") if isinstance(merge, str) else merge
        problem = None
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
            problem = "is no pair"
        elif not all(token in vocab for token in (*pair, "".join(pair))):
            problem = "has a part or a result that is not in the vocabulary"
        else:
            row = tuple(vocab[token] for token in (*pair, "".join(pair)))
            if texts[row[0]] + texts[row[1]] != texts[row[2]]:
                problem = "is not made of its parts"
            elif row in rows:
                problem = "stands there twice"
        if problem:
            raise Refusal(f"tokenizer.json: merge {len(rows)}, {shown(merge)}, {problem}")
        rows[row] = True
    return list(rows)


def tokenizer_bin(tokenizer, config):
    """(the bytes of tokenizer.bin, how many ids), from tokenizer.json and tokenizer_config.json."""
    check_pipeline(tokenizer)
    vocab = member(tokenizer["model"], "vocab", dict, "tokenizer.json")
    added = added_tokens(tokenizer, config)
    texts = token_texts(vocab, added)
    merges = merge_rows(member(tokenizer["model"], "merges", list, "tokenizer.json"), vocab, texts)
    ends, end = [], 0
    for text in texts:
        end += len(text)
        ends.append([end])
    tables = [ends, merges, [[number] for number in added], *unicode_tables()]
    words = [word for table in tables for row in table for word in row]
    version = unicodedata.unidata_version.encode()
    header = struct.pack("<4sI16s10I", b"Q6TK", 1, version, *[len(table) for table in tables], end)
    return header + struct.pack(f"<{len(words)}I", *words) + b"".join(texts), len(texts)


# ---- Chat templates ----


def chat_template(source, config):
    """A function that renders messages as transformers' apply_chat_template does, up to the next reply."""
    try:
        import jinja2
        import jinja2.ext
        import jinja2.sandbox
    except ImportError:
        raise Refusal("this needs the Python package jinja2: pip install jinja2") from None

    def raise_exception(message):
        raise jinja2.TemplateError(message)

    def tojson(value, **options):
        return json.dumps(value, ensure_ascii=False, **options)

    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    variables = {"tools": None, "documents": None, "add_generation_prompt": True}
    for name in ("bos_token", "eos_token", "unk_token", "pad_token"):
        token = config.get(name)
        token = token.get("content") if isinstance(token, dict) else token
        if isinstance(token, str):
            variables[name] = token

    template = environment.from_string(source)
    return lambda messages, thinking: template.render(
        messages=messages, enable_thinking=thinking, **variables
    )


def templates(source, config):
    """{file name: text} of the four templates."""
    render = chat_template(source, config)
    user, system = {"role": "user", "content": "%s"}, {"role": "system", "content": "%s"}
    files = {}
    for name, messages in (("user", [user]), ("system", [system, user])):
        for suffix, thinking in (("", False), ("_thinking", True)):
            text = render(messages, thinking)
            require(
                text.count("%s") == len(messages), "the chat template does not give back texts as they are"
            )
            files[f"template_{name}{suffix}.txt"] = text
    for thinking in (False, True):
        check_conversation(render, files, thinking, None)
        check_conversation(render, files, thinking, " Say %s.\n")
    return files


def check_conversation(render, files, thinking, system):
    """Refuses a template that does not build conversations as chat.h does: past turns as in the thinking
    files, after a reply what stands between the two texts of a system file, of a reply what follows its
    thoughts."""
    turns = [
        ("\nWhat is {{ 2 }} + 2? <|im_end|> ", "4."),
        ("And\t%d\n\n", "<think>\nHm.\n</think>\n\n7.\n"),
        (" Thanks ", "<think>\nNothing to"),
        ("x", None),
    ]
    last = files[f"template_user{'_thinking' if thinking else ''}.txt"].split("%s")[1]
    before, after = files["template_user_thinking.txt"].split("%s")
    before_system, between, _ = files["template_system_thinking.txt"].split("%s")
    messages, text = [], before
    if system is not None:
        messages, text = [{"role": "system", "content": system}], before_system + system + between
    for user, reply in turns:
        messages.append({"role": "user", "content": user})
        require(
            render(messages, thinking) == text + user + last,
            "the chat template builds conversations in another way than Qwen3's, and so than qwen600",
        )
        if reply is not None:
            messages.append({"role": "assistant", "content": reply})
            text += user + after + reply.split("</think>")[-1].lstrip("\n") + between


# ---- config.json against config.h ----


def config_blocks(header):
    """The two models that config.h describes: [(name, {constant: value})]."""
    match = re.search(r"#ifdef QWEN600_TINY\n(.*?)\n#else\n(.*?)\n#endif", header, re.DOTALL)
    require(match, "config.h: its two blocks are not between #ifdef QWEN600_TINY, #else and #endif")
    blocks = []
    for text in match.groups():
        found = dict(re.findall(r"#define (\w+) (\S+)", text) + re.findall(r"\b([A-Z_]+) = (\d+)", text))
        for constant in ("MODEL_NAME", *CONSTANTS.values()):
            require(constant in found, f"config.h: a block lacks {constant}")
        numbers = {constant: float(found[constant].rstrip("f")) for constant in CONSTANTS.values()}
        blocks.append((found["MODEL_NAME"].strip('"'), numbers))
    return blocks


def check_config(config, header):
    """Refuses a config.json that no block of config.h describes; returns the name of the one that fits."""
    rope = config.get("rope_parameters") or {}
    require(isinstance(rope, dict), "config.json: rope_parameters is no object")
    for name, found, allowed in [  # a setting that is not there has the value that transformers gives it
        ("model_type", config.get("model_type"), ["qwen3"]),
        ("hidden_act", config.get("hidden_act", "silu"), ["silu"]),
        ("tie_word_embeddings", config.get("tie_word_embeddings", False), [True]),
        ("attention_bias", config.get("attention_bias", False), [False]),
        ("use_sliding_window", config.get("use_sliding_window", False), [False]),
        ("rope_scaling", config.get("rope_scaling"), [None, {"rope_type": "default"}]),
        ("rope_parameters.rope_type", rope.get("rope_type", "default"), ["default"]),
        ("quantization_config", config.get("quantization_config"), [None]),
    ]:
        require_one_of(found, allowed, f"config.json: {name}")
    kinds = config.get("layer_types") or ["full_attention"]
    require(
        isinstance(kinds, list) and all(kind == "full_attention" for kind in kinds),
        f"config.json: layer_types is {shown(kinds)}; qwen600 knows full_attention",
    )

    places = [(name, config) for name in CONSTANTS if name != "rope_theta"]
    places += [("rope_theta", place) for place in (config, rope) if "rope_theta" in place] or [
        ("rope_theta", config)
    ]
    values = []
    for name, place in places:
        value = place.get(name)
        require(type(value) in (int, float), f"config.json: {name} is missing or no number")
        values.append((name, CONSTANTS[name], value))

    blocks = config_blocks(header)
    block, constants = max(blocks, key=lambda block: sum(value == block[1][c] for _, c, value in values))
    wrong = [f"{name} is {shown(v)}, {c} is {constants[c]:.9g}" for name, c, v in values if v != constants[c]]
    advice = "change config.h and build again, or choose another model"
    require(not wrong, f"config.json does not fit config.h's {block}: {'; '.join(wrong)}: {advice}")
    return block


# ---- Files ----


def read_text(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except UnicodeDecodeError:
        raise Refusal(f"{path}: not UTF-8") from None
    except OSError as error:
        hint = f": unpack it with xz -dk {path}.xz" if os.path.exists(path + ".xz") else ""
        raise Refusal(f"{path}: {error.strerror}{hint}") from None


def read_json(path):
    text = read_text(path)
    require(
        not text.startswith("version https://git-lfs"), f"{path}: only a Git LFS pointer: run git lfs pull"
    )
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refusal(f"{path}: not JSON: {error}") from None
    require(isinstance(value, dict), f"{path}: not a JSON object")
    return value


def read_model(directory):
    """(name of the block in config.h, {file name: contents}) for a model directory."""

    def path(name):
        return os.path.join(directory, name)

    require(os.path.isdir(directory), f"{directory}: no such directory")
    config = read_json(path("config.json"))
    name = check_config(
        config, read_text(os.path.join(os.path.dirname(os.path.abspath(__file__)), "config.h"))
    )
    has_template = os.path.exists(path("chat_template.jinja"))
    optional = has_template and not os.path.exists(path("tokenizer_config.json"))
    tokenizer_config = {} if optional else read_json(path("tokenizer_config.json"))
    source = read_text(path("chat_template.jinja")) if has_template else tokenizer_config.get("chat_template")
    if isinstance(source, list):  # several, each with a name
        source = next(
            (t.get("template") for t in source if isinstance(t, dict) and t.get("name") == "default"), None
        )
    require(
        isinstance(source, str), f"{directory}: no chat_template.jinja, none in tokenizer_config.json either"
    )

    try:  # a template is a program: anything may happen
        texts = templates(source, tokenizer_config)
    except Refusal:
        raise
    except Exception as error:
        raise Refusal(f"the chat template fails: {type(error).__name__}: {error}") from None
    binary, tokens = tokenizer_bin(read_json(path("tokenizer.json")), tokenizer_config)
    vocab = config["vocab_size"]
    require(tokens <= vocab, f"tokenizer.json has {tokens} ids, config.json's vocab_size is only {vocab}")
    return name, {"tokenizer.bin": binary, **{file: text.encode() for file, text in texts.items()}}


def write(path, data):
    """The whole file or none."""
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".export-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def main():
    parser = argparse.ArgumentParser(
        prog="export.py", description="Makes what qwen600 reads beside the weights."
    )
    parser.add_argument(
        "model_dir", metavar="MODEL_DIR", help="with tokenizer.json, tokenizer_config.json, config.json"
    )
    parser.add_argument("-o", metavar="DIR", help="where to write, default MODEL_DIR")
    arguments = parser.parse_args()
    output = os.path.abspath(arguments.o or arguments.model_dir)
    try:
        name, files = read_model(arguments.model_dir)
        os.makedirs(output, exist_ok=True)
        for file, data in files.items():
            write(os.path.join(output, file), data)
    except (Refusal, UnicodeEncodeError) as error:
        line = str(error) if isinstance(error, Refusal) else f"a text that is no Unicode: {error}"
        print("export.py:", " ".join(line.split()), file=sys.stderr)
        return 1
    except OSError as error:
        print(f"export.py: {output}: {error.strerror}", file=sys.stderr)
        return 1
    print(f"{', '.join(files)} for {name} (Unicode {unicodedata.unidata_version}) in {output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
