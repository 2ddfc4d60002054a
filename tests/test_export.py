#!/usr/bin/env python3
"""export.py: the four templates, the comparison with config.h, and every refusal.

Needs jinja2; without it the test is skipped (exit status 77). What tokenizer.bin does is tested by
test_tokenizer_golden.py, which needs no jinja2. The goldens are Hugging Face's (data/golden/README.md)."""

import contextlib
import functools
import io
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import unittest.mock

import fixture

export = fixture.export
export.unicode_tables = functools.lru_cache(export.unicode_tables)  # the same each time, and slow
EXPORT = os.path.join(os.path.dirname(fixture.TESTS), "export.py")
TEMPLATES = [
    "template_system.txt",
    "template_system_thinking.txt",
    "template_user.txt",
    "template_user_thinking.txt",
]


def small_tokenizer():
    """A tokenizer.json like Qwen3's with a vocabulary of the 256 bytes, two merges and the control tokens."""
    pipeline = {key: value for key, value in fixture.parsed().items() if key != "model"}
    vocab = {character: byte for character, byte in export.byte_alphabet().items()}
    vocab.update({"ab": 256, "abc": 257})
    added = [token for token in pipeline["added_tokens"] if token["content"] in export.CONTROL]
    for number, token in enumerate(added, 258):
        token["id"] = number
    model = {**fixture.parsed()["model"], "vocab": vocab, "merges": [["a", "b"], ["ab", "c"]]}
    return {**pipeline, "added_tokens": added, "model": model}


SMALL = None
REAL_CONFIG = fixture.read_json("config.json")
TINY_CONFIG = {
    **REAL_CONFIG,
    "num_hidden_layers": 4,
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 512,
    "vocab_size": 2048,
    "max_position_embeddings": 8192,
}


class Model:
    """A model directory that a test can spoil."""

    def __init__(self):
        global SMALL
        SMALL = SMALL or json.dumps(small_tokenizer())
        self.tokenizer = json.loads(SMALL)
        self.tokenizer_config = {k: v for k, v in fixture.read_json("tokenizer_config.json").items()}
        del self.tokenizer_config["added_tokens_decoder"]
        self.config = dict(REAL_CONFIG)
        self.files = {}  # name: bytes, None: leave it out

    def export(self, *options):
        """(exit status, standard output, standard error, {file name: bytes written})."""
        with tempfile.TemporaryDirectory() as directory:
            contents = {
                "tokenizer.json": json.dumps(self.tokenizer).encode(),
                "tokenizer_config.json": json.dumps(self.tokenizer_config).encode(),
                "config.json": json.dumps(self.config).encode(),
                **self.files,
            }
            for name, data in contents.items():
                if data is not None:
                    with open(os.path.join(directory, name), "wb") as file:
                        file.write(data)
            before = set(os.listdir(directory))
            out, err = io.StringIO(), io.StringIO()
            sys.argv = ["export.py", directory, *options]
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = export.main()
            written = {}
            for name in set(os.listdir(directory)) - before:
                with open(os.path.join(directory, name), "rb") as file:
                    written[name] = file.read()
            return status, out.getvalue(), err.getvalue(), written


class Export(unittest.TestCase):
    def refuses(self, model, *fragments):
        """One line on standard error that has the fragments, exit status 1, nothing written."""
        status, out, err, written = model.export()
        self.assertEqual((status, out, written), (1, "", {}), err)
        self.assertTrue(err.startswith("export.py: ") and err.count("\n") == 1 and err.endswith("\n"), err)
        for fragment in fragments:
            self.assertIn(fragment, err)

    def test_the_published_model(self):
        with tempfile.TemporaryDirectory() as model, tempfile.TemporaryDirectory() as parent:
            output = os.path.join(parent, "made")
            fixture.write_model(model)
            before = sorted(os.listdir(model))
            done = subprocess.run(
                [sys.executable, EXPORT, model, "-o", output], capture_output=True, text=True
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("for qwen600 (Unicode 16.0.0)", done.stdout)
            self.assertEqual(sorted(os.listdir(model)), before)
            self.assertEqual(sorted(os.listdir(output)), TEMPLATES + ["tokenizer.bin"])

            def template(name):
                with open(os.path.join(output, name), encoding="utf-8") as file:
                    return file.read()

            goldens = fixture.golden("chat.jsonl")
            single = [golden for golden in goldens if golden["messages"][-1]["role"] == "user"]
            compared = 0
            for golden in single:
                roles = [message["role"] for message in golden["messages"]]
                if roles not in (["user"], ["system", "user"]):
                    continue
                name = "template_" + roles[0] + ("_thinking" if golden["thinking"] else "") + ".txt"
                text = template(name)
                for message in golden["messages"]:
                    text = text.replace("%s", message["content"], 1)
                self.assertEqual(text, golden["text"])
                compared += 1
            self.assertEqual(compared, 4)

            with open(os.path.join(output, "tokenizer.bin"), "rb") as file:
                data = file.read()
            header = struct.unpack_from("<4sI16s10I", data)
            self.assertEqual(header[:2], (b"Q6TK", 1))
            self.assertEqual(header[2].rstrip(b"\0"), b"16.0.0")
            self.assertEqual(header[3:6], (151669, 151387, 26))
            columns = (1, 3, 1, 2, 2, 2, 3, 5, 3)
            words = sum(rows * width for rows, width in zip(header[3:12], columns))
            self.assertEqual(len(data), 64 + 4 * words + header[12])

    def test_a_small_model(self):
        for config, name in ((REAL_CONFIG, "qwen600 "), (TINY_CONFIG, "qwen600-tiny ")):
            model = Model()
            model.config = config
            status, out, err, written = model.export()
            self.assertEqual((status, err, sorted(written)), (0, "", TEMPLATES + ["tokenizer.bin"]))
            self.assertIn("for " + name, out)

    def test_other_spellings_of_the_same(self):
        model = Model()
        reference = model.export()[3]
        model.tokenizer["model"]["merges"] = ["a b", "ab c"]
        del model.tokenizer["model"]["ignore_merges"]
        model.tokenizer["post_processor"] = None
        template = model.tokenizer_config["chat_template"]
        model.tokenizer_config["chat_template"] = [
            {"name": "tool_use", "template": "{{ none }}"},
            {"name": "default", "template": template},
        ]
        model.config = {**REAL_CONFIG, "rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}}
        del model.config["rope_theta"]
        model.config["layer_types"] = ["full_attention"] * 28
        self.assertEqual(model.export()[3], reference)
        model.files = {"chat_template.jinja": template.encode(), "tokenizer_config.json": None}
        self.assertEqual(model.export()[3], reference)
        # A template of its own goes before the other one.
        model.files = {"chat_template.jinja": template.encode()}
        model.tokenizer_config["chat_template"] = "{{ 1 / 0 }}"
        self.assertEqual(model.export()[3], reference)

    def test_refuses_another_config(self):
        for key, value, fragments in [
            ("num_hidden_layers", 36, ["num_hidden_layers is 36, LAYERS is 28", "config.h's qwen600:"]),
            ("hidden_size", 2048, ["hidden_size is 2048, HIDDEN is 1024"]),
            ("num_attention_heads", 32, ["num_attention_heads is 32, HEADS is 16"]),
            ("num_key_value_heads", 4, ["num_key_value_heads is 4, KV_HEADS is 8"]),
            ("head_dim", 64, ["head_dim is 64, HEAD_DIM is 128"]),
            ("intermediate_size", 8960, ["intermediate_size is 8960, INTERMEDIATE is 3072"]),
            ("vocab_size", 151937, ["vocab_size is 151937, VOCAB is 151936"]),
            ("max_position_embeddings", 32768, ["max_position_embeddings is 32768, MAX_CONTEXT is 40960"]),
            ("rms_norm_eps", 1e-5, ["rms_norm_eps is 1e-05, RMS_NORM_EPS is 1e-06"]),
            ("rope_theta", 10000.0, ["rope_theta is 10000.0, ROPE_THETA is 1000000"]),
            ("rope_parameters", {"rope_theta": 5000000}, ["rope_theta is 5000000, ROPE_THETA is 1000000"]),
            ("rope_parameters", {"rope_type": "yarn"}, ["rope_parameters.rope_type", '"yarn"']),
            ("rope_parameters", 7, ["rope_parameters is no object"]),
            ("rope_scaling", {"rope_type": "yarn", "factor": 4.0}, ["rope_scaling", "yarn"]),
            ("tie_word_embeddings", False, ["tie_word_embeddings is false"]),
            ("tie_word_embeddings", 1, ["tie_word_embeddings is 1"]),
            ("attention_bias", True, ["attention_bias is true"]),
            ("use_sliding_window", True, ["use_sliding_window is true"]),
            ("layer_types", ["sliding_attention"], ["layer_types", "sliding_attention"]),
            ("layer_types", 3, ["layer_types is 3"]),
            ("hidden_act", "gelu", ['hidden_act is "gelu"; qwen600 knows "silu"']),
            ("model_type", "llama", ['model_type is "llama"; qwen600 knows "qwen3"']),
            ("quantization_config", {"bits": 4}, ["quantization_config"]),
            ("head_dim", None, ["head_dim is missing or no number"]),
            ("vocab_size", "151936", ["vocab_size is missing or no number"]),
            ("hidden_size", True, ["hidden_size is missing or no number"]),
            ("hidden_size", 10**400, ["hidden_size is 1000"]),
        ]:
            model = Model()
            model.config[key] = value
            with self.subTest(key=key, value=value if value != 10**400 else "10**400"):
                self.refuses(model, "config.json", *fragments)
        for key in (*[k for k in export.CONSTANTS], "model_type", "tie_word_embeddings"):
            model = Model()
            del model.config[key]
            with self.subTest(missing=key):
                self.refuses(model, "config.json", key)
        # The block whose shape fits best is the one compared.
        model = Model()
        model.config = {**TINY_CONFIG, "hidden_size": 512}
        self.refuses(model, "config.h's qwen600-tiny: hidden_size is 512, HIDDEN is 256:")
        model.config = {**TINY_CONFIG, "vocab_size": 2000, "hidden_size": 512}
        self.refuses(model, "hidden_size is 512, HIDDEN is 256; vocab_size is 2000, VOCAB is 2048")

    def test_refuses_a_config_h_that_it_cannot_read(self):
        with open(os.path.join(os.path.dirname(EXPORT), "config.h"), encoding="utf-8") as file:
            header = file.read()
        self.assertEqual(export.check_config(REAL_CONFIG, header), "qwen600")
        self.assertEqual(export.check_config(TINY_CONFIG, header), "qwen600-tiny")
        with self.assertRaisesRegex(export.Refusal, "config.h: its two blocks"):
            export.check_config(REAL_CONFIG, "")
        with self.assertRaisesRegex(export.Refusal, "config.h: a block lacks LAYERS"):
            export.check_config(REAL_CONFIG, header.replace("LAYERS = 28", "N_LAYERS = 28"))

    def test_refuses_another_tokenizer(self):
        def added(**changes):
            return lambda t: t["added_tokens"][0].update(changes)

        def model_has(**changes):
            return lambda t: t["model"].update(changes)

        def step(index, **changes):
            return lambda t: t["pre_tokenizer"]["pretokenizers"][index].update(changes)

        def has(**changes):
            return lambda t: t.update(changes)

        def without(key):
            return lambda t: t.pop(key)

        def vocab(**changes):
            return lambda t: t["model"]["vocab"].update(changes)

        def merge(value):
            return lambda t: t["model"]["merges"].append(value)

        for spoil, fragments in [
            (has(normalizer=None), ["normalizer is null"]),
            (has(normalizer={"type": "NFKC"}), ["normalizer", "NFKC"]),
            (has(pre_tokenizer=None), ["pre_tokenizer"]),
            (
                has(pre_tokenizer={"type": "ByteLevel", "add_prefix_space": False}),
                ["pre_tokenizer is not Split"],
            ),
            (has(pre_tokenizer={"pretokenizers": [1, 2]}), ["pre_tokenizer is not Split"]),
            (step(0, pattern={"Regex": "\\p{N}{1,3}"}), ["pretokenizers[0].pattern", "{1,3}"]),
            (step(0, pattern={"String": export.PATTERN}), ["pretokenizers[0].pattern"]),
            (step(0, behavior="Removed"), ["pretokenizers[0].behavior"]),
            (step(0, invert=True), ["pretokenizers[0].invert"]),
            (step(1, use_regex=True), ["pretokenizers[1].use_regex"]),
            (step(1, add_prefix_space=True), ["pretokenizers[1].add_prefix_space"]),
            (step(1, type="Metaspace"), ["pretokenizers[1].type"]),
            (
                has(post_processor={"type": "TemplateProcessing"}),
                ["post_processor.type", "TemplateProcessing"],
            ),
            (has(decoder={"type": "WordPiece"}), ["decoder.type", "WordPiece"]),
            (has(decoder=7), ["decoder.type"]),
            (without("model"), ["model is missing"]),
            (model_has(type="Unigram"), ['model.type is "Unigram"; qwen600 knows "BPE"']),
            (model_has(dropout=0.1), ["dropout is 0.1"]),
            (model_has(unk_token="<unk>"), ["unk_token"]),
            (model_has(byte_fallback=True), ["byte_fallback"]),
            (model_has(ignore_merges=True), ["ignore_merges"]),
            (model_has(end_of_word_suffix="</w>"), ["end_of_word_suffix"]),
            (model_has(continuing_subword_prefix="##"), ["continuing_subword_prefix"]),
            (model_has(vocab=[]), ["vocab is missing"]),
            (model_has(vocab={}), ["no token for byte"]),
            (model_has(merges=None), ["merges is missing"]),
            (vocab(xy=257), ['token "xy" has no id of its own: 257']),
            (vocab(xy=-1), ['token "xy" has no id of its own: -1']),
            (vocab(xy="1"), ['token "xy" has no id of its own: "1"']),
            (vocab(xy=True), ['token "xy" has no id of its own: true']),
            (vocab(xy=[]), ['token "xy" has no id of its own: []']),
            (vocab(xy=1 << 40), ['token "xy" has no id of its own']),
            (vocab(xy=150000000), ['token "xy" has no id of its own']),
            (vocab(xy=258), ['token "xy" has no id of its own: 258']),
            (vocab(**{"a b": 300}), ['token "a b" is not byte-level']),
            (vocab(**{"": 300}), ['token "" is not byte-level']),
            (vocab(**{"<|im_end|>": 300}), ["<|im_end|> has two ids"]),
            (lambda t: t["model"]["vocab"].pop("a"), ["the vocabulary has no token for byte 97"]),
            (merge("a"), ['merge 2, "a", is no pair']),
            (merge(["a", "b", "c"]), ["is no pair"]),
            (merge(["a", 1]), ["is no pair"]),
            (merge(7), ["is no pair"]),
            (merge(["a", "c"]), ["has a part or a result that is not in the vocabulary"]),
            (merge(["a", "b"]), ["merge 2", "appears twice"]),
            (without("added_tokens"), ["added_tokens is missing"]),
            (has(added_tokens=[]), ["no added token <|endoftext|>"]),
            (lambda t: t["added_tokens"].pop(), ["no added token </think>"]),
            (lambda t: t["added_tokens"].append("x"), ["an added token without a text or an id"]),
            (added(id=None), ["an added token without a text or an id"]),
            (added(content=None), ["an added token without a text or an id"]),
            (added(content=""), ["is too short"]),
            (added(content="<think>"), ["appears twice"]),
            (added(id=259), ["appears twice"]),
            (added(lstrip=True), ["<|endoftext|>", "lstrip is true"]),
            (added(rstrip=True), ["rstrip is true"]),
            (added(single_word=True), ["single_word is true"]),
            (added(normalized=True), ["normalized is true"]),
            (added(id=3), ["no id of its own: 3"]),
            (
                lambda t: t["added_tokens"].append({**t["added_tokens"][0], "content": "\ud800x", "id": 400}),
                ["surrogate"],
            ),
        ]:
            model = Model()
            spoil(model.tokenizer)
            with self.subTest(fragments=fragments):
                self.refuses(model, *fragments)
        model = Model()
        model.tokenizer_config["added_tokens_decoder"] = {"999": {"content": "<|new|>"}}
        self.refuses(model, 'tokenizer_config.json: added token 999, "<|new|>", is not in tokenizer.json')
        for decoder in ([1], 7, "x", True):
            model = Model()
            model.tokenizer_config["added_tokens_decoder"] = decoder
            self.refuses(model, "tokenizer_config.json: added_tokens_decoder is no object")
        for number, token in [
            ("9" * 5000, {"content": "<|new|>"}),
            ("-1", {}),
            ("258", 7),
            ("\u0662", {"content": "x"}),
        ]:
            model = Model()
            model.tokenizer_config["added_tokens_decoder"] = {number: token}
            self.refuses(model, "tokenizer_config.json: added token", "is not in tokenizer.json")
        model = Model()
        nested = "[" * 990 + "]" * 990
        model.files["tokenizer.json"] = (
            json.dumps({**model.tokenizer, "normalizer": 0})
            .replace('"normalizer": 0', '"normalizer": ' + nested)
            .encode()
        )
        status, out, err, written = model.export()
        self.assertEqual((status, out, written, err.count("\n")), (1, "", {}, 1), err)
        self.assertRegex(
            err, "nested too deeply|normalizer|recursion"
        )  # how deep Python goes depends on its version
        model = Model()
        model.config = TINY_CONFIG
        model.tokenizer["model"]["vocab"]["abab"] = (1 << 24) - 1
        self.refuses(model, "16777215")
        model = Model()
        model.config = TINY_CONFIG
        model.tokenizer["model"]["vocab"]["abab"] = (1 << 20) - 1
        self.refuses(model, "tokenizer.json has 1048576 ids, config.json's vocab_size is only 2048")
        model = Model()
        model.config = TINY_CONFIG
        model.tokenizer["model"]["vocab"]["abab"] = 2048
        self.refuses(model, "tokenizer.json has 2049 ids, config.json's vocab_size is only 2048")

    def test_refuses_another_chat_template(self):
        good = fixture.read_json("tokenizer_config.json")["chat_template"]
        for template, fragments in [
            ("{% if", ["the chat template fails: TemplateSyntaxError"]),
            (
                "{{ raise_exception('no system role') }}",
                ["the chat template fails: TemplateError: no system role"],
            ),
            ("{{ 1 / 0 }}", ["ZeroDivisionError"]),
            (
                "{{ raise_exception('\x1b]0;x\x07\x9b\ud800\u202e') }}",
                [r"TemplateError: \x1b]0;x\x07\x9b\ud800\u202e"],
            ),
            (
                "{% for i in range(9999) %}{{ 'a' * 9999 }}{% endfor %}",
                ["the chat template renders more than 1048576 characters"],
            ),
            (
                "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
                ["the chat template takes more than 1 seconds"],
            ),
            ("{{ ().__class__.__bases__ }}", ["SecurityError"]),
            ("hello", ["does not give back texts as they are"]),
            ("%s" + good, ["does not give back texts as they are"]),
            (good.replace("<|im_end|>", "<|im_end|>%s"), ["does not give back texts as they are"]),
            (
                good.replace("message.content + '<|im_end|>'", "message.content|trim + '<|im_end|>'"),
                ["in another way"],
            ),
            (good.replace(".lstrip('\\n')", ""), ["in another way"]),
            (
                "{%- for m in messages %}{{ '[INST]' + m.content + '[/INST]' }}{% endfor %}",
                ["in another way"],
            ),
        ]:
            model = Model()
            model.tokenizer_config["chat_template"] = template
            with self.subTest(template=template[:40]), unittest.mock.patch.object(export, "MOST_SECONDS", 1):
                self.refuses(model, *fragments)
        for value in (None, 7, [], [{"name": "other", "template": good}], [7]):
            model = Model()
            model.tokenizer_config["chat_template"] = value
            self.refuses(model, "no chat_template.jinja, none in tokenizer_config.json either")

    def test_refuses_broken_and_missing_files(self):
        lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 11422654\n"
        for name in ("tokenizer.json", "tokenizer_config.json", "config.json"):
            for data, fragment in [
                (None, "No such file or directory"),
                (b"", "not JSON"),
                (b"{", "not JSON"),
                (b"[" * 100000, "not JSON"),
                (b"[]", "not a JSON object"),
                (b"\xff", "not UTF-8"),
                (lfs, "only a Git LFS pointer"),
            ]:
                model = Model()
                model.files[name] = data
                with self.subTest(name=name, data=data and data[:10]):
                    self.refuses(model, name, fragment)
        model = Model()
        model.files = {"tokenizer.json": None, "tokenizer.json.xz": b"x"}
        self.refuses(model, "tokenizer.json: No such file or directory: unpack it with xz -dk")

    def test_refuses_what_is_no_file(self):
        for name in ("tokenizer.json", "tokenizer_config.json", "config.json", "chat_template.jinja"):
            with tempfile.TemporaryDirectory() as directory:
                fixture.write_model(directory)
                path = os.path.join(directory, name)
                if os.path.exists(path):
                    os.unlink(path)
                os.mkfifo(path)
                done = subprocess.run(
                    [sys.executable, EXPORT, directory], capture_output=True, text=True, timeout=60
                )
                self.assertEqual(
                    (done.returncode, done.stderr), (1, f"export.py: {path}: not a regular file\n")
                )
        model = Model()
        model.files["config.json"] = b" " * (export.MOST_BYTES + 1)
        self.refuses(model, "config.json: larger than 67108864 bytes")

    def test_writes_all_files_or_none(self):
        with tempfile.TemporaryDirectory() as directory:
            fixture.write_model(directory)
            os.mkdir(os.path.join(directory, "made"))
            for name in TEMPLATES:
                with open(os.path.join(directory, "made", name), "w") as file:
                    file.write("old")
            os.mkdir(os.path.join(directory, "made", "tokenizer.bin"))

            def made(umask=0o022, **options):
                return subprocess.run(
                    [sys.executable, EXPORT, directory, "-o", os.path.join(directory, "made")],
                    stderr=subprocess.PIPE, text=True,
                    **{"stdout": subprocess.PIPE, "preexec_fn": lambda: os.umask(umask), **options},
                )  # fmt: skip

            done = made()
            line = f"export.py: {directory}/made/tokenizer.bin: a directory stands where a file must be\n"
            self.assertEqual((done.returncode, done.stderr), (1, line))
            self.assertEqual(
                sorted(os.listdir(os.path.join(directory, "made"))), TEMPLATES + ["tokenizer.bin"]
            )
            for name in TEMPLATES:
                with open(os.path.join(directory, "made", name)) as file:
                    self.assertEqual(file.read(), "old")
            os.rmdir(os.path.join(directory, "made", "tokenizer.bin"))

            # The disk is full for the third of five files.
            broken = (
                "import sys, export, builtins, errno, os\n"
                "def full(path, mode, *rest, made=[]):\n"
                "    made.append(path)\n"
                "    if len(made) == 3: raise OSError(errno.ENOSPC, 'No space left on device', path)\n"
                "    return open(path, mode, *rest)\n"
                "read = export.read_model\n"
                "def read_model(*a):\n"
                "    found = read(*a)\n"
                "    export.open = full\n"
                "    return found\n"
                "export.read_model = read_model\n"
                "sys.exit(export.main())"
            )
            done = subprocess.run(
                [sys.executable, "-c", broken, directory, "-o", os.path.join(directory, "made")],
                capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.path.dirname(EXPORT)},
            )  # fmt: skip
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertRegex(done.stderr, r"^export.py: .*/made/template_\w+.txt: No space left on device\n$")
            self.assertEqual(sorted(os.listdir(os.path.join(directory, "made"))), TEMPLATES)
            with open(os.path.join(directory, "made", TEMPLATES[0])) as file:
                self.assertEqual(file.read(), "old")

            for umask, mode in ((0o027, 0o640), (0o002, 0o664)):
                self.assertEqual(made(umask).returncode, 0)
                for name in (*TEMPLATES, "tokenizer.bin"):
                    self.assertEqual(os.stat(os.path.join(directory, "made", name)).st_mode & 0o777, mode)
            self.assertEqual(
                sorted(os.listdir(os.path.join(directory, "made"))), TEMPLATES + ["tokenizer.bin"]
            )

            with open("/dev/full", "w") as full:
                done = made(stdout=full)
            line = (
                "export.py: the files are written, but standard output: [Errno 28] No space left on device\n"
            )
            self.assertEqual((done.returncode, done.stderr), (1, line))
            done = made(stdout=None, preexec_fn=lambda: os.close(1))
            self.assertEqual((done.returncode, done.stderr), (1, "export.py: standard output is closed\n"))

    def test_ctrl_c_ends_it_with_a_line(self):
        model = Model()
        model.tokenizer_config["chat_template"] = (
            "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
        )
        timer = threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        status, out, err, written = model.export()
        timer.join()
        self.assertEqual((status, out, err, written), (130, "", "export.py: interrupted\n", {}))

    def test_exit_status_and_one_line(self):
        def run(*arguments, **options):
            return subprocess.run(arguments, capture_output=True, text=True, **options)

        self.assertEqual(run(sys.executable, EXPORT).returncode, 2)
        self.assertEqual(run(sys.executable, EXPORT, "a", "b").returncode, 2)
        done = run(sys.executable, EXPORT, "/no/such")
        self.assertEqual((done.returncode, done.stderr), (1, "export.py: /no/such: no such directory\n"))
        with tempfile.NamedTemporaryFile() as file:
            status, _, err, _ = Model().export("-o", file.name)
            self.assertEqual(status, 1)
            self.assertRegex(err, r"^export.py: .*: (File exists|Not a directory)\n$")
        with tempfile.TemporaryDirectory() as directory:
            fixture.write_model(directory)
            without = "import sys; sys.modules['jinja2'] = None; import export; sys.exit(export.main())"
            environment = {**os.environ, "PYTHONPATH": os.path.dirname(EXPORT)}
            done = run(sys.executable, "-c", without, directory, env=environment)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(
                done.stderr, "export.py: this needs the Python package jinja2: pip install jinja2\n"
            )


if __name__ == "__main__":
    try:
        import jinja2
    except ImportError:
        print("skipped: the Python package jinja2 is not here")
        sys.exit(77)
    unittest.main()
