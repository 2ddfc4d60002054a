#!/usr/bin/env python3
"""Writes data/sampler_goldens.txt: what Hugging Face's logits processors keep of random logits.

Needs transformers and torch; the test that reads the file needs neither. Each case is a list of logits that went
through TemperatureLogitsWarper, TopKLogitsWarper and TopPLogitsWarper, in that order, as generate() does; then
softmax. Logits are printed so that they read back to the same float. All of them differ (where some are equal,
Hugging Face's top-k keeps more than k), and no case has its p where float rounding could decide.
"""
import pathlib

import torch
import transformers
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

N = 200
SETTINGS = [  # temperature, top_k (0: off), top_p (1: off)
    (0.6, 20, 0.95),
    (0.7, 20, 0.8),
    (1.0, 0, 1.0),
    (1.0, 0, 0.9),
    (1.0, 0, 0.0),
    (1.0, 1, 1.0),
    (1.0, 7, 1.0),
    (0.3, 50, 0.99),
    (2.0, 0, 0.5),
    (5.0, 199, 0.999),
    (1.0, 200, 0.25),
    (1.0, 1000, 0.7),
    (0.01, 20, 0.95),
    (100.0, 0, 0.95),
    (0.6, 20, 1e-6),
]


def warp(logits, temperature, top_k, top_p):
    scores = TemperatureLogitsWarper(temperature)(None, logits[None])
    if top_k:
        scores = TopKLogitsWarper(top_k)(None, scores)
    if top_p < 1:
        before = torch.softmax(scores[0].double(), 0).sort(descending=True).values.cumsum(0)
        assert (before - top_p).abs().min() > 1e-5, (temperature, top_k, top_p)
        scores = TopPLogitsWarper(top_p)(None, scores)
    return torch.softmax(scores[0].double(), 0)


def main():
    generator = torch.Generator().manual_seed(600)
    lines = [f"# made by make_sampler_goldens.py with transformers {transformers.__version__}"]
    for spread in (1.0, 4.0):
        logits = torch.randn(N, generator=generator) * spread
        assert len(set(logits.tolist())) == N
        lines.append(f"logits {N}")
        lines += [f"{x:.9g}" for x in logits.tolist()]
        for temperature, top_k, top_p in SETTINGS:
            probability = warp(logits, temperature, top_k, top_p)
            kept = [i for i in range(N) if probability[i] > 0]
            lines.append(f"case {temperature} {top_k} {top_p} {len(kept)}")
            lines += [f"{i} {probability[i]:.6e}" for i in kept]
    path = pathlib.Path(__file__).parent / "data" / "sampler_goldens.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
