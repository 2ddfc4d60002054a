"""parity_reference.py MODEL_DIR DIR: what Hugging Face transformers makes of a model, for tests/parity.c.

DIR is one that tests/cpu_cache.c wrote: the tokens of a sequence, and the k and v that the CPU engine keeps of
them. With -n N there are N random tokens instead, and no b. The sequence goes through the model three times, with
-w 8 through one whose matrices have been rounded as the engines do it:

    a  in float32
    b  in float32, with k and v as the CPU engine has rounded them to bfloat16
    c  in bfloat16, as Hugging Face would run it

Why b does not round by itself: where a number lies between two of bfloat16's, the last bit of a sum decides
which it becomes, and each further layer multiplies the difference, so that even float32 and float64 end up as
far apart as rounding itself moves them. It is checked instead that every k and v of the engine is the one here,
rounded: no further off than half of the distance between neighbours, plus a part of the head's root mean square
that allows for float32: 1e-4, and at position p four times p * 2^-23, which is how far an angle is off that
Hugging Face computes in float32 (the engine computes it in double precision).

Added to DIR, all little endian, n tokens, p positions:

    index               a text line: vocab n p, and a line with the p positions
    a.f32 b.f32 c.f32   (p, vocab) logits
    greedy_a.i32        (n) the best token after each position in a, and in greedy_b.i32 in b
    margin_a.f32        (n) by how much the best logit in a exceeds the second, and in margin_b.f32 in b

--golden FILE writes a small C header for tests/test_cpu.c instead. Runs on a GPU if there is one."""

import argparse
import os
import sys

import numpy
import torch
from transformers import AutoModelForCausalLM
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

POSITIONS = [0, 1, 63, 64, 100, 1023, 1024, 4095, 8191, 40959]
GOLDEN_POSITIONS = [0, 1, 63, 64, 100]
GOLDEN_IDS = 64
CHUNK = 256  # positions whose logits exist at the same time


def random_token(i, vocab):
    mask = (1 << 64) - 1
    z = (i + 1) * 0x9E3779B97F4A7C15 & mask
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
    return (z ^ z >> 31) % vocab


def rounded(weights, group):
    """A matrix after dot_quantize. By a number, and not a tensor, CUDA does not divide: it multiplies."""
    groups = weights.view(len(weights), -1, group)
    greatest = groups.abs().amax(-1, keepdim=True)
    scale = (greatest / torch.full_like(greatest, 127)).bfloat16()
    scale = (scale.view(torch.int16) + (scale.float() * 127 < greatest)).view(torch.bfloat16).float()
    return torch.where(scale > 0, (groups / scale).round() * scale, 0).view_as(weights)


def plain_attention(cache=None):
    """Attention written out: a block of queries at a time, so that no n x n matrix exists. q is
    (1, heads, n, head_dim), k and v (1, kv_heads, n, head_dim); cache, if given, is
    (2, layers, kv_heads, n, head_dim) and takes the place of k and v."""

    def check_rounding(exact, rounded, what):
        half_step = torch.exp2(exact.abs().log2().floor() - 8)
        excess = (exact - rounded).abs() - half_step
        excess = (excess / exact.square().mean(-1, keepdim=True).sqrt()).amax((0, 2))
        allowed = 1e-4 + 4 * 2**-23 * torch.arange(len(excess), device=excess.device)
        for pos in (~(excess <= allowed)).nonzero()[:1]:
            sys.exit(f"{what} of the engine at position {pos.item()} is not Hugging Face's, rounded")

    def attention(module, q, k, v, mask, scaling, **_):
        if cache is not None:
            rounded = cache[:, module.layer_idx].to(q.device).to(q.dtype)
            check_rounding(k[0], rounded[0], f"k in layer {module.layer_idx}")
            check_rounding(v[0], rounded[1], f"v in layer {module.layer_idx}")
            k, v = rounded[0][None], rounded[1][None]
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
        print("/* Logits of the random model of seed 1 and shape QWEN600_TINY after random_token(0), (1), ...:", file=out)
        print(" * Hugging Face transformers, in float32. Made by", file=out)
        print(" *     random_model_tiny DIR && parity_reference.py DIR --golden tests/data/cpu_golden.h */", file=out)
        print(f"enum {{ GOLDEN_POSITIONS = {len(GOLDEN_POSITIONS)}, GOLDEN_IDS = {GOLDEN_IDS} }};", file=out)
        print("static const struct {", file=out)
        print("    int pos, best;           /* best: the token with the greatest logit */", file=out)
        print("    float norm;              /* sqrt(sum of squares) of all logits */", file=out)
        print(f"    float logit[GOLDEN_IDS]; /* of every {vocab // GOLDEN_IDS}nd token */", file=out)
        print("} golden[GOLDEN_POSITIONS] = {", file=out)
        for pos, row in zip(GOLDEN_POSITIONS, logits):
            some = [f"{x:.8e}f" for x in row[:: vocab // GOLDEN_IDS].tolist()]
            print(f"    {{{pos}, {row.argmax().item()}, {row.double().norm().item():.8e}f, {{{', '.join(some)}}}}},", file=out)
        print("};", file=out)


def main():
    parser = argparse.ArgumentParser(description="Hugging Face's logits, for tests/parity.c")
    parser.add_argument("model_dir")
    parser.add_argument("dir", nargs="?", help="written by cpu_cache")
    parser.add_argument("-n", type=int, help="so many random tokens; makes DIR")
    parser.add_argument("-w", type=int, choices=(8, 16), default=16, help="bits of a weight")
    parser.add_argument("--positions", type=int, nargs="+", default=POSITIONS)
    parser.add_argument("--golden", metavar="FILE", help="write the golden of tests/test_cpu.c")
    arguments = parser.parse_args()
    if (arguments.dir is None) == (arguments.golden is None):
        parser.error("give DIR or --golden FILE")

    torch.set_float32_matmul_precision("highest")  # no TF32
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = AutoModelForCausalLM.from_pretrained(
        arguments.model_dir, dtype=torch.float32, attn_implementation="sdpa"
    )
    model = model.to(device).eval()
    config = model.config
    for weights in model.parameters() if arguments.w == 8 else ():
        if weights.dim() == 2:
            weights.data = rounded(weights.data, 64)

    if arguments.golden:
        ids = [random_token(i, config.vocab_size) for i in range(GOLDEN_POSITIONS[-1] + 1)]
        tokens = torch.tensor(ids, device=device)
        golden(arguments.golden, run(model, tokens, GOLDEN_POSITIONS, plain_attention())[0], config.vocab_size)
        return

    def path(name):
        return os.path.join(arguments.dir, name)

    if arguments.n:
        os.makedirs(arguments.dir, exist_ok=True)
        ids = [random_token(i, config.vocab_size) for i in range(arguments.n)]
        numpy.array(ids, "<i4").tofile(path("tokens.i32"))
    tokens = torch.from_numpy(numpy.fromfile(path("tokens.i32"), "<i4").astype(numpy.int64)).to(device)
    positions = sorted({pos for pos in arguments.positions if pos < len(tokens)})

    results = {"a": run(model, tokens, positions, plain_attention())}
    if not arguments.n:
        shape = 2, config.num_hidden_layers, config.num_key_value_heads, len(tokens), config.head_dim
        cache = torch.from_numpy(numpy.fromfile(path("cache.bf16"), "<i2")).view(torch.bfloat16).reshape(shape)
        results["b"] = run(model, tokens, positions, plain_attention(cache))
    results["c"] = run(model.to(torch.bfloat16), tokens, positions)

    with open(path("index"), "w") as out:
        print(config.vocab_size, len(tokens), len(positions), file=out)
        print(*positions, file=out)
    for name, (logits, greedy, margin) in results.items():
        logits.numpy().astype("<f4").tofile(path(f"{name}.f32"))
        if name != "c":
            greedy.numpy().astype("<i4").tofile(path(f"greedy_{name}.i32"))
            margin.numpy().astype("<f4").tofile(path(f"margin_{name}.f32"))
        if name == "a":
            a = logits
            continue
        distance = (logits - a).double().norm(dim=1) / a.double().norm(dim=1)
        print(f"{name} to a:", *[f"{pos}: {d:.2e}" for pos, d in zip(positions, distance.tolist())])


if __name__ == "__main__":
    main()
