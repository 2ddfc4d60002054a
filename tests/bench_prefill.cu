/* bench_prefill MODEL_DIR [-o]: prompt tokens per second of the GPU engine, and with -o the milliseconds of
 * each operation. Times are wall clock around prefill(), which waits for the card; the median of some runs,
 * after one that warms up. A second row for the longest prompts begins at their end: the cost of a past. */
#include "../model.cuh"

#include <time.h>

static void
must(const char *error)
{
    if (error != NULL) {
        fprintf(stderr, "bench_prefill: %s\n", error);
        exit(1);
    }
}

static double
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static int
ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double
median_seconds(void *engine, const int *tokens, int n, int pos)
{
    enum { RUNS = 15 };
    double seconds[RUNS];

    must(model_engine.prefill(engine, tokens, n, pos));
    for (int i = 0; i < RUNS; i++) {
        double begin = now();

        must(model_engine.prefill(engine, tokens, n, pos));
        seconds[i] = now() - begin;
    }
    qsort(seconds, RUNS, sizeof *seconds, ascending);
    return seconds[RUNS / 2];
}

static void
print_operations(Model *m, const int *tokens, int n, int pos)
{
    double ms[MODEL_OPERATIONS], all = 0;

    must(model_time(m, tokens, n, pos, ms));
    printf("\n%d tokens at position %d, milliseconds of each operation (all layers):\n", n, pos);
    for (int i = 0; i < MODEL_OPERATIONS; i++) {
        all += ms[i];
        if (ms[i] > 0)
            printf("  %-26s %8.3f\n", model_operation_name[i], ms[i]);
    }
    printf("  %-26s %8.3f\n", "all", all);
}

int
main(int argc, char **argv)
{
    static const int lengths[] = {1, 32, 128, 512, 1024, 2048, 4096, 8192};
    static int tokens[MAX_CONTEXT];
    const int context = 16384 < MAX_CONTEXT ? 16384 : MAX_CONTEXT;
    void *engine;

    if (argc < 2) {
        fprintf(stderr, "usage: bench_prefill MODEL_DIR [-o]\n");
        return 2;
    }
    must(model_engine.probe());
    for (int i = 0; i < context; i++)
        tokens[i] = (int)((i * 7919u + 11) % VOCAB);
    double begin = now();
    must(model_engine.open(&engine, argv[1], context, 1));
    printf("%s, %s: open %.2f s\n", model_card, argv[1], now() - begin);
    must(model_engine.prefill(engine, tokens, context, 0)); /* a past of real numbers */

    printf("%8s %8s %10s %12s\n", "tokens", "position", "ms", "tokens/s");
    for (int n : lengths)
        for (int pos : {0, 4096, 8192}) {
            if ((pos > 0 && n != 32 && n != 2048) || pos + n > context)
                continue;
            double seconds = median_seconds(engine, tokens, n, pos);

            printf("%8d %8d %10.3f %12.0f\n", n, pos, seconds * 1e3, n / seconds);
        }
    if (argc > 2) {
        print_operations((Model *)engine, tokens, 2048, 0);
        if (context >= 10240)
            print_operations((Model *)engine, tokens, 2048, 8192);
        print_operations((Model *)engine, tokens, 32, 0);
        print_operations((Model *)engine, tokens, 1, 0);
    }
    model_engine.close(engine);
    return 0;
}
