/* bench_cpu [DIR]: how fast cpu.h is on this machine, beside how fast the machine can read memory. Without
 * DIR it writes a random model to a temporary directory (TMPDIR, else /tmp) and removes it again. */
#include "../cpu.h"
#include "random_model.h"

enum { PROMPT = 128, TOKENS = 24, CONTEXT = 4096 + TOKENS };

static void
check(const char *error)
{
    if (error != NULL) {
        fprintf(stderr, "bench_cpu: %s\n", error);
        exit(1);
    }
}

/* The bytes of weights that one decoded token reads: every row of every matrix once. */
static double
weight_bytes(void)
{
    double layer = 2.0 * Q_DIM * HIDDEN + 2.0 * KV_DIM * HIDDEN + 3.0 * INTERMEDIATE * HIDDEN;

    return sizeof(cpu_bf16) * (LAYERS * layer + (double)VOCAB * HIDDEN);
}

static void
decode(void *engine, int pos, double bandwidth)
{
    double cache = 2.0 * sizeof(cpu_bf16) * LAYERS * KV_DIM * (pos + TOKENS / 2), rate, seconds = 1e9;
    Candidate best[DEFAULT_TOP_K];

    best[0].id = random_token(0);
    for (int i = 0; i < TOKENS; i++) {
        double start = seconds_now(), taken;

        check(cpu_engine.decode(engine, &best[0].id, 1, pos + i, DEFAULT_TOP_K, best));
        taken = seconds_now() - start;
        if (taken < seconds)
            seconds = taken;
    }
    rate = (weight_bytes() + cache) / seconds;
    printf("decode at %4d  %8.1f tokens/s  %7.2f ms/token  %6.1f GB/s, %.0f %% of the read loop\n", pos,
           1 / seconds, 1e3 * seconds, 1e-9 * rate, 100 * rate / bandwidth);
}

int
main(int argc, char **argv)
{
    static int prompt[CONTEXT];
    const char *parent = getenv("TMPDIR"), *dir;
    char temporary[4000], path[4096];
    double bandwidth, start;
    void *engine;

    snprintf(temporary, sizeof temporary, "%s/bench_cpu.XXXXXX", parent ? parent : "/tmp");
    if (argc > 1)
        dir = argv[1];
    else {
        if (mkdtemp(temporary) == NULL)
            check(fail("cannot make %s: %s", temporary, strerror(errno)));
        dir = temporary;
        check(random_model_write(dir, DTYPE_BF16, 1));
    }
    check(cpu_engine.open(&engine, dir, (EngineOptions){CONTEXT, 16, 1}));
    if (argc <= 1) { /* the mapping stays */
        snprintf(path, sizeof path, "%s/model.safetensors", dir);
        remove(path);
        snprintf(path, sizeof path, "%s/config.json", dir);
        remove(path);
        remove(dir);
    }
    for (int i = 0; i < CONTEXT; i++)
        prompt[i] = random_token(i);

    check(cpu_engine.bandwidth(engine, &bandwidth));
    printf("read loop       %8.1f GB/s\n", 1e-9 * bandwidth);
    check(cpu_engine.prefill(engine, prompt, PROMPT, 0)); /* once, to warm up */
    start = seconds_now();
    check(cpu_engine.prefill(engine, prompt, PROMPT, 0));
    printf("prompt of %4d  %8.1f tokens/s\n", PROMPT, PROMPT / (seconds_now() - start));
    decode(engine, PROMPT, bandwidth);
    check(cpu_engine.profile(engine, CONTEXT - TOKENS)); /* touches the cache up to there */
    decode(engine, CONTEXT - TOKENS, bandwidth);
    check(cpu_engine.profile(engine, PROMPT));
    cpu_engine.close(engine);
    return 0;
}
