"""Trains the bundled model's tokenizer: a byte-level BPE of 2,048 ids in the form of Qwen3's tokenizer.json, with the
same normalizer, split pattern, decoder and post-processor, so that export.py takes both. Needs Hugging Face tokenizers.

    python3 tokenizer.py MODEL_DIR     writes tokenizer.json and tokenizer_config.json
"""

import itertools
import json
import pathlib
import sys

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

import data

VOCAB = 2048
SPECIAL, PLAIN = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], ["<think>", "</think>"]
SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")

# Qwen3's template for system, user and assistant messages: a past reply loses its thoughts, the prompt for the next
# one ends in an empty think block when thinking is off.
TEMPLATE = """\
{%- set last = namespace(user=-1) %}
{%- for message in messages %}
    {%- if message.role == 'user' %}{% set last.user = loop.index0 %}{% endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content %}
    {%- if message.role == 'assistant' %}
        {%- set thought = '' %}
        {%- if '</think>' in content %}
            {%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > last.user and (loop.last or thought) %}
            {%- set content = '<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') %}
        {%- endif %}
    {%- endif %}
    {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""


def corpus():
    """A sample of the conversations, all answers in both cases, and text of any kind so that no letter is rare."""
    for system, style, turns in itertools.islice(data.conversations(1), 4000):
        yield system
        for turn in itertools.islice(turns, 6):
            yield from (turn.user, data.reply(turn, style), data.reasoning(turn, style))
    for topic in data.TOPICS + data.SMALL_TALK + data.CHINESE:
        for _ in range(8):
            yield from (topic.answer, topic.answer.upper(), *topic.names, *topic.ask)


def main(folder):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(SPLIT), "isolated"), byte_level])
    trainer = trainers.BpeTrainer(vocab_size=VOCAB - len(SPECIAL + PLAIN), show_progress=False,
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.train_from_iterator(corpus(), trainer)

    trained = json.loads(tokenizer.to_str())
    first = len(trained["model"]["vocab"])
    assert first + len(SPECIAL + PLAIN) == VOCAB
    options = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    added = [{"id": first + i, "content": text, **options, "special": text in SPECIAL} for i, text in enumerate(SPECIAL + PLAIN)]
    trained["added_tokens"] = added
    trained["post_processor"] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    trained["decoder"] = trained["post_processor"]
    trained["model"].update(continuing_subword_prefix="", end_of_word_suffix="", byte_fallback=False, ignore_merges=False)
    config = {
        "add_bos_token": False,
        "add_prefix_space": False,
        "added_tokens_decoder": {str(token["id"]): {k: v for k, v in token.items() if k != "id"} for token in added},
        "additional_special_tokens": SPECIAL[1:],
        "bos_token": None,
        "chat_template": TEMPLATE,
        "clean_up_tokenization_spaces": False,
        "eos_token": "<|im_end|>",
        "errors": "replace",
        "model_max_length": 8192,
        "pad_token": "<|endoftext|>",
        "split_special_tokens": False,
        "tokenizer_class": "Qwen2Tokenizer",
        "unk_token": None,
    }
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in ("tokenizer.json", trained), ("tokenizer_config.json", config):
        (folder / name).write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
