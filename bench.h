/* bench.h: what -b 1 prints: how fast an engine is on this machine, and how fast the machine could let it be.
 *
 * A token cannot be had before every weight and every key and value in front of it were read once. That, at
 * the memory's own speed, is the floor; the share of it that the engine reaches is the figure that compares
 * machines. It asks nothing of an engine but engine.h, and prints one screen to stdout. */
#ifndef BENCH_H
#define BENCH_H

#include "chat.h"

#define BENCH_SECONDS 0.5   /* a measurement goes on for this long, if one run is shorter */
#define BENCH_PATIENCE 30.0 /* and a prompt that would take longer than this is left out */

typedef struct {
    const Engine *engine;
    void *model;
    int *tokens;                         /* (context) ids without meaning: speed does not depend on it */
    int filled;                          /* positions 0.. of the KV cache that hold them */
    double prefill;                      /* seconds a prompt token, as last measured */
    Candidate candidates[DEFAULT_TOP_K]; /* of the last decode */
    Sampler sampler;
} Bench;

/* Prefills positions from..to-1. */
static inline const char *
bench_prefill(Bench *b, int from, int to)
{
    b->filled = to;
    return b->engine->prefill(b->model, b->tokens + from, to - from, from);
}

/* Decodes tokens at position `depth`, each the one sampled before: seconds a token, and how many of those
 * pass between the end of one decode and the start of the next. */
static inline const char *
bench_decode(Bench *b, int depth, double *seconds, double *between)
{
    enum { UNMEASURED = 3, LEAST = 10 };
    int token = b->tokens[depth];
    double start = 0, now = 0, waited = 0;

    for (int made = -UNMEASURED; made < LEAST || now - start < BENCH_SECONDS; made++) {
        const char *error = b->engine->decode(b->model, &token, 1, depth, DEFAULT_TOP_K, b->candidates);
        if (error)
            return error;
        double decoded = seconds_now();
        token = sampler_pick(&b->sampler, b->candidates, DEFAULT_TOP_K);
        now = seconds_now();
        if (made < 0) {
            start = now;
            continue;
        }
        waited += now - decoded;
        *seconds = (now - start) / (made + 1);
        *between = waited / (made + 1);
    }
    return NULL;
}

/* One line of the first table: a prompt of n tokens, and the first of the reply, cold and warm: the first
 * time in this process, and as often as time allows. */
static inline const char *
bench_prompt(Bench *b, int n)
{
    double start = seconds_now(), warm, cold, decode = 0, between = 0;
    const char *error = bench_prefill(b, 0, n);
    int runs = 0;

    warm = seconds_now() - start;
    if (error || (error = b->engine->decode(b->model, b->tokens + n, 1, n, DEFAULT_TOP_K, b->candidates)))
        return error;
    cold = seconds_now() - start;
    if (cold < 2 * BENCH_SECONDS) { /* otherwise what was new in it counts for little */
        for (start = seconds_now(); seconds_now() - start < BENCH_SECONDS; runs++)
            if ((error = bench_prefill(b, 0, n)))
                return error;
        warm = (seconds_now() - start) / runs;
    }
    b->prefill = warm / n;
    if ((error = bench_decode(b, n, &decode, &between)))
        return error;
    printf("%6d %12.0f %11.2f %18.2f %12.2f\n", n, n / warm, 1e3 * warm, 1e3 * cold, 1e3 * (warm + decode));
    return NULL;
}

static inline const char *
bench_tables(Bench *b, int context)
{
    const int prompts[] = {13, 200, 2048}, depths[] = {0, 1024, 4096, context - 1};
    double bandwidth, seconds, between, host = 0, share, most = 0;
    const char *error;
    int profiled = 0;

    if ((error = b->engine->bandwidth(b->model, &bandwidth)))
        return error;
    printf(MODEL_NAME " on %s, context %d\n%s\n", b->engine->name, context, b->engine->device(b->model));
    printf("%.1f GB/s: this memory, read by a plain loop just now\n", 1e-9 * bandwidth);
    printf("%.3f GB: read for a token at depth 0; %.4f GB more for each 1,000 positions\n\n",
           1e-9 * b->engine->bytes(b->model, 0),
           1e-9 * (b->engine->bytes(b->model, 1000) - b->engine->bytes(b->model, 0)));

    printf("prompt     tokens/s          ms    first token, ms: cold         warm\n");
    for (int i = 0; i < 3; i++) {
        int n = prompts[i];
        if (n >= context)
            printf("%6d does not fit\n", n);
        else if (n * b->prefill > BENCH_PATIENCE)
            printf("%6d left out: would take about %.0f s\n", n, n * b->prefill);
        else if ((error = bench_prompt(b, n)))
            return error;
        fflush(stdout);
    }

    printf("\n depth     tokens/s    ms/token     share of the floor\n");
    b->filled = 0;
    for (int i = 0; i < 4; i++) {
        int depth = depths[i];
        double wait = (depth - b->filled) * b->prefill;
        if (depth >= context || (i > 0 && depth == b->filled)) /* the last may be one of the others */
            continue;
        if (wait > BENCH_PATIENCE) {
            printf("%6d left out: the prompt before it would take about %.0f s\n", depth, wait);
            continue;
        }
        if ((error = bench_prefill(b, b->filled, depth)) ||
            (error = bench_decode(b, depth, &seconds, &between)))
            return error;
        if (depth == 0)
            host = between;
        if (depth <= 1024) /* the deepest of those whose prompt takes little time */
            profiled = depth;
        share = 100 * b->engine->bytes(b->model, depth) / bandwidth / seconds;
        most = share > most ? share : most;
        printf("%6d %12.1f %11.3f %17.1f %%\n", depth, 1 / seconds, 1e3 * seconds, share);
        fflush(stdout);
    }
    if (most > 100)
        printf("more than 100 %%: the weights come from a cache, which is faster than this memory\n");
    printf("\nbetween two decodes on the host, sampling at k = %d: %.1f us\n", DEFAULT_TOP_K, 1e6 * host);
    if (!b->engine->profile)
        return NULL;
    printf("\nthe decode of one token at depth %d:\n", profiled);
    fflush(stdout);
    return b->engine->profile(b->model, profiled);
}

static inline const char *
bench(const Engine *engine, void *model, int context)
{
    Bench b;
    const char *error;

    memset(&b, 0, sizeof b);
    b.engine = engine;
    b.model = model;
    b.sampler.temperature = DEFAULT_TEMPERATURE;
    b.sampler.top_k = DEFAULT_TOP_K;
    b.sampler.top_p = DEFAULT_TOP_P;
    b.tokens = (int *)malloc((size_t)context * sizeof *b.tokens);
    if (!b.tokens)
        return fail("out of memory for %d tokens", context);
    for (int i = 0; i < context; i++)
        b.tokens[i] = (int)(sampler_random(&b.sampler) % VOCAB);
    error = bench_tables(&b, context);
    free(b.tokens);
    return error;
}

#endif
