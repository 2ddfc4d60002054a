/* bench_gpu MODEL_DIR: where the GPU engine's time goes. Prompt tokens per second by length, also behind a
 * long past; the milliseconds of each operation of a prompt; and for one token at k = 20 the kernel's own
 * time and what the engine takes in all. Medians of wall clock times, after runs that warm up, and means
 * between two events. */
#include "../model.cuh"

static void
must(const char *error)
{
    if (error) {
        fprintf(stderr, "bench_gpu: %s\n", error);
        exit(1);
    }
}

static void
must(cudaError_t e)
{
    must(gpu_error(e, "a call of the benchmark("));
}

static int
ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

template <typename F>
static double
median_seconds(int runs, F run)
{
    double seconds[101];

    run();
    run();
    for (int i = 0; i < runs; i++) {
        double begin = seconds_now();

        run();
        seconds[i] = seconds_now() - begin;
    }
    qsort(seconds, runs, sizeof *seconds, ascending);
    return seconds[runs / 2];
}

/* The mean of n launches in a row. */
template <typename F>
static double
kernel_seconds(Model *m, int n, F launch)
{
    cudaEvent_t begin, end;
    float ms;

    must(cudaEventCreate(&begin));
    must(cudaEventCreate(&end));
    launch(0);
    must(cudaEventRecord(begin, m->stream));
    for (int i = 0; i < n; i++)
        launch(i);
    must(cudaEventRecord(end, m->stream));
    must(cudaEventSynchronize(end));
    must(cudaEventElapsedTime(&ms, begin, end));
    must(cudaEventDestroy(begin));
    must(cudaEventDestroy(end));
    return ms * 1e-3 / n;
}

static void
print_prompts(void *engine, const int *tokens, int context)
{
    static const int lengths[] = {1, 30, 64, 128, 512, 1024, 2048, 4096, 8192, 29500},
                     pasts[] = {0, 4096, 8192};

    printf("%8s %8s %10s %12s\n", "tokens", "position", "ms", "tokens/s");
    for (int n : lengths)
        for (int pos : pasts) {
            if ((pos > 0 && n != 30 && n != 2048) || pos + n > context)
                continue;
            double seconds = median_seconds(15, [&] { must(model_engine.prefill(engine, tokens, n, pos)); });

            printf("%8d %8d %10.3f %12.0f\n", n, pos, seconds * 1e3, n / seconds);
        }
}

static void
print_operations(Model *m, int n, int pos)
{
    const size_t layer_cache = (size_t)KV_HEADS * m->context * HEAD_DIM;
    LayerMatrices of;
    double all = 0;
    auto print = [&](const char *name, int times, auto launch) {
        double ms = 1e3 * times * kernel_seconds(m, times, [&](int i) {
                        int l = i % LAYERS;
                        must(launch(&m->weights.layer[l], m->k_cache + l * layer_cache,
                                    m->v_cache + l * layer_cache));
                    });
        printf("  %-24s %8.3f\n", name, ms);
        all += ms;
    };

    printf("\n%d tokens at position %d, milliseconds of each operation (all layers):\n", n, pos);
    if (m->form != 16)
        print("unpacking", LAYERS,
              [&](const LayerWeights *w, bf16 *, bf16 *) { return model_matrices(m, w, &of); });
    must(model_matrices(m, &m->weights.layer[0], &of));
    /* Packed ones as they are left by unpacking. */
    auto matrices = [&](const LayerWeights *w) {
        if (m->form == 16)
            must(model_matrices(m, w, &of));
        return of;
    };
    print("RMSNorm", 2 * LAYERS, [&](const LayerWeights *w, bf16 *, bf16 *) {
        return rmsnorm(m->normed, m->x, w->input_norm, n, m->stream);
    });
    print("q, k, v", LAYERS, [&](const LayerWeights *w, bf16 *, bf16 *) {
        return product(m->cublas_handle, m->qkv, CUDA_R_16BF, 0, matrices(w).qkv, m->normed, n, QKV_DIM,
                       HIDDEN);
    });
    print("q/k norm, RoPE, KV store", LAYERS, [&](const LayerWeights *w, bf16 *k, bf16 *v) {
        return norm_rope_store(m->qkv, k, v, w->q_norm, w->k_norm, m->rope, n, pos, m->context, m->stream);
    });
    print("attention", LAYERS, [&](const LayerWeights *, bf16 *k, bf16 *v) {
        return attention(m->attended, m->qkv, k, v, m->workspace, n, pos, m->context, m->multiprocessors,
                         m->stream);
    });
    print("o", LAYERS, [&](const LayerWeights *w, bf16 *, bf16 *) {
        return product(m->cublas_handle, m->x, CUDA_R_32F, 1, matrices(w).o, m->attended, n, HIDDEN, Q_DIM);
    });
    print("gate, up", LAYERS, [&](const LayerWeights *w, bf16 *, bf16 *) {
        return product(m->cublas_handle, m->gate_up, CUDA_R_16BF, 0, matrices(w).gate_up, m->normed, n,
                       2 * INTERMEDIATE, HIDDEN);
    });
    print("SiLU x up", LAYERS,
          [&](const LayerWeights *, bf16 *, bf16 *) { return swiglu(m->mlp, m->gate_up, n, m->stream); });
    print("down", LAYERS, [&](const LayerWeights *w, bf16 *, bf16 *) {
        return product(m->cublas_handle, m->x, CUDA_R_32F, 1, matrices(w).down, m->mlp, n, HIDDEN,
                       INTERMEDIATE);
    });
    printf("  %-24s %8.3f\n", "all", all);
}

static void
print_tokens(Model *m, const int *tokens, int context)
{
    static const int depths[] = {0, 64, 1024, 4096, 8000, MAX_CONTEXT - 1};
    Candidate best[DEFAULT_TOP_K];

    printf("\n%8s %12s %12s\n", "depth", "kernel, us", "engine, us");
    for (int pos : depths) {
        if (pos >= context)
            continue;
        double kernel = kernel_seconds(m, 50, [&](int i) {
            must(decode_launch(&m->decode, &tokens[i], 1, pos, DEFAULT_TOP_K, m->stream));
        });
        double engine = median_seconds(
            101, [&] { must(model_engine.decode(m, &tokens[0], 1, pos, DEFAULT_TOP_K, best)); });
        printf("%8d %12.1f %12.1f\n", pos, kernel * 1e6, engine * 1e6);
    }
    double sorted = median_seconds(15, [&] {
        static Candidate all[VOCAB];
        must(model_engine.decode(m, &tokens[0], 1, 0, 0, all));
    });
    double first = median_seconds(15, [&] {
        must(model_engine.prefill(m, tokens, 30, 0));
        must(model_engine.decode(m, &tokens[30], 1, 30, DEFAULT_TOP_K, best));
    });
    printf("with all logits, sorted, at depth 0: %.1f us\n", sorted * 1e6);
    printf("a prompt of 30 tokens and the first of the reply: %.3f ms\n", first * 1e3);
}

int
main(int argc, char **argv)
{
    static int tokens[MAX_CONTEXT];
    const int context = MAX_CONTEXT;
    void *engine;

    if (argc != 2) {
        fprintf(stderr, "usage: bench_gpu MODEL_DIR\n");
        return 2;
    }
    must(model_engine.probe());
    for (int i = 0; i < context; i++)
        tokens[i] = (int)((i * 7919u + 11) % VOCAB);
    for (int bits : {16, 12, 8}) {
        double begin = seconds_now();
        must(model_engine.open(&engine, argv[1], {context, bits, 1}));
        printf("\n%s, %s, %d bits: open %.2f s\n", gpu_card, argv[1], bits, seconds_now() - begin);
        must(model_engine.prefill(engine, tokens, context, 0)); /* a past of real numbers */

        print_prompts(engine, tokens, context);
        print_operations((Model *)engine, 2048, 0);
        if (bits == 16 && context >= 10240) {
            print_operations((Model *)engine, 2048, 8192);
            print_operations((Model *)engine, 30, 0);
            print_operations((Model *)engine, 30, 8192);
        }
        print_tokens((Model *)engine, tokens, context);
        model_engine.close(engine);
    }
    return 0;
}
