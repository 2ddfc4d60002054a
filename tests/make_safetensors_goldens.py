#!/usr/bin/env python3
"""Writes data/safetensors_{qwen600,qwen600-tiny}.json: the headers of the files that transformers saves for models
of the two shapes in config.h. Needs transformers and torch, and 1.2 GB of room for a moment; the test needs neither.
"""
import pathlib
import tempfile

import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

SHAPES = {
    "qwen600": dict(vocab_size=151936, hidden_size=1024, num_hidden_layers=28, num_attention_heads=16,
                    num_key_value_heads=8, head_dim=128, intermediate_size=3072),
    "qwen600-tiny": dict(vocab_size=2048, hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
                         num_key_value_heads=2, head_dim=128, intermediate_size=512),
}


def main():
    folder = pathlib.Path(__file__).parent / "data"
    folder.mkdir(exist_ok=True)
    for name, shape in SHAPES.items():
        config = Qwen3Config(**shape, tie_word_embeddings=True)
        with torch.device("meta"):
            model = Qwen3ForCausalLM(config).to(torch.bfloat16)
        model.to_empty(device="cpu").tie_weights()
        with tempfile.TemporaryDirectory() as saved:
            model.save_pretrained(saved)
            with open(f"{saved}/model.safetensors", "rb") as file:
                header = file.read(int.from_bytes(file.read(8), "little"))
        (folder / f"safetensors_{name}.json").write_bytes(header.rstrip() + b"\n")


if __name__ == "__main__":
    main()
