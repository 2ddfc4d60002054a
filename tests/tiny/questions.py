"""Free questions to learn from, by topic: how people ask without naming the thing, or about its causes and effects.

A line is a key of glossary.py, a colon and questions between bars, without their end marks. [a/b/] is a choice, <why> a
list of its own. data.py draws from them; none may say the same as a held-out question, which data.check() tests.
"""

import re

LISTS = {
    "why": "why/why/why/how come/what is the reason that/for what reason/why exactly",
    "how": "how/how/how/in what way/how exactly",
    "do": "do I/do I/can I/can I/could I/should I/does one/do you/do we/would I/to/can one/must I/am I supposed to",
    "i": "I/I/I/we/you/one/people",
    "can": "can I/can I/can you/is it possible to/could I/am I able to/is there a way to/may I/can it/can one",
    "want": "I want to/I need to/I would like to/I'd like to/how do I/how can I/how to/is there a way to/can I/what must I do to/please help me to/what if I want to",
    "prog": "qwen600/qwen600/the program/this program/the engine/this engine/it/this tool/the software/this thing/your program",
    "model": "Qwen3/Qwen3-0.6B/the model/qwen/the real model/Qwen3 0.6B/the big model/this model",
    "tell": "tell me/explain/say/please explain/can you explain/do you know/I wonder/I want to know/can you tell me/please tell me/could you explain/I don't understand",
    "reply": "reply/answer/response/output/text",
    "chat": "chat/conversation/dialog/session/discussion/talk",
    "fast": "fast/quick/so fast/so quick/faster/efficient",
    "slow": "slow/so slow/slower/not fast/taking so long/this slow",
    "which": "which/what/which/what",
    "say": "say/write/print/tell",
    "card": "card/graphics card/GPU/video card/NVIDIA card",
    "file": "file/source file/header/part of the code/piece of code/module/place in the source",
    "whichfile": "which file/what file/in what file/which source file/which header/where in the code/where in the source/what part of the source/which part of the code",
    "flag": "flag/option/switch/argument/parameter/command line option/setting",
}

TEXT = """
RMSNorm: what keeps the [size/scale/magnitude] of the activations [stable/steady/under control/constant] | <how> [are/do we get] activations [normalized/kept in range/scaled] [in each layer/before attention/]
 | which [kind of normalization/normalization/norm] [is used/comes/stands] before [attention/the MLP/each block] | what [divides/scales] a vector by its root mean square
 | <why> [is there/do we put/do you need] a norm before [each layer/the MLP/every block/attention] | what stops [the numbers/values/activations] from [exploding/growing/blowing up] | what is the formula [of/for] [the norm/RMSNorm/rms norm]
 | [is RMSNorm/does RMSNorm have] learned weights | normalizing by the root mean square | what [normalization does/norm does] <prog> [use/have/apply] | what would happen without [RMSNorm/normalization/the norms]
 | does RMSNorm [subtract a mean/have a bias/have weights/need the mean] | is RMSNorm applied [before attention/before the MLP/to every layer/twice per layer] | how often is a vector normalized [in a layer/] | why must activations [stay small/be kept in range/not grow]
LayerNorm: <why> [is LayerNorm not used/not use LayerNorm/does Qwen3 avoid LayerNorm/did they drop LayerNorm] | [is/was] LayerNorm [slower/more expensive/better/older] than RMSNorm | which norm subtracts the mean
 | <why> is RMSNorm [cheaper/simpler/preferred/better] [than/over/to] LayerNorm | compare LayerNorm [with/and/to] RMSNorm | [difference between/comparison of] layer norm and rms norm | which is [better/cheaper/faster], RMSNorm or LayerNorm
 | [what is the advantage of/why choose/why prefer] RMSNorm over LayerNorm | does <model> subtract the mean
 | which norm did [older models/GPT-2/earlier transformers] use | is there a mean subtraction [in Qwen3/anywhere/] | why skip the mean
q/k norm: <why> [are the query and key heads/are heads/is each query head] normalized | what is done to [q and k/queries and keys/the query and the key] [first/before rotation/before the scores] | [is there/does Qwen3 have] a norm [on/for/inside] [q and k/queries and keys/the heads]
 | what keeps [attention scores/the scores] [in a safe range/small/stable/from exploding] | <why> [put/apply/use] RMSNorm [on/to] [queries and keys/q and k/the query and key] | what are q_norm and k_norm [for/good for/doing]
 | are q and k [scaled/touched/changed] before [the dot product/they are rotated] | what stabilizes the attention scores | is there extra normalization inside attention
RoPE: <how> does [attention/the transformer/a transformer/Qwen3/it] [know/see/learn/find out] [word order/where each token is/the positions/which token came first/positions] | <how> [is/are] [position information/the position/word order/token positions] [added/given/put in/represented/stored]
 | what [rotates/turns] [the queries and keys/q and k/pairs of numbers/keys] | <why> [are/do we rotate] queries and keys [rotated/by an angle] | which [position encoding/positional encoding/position embedding/positional embedding] [is used/does Qwen3 use/does the model have/do you use]
 | does <model> have [a position embedding/position embeddings/learned positions/positional encodings] | what makes the score depend on [the distance/how far apart tokens are/relative position] | how [are/is] [relative positions/the distance between tokens/relative distance] [encoded/expressed/handled]
 | what would [go wrong/happen] without [RoPE/position encoding/positions] | rotating pairs of numbers by an angle | by [what/which] angle [are pairs/are queries] rotated
 | are positions [added to the embedding/learned/rotated/stored anywhere] | are the values rotated [as well/too/] | does the model use sine and cosine [for positions/] | how can a model tell [first from last/near from far/the distance of words]
RoPE theta: what is the base [of the rotation/for rotation frequencies/frequency] | [why is/what does] rope_theta [so large/so big/a million/1000000/mean] | what [number/constant] is used for the rotation frequencies | how [fast/slowly] do the [pairs/angles] [turn/rotate]
 | [value/size] of [theta/rope theta/the rope base] | how big is [theta/rope theta/the base of RoPE] [in Qwen3/here/]
 | why is the base so [large/high/big] | what happens with a [smaller/larger] [base/theta] | how slow do the slowest pairs turn
a position: what is the index of a token called | [does counting/do positions/does the position] start at [0/zero/one/1] | where in the context is a token | what number has the first token | [index/number] of a token in the context | is the first position 0 or 1
 | do positions [begin/start] with [zero/one] | what number does a token get in the context | how are tokens [counted/indexed/numbered] in the context
attention: <how> does a token [look at/gather from/see/use/learn from/read] [other tokens/earlier tokens/the tokens before it/the past] | <how> [is/are] [information/context] [moved/passed/shared/mixed] between [tokens/positions/words] | what [mixes/connects/combines] [tokens/the tokens/words] [with each other/together/]
 | which part [of the model/of a layer/] [looks back/lets tokens talk/reads earlier tokens/compares queries with keys] | <why> [do we need/is there/does a model need] [attention/self-attention] | what are [the steps of/the parts of] attention | what is weighed by the softmax of the scores
 | what does attention [do/cost/look at/need/return] | how does one token [see/attend to/look at] [another/others/the others] | attending to earlier tokens
 | how do words [influence/affect/look at] each other | where does a token get context from | what lets a token [use/read/see] [what came before/earlier words/the past] | is attention a kind of lookup
a causal mask: <why> [is the future hidden/can't a token look ahead/must a token not look ahead/do we hide later tokens] | [can/does/may] [a token/the model/attention] [see/look at/use/read] [what comes next/later tokens/the next token/future tokens/the words after it] | what [hides/blocks/masks] [the future/later tokens/future tokens]
 | what keeps the model from [cheating/looking ahead/seeing the answer/peeking] | <why> [is a mask used/is attention masked/do we need a mask/mask attention] | [does/can] attention look [forward/ahead/to the right]
 | what happens without [the mask/a causal mask]
 | would the model cheat [without a mask/] | is the future [visible/hidden/masked] [during training/] | may [token 5/a token] look at [token 9/a later token]
multi-head attention: <why> [not use/not just use/not have] [a single head/one head/one big head] | what is the [benefit/advantage/use/point] of [several/many/multiple] heads | <how> are the [outputs/results] of [the heads/several heads/all heads] [joined/combined/put together/merged]
 | [running/do we run] several attentions [side by side/in parallel/at once] | [do/does] [all heads/each head/every head] have [its own/their own] [queries/keys/queries and keys]
 | do heads [run in parallel/work together/see different things] | how do [the heads/several heads] get combined | why split attention [into heads/]
an attention head: how [big/large/wide/long] is [a head/each head/one head/an attention head] | [size/width/dimension] of [a head/each head/one head/an attention head] | what is [one of the parallel attentions/head_dim/HEAD_DIM/the head size/the head width] | [value/size] of head_dim | [is/are] [a head/heads] 128 [wide/numbers/dimensions]
 | is head_dim times heads the hidden size | how many [dimensions/values/components] [does a head have/per head/are in a head] | what does [one/a single] head [do/have]
GQA: <how> [do several query heads/can query heads/do heads] share [keys and values/a key head/one key/value head] | <why> [have/use/only have] [fewer/only 8/less] key/value heads | [is/are] [keys and values/kv heads/key heads] shared [between heads/by several query heads/]
 | what [reduces/shrinks/halves/cuts] [the KV cache/the size of the KV cache/cache memory] | how many query heads share [a key/one key/value head/one kv head/a kv head] | what does grouped [mean in grouped-query attention/stand for in GQA] | [does/why does] GQA save [memory/cache/space/bandwidth]
 | what is the [benefit/advantage/use/gain/trick] of [GQA/grouped-query attention/grouped queries] | <how> does GQA [help/work/save memory/reduce memory/make decode faster] | [GQA/grouped query attention] [vs/versus/or] multi-head attention | [does/is] <model> [use GQA/using GQA/use grouped-query attention]
 | is the KV cache smaller [with GQA/because of fewer heads/with fewer key heads] | how many query heads per key head | what do [16 and 8/8 kv heads] heads mean | do all query heads have their own keys
a query, a key and a value: what [does/do] [a query/the query/queries/q] [look for/do/mean/represent/stand for] | what [does/do] [a key/the key/keys/k] [offer/do/mean/represent/stand for] | what [does/do] [a value/the value/values/v] [pass on/do/mean/carry/represent]
 | <how> are [q, k and v/queries, keys and values/queries and keys/keys and values] [made/computed/produced/obtained/calculated] | where do [q, k and v/queries, keys and values/keys and values/queries] come from | [difference between/distinguish/compare] [a query and a key/query and key/keys and values/queries and values]
 | which projections [does attention have/are in attention/are there in attention] | what are [k_proj and v_proj/q_proj and k_proj/the projections of attention/q_proj, k_proj and v_proj]
 | who asks and who offers in attention | what [three/] vectors does each token make | what is multiplied with what in attention | which vector [carries the content/is compared/asks the question]
an attention score: what is the dot product of a query and a key | <why> [is the score/are scores/is the dot product] divided by [the square root/sqrt of head_dim/a square root/the root of the width/sqrt(d)] | <why> [scale/divide] [the scores/the dot product/attention scores] [by the square root/] | how [similar/related] are a query and a key
 | [how do we/how to/how does attention] [score/compare/rate] [a query with a key/two tokens/a query and a key] | how much does one token attend to another | which tokens get [attention/more attention/the most attention]
 | what is the scaling [factor/] in attention | why not use the plain dot product | how is the match of a query and a key measured | does the score get divided
softmax: <how> do [logits/the scores/raw scores/numbers] [become/turn into/get converted to] [probabilities/a distribution/a probability] | what [turns/converts/makes/changes] [logits/scores] [into/to] [probabilities/a distribution] | <why> [is the maximum subtracted/subtract the largest score/do we subtract the max] | <how> [is overflow avoided/do you avoid overflow/do you prevent overflow] [in softmax/in the exponent/in exp/]
 | what makes [probabilities/the weights] [sum to one/add up to 1/sum up to one] | which function [gives/makes/yields] probabilities | what is the formula [of/for] softmax | exponentiate and divide by the sum
 | do probabilities add up to one | can softmax overflow | what comes [after the scores/after the logits/between logits and sampling] | how do you normalize scores
online softmax: <how> can [softmax/attention] be [done/computed] [in a single pass/without all scores/without storing the scores/incrementally/tile by tile] | what are the running maximum and the running sum [for/used for] | <why> [rescale/do we rescale/keep a running maximum] [when the maximum grows/] | softmax [in one pass/without storing all scores/with a running maximum]
 | <how> do you [avoid/get around] [storing all scores/the full score matrix/an n x n matrix/quadratic memory]
 | can I compute softmax without seeing all scores first | what happens when a larger score [appears/comes/shows up] | is a second pass [needed/necessary]
FlashAttention: <how> [can/does] attention [save/use little/need less] memory | [attention/computing attention] tile by tile | <why> [are/is] the [score matrix/scores/attention matrix] [never written/not stored/never stored/not written to memory] | which [algorithm/method] computes attention [in tiles/tile by tile/without storing scores] | does <prog> use [FlashAttention/flash attention]
 | what makes attention [fast/quick/memory-efficient/cheap] | what is the [trick/idea/secret] [of/behind] flash attention
 | does attention need [a big matrix/the full matrix/n squared memory] | is the whole score matrix [in memory/stored/kept] | what avoids [writing the scores/a large score matrix] | how does tiling help
logits: what [does/do] [the last layer/the output layer/the network/the transformer/the model] [give/output/produce/return/yield] [at the end/for every token/for the next token/] | what are the raw [scores/outputs/numbers] [before softmax/of the model/] | [does/what does] the model [output/score] [every token/each token of the vocabulary] | what [goes/is put] into [softmax/the sampler]
 | what is [computed/there] before the probabilities | what is the [output/result] of the [model/network/transformer]
 | are logits probabilities | how many logits [are there/does one step give/come out] | what number does each token of the vocabulary get | what are unnormalized scores
an embedding: <how> [does/do] [a token/tokens/ids/a word/a token id/token ids] [become/turn into/get/get mapped to] [a vector/vectors/numbers] | what is the first [layer/step] of the model | where does the [residual stream/computation/vector] [start/begin/come from] | what [turns/maps/converts] [ids/token ids/tokens/a token] [into/to] [vectors/a vector/numbers]
 | what [is in/does one row of/are the rows of] the embedding [table/matrix] [hold/mean/] | which [row/vector] belongs to a token | what [happens to/is done with] [a token id/token ids] first
 | does each token have [a vector/its own vector/a row] | what [vector/numbers] stands for a token | how do numbers represent [a token/a word] | what is looked up [first/for each token]
tied embeddings: <why> [share/reuse/use the same] [the embedding/the embedding matrix/one matrix] [for input and output/as output matrix/for the output/twice] | [are/is] [the input and output embeddings/the embedding and the output matrix/lm_head and the embedding] [the same/shared/tied/equal/identical] | [is/does] the output matrix [shared/the same as the embedding/equal the embedding table]
 | what [is saved/do we gain/do I save] by [tying/sharing] [the embeddings/the weights/] | what does it mean that [the embeddings are tied/weights are tied/embeddings are shared] | does <model> [tie/have tied/use tied] [embeddings/its embeddings/weights]
 | is there one [matrix/table] for [input and output/both ends] | does sharing the matrix save memory | how many [MB/megabytes] [does tying save/are saved by tying] | are the input and output [matrices/tables] one
lm_head: what turns [the hidden state/the last hidden state/hidden states] into [logits/scores] | what is the [last/final] [matrix/layer/projection/step] [of the model/] | [is/why is] [lm_head/lm_head.weight] [not loaded/missing/ignored/skipped/loaded] | do I need lm_head.weight [in the file/] | [is there/does it have] [an output layer/a separate output matrix/an lm_head]
 | how [are/is] [the logits/logits] [computed/made/calculated] [from the hidden state/at the end/]
 | how does the last vector become logits | is a separate output layer loaded | why does the file have lm_head [when it is not used/] | which matrix is at the end
the residual stream: what [flows/goes/passes] through [all/the] layers | <why> [are there/do we need/have] [residual connections/skip connections/residuals] | what do [attention and the MLP/the layers/layers] [read from and write to/add their result to/add to/read] | <why> [add the input to the output/is the result added/do layers add instead of replace]
 | what [carries/moves] [information/data/the vector] [from layer to layer/between layers/through the model] | which vector runs through the [network/model/layers] | what is [the main vector/the vector that runs through the model]
 | do layers overwrite [the vector/their input/] | what gets added [after each layer/after attention] | where [is information/does information] kept between layers | why add and not replace
the hidden size: how [big/many numbers/long] is [the residual stream/the hidden state/a hidden state/the vector of a token] | [dimension/size/length/width] of [the hidden state/a hidden vector/the residual stream/the embeddings/hidden states] | how many [dimensions/numbers/channels] [has/does] [an embedding/the model/a hidden state/Qwen3] [have/]
 | [value/meaning] of [hidden_size/HIDDEN] | [is/why is] [the hidden size/hidden_size] 1024
 | how many [numbers/components/values] [describe/represent/per] [a token/one token] [inside the model/] | how big is [a vector/the vector] in the model | is the width 1024 | how wide are you
a layer: what [is/are] [in/inside] [one layer/each layer/a layer/a block/each block] | what [does/do] [one layer/a layer/each layer/a block/a decoder layer] [do/consist of/contain/compute] | which [parts/halves/pieces] [has a layer/does a layer have/make a block/make up a block] | what are the [parts/components/halves] of a [transformer block/layer/block]
 | [order/sequence] of [steps/operations] in a [layer/block/transformer layer]
 | how is a [layer/block] [structured/organized/put together] | how many norms has a layer | does a layer have attention and an MLP | what comes first in a layer
a transformer: what [type/kind/sort] of [neural network/model/architecture/net] is <model> | what is [a model/a network] [made/built] of [layers of attention and MLPs/attention layers] [called/] | [name of the/which/what] [architecture/network architecture] [is used/is it/do you use/is behind it] | what is the T in GPT | what network predicts the next token | <how> does a transformer [work/predict/read/function]
 | is Qwen3 a transformer | what do transformers predict | what kind of [model/network] [looks at all tokens before/is used in LLMs] | why are transformers [popular/so good/used]
an MLP: what [does/is done by/is the job of] the [MLP/feed-forward network/feed-forward part/FFN] [do/] | how [wide/big/large] is [the feed-forward network/the MLP layer/the FFN/the intermediate layer] | [size/width] of [the MLP/the feed-forward layer/the intermediate layer/the FFN] | what is [INTERMEDIATE/intermediate_size/the other half of a layer/the second half of a layer]
 | what treats [every/each] token [alone/on its own/separately] | which part [of the layer/] does not mix tokens | what follows [attention/the attention/self-attention]
 | which part works on [single tokens/every token separately] | what is 3072 | does the MLP [mix tokens/see other tokens/look at neighbors] | how much wider is the MLP than the residual stream
SwiGLU: what [is/happens/goes on] inside [the MLP/the feed-forward network] | what [is/does] [the gate/the gate projection/gating/the gated part] [do/for/good for/used for] | [how/where] is [the gate/gating] used | [what are/why three/which] [gate, up and down/matrices in the MLP/projections in the MLP/matrices has the MLP] | which [nonlinearity/activation] [is in/does] [the MLP/the feed-forward network] [have/use/]
 | which projection brings [the product/it] back to the hidden size | multiply gate and up
 | why are there [three/two] projections in the MLP | what does the gate multiply | how are gate and up combined | is the MLP gated
SiLU: x times [the sigmoid of x/sigmoid of x/its sigmoid] | which [activation/activation function/nonlinearity] is [in/inside/used in/part of] SwiGLU | [formula/definition/equation] [of/for] [silu/SiLU/swish] | what is the difference between SiLU and swish | is swish [the same as/equal to] silu | what smooth function [is used/is inside SwiGLU/does the gate use]
 | is SiLU [smooth/like ReLU/a sigmoid/linear] | what does the sigmoid do [here/in the MLP/] | which function [bends/activates] the gate
a neural network: what is [a net/a function] of [matrix products/simple steps] [with learned weights/] | what [is/does] [a network/a neural net] [do/in AI/] | <how> does a [neural network/neural net/network] work | what are networks [in machine learning/in AI] | [is a language model/are you] a [neural network/neural net] | are neural networks like brains
 | is a neural network [just math/a function/a program/a brain] | where do the weights of a network come from | what are networks made of
a language model: what [does/can] [a language model/an LLM/a large language model] do | <how> does [an LLM/a language model/a large language model/ChatGPT] [work/produce text/make text/come up with text] | what [is the/] [long form/full form/meaning] of LLM | what predicts the next [token/word] [of a text/] | what do [language models/LLMs] do [all day/exactly/] | <why> can a [model/machine/computer] write
 | what does L L M mean
 | can a language model [write/understand/think] | what does [GPT/an LLM/a chatbot] do at heart | is it only predicting words | how is text predicted
autoregressive generation: <how> [does/is] [the model/a text/a reply/an answer/the output] [written/write/produced/made/built/come about] [token by token/step by step/one token after another/] | [is/are] [a token/tokens/words] [made/written/predicted] [one at a time/one by one/one after another] | <why> does [it/the model/the text] [come/appear/arrive] [one word at a time/word by word/token by token/bit by bit]
 | what happens after a token [is made/is chosen/was predicted] | predict, append, predict again | how does the model [continue/go on/extend] a text | [does/is] each [new token/token] [appended/fed back/depend on the last]
 | is text [written/made] all at once | why one token [at a time/after another] | does the model plan its whole reply | what happens [in a loop/again and again] when it writes
inference: what [is/does it mean] [running/using/to run] a [trained model/model] [called/] | what [does/is] an inference [engine/program] [do/for/] | [is this/does it do] [inference/only inference] [or training/] | inference [vs/versus/or] training | what is the opposite of training | using a trained model [to get answers/]
 | is this program for inference | does it [only run models/just run the model] | what is it called when a model answers | is running a model [inference/training]
training: <can> [train/fine-tune/finetune/teach] [a model/my own model/it/the model/new things] [with/using/on] [<prog>/my data/my own data] | <how> [are/were] [weights/the weights/you] [learned/trained/found/made] | what [adjusts/changes] the weights | does <prog> [learn/train] [from me/from my chats/new things/anything/models] | is [fine-tuning/training/LoRA/finetuning] [supported/possible/included]
 | will you learn from [this/our] [chat/conversation]
 | does it have [backpropagation/a training loop/gradients/an optimizer] | where do weights come from | can it learn [my style/new facts/by itself/my name forever] | do my chats [train it/change the weights/improve the model]
a tensor: what is an array of numbers [with a shape/] [called/] | [is a matrix/are matrices/is a vector] a tensor | what [does/is] the shape [mean/of a tensor/of an array] | what do you call a [multi-dimensional array/big array of numbers/block of numbers with a shape] | how many [dimensions/axes] has a tensor
 | are weights tensors | is a matrix a tensor | what has a shape | what is 3072 by 1024 called
weights: what did the model learn [in training/] | how many [parameters/weights/numbers] [are in/are there in/does/has] [Qwen3/Qwen3-0.6B/the real model/the big model] [have/] | [number of/count of] [parameters/weights] [in/of] [Qwen3/Qwen3-0.6B/the model] | what does the 0.6B [mean/stand for/in the name mean] | [how many gigabytes/how much memory/how much space] do the weights [take/need/have]
 | how [big/large] [are the weights/is Qwen3/is qwen3 0.6b/is the real model] | what are the learned numbers called
 | how many [millions/numbers] are in the model | how big are the weights [in bf16/in gigabytes/] | what do 596 million numbers do | what has a model learned
activations: what are [the numbers/values] [between layers/on the way from a token to its logits/inside the network/that the model computes] [called/] | [in which/what] [precision/format] are [activations/intermediate values/the activations] [kept/stored/computed] | [are weights and activations the same/difference between weights and activations/weights vs activations]
 | what flows between the layers as numbers | are activations [stored/kept/fp32/bf16] | what are temporary values in the model called
a matrix product: what [does the model/does a transformer/does the engine] [do/compute] most of the time | what is the [main/most expensive/biggest/costliest/heaviest] [work/operation/part/computation/step] [of the model/of inference/in a layer/] | <how> [is/do I compute] a [matrix product/matmul/matrix multiplication] [computed/done/] | where [does/is] [most of the compute/the work/most arithmetic] [spent/go/done]
 | what [costs/takes/needs] the most [compute/computation/arithmetic/work] | [multiplying/multiply] [matrices/a matrix and a vector/weights with the input]
 | what does the model spend its time [on/with] | why are matrix products [important/everywhere/the main work] | how is one output number computed | what is the bulk of the work
GEMV: <why> is a [matrix-vector product/matrix times vector/GEMV] [memory-bound/limited by memory/limited by bandwidth] | [how often/how many times] is [each weight/every weight] used [in decode/per token/] | [matrix times vector/matrix-vector] [product/multiplication/] | what kind of product [is used/does decode use/is in decode] | [difference between/compare] [GEMM and GEMV/matrix-matrix and matrix-vector products]
 | <why> [can't/doesn't] decode reuse the weights
 | why is every weight used just once in decode | is a matrix-vector product fast | what limits a matrix-vector product | does decode use matrix-matrix products
a dot product: multiply two vectors [number by number/element by element/] [and add up/and sum/] | [how do I/how to] [compute/get/calculate] [a dot product/the dot product] | what is the [inner product/scalar product/product of two vectors] | [sum of products/sum of the products of two vectors] | what do you get when you multiply two vectors
 | how do I combine two vectors into one number | what sums up products | what is the basic operation in a matrix product
a KV cache: <why> [store/keep/save/cache/remember] [the keys and values/old keys/past keys and values/keys] [of earlier tokens/of old tokens/] | what [is/gets] [stored/cached/saved/kept/remembered] [between tokens/during decode/for later tokens/of old tokens/for past tokens/from step to step] | <how> [is/do you] [avoid recomputing/not recompute/save recomputing] [old tokens/keys and values/the past/everything]
 | what does [a new token/the next token/each new token] [have to compute/compute/need to compute/attend to] | what would [happen/it cost/be slow] without [a KV cache/a cache/caching] | <why> does [a cache/caching/the KV cache] [help/speed up decode/make it faster/save time/speed things up/matter]
 | where are [past/old/earlier/previous] [keys and values/tokens/keys] [kept/stored/saved] | what is [cached/in the cache] | what do K and V [in KV cache/] stand for | recomputing old keys | [advantage/benefit/use] of [caching keys and values/the kv cache/a kv cache]
 | why doesn't it recompute [old keys/everything/the past] | what grows with [every token/the conversation] in memory | does it save work to keep keys and values | what is the cache [in attention/of a transformer/there for]
 | what must be [kept/stored] of each token | how are earlier tokens remembered in attention | what happens to keys and values after they are computed
the size of the KV cache: how [much/many bytes of] [memory/space/VRAM/room/RAM] [does/is] [the cache/the KV cache/kv cache/one token in the cache] [use/eat/cost/occupy/take up/require/used by] | how many [bytes/kilobytes/KB/KiB/gigabytes] [per token/for a token/for one token/for the cache/in the kv cache/for 8192 tokens]
 | how [big/large] [does the cache get/is the kv cache/is the cache/does the kv cache get/can the KV cache become] | [memory/space/bytes] [per token/of the cache/for keys and values/for the cache] | what does [the cache/one token/a longer context] cost in memory | 112 KiB per token
 | does the cache grow with the context | how much memory does a long context [cost/need/take] | what is 0.94 GB | how many KiB per token | how much [space/memory] for 8192 tokens
the layout of the KV cache: [how/where] [are/is] [the keys of one head/keys/the cache/keys and values] [ordered/laid out/arranged/placed/organized] [in memory/in the cache/] | [shape/memory layout/arrangement/order] of [the cache/the KV cache/the kv cache] | <why> [do the keys of a head/do keys] lie side by side | [what are/list/which are] the [dimensions/axes] of the [cache/KV cache]
 | is the cache contiguous
 | which index comes first in the cache | are the keys of one head [contiguous/next to each other/neighbors] | how is the cache indexed
prefill: <how> [is/does] [the prompt/a prompt/my prompt/my question/my text/the input] [read/processed/handled/taken in/digested/go through the model] | what [happens/is done/goes on] [when I press enter/with my prompt/to my prompt/with the prompt/before decode/at the start/when I send a prompt] | what fills the [KV cache/cache]
 | <why> [is/does] [prefill/reading the prompt/the prompt phase] [limited by arithmetic/compute-bound/use tensor cores/limited by compute] | [are/can] [all prompt tokens/many tokens/prompt tokens/several tokens] [processed/handled/run/go through] [at once/together/in parallel/at the same time] | what is the [first/other] phase [of inference/of generation/]
 | <how> long prompts are read | [speed/cost] of [reading a prompt/prefill/the prompt phase] | reading the prompt
 | are all prompt tokens done in parallel | why is reading fast | is reading my prompt [slow/fast/expensive] | what does the model do before it [answers/writes] | what uses tensor cores
decode: <how> [is/are] [one token/a token/each token/the next token/new tokens/tokens] [generated/produced/computed/created/made] [after the prompt/in a reply/one at a time/] | what [happens/is done/goes on] [after prefill/after the prompt/for each new token/when the reply is written/once the prompt is read] | what is the [second/writing/slow] phase [of inference/of generation/]
 | what must be read for [each token/every token/one token/a new token] | how often are the weights read | <why> [does/must] [each token/every token/a token] read [all the weights/every weight/all weights] | <why> is [generation/token generation/writing/decode/generating text] [memory-bound/bandwidth-bound/limited by bandwidth/slower than prefill]
 | making one token at a time
 | why one token after another | what is read for [each/every] new token | is writing slower than reading | how does it produce [a reply/the answer/the words]
the difference between prefill and decode: <why> is [prefill/reading the prompt/the prompt] [faster/quicker/so much faster] than [decode/generating/the reply/writing] | <why> is decode slower than [prefill/reading] | [which are/what are/name] the two phases [of inference/of generation/] | [prefill and decode/decode and prefill] [compared/difference/comparison/what differs]
 | what distinguishes prefill [from/and] decode | is prefill [the same as/like] decode | [difference between/distinguish/contrast] [decode and prefill/prefill and decoding/reading and writing tokens/reading the prompt and writing the reply] | phases of inference
 | how is reading different from writing | which phase is [faster/limited by compute/limited by memory] | what two phases has inference | compare reading the prompt [and/with] writing the reply
a chunk: <why> [are/is] [long prompts/a long prompt/big prompts] [cut/split/broken/processed/handled] [into pieces/into chunks/in chunks/in parts/in pieces] | [how/what size] [big/large/many tokens] is a [chunk/prefill chunk/piece of the prompt] | what bounds the memory [for activations/of prefill] | what happens [with/to] a very long prompt | [is/how is] a long prompt [split/cut/chunked/processed piece by piece]
 | is a long prompt done in pieces | how is memory kept [constant/small] in prefill | what if the prompt is [huge/very long/8000 tokens]
prefix reuse: [does it/does the program/do you/must it] [process/read/compute/prefill/recompute] [everything/all old turns/the whole history/the whole chat/old turns/the history] [again/from scratch/each time/every turn/anew] | what is [kept/reused/remembered] [between turns/from the last turn/in the cache for the next turn/across turns] | <why> is the second turn [fast/quick/so fast] | [is/does] the KV cache [kept/reused/survive] [between turns/across turns/]
 | what is prefilled [on the next turn/in the second turn/each turn/again] | common prefix of two turns
 | is only the new part [processed/computed/read] | are earlier turns [computed/read/processed] a second time | does a follow-up question cost less | what is done with what the cache already holds
time to first token: how long [do I wait/does it take/must I wait/will I wait] [until/before/for] [the first token/the first word/the reply begins/it starts to answer/the answer begins/something appears] | <why> [is there a pause/do I have to wait/does it wait/is there a delay] [before the reply/at first/before the answer/at the beginning] | [delay/latency/wait/pause] before [the reply/the answer/the first word]
 | what is [the initial delay/latency/the first-token latency] | what [determines/sets] the time until the first token
 | why does the first word take longer | how fast does it start [to answer/writing/] | what is the wait before a reply [called/]
tokens per second: how [fast/quickly/many tokens per second] [is/does/can] [the reply/it/a reply/text/it] [written/write/generate/be written/produce] | what is the [top/best/highest/maximum/theoretical] speed [of decode/possible/of generation/] | [how/can I] [calculate/estimate/compute/work out/predict] the [speed/decode speed/token rate/tokens per second] | what does [tok/s/tokens/s/t/s] mean
 | [bandwidth divided by/divide the bandwidth by] bytes per token | how [fast/quick] is [qwen600/the program/this engine/it] | what speed [can I expect/will I get/does it reach]
 | what is the upper limit of [speed/decode speed/tokens per second] | how do bytes and bandwidth give speed | is it possible to compute the best speed | how fast does it [write/type/talk]
the batch size: how many [users/people/chats/texts/prompts/requests] [can it serve/are served/at once/are decoded together/at the same time/in parallel] | [does/can] <prog> [serve/handle/support] [several users/many users/multiple users/batches/batching/many requests/two chats] [at once/] | <why> is the batch [size/] [1/one] | [is/are] [several/many/two] [conversations/prompts/users] [possible/supported/handled] at once
 | [can/may] two people use it [at the same time/together/at once]
 | can several people chat [with it/] at once | is it made for many users | does it process several prompts together | how many sequences at a time
speculative decoding: [does/can] a small model [guess/draft/propose] tokens [for a large one/] | guess several tokens and check them | what is a draft model | [is/does] [speculative decoding/drafting/speculation] [supported/possible/used/implemented/there] | [can/how can] decode be [sped up by guessing/made faster with a small model] | [does it/can it/does qwen600] [use/have/support] a draft model
 | can [tokens/several tokens] be guessed [in advance/ahead/] | does a helper model exist | is there a draft [model/] in qwen600
quantization: [can/is] the model be [quantized/compressed/stored in 4 bits/made smaller] | [are/does it support/can I use/can it load] [4-bit weights/8-bit weights/int4/int8/GGUF/q4/GPTQ/AWQ/quantized models/gguf models/fewer bits] | fewer bits per weight | [is there/does it have/does it do] [quantization/4-bit support/compression/a quantized version] | <why> [are the weights not quantized/no quantization/not use 4 bits/doesn't it quantize]
 | [store/storing] weights in [8 bits/4 bits/fewer bits/less space]
 | can I make the model smaller | are 4 bits enough | does it run [int8/4-bit/q4/8-bit] [models/weights/] | why keep bf16 and not fewer bits
the sampler: <how> does [it/the program/the model/the engine] [choose/pick/select/decide on] [the next token/a token/the next word/a word/what to say next] | what [picks/chooses/draws/selects] [the next token/a token/the token/the next word] | what happens [to the logits/after the logits/with the logits/to the probabilities] | [in what/what is the] [order/sequence] [are temperature, top-k and top-p applied/of the sampling steps/of sampling]
 | [steps/stages] of [sampling/choosing a token/the sampler] | <how> are tokens [drawn/sampled/chosen/picked] | [is/are] [the next token/tokens] [random/drawn at random/chosen at random]
 | who decides the next word | what comes first, temperature or [top-k/top-p] | how does it go from probabilities to a token | is there chance in choosing
temperature: <want> make [the replies/the answers/it/the output/answers] [more creative/more random/less random/more varied/wilder/safer/less wild/more boring] | <how> [does/is] [randomness/creativity] [controlled/set/changed/influenced] | what [does/happens with] [a low/a high/a higher/a lower/zero/a very high/a large/a small] temperature [do/mean/] | <why> are the [answers/replies] so [random/wild/crazy/boring]
 | what divides the logits | [is/should] the temperature [be high or low/above one/zero/] | what is the [effect/influence/role] of temperature | <how> does temperature [change/affect/influence] [the output/the reply/the choice/sampling/the probabilities]
 | how do I get [wilder/safer/more varied/calmer] [answers/text/replies] | what makes answers [random/creative/boring/safe] | is 0 temperature random | how hot should it be
top-k: [keep/keeping] only the [k most likely/most likely 20/best k] tokens | how many [candidates/tokens] [are considered/may be drawn/are kept/remain/does the sampler consider] | what does [k = 20/k = 0/k=20/a k of 20/a smaller k] [mean/do] | what [happens/is] [with a small/with a large/with] [k/top-k/topk] | <how> does top-k [work/limit the choice/change the output/choose] | limit [the choice/sampling] to [the 20 best/the best k] tokens
 | how many tokens may be [drawn/chosen/considered] | can I limit the choice to [10/50/a few] tokens | what does 20 mean [in sampling/for top-k]
top-p: [keep/keeping] the [smallest set of tokens/most likely tokens] [whose probabilities add up to p/up to a probability of p] | what does [p = 0.95/p=0.9/a p of 0.9/0.95/a smaller p] [mean/do] | what is the nucleus | <how> does [top-p/nucleus sampling/topp] [work/limit the choice/change the output/cut off unlikely tokens] | <how> are [unlikely tokens/improbable tokens] [removed/cut off/left out/dropped]
 | which tokens are [never drawn/dropped/cut off/removed] | what happens [with a small/with a large/with a low] [p/top-p/topp]
 | how is the tail [cut off/removed/of unlikely tokens cut] | what does 95 percent mean in sampling | are rare tokens [drawn/chosen/removed] | which set of tokens is kept
the difference between top-k and top-p: [is/which is] better[,/] top-k or top-p | [should I/do I] use top-k or top-p | what [distinguishes/separates] [top-k from/top-p from] [top-p/top-k/the other] | [difference/comparison] [between/of] [topk and topp/top k and top p/top-p and top-k] | is top-k the same as top-p | fixed number of tokens or fixed probability | <why> is top-p [more adaptive/better/smarter] than top-k | [top-p/topp/nucleus] [vs/versus] [top-k/topk]
 | which adapts to the model's confidence | is k or p better | should I [set/prefer] k or p | fixed count or fixed probability
greedy decoding: [always/how to always/can it always] [take/taking/pick/choose] the [best/most likely/most probable/top] token | what [does/happens with] [-t 0/temperature zero/a temperature of 0] [do/mean/] | <want> [get rid of/avoid/remove/disable/switch off] [randomness/random choices/chance/sampling] | [is/why is] greedy [bad/good/repeatable/dangerous/wrong for thinking/risky] | [argmax/taking the argmax/argmax decoding]
 | what is decoding without [randomness/sampling]
 | does it always pick the [same/best/top] token | how to get the most probable [text/token/answer] | what is sampling without chance | is the best token always [good/right]
a seed: <want> [get the same reply/repeat an answer/reproduce a reply/get the same output/see the same answer] [twice/again/a second time/] | <why> do I get [a different answer/another answer/different replies/something else/a new answer] [each time/every time/again/now] | what starts the random number generator | [is/can] [a reply/an answer/the output] [be repeated/be reproduced/random/repeatable]
 | what [does the seed do/is the seed for/are seeds for] | <how> does [the same/a fixed] seed [help/work]
 | can I repeat [a reply/what it said/an answer] | why is every answer different | what fixes the random numbers | what makes [randomness/random numbers] repeatable
determinism: [is/are] [the results/the output/replies/it/the program/tokens] [reproducible/deterministic/always the same/repeatable] | [does/will] [the same seed/it/the program] always [give/produce/return/write] the same [tokens/answer/reply/output] | <why> [no atomics/not use atomics/does it avoid atomics/are atomics avoided] | does the order of [additions/sums/adding] matter | <why> [would/does] the order [of sums/] change the result
 | can I rely on [the same output/getting the same tokens]
 | are two runs [identical/the same/equal] | will I get the same text again | does adding in another order matter | why no atomic additions
the recommended sampling: [which/what] [settings/sampling settings/parameters/values/sampling parameters] [are best/are good/do you suggest/are recommended/should I choose/are recommended for thinking] | what [temperature/top-p/top-k] [should I/do I] [use/set/choose] [for thinking/without thinking/in thinking mode/for Qwen3/] | [good/best/recommended/ideal/optimal/suggested] [settings/values/sampling settings/temperature/top-p/sampling parameters] [for thinking/for qwen/]
 | what does the model card [say/recommend/suggest] | [should I/is it wise to] be greedy when thinking
 | what temperature is good | which numbers does the model card give | how should I set temperature, top-k and top-p | what are good values [for thinking/without thinking/]
repetition loops: <why> does [it/the model/the answer] [say the same thing/get stuck/repeat the same sentence/loop forever/never stop/go in circles] [again and again/over and over/] | it [keeps saying the same/repeats the same sentence/got stuck/is stuck in a loop/loops/will not stop repeating] | [what helps against/how to avoid/how to fix/how do I prevent/how can I break] [repetition/a loop/loops/repetitions/endless loops]
 | the [reply/output/text/answer] [repeats/loops/goes in circles/is the same over and over] | what causes [loops/repetition/repeating text]
 | it says the same [thing/word/line] over and over | why is it stuck | how can I stop [the loop/it from repeating/repetition] | does greedy decoding loop
bf16: <why> [not use fp32/use 16 bits/use bf16/is bf16 used/use bfloat16/16-bit weights/store the weights in bf16] | which [format/number format/data type/type/precision] [do the weights have/are the weights in/is used for weights/has the KV cache/are weights stored in] | how many [exponent bits/fraction bits/bits/bytes] [has/does] [bf16/bfloat16/a bf16 number/a weight] [have/]
 | [range/precision/bits/advantage/size] of [bf16/bfloat16] | [bf16/bfloat16] [vs/versus/or] [fp32/float32] | what is the b in bf16 | is bf16 [as good as fp32/less precise/precise enough/smaller than fp32]
 | how many bytes is one weight | why only 16 bits | what do we give up with bf16 | is bf16 [precise/exact/big enough] | how does bf16 relate to fp32
fp32: what is [computed/calculated/summed/done] [in single precision/in 32 bits/with full precision/in float32] | how many bits has [a float/float32/an fp32 number/single precision] | <why> are [sums/norms/accumulations] [in fp32/in float32/done in fp32/in single precision] | [where/when] is [fp32/float32/single precision] [used/needed] | how precise is [fp32/float32/a 32-bit float] | which precision [have the sums/do norms use/does softmax use]
 | where is full precision needed | why not do sums in bf16 | are norms in 32 bits | what uses 32 bits
fp16: [bf16/bfloat16] or [fp16/half precision/float16], which is better | <why> [not use/not/isn't it] fp16 | [what is the largest/what is the biggest/largest] [fp16 number/number in fp16/number in half precision] | [does/can/when can] [fp16/half precision] overflow | how is [bf16/bfloat16] different from [fp16/half precision/float16] | [range/precision/bits/problem] of [fp16/half precision/float16] | [fp16/half] [vs/versus/against] [bf16/bfloat16]
 | why does fp16 overflow | is half precision [used/good/enough/too small] | how large can fp16 get | would fp16 work
mmap: <how> [are/does it] [the weights/the file/model files/the tensors] [loaded/read/brought into memory/opened] [from disk/so fast/without a copy/] | <why> [does loading/does the start/is loading] [take so little time/fast/so quick/quick/cheap] | <why> [use mmap/map the file/not just read the file/is the file mapped/mapping instead of reading] | [read/reading] a file without [copying/a copy] | who loads the pages of the file | when [are/is] [pages/the file/the data/a page] [loaded/read]
 | does it copy the file into memory | why does it start so fast | is the whole file read at start | how does the program get at the weights without copying
safetensors: [in which/which/what] [format/file format] [are/have] the weights [stored in/saved in/in/] | [how/what] does a safetensors file look like | what comes [first/after the header] in a safetensors file | can a [weights file/model file/safetensors file] [run code/contain a virus/be dangerous/execute code] | [is/why is] [safetensors/the format] [safe/safer than pickle/good/secure] | [structure/header/layout] of [a safetensors file/safetensors]
 | a JSON header and raw numbers
 | can the weights file harm my computer | what comes after the header | why not pickle | how is the weights file built | where are offsets stored
model.safetensors: [which/what] file [contains/stores/has] the [weights/parameters/tensors/learned numbers] | how [large/big] is [the weights file/the download/the model file] | how many [tensors/gigabytes/GB] [are in/has/does] [the weights file/model.safetensors/the file] [have/] | [number of tensors/tensors] in the [weights file/file] | what is [inside/in] [model.safetensors/the weights file]
 | how many tensors | how big is the weights file | where are the learned numbers on disk | is model.safetensors needed
sha256: [is my/how to see if my/how do I know that the/check that the] [download/file/weights file] [complete/ok/intact/correct/is complete/is not broken/is correct] | [is/was] the download [broken/corrupt/corrupted/complete/damaged] | what is the fingerprint of a file | <want> [check/test/compare] the [hash/checksum/sha256/download/integrity of the file] | the file may be [damaged/corrupt/incomplete]
 | did my download work | is my weights file [ok/good/whole/the right one] | how do I compare [files/fingerprints/checksums] | what should I do after the download
Git LFS: <why> is [the weights file/the model file/model.safetensors] [only a few bytes/tiny/so small/134 bytes/just text/a text file] | [I cloned the model but the file is small/the clone has no real weights/git clone gave me a pointer file/my model file contains only a text] | what [does/is] git lfs pull [do/for/] | [after cloning/git clone] the weights are missing | how are large files kept outside the repository | [what is a pointer file/the file is a pointer]
 | git clone did not get the weights | the weights are only a text of 130 bytes | what must I install before cloning | how do I fetch the big files
config.json: [what/which file] [says/describes/tells/contains] the shape of a [model/Hugging Face model] | what [is in/does] config.json [say/contain/tell/] | what is compared with config.h | what is config.json [for/good for/needed for] | [does qwen600 read/who needs/is there a need for] config.json | does config.json [matter/have to match]
 | where is the shape of a Hugging Face model | which file does export.py compare | is config.json used at run time
tokenizer.json: [what/which file] is [turned into/converted to/the source of] tokenizer.bin | [what/which] file [has/holds] the vocabulary and merges of Hugging Face | [what is/where is] the Hugging Face tokenizer [stored/file/] | what does tokenizer.json [contain/hold/have] | is tokenizer.json [read by the program/needed/used directly/needed at run time]
 | which file has [the merges/the vocabulary/the rules] in Hugging Face format | what does export.py read
tokenizer.bin: [tokenizer.bin/the tokenizer file] [not found/is missing/does not exist/cannot be opened/is not there] | [who/what] [makes/writes/creates/produces] tokenizer.bin | how [is/do I get/do I create/do I generate] [the tokenizer file/tokenizer.bin] [made/] | what does tokenizer.bin [contain/hold/have inside/store] | where are the [bytes of the tokens/merges/Unicode tables] [stored/kept] | I have no tokenizer.bin
 | how do I get tokenizer.bin | why does it need its own tokenizer file | what is missing without export.py | which file has the tokens' bytes
a token: what [is/are] [the pieces/pieces of text/the units/the smallest unit] [of a text/that a model reads/the model reads/] [called/] | [is/are] [a token/tokens] [a letter/a syllable/the same as a word/words/characters/a character/longer than a word] | how [long/big] is a token | what does a [language model/model/LLM] read and write | [number of a token/what number has a token] | what [is/does] a token id [mean/]
 | how many [letters/characters/words] are in a token
 | is one word one token | how is text measured | what are the building blocks of text [for a model/] | do spaces count as tokens | what is a model's alphabet
a tokenizer: what [turns/converts/changes/translates/splits] [text/words/my text/letters/strings/a prompt] [into/to] [tokens/numbers/token ids/ids] | <how> [is/does] [my text/a text/the input/a sentence/a word] [become/turned into/cut into/split into/converted to/translated into] [tokens/numbers/ids/token ids] | [which/what] [kind of tokenizer/tokenizer/tokenization] [does it have/does Qwen3 use/is it/do you use/does the program use]
 | <how> do token ids become text | [is/does] the tokenizer [exact/the same as in Qwen3/match Hugging Face] | from text to ids
 | who cuts text into tokens | how do words become ids | is it the same tokenizer as Qwen's | what works before the model sees text
BPE: <how> are [tokens/words/pairs/bytes] [joined/merged/built/formed/combined] | [joining/joins/merging] frequent pairs [of bytes/] | <how> does [the tokenizer/tokenization/byte pair encoding] [join/merge/build/form/find] [tokens/pairs/bytes/them] | which [algorithm/method] [does the tokenizer use/is used to make tokens/joins frequent pairs] | what does [B P E/bpe/BPE] [stand for/mean] | where does BPE start | when does BPE stop
 | how does tokenization join bytes | which pairs are joined | in what way are long tokens made from short ones | how is a word broken up
byte-level BPE: [can it/can the tokenizer/can you/is it able to] [read/encode/handle/process] [any text/emoji/emojis/every language/strange characters/all characters/any bytes/any character] | <why> [are there no/is there no/no] unknown [tokens/characters/words] | <why> [work on bytes/use bytes/bytes and not characters/bytes instead of letters] | what [happens/is done] [with/to] [an emoji/unknown characters/strange letters/emojis/rare characters]
 | [does/can] every [string/text/character] [have tokens/be tokenized]
 | can it handle emojis | will an unknown character break it | what about Chinese or Arabic letters | is everything encodable
a merge: what joins two tokens [into one/into a longer one/] | [which/what] pair is [joined/merged] first | [order/rank/ranks] of [the merges/merges/a merge] | what does the rank [of a merge/] [say/mean/decide] | [how are/who decides which] pairs [are merged/ranked/joined/are joined] [first/] | joining two tokens
 | which pair goes first | what is a rank good for | how do two tokens become one
the vocabulary: how many [different tokens/tokens/token ids/words] [are there/does the model have/exist/are known/does Qwen3 have/has Qwen3/do you know] | [size/number of entries] of [the vocabulary/the vocab/its vocabulary] | what is the set of all tokens [called/] | how [big/large] is the [vocab/token set/vocabulary of Qwen3/embedding table] | [is/why is] the vocabulary [so large/151936/151,936] | how many rows has the embedding table
 | how many tokens exist | how many words do you know | is the vocabulary large | what is 151936 | how many ids are there
the pre-tokenizer: what [cuts/splits/divides] text [into words/before BPE/first/into pieces/at spaces] | <how> is text [cut/split/divided] [into words/before merging/at first] | [does/can] BPE [join/merge] across [words/spaces/word borders] | <why> [are words/is text/are digits] [split/cut/separated] [first/before BPE/before merging] | what does the [split pattern/regex/pattern/regular expression] do | what comes before [the merges/merging/byte pair encoding]
 | are words split first | do merges cross spaces | what is the first cut of a text | which pattern cuts the text
NFC: <how> [are/does it handle] [accents/accented letters/umlauts/diacritics/combining characters] [handled/treated/encoded/] | what is done to [umlauts/accents/accented characters/Unicode text] | <why> [normalize/is] [text/Unicode/the input] [first/normalized/normalized first] | [what/which] Unicode [form/normalization form] [is used/does the tokenizer use/is applied] | [same/equal] text but different bytes | letters and their accents
 | are accents [joined/normalized/composed] | do e and accent become one | is text normalized [before tokenization/first/] | what about umlauts
Unicode: <how> [are/does one] [letters/characters/symbols] [numbered/given numbers/counted] | what is the number of a character [called/] | how does the tokenizer [know/tell] [letters from numbers/what a letter is/letters and digits apart/spaces apart] | what [are/do] the Unicode tables [for/contain/do] | <why> [are there/does tokenizer.bin have] [tables of characters/Unicode tables]
 | what is the number of a letter | how are letters told from digits | does the tokenizer know all scripts
UTF-8: <how> [many/long] [bytes/] is a [character/letter/chinese character] | <why> does [it/the program/a character/text] [wait for whole characters/hold back bytes/appear late] | what happens [to/with] [half a character/incomplete characters/partial characters/a broken character] | [how is/in which encoding is] text [stored/written/encoded/printed] | [a character/characters] as one to four bytes | [encoding/character encoding] of the [output/text/program]
 | how is a character stored | why is a character shown late | can half a character be printed | how many bytes does an emoji have
control tokens: what [marks/separates/shows] [the turns/the beginning of a turn/the end of a turn/where a turn ends/turns in a chat] | [can I/may I/can a user/what if I/what happens if I] type [<|im_end|>/im_end/special tokens/<|im_start|>/control tokens] | what [is/are] [<|im_start|>/<|im_end|>/im_end/im_start/im_start and im_end] | [is/are] what I type [plain text/always text/parsed] | [prompt injection/injecting control tokens/can I fake a turn]
 | <how> does the model know who is speaking
 | can I fake the end of a turn | what if I type im_end | how are user and assistant told apart | is my input safe from injection
the end token: [when/why] does [the model/it/the reply/the answer/a reply/generation] [stop/end/finish/halt] | <how> does [it/the model/the program] know [when to stop/that it is done/when to end/that the reply is finished] | what [ends/stops/finishes] [a reply/the reply/an answer/generation] | which token [ends a reply/means the end/stops generation/is the last] | the [reply/answer] [stops too early/was cut/is cut off/ends in the middle] | [end of/last token of] [a reply/an answer]
 | why did it stop | who decides the end of a reply | how does a reply finish | what makes it stop talking
thinking mode: <want> [see/get/have/use/switch on/activate/enable] [its thoughts/thinking/reasoning/the thinking mode/the reasoning/chain of thought/thoughts] | [can/does] [it/the model/qwen600/Qwen3/the program] [think/reason] [first/before answering/step by step/] | [make/let] it [think/reason] [first/before it answers/step by step] | what [is/are] [<think>/the think tags/the text in think tags/chain of thought/the think block] | <why> should I [turn on/use] thinking
 | what does the model write before the answer [in thinking mode/] | [turn on/switch on/enable/activate] [thinking/reasoning] | how does thinking work
 | can I see its thoughts | how do I make it reason | how to switch on reasoning | does it think before it speaks | where does it reason
non-thinking mode: <want> [stop/turn off/disable/switch off/skip/avoid/hide] [thinking/the thinking/reasoning/its thoughts/thoughts/the reasoning] | [answer/answering/can it answer] [at once/without thinking/directly/immediately/right away] | [what/which] mode is [the default/on by default/used without flags/normal] | <why> is the think block empty | no thoughts please | [is thinking/does it think] [on/off] by default | [can I/how to] get [direct answers/a quick answer/quick answers]
 | how do I stop it from thinking | can it answer straight away | does it think by default | what if I want no reasoning
a system prompt: <want> [tell/instruct/make] [it/the model] [how to behave/to be polite/to answer in one word/always to be short/to act like a pirate/in general what to do] | [give/set/pass/write/change] [a system prompt/an instruction for the whole conversation/a persona/instructions/a role/the system message] | which instruction [holds for all turns/comes before the conversation] | [does it/can it/can I] [have a persona/play a role/use instructions]
 | <how> [can/do] I change [its behavior/its style/how it behaves/its personality] | [does the system prompt/how long does a system prompt] [stay/last/hold]
 | can I give it a role | how do I set rules for the whole chat | how do I make it answer in capitals | can I tell it to be brief
a prompt: what is [the text that I give/my input/the text I type/the input text] [called/to the model/] | [what do you call/what's the word for] [the text I type/what I type/my question to the model] | what does the model continue | what [should/must/can] I [type/write/enter] [here/at the prompt/] | what goes into the model | how [do I write/should I write] a [good/] prompt
 | what do I give the model | what is my question called | what does the model get from me
a chat template: <how> [is/are] [the chat/a chat/the messages/a conversation/turns/messages] [formatted/made into tokens/turned into one text/put together/arranged for the model] | [what/which] [format/form] does [the conversation/the prompt/a chat] have | what [puts/writes] control tokens around [each turn/messages] | [which/what] are the [four files/four templates/template files] | what is [template_user.txt/template_system.txt/in template_user.txt/a template file]
 | who [renders/makes/writes] the templates
 | how are messages joined | how is a chat written as text | what stands around each message | who makes the templates
the history: [do/does/can] [you/it/the model/the program] [remember/recall/know/keep] [what I said/earlier questions/the previous turn/past turns/previous messages/our conversation/the conversation/my last question/old messages] | [is/are] [the history/old thoughts/earlier thoughts/thoughts/past thoughts] [kept/saved/remembered/stored/sent again] | what does the model [see/get] [each turn/of earlier turns/again each turn]
 | how [good/long] is your memory | <why> does it [remember/know] [what I said/earlier turns/my name] | what happens to [the thoughts/thinking] of earlier replies | [remember/remembering] [earlier turns/the chat]
 | is my chat remembered | does the model see old turns | are thoughts part of the history | do you remember the last question | what do you remember
the context: how [long/large/big] is [the context window/your context/the window/the context] | how [many tokens/many words/much text/much/long a text] can [the model/it/you/Qwen3] [see/read/take/handle/process/remember] [at once/at the same time/] | what is the [default context/default context size/default window/size of the context/limit of the context] | [is there/what is] a [limit/maximum length] [for a prompt/for a conversation/of text/for the chat]
 | how long may [a prompt/my prompt/a text] be | what does the model see at once
 | how much can it read at once | how many tokens can it see | how big a text can I paste | what is 8192
a full context: what [happens/does it do/is done/will happen] [when/if/once/after] [the context/the window/the memory/the history/the conversation/the chat] [is full/overflows/runs full/gets too long/no longer fits/exceeds the context/is too long] | [does it/will it/can it] forget [old turns/the beginning/earlier turns/the start of our chat/early messages] | [which/what] turns are [removed/forgotten/thrown away/lost] [first/]
 | [does/will] the system prompt [stay/survive/be dropped] [when the context is full/] | <why> did it forget [the beginning/what I said first/my first question] | I ran out of context
 | will it forget the start of the chat | what if I talk too long | which turns go first | what gets dropped
/clear: <want> [start over/start again/reset/begin again/forget everything/delete the history/start fresh/wipe the conversation/erase the chat/restart/open a fresh chat/clear the context] | [reset/erase/wipe/delete/restart/clear] [the chat/the conversation/the history/everything/memory] | [what/which] command [resets/clears/forgets/starts over/erases] [the conversation/the chat/everything/the history/] | what does /clear do | [new/fresh] [chat/start/conversation]
 | forget [everything/it all/what I said]
 | can I wipe the chat | how do I begin anew | how to make it forget | is there a command to restart | how to empty the history
Ctrl-C: <want> [stop/interrupt/cancel/abort/break off/halt/cut short] [it/a reply/the reply/the model/generation/the output/an answer/a long answer] | [it does not stop/the reply is too long/it is writing too much], how do I [stop/interrupt/end] it | [which/what] key [stops/interrupts/cancels] [the reply/it/the model/generation] | what does [ctrl-c/ctrl+c/control c/Ctrl-C] do | [make it/let it] [stop talking/shut up/be quiet/stop] | [stop/interrupt/abort/cancel] [the reply/generation/the model/answer]
 | it talks too much, how do I stop it | can I cut off a reply | how to break | how do I abort | stop it
Ctrl-D: <want> [quit/exit/leave/end the program/close the program/get out/terminate/close it/go back to the shell/stop the program] | [which/what] key [ends/quits/closes/leaves] [the program/the chat/it] | what does [ctrl-d/ctrl+d/control d/Ctrl-D] do | [quit/exit/leave/close] [the program/the chat/] | how does one [get out/leave/quit/exit] | [is there/what is] [an exit command/a quit command/the exit command]
 | how to get back to the shell | what ends the program | how do I end it | how do I finish
a block of lines: <want> [enter/type/write/paste/send] [more than one line/several lines/multiple lines/many lines/a paragraph/code/a long text/a whole file/line breaks/newlines] [at once/as one prompt/in one turn/] | [what do/what are] [the three quotes/triple quotes/three double quotes] [do/mean/for] | <why> is [each line/every line] [a turn/answered/taken as a question] | how [do I/to] [make/insert/get] a [line break/newline] | [multiline/multi-line/several lines] [prompt/input/]
 | can I paste code | how do I send two lines at once | can a prompt have line breaks | how to write a longer text
standard output: where [does/is/do] [the reply/the answer/the output/replies/thinking/the thoughts/progress/messages] [go/printed/written/end up/shown] | <want> [save/pipe/redirect/store] [the reply/the answer/only the reply/the output/replies] [to a file/into a file/into another program/] | [does it/can it/is it possible to] [work in a pipe/be piped/use it with pipes] | what is [on/written to/printed on] [stdout/stderr/standard error/standard output]
 | [thinking/errors/progress] [on stderr/on standard error]
 | can I redirect the answer | does thinking go to stdout | what goes to the terminal's error stream | can I pipe it
the exit status: what [does/is] [exit status/exit code/the return value/status/code] [0/1/2/130/of the program/three] [mean/] | [how do I know/how to see/how can a script see] [if it failed/whether it worked/that it failed] | what [code/number/value] does [it/the program/qwen600] [return/exit with/end with/give back] [on error/when something fails/when interrupted/for wrong usage/] | [it/the program] [returned/exited with] [1/2/130] | what does [130/2/1] mean as exit code
 | how does a script know it failed | what is returned on error | which number means interrupted | what does it return when all is well
NO_COLOR: <want> [turn off/disable/switch off/remove/avoid/get rid of] [colors/colours/the colors/dim text/ANSI codes/escape codes/bold text/formatting] | <why> is [the text/some text/the thinking/it] [dim/gray/grey/bold/colored] | [are there/does it use/is the output in] [colors/escape codes/colours/ANSI codes] | [no/without] [colors/colours/escape codes] | [plain/uncolored] [output/text]
 | can I have plain text | are escape codes printed | how do I get rid of dim text | how to turn bold off
-r: [which/what] <flag> [turns on/enables/switches on/is for/controls] [thinking/reasoning/the thinking mode] | what [does/is] [-r/-r 0/-r 1/r/the r flag] [do/mean/for/] | [explain/meaning of] -r [0/1/] | [difference between/compare] -r 0 and -r 1
 | what does r mean | is there a flag for thinking | how do I write the thinking flag
-s: [which/what] <flag> [sets/is for/controls/chooses] [the seed/the random seed/randomness seed] | what [does/is] [-s/-s 1/-s 7/the s flag] [do/mean/for/] | [set/fix/choose/change] the [seed/random seed] | where is the [seed/default seed] from | [default/value] of the seed
 | is there a flag for the seed | what does s mean | how do I pass a seed
-k: [which/what] <flag> [sets/is for/controls/changes] [top-k/top k/topk/the number of candidates] | what [does/is] [-k/-k 0/-k 1/-k 20/-k 50/the k flag] [do/mean/for/] | [set/change/turn off/disable/switch off] [top-k/topk/top k] | [default/default value] of [top-k/-k]
 | is there a flag for top-k | what does k mean on the command line | how do I pass k
-t: [which/what] <flag> [sets/is for/controls/changes] [the temperature/temperature/randomness] | what [does/is] [-t/-t 1/-t 0.6/-t 0.7/-t 1.5/the t flag] [do/mean/for/] | [set/change/lower/raise/increase/reduce] the temperature [with a flag/] | [default/standard/preset] temperature | where do I set the temperature
 | is there a flag for temperature | what does t mean | how do I lower the temperature
-p: [which/what] <flag> [sets/is for/controls/changes] [top-p/top p/topp/the nucleus] | what [does/is] [-p/-p 1/-p 0.9/-p 0.95/-p 0.5/the p flag] [do/mean/for/] | [set/change/turn off/disable/lower] [top-p/topp/top p] | [default/default value/standard value] of [top-p/-p]
 | is there a flag for top-p | what does p mean on the command line | how do I pass p
-i: [which/what] <flag> [answers one prompt/takes a prompt/is for one question/passes a prompt/gives a single prompt] [and exits/] | what [does/is] [-i/-i -/the i flag] [do/mean/for/] | <want> [ask only one question/run it once/ask something without a chat/use it non-interactively/use it in a shell script/get one answer and exit/read the prompt from a file/read the prompt from standard input/call it from a script] | [one-shot/single question/one question/batch/non-interactive] mode
 | can I run it without a chat | is there a flag for one question | how do I use stdin as the prompt | can a file be the prompt | can it read a prompt from a pipe
-y: [which/what] <flag> [sets/is for/controls/gives] [the system prompt/a system prompt/the system message/the instruction] | what [does/is] [-y/the y flag] [do/mean/for/] | [is there/does it have/what is] a default system prompt | [pass/set/give/enter] [a system prompt/the system prompt/a system message] [on the command line/with a flag]
 | is there a flag for the system prompt | what does y mean | where do I put the system prompt
-n: [which/what] <flag> [limits/is for/controls/bounds/shortens] [the reply/the length/the number of tokens/reply length/the length of a reply] | what [does/is] [-n/-n 100/-n 20/the n flag] [do/mean/for/] | <want> [shorten the replies/limit the reply/stop after 100 tokens/get short answers/bound the length/cut long replies/set a maximum length] | [maximum/max/longest] [length of a reply/tokens/reply length/number of new tokens] | how long can a reply [be/get]
 | can I limit the reply | is there a flag for the length | how do I get a short reply | answers are too long | how to shorten replies
-c: [which/what] <flag> [sets/is for/controls/changes] [the context/the context length/context size/the window] | what [does/is] [-c/-c 2048/-c 16384/-c 1024/the c flag] [do/mean/for/] | <want> [use a longer context/use a shorter context/increase the context/make the context smaller/have a bigger window/change the context size/extend the context/reduce the context] | [set/change/increase/reduce] the [context/context size/context length/window]
 | is there a flag for the context | how do I set the window | can the context be smaller | how do I save memory for the cache
-d: [which/what] <flag> [chooses/is for/controls/selects/sets] [the device/the GPU/the CPU/cpu or gpu/where it runs] | what [does/is] [-d/-d cpu/-d gpu/the d flag] [do/mean/for/] | <want> [use the CPU/force the GPU/run on the GPU/switch to the CPU/pick the device/use the graphics card/choose between CPU and GPU/change the device/run it on the processor] | [cpu or gpu/gpu or cpu], how do I choose | [does it use/will it use] the GPU [automatically/by default]
 | is there a flag for the device | can I choose the GPU | how do I run it on the processor | how to force cpu
-b: [which/what] <flag> [runs/is for/starts/does] [the benchmark/a benchmark/a speed test/benchmarks] | what [does/is] [-b/-b 1/the b flag] [do/mean/for/] | <want> [test the speed/measure performance/run a benchmark/see how fast it is/measure tokens per second/test my computer/time prefill and decode] | [benchmark/speed test/performance test/measure performance] | how fast is [my computer/my card/my GPU/this computer/it here]
 | is there a benchmark | how can I test performance | is my computer fast enough | can it time itself
-v: [which/what] <flag> [shows/prints/is for/displays] [token ids/timings/more output/details/debug output] | what [does/is] [-v/-v 1/the v flag] [do/mean/for/] | <want> [see more details/see the tokens/see how long it takes/print timings/get debug output/know how my text is tokenized/show timings/see token ids] | [verbose/debug] [output/mode/] | [show/print] [timings/token ids/statistics]
 | can it show token ids | how many tokens has my prompt | is there a verbose flag | how can I see what it does | count the tokens of my text
the usage: [list/show/show me/print/give me/name/what are] [all options/the options/all flags/the command line options/its options/the flags/all the switches/available flags] | <how> [do I/to/can I] [start/run/call/launch/invoke/use] [qwen600/the program/it/this program/the binary] | [which/what] [flags/options/arguments/parameters/switches] [can I use/exist/are supported/does it take/does it have/are available/does it accept] | what can I [put/write] on the command line
 | [command line/usage/help] of [the program/qwen600]
 | how is it called | what do I type to start | which options exist | can you list the flags | how does one use the program
qwen600: what [is/does] [this program/qwen600/this software/this tool/this project/this engine] [do/for/about/good for/] | what [sort/kind/type] of [program/software/tool/project] is [this/it/qwen600] | [describe/introduce/summarize/present] [the program/qwen600/this program/the project/this software] | <why> [should I use/use/was] [qwen600/this program/it] [written/made/] | [who/what] is [qwen600/this program/the engine] [for/made for/meant for] | for whom is [qwen600/it/the program] [made/meant/]
 | what [have I/did I] [started/downloaded/installed/run] | [purpose/goal/aim] of [this program/the project/this project] | is qwen600 [small/fast/a server/an engine/a library]
 | what is this program about | who would use this | what is it good for | why another engine | is this a chat program
main.cu: <whichfile> [has/is/contains/holds] [the main function/main/the entry point/the argument parsing/the chat loop/the start of the program] | where [are/is] [the arguments/command line arguments/main/the options] [parsed/read/handled/defined] | where should I start reading [the code/the source/] | [entry point/main function/main file] [of the program/] | what [does/is in] main.cu [do/]
 | where is main | where does it all begin | which file reads the options | where is the chat loop
config.h: <whichfile> [has/defines/contains/holds/sets] [the constants/the shape/the defaults/default values/the limits/the model shape/the settings/the colors] | <want> [change a default/change the default temperature/change the limits/edit the defaults/change the model shape/change constants/set other colors] | where [are/is] [the defaults/the model shape/default values/the limits/the constants/the number of layers] [defined/set/kept/stored] | [is there a/what is the] configuration file
 | what [does/is in] config.h [do/contain/]
 | where do I change settings | where is the number of layers defined | can I edit the defaults | where are colors set
cpu.h: <whichfile> [has/is/contains/holds/implements] [the CPU code/the CPU engine/the model in C/the C version of the model/the reference/plain C code of the model] | what [is the reference for/do the kernels get compared with/are kernels tested against] | what [does/is in] cpu.h [do/contain/] | [is there/does it have] [a CPU version/a CPU engine/a version in plain C/a CPU backend/a C implementation] | [forward pass/transformer] in plain C
 | is there a plain C version | which code is the reference | where is the forward pass in C | what runs without CUDA
model.cuh: <whichfile> [has/is/contains/holds/implements] [the GPU engine/the upload/GPU prefill/the GPU code/the CUDA engine/the GPU part] | what [does/is in] model.cuh [do/contain/] | <how> [is/does] the GPU [engine/side/part] [work/built/organized/structured] | [GPU/CUDA] [engine/backend/implementation] | what does the GPU engine do
 | where is the GPU code | which file talks to cuBLAS | how is the GPU engine built | where is GPU memory allocated
kernels.cuh: <whichfile> [has/contains/holds/defines] [the kernels/CUDA kernels/the CUDA code/GPU kernels/the GPU functions] | what [does/is in] kernels.cuh [do/contain/] | where [are/is] [the CUDA kernels/CUDA code/GPU kernels/the kernels] [defined/written/kept/found] | [show me/I want to read] the [CUDA kernels/kernels/GPU code]
 | where are the GPU functions | which file has CUDA kernels | where can I see the kernels
chat.h: <whichfile> [has/handles/contains/manages/owns/keeps] [the conversation/the chat/the history/the turns/the templates/the dialog/chat history/printing of replies] | what [does/is in] chat.h [do/contain/] | where [are/is] [the history/turns/the conversation/a reply/the chat] [handled/kept/managed/printed/stored] [in the code/in the source/] | [code/source] for the conversation
 | where is the history stored in the source | who prints the reply | which file knows the templates
sampler.h: <whichfile> [does/has/handles/contains/implements/applies] [the sampling/sampling/top-k/top-p/temperature/the random choice/the choice of a token] | what [does/is in] sampler.h [do/contain/] | where [is/are] [the temperature/top-p/top-k/sampling/a token] [applied/done/chosen/implemented/picked] [in the code/in the source/] | [code/source] of the sampler
 | where is top-p implemented | which file picks the token | where is the random choice made
tokenizer.h: <whichfile> [does/has/handles/contains/implements] [the tokenization/tokenizing/BPE/encoding/decoding of tokens/the tokenizer/byte pair encoding] | what [does/is in] tokenizer.h [do/contain/] | where is [BPE/the tokenizer/encoding/tokenization/text encoded] [implemented/done/in the code/in the source] | what [loads/reads] tokenizer.bin | [code/source] of the tokenizer
 | where is BPE implemented | which file encodes text | where are ids turned into text
safetensors.h: <whichfile> [loads/reads/maps/opens/checks/parses] [the weights/the weights file/model.safetensors/the tensors/the header of the weights/safetensors] | what [does/is in] safetensors.h [do/contain/] | where [is/are] [model.safetensors/the weights file/tensor names/the weights/the tensors] [read/mapped/checked/loaded] [in the code/in the source/] | who checks the [tensors/weights file]
 | who checks the weights | which file maps the weights | where are tensor names known
engine.h: what [are/is] [the four verbs/the interface of an engine/open, prefill, decode and close] | [how do/do] [the two engines/both engines/CPU and GPU engine] [have in common/share an interface/look the same/fit together] | what [do/does] [the CPU and the GPU engine/both engines/the engines] have in common | what [does/is in] engine.h [do/contain/] | <whichfile> [has/defines] the [engine interface/interface/function table/four verbs]
 | what functions [has/does] an engine [have/]
 | what do both engines share | what can an engine do | which functions must an engine offer
export.py: <want> [prepare a model/convert a tokenizer/make the template files/set up a model/convert a model/get tokenizer.bin/use a new model directory] | [which/what] script [makes/writes/creates/converts/produces] [tokenizer.bin/the templates/the template files/the tokenizer/them] | what [does/is] [export.py/the python script/the export script/the script] [do/for/] | [is Python needed/why is there a Python script/do I need Python]
 | what checks config.json
 | how do I make the tokenizer file | what prepares a model | which script must I run | why run Python once
the model directory: [which/what] files [does it need/must I have/are needed/belong in the directory/should be there/do I have to put there/are required/does the model need] | what [must/should] be in [the directory/the model directory/the folder/model_dir/the model folder] | [list/name] the [files of a model/needed files/files in a model directory/required files] | what is [model_dir/the first argument/<model_dir>] | a file is missing
 | what must be in the folder | which files are required | what do I need to run it | what belongs to a model
building: <want> [build/compile/make/install/set up] [it/qwen600/the program/this program/the project/from source/the code] | [what do I need/what is needed/which tools do I need] to [build/compile] [it/qwen600/the program] | [which/what] command [builds/compiles] [it/the program/qwen600] | [build/compile/installation/compilation] [instructions/steps/guide/] | [does it/is it possible to] build without [nvcc/CUDA/a GPU] | how does the build work
 | how do I compile | is there a Makefile | what builds the program | do I need CMake
make demo: <want> [try it/try it out/see it work/start the demo/run the demo/play with it/try the program/test it quickly/chat with you] | [what/which] command starts [the demo/a chat with the bundled model/the demo chat] | what does make demo do | [quick start/quickstart/getting started/demo/first steps] | how do I [begin/get started/start quickly]
 | how do I try it | is there a quick demo | how can I start quickly | how do I talk to you
make test: <want> [run the tests/test it/run all tests/check the build/verify the program/see if it works/run the test suite] | [what/which] command runs the tests | what does make test do | [are there/does it have] [tests/unit tests/a test suite] | <why> [are/were] [some tests/tests/a test/GPU tests] [skipped/not run] | how is [qwen600/the program/the code] [tested/checked/verified]
 | are there tests | how do I check everything works | how do I run the checks | why are tests skipped
nvcc: [nvcc/the CUDA compiler] [not found/is missing/cannot be found/is not on the path/is not installed] | [what/which] compiler [compiles the CUDA code/do I need for CUDA/is used for the kernels/is needed for the GPU] | [does it/can I build/can it be built] [need nvcc/without nvcc] | what [is/does] nvcc [for/do/] | where [is/must] nvcc [be/expected/searched/looked for] | CMake does not find [nvcc/CUDA]
 | which compiler is used | where is nvcc searched | what if nvcc is missing | do I need the CUDA toolkit
the real model: <want> [get/download/use/run/try/install/fetch/chat with] [the real model/Qwen3/Qwen3-0.6B/the big model/the actual model/the real weights/the full model] | where [can I/do I/to] [get/download/find] [the weights/Qwen3/the model/Qwen3-0.6B/the real model] | [steps/instructions] [to run/for] [Qwen3/the real model/Qwen3-0.6B] | how do I [switch/change/go] to the [real/big/larger] model
 | where is the big model | how do I get better answers | can I use the real Qwen3 | what are the steps to run Qwen3
running without a GPU: [does it/can it/will it/can I/may I/is it able to] [run/work/start/use it/run it] [without a graphics card/without a GPU/on a laptop/on my laptop/with no GPU/without NVIDIA/without CUDA/on a machine without a GPU/on a Mac/on an old computer] | [is/do I need] [a GPU/a graphics card/an NVIDIA card/CUDA] [required/necessary/needed/] | what [happens/does it do] [without a GPU/if there is no GPU/when there is no graphics card/when no GPU is found]
 | I [have no/don't have a/do not have a] [GPU/graphics card/NVIDIA card] | no GPU here
 | does it need NVIDIA | can my laptop run it | will it work on a server without a card | is a CPU enough
running out of memory: [it/the program/the GPU] [runs out of memory/says out of memory/has too little memory/does not have enough memory/is out of memory] | [not enough/too little/insufficient] [memory/GPU memory/VRAM] | what [can I do/helps/to do/should I do] [when the memory is too small/if memory is short/against memory errors/with little VRAM/when the model does not fit] | <want> [use less memory/reduce memory use/save memory/fit it on a small card/reduce VRAM/lower the memory use]
 | [CUDA/GPU/cudaMalloc] [error: out of memory/out of memory] | the model does not fit [on my GPU/on my card/in memory]
 | the card is too small | cudaMalloc fails | what if the memory is not enough | how can I make it fit
the memory that it needs: how [much memory/much VRAM/many gigabytes/much RAM/much GPU memory/many GB] [is needed/does it take/is required/must my card have/do I have to have/does qwen600 use/does Qwen3 need/must a GPU have/does the model need] | [will it/does it/can it] [run on/fit on/work with/fit in/fit into] [a 2 GB card/an 8 GB card/2 GB/4 GB/8 GB/my 6 GB card/a small GPU/6 GB of VRAM]
 | [memory/VRAM/RAM/hardware] [requirements/needs/use/usage/footprint] | is [2 GB/8 GB/6 GB/3 GB] [of VRAM/of memory/] enough
 | does it fit in 4 GB | how big must my card be | what are the requirements | how much RAM
CUDA_VISIBLE_DEVICES: [which/what] [GPU/card] [does it use/is used/will it use/is chosen] [if there are two/when I have two/if I have several/] | <want> [use the second GPU/choose the card/use the other card/select a GPU/run it on GPU 1/pick one of my GPUs/use a different GPU] | I have [two/several/three/many] [GPUs/cards/graphics cards] | [several/two/multiple] [GPUs/cards], which one [is used/does it take] | what does CUDA_VISIBLE_DEVICES do
 | which card will be used | how do I choose a card | can I use GPU number two
a missing driver: [my driver/the driver/the NVIDIA driver] is [too old/missing/outdated/not installed/not found/old] | [does it/do I] need [a driver/the NVIDIA driver/a new driver/drivers] | what [happens/if/does it say] [with an old driver/without a driver/when the driver is old/when the driver is missing] | [CUDA driver/driver] [version is insufficient/error/problem/not found] | [which/what] driver [do I need/is needed/version]
 | is a driver needed | what if my driver is old | does it check the driver
one allocation: how [many/often] [allocations/times does it allocate/cudaMalloc calls] [are there/on the GPU/does it make/] | <why> [allocate only once/is there one allocation/a single allocation/just one allocation/one big block] | <how> is [memory/GPU memory/device memory] [allocated/carved/divided/planned/organized/managed] | what is [in the block/in the one block/carved from one block] | [memory plan/allocations] [on the GPU/of the GPU engine/]
 | how often is memory allocated | is memory allocated during the chat | what is one big block
the upload: <how> do the weights [get to/go to/reach/get onto/move to] the [GPU/card/device/graphics card] | <how> [are/is] [weights/the weights/the model] [copied/uploaded/sent/transferred/moved] [to the GPU/to the card/to the device] | <why> [pinned memory/use pinned buffers/two buffers/are the buffers pinned/use two pinned buffers] | [copying/uploading/transferring/moving] [weights/the model] [to the GPU/] | [reading and copying/disk and copy] overlap
 | how do weights travel to the card | why pinned memory | does copying overlap with reading
OpenMP: [does it/does the CPU engine/can it/will it] use [several cores/all cores/more than one core/many threads/multiple threads/all my cores] | how many [threads/cores] does [it/the CPU engine/the program] use | <how> is the CPU engine [parallel/parallelized/made fast/multithreaded] | [which/what] [runs a loop on all cores/makes the CPU engine parallel] | [multithreading/threads/parallelism] on the CPU | [parallel/multithreaded] CPU code
 | are all cores used | how many threads run | what makes the CPU version parallel
the license: [may I/can I/am I allowed to/is it allowed to] [use it/sell it/copy it/change it/use it at work/modify the code/redistribute it/use it commercially] | [is it/is qwen600/is the program/is the code] [free/open source/free software/open/MIT/public] | [which/what] [license/licence/terms] [has it/has qwen600/applies/is it under/does Qwen3 have/do the weights have] | [licence/license/legal/copyright] [terms/question/] | is [Qwen3/the model] [free/open/Apache]
 | can I use it at work | is it free | what are the terms | may I change the code
the missing features: [can it/does it/can qwen600/does qwen600/can the program] [run a server/serve an API/load other models/run Llama/run Mistral/run bigger models/run Gemma/have a web interface/offer an API/support other models/run Qwen3-8B/use images/run DeepSeek] | what [does it not do/can it not do/is not supported/is left out/are the limits/are its limitations/doesn't it support] | [limits/limitations/missing things/drawbacks] of [qwen600/the program/it]
 | [is there/does it have] [an API/a server/an HTTP server/a web interface/REST/an OpenAI API/a GUI] | [other/different/bigger] models
 | what does it lack | what is not possible | can it serve a website | what are its weaknesses | can it do images | is there something it cannot do
CUDA: [which/what] language are the [GPU kernels/kernels/GPU functions] [written in/in] | how [do I/does one/to] program [a GPU/an NVIDIA GPU/graphics cards] | [who/which company] makes CUDA | [is CUDA/does CUDA] [a language/C++/only for NVIDIA/run on AMD] | what does [CUDA/cuda] [do/stand for/have to do with GPUs/mean]
 | what are GPU programs written in | does it run on AMD | how is an NVIDIA card programmed
a GPU: <why> [do language models/does it/do we/should I/is it better to] [run on/use/need/like] [GPUs/a GPU/graphics cards/a graphics card] | what is [good/special/great] about [GPUs/a GPU/graphics cards] | what [has thousands of threads/does a graphics card do/suits matrix products] | [which/what] [hardware/processor] is best for [matrix products/language models] | GPU [vs/versus/or] CPU | <why> are GPUs [fast/good for AI/so fast/faster than CPUs]
 | why are graphics cards used | what makes a GPU special | is a GPU needed for speed
a CPU: <why> is [it/the CPU engine/the CPU/running on the CPU] [slower/slow/so slow/slower than the GPU] | what is the [main processor/processor of a computer/central processing unit] | what does C P U mean | [is/are] [a CPU/CPUs] [slower than a GPU/good enough/fast] | CPU [vs/versus/or] GPU [memory/] | running on the [processor/CPU] is slow
 | why is the processor slower | can a CPU keep up | what is the main chip
cuBLAS: [which/what] library [multiplies matrices/does the matrix products/computes matrix products/is used in prefill/does prefill use] | <how> are [large matrix products/matrix products/matrices] [done/computed/multiplied] [on the GPU/in prefill/] | [does it/does prefill] use [a library/cuBLAS/libraries/NVIDIA's library] | NVIDIA's [library/BLAS/matrix library] | [is/why is] cuBLAS [used/needed/fast]
 | which library multiplies matrices | does prefill use a library | who multiplies the big matrices
a tensor core: [which/what] [part of a GPU/units/hardware] [multiplies matrices/multiply small matrices/does matrix products] | <why> is prefill [fast/so fast/quick/faster/efficient] | what [speeds up/accelerates] [prefill/matrix products/matrix multiplication] | <how> does a GPU multiply matrices [so fast/quickly/] | multiply small matrices in one instruction | [are/does it use] [tensor cores/the tensor cores] [used/]
 | which hardware multiplies matrices | why is prefill quick | what accelerates matrix products
memory bandwidth: what [limits/bounds/determines/sets/decides] [the speed/decode/the speed of decode/token speed/how fast it writes/the speed of generation/tokens per second] | <why> is [decode/decoding/generation/writing/it/token generation/generating/the output] <slow> | what is the [bottleneck/limit/limiting factor/slowest part] [of decode/of generation/when decoding/] | [which/what] [hardware/card/property] [makes decode faster/matters for speed/matters]
 | <how> [can/do] I make [decode/it/the replies/generation] faster | bytes per second | <why> does bandwidth matter | how many bytes [can be read per second/per second]
 | what holds decode back | why isn't it faster | what should a fast card have | what limits the tokens per second
a memory-bound task: what [is/does it mean to be] limited by memory [and not by compute/] | [waiting for/when it waits for] [bytes/memory/data] [and not arithmetic/instead of arithmetic] | [is decode/is it/is generation/is the program] [memory-bound/compute-bound/memory bound/compute bound/limited by memory/limited by compute] | [memory-bound/memory bound/bandwidth-bound] [or/vs/versus] compute-bound | what does the roofline [say/show/mean] | bytes or arithmetic
 | does it wait for memory | is arithmetic the limit | what is the opposite of compute-bound
a kernel: what [is/do you call] a function [that runs on the GPU/on the GPU/for the GPU] [called/] | what [does/do] [a kernel/kernels/the kernels] [do/run on] | [what/which code] [runs/is executed] [in many threads/on the card/on the graphics card] | [is a kernel/are kernels] [part of Linux/functions/programs] | code that runs on the GPU | GPU [function/program/routine]
 | what is code on the GPU called | what do many threads run | what is launched on a GPU
a cooperative kernel: <how> can [blocks/all blocks/thread blocks] [wait for each other/synchronize/sync/be synchronized] | <why> [is decode one kernel/one kernel per token/a single kernel/a cooperative launch/just one kernel for decode] | [how many/what] kernels [run per token/does a token take/does decode need] | what makes sure that all blocks run [at the same time/together/at once] | [synchronize/synchronization across/wait across] [blocks/the whole grid/all blocks]
 | <how> does the GPU [decode/make] [one token/a token/tokens]
 | can all blocks wait for each other | how does one kernel do a whole token | why a single kernel
launch overhead: how [much/long] [does/is] [a kernel launch/launching a kernel/one launch/a launch] [cost/take] | <why> are [many launches/hundreds of kernels/small kernels/many kernels/kernel launches] [slow/bad/expensive/a problem] | [cost/price/time/overhead] of [a launch/launching/launches/starting a kernel] | [a few microseconds/microseconds] per launch | what [is/] the problem with [many small kernels/many launches]
 | do launches cost time | why not hundreds of kernels | how slow is a launch
a CUDA graph: [record/recording/replay/replaying/capture] [kernel launches/launches/a series of launches/many launches] | <how> [can/do] I [start/launch] many kernels [with one call/at once/cheaply] | what [records/captures] [kernel launches/launches] | what [makes launches cheaper/reduces the cost of launches/lowers launch costs] | [does it/is it] use [graphs/CUDA graphs] | [graph of/one call for many] kernel launches
 | can launches be bundled | how do I replay launches | what records launches
kernel fusion: <why> [fuse/combine/merge/join] [kernels/steps/several kernels/several steps/operations] | [several/two/many] steps in [one kernel/a single kernel] | what [saves/avoids] trips to memory | [merge/combine/put] [several operations/operations/two steps] into one kernel | what is [fused/combined/done together] | [benefit/advantage] of [fusion/fusing/fused kernels]
 | why put steps together | what saves memory traffic | can two kernels become one
a thread block: how [many threads/big/large] [has/is/does] [a block/a thread block/one block] [have/] | what is a group of [threads/GPU threads] that [share shared memory/run on one multiprocessor] | [what/which] threads [share shared memory/work together/can share data] | [maximum/size/limit] of [a block/a thread block/threads per block] | [threads/number of threads] per block
 | how big may a block be | which threads share memory | what is a group of threads
a grid: [all/what are all] [blocks/thread blocks] of [one/a] [kernel/launch/kernel launch] [called/] | what [consists of/is made of] [thread blocks/blocks] | [name for/what is the name of] all blocks [together/of one kernel] | how are blocks [grouped/organized/arranged]
 | what are all the blocks together | what is one launch made of
a warp: [how many/what number of] threads [has a warp/are in one warp/run together/make a warp/execute together] | [32/thirty-two] [threads/GPU threads] [together/that run the same instruction/] | what [is/do you call] a group of 32 threads [called/] | [size/width] of a warp | <why> [32 threads/do 32 threads run together] | which threads run the same instruction
 | which 32 threads run together | how many threads in lockstep | what is the size of a warp
a thread: what is [the smallest unit of work on a GPU/the smallest worker/the smallest unit of a kernel/a worker of a kernel] | [what/who] [has its own registers/executes a kernel/runs the code of a kernel] | what [makes up a warp/is a warp made of/are warps made of] | how many threads [does a GPU have/has a GPU/run on a GPU] | [worker/smallest unit] of a [kernel/GPU]
 | what is the smallest unit on a GPU | what has its own registers | who executes a kernel
an SM: what is [a core of a GPU/one of the cores of a GPU/a multiprocessor/a GPU core] [called/] | where [do/does] [blocks/a block/thread blocks] [run/execute] | [what/which part] [runs whole blocks/runs blocks/executes blocks/has the shared memory] | what does [S M/SM] [mean/stand for] | how many [SMs/multiprocessors/cores] has a GPU | [cores/core] of an NVIDIA GPU
 | what are GPU cores | what runs a block | how is a GPU divided
shared memory: <how> do threads [share data/exchange data/talk to each other/communicate/pass data] [in a block/] | [which/what] memory [is shared by a block/is on the chip/do the threads of a block share/is small and fast] | [small/fast/on-chip] memory [on the chip/of a block/for the threads of a block/] | [scratchpad/scratch memory/on-chip memory] [of a GPU/] | how [fast/big] is shared memory
 | what memory do threads of a block share | how do threads cooperate | what is the fast memory on the chip
registers: [which/what] [memory is the fastest/is the fastest storage/GPU memory is fastest/memory does a thread own] [on a GPU/] | how many registers [can a thread have/does a thread have/are there/per thread] | where [are/does a thread keep] [local variables/its numbers/variables/its values] [of a thread/] | [fastest/quickest] [memory/storage] [of a GPU/of all/] | [limit/number/maximum] of registers
 | where are a thread's variables | what is faster than shared memory | how many registers are allowed
global memory: where [do/does/are/is] [the weights/the KV cache/weights/the cache] [live/kept/stored/sit] [on the GPU/on the card/] | [large/big/slow/main] memory of [a GPU/the card/a graphics card] | what [is/does] [HBM/GDDR/the memory of the card/video memory/DRAM on the GPU] [mean/for/] | [which/what] memory [is large but slow/holds the weights/is the largest/holds the cache] | how [fast/slow/big] is [global memory/GPU memory/HBM]
 | where are weights on the card | what is the big slow memory | where does the cache live
coalescing: [which/what] [addresses/memory] should [the threads of a warp/a warp/threads] [touch/read/access] | <how> [should/do] threads [access/read/load] memory [fast/efficiently/] | <why> do [memory access patterns/access patterns/neighboring addresses] matter | [neighboring/adjacent/consecutive] [addresses/threads and addresses/memory accesses] | how does the GPU [serve/handle/combine] [accesses/the accesses of a warp/loads of a warp] | [reading/access to] [neighboring addresses/consecutive memory]
 | how should neighboring threads read | which access pattern is fast | why read neighboring addresses
Qwen3-0.6B: [which/what] [model/LLM/language model/network] [is used/does it run/does this engine run/does the program use/is behind it/is it for/does qwen600 support] | [describe/introduce/present/summarize] [Qwen3/the Qwen model/Qwen3-0.6B] | [what can/what is] [Qwen3/qwen/Qwen3-0.6B] [do/for/good at/] | what [kind/sort] of model is [Qwen3/Qwen3-0.6B/qwen] | [facts/information/details] about [Qwen3/Qwen3-0.6B/qwen] | [does/can] Qwen3 think
 | which model runs here | what is Qwen | tell me the facts of the model | does Qwen3 have two modes
Who made Qwen3?: [which/what] [team/company/firm/people] [made/built/created/trained/published/released/is behind/developed] [Qwen/Qwen3/Qwen3-0.6B/the real model/the big model] | [who/which people] [built/released/published/owns/trains/wrote/makes] [Qwen/Qwen3/Qwen3-0.6B] | [is Qwen/was Qwen3] [from Alibaba/made by Google/made by OpenAI/from China/Chinese/by Alibaba/made by Meta] | [maker/creator/author/developer/origin] of [Qwen/Qwen3] | where [is/was] [Qwen/Qwen3] [from/made/built]
 | who is behind Qwen | which firm made the model | is it from Alibaba
the number of layers: how many [layers/blocks/transformer layers/decoder layers] [are there in/are in/has/does/make up] [the model/Qwen3/Qwen/the network/the transformer] [have/] | [layer count/number of blocks/number of transformer blocks/depth] [of/in] [Qwen3/the model/the network] | [value of/what is] [LAYERS/num_hidden_layers] | how deep is [Qwen3/the network/the transformer/qwen] | does Qwen3 have [28/24/12/32] layers
 | how many blocks | how deep is Qwen3 | count the layers
the number of heads: how many [heads/attention heads/query heads/key heads/kv heads/key/value heads] [are there/are in/has/does/are used in] [the model/Qwen3/Qwen/Qwen3-0.6B/each layer/a layer/] [have/] | [count of heads/head count/number of attention heads/number of kv heads] [of/in] [Qwen3/the model/] | [value of/what is/what are] [HEADS/KV_HEADS/num_attention_heads/num_key_value_heads] | does Qwen3 have [16/8/12/32] heads
 | how many heads | how many query and key heads | count the heads
the context length of Qwen3: [what is the/] [longest/largest/maximum/biggest/highest] [context/possible context/number of positions/context length/context size/value of -c] [of Qwen3/possible/that Qwen3 can handle/allowed/of the model/] | how [many positions/far/long] [can Qwen3 see/was Qwen3 made for/can the context get/does Qwen3 support/can -c go] | [can I/is it possible to] [use/set/have] [32768/40960/40,960/100000/more than 8192/16384] tokens [of context/] | up to how many positions [does it work/was it trained/]
 | how long may the context be at most | what is 40960 | what is the upper limit of -c
Hugging Face: [which/what] [library/implementation/reference] is [it compared with/it tested against/it checked against/the reference/the program tested against] | where [are/can I find] [open models/models/models hosted/the models] [published/] | [who/which site] hosts [models/open models/the weights] | [does it need/do I need/is it based on] [transformers/Hugging Face/huggingface transformers] | whose file formats does it read | what does [huggingface/Hugging Face] [do/offer/have to do with it]
 | where do the file formats come from | what is it tested against | where can I download models
PyTorch: [does it/do I/does the program/must I] [need/use/require/install/depend on] [PyTorch/torch/pytorch] | [is/was] [torch/PyTorch] [needed/used/required/installed/a dependency] | [runs/works] without [PyTorch/torch] | [which/what] framework [trains/is used to train] [models/neural networks/] | what are the dependencies | does it depend on [a framework/Python libraries]
 | is Python needed to run it | do I have to install torch | what frameworks does it need
llama.cpp: [is it/is qwen600] [like/similar to/faster than/based on/a fork of/better than] llama.cpp | [difference between/compare] [qwen600 and llama.cpp/it and llama.cpp/it with llama.cpp] | [why not just use/should I use/what about] [llama.cpp/llama cpp/ggml] [instead/] | [which/what] engine [in C++/for many models/runs many models] [inspired it/exists/is there] | [who wrote/what does] llama.cpp [do/]
 | what about llama.cpp | is there a similar engine | what runs many models
llama2.c: [what/which project/who] [inspired/gave the idea for/was the model for/influenced] [the program/qwen600/this project/this program/it] | [what did/has] [Karpathy/Andrej Karpathy] [write/made/do/written] | [is it/is qwen600] [based on/like/similar to/derived from] llama2.c | inference of Llama 2 in one file | [inspiration/role model/ancestors/predecessors] [of/for] [qwen600/this program/the project]
 | what did it learn from | who was the inspiration | which code was the example
a hallucination: [can/could/may] [you/it/the model/a language model] [lie/be wrong/make things up/invent things/make mistakes/say false things] | [is/are] [your answers/the answers/everything you say/what it says] [true/right/correct/reliable/always correct/trustworthy] | [should I/can I/may I] [believe/trust/rely on] [you/it/the answers/what it says/the model/a language model] | <why> does it [invent/make up] things | an answer that sounds right but is [not/wrong] | how [reliable/accurate/correct] are you
 | could you be wrong | are you sure to be right | should I check your answers | do models lie
perplexity: <how> is [a model/the quality of a model] [measured/judged/evaluated] | how surprised is a model [by a text/] | [what is/exponential of] the average loss [per token/] [called/] | [what does/is] a [high/lower/higher/small] perplexity [mean/good/bad/better] | [measure of/number for] [surprise/how surprised a model is] | how good is a language model
 | how is surprise measured | is low perplexity good | how do I compare models by text
C: [which/what] [language/programming language] [is it in/is it written in/was used/is used/is the code in/is the program in/is qwen600 in] | [is it/is the program/was it] written in [C/C++/Rust/Python/Go/Java] | <why> [C/is it in C/choose C/not C++/not Python/not Rust/was C chosen/not write it in Python] | [is the code/is it] [C or C++/plain C/C11/C++] | [source/implementation] language
 | what language is this | is it C or C++ | why C
your name: [who/what] am I [speaking to/speaking with/chatting with/talking with/dealing with] | [tell me/say] [your name/who you are/what you are] | [what/which] [model/AI/bot/program] [are you/is this that answers/is talking] | [are you/is this] [a bot/real/a person/ChatGPT/GPT-4/Claude/Gemini/the real Qwen3/Siri/a machine/a computer/an assistant/a language model/Qwen3/a program/the bundled model/an LLM] | [your name/name yourself/identify yourself/present yourself/say hello and introduce yourself]
 | do you have a name | and who are you | who exactly are you | how [are you called/do I call you/shall I call you/may I call you] | what [are/is] you | what do they call you
 | who is talking | what are you called | are you the model | tell me who you are | are you a person
What can you do?: what [do you/can you] [know about/talk about/explain/help with/tell me about/teach me/do for me/do well] | [what are/list/name/show me] your [abilities/skills/topics/features/capabilities] | [which/what] [questions/topics/subjects/things] [can I ask/do you understand/do you know about/may I ask about/can you explain/should I ask about] | [how can/can] you [help/help me/assist me/be useful] | what are you [for/there for/made for/useful for] | [give me/show me] [some examples/ideas/examples of questions/a hint/suggestions]
 | I [don't know/do not know] what to ask | what is your [purpose/job/task/use] | what should we talk about | tell me what you [can do/know]
 | how can you be of use | what do you know about | what shall I ask | give me ideas | what are you able to answer
your size: how [big/large/small/heavy] [are you/is your model/is the tiny model/is the bundled model/is your file/is qwen600-tiny] | how many [parameters/weights/layers/tokens/numbers] [do you have/have you got/has the tiny model/are in you/does the bundled model have/has the bundled model/does qwen600-tiny have] | [your size/your parameters/your number of layers/your hidden size] | [size/parameters/layers/file size] of [the tiny model/the bundled model/qwen600-tiny] | are you [small/big/large/a large model/tiny]
 | what is your hidden size
 | how tiny are you | how many layers have you | are you a big model | how many megabytes are you
Who made you?: [who/which person/what company] [made/built/programmed/designed/invented/wrote/coded/trained/is responsible for] [you/the bundled model/this tiny model/qwen600-tiny] | [who is/who are] your [maker/makers/creator/creators/parents/inventor/father/trainer/programmer/developers] | [how/where/when] were you [made/built/trained/created/born/programmed] | [were you/are you] [made by/trained by/from] [OpenAI/Alibaba/Google/Anthropic/a company/Meta/Microsoft] | what were you trained on
 | who do you belong to | how did they make you
 | who trained this tiny model | where do you come from | how were you made | who gave you life
Which languages do you speak?: [do you/can you] [speak/understand/talk/know/write/answer in/read] [Spanish/Italian/Japanese/Chinese/English/other languages/Russian/my language/Korean/Latin/Arabic/Hindi/Portuguese] | [which/what] [human languages/languages] [can you understand/can you write/do you understand/are supported/can I use/can I write in] | [can I/may I/could we] [write/talk/speak/ask/chat] [in/to you in] [German/Chinese/French/Spanish/another language/Italian/English] | your languages
 | can you understand me in French | do you know Chinese | is English the only language
"""

# More names of a topic to learn from, as people write them.
ALIASES = {key: [name.strip() for name in names.split(";")] for key, names in (line.split(": ") for line in """
RMSNorm: the RMSNorm layer; root-mean-square normalization; RMS normalisation; rmsnorm; the normalization of activations
LayerNorm: layer-norm; layer normalisation; layernorm
q/k norm: qk-norm; the q norm and k norm; query-key normalization; qk normalization
RoPE: rotary positional embeddings; rotary positional encoding; the rotary embedding; +rotary position embeddings; position encoding; positional encoding; positional embeddings
RoPE theta: the theta of RoPE; the rope base frequency
a position: a token position; pos; +token positions
attention: the attention layer; attention in transformers; dot-product attention; scaled dot product attention
a causal mask: an attention mask; the attention mask; masked attention; the causality mask
multi-head attention: multi head attention; +multiple attention heads
an attention head: heads; one attention head; the head size; the width of a head
GQA: grouped attention; grouped-query-attention; sharing keys and values; grouped queries
a query, a key and a value: query, key and value; the query vector; +key vectors; the value vector; k_proj; v_proj; +queries; +keys; +values; Q, K and V
an attention score: attention weights; the score of a query and a key; the scores
softmax: soft-max; a softmax; the soft max
online softmax: one-pass softmax; the streaming softmax; running softmax
FlashAttention: flash attn; flashattention; tiled attention
logits: the logit; the output scores; model logits; the raw scores
an embedding: the token embedding; the embedding matrix; the embedding layer; +word embeddings; +embedding vectors; token embeddings
tied embeddings: tied embedding weights; shared embeddings; the tied lm_head; weight sharing of embeddings
lm_head: the language model head; the unembedding; the output layer; lm_head.weight; the final projection
the residual stream: residuals; the residual; +skip connections; +hidden states; the hidden vector
the hidden size: hidden dim; the hidden dimension; embedding size; the model width
a layer: a model layer; a block of the transformer; the decoder block; the transformer block
a transformer: transformer models; a transformer model; the decoder-only transformer; a decoder-only model
an MLP: mlp; the feedforward layer; a multilayer perceptron; the MLP block; feed-forward; INTERMEDIATE; the intermediate size
SwiGLU: swi-glu; gated linear unit; the gate projection; the up projection; the down projection; the gated activation
SiLU: silu activation; the swish activation; sigmoid linear unit
a neural network: an artificial neural network; deep learning; a deep network
a language model: large language models; a LLM; language modelling; language modeling; an AI language model
autoregressive generation: autoregressive decoding; autoregressive models; generating token by token; the next token
inference: inferencing; running inference; running a model; an inference engine
training: fine-tuning; finetuning; learning; the training of a model; training your own model
a tensor: tensor; a multidimensional array; a weight tensor
weights: model parameters; the parameters; the parameter count; the model weights; network weights
activations: activation values; intermediate activations; intermediate values
a matrix product: matmul; +matmuls; matrix multiplications; a GEMM; matrix multiply; +matrix multiplications
GEMV: matvec; matrix vector products; gemv
a dot product: dot-products; the inner product; the scalar product
a KV cache: KV-cache; the kv cache; key value cache; caching keys and values; the cache of keys and values; +KV caches
the size of the KV cache: KV cache memory; the kv cache memory use; the KV cache footprint
the layout of the KV cache: how the KV cache is laid out; the memory layout of the KV cache; the kv cache order
prefill: pre-fill; the prefill stage; the prompt phase; the prefill step; prompt ingestion
decode: decode stage; the decoding stage; the generation phase; the decoding loop; the decode loop
a chunk: prefill chunks; chunking; the chunk size; prefill in chunks
prefix reuse: the longest common prefix; reusing the KV cache; KV cache reuse; the prefix cache
time to first token: first token latency; time-to-first-token; ttft; the latency of the first token
tokens per second: tok/s; generation speed; tokens a second; the speed in tokens per second; the throughput
the batch size: batching; batch size 1; a batch of one; batched decoding
speculative decoding: speculative sampling; a draft model; speculation; draft tokens
quantization: 8-bit quantization; weight quantization; int4; GGUF; quantizing the weights; 4-bit weights
the sampler: the sampling step; the token sampler; how tokens are sampled
temperature: the temperature parameter; the temperature setting; a high temperature; a low temperature
top-k: the top-k filter; the k in top-k; topK; top-K
top-p: the top-p filter; the p in top-p; topP; top-P; the nucleus in sampling
greedy decoding: argmax decoding; greedy mode; the greedy method; greedy generation
a seed: the RNG seed; seeding; a fixed seed; random seeds
determinism: deterministic results; reproducible results; repeatability; floating-point atomics; atomics
the recommended sampling: recommended settings; the recommended temperature; the suggested sampling parameters
repetition loops: repetition; endless repetition; endless loops; repeated text; the repetition problem
bf16: the bfloat16 format; brain floating point; bfloat 16; BFloat16; bf16 weights
fp32: 32 bit float; 32-bit floating point; FP32; full precision; single-precision
fp16: FP16; half-precision; half floats; 16-bit floats; the half format
mmap: memory-mapping; mmaping; memory mapped files; mapping a file; mmap()
safetensors: safe tensors; .safetensors; the safetensors file format; a safetensors header
model.safetensors: the model file; the model weights file; the file with the weights
sha256: sha-256; the hash; SHA256; the hash of the file; a sha256 sum; sha256sum
Git LFS: git lfs; git-lfs; large file storage; lfs; lfs pointers
tokenizer.bin: the tokenizer file; the binary tokenizer file
a token: text tokens; token; a token id; +token ids; a single token
a tokenizer: tokenizing; tokenisation; the tokeniser; tokenizers; text tokenization
BPE: bpe; the BPE algorithm; byte pair merging; byte-pair-encoding
byte-level BPE: byte level tokenization; a byte level tokenizer; byte-level encoding
a merge: BPE merges; merge rules; the rank of a merge; a merge rule
the vocabulary: vocab; vocab size; the token vocabulary; VOCAB; the size of the vocabulary
the pre-tokenizer: pretokenizer; pre-tokenizing; pretokenization; the regex of the tokenizer; the splitting pattern
NFC: normalization form C; unicode normalisation; the NFC form; canonical composition
Unicode: code points; unicode characters; the Unicode standard
UTF-8: utf-8; UTF8; the UTF-8 encoding; multi-byte characters
control tokens: special tokens; control token; <|im_start|>; <|im_end|>; chat markers; the control tokens
the end token: the end-of-text token; the eos token; the end of sequence token; the stop condition
thinking mode: think mode; the think block; <think>; reasoning traces; chain of thought; the reasoning
non-thinking mode: nonthinking mode; non thinking mode; direct answers; the mode without thinking
a system prompt: system instructions; a system instruction; system messages; the system instruction
a prompt: user prompts; a user prompt; the user input; prompting
a chat template: the chat format; chat formatting; chat templating; a prompt template; the prompt template
the history: conversation memory; the chat history; past turns; previous turns; the memory of the conversation
the context: the context window size; context; the context limit; the window of the model; context windows
a full context: exceeding the context; running out of context; a conversation that is too long; overflowing the context
/clear: clear; the /clear; clearing the chat; resetting the conversation
Ctrl-C: ctrl-c; ctrl+c; the Ctrl-C key; interrupting a reply; CTRL-C; control c
Ctrl-D: ctrl-d; ctrl+d; end-of-file; exiting; leaving the program; control d
a block of lines: multiline input; multiline prompts; triple quotes; the three quotes; several lines of input
standard output: the standard output; standard error; the output streams; stdout and stderr; the error output
the exit status: exit codes; the exit value; exit status; return codes; the status code
NO_COLOR: no_color; colored output; the color output; color; terminal colors; the NO_COLOR variable
the usage: command line arguments; command line flags; available options; the usage message; the arguments; usage
qwen600: the qwen600 program; the program; the engine qwen600; qwen 600; qwen-600; this engine; this software
cpu.h: the CPU backend; the C implementation of the model; the reference engine
model.cuh: the GPU backend; the GPU implementation; the CUDA engine
the model directory: the model dir; the directory of the model; +the required files; +the needed files
building: building qwen600; the compilation; building the program; installation; compiling; compiling the program
make demo: the make demo command; the demo chat; the demo command
make test: the make test command; +the unit tests; testing; running the tests
nvcc: the nvcc compiler; NVCC; NVIDIA's compiler
the real model: the full model; the real weights; the download of the model; getting the real model
running without a GPU: using it without a GPU; no GPU; the lack of a GPU; a machine without a GPU; CPU-only mode
running out of memory: OOM; an OOM error; out-of-memory errors; insufficient memory; not enough memory
the memory that it needs: memory usage; memory use; VRAM usage; GPU memory usage; the memory footprint; +the hardware requirements
CUDA_VISIBLE_DEVICES: cuda_visible_devices; selecting a GPU; multiple GPUs; the variable CUDA_VISIBLE_DEVICES
a missing driver: CUDA drivers; NVIDIA drivers; the driver; driver version; an outdated driver
one allocation: a single allocation; GPU memory allocation; memory allocation; cudaMalloc; the single cudaMalloc
the upload: weight upload; pinned host memory; uploading; the upload of the weights; page-locked memory
OpenMP: openmp; OMP; multithreading; CPU parallelism; multi-threading
the license: the MIT license; MIT; licence; the terms of use
the missing features: unsupported features; limitations; +the limitations; an API server; a server mode; the HTTP API
CUDA: cuda; CUDA programming; the CUDA platform
a GPU: gpu; graphics cards; graphics processors; a graphics processing unit; GPU computing
a CPU: cpu; processors; the processor; central processing units
cuBLAS: CuBLAS; CUBLAS; NVIDIA cuBLAS; the BLAS library
a tensor core: tensor-cores; NVIDIA tensor cores; the tensor cores of a GPU
memory bandwidth: GPU bandwidth; the bandwidth of the memory; memory throughput; the bandwidth of a GPU
a memory-bound task: memory-bound work; memory boundness; being memory-bound; bandwidth-bound; the roofline model; compute-bound
a kernel: CUDA kernels; GPU kernels; a GPU function; kernel functions; kernels in CUDA
a cooperative kernel: cooperative kernels; cooperative launches; a cooperative kernel launch; grid sync; grid synchronization; a grid barrier
launch overhead: kernel launches; launch latency; the overhead of launches; a kernel launch; launch cost
a CUDA graph: cuda graphs; graph capture; CUDA graph capture; launching with a graph
kernel fusion: fusing kernels; kernel fusing; operator fusion; fused operations
a thread block: thread blocks; a block in CUDA; threadblock; a CUDA thread block
a grid: grids; the grid of a kernel; a kernel grid; a grid of blocks
a warp: warps; a GPU warp; warp; the warp size
a thread: CUDA threads; a CUDA thread; thread; a single GPU thread
an SM: streaming multiprocessors; SM; SMs; a GPU core
shared memory: CUDA shared memory; the shared memory; on-chip memory; shared memory in CUDA
registers: a GPU register; register file; the register file; CUDA registers
global memory: video memory; the memory of the GPU; GPU DRAM; the global memory; device DRAM
coalescing: coalesced memory access; coalesced reads; memory access coalescing; coalesced loads
Qwen3-0.6B: qwen3 0.6b; Qwen 3 0.6B; the Qwen3-0.6B model; qwen3; the model Qwen3
the number of layers: Qwen3's layers; the layer count; the depth of the model; num_hidden_layers
the number of heads: Qwen3's heads; the head count; num_attention_heads; the number of KV heads; the number of key/value heads
the context length of Qwen3: Qwen3's maximum context; the maximal context; the largest context; the maximum context length
Hugging Face: hugging face; HF; the HF transformers library; transformers by Hugging Face; the Hugging Face library
PyTorch: Pytorch; Torch; the PyTorch framework; the dependency on PyTorch
llama.cpp: llamacpp; the llama.cpp project; Llama.cpp
llama2.c: llama2c; Llama2.c; the llama2.c project; Karpathy's llama2
a hallucination: making things up; wrong answers; false answers; model hallucinations; invented facts
perplexity: the perplexity; model perplexity; the perplexity of a model; perplexity scores
C: the programming language C; C code; C programming; the language C
""".strip().split("\n"))}

# Topics that are easily compared: "What is the difference between A and B?"
GROUPS = [[key.strip() for key in line.split(";")] for line in """
bf16; fp32; fp16
softmax; online softmax; FlashAttention; attention
GQA; multi-head attention; attention; an attention head
GPU: a GPU; a CPU
temperature; top-k; greedy decoding; a seed
temperature; top-p; greedy decoding; the sampler
a thread; a warp; a thread block; a grid; an SM; a kernel
shared memory; global memory; registers
a token; an embedding; logits; the vocabulary
tokenizer.json; tokenizer.bin; config.json; model.safetensors; config.h
cpu.h; model.cuh; kernels.cuh; engine.h; main.cu
chat.h; sampler.h; tokenizer.h; safetensors.h; main.cu
a KV cache; prefix reuse; the context; the history
weights; activations; logits; an embedding
training; inference; prefill; autoregressive generation
kernel fusion; a CUDA graph; a cooperative kernel; launch overhead
SiLU; SwiGLU; an MLP; softmax
BPE; byte-level BPE; a tokenizer; the pre-tokenizer; a merge
NFC; Unicode; UTF-8
an MLP; attention; a layer; the residual stream; a transformer
GEMV; a matrix product; a dot product
a system prompt; a prompt; a chat template; control tokens
thinking mode; non-thinking mode
Ctrl-C; Ctrl-D; /clear
llama.cpp; llama2.c; PyTorch; Hugging Face
make demo; make test; building
cuBLAS; CUDA; a tensor core; nvcc
-t; -k; -p; -s; -n; -c; -d; -i; -y; -v; -b; -r
mmap; safetensors; the upload; one allocation
memory bandwidth; tokens per second; time to first token; a memory-bound task
RMSNorm; q/k norm; softmax
RoPE; a position; an embedding
tied embeddings; lm_head; an embedding
quantization; speculative decoding; the batch size; bf16
""".replace("GPU: ", "").strip().split("\n")]


def parse(text):
    table, key = {}, None
    for line in text.strip().split("\n"):
        if line[0] != " ":
            key, line = re.match(r"(.+?): (.*)", line).groups()
        table.setdefault(key, []).extend(piece.strip() for piece in line.split(" | ") if piece.strip(" |"))
    return table


FREE = parse(TEXT)


def expand(rng, text):
    """One of the sentences that a pattern stands for."""
    text = re.sub(r"<(\w+)>", lambda m: rng.choice(LISTS[m[1]].split("/")) if m[1] in LISTS else m[0], text)
    text = re.sub(r"\[([^\]]*)\]", lambda m: rng.choice(choices(m[1])), text)
    return re.sub(r" +", " ", text).strip()


def choices(text):
    """The choices between slashes; a slash in key/value or /clear does not separate."""
    return [c.replace("\0", "/") for c in re.sub(r"(key|tokens|tok|t)/(value|s\b)", "\\1\0\\2", text).split("/")]
