"""parity_reference.py MODEL_DIR OUT_DIR: what Hugging Face transformers makes of a model, for tests/parity.c.

A sequence of tokens (random_token() of random_model.h, or --tokens FILE, ids separated by white space) goes
through the model three times:

    a  in float32
    b  in float32, with k (after RoPE) and v rounded to bfloat16, which is how the KV cache holds them
    c  in bfloat16, as Hugging Face would run it

OUT_DIR then holds, all little endian, n tokens, p positions:

    index           a text line: vocab n p, and a line with the p positions
    tokens.i32      (n)
    a.f32 b.f32 c.f32   (p, vocab) logits
    greedy_a.i32    (n) the best token after each position in a, and in greedy_b.i32 in b
    margin_a.f32    (n) by how much the best logit in a exceeds the second, and in margin_b.f32 in b

--golden FILE writes a small C header for tests/test_cpu.c instead. Runs on a GPU if there is one."""

import argparse
import os

import numpy
import torch
from transformers import AutoModelForCausalLM
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

POSITIONS = [0, 1, 63, 64, 100, 1023, 1024, 4095, 8191]
GOLDEN_POSITIONS = [0, 1, 63, 64, 100, 1023]
GOLDEN_IDS = 64
CHUNK = 256  # positions whose logits exist at the same time


def random_token(i, vocab):
    mask = (1 << 64) - 1
    z = (i + 1) * 0x9E3779B97F4A7C15 & mask
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
    return (z ^ z >> 31) % vocab


def plain_attention(rounded):
    """Attention written out: a block of queries at a time, so that no n x n matrix exists. q is
    (1, heads, n, head_dim), k and v (1, kv_heads, n, head_dim)."""

    def attention(module, q, k, v, mask, scaling, **_):
        if rounded:
            k, v = k.bfloat16().to(k.dtype), v.bfloat16().to(v.dtype)
        group, n = module.num_key_value_groups, q.shape[2]
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        out = torch.empty_like(q)
        for start in range(0, n, CHUNK):
            end = min(start + CHUNK, n)
            scores = q[:, :, start:end] @ k[:, :, :end].transpose(2, 3) * scaling
            later = torch.ones(end - start, end, dtype=torch.bool, device=q.device).triu(start + 1)
            scores = scores.masked_fill(later, float("-inf"))
            out[:, :, start:end] = scores.softmax(-1) @ v[:, :, :end]
        return out.transpose(1, 2), None

    return attention


@torch.no_grad()
def run(model, tokens, positions, attention=None):
    """Logits (len(positions), vocab) in float32, and the greedy tokens (n) and their margins (n)."""
    sdpa = ALL_ATTENTION_FUNCTIONS["sdpa"]
    if attention is not None:
        ALL_ATTENTION_FUNCTIONS["sdpa"] = attention
    try:
        hidden = model.model(tokens[None], use_cache=False).last_hidden_state[0]
    finally:
        ALL_ATTENTION_FUNCTIONS["sdpa"] = sdpa
    logits = model.lm_head(hidden[positions]).float().cpu()
    greedy, margin = [], []
    for start in range(0, len(tokens), CHUNK):
        best = model.lm_head(hidden[start : start + CHUNK]).float().topk(2)
        greedy.append(best.indices[:, 0])
        margin.append(best.values[:, 0] - best.values[:, 1])
    return logits, torch.cat(greedy).cpu(), torch.cat(margin).cpu()


def golden(path, logits, vocab):
    with open(path, "w") as out:
        print("/* Logits of the random model of seed 1, shape QWEN600_TINY, after the tokens random_token(0..),", file=out)
        print(" * from Hugging Face transformers in float32 with k and v rounded to bfloat16. Made by", file=out)
        print(" *     random_model_tiny DIR && parity_reference.py --golden cpu_golden.h DIR */", file=out)
        print(f"enum {{ GOLDEN_POSITIONS = {len(GOLDEN_POSITIONS)}, GOLDEN_IDS = {GOLDEN_IDS} }};", file=out)
        print("static const struct {", file=out)
        print("    int pos, best;            /* best: the token with the greatest logit */", file=out)
        print("    float norm;               /* sqrt(sum of squares) of all logits */", file=out)
        print(f"    float logit[GOLDEN_IDS];  /* of every {vocab // GOLDEN_IDS}th token */", file=out)
        print("} golden[GOLDEN_POSITIONS] = {", file=out)
        for pos, row in zip(GOLDEN_POSITIONS, logits):
            some = [f"{x:.9e}f" for x in row[:: vocab // GOLDEN_IDS].tolist()]
            print(f"    {{{pos}, {row.argmax().item()}, {row.double().norm().item():.9e}f,", file=out)
            for i in range(0, GOLDEN_IDS, 6):
                print("     " + ("{" if i == 0 else " ") + ", ".join(some[i : i + 6]), end="", file=out)
                print("}}," if i + 6 >= GOLDEN_IDS else ",", file=out)
        print("};", file=out)


def main():
    parser = argparse.ArgumentParser(description="Hugging Face's logits, for tests/parity.c")
    parser.add_argument("model_dir")
    parser.add_argument("out_dir", nargs="?")
    parser.add_argument("--positions", type=int, nargs="+", default=POSITIONS)
    parser.add_argument("--tokens", metavar="FILE", help="token ids, as text")
    parser.add_argument("--golden", metavar="FILE", help="write the golden of tests/test_cpu.c")
    arguments = parser.parse_args()
    if (arguments.out_dir is None) == (arguments.golden is None):
        parser.error("give OUT_DIR or --golden FILE")

    torch.set_float32_matmul_precision("highest")  # no TF32
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = AutoModelForCausalLM.from_pretrained(
        arguments.model_dir, dtype=torch.float32, attn_implementation="sdpa"
    )
    model = model.to(device).eval()
    vocab = model.config.vocab_size

    positions = GOLDEN_POSITIONS if arguments.golden else sorted(set(arguments.positions))
    if arguments.tokens:
        with open(arguments.tokens) as file:
            ids = [int(word) for word in file.read().split()]
        positions = [pos for pos in positions if pos < len(ids)]
    else:
        ids = [random_token(i, vocab) for i in range(max(positions) + 1)]
    tokens = torch.tensor(ids, device=device)

    b = run(model, tokens, positions, plain_attention(True))
    if arguments.golden:
        golden(arguments.golden, b[0], vocab)
        return
    a = run(model, tokens, positions, plain_attention(False))
    c = run(model.to(torch.bfloat16), tokens, positions)

    os.makedirs(arguments.out_dir, exist_ok=True)
    with open(os.path.join(arguments.out_dir, "index"), "w") as out:
        print(vocab, len(ids), len(positions), file=out)
        print(*positions, file=out)

    def write(name, values, dtype):
        values.numpy().astype(dtype).tofile(os.path.join(arguments.out_dir, name))

    write("tokens.i32", tokens.cpu(), numpy.dtype("<i4"))
    for name, (logits, greedy, margin) in ("a", a), ("b", b), ("c", c):
        write(f"{name}.f32", logits, numpy.dtype("<f4"))
        if name != "c":
            write(f"greedy_{name}.i32", greedy, numpy.dtype("<i4"))
            write(f"margin_{name}.f32", margin, numpy.dtype("<f4"))
    for name, (logits, _, _) in ("b", b), ("c", c):
        distance = (logits - a[0]).double().norm(dim=1) / a[0].double().norm(dim=1)
        print(f"{name} to a:", *[f"{pos}: {d:.2e}" for pos, d in zip(positions, distance.tolist())])


if __name__ == "__main__":
    main()
