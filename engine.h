/* engine.h: what the program asks of an engine. cpu.h and model.cuh each fill in one such table.
 *
 * An engine holds the weights and the KV cache. Positions 0..n-1 of the cache are the conversation so far; a
 * call that starts at `pos` overwrites what stood there and needs everything before it to be in place. */
#ifndef ENGINE_H
#define ENGINE_H

#include "sampler.h"

typedef struct {
    const char *name; /* "gpu", "cpu" */

    /* NULL if this machine can run the engine, otherwise the reason. */
    const char *(*probe)(void);

    /* Maps model_dir/model.safetensors and prepares a KV cache of `context` positions. Progress goes to
     * stderr when that is a terminal; verbose also prints the memory plan there. */
    const char *(*open)(void **engine, const char *model_dir, int context, int verbose);

    /* Runs tokens[0..n) at positions pos..pos+n-1; fills the KV cache, gives no logits. */
    const char *(*prefill)(void *engine, const int *tokens, int n, int pos);

    /* Runs one token at position pos. candidates[0..k) are the k best logits, best first, the lower id first
     * among equals; k = 0 means all: VOCAB candidates. */
    const char *(*decode)(void *engine, int token, int pos, int k, Candidate *candidates);

    void (*close)(void *engine);

    /* For -b 1: the machine's own read bandwidth in bytes per second, measured now; */
    const char *(*bandwidth)(void *engine, double *bytes_per_second);
    /* and a table of the milliseconds of each operation in the decode of one token at position pos, to
     * stdout. */
    const char *(*profile)(void *engine, int pos);
} Engine;

#endif
