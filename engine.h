/* engine.h: what the program asks of an engine. cpu.h and model.cuh each fill in one such table.
 *
 * An engine holds the weights and the KV cache. Positions 0..n-1 of the cache are the conversation so far; a
 * call that starts at `pos` overwrites what stood there and needs everything before it to be in place. */
#ifndef ENGINE_H
#define ENGINE_H

#include "config.h"
#include "fail.h"
#include "sampler.h"

enum { MAX_ROWS = 8 /* tokens of one decode */ };

typedef struct {
    int context; /* positions of the KV cache, 1..MAX_CONTEXT */
    int bits; /* of a weight: 16 as published, 12 the same numbers packed (on the CPU: 16), 8 rounded; 0: the
                 fastest that changes nothing */
    int verbose; /* 1 = the memory plan to stderr */
} EngineOptions;

typedef struct {
    const char *name; /* "gpu", "cpu" */
    int chunk;        /* tokens that prefill takes at once: who wants to stop in between asks for so many */

    /* NULL if this machine can run the engine, otherwise the reason. */
    const char *(*probe)(void);

    /* Maps model_dir/model.safetensors and prepares a KV cache. Progress goes to stderr when that is a
     * terminal. */
    const char *(*open)(void **engine, const char *model_dir, EngineOptions options);

    /* What it runs on and the bits of a weight, for people. */
    const char *(*device)(void *engine);

    /* Runs tokens[0..n) at positions pos..pos+n-1; fills the KV cache, gives no logits. */
    const char *(*prefill)(void *engine, const int *tokens, int n, int pos);

    /* Runs n <= MAX_ROWS tokens at positions pos..pos+n-1. candidates (n, k): after each of them the k best
     * logits, best first, the lower id first among equals; k = 0 means all, VOCAB candidates, and n = 1.
     * A row's numbers are those of a call for it alone, to the bit. */
    const char *(*decode)(void *engine, const int *tokens, int n, int pos, int k, Candidate *candidates);

    void (*close)(void *engine);

    /* For -b 1: bytes that one token at this depth cannot do without; */
    double (*bytes)(void *engine, int depth);
    /* the machine's own read bandwidth in bytes per second, measured now; */
    const char *(*bandwidth)(void *engine, double *bytes_per_second);
    /* and, where it is not NULL, a table of where the decode of one token at position pos spends its time, to
     * stdout. It overwrites the cache at pos. */
    const char *(*profile)(void *engine, int pos);

    /* NULL, or starts in the background what a first long prompt would otherwise wait for. A call of prefill
     * that comes before it is done may differ in rounding. */
    void (*warm)(void *engine);
} Engine;

/* What a caller may ask of open; path, of so many bytes, becomes that of the weights; */
static inline const char *
engine_check_options(EngineOptions options, const char *model_dir, char *path, size_t size)
{
    if (options.bits != 0 && options.bits != 16 && options.bits != 12 && options.bits != 8)
        return fail("weights of %d bits: -w takes 16, 12 or 8", options.bits);
    if (options.context < 1 || options.context > MAX_CONTEXT)
        return fail("a context of %d positions: -c takes 1 to %d", options.context, (int)MAX_CONTEXT);
    if (snprintf(path, size, "%s/model.safetensors", model_dir) >= (int)size)
        return fail("%.100s...: the path is too long", model_dir);
    return NULL;
}

/* of prefill, */
static inline const char *
engine_check(const int *tokens, int n, int pos, int context)
{
    if (pos < 0 || n < 0 || n > context - pos)
        return fail("%d tokens from position %d on do not fit a context of %d: -c makes it larger", n, pos,
                    context);
    for (int t = 0; t < n; t++)
        if (tokens[t] < 0 || tokens[t] >= VOCAB)
            return fail("token %d is not one of the vocabulary's %d", tokens[t], (int)VOCAB);
    return NULL;
}

/* and of decode. */
static inline const char *
engine_check_rows(const int *tokens, int n, int pos, int k, int context)
{
    if (n > MAX_ROWS || k < 0 || k > VOCAB || (k == 0 && n > 1))
        return fail("the %d best of %d logits after %d tokens: at most %d tokens, and one where k is 0", k,
                    (int)VOCAB, n, (int)MAX_ROWS);
    return engine_check(tokens, n, pos, context);
}

/* Bytes of a token at this depth: weights of so many bits (a scale's share among them), bf16 norms, and the
 * KV cache up to it. */
static inline double
engine_bytes(double bits, int depth)
{
    double norms = LAYERS * (2.0 * HIDDEN + 2 * HEAD_DIM) + HIDDEN;
    double layer = (double)HIDDEN * (2 * Q_DIM + 2 * KV_DIM) + 3.0 * HIDDEN * INTERMEDIATE;

    return bits / 8 * ((double)VOCAB * HIDDEN + LAYERS * layer) +
           2 * (norms + (depth + 1.0) * LAYERS * 2 * KV_DIM);
}

#endif
