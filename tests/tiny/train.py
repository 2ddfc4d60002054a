"""Trains the bundled model on one GPU in a few minutes, tests it on held-out questions, and writes it in Hugging Face
format. Needs torch, numpy and Hugging Face tokenizers; tokenizer.py has made MODEL_DIR/tokenizer.json.

    python3 train.py MODEL_DIR OUT [--seconds 200] [--start DIR]
    python3 train.py MODEL_DIR OUT --mean DIR DIR            OUT's weights become the mean of those in two folders
    python3 train.py MODEL_DIR OUT --test                    only tests OUT/model.safetensors

A conversation is one sequence with branches. Its trunk is what the chat template makes of past turns: replies without
their thoughts. From the prompt of every turn two branches leave, the reply without thinking and the reply with it, and
only they are learned. The attention mask lets a token see the trunk before it and its own branch, so that one pass
trains every turn in both modes in exactly the context that the chat will give it. Nothing is compiled: a start of
seconds is worth more than the last factor of speed in a run of minutes.
"""

import argparse
import json
import math
import os
import pathlib
import random
import sys
import time
from collections import namedtuple

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import data  # noqa: E402

BACKENDS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD_DIM, INTERMEDIATE, VOCAB, CONTEXT = 4, 256, 4, 2, 128, 512, 2048, 8192
THETA, EPS = 1e6, 1e-6

# Kinds of batches: how often, rows, tokens of a row, and how long the trunks of their conversations may be. A packed row
# holds as many conversations as fit; where trunk is not 0, a row is one conversation, its trunk in the first `trunk`
# tokens and all branches after it, which costs far less attention.
Kind = namedtuple("Kind", "weight rows length trunk shortest longest")
KINDS = [Kind(0.66, 64, 512, 0, 40, 230), Kind(0.20, 12, 2048, 0, 230, 1200),
         Kind(0.07, 8, 4096 + 1024, 4096, 1200, 4096), Kind(0.07, 4, 8192 + 2048, 8192, 4096, CONTEXT)]


# ---- Text to sequences ----


class Encoder:
    """Token ids of the pieces that the chat template puts together."""

    def __init__(self, folder):
        self.tokenizer = Tokenizer.from_file(str(pathlib.Path(folder) / "tokenizer.json"))
        self.end_of_text, self.start, self.end, self.think, self.unthink = (
            self.tokenizer.token_to_id(t) for t in ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>"))
        self.cache = {}

    def text(self, text):
        ids = self.cache.get(text)
        if ids is None:
            ids = self.tokenizer.encode(text, add_special_tokens=False).ids
            if len(self.cache) < 200000:
                self.cache[text] = ids
        return ids

    def message(self, role, text):
        return [self.start] + self.text(role + "\n" + text) + [self.end] + self.text("\n")

    def opening(self):
        return [self.start] + self.text("assistant\n")

    def silent(self):
        """What the prompt holds when thinking is off."""
        return [self.think] + self.text("\n\n") + [self.unthink] + self.text("\n\n")

    def thought(self, text):
        return [self.think] + self.text("\n" + text + "\n") + [self.unthink] + self.text("\n\n")

    def past(self, text):
        return self.text(text) + [self.end] + self.text("\n")

    def prompt(self, system, turns, user, thinking):
        ids = self.message("system", system) if system else []
        for asked, answered in turns:
            ids = ids + self.message("user", asked) + self.opening() + self.past(answered)
        return ids + self.message("user", user) + self.opening() + ([] if thinking else self.silent())


def add_conversation(row, encoder, rng, conversation, positions, most):
    """Appends to the four lists of row (token, target or -1, position, branch), up to `positions` tokens in the trunk
    and about `most` in all."""
    system, style, turns = conversation
    pos = branch = 0

    def put(ids, targets, at, branch):
        for column, values in zip(row, (ids, targets, range(at, at + len(ids)), [branch] * len(ids))):
            column.extend(values)

    if system:
        ids = encoder.message("system", system)
        put(ids, [-1] * len(ids), pos, 0)
        pos += len(ids)
    sparse = positions > 1200  # a long trunk carries fewer branches, to reach far positions at less cost
    for turn in turns:
        reply = data.reply(turn, style)
        prompt = encoder.message("user", turn.user) + encoder.opening()
        answer = encoder.text(reply) + [encoder.end]
        past = encoder.past(reply)
        branches = []
        rare = sparse and not turn.reason.startswith("The user told me a name")
        if rng.random() < (0.2 if rare else 0.9):
            branches.append((encoder.silent(), False))
        if rng.random() < (0.1 if rare else 0.45):
            branches.append((encoder.thought(data.reasoning(turn, style)), True))
        if pos + len(prompt) + len(past) > positions or len(row[0]) >= most:
            break
        targets = [-1] * len(prompt)
        if any(learned for _, learned in branches):
            targets[-1] = encoder.think
        put(prompt, targets, pos, 0)
        pos += len(prompt)
        for head, learned in branches:
            branch += 1
            ids = head + answer
            targets = ids[1:] + [-1]
            if not learned:
                targets[: len(head) - 1] = [-1] * (len(head) - 1)
            put(ids, targets, pos, branch)
        put(past, [-1] * len(past), pos, 0)
        pos += len(past)


def packed_row(encoder, rng, source, kind):
    """(5, length): token, target, position, branch and the number of the conversation; the last one is cut."""
    row, documents = ([], [], [], []), []
    while len(row[0]) < kind.length:
        add_conversation(row, encoder, rng, next(source), rng.randint(kind.shortest, kind.longest), kind.length)
        documents.extend([documents[-1] + 1 if documents else 0] * (len(row[0]) - len(documents)))
    return np.array([column[:kind.length] for column in (*row, documents)], np.int16)


def long_row(encoder, rng, source, kind):
    """(5, length): token, target, position, branch and the position at which the branch leaves the trunk."""
    row = ([], [], [], [])
    add_conversation(row, encoder, rng, next(source), rng.randint(kind.shortest, kind.longest), 4 * kind.length)
    columns = np.array([*row, row[2]], np.int16)
    branches = columns[:, columns[3] > 0]
    first = np.flatnonzero(np.diff(branches[3], prepend=0))
    branches[4] = np.repeat(branches[2][first], np.diff(first, append=branches.shape[1]))
    whole = np.zeros((5, kind.length), np.int16)
    whole[1], whole[3] = -1, -1  # padding learns nothing and is a branch of its own
    trunk, rest = columns[:, columns[3] == 0][:, :kind.trunk], branches[:, :kind.length - kind.trunk]
    whole[:, :trunk.shape[1]] = trunk
    whole[:, kind.trunk:kind.trunk + rest.shape[1]] = rest
    return whole


class Batches(torch.utils.data.IterableDataset):
    """Endless (arrays (5, rows, length), where the targets are, the targets, the length of the trunk or 0)."""

    def __init__(self, folder, seed, kinds):
        self.folder, self.seed, self.kinds = folder, seed, kinds

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        seed = self.seed * 1000 + (worker.id if worker else 0)
        rng, source, encoder = random.Random(seed), data.conversations(seed), Encoder(self.folder)
        while True:
            kind = rng.choices(self.kinds, [kind.weight for kind in self.kinds])[0]
            make_row = long_row if kind.trunk else packed_row
            arrays = np.stack([make_row(encoder, rng, source, kind) for _ in range(kind.rows)], 1)
            targets = arrays[1].reshape(-1)
            where = np.flatnonzero(targets >= 0)
            yield arrays, where.astype(np.int32), targets[where], np.array(kind.trunk)


# ---- The model: Qwen3ForCausalLM, with its names ----


class RMSNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return F.rms_norm(x.float(), self.weight.shape, self.weight, EPS)


def rope(x, cos, sin):
    """x (batch, heads, seq, head_dim), cos and sin (batch, 1, seq, head_dim / 2)"""
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def linear(inputs, outputs):
    return nn.Linear(inputs, outputs, bias=False)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj = (linear(HIDDEN, n * HEAD_DIM) for n in (HEADS, KV_HEADS, KV_HEADS))
        self.o_proj = linear(HEADS * HEAD_DIM, HIDDEN)
        self.q_norm, self.k_norm = RMSNorm(HEAD_DIM), RMSNorm(HEAD_DIM)

    def forward(self, x, cos, sin, mask):
        batch, seq, _ = x.shape
        q, k, v = (p(x).view(batch, seq, -1, HEAD_DIM) for p in (self.q_proj, self.k_proj, self.v_proj))
        q, k = (rope(norm(t).transpose(1, 2), cos, sin).to(v.dtype) for norm, t in ((self.q_norm, q), (self.k_norm, k)))
        v = v.transpose(1, 2)
        k, v = (t.repeat_interleave(HEADS // KV_HEADS, 1) for t in (k, v))
        trunk = seq if mask is None else seq - mask.shape[-2]  # the first `trunk` queries are causal, the mask is for the rest
        parts = []
        if trunk:
            parts.append(F.scaled_dot_product_attention(q[:, :, :trunk], k[:, :, :trunk], v[:, :, :trunk], is_causal=True))
        if trunk < seq:
            parts.append(F.scaled_dot_product_attention(q[:, :, trunk:], k, v, attn_mask=mask))
        y = torch.cat(parts, 2)
        return self.o_proj(y.transpose(1, 2).reshape(batch, seq, -1))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj, self.up_proj, self.down_proj = linear(HIDDEN, INTERMEDIATE), linear(HIDDEN, INTERMEDIATE), linear(INTERMEDIATE, HIDDEN)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    dropout = 0.0

    def __init__(self):
        super().__init__()
        self.self_attn, self.mlp = Attention(), MLP()
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(HIDDEN), RMSNorm(HIDDEN)

    def forward(self, x, cos, sin, mask):
        x = x + F.dropout(self.self_attn(self.input_layernorm(x), cos, sin, mask), self.dropout, self.training)
        return x + F.dropout(self.mlp(self.post_attention_layernorm(x)), self.dropout, self.training)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCAB, HIDDEN)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = RMSNorm(HIDDEN)

    def forward(self, tokens, positions, mask=None):
        frequency = THETA ** (-torch.arange(0, HEAD_DIM, 2, device=tokens.device, dtype=torch.float32) / HEAD_DIM)
        angle = positions[:, None, :, None].float() * frequency
        cos, sin = angle.cos(), angle.sin()
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x, cos, sin, mask)
        return self.norm(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = Backbone()
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)


# ---- Files ----


def save(model, folder):
    """model.safetensors in bf16, written by hand: the format is a length, a JSON header and the bytes."""
    header, offset, blobs = {"__metadata__": {"format": "pt"}}, 0, []
    for name, value in sorted(model.state_dict().items()):
        blob = value.detach().to(torch.bfloat16).cpu().contiguous().view(torch.int16).numpy().tobytes()
        header[name] = {"dtype": "BF16", "shape": list(value.shape), "data_offsets": [offset, offset + len(blob)]}
        offset += len(blob)
        blobs.append(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(folder, "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + b"".join(blobs))
    return 8 + len(text) + offset


def load(model, folder):
    raw = pathlib.Path(folder, "model.safetensors").read_bytes()
    size = int.from_bytes(raw[:8], "little")
    state = {}
    for name, entry in json.loads(raw[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            numbers = torch.frombuffer(bytearray(raw[begin:end]), dtype=torch.bfloat16)
            state[name] = numbers.float().view(entry["shape"])
    model.load_state_dict(state)


def write_config(folder, encoder):
    config = {
        "architectures": ["Qwen3ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": encoder.end_of_text,
        "eos_token_id": encoder.end, "head_dim": HEAD_DIM, "hidden_act": "silu", "hidden_size": HIDDEN, "initializer_range": 0.02,
        "intermediate_size": INTERMEDIATE, "max_position_embeddings": CONTEXT, "max_window_layers": LAYERS, "model_type": "qwen3",
        "num_attention_heads": HEADS, "num_hidden_layers": LAYERS, "num_key_value_heads": KV_HEADS, "rms_norm_eps": EPS,
        "rope_scaling": None, "rope_theta": int(THETA), "sliding_window": None, "tie_word_embeddings": True, "torch_dtype": "bfloat16",
        "use_cache": True, "use_sliding_window": False, "vocab_size": VOCAB,
    }
    generation = {"bos_token_id": encoder.end_of_text, "do_sample": True, "eos_token_id": [encoder.end, encoder.end_of_text],
                  "pad_token_id": encoder.end_of_text, "temperature": 0.6, "top_k": 20, "top_p": 0.95}
    for name, content in ("config.json", config), ("generation_config.json", generation):
        pathlib.Path(folder, name).write_text(json.dumps(content, indent=2) + "\n")


# ---- The test ----


@torch.no_grad()
def generate(model, encoder, prompts, device, most=200, batch=512):
    """Greedy replies to prompts (lists of ids), in batches of about the same length, each step from scratch."""
    order, replies = sorted(range(len(prompts)), key=lambda i: len(prompts[i])), [None] * len(prompts)
    position = 0
    while position < len(order):
        chosen = order[position:position + (batch if len(prompts[order[position]]) < 1500 else 8)]
        position += len(chosen)
        ids = [list(prompts[i]) for i in chosen]
        tokens = torch.zeros(len(ids), max(map(len, ids)) + most, dtype=torch.long, device=device)
        for i, row in enumerate(ids):
            tokens[i, :len(row)] = torch.tensor(row, device=device)
        length = torch.tensor([len(row) for row in ids], device=device)
        begin, done, every = length.clone(), torch.zeros(len(ids), dtype=torch.bool, device=device), torch.arange(len(ids), device=device)
        longest = max(map(len, ids))
        for _ in range(most):
            seen = tokens[:, :longest]
            with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
                hidden = model.model(seen, torch.arange(longest, device=device).expand(len(ids), -1))
            best = (hidden[every, length - 1].float() @ model.model.embed_tokens.weight.float().T).argmax(-1)
            done |= (best == encoder.end) | (best == encoder.end_of_text)
            if bool(done.all()):
                break
            tokens[every, length] = torch.where(done, 0, best)
            length = torch.where(done, length, length + 1)
            longest = min(longest + 1, tokens.shape[1])
        for row, i in enumerate(chosen):
            out = tokens[row, begin[row]:length[row]].tolist()
            replies[i] = (out, bool(done[row]))
    return replies


def test(model, encoder, device, out=None, cases=None):
    model.eval()
    cases = cases or data.test_set() + data.long_cases()
    prompts = [encoder.prompt(c.system, c.turns[:-1], c.turns[-1][0], c.thinking) for c in cases]
    start = time.time()
    replies = generate(model, encoder, prompts, device)
    table, wrong = {}, []
    for case, (ids, ended) in zip(cases, replies):
        text = encoder.tokenizer.decode(ids, skip_special_tokens=False)
        thought, mark, answer = text.rpartition("</think>")
        right = ended and answer.lstrip("\n") == case.expected and bool(mark) == case.thinking and thought.startswith("<think>\n") == case.thinking
        count = table.setdefault(case.category, [0, 0])
        count[0] += right
        count[1] += 1
        if not right:
            wrong.append({"category": case.category, "system": case.system, "user": case.turns[-1][0], "expected": case.expected, "reply": text})
    print(f"\nheld-out questions, greedy, bf16-rounded weights ({time.time() - start:.0f} s):")
    for category, (right, count) in sorted(table.items()):
        print(f"  {category:22} {right:4} of {count:4}  {100 * right / count:5.1f} %")
    right = len(cases) - len(wrong)
    print(f"  {'all':22} {right:4} of {len(cases):4}  {100 * right / len(cases):5.1f} %", flush=True)
    if out:
        pathlib.Path(out, "wrong.jsonl").write_text("".join(json.dumps(w, ensure_ascii=False) + "\n" for w in wrong))
    rng = random.Random(1)
    for w in rng.sample(wrong, min(25, len(wrong))):
        print(f"  [{w['category']}] {w['user'][:90]!r} -> {w['reply']!r}")
    return table


# ---- Training ----


def train(model, args, device):
    """Returns the number of steps. The learning rate follows the clock: the run lasts args.seconds after the first step."""
    kinds = [kind._replace(rows=min(kind.rows, args.rows)) for kind in KINDS[:3]] if args.rows else KINDS
    loader = torch.utils.data.DataLoader(Batches(args.model_dir, args.seed, kinds), batch_size=None, collate_fn=list,
                                         num_workers=args.workers, prefetch_factor=4 if args.workers else None)
    decay = [p for p in model.parameters() if p.dim() > 1]
    rest = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": args.decay}, {"params": rest, "weight_decay": 0.0}], lr=args.rate,
                                  betas=(0.9, 0.98), fused=device == "cuda")
    Layer.dropout = args.dropout
    model.train()
    start, last, begun, step, tokens_seen, waited = None, 0, time.time(), 0, 0, 0.0
    running = torch.zeros((), device=device)
    batches = iter(loader)
    while True:
        asked = time.time()
        arrays, where, targets, trunk = next(batches)
        trunk = int(trunk)
        waited += time.time() - asked
        if start is None and step == 1:
            if device == "cuda":
                torch.cuda.synchronize()
            start, waited, tokens_seen = time.time(), 0.0, 0
            print(f"first step after {start - begun:.0f} s", flush=True)
        progress = (time.time() - start) / args.seconds if start else 0.0
        if progress >= 1 or (args.steps and step >= args.steps):
            break
        rate = args.rate * min(1, (step + 1) / 200) * max(0.005, 0.5 * (1 + math.cos(math.pi * progress)))
        for group in optimizer.param_groups:
            group["lr"] = rate
        arrays, where, targets = (torch.from_numpy(t).to(device) for t in (arrays, where, targets))
        tokens, _, positions, branch, extra = arrays
        every = torch.arange(tokens.shape[1], device=device)
        if trunk:  # extra is where a branch leaves the trunk
            visible = (branch[:, None, :] == branch[:, trunk:, None]) & (every[trunk:, None] >= every)
            visible[:, :, :trunk] = every[:trunk] < extra[:, trunk:, None]
        else:  # extra is the number of the conversation
            visible = (extra[:, :, None] == extra[:, None, :]) & ((branch[:, None, :] == 0) | (branch[:, None, :] == branch[:, :, None]))
            visible &= every[:, None] >= every
        bias = torch.zeros(visible.shape, dtype=torch.bfloat16 if device == "cuda" else torch.float32, device=device)
        bias = bias.masked_fill_(~visible, -math.inf)[:, None]  # (rows, 1, queries, keys)
        del visible
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"), sdpa_kernel(BACKENDS):
            hidden = model.model(tokens.long(), positions, bias)
            logits = hidden.reshape(-1, HIDDEN)[where.long()] @ model.model.embed_tokens.weight.T
            loss = F.cross_entropy(logits.float(), targets.long())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        running += loss.detach()
        step += 1
        tokens_seen += tokens.numel()
        if device == "cuda" and step % 10 == 0:
            torch.cuda.synchronize()  # the clock that sets the rate must not run ahead of the GPU
        if step - last >= args.every:
            passed = time.time() - (start or begun)
            print(f"step {step:6}  {passed:5.0f} s  loss {running.item() / (step - last):.4f}  rate {rate:.2e}  "
                  f"{tokens_seen / passed / 1e6:.2f} M tokens/s  waited for data {waited:.0f} s", flush=True)
            running.zero_()
            last = step
    return step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model_dir")
    parser.add_argument("out")
    parser.add_argument("--seconds", type=float, default=200)
    parser.add_argument("--steps", type=int, default=0, help="stop after so many steps; 0: by the clock only")
    parser.add_argument("--start", help="a folder with weights to begin with, in place of random ones")
    parser.add_argument("--seed", type=int, default=600)
    parser.add_argument("--rows", type=int, default=0, help="at most so many rows at a time: for a trial on a CPU")
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--decay", type=float, default=0.1)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--every", type=int, default=200)
    parser.add_argument("--workers", type=int, default=max(0, min(14, (os.cpu_count() or 1) - 2)))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--mean", nargs=2, metavar="DIR")
    parser.add_argument("--test", action="store_true")
    args = parser.parse_args()
    out = pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)
    torch.set_float32_matmul_precision("high")
    data.check()
    data.from_test("")  # the workers share the list that this makes
    encoder = Encoder(args.model_dir)
    model = Model().to(args.device)
    if args.mean:
        weights = []
        for folder in args.mean:
            load(model, folder)
            weights.append({name: value.clone() for name, value in model.state_dict().items()})
        model.load_state_dict({name: (weights[0][name] + weights[1][name]) / 2 for name in weights[0]})
        save(model, out)
        write_config(out, encoder)
    elif not args.test:
        print(f"{sum(p.numel() for p in model.parameters()):,} parameters on {args.device}", flush=True)
        if args.start:
            load(model, args.start)
        steps = train(model, args, args.device)
        size = save(model, out)
        write_config(out, encoder)
        print(f"saved after {steps} steps: {size:,} bytes", flush=True)
    load(model, out)
    test(model, encoder, args.device, out)


if __name__ == "__main__":
    main()
