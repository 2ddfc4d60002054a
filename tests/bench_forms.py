"""bench_forms.py MODEL_DIR: what -w 8 does to a model, and what -w 12 has to set aside. Needs torch and
transformers, takes a GPU if there is one.

The reference is Hugging Face transformers in float32. Beside it: transformers in bf16, and in float32 with
matrices as dot_quantize in dot.h leaves them, with a scale for 64 columns (-w 8), 32 or 128. The reference
answers greedily, the others read its replies: for each token two distributions are compared; where the best
token is another for the first time, a greedy reply would turn away ("after" so many tokens; their median).

A model with a tokenizer is asked questions of tests/tiny/data.py, one of --every 4, and judged as in
test_tiny.py; earlier turns are answered as they should be. One without, from random_model.c, continues 32
lines of 64 random tokens by 64. It first gets outliers, as trained models have them: in one of 128 channels
the norms' weights and the rows of o_proj and down_proj are multiplied by 8 to 10."""

import argparse
import copy
import os
import statistics

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from parity_reference import random_token, rounded
from test_tiny import data, right

GROUPS, BATCH = (32, 64, 128), 64  # columns of a row that share a scale; sequences at a time
WINDOW, ROWS, ROOM = 16, 8, 30  # -w 12: exponents of a row; rows of a block, and weights it can set aside


def set_aside(weights, width):
    """How many weights of each tile are outside of their row's best window. A tile (weights.cuh) has ROWS
    rows and `width` columns, 64 at a time from places that lie as far apart as there are tiles for a row."""
    exponents = (weights.bfloat16().view(torch.int16) >> 7 & 255).long()
    below = torch.zeros(len(weights), 257, device=weights.device)
    below = below.scatter_add_(1, exponents + 1, torch.ones_like(weights)).cumsum(1)
    place = exponents - (below[:, WINDOW:] - below[:, :-WINDOW]).argmax(1, keepdim=True)
    return (place & -WINDOW != 0).view(-1, ROWS, width // 64, weights.shape[1] // width, 64).sum((1, 2, 4))


def add_outliers(model):
    hidden = model.config.hidden_size
    factor = torch.ones(hidden, 1, device=model.device)
    factor[64::128, 0] = torch.linspace(8, 10, hidden // 128)
    for name, weights in model.named_parameters():
        if weights.shape == (hidden,) or "o_proj" in name or "down_proj" in name:
            weights.copy_((weights.view(hidden, -1) * factor).bfloat16().view_as(weights))


def prompt(tokenizer, case):
    """The tokens before the last reply of a case."""
    messages = [{"role": "system", "content": case.system}] if case.system else []
    for user, reply in case.turns:
        messages += {"role": "user", "content": user}, {"role": "assistant", "content": reply}
    text = tokenizer.apply_chat_template(messages[:-1], tokenize=False, add_generation_prompt=True,
                                         enable_thinking=case.thinking)
    return tokenizer.encode(text, add_special_tokens=False)


def batches(sequences):
    """Their numbers, those of like length together."""
    order = sorted(range(len(sequences)), key=lambda i: len(sequences[i]))
    return [order[at:at + BATCH] for at in range(0, len(order), BATCH)]


def answer(model, prompts, most, ends):
    """Greedy replies, each through its end token."""
    replies = [None] * len(prompts)
    for batch in batches(prompts):
        longest = len(prompts[batch[-1]])
        ids = torch.tensor([[0] * (longest - len(prompts[i])) + prompts[i] for i in batch])
        mask = torch.arange(longest) >= torch.tensor([[longest - len(prompts[i])] for i in batch])
        both = model.generate(ids.to(model.device), attention_mask=mask.long().to(model.device),
                              do_sample=False, max_new_tokens=most, eos_token_id=ends, pad_token_id=0)
        for i, reply in zip(batch, both[:, longest:].tolist()):
            replies[i] = reply[:min((reply.index(e) + 1 for e in ends or [] if e in reply), default=most)]
    return replies


def compare(model, forms, prompts, replies):
    """For each form and reply, how its logits a for each token differ from the model's, b: (3, tokens) of
    ||a - b|| / ||b||, KL divergence, whether the best token is the same."""
    results = [[None] * len(prompts) for _ in forms]
    texts = [prompt + reply for prompt, reply in zip(prompts, replies)]
    for batch in batches(texts):
        longest = len(texts[batch[-1]])
        ids = torch.tensor([texts[i] + [0] * (longest - len(texts[i])) for i in batch], device=model.device)
        hidden = [m.model(ids, use_cache=False).last_hidden_state for m in (model, *forms)]
        for row, i in enumerate(batch):
            at = slice(len(prompts[i]) - 1, len(texts[i]) - 1)
            b, *others = [m.lm_head(h[row, at]).double() for m, h in zip((model, *forms), hidden)]
            for result, a in zip(results, others):
                kl = (b.softmax(-1) * (b.log_softmax(-1) - a.log_softmax(-1))).sum(-1)
                off = (a - b).norm(dim=-1) / b.norm(dim=-1)
                result[i] = torch.stack((off, kl, a.argmax(-1) == b.argmax(-1))).cpu()
    return results


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model_dir")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--every", type=int, default=4)
    arguments = parser.parse_args()
    folder, cases, most, ends = arguments.model_dir, [], 64, None
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).to(arguments.device)
    if os.path.exists(os.path.join(folder, "tokenizer.json")):
        tokenizer = AutoTokenizer.from_pretrained(folder)
        cases, most, ends = data.test_set()[::arguments.every], 400, model.generation_config.eos_token_id
        prompts = [prompt(tokenizer, case) for case in cases]
    else:
        add_outliers(model)
        prompts = [[random_token(64 * n + i, model.config.vocab_size) for i in range(64)] for n in range(32)]
    forms = {"bf16": copy.deepcopy(model).bfloat16()} | {group: copy.deepcopy(model) for group in GROUPS}
    for group in GROUPS:
        for weights in forms[group].parameters():
            if weights.dim() == 2:
                weights.copy_(rounded(weights, group))
    replies = answer(model, prompts, most, ends)
    good = [right(case, tokenizer.decode(reply[:-1]) + "\n") for case, reply in zip(cases, replies)]
    print(f"{len(replies)} replies, {sum(map(len, replies))} tokens, {sum(good)} of {len(cases)} right\n")
    print("| scale for | logits off by | mean KL | 99 % | same best | other replies | after | right |\n|"
          + " ---: |" * 8)
    for name, results in zip(forms, compare(model, forms.values(), prompts, replies)):
        off, kl, same = torch.cat(results, 1)
        other = {i: result[2].argmin().item() for i, result in enumerate(results) if not result[2].all()}
        still = good[:]
        for i in other if cases else []:
            reply = answer(forms[name], [prompts[i]], most, ends)[0]
            still[i] = right(cases[i], tokenizer.decode(reply[:-1]) + "\n")
        print(f"| {name} | {off.mean():.1e} | {kl.mean():.1e} | {kl.quantile(0.99):.1e} |"
              f" {100 * same.mean():.2f} % | {len(other)} |"
              f" {statistics.median(other.values()) if other else ''} | {sum(still) if cases else ''} |")

    width = model.config.hidden_size
    aside = {name: set_aside(w, width) for name, w in model.named_parameters() if w.dim() == 2}
    share = torch.cat([count.flatten() for count in aside.values()]).double() / ROWS / width
    print(f"\n-w 12 sets aside {share.mean():.1e} of the weights, {share.max() * ROWS * width:.0f} of a block"
          f" at most; more than {ROOM} in:", *[name for name in aside if aside[name].max() > ROOM])


if __name__ == "__main__":
    main()
