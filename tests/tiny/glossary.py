"""What the bundled model knows: the program, the ideas in it, Qwen3-0.6B, and itself.

A topic has names (noun phrases that fit into "What is ...?", a plural one marked with +), the answer in one word, the
answer, questions of its own to learn from (ask), and questions that it must never see before it is tested (test).
data.py makes the wordings. Answers are ASCII, so that capital letters are a matter of str.upper.
"""

from collections import namedtuple

Topic = namedtuple("Topic", "key names word answer ask test")


def split(text, by):
    return [piece.strip() for piece in text.split(by) if piece.strip()]


def topic(names, word, answer, ask="", test=""):
    names, ask, test = split(names, ";"), split(ask, "|"), split(test, "|")
    return Topic((names or ask)[0].lstrip("+"), names, word, answer, ask, test)


TOPICS = [
    # The model's arithmetic.
    topic("RMSNorm; RMS norm; root mean square norm; RMS normalization; rms-norm", "normalization",
          "RMSNorm divides a vector by its root mean square and multiplies it by learned weights. "
          "It keeps the size of the activations steady from layer to layer.",
          "How does the model normalize its activations? | Which norm does Qwen3 use? | What does RMSNorm compute?",
          "Why are vectors normalized with RMSNorm? | How is RMSNorm calculated?"),
    topic("LayerNorm; layer norm; layer normalization", "normalization",
          "LayerNorm subtracts the mean of a vector and divides by its standard deviation. "
          "Qwen3 uses RMSNorm instead, which skips the mean and is cheaper.",
          "Does Qwen3 use LayerNorm? | What is the difference between LayerNorm and RMSNorm? | "
          "RMSNorm or LayerNorm? | RMSNorm vs LayerNorm | How does RMSNorm differ from LayerNorm?",
          "How do LayerNorm and RMSNorm differ?"),
    topic("q/k norm; QK norm; the query and key norm; q_norm; k_norm; the norm of queries and keys", "stability",
          "Qwen3 applies RMSNorm to every query head and key head before RoPE. "
          "That keeps the attention scores in a safe range.",
          "Why does Qwen3 normalize queries and keys? | What happens to queries and keys before RoPE?",
          "Why are q and k normalized?"),
    topic("RoPE; rotary position embedding; rotary embeddings; rotary position encoding; rope", "rotation",
          "RoPE, rotary position embedding, rotates pairs of numbers in queries and keys by an angle that grows with "
          "the position. So a score depends on how far apart two tokens are.",
          "How does the model know the order of the tokens? | How are positions encoded? | "
          "What does RoPE rotate? | How does the model know where a token stands?",
          "How does rotary embedding work? | How does the model know the order of words?"),
    topic("RoPE theta; rope_theta; the base of RoPE; the RoPE base; theta", "frequency",
          "RoPE theta is the base of the rotation frequencies. It is 1,000,000 in Qwen3-0.6B, "
          "so the slowest pairs hardly turn over a long context.",
          "Which theta does RoPE use here? | What value has rope_theta?", "How large is RoPE's theta?"),
    topic("a position; +positions; the position of a token", "index",
          "A position is the index of a token in the context, counted from 0. RoPE makes it known to attention.",
          "What is pos?", "From which number are positions counted?"),
    topic("attention; self-attention; the attention mechanism; an attention layer; self attention", "lookup",
          "Attention lets a token gather from the tokens before it: its query is compared with their keys, "
          "and the softmax of the scores weighs their values.",
          "How do tokens exchange information? | What does attention compute?",
          "How does attention combine values?"),
    topic("a causal mask; the causal mask; causal attention; causal masking", "order",
          "The causal mask lets a token attend only to itself and to earlier tokens. "
          "So the model cannot see the token that it must predict.",
          "Why can a token not see later tokens? | Can a token attend to the future?",
          "Why is attention causal?"),
    topic("multi-head attention; MHA; multihead attention", "parallelism",
          "Multi-head attention runs several attentions side by side, each with its own queries, keys and values. "
          "Their outputs are joined and projected back.",
          "Why does attention have several heads?", "Why use more than one head?"),
    topic("an attention head; a head; +attention heads; head_dim; the head dimension", "part",
          "A head is one of the parallel attentions of a layer. In Qwen3-0.6B each head is 128 numbers wide.",
          "How wide is a head? | What is the head dimension of Qwen3-0.6B?", "How many numbers are in one head?"),
    topic("GQA; grouped-query attention; grouped query attention; group query attention", "sharing",
          "GQA, grouped-query attention, lets several query heads share one key/value head. "
          "Qwen3-0.6B has 16 query heads and 8 key/value heads, which halves the KV cache.",
          "Why are there fewer key/value heads than query heads? | Why do heads share keys and values?",
          "How does GQA make the KV cache smaller?"),
    topic("a query, a key and a value; +queries, keys and values; QKV; a query; a key; a value; q, k and v; "
          "+keys and values; the q, k and v projections; q_proj", "projections",
          "A query says what a token looks for, a key what it offers, and a value what it passes on. "
          "All three are projections of the hidden state.",
          "What do q, k and v stand for? | What is the difference between a key and a value?",
          "What are the roles of query, key and value?"),
    topic("an attention score; +attention scores; the attention score", "similarity",
          "An attention score is the dot product of a query and a key, divided by the square root of the head's width. "
          "Softmax turns the scores into weights.",
          "How is an attention score computed? | Why divide by the square root of the head dimension?",
          "What do we get when a query meets a key?"),
    topic("softmax; the softmax function; the softmax", "probabilities",
          "Softmax turns scores into probabilities: it exponentiates them and divides by their sum. "
          "Subtracting the largest score first avoids overflow.",
          "How do scores become probabilities? | Why subtract the maximum in softmax?",
          "What does softmax do with logits?"),
    topic("online softmax; the online softmax; streaming softmax", "streaming",
          "Online softmax needs one pass: it keeps a running maximum and a running sum and rescales them when the "
          "maximum grows. So attention needs no n x n matrix in memory.",
          "How can softmax be computed in one pass? | How does attention avoid an n x n matrix?",
          "Why is the softmax called online?"),
    topic("FlashAttention; flash attention; flash-attention", "tiling",
          "FlashAttention computes attention tile by tile with online softmax. "
          "It never writes all the scores to memory, so it is fast and needs little of it.",
          "How does FlashAttention save memory?", "Why is FlashAttention fast?"),
    topic("+logits; a logit; the logits; logits", "scores",
          "Logits are the raw scores that the model gives to every token of the vocabulary. "
          "Softmax turns them into probabilities.",
          "What does the model output for each token? | What comes out of the last layer?",
          "What are the raw scores of the model called?"),
    topic("an embedding; the embedding table; +embeddings; the embedding; a token embedding; embed_tokens", "vector",
          "The embedding table has one row of numbers for every token. "
          "The row of the current token is where the residual stream starts.",
          "How does a token become a vector? | What does the embedding layer do?",
          "How are token ids turned into vectors?"),
    topic("+tied embeddings; weight tying; tied weights; embedding tying", "sharing",
          "Tied embeddings mean that the output matrix is the embedding table itself. "
          "In Qwen3-0.6B that saves 311 MB.",
          "Why are the embeddings tied? | Why is the embedding used twice? | What does tying save?",
          "How much memory do tied embeddings save?"),
    topic("lm_head; the lm_head; the output matrix; the LM head; the output projection", "output",
          "The lm_head is the matrix that turns the last hidden state into logits. "
          "Here it is the embedding table, so it is not loaded a second time.",
          "Is lm_head.weight needed? | Why is lm_head not uploaded?", "Where does the output matrix come from?"),
    topic("the residual stream; a residual stream; the residual connection; +residual connections; "
          "a skip connection; the hidden state; a hidden state", "highway",
          "The residual stream is the vector that runs through all layers. "
          "Attention and the MLP each read it and add their result to it.",
          "What runs through all the layers? | Why is the input of a layer added to its output?",
          "Where do the layers write their results?"),
    topic("the hidden size; hidden_size; HIDDEN; the width of the model; the model dimension", "width",
          "The hidden size is the width of the residual stream: 1,024 in Qwen3-0.6B and 256 in me.",
          "How wide is the model? | What is the hidden size of Qwen3-0.6B? | How wide is the residual stream?",
          "How large is the hidden size of Qwen3?"),
    topic("a layer; a transformer block; a transformer layer; +layers; a decoder layer", "block",
          "A layer is one transformer block: RMSNorm and attention, then RMSNorm and the MLP, "
          "each half added to the residual stream.",
          "What happens in a layer? | What is inside a transformer block?", "Which steps make up one layer?"),
    topic("a transformer; the transformer; the transformer architecture; +transformers", "network",
          "A transformer is a neural network made of layers of attention and MLPs. "
          "It predicts the next token from all the tokens before it.",
          "Which architecture does Qwen3 have? | What kind of network is Qwen3?", "How is a transformer built?"),
    topic("an MLP; the MLP; the feed-forward network; FFN; a feed-forward layer; the feed forward network", "mixing",
          "The MLP, or feed-forward network, treats every token alone: it projects up, applies SwiGLU and projects "
          "down. In Qwen3-0.6B it is 3,072 wide.",
          "How wide is the MLP? | What does the feed-forward network do? | What is the intermediate size?",
          "What comes after attention in a layer?"),
    topic("SwiGLU; the SwiGLU activation; swiglu; a gated MLP; gate_proj; up_proj; down_proj", "gating",
          "SwiGLU multiplies the SiLU of one projection, the gate, by a second projection, up. "
          "The down projection brings the product back to the hidden size.",
          "Which activation does the MLP use? | What do gate, up and down do?", "How does SwiGLU use its gate?"),
    topic("SiLU; the SiLU function; swish; the swish function", "activation",
          "SiLU is x times the sigmoid of x. It is the smooth activation function inside SwiGLU.",
          "What is the formula of SiLU? | Which activation function is used?", "How is SiLU defined?"),
    topic("a neural network; +neural networks; a neural net", "function",
          "A neural network is a function made of simple steps, mostly matrix products, "
          "whose weights are learned from examples.",
          "How does a neural network learn?", "What is a neural network made of?"),
    topic("a language model; an LLM; a large language model; LLMs; +language models", "predictor",
          "A language model predicts the next token of a text. Doing this again and again, it writes.",
          "How does a language model write? | What does LLM stand for?", "What does an LLM predict?"),
    topic("autoregressive generation; autoregression; next-token prediction; next token prediction; text generation",
          "repetition",
          "The model writes one token at a time: it predicts the next token, appends it, and predicts again.",
          "How is text generated? | How does the model generate text? | How do you write a reply?",
          "Why is the model called autoregressive?"),
    topic("inference; model inference", "running",
          "Inference is running a trained model to get answers. It is all that this program does: it cannot train.",
          "What is an inference engine? | What does inference mean for a language model?",
          "How does inference differ from training?"),
    topic("training; training a model; model training", "learning",
          "Training adjusts the weights until the model predicts its training text well. "
          "This program does not train; my own recipe is in tests/tiny.",
          "Can this program train a model? | How were you trained? | Does qwen600 support training? | Can I fine-tune with it?",
          "Where is your training recipe?"),
    topic("a tensor; +tensors", "array",
          "A tensor is an array of numbers with a shape, such as a matrix of 3,072 rows and 1,024 columns.",
          "What is the shape of a tensor?", "What do we call an array with a shape?"),
    topic("+weights; +parameters; a weight; a parameter; the weights; model weights", "numbers",
          "Weights are the numbers that a model learned in training. "
          "Qwen3-0.6B has 596 million of them, 1.19 GB in bf16.",
          "How many parameters does Qwen3-0.6B have? | How big is Qwen3-0.6B? | How large is the real model? | "
          "How many weights are there? | How many parameters has Qwen3?",
          "What is the parameter count of Qwen3-0.6B?"),
    topic("+activations; an activation", "intermediates",
          "Activations are the numbers that the model computes on the way from a token to its logits. "
          "They are kept in fp32 wherever that is cheap.",
          "What are intermediate results called?", "What is computed between input and output?"),
    topic("a matrix product; matrix multiplication; a matmul; GEMM; +matrix products", "multiplication",
          "A matrix product is the main work of the model: each output is the dot product of a row of weights "
          "with the input.",
          "What is most of the work in a transformer?", "Which operation takes most of the time?"),
    topic("GEMV; a matrix-vector product; matrix-vector multiplication", "streaming",
          "A matrix-vector product uses every weight just once. "
          "In decode all products are of this kind, so their speed is that of the memory.",
          "Why is decode made of matrix-vector products?", "Why is GEMV slow?"),
    topic("a dot product; the dot product", "sum",
          "A dot product multiplies two vectors number by number and adds up the results.",
          "How is a dot product computed?", "How do I multiply two vectors?"),
    # The cache and the two phases.
    topic("a KV cache; the KV cache; KV caching; the key-value cache; a key/value cache; kv-cache; kvcache", "cache",
          "The KV cache keeps the keys and values of all earlier tokens. "
          "So a new token computes only its own and attends to the stored ones.",
          "Why are keys and values stored? | What is kept from earlier tokens? | Why not compute old keys again?",
          "What does the KV cache store?"),
    topic("the size of the KV cache; the KV cache size; the memory of the KV cache", "gigabyte",
          "The KV cache of Qwen3-0.6B takes 112 KiB per token: 28 layers, 8 heads, 128 numbers, keys and values, "
          "2 bytes each. At 8,192 tokens that is 0.94 GB.",
          "How big is the KV cache? | How much memory does the KV cache need? | How large is the KV cache? | "
          "How many bytes does the KV cache take per token?",
          "How much space does the KV cache take?"),
    topic("the layout of the KV cache; the KV cache layout", "contiguous",
          "The KV cache is laid out as layer, head, position, number. So the keys of one head lie side by side.",
          "How is the KV cache laid out? | How is the KV cache arranged in memory?",
          "In which order is the KV cache stored?"),
    topic("prefill; the prefill phase; prompt processing; prefilling", "reading",
          "Prefill runs all tokens of the prompt through the model at once and fills the KV cache. "
          "It is limited by arithmetic, so it uses tensor cores.",
          "What happens to the prompt first? | How is the prompt processed? | What happens before the first token?",
          "How does the program read a long prompt?"),
    topic("decode; decoding; the decode phase; the decode step; token generation", "writing",
          "Decode makes one token at a time. Each token reads every weight once, so memory bandwidth sets the speed.",
          "How is the next token made? | What limits the speed of decoding?", "Why is decoding limited by memory?"),
    topic("the difference between prefill and decode", "parallelism",
          "Prefill handles many tokens at once and is limited by arithmetic. "
          "Decode handles one at a time and is limited by memory bandwidth.",
          "Prefill vs decode | Prefill or decode? | How do prefill and decode differ? | Compare prefill and decode. | "
          "How does prefill differ from decode?",
          "In what way is decode different from prefill?"),
    topic("a chunk; chunked prefill; PREFILL_CHUNK; +chunks", "piece",
          "Long prompts go through prefill in chunks of a fixed size, so the memory for activations stays constant.",
          "Why is prefill done in chunks? | How are long prompts handled?", "Why split a long prompt?"),
    topic("prefix reuse; the common prefix; prefix caching", "reuse",
          "The program remembers which tokens the KV cache holds. "
          "On the next turn it prefills only what comes after the longest common prefix.",
          "Is the whole conversation processed again each turn? | Does it read the old turns again?",
          "What is reused from turn to turn?"),
    topic("time to first token; TTFT; the time to the first token", "latency",
          "Time to first token is how long you wait until the reply begins. It is mostly prefill.",
          "How long until the reply starts?", "Why is there a wait before the first token?"),
    topic("+tokens per second; the token rate; tokens/s; the decode speed", "speed",
          "Tokens per second is how fast a reply is written. "
          "At best it is the memory bandwidth divided by the bytes read for one token.",
          "How is speed measured? | How fast can decode be? | What is the speed limit of decode?",
          "How do I estimate the fastest possible decode?"),
    topic("the batch size; batch size; a batch", "one",
          "The batch size is how many texts are decoded together. This program serves one person, so it is 1.",
          "Which batch size does qwen600 use? | Can it serve many users?", "How many conversations run at once?"),
    topic("speculative decoding", "guessing",
          "Speculative decoding lets a small model guess several tokens, which the large one checks at once. "
          "This program does not do it.",
          "Does qwen600 use speculative decoding?", "Can a small model speed up a large one?"),
    topic("quantization; +quantized weights; 4-bit quantization; quantisation; int8", "compression",
          "Quantization stores weights in fewer bits, such as 8 or 4. This program does not quantize: it keeps bf16.",
          "Does qwen600 support quantization? | Can I use a GGUF file? | Are the weights quantized?",
          "Can I run a 4-bit model?"),
    # Sampling.
    topic("the sampler; sampling; a sampler; token sampling", "choosing",
          "The sampler picks the next token: it applies temperature, then top-k, then top-p, and draws at random.",
          "How is the next token chosen? | In which order are the sampling steps applied? | How do you pick a token?",
          "Which comes first, top-k or temperature?"),
    topic("temperature; the temperature; sampling temperature", "randomness",
          "Temperature divides the logits before softmax. "
          "Low values make the choice safer, high ones more random, and 0 always takes the best token.",
          "How do I make the output more random? | What does a high temperature do? | What does temperature 0 do?",
          "What happens when the temperature is low?"),
    topic("top-k; top k; top-k sampling; topk; top_k", "truncation",
          "Top-k keeps only the k most likely tokens before one is drawn. The default is 20, and 0 turns it off.",
          "What is k in sampling?", "How many tokens does top-k keep?"),
    topic("top-p; top p; nucleus sampling; top-p sampling; topp; top_p; the nucleus", "nucleus",
          "Top-p, or nucleus sampling, keeps the smallest set of most likely tokens whose probabilities add up to p. "
          "The rest is never drawn.",
          "What is p in sampling?", "How does nucleus sampling choose its tokens?"),
    topic("the difference between top-k and top-p", "adaptivity",
          "Top-k keeps a fixed number of tokens. Top-p keeps as many as it takes to reach the probability p, "
          "so it adapts to how sure the model is.",
          "Top-k vs top-p | Top-k or top-p? | How do top-k and top-p differ? | Compare top-k and top-p. | "
          "How does top-k differ from top-p?",
          "In what way is top-p different from top-k?"),
    topic("greedy decoding; greedy; greedy sampling; greedy search", "best",
          "Greedy decoding always takes the most likely token, as with -t 0. "
          "It is repeatable, but in thinking mode it may loop.",
          "How do I always get the most likely token? | How do I turn off randomness?",
          "Which method always takes the best token?"),
    topic("a seed; the seed; a random seed; the random seed", "randomness",
          "The seed starts the random number generator. The same seed, device and turns give the same tokens.",
          "How do I get the same answer again? | Why does the answer change each time?",
          "How can I repeat a random reply exactly?"),
    topic("determinism; reproducibility; deterministic output", "repeatable",
          "The same seed, device and turns always give the same tokens. "
          "So there are no floating-point atomics, whose order would change the sums.",
          "Is the output deterministic? | Are results reproducible? | Why are there no atomics? | Why avoid floating-point atomics?",
          "Does the same seed always give the same text?"),
    topic("the recommended sampling; +the recommended settings; +the best settings", "sampling",
          "For thinking use temperature 0.6 and top-p 0.95, otherwise 0.7 and 0.8, both with top-k 20. "
          "Never be greedy when thinking.",
          "Which settings should I use? | Which temperature is recommended? | What sampling does Qwen recommend? | "
          "Which temperature should I use for thinking?",
          "What temperature and top-p do you recommend?"),
    topic("+repetition loops; a repetition loop; looping", "repetition",
          "A model can get stuck and repeat itself, most often with greedy decoding in thinking mode. "
          "A temperature above 0 helps.",
          "Why does the reply repeat itself? | The model repeats itself, what can I do? | Why does it loop?",
          "How do I stop endless repetition?"),
    # Numbers and files.
    topic("bf16; bfloat16; BF16; brain float; the bf16 format", "float",
          "bf16 is a 16-bit float with the 8 exponent bits of fp32 and 7 bits of fraction. "
          "It has the range of fp32 in half the space.",
          "How many bits has bf16? | Why are the weights in bf16? | Which number format do the weights have?",
          "What is the number format of the weights?"),
    topic("fp32; float32; single precision; F32; 32-bit floats", "float",
          "fp32 is a 32-bit float with 8 exponent bits and 23 bits of fraction. "
          "Norms, softmax and all sums are computed in it.",
          "How many bits has fp32? | What is computed in fp32?", "Where does the program use fp32?"),
    topic("fp16; float16; half precision; F16", "float",
          "fp16 is a 16-bit float with 5 exponent bits and 10 bits of fraction. "
          "It is finer than bf16 but overflows above 65,504.",
          "How many bits has fp16? | Bf16 vs fp16 | What is the difference between bf16 and fp16? | bf16 or fp16?",
          "When does fp16 overflow?"),
    topic("mmap; memory mapping; a memory-mapped file; memory-mapped files", "mapping",
          "mmap maps a file into memory, and the system loads its pages when they are touched. "
          "The weights are read this way, without a copy.",
          "How are the weights read from disk? | How is the file loaded?", "Why is the weights file mapped?"),
    topic("safetensors; the safetensors format; a safetensors file; safetensor", "format",
          "safetensors is a file format for weights: a JSON header with names, types, shapes and offsets, "
          "then the raw numbers. It cannot run code.",
          "How are the weights stored? | What is in the header of a safetensors file? | Why is safetensors safe?",
          "Which file format do the weights use?"),
    topic("model.safetensors; the weights file", "weights",
          "model.safetensors holds the weights. For Qwen3-0.6B it has 311 tensors in bf16, about 1.5 GB.",
          "Which file holds the weights? | How many tensors are in the file? | How big is model.safetensors?",
          "Where are the weights kept?"),
    topic("sha256; a checksum; the sha256 of the weights; the checksum", "fingerprint",
          "A sha256 is a fingerprint of a file. Compare it after the download to see that the weights are complete.",
          "How do I check the download? | Why check the sha256?", "How can I verify the weights file?"),
    topic("Git LFS; a Git LFS pointer; an LFS pointer", "pointer",
          "Git LFS keeps large files outside the repository and leaves a small pointer file instead. "
          "Run git lfs pull to get the real weights.",
          "Why is my model.safetensors so small? | I only got a pointer file, what now?",
          "My weights file has only a few bytes. Why?"),
    topic("config.json", "shape",
          "config.json is the model's own description of its shape. export.py compares it with config.h.",
          "Who reads config.json?", "Where does a model describe its shape?"),
    topic("tokenizer.json", "vocabulary",
          "tokenizer.json is the Hugging Face tokenizer: vocabulary, merges and rules. "
          "export.py turns it into tokenizer.bin.",
          "Which file is the Hugging Face tokenizer?", "What is in tokenizer.json?"),
    topic("tokenizer.bin; the file tokenizer.bin", "vocabulary",
          "tokenizer.bin holds the bytes of every token, the merges by rank, the control tokens and the Unicode "
          "tables. export.py makes it.",
          "What is in tokenizer.bin? | Where does tokenizer.bin come from? | tokenizer.bin is missing, what now? | How do I make tokenizer.bin?",
          "Which file does the tokenizer load?"),
    # Text.
    topic("a token; +tokens; tokens; a text token", "piece",
          "A token is a piece of text that the model treats as one unit, such as a word or a part of one. "
          "Its number is the token id.",
          "What does the model read? | Is a token a word? | What is a token id?", "What is the unit of text for the model?"),
    topic("a tokenizer; the tokenizer; tokenization; the Qwen tokenizer", "splitting",
          "The tokenizer turns text into token ids and back. It is byte-level BPE, exactly as in Qwen3.",
          "How does text become tokens? | Which tokenizer is used? | How is text split into tokens?",
          "What converts text into ids?"),
    topic("BPE; byte pair encoding; byte-pair encoding", "merging",
          "BPE, byte pair encoding, starts from single bytes and joins pairs that were frequent in training, "
          "lowest rank first, until no pair is left.",
          "How does BPE work on a word?", "How does byte pair encoding build tokens?"),
    topic("byte-level BPE; a byte-level tokenizer; byte-level; byte level BPE", "bytes",
          "Byte-level means that BPE works on the bytes of UTF-8. So any text can be encoded and no token is unknown.",
          "Can every text be encoded? | Why does BPE work on bytes?", "Is there an unknown token?"),
    topic("a merge; +merges; the merge list; a merge rank; +merge ranks", "pair",
          "A merge joins two tokens into a longer one. The merges have ranks, and the lowest rank is applied first.",
          "In which order are merges applied?", "Which merge is applied first?"),
    topic("the vocabulary; a vocabulary; the vocab; the vocabulary size", "tokens",
          "The vocabulary is the set of all tokens. Qwen3-0.6B has room for 151,936 of them; I have 2,048.",
          "How many tokens does Qwen3 know? | How big is the vocabulary? | What is the vocabulary size of Qwen3-0.6B? | "
          "How large is the vocabulary of Qwen3?",
          "How many entries does the vocabulary have?"),
    topic("the pre-tokenizer; pre-tokenization; a pre-tokenizer; the split pattern", "splitting",
          "The pre-tokenizer cuts text into words, digits, punctuation and spaces by a pattern. "
          "BPE never joins across these cuts.",
          "What happens before BPE?", "Why is text cut before BPE?"),
    topic("NFC; Unicode normalization; NFC normalization", "normalization",
          "NFC is a Unicode form that joins letters and their accents into single characters. "
          "The tokenizer applies it first, so equal text gives equal tokens.",
          "How are accents handled? | Why is text normalized to NFC?", "What happens to letters with accents?"),
    topic("Unicode; a code point; +code points; the Unicode tables", "characters",
          "Unicode gives every character a number, its code point. "
          "The tokenizer has tables that tell letters, numbers and spaces apart.",
          "Why does the tokenizer need Unicode tables?", "How are characters numbered?"),
    topic("UTF-8; utf8; UTF-8 encoding", "encoding",
          "UTF-8 writes a character as one to four bytes. "
          "The program holds bytes back until they form a whole character.",
          "How many bytes has a character? | Why are bytes held back? | How are half characters handled?",
          "How is text stored as bytes?"),
    topic("+control tokens; +special tokens; a control token; a special token", "markers",
          "Control tokens mark where the turns of a chat begin and end. "
          "They come from the templates only: what you type is always plain text.",
          "Can I type control tokens? | How are turns separated?", "Can a user inject special tokens?"),
    topic("the end token; the stop token; EOS; the end of a reply; an end-of-sequence token", "stop",
          "A reply ends when the model writes its end token, at the limit of -n, at the end of the context, "
          "or at Ctrl-C.",
          "When does a reply end? | How does the model know when to stop? | Why does the reply stop?",
          "What makes a reply stop?"),
    # The conversation.
    topic("thinking mode; thinking; reasoning mode; a think block; the thinking mode; reasoning", "reasoning",
          "In thinking mode the model writes its reasoning before the answer. Turn it on with -r 1.",
          "How do I turn on thinking? | How do I make the model think? | Can you think first? | How do I enable reasoning?",
          "How do I see the reasoning?"),
    topic("non-thinking mode; the non-thinking mode; no-thinking mode", "direct",
          "Without thinking the model answers at once: the prompt already holds an empty think block. "
          "This is the default.",
          "How do I turn off thinking? | What is the default mode? | How do I disable reasoning?",
          "How can I get an answer without reasoning?"),
    topic("a system prompt; the system prompt; a system message; +system prompts", "instruction",
          "A system prompt is an instruction that comes before the conversation and holds for all of it. "
          "Set it with -y.",
          "How do I set a system prompt? | How do I give the model an instruction for all turns? | Which system prompts do you obey?",
          "How can I tell the model how to behave?"),
    topic("a prompt; the prompt; prompts", "input",
          "A prompt is the text that you give to the model. The model continues it with a reply.",
          "What do I type?", "How do we call the input of the model?"),
    topic("a chat template; the chat template; +chat templates; the templates; the template files", "format",
          "The chat template turns the messages of a chat into one text, with control tokens around each turn. "
          "export.py renders it into four small files.",
          "How do messages become one text? | Where do the templates come from? | Which template files are there?",
          "How is a conversation turned into text?"),
    topic("the history; the conversation history; chat history; your memory", "memory",
          "The history is the conversation so far. It is given to the model again each turn, "
          "without the thoughts of earlier replies.",
          "Does it remember earlier turns? | Do you remember what I said? | Are old thoughts kept? | Can you remember things?",
          "Does the model keep its earlier thoughts?"),
    topic("the context; the context length; a context window; the context window; context size", "window",
          "The context is all the tokens that the model can see at once. "
          "The program keeps 8,192 by default, and -c changes that.",
          "How long can a conversation be? | How many tokens fit? | What is the default context length? | How long is the context?",
          "How much text can the model see?"),
    topic("a full context; context overflow; a context that is full", "dropping",
          "When the history no longer fits, the oldest turns are dropped and a line on stderr says so. "
          "The system prompt stays.",
          "What happens when the context is full? | What if the conversation gets too long? | Which turns are dropped?",
          "What happens to old turns?"),
    topic("/clear; the /clear command; the clear command", "reset",
          "/clear forgets the conversation and starts over.",
          "How do I start over? | How do I reset the conversation? | How do I forget everything? | How can I clear the history? | How do I start a new chat?",
          "How can I begin a new conversation?"),
    topic("Ctrl-C; control-C; Ctrl+C; ctrl c; pressing Ctrl-C", "interrupt",
          "Ctrl-C stops the reply and brings the prompt back. At the prompt it ends the program.",
          "How do I stop a reply? | How do I interrupt the model? | How do I cancel an answer?",
          "How can I stop a long reply?"),
    topic("Ctrl-D; end of file; EOF; quitting", "exit",
          "Press Ctrl-D for end of file, or Ctrl-C at the prompt, to leave the program.",
          "How do I quit? | How do I leave? | How do I exit the program? | How do I end the program? | How do I close the chat?",
          "How can I get out of here?"),
    topic("a block of lines; multi-line input; a multi-line prompt; +three double quotes; the triple quotes", "quotes",
          "Three double quotes open a block of several lines and close it again. Otherwise each line is a turn.",
          "How do I enter several lines? | How do I type more than one line? | How do I paste a long text?",
          "Can I write a prompt with many lines?"),
    topic("standard output; stdout; stderr; standard error", "output",
          "Standard output carries the reply and nothing else. "
          "Thinking, prompts, progress and errors go to standard error.",
          "Where does the reply go? | Where do errors go? | Where is the thinking printed? | Can I use it in a pipe?",
          "How can I save only the reply?"),
    topic("the exit status; the exit code; +exit codes; the return code", "status",
          "The exit status is 0 when all went well, 1 when something failed, 2 for wrong usage and 130 when interrupted.",
          "What does exit status 2 mean? | What does exit code 1 mean? | Which exit codes are there?",
          "What does the program return?"),
    topic("NO_COLOR; +colors; the colors; ANSI colors; colours", "plain",
          "On a terminal thinking is dim and bold text is bold. Set NO_COLOR to switch this off.",
          "How do I turn off colors? | Why is the thinking dim? | How do I disable colors?",
          "Can I get output without colors?"),
    # The flags.
    topic("-r; the -r flag; the -r option; flag -r; reasoning flag", "thinking",
          "-r 1 turns on thinking mode; -r 0, the default, answers at once.",
          "How do I use -r? | Which flag turns on thinking?", "What happens with -r 1?"),
    topic("-s; the -s flag; the -s option; flag -s", "seed",
          "-s sets the random seed. By default it comes from the clock.",
          "How do I set the seed? | Which flag sets the seed? | Where does the seed come from?",
          "What happens with -s 42?"),
    topic("-k; the -k flag; the -k option; flag -k", "top-k",
          "-k sets top-k: how many of the most likely tokens may be drawn. The default is 20, and 0 means all.",
          "How do I set top-k? | Which flag sets top-k?", "What happens with -k 40?"),
    topic("-t; the -t flag; the -t option; flag -t", "temperature",
          "-t sets the temperature. The default is 0.6, and 0 means greedy.",
          "How do I set the temperature? | Which flag sets the temperature? | What is the default temperature?",
          "What happens with -t 0.9?"),
    topic("-p; the -p flag; the -p option; flag -p", "top-p",
          "-p sets top-p, a number from 0 to 1. The default is 0.95.",
          "How do I set top-p? | Which flag sets top-p? | What is the default top-p?", "What happens with -p 0.8?"),
    topic("-i; the -i flag; the -i option; flag -i", "prompt",
          "-i answers one prompt and exits. With -i - the prompt is all of standard input.",
          "How do I ask one question and exit? | How do I pass a prompt on the command line? | Which flag takes a prompt?",
          "How do I use it in a script?"),
    topic("-y; the -y flag; the -y option; flag -y", "system",
          "-y sets the system prompt. There is none by default.",
          "Which flag sets the system prompt? | What is the default system prompt?", "How do I use -y?"),
    topic("-n; the -n flag; the -n option; flag -n", "limit",
          "-n limits how many tokens a reply may have. By default a reply may fill the context.",
          "How do I limit the length of a reply? | How do I get shorter replies? | Which flag limits the reply?",
          "How do I cap the number of tokens in a reply?"),
    topic("-c; the -c flag; the -c option; flag -c", "context",
          "-c sets the context length in tokens. The default is 8,192, and a smaller one needs less memory.",
          "How do I change the context length? | Which flag sets the context? | How do I get a longer context?",
          "How do I use -c 4096?"),
    topic("-d; the -d flag; the -d option; flag -d", "device",
          "-d chooses the device, gpu or cpu. Without it the GPU is used if there is one.",
          "How do I choose the device? | How do I force the CPU? | How do I run on the CPU? | Which flag chooses the GPU?",
          "How do I select the GPU engine?"),
    topic("-b; the -b flag; the -b option; flag -b; the benchmark", "benchmark",
          "-b 1 measures the speed of prefill and decode on this machine and exits.",
          "How do I run the benchmark? | How fast is my machine? | How do I measure the speed?",
          "How can I benchmark this machine?"),
    topic("-v; the -v flag; the -v option; flag -v; verbose mode", "verbose",
          "-v 1 prints token ids and timings to standard error.",
          "How do I see the token ids? | How do I see timings? | How do I get more details?",
          "Can the program show its timings?"),
    topic("the usage; the command line; the command line options; +the flags; +the options; the help text", "usage",
          "Usage: qwen600 <model_dir> [options]. "
          "The options are -r, -s, -k, -t, -p, -i, -y, -n, -c, -d, -b and -v; ask me about any of them.",
          "Which flags are there? | Which options does qwen600 have? | How do I run qwen600? | How do I start the program? | "
          "List the options.",
          "What command line arguments can I give?"),
    # The program.
    topic("qwen600; this program; the program qwen600; the qwen600 engine; this project", "engine",
          "qwen600 is a small, fast inference engine in C and CUDA C for Qwen3-0.6B. "
          "It serves one person on one small GPU.",
          "What does this program do? | What is this? | What program is this? | What am I using? | What is qwen600 written in?",
          "What is the goal of qwen600?"),
    topic("main.cu; the file main.cu", "entry",
          "main.cu is the entry: it reads the arguments, opens the model and runs the chat loop. "
          "It is plain C that nvcc also compiles.",
          "Where does the program start? | Which file has main?", "In which file are the arguments read?"),
    topic("config.h; the file config.h", "constants",
          "config.h holds the shape of the model, the limits and the defaults as constants. Edit it and build again.",
          "Where are the constants? | How do I change the defaults? | Where is the shape of the model set?",
          "In which file can I change the defaults?"),
    topic("cpu.h; the CPU engine; the file cpu.h; the cpu engine", "reference",
          "cpu.h is the model in plain C with OpenMP. "
          "It is the reference for the kernels, and the engine where there is no GPU.",
          "Which file has the model in plain C? | Is there a CPU version?", "Where can I read the model in C?"),
    topic("model.cuh; the GPU engine; the file model.cuh; the gpu engine", "GPU",
          "model.cuh is the GPU engine: one allocation, the upload, prefill with cuBLAS and decode.",
          "Which file is the GPU engine? | How does the GPU engine work?", "In which file is prefill for the GPU?"),
    topic("kernels.cuh; the file kernels.cuh", "kernels",
          "kernels.cuh holds the CUDA kernels, each with its shapes, its grid and the reason for them.",
          "Where are the kernels? | Which file has the CUDA code?", "In which file are the CUDA kernels?"),
    topic("chat.h; the file chat.h", "conversation",
          "chat.h owns the conversation: templates, history, the tokens of a turn and the printing of a reply.",
          "Which file handles the conversation? | Where are the templates used?", "In which file is the history kept?"),
    topic("sampler.h; the file sampler.h", "sampling",
          "sampler.h turns the best logits into one token with temperature, top-k, top-p and a seed.",
          "Which file does the sampling? | Where is the sampler?", "In which file is a token drawn?"),
    topic("tokenizer.h; the file tokenizer.h", "tokens",
          "tokenizer.h loads tokenizer.bin and turns bytes into token ids and back.",
          "Which file does the tokenization? | Where is the tokenizer?", "In which file is text encoded?"),
    topic("safetensors.h; the file safetensors.h", "weights",
          "safetensors.h maps the weights file, checks every tensor and hands out pointers.",
          "Which file loads the weights? | Where are the tensors checked?", "In which file are the weights opened?"),
    topic("engine.h; the file engine.h; the engine interface; the four verbs", "interface",
          "engine.h is what the program asks of an engine: open, prefill, decode and close. "
          "The CPU and the GPU engine have the same four verbs.",
          "What is an engine in this program? | Which verbs does an engine have?", "What must every engine be able to do?"),
    topic("export.py; the script export.py; the export script", "export",
          "export.py turns a Hugging Face tokenizer into tokenizer.bin and four templates. "
          "It also checks config.json against config.h.",
          "How do I prepare a model? | How do I convert the tokenizer? | What do I run first on a new model?",
          "Which script prepares the tokenizer?"),
    topic("the model directory; +the files of a model; model_dir; the model folder", "folder",
          "A model directory holds model.safetensors, config.json, tokenizer.bin and the four template files.",
          "Which files do I need? | Which files must be in the model directory? | What belongs in the model folder?",
          "What files does the program need?"),
    topic("building; the build; compiling qwen600; CMake", "make",
          "Type make to build. CMake does the work, and without nvcc the program is built for the CPU only.",
          "How do I build it? | How do I compile the program? | How do I build qwen600? | How do I install it?",
          "What do I type to compile?"),
    topic("make demo; the demo", "demo",
          "make demo builds the program and starts a chat with me, the bundled model.",
          "How do I start the demo? | How do I try it?", "How can I try the program quickly?"),
    topic("make test; +the tests; the test suite", "tests",
          "make test builds the program and runs all tests. "
          "Tests that need a GPU or a missing package are shown as skipped.",
          "How do I run the tests? | How is it tested? | Why is a test skipped?", "How can I check that it works?"),
    topic("nvcc; the CUDA compiler; a missing nvcc", "compiler",
          "nvcc is the CUDA compiler. CMake looks for it on the path and under /usr/local/cuda.",
          "nvcc was not found, what now? | Do I need nvcc? | Why is nvcc not found?", "Where does CMake look for nvcc?"),
    topic("the real model; downloading Qwen3; the real Qwen3 model", "download",
          "Clone Qwen3-0.6B from Hugging Face, check the sha256 of the weights, run export.py on the folder, "
          "and start build/qwen600 with it.",
          "How do I get the real model? | How do I run Qwen3-0.6B? | How do I use the big model? | Where do I get the weights? | "
          "How do I download Qwen3?",
          "How can I chat with the real Qwen3-0.6B?"),
    topic("running without a GPU; CPU mode", "yes",
          "Without a GPU the program says so in one line and uses the CPU engine.",
          "Can I run it without a GPU? | Do I need a GPU? | Does it work without a GPU? | Does it run on a CPU? | "
          "What if I have no GPU? | I have no GPU.",
          "Is a graphics card required?"),
    topic("running out of memory; out of memory; too little GPU memory; an out of memory error", "context",
          "Choose a smaller context with -c: the error line names one that fits.",
          "What do I do when I run out of memory? | My GPU is too small, what now? | It says out of memory. | How do I use less memory?",
          "What helps against out of memory?"),
    topic("the memory that it needs; +the memory requirements; the memory needed; VRAM", "gigabytes",
          "Qwen3-0.6B needs about 1.2 GB for weights and 0.94 GB for the KV cache at 8,192 tokens.",
          "How much memory do I need? | How much VRAM does it use? | How much GPU memory does it need?",
          "Is 4 GB of GPU memory enough?"),
    topic("CUDA_VISIBLE_DEVICES; choosing a GPU", "selection",
          "CUDA_VISIBLE_DEVICES says which GPUs a program may see. Set it to 1 to use the second card.",
          "I have two GPUs, how do I choose one? | Which GPU is used? | How do I use another GPU?",
          "How do I use my second graphics card?"),
    topic("a missing driver; the NVIDIA driver; an old driver; the GPU driver", "driver",
          "The GPU engine needs an NVIDIA driver that is new enough. "
          "If it is missing or old, one line says so and what helps.",
          "What if the driver is missing? | My driver is too old, what happens?", "Do I need to install a driver?"),
    topic("one allocation; the memory plan; the GPU allocation", "block",
          "The GPU engine allocates once: weights, tables, activations and KV cache are carved from one block.",
          "How does it allocate GPU memory? | How is GPU memory managed?", "Why is there only one cudaMalloc?"),
    topic("the upload; uploading the weights; +pinned buffers; pinned memory", "copy",
          "The weights go to the GPU through two pinned buffers, which the system never swaps out. "
          "So reading and copying overlap.",
          "How do the weights get to the GPU? | Why use pinned memory?", "Why are there two buffers for the upload?"),
    topic("OpenMP; +CPU threads", "threads",
          "OpenMP runs a loop on all CPU cores with one line of code. The CPU engine uses it for its matrix products.",
          "Does the CPU engine use all cores? | How does it use many cores?", "How are several CPU cores used?"),
    topic("the license; the licence; licensing", "MIT",
          "The program is under the MIT license. Qwen3-0.6B is under Apache 2.0.",
          "Which license does qwen600 have? | What is the license? | May I use it? | Is it open source? | Is Qwen3 open?",
          "Under which license is the program?"),
    topic("the missing features; +the limits; +the limits of qwen600; a server", "servers",
          "There is no server, no other model, no training, no quantization and no batching. "
          "It is an engine for one person and one model.",
          "What can qwen600 not do? | What is missing? | Does it have a server? | Is there an API? | Can it run other models? | Can I run Llama with it?",
          "Can I use it with a different model?"),
    # The hardware.
    topic("CUDA; NVIDIA CUDA; CUDA C", "GPU",
          "CUDA is NVIDIA's way to program its GPUs in C and C++.",
          "What language are the kernels in?", "How does one program an NVIDIA card?"),
    topic("a GPU; +GPUs; a graphics card; the GPU", "processor",
          "A GPU is a processor with thousands of threads and very fast memory. "
          "It suits the matrix products of a language model.",
          "Why use a GPU? | Which GPU do I need?", "Why is a GPU faster than a CPU?"),
    topic("a CPU; the CPU; +CPUs", "processor",
          "A CPU is the main processor of a computer. Its memory is slower than that of a GPU, so decode is slower too.",
          "Why is the CPU slower?", "Why is decode slow on a CPU?"),
    topic("cuBLAS; the cuBLAS library; cublas", "library",
          "cuBLAS is NVIDIA's library for matrix products. Prefill uses it with bf16 inputs and fp32 sums.",
          "Which library is used for matrix products?", "Who does the matrix products in prefill?"),
    topic("a tensor core; +tensor cores; tensor cores", "multiplier",
          "Tensor cores are units of a GPU that multiply small matrices in one instruction. Prefill lives on them.",
          "Which units multiply matrices?", "What makes prefill so fast?"),
    topic("memory bandwidth; the memory bandwidth; bandwidth", "speed",
          "Memory bandwidth is how many bytes per second can be read. "
          "It limits decode, because every token reads all the weights.",
          "What limits the speed? | Why is decode slow? | What makes decode fast?",
          "Which number of a card matters most for decode?"),
    topic("a memory-bound task; memory-bound; memory bound; the roofline", "waiting",
          "A task is memory-bound when it waits for bytes and not for arithmetic. Decode for one user is the best example.",
          "Is decode memory-bound or compute-bound?", "When is a program memory-bound?"),
    topic("a kernel; a CUDA kernel; +kernels; a GPU kernel", "function",
          "A kernel is a function that runs on the GPU in many threads at once.",
          "What runs on the GPU?", "How is a GPU function called?"),
    topic("a cooperative kernel; the cooperative kernel; a cooperative launch; cooperative launch; +cooperative groups", "synchronization",
          "A cooperative launch makes sure that all blocks of a kernel run at the same time. "
          "So they can wait for each other, and one kernel decodes a whole token.",
          "Why use one kernel per token? | How is a token decoded on the GPU?",
          "How can blocks wait for each other safely?"),
    topic("launch overhead; kernel launch overhead; the cost of a kernel launch", "overhead",
          "Each kernel launch costs a few microseconds. One kernel per token instead of hundreds saves that time.",
          "Why are many small kernels slow?", "Why not launch many small kernels?"),
    topic("a CUDA graph; +CUDA graphs; cuda graph", "recording",
          "A CUDA graph records a series of kernel launches and starts them all with one call. "
          "That makes the launches cheaper.",
          "How can launches be made cheaper?", "Can kernel launches be recorded?"),
    topic("kernel fusion; a fused kernel; +fused kernels; fusion", "joining",
          "A fused kernel does several steps at once, such as residual add and RMSNorm. "
          "It saves trips to memory.",
          "Why are kernels fused?", "Why combine steps in one kernel?"),
    topic("a thread block; a block of threads; a CUDA block; +thread blocks", "group",
          "A thread block is a group of up to 1,024 GPU threads on one multiprocessor that share its shared memory.",
          "How many threads are in a block?", "How big can a thread block be?"),
    topic("a grid; the grid; a CUDA grid", "blocks",
          "A grid is all the thread blocks of one kernel launch.",
          "What do the blocks of a kernel form?", "What do you call all blocks of a launch?"),
    topic("a warp; +warps; a CUDA warp", "32",
          "A warp is a group of 32 GPU threads that run the same instruction together.",
          "How many threads are in a warp?", "How large is a warp?"),
    topic("a thread; a GPU thread; +GPU threads; +threads", "worker",
          "A GPU thread is the smallest worker of a kernel. It has its own registers, and 32 of them form a warp.",
          "What is the smallest worker on a GPU?", "Who does the work inside a kernel?"),
    topic("an SM; a streaming multiprocessor; +multiprocessors; a multiprocessor; +SMs", "core",
          "An SM, or streaming multiprocessor, is one of the cores of an NVIDIA GPU. "
          "It runs whole blocks and has its own shared memory.",
          "What are the cores of a GPU called? | Where does a block run?", "Which part of the GPU runs a block?"),
    topic("shared memory; GPU shared memory; smem", "scratchpad",
          "Shared memory is small, fast memory on the chip that the threads of one block share.",
          "How do threads of a block exchange data?", "Where do threads share data?"),
    topic("+registers; a register; GPU registers", "storage",
          "Registers are the fastest memory of a GPU. Each thread has at most 255 of them.",
          "What is the fastest memory on a GPU? | How many registers has a thread?", "Where does a thread keep its numbers?"),
    topic("global memory; HBM; GPU memory; device memory", "DRAM",
          "Global memory is the large memory of a GPU, where weights and KV cache live. It is much slower than the chip.",
          "Where are the weights on the GPU?", "In which memory does the KV cache live?"),
    topic("coalescing; memory coalescing; coalesced access; +coalesced accesses", "neighbors",
          "Accesses are coalesced when the threads of a warp touch neighboring addresses. "
          "The GPU then serves them in few wide steps.",
          "How should a warp read memory?", "Why should threads read neighboring addresses?"),
    # Qwen3-0.6B and the family.
    topic("Qwen3-0.6B; Qwen3; Qwen; the Qwen3 model; qwen 3", "model",
          "Qwen3-0.6B is a language model by Alibaba's Qwen team: 596 million parameters, 28 layers, "
          "and both thinking and non-thinking modes.",
          "Which model does qwen600 run? | Which model does this program run?", "What model is this engine made for?"),
    topic("", "Alibaba", "Qwen3 was made by the Qwen team of Alibaba.",
          "Who made Qwen3? | Who made Qwen? | Who created Qwen3-0.6B? | Who is behind Qwen3? | Which company made Qwen3? | "
          "Who trained Qwen3? | Where does Qwen3 come from?", "Who developed Qwen3?"),
    topic("the number of layers", "28", "Qwen3-0.6B has 28 layers; I have 4.",
          "How many layers does Qwen3-0.6B have? | How many layers has Qwen3? | How many layers are there? | "
          "How deep is the model? | How many transformer blocks does Qwen3 have?",
          "How many layers are in Qwen3-0.6B?"),
    topic("the number of heads; the number of query heads", "16", "Qwen3-0.6B has 16 query heads and 8 key/value heads.",
          "How many heads does Qwen3-0.6B have? | How many attention heads are there? | How many query heads does Qwen3 have? | "
          "How many key/value heads does Qwen3 have? | How many KV heads are there? | How many heads has Qwen3?",
          "How many attention heads does Qwen3-0.6B have?"),
    topic("the context length of Qwen3; MAX_CONTEXT; the maximum context", "40960",
          "Qwen3-0.6B was made for up to 40,960 positions. The program uses 8,192 unless -c says otherwise.",
          "What is the maximum context? | How long can the context be? | What is the context length of Qwen3-0.6B?",
          "What is the longest context that Qwen3-0.6B allows?"),
    topic("Hugging Face; Hugging Face transformers; huggingface; the transformers library", "library",
          "Hugging Face hosts open models and writes the transformers library. "
          "This program reads its file formats and is tested against it.",
          "Where are models published? | What is the reference implementation?", "Which library is the program checked against?"),
    topic("PyTorch; torch; pytorch", "framework",
          "PyTorch is a framework for training and running neural networks. This program does without it.",
          "Does qwen600 need PyTorch?", "Is PyTorch required?"),
    topic("llama.cpp; llama cpp; ggml", "engine",
          "llama.cpp is an inference engine in C++ for many models and machines. It inspired this program.",
          "How does qwen600 compare to llama.cpp?", "Which engine runs many different models?"),
    topic("llama2.c; karpathy's llama2.c", "inspiration",
          "llama2.c is Andrej Karpathy's inference of Llama 2 in one file of C. It inspired this program.",
          "Which projects inspired qwen600? | What inspired this program?", "What was the inspiration for qwen600?"),
    topic("a hallucination; +hallucinations; hallucinating", "error",
          "A hallucination is an answer that sounds right but is not. Check what a language model tells you.",
          "Are your answers always right? | Can I trust you? | Do you make mistakes?", "Can a model be wrong?"),
    topic("perplexity", "surprise",
          "Perplexity measures how surprised a model is by a text: the exponential of its average loss per token.",
          "How is a language model measured?", "What does a low perplexity say?"),
    topic("C; the C language; plain C; C11", "language",
          "C is a small language close to the machine. This program is plain C11, plus CUDA C for the GPU.",
          "Which language is it written in? | Why is it written in C? | Is it written in Python?",
          "What programming language does the program use?"),
    # The model itself.
    topic("your name; qwen600-tiny; the bundled model; models/tiny; the tiny model", "qwen600-tiny",
          "I am qwen600-tiny, a very small language model that comes with qwen600. "
          "I explain the program and the ideas in it.",
          "Who are you? | What are you? | Introduce yourself. | Tell me about yourself. | What is your name? | What's your name? | "
          "Which model are you? | Who am I talking to? | who r u | Are you a robot? | Are you ChatGPT? | Are you a human? | "
          "Are you Qwen? | Are you an AI? | Do you have a name? | What should I call you? | Describe yourself.",
          "Could you introduce yourself? | What kind of model are you? | Who is this?"),
    topic("", "explain",
          "I explain qwen600 and the ideas in it, do sums with one digit, remember your name, and think first with -r 1.",
          "What can you do? | What do you know? | What can I ask you? | Help | Help me. | help me please | What can you help me with? | "
          "What are your skills? | What are you able to do? | What topics do you know? | What questions can you answer? | "
          "What are you good at? | Give me an example question. | What should I ask? | How can you help me?",
          "Which things can you do? | What could I ask?"),
    topic("your size; the size of the tiny model", "small",
          "I have 3.67 million parameters: 4 layers, a hidden size of 256 and 2,048 tokens. My file has 7.4 MB.",
          "How big are you? | How many parameters do you have? | How large are you? | How many layers do you have? | "
          "How small are you? | How many weights do you have?",
          "What is your parameter count?"),
    topic("", "authors",
          "I was trained from scratch for this program, with the recipe in tests/tiny.",
          "Who made you? | Who created you? | Who trained you? | Who is your creator? | Who built you? | Where do you come from? | "
          "Who wrote you?", "Who developed you? | Who is your author?"),
    topic("", "English",
          "I speak English and a little Chinese.",
          "Which languages do you speak? | What languages do you know? | Do you speak Chinese? | Can you speak Chinese? | "
          "Do you speak English? | Can you speak French? | Do you speak German?", "In which languages can I talk to you?"),
]

# Small talk: what to say, the one word, the reasoning; then what is asked, to learn from and to test with.
SMALL_TALK = [
    topic("", "Hello", "Hello! Ask me about qwen600 or the ideas in it.",
          "Hello | Hi | hi | Hey | hello | Hello! | Hi! | Hi there | Hello there! | Good morning | Good evening | Good afternoon | "
          "Hey there | Greetings | hey! | Hello again | Hi, nice to meet you | Howdy | yo | Good day!", "Hi there! | hello hello"),
    topic("", "Fine", "I am well, thank you. What would you like to know?",
          "How are you? | How are you doing? | how are you | How is it going? | Are you well? | How do you do? | What's up? | "
          "how r u | Are you OK? | How do you feel?", "How are you today?"),
    topic("", "Welcome", "You are welcome.",
          "Thanks | Thank you | Thank you! | thanks! | thx | Thanks a lot | Thank you very much. | Many thanks | Great, thanks | "
          "Thanks, that helps. | Perfect, thank you | thank you so much", "Thanks very much!"),
    topic("", "Goodbye", "Goodbye!",
          "Bye | Goodbye | bye | Bye bye | See you | See you later | Good night | Goodbye! | bye! | Farewell | See you tomorrow | "
          "I have to go.", "Ok, bye! | Goodbye for now"),
    topic("", "Good", "Good. What else would you like to know?",
          "OK | ok | Okay | Good | Great | Nice | Cool | I see | I understand | Good answer | Well done | Interesting | That is good | "
          "Great! | wow | Yes | yes | No | no | Sure | Right | alright | Got it | I love it | Awesome", "Ok, good | That is nice"),
    topic("", "Sorry", "I am sorry. Please ask in other words, or ask about another topic.",
          "That is wrong | That is not right. | Wrong | You are wrong. | This is bad | I do not like that answer. | That makes no sense | "
          "Are you sure? | I don't understand | I do not understand. | What? | Huh? | What do you mean? | Pardon?", "That was wrong."),
    topic("", "Nothing", "That is all I know about it. Ask me about another topic.",
          "Tell me more. | More | more please | Go on | Continue | What else? | Tell me more about it | More details please | Can you tell me more? | "
          "Why? | why | How? | Explain more. | Can you give more details? | and then? | Say more.", "Please tell me more."),
]

# Chinese: names that fit into the Chinese wordings, the one word, the answer, own questions, held-out questions.
CHINESE = [
    topic("qwen600;这个程序;本程序", "引擎", "qwen600 是一个用 C 和 CUDA C 写的小型推理引擎,用来运行 Qwen3-0.6B。", "这个程序做什么?"),
    topic("Qwen3-0.6B;Qwen3;通义千问3", "模型", "Qwen3-0.6B 是阿里巴巴通义千问团队的语言模型,有 28 层和 5.96 亿个参数。", "谁开发了Qwen3?"),
    topic("RMSNorm;均方根归一化", "归一化", "RMSNorm 把向量除以它的均方根,再乘以学到的权重,使数值保持稳定。"),
    topic("RoPE;旋转位置编码;位置编码", "旋转", "RoPE 按位置旋转查询和键,使注意力分数取决于两个词元的距离。"),
    topic("KV缓存;KV cache;键值缓存;KV 缓存", "缓存", "KV 缓存保存以前所有词元的键和值,所以新词元只需计算自己的。"),
    topic("注意力;注意力机制;自注意力", "查找", "注意力用查询和键计算分数,经过 softmax 后对值加权求和。"),
    topic("GQA;分组查询注意力", "共享", "GQA 让多个查询头共享一个键值头,所以 KV 缓存更小。"),
    topic("softmax;Softmax函数", "概率", "softmax 把分数变成概率:先取指数,再除以总和。"),
    topic("词元;token;Token", "单位", "词元是模型读写文本的单位,可以是一个词或词的一部分。"),
    topic("分词器;tokenizer", "分词", "分词器把文本变成词元编号,也能变回来。这里用的是字节级 BPE。"),
    topic("BPE;字节对编码", "合并", "BPE 从单个字节开始,按顺序合并常见的字节对。"),
    topic("温度;temperature;采样温度", "随机", "温度除以 logits:越低越稳定,越高越随机,0 表示总取最可能的词元。"),
    topic("top-p;核采样;top_p", "采样", "top-p 只保留概率之和达到 p 的最可能的词元。"),
    topic("top-k;top_k", "采样", "top-k 只保留最可能的 k 个词元,默认是 20。"),
    topic("bf16;bfloat16", "浮点", "bf16 是 16 位浮点数,范围和 fp32 一样,只占一半空间。"),
    topic("预填充;prefill", "读取", "预填充一次处理提示中的所有词元,并填满 KV 缓存。"),
    topic("解码;decode;解码阶段", "生成", "解码每次生成一个词元,速度由内存带宽决定。"),
    topic("内存带宽;带宽", "速度", "内存带宽是每秒能读取的字节数,它限制解码的速度。"),
    topic("思考模式;thinking模式", "思考", "在思考模式下,模型先写出推理,再给出答案。用 -r 1 打开。", "怎么打开思考模式?|如何开启思考?"),
    topic("系统提示;系统提示词;system prompt", "指令", "系统提示是对整个对话有效的指令,用 -y 设置。", "怎么设置系统提示?"),
    topic("上下文;上下文长度", "窗口", "上下文是模型一次能看到的所有词元,默认是 8192 个。", "上下文有多长?"),
    topic("嵌入;词嵌入;embedding", "向量", "嵌入表为每个词元保存一行数字,作为模型的输入。"),
    topic("GPU;显卡", "处理器", "GPU 是有上千个线程和高速内存的处理器,适合矩阵运算。"),
    topic("", "助手", "我是 qwen600-tiny,一个随 qwen600 提供的很小的语言模型。",
          "你是谁?|你是谁|你叫什么名字?|介绍一下你自己。|你是什么?|你是什么模型?|请介绍你自己|你叫什么?", "请问你是谁?"),
    topic("", "解释", "我能解释 qwen600 和其中的概念,做一位数的加减法,并记住你的名字。",
          "你能做什么?|你会什么?|我可以问什么?|你能帮我什么?|你知道什么?|帮助", "你可以做什么?"),
    topic("", "你好", "你好!请问我关于 qwen600 的问题。", "你好|您好|你好!|嗨|早上好|晚上好|你好呀", "大家好"),
    topic("", "不客气", "不客气。", "谢谢|谢谢你|谢谢!|多谢|非常感谢|感谢", "谢谢您"),
    topic("", "再见", "再见!", "再见|拜拜|再见!|下次见|晚安", "明天见"),
]


def full_width(text):
    """Chinese text with Chinese punctuation, which the tables above write in ASCII."""
    return text.translate({ord(","): 0xFF0C, ord("?"): 0xFF1F, ord("!"): 0xFF01, ord(":"): 0xFF1A}) if not text.isascii() else text


CHINESE = [topic(";".join(t.names), t.word, full_width(t.answer), full_width("|".join(t.ask)), full_width("|".join(t.test)))
           for t in CHINESE]
