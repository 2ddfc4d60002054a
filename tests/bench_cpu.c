/* bench_cpu [DIR]: how fast cpu.h is on this machine, in each form of the weights, beside how fast the
 * machine can read memory. Without DIR it writes a random model to a temporary directory (TMPDIR, else /tmp)
 * and removes it again. */
#include "../cpu.h"
#include "random_model.h"

enum { PROMPT = 128, PASSES = 24, DEEP = 4096, CONTEXT = DEEP + MAX_ROWS };

static void
check(const char *error)
{
    if (error != NULL) {
        fprintf(stderr, "bench_cpu: %s\n", error);
        exit(1);
    }
}

/* The fastest of several passes of so many rows counts. */
static void
decode(void *engine, const int *tokens, int rows, int pos, double bandwidth)
{
    double rate, seconds = 1e9;
    Candidate best[MAX_ROWS * DEFAULT_TOP_K];

    for (int i = 0; i < PASSES; i++) {
        double start = seconds_now(), taken;

        check(cpu_engine.decode(engine, tokens + pos, rows, pos, DEFAULT_TOP_K, best));
        taken = seconds_now() - start;
        if (taken < seconds)
            seconds = taken;
    }
    rate = cpu_engine.bytes(engine, pos) / seconds;
    printf("decode at %4d, %d row%s %7.1f passes/s  %7.2f ms  %6.1f GB/s, %.0f %% of the read loop\n", pos,
           rows, rows > 1 ? "s" : " ", 1 / seconds, 1e3 * seconds, 1e-9 * rate, 100 * rate / bandwidth);
}

static void
bench_form(const char *dir, int bits, const int *tokens)
{
    double bandwidth, seconds = 1e9;
    void *engine;

    check(cpu_engine.open(&engine, dir, (EngineOptions){CONTEXT, bits, 1}));
    check(cpu_engine.bandwidth(engine, &bandwidth));
    printf("%d bits: read loop %.1f GB/s\n", bits, 1e-9 * bandwidth);
    for (int i = 0; i < 5; i++) {
        double start = seconds_now(), taken;

        check(cpu_engine.prefill(engine, tokens, PROMPT, 0));
        taken = seconds_now() - start;
        if (taken < seconds)
            seconds = taken;
    }
    printf("prompt of %4d          %7.1f tokens/s\n", PROMPT, PROMPT / seconds);
    for (int rows = 1; rows <= MAX_ROWS; rows *= 2)
        decode(engine, tokens, rows, PROMPT, bandwidth);
    check(cpu_engine.prefill(engine, tokens, DEEP, 0));
    decode(engine, tokens, 1, DEEP, bandwidth);
    cpu_engine.close(engine);
}

int
main(int argc, char **argv)
{
    static int tokens[CONTEXT];
    const char *parent = getenv("TMPDIR"), *dir;
    char temporary[4000], path[4096];

    snprintf(temporary, sizeof temporary, "%s/bench_cpu.XXXXXX", parent ? parent : "/tmp");
    if (argc > 1)
        dir = argv[1];
    else {
        if (mkdtemp(temporary) == NULL)
            check(fail("cannot make %s: %s", temporary, strerror(errno)));
        dir = temporary;
        check(random_model_write(dir, DTYPE_BF16, 1));
    }
    for (int i = 0; i < CONTEXT; i++)
        tokens[i] = random_token(i);
    bench_form(dir, 16, tokens);
    bench_form(dir, 8, tokens);
    if (argc <= 1) {
        snprintf(path, sizeof path, "%s/model.safetensors", dir);
        remove(path);
        snprintf(path, sizeof path, "%s/config.json", dir);
        remove(path);
        remove(dir);
    }
    return 0;
}
