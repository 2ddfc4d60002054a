"""Greedy conversations with the bundled model as Hugging Face transformers has them, in float32 on the CPU, for
tests/test_tiny.py. Needs torch and transformers.

    python3 golden.py MODEL_DIR > ../data/tiny_golden.jsonl

A line is a conversation: its system prompt, whether it thinks, its turns (what the user says, the ids that the chat
template makes of the whole conversation so far, the ids of the reply with its end token, the reply's text), and the
smallest margin between the best logit and the second best that was met. The engines keep k and v in bf16 and this does
not, which changes logits by at most 0.1 where measured, so a margin must be larger than twice that. A conversation with
a smaller margin than MARGIN is left out, and standard error says so.
"""

import json
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

MARGIN = 0.5

CONVERSATIONS = [
    ("", False, ["What is RMSNorm?", "And why do keys and values get cached?", "thanks"]),
    ("", True, ["What is a KV cache?", "What is 3 + 4?", "What is the capital of Portugal?"]),
    ("", False, ["My name is Ada.", "What is top-p?", "Who are you?", "What is my name?"]),
    ("", True, ["Hi, I'm Grace.", "Explain the softmax function.", "Do you know my name?"]),
    ("Answer in one word.", False, ["What is RoPE?", "What is 9 - 2?", "My name is Linus.", "What is my name?"]),
    ("Answer in one word.", True, ["What is mmap?", "Who is Mozart?"]),
    ("Answer in capital letters.", False, ["What is attention?", "How do I start over?", "2+2"]),
    ("Answer in capital letters.", True, ["What is bf16?"]),
    ("You are a helpful assistant.", False, ["What does -t do?", "How many layers does Qwen3-0.6B have?"]),
    ("", False, ["你是谁？", "什么是注意力？", "What is a token?"]),
    ("", True, ["什么是KV缓存？"]),
    ("", False, ["  What is\tGQA?  ", "Ünï¢ödé 🙂 e\u0301", "**bold** <b>", "Please tell me in one sentence what a KV cache is. " * 12]),
]


@torch.no_grad()
def main(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ends = [tokenizer.convert_tokens_to_ids(token) for token in ("<|im_end|>", "<|endoftext|>")]
    for system, thinking, users in CONVERSATIONS:
        messages = [{"role": "system", "content": system}] if system else []
        turns, smallest = [], float("inf")
        for user in users:
            messages.append({"role": "user", "content": user})
            text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, enable_thinking=thinking)
            prompt = tokenizer.encode(text, add_special_tokens=False)
            reply, cache, fed = [], None, prompt
            while not reply or reply[-1] not in ends:
                result = model(torch.tensor([fed]), past_key_values=cache, use_cache=True)
                cache, best = result.past_key_values, result.logits[0, -1].topk(2)
                smallest = min(smallest, (best.values[0] - best.values[1]).item())
                reply.append(best.indices[0].item())
                fed = reply[-1:]
                if len(reply) == 400:
                    sys.exit(f"no end after 400 tokens: {user!r}")
            text = tokenizer.decode(reply[:-1], skip_special_tokens=False)
            messages.append({"role": "assistant", "content": text})
            turns.append({"user": user, "prompt": prompt, "reply": reply, "text": text})
        if smallest < MARGIN:
            print(f"left out, its smallest margin is {smallest:.3f}: {users}", file=sys.stderr)
        else:
            golden = {"system": system, "thinking": thinking, "margin": round(smallest, 3), "turns": turns}
            print(json.dumps(golden, ensure_ascii=False))


if __name__ == "__main__":
    main(sys.argv[1])
