#!/usr/bin/env python3
"""export.py: make what qwen600 reads beside the weights, from the files that a Hugging Face model comes with.

    usage: export.py MODEL_DIR [-o DIR]

Reads tokenizer.json, tokenizer_config.json (or chat_template.jinja) and config.json in MODEL_DIR. Writes into
MODEL_DIR, or DIR:

    tokenizer.bin    the vocabulary, the merges and the Unicode tables; tokenizer.h tells the format
    template_*.txt   the chat template with %s where text goes: for a user's turn alone and with a system
                     prompt before it, each for an answer at once and for one after thinking

It compares config.json with config.h, and refuses whatever qwen600 would not reproduce exactly: a wrong guess
would make the model a little worse, and nobody would notice. Needs Python 3.8 and jinja2; the files are the same
whichever version makes them.
"""

import argparse
import json
import os
import re
import signal
import stat
import struct
import sys
import unicodedata

# What tokenizer_word() in tokenizer.h matches.
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# What Hugging Face's tokenizers 0.23.2 takes for letters and numbers, code point by code point, is Unicode 16. A
# Python has the Unicode of its year, 12.1 or later, so here are the letters and the numbers since 12.1, and
# ranges in which every other one, up to Unicode 18, is newer than 16.
UNICODE = "16.0.0"
LETTERS_SINCE_12 = """
    870-887 889-88E 8B5 8BE-8C9 C5D CDD D04 170D 171F 1B4C 1C89-1C8A 2C2F 2C5F 31BB-31BF 4DB6-4DBF 9FF0-9FFF
    A7C0-A7C1 A7C7-A7CD A7D0-A7D1 A7D3 A7D5-A7DC A7F2-A7F6 AB68-AB69 10570-1057A 1057C-1058A 1058C-10592
    10594-10595 10597-105A1 105A3-105B1 105B3-105B9 105BB-105BC 105C0-105F3 10780-10785 10787-107B0
    107B2-107BA 10D4A-10D65 10D6F-10D85 10E80-10EA9 10EB0-10EB1 10EC2-10EC4 10F70-10F81 10FB0-10FC4
    11071-11072 11075 11147 1123F-11240 11380-11389 1138B 1138E 11390-113B5 113B7 113D1 113D3 11460-11461
    11740-11746 11900-11906 11909 1190C-11913 11915-11916 11918-1192F 1193F 11941 11AB0-11ABF 11BC0-11BE0
    11F02 11F04-11F10 11F12-11F33 11FB0 12F90-12FF0 1342F 13441-13446 13460-143FA 16100-1611D 16A70-16ABE
    16D40-16D6C 18AF3-18CD5 18CFF-18D08 1AFF0-1AFF3 1AFF5-1AFFB 1AFFD-1AFFE 1B11F-1B122 1B132 1B155
    1DF00-1DF1E 1DF25-1DF2A 1E030-1E06D 1E290-1E2AD 1E4D0-1E4EB 1E5D0-1E5ED 1E5F0 1E7E0-1E7E6 1E7E8-1E7EB
    1E7ED-1E7EE 1E7F0-1E7FE 2A6D7-2A6DF 2B735-2B739 2EBF0-2EE5D 30000-3134A 31350-323AF
"""
NUMBERS_SINCE_12 = """
    10D40-10D49 10FC5-10FCB 116D0-116E3 11950-11959 11BF0-11BF9 11F50-11F59 16130-16139 16AC0-16AC9
    16D70-16D79 1CCF0-1CCF9 1D2C0-1D2D3 1E4F0-1E4F9 1E5F1-1E5FA 1FBF0-1FBF9
"""
NEWER_THAN_16 = """
    558 58B-58C 88F C5C CDC 208F 209D-209F A7CE-A7F1 AB6C-AB6D 107BB-107BF 10940-10959 10EC5-10EEE 11B0A
    11DB0-11DF1 1246F-1247F 12550-12686 16EA0-16ED3 16FF2-16FF6 187F8-187FF 18CD6-191D2 1B123-1B128 1B168
    1D6A6 1DF1F-1DFFF 1E6C0-1E6FF 2B73A-2B73F 2B81E 2CEA2-2CEAD 323B0-3FC3F
"""

# Unicode's White_Space (PropList.txt). unicodedata has no such table, and str.isspace() is true of U+001C to
# U+001F as well.
WHITE_SPACE = "9-D 20 85 A0 1680 2000-200A 2028-2029 202F 205F 3000"

# Hugging Face's normalizer has the tables of Unicode 9: for it, and so for the model, newer marks have no combining
# class and newer letters do not compose. What has a class or a decomposition in these ranges, up to Unicode 18, is
# newer than 9.
NEWER_THAN_9 = """
    5C8-5C9 7FD 897-8D3 9FE C3C D3B-D3C EBA 1715 1ABF-1AF0 1DF6-1DFA A82C 105C9-105E4 10D24-10F85 11070
    1133B 11383-113D0 1145E 11839-11A99 11D42-1612F 16D68-16FF1 1D127-1D128 1D250-1D281 1E08F-1E6F5
"""

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

# What no model that fits comes near: it bounds what hostile files can cost.
MOST_BYTES = 1 << 26  # of a file that is read
MOST_TOKENS = 1 << 20
MOST_TEXT = 1 << 20  # characters of a rendered chat
MOST_SECONDS = 10  # for all that the template renders


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


def code_points(text):
    """The set of the code points of a list such as "9-D 20"."""
    points = set()
    for part in text.split():
        first, _, last = part.partition("-")
        points.update(range(int(first, 16), int(last or first, 16) + 1))
    return points


def ranges(values):
    """Rows (first, last, value) of {code point: value}."""
    rows = []
    for point, value in sorted(values.items()):
        if rows and rows[-1][1:] == [point - 1, value]:
            rows[-1][1] = point
        else:
            rows.append([point, point, value])
    return rows


def unicode_tables():
    """The last six tables of tokenizer.bin, each a list of rows."""
    every = [p for p in range(0x110000) if not 0xD800 <= p < 0xE000]

    def category(letter, since):
        old = {p for p in every if unicodedata.category(chr(p))[0] == letter} - code_points(NEWER_THAN_16)
        return [row[:2] for row in ranges(dict.fromkeys(old | code_points(since), 1))]

    newer = code_points(NEWER_THAN_9)
    points = [p for p in every if p not in newer]
    classes = {p: unicodedata.combining(chr(p)) for p in points if unicodedata.combining(chr(p))}
    decomposed, composed = [], []
    for p in points:
        mapping = unicodedata.decomposition(chr(p))
        if not mapping or mapping[0] == "<" or 0xAC00 <= p <= 0xD7A3:
            continue  # none, or one for compatibility only, or Hangul, which is arithmetic
        full = [ord(c) for c in unicodedata.normalize("NFD", chr(p))]  # at most 4, in a newer Unicode too
        decomposed.append([p, *full, *[0] * (4 - len(full))])
        pair = [int(code, 16) for code in mapping.split()]
        if len(pair) == 2 and unicodedata.normalize("NFC", chr(p)) == chr(p):  # not excluded from composition
            composed.append([*pair, p])
    spaces = [row[:2] for row in ranges(dict.fromkeys(code_points(WHITE_SPACE), 1))]
    letters, numbers = category("L", LETTERS_SINCE_12), category("N", NUMBERS_SINCE_12)
    return [letters, numbers, spaces, ranges(classes), decomposed, sorted(composed)]


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
    return type(value) is int and 0 <= value < MOST_TOKENS


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
        require(token["id"] not in added and token["content"] not in added.values(), f"{name} appears twice")
        for flag in ("single_word", "lstrip", "rstrip", "normalized"):
            require_one_of(token.get(flag), [False], f"{name}: {flag}")
        added[token["id"]] = token["content"]
    for content in CONTROL:
        require(content in added.values(), f"tokenizer.json: no added token {content}: not a Qwen3 chat model's")
    # transformers would add what is only here.
    decoder = config.get("added_tokens_decoder") or {}
    require(isinstance(decoder, dict), "tokenizer_config.json: added_tokens_decoder is no object")
    known = {str(number): content for number, content in added.items()}
    for number, token in decoder.items():
        content = token.get("content") if isinstance(token, dict) else None
        require(
            content is not None and known.get(number) == content,
            f"tokenizer_config.json: added token {shown(number)[1:-1]}, {shown(content)}, is not in tokenizer.json",
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
                problem = "appears twice"
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
    header = struct.pack("<4sI16s10I", b"Q6TK", 1, UNICODE.encode(), *[len(table) for table in tables], end)
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

    def render(messages, thinking):
        text = ""
        for part in template.generate(messages=messages, enable_thinking=thinking, **variables):
            text += part
            require(len(text) <= MOST_TEXT, f"the chat template renders more than {MOST_TEXT} characters")
        return text

    return render


def out_of_time(*_):
    raise Refusal(f"the chat template takes more than {MOST_SECONDS} seconds")


def templates(source, config):
    """{file name: text} of the four templates."""
    render = chat_template(source, config)
    user, system = {"role": "user", "content": "%s"}, {"role": "system", "content": "%s"}
    files = {}
    for name, messages in (("user", [user]), ("system", [system, user])):
        for suffix, thinking in (("", False), ("_thinking", True)):
            text = render(messages, thinking)
            require(text.count("%s") == len(messages), "the chat template does not give back texts as they are")
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
    places += [("rope_theta", p) for p in (config, rope) if "rope_theta" in p] or [("rope_theta", config)]
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
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe must not block
        with open(descriptor, "rb") as file:
            require(stat.S_ISREG(os.fstat(descriptor).st_mode), f"{path}: not a regular file")
            data = file.read(MOST_BYTES + 1)
        require(len(data) <= MOST_BYTES, f"{path}: larger than {MOST_BYTES} bytes")
        return data.decode().replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise Refusal(f"{path}: not UTF-8") from None
    except OSError as error:
        hint = f": unpack it with xz -dk {path}.xz" if os.path.exists(path + ".xz") else ""
        raise Refusal(f"{path}: {error.strerror}{hint}") from None


def read_json(path):
    text = read_text(path)
    require(not text.startswith("version https://git-lfs"), f"{path}: only a Git LFS pointer: run git lfs pull")
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
    name = check_config(config, read_text(os.path.join(os.path.dirname(os.path.abspath(__file__)), "config.h")))
    has_template = os.path.exists(path("chat_template.jinja"))
    optional = has_template and not os.path.exists(path("tokenizer_config.json"))
    tokenizer_config = {} if optional else read_json(path("tokenizer_config.json"))
    source = read_text(path("chat_template.jinja")) if has_template else tokenizer_config.get("chat_template")
    if isinstance(source, list):  # several, each with a name
        source = next((t.get("template") for t in source if isinstance(t, dict) and t.get("name") == "default"), None)
    require(isinstance(source, str), f"{directory}: no chat_template.jinja, none in tokenizer_config.json either")

    signal.signal(signal.SIGALRM, out_of_time)
    signal.alarm(MOST_SECONDS)
    try:  # a template is a program: anything may happen
        texts = templates(source, tokenizer_config)
    except Refusal:
        raise
    except Exception as error:
        raise Refusal(f"the chat template fails: {type(error).__name__}: {error}") from None
    finally:
        signal.alarm(0)
    binary, tokens = tokenizer_bin(read_json(path("tokenizer.json")), tokenizer_config)
    vocab = config["vocab_size"]
    require(tokens <= vocab, f"tokenizer.json has {tokens} ids, config.json's vocab_size is only {vocab}")
    return name, {"tokenizer.bin": binary, **{file: text.encode() for file, text in texts.items()}}


def write(directory, files):
    """All of the files or none: each is written beside its place, and when all are there they are renamed."""
    path, written = directory, {}
    try:
        os.makedirs(directory, exist_ok=True)
        for name, data in files.items():
            path = os.path.join(directory, name)
            require(not os.path.isdir(path), f"{path}: a directory stands where a file must be")
            temporary = os.path.join(directory, f".{name}.{os.getpid()}")
            with open(temporary, "xb") as file:
                written[temporary] = path
                file.write(data)
        for temporary, path in written.items():
            os.replace(temporary, path)
    except OSError as error:
        raise Refusal(f"{path}: {error.strerror}") from None
    finally:
        for temporary in written:
            if os.path.exists(temporary):
                os.unlink(temporary)


def printable(text):
    """One line, with control characters as escape sequences."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(text.split()))


def make(arguments):
    require(sys.stdout, "standard output is closed")
    output = os.path.abspath(arguments.o or arguments.model_dir)
    name, files = read_model(arguments.model_dir)
    write(output, files)
    try:
        print(printable(f"{', '.join(files)} for {name} (Unicode {UNICODE}) in {output}"), flush=True)
    except (OSError, ValueError) as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left in the buffer goes there
        raise Refusal(f"the files are written, but standard output: {error}") from None


def main():
    parser = argparse.ArgumentParser(prog="export.py", description="Makes what qwen600 reads beside the weights.")
    files = "tokenizer.json, tokenizer_config.json, config.json"
    parser.add_argument("model_dir", metavar="MODEL_DIR", help=f"with {files}")
    parser.add_argument("-o", metavar="DIR", help="where to write, default MODEL_DIR")
    arguments = parser.parse_args()
    status = 1
    try:
        make(arguments)
        return 0
    except Refusal as error:
        line = str(error)
    except UnicodeEncodeError as error:
        line = f"a text that is no Unicode: {error}"
    except RecursionError:
        line = f"{arguments.model_dir}: a file of it is nested too deeply"
    except MemoryError:
        line = f"{arguments.model_dir}: out of memory"
    except KeyboardInterrupt:
        status, line = 130, "interrupted"
    if sys.stderr:  # print would take standard output if it is closed
        print("export.py:", printable(line), file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
