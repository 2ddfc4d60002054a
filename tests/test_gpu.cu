/* test_gpu [-s] [MODEL_DIR]: how the GPU engine behaves on a card; skipped, visibly, where there is none.
 *
 * Runs on a model with random weights of the shape it is built for, written to a temporary directory unless
 * MODEL_DIR has one. The references are cpu.h and, for single kernels, sums in double precision here;
 * distances to Hugging Face are tests/parity.c's. -s runs each kernel a few times and compares nothing with
 * the CPU: for compute-sanitizer, which is slow. */
#include "../cpu.h"
#include "../model.cuh"

#include <cuda_fp16.h>

#include "random_model.h"
#include "test.h"

/* The distance of two rows of logits is ||x - y|| / ||y||. The GPU rounds what goes into a product to bf16, 8
 * bits, so a distance below 1e-2 is rounding, and a mistake is far above. */
static const double BOUND = 1e-2;

static char directory[3000];

/* ---- what the tests share ---- */

static void
must(const char *error)
{
    if (error) {
        fprintf(stderr, "test_gpu: %s\n", error);
        exit(1);
    }
}

static void
must(cudaError_t e)
{
    must(gpu_error(e, "a call of the test("));
}

static void *
open_engine(const Engine *engine, int context, int bits = 16)
{
    void *state;

    must(engine->open(&state, directory, {context, bits, 0}));
    return state;
}

static int *
some_tokens(int n)
{
    int *tokens = (int *)malloc(n * sizeof *tokens);

    for (int i = 0; i < n; i++)
        tokens[i] = random_token(i);
    return tokens;
}

typedef struct {
    Candidate sorted[VOCAB];
    float logit[VOCAB]; /* by id */
} Logits;

/* All logits after `token` at `pos`; checks that they are a permutation of the vocabulary, best first. */
static void
all_logits(const Engine *engine, void *state, int token, int pos, Logits *out)
{
    int ordered = 1, complete = 1;

    must(engine->decode(state, &token, 1, pos, 0, out->sorted));
    for (int i = 0; i < VOCAB; i++)
        out->logit[i] = NAN;
    for (int i = 0; i < VOCAB; i++) {
        const Candidate *c = &out->sorted[i];

        ordered &= i == 0 || sampler_before(c[-1], c[0]);
        complete &= c->id >= 0 && c->id < VOCAB && isfinite(c->logit);
        if (complete)
            out->logit[c->id] = c->logit;
    }
    CHECK(ordered);
    CHECK(complete);
}

static double
distance(const Logits *x, const Logits *y)
{
    double difference = 0, norm = 0;

    for (int i = 0; i < VOCAB; i++) {
        double d = (double)x->logit[i] - y->logit[i];

        difference += d * d;
        norm += (double)y->logit[i] * y->logit[i];
    }
    return sqrt(difference / norm);
}

static int
same_bits(const Logits *x, const Logits *y)
{
    return memcmp(x->sorted, y->sorted, sizeof x->sorted) == 0;
}

/* The same greedy token, or one that the error explains. */
static int
same_best(const Logits *x, const Logits *y)
{
    double error = 0;

    for (int i = 0; i < VOCAB; i++)
        error = fmax(error, fabs((double)x->logit[i] - y->logit[i]));
    return x->sorted[0].id == y->sorted[0].id || y->sorted[0].logit - y->sorted[1].logit < 2 * error;
}

static Logits *
empty_logits(void)
{
    return (Logits *)calloc(1, sizeof(Logits));
}

/* Number i of a sequence of mean 0 and deviation 1, near enough to normal. */
static float
random_normal(uint64_t i)
{
    uint64_t bits = random_bits(i);
    float sum = 0;

    for (int j = 0; j < 4; j++, bits >>= 16)
        sum += (float)(bits & 0xffff) / 65536 - 0.5f;
    return sum * 1.7320508f;
}

static uint16_t *
random_bf16(size_t n, float deviation, uint64_t seed)
{
    uint16_t *v = (uint16_t *)malloc(n * sizeof *v);

    for (size_t i = 0; i < n; i++)
        v[i] = bf16_round(deviation * random_normal((seed << 40) + i));
    return v;
}

template <typename T>
static T *
to_device(const T *host, size_t n)
{
    T *device;

    must(cudaMalloc(&device, n * sizeof *device));
    must(cudaMemcpy(device, host, n * sizeof *device, cudaMemcpyHostToDevice));
    must(cudaDeviceSynchronize()); /* small copies may be under way, and the engine's stream does not wait */
    return device;
}

/* ---- the attention kernel ---- */

/* out (HEAD_DIM) = softmax(q . k / sqrt(HEAD_DIM)) . v over n positions, in double precision. */
static void
plain_attention(double *out, const uint16_t *q, const uint16_t *k, const uint16_t *v, int n)
{
    double *p = (double *)malloc(n * sizeof *p), highest = -INFINITY, sum = 0;

    for (int j = 0; j < n; j++) {
        p[j] = 0;
        for (int i = 0; i < HEAD_DIM; i++)
            p[j] += (double)bf16_widen(q[i]) * bf16_widen(k[(size_t)j * HEAD_DIM + i]);
        p[j] /= sqrt((double)HEAD_DIM);
        highest = fmax(highest, p[j]);
    }
    memset(out, 0, HEAD_DIM * sizeof *out);
    for (int j = 0; j < n; j++) {
        p[j] = exp(p[j] - highest);
        sum += p[j];
    }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < HEAD_DIM; i++)
            out[i] += p[j] / sum * bf16_widen(v[(size_t)j * HEAD_DIM + i]);
    free(p);
}

/* Scores of deviation 2: some keys count a hundred times as much as others, so a key too many, too few or in
 * the wrong place shows, which it would not with the flat attention of a random model. What lies beyond the
 * last position is NaN, and so is the output before it is written. */
static double
attention_error(int n, int pos, int multiprocessors)
{
    const int context = pos + n + 70;
    const size_t cache = (size_t)KV_HEADS * context * HEAD_DIM;
    uint16_t *qkv = random_bf16((size_t)n * QKV_DIM, 2, 1), *k = random_bf16(cache, 1, 2),
             *v = random_bf16(cache, 1, 3), *out = (uint16_t *)malloc((size_t)n * Q_DIM * sizeof *out);
    double worst = 0;
    void *workspace;

    for (int head = 0; head < KV_HEADS; head++)
        for (size_t i = (size_t)(pos + n) * HEAD_DIM; i < (size_t)context * HEAD_DIM; i++)
            k[(size_t)head * context * HEAD_DIM + i] = v[(size_t)head * context * HEAD_DIM + i] = 0x7fff;
    memset(out, 0xff, (size_t)n * Q_DIM * sizeof *out);

    uint16_t *device_qkv = to_device(qkv, (size_t)n * QKV_DIM), *device_k = to_device(k, cache),
             *device_v = to_device(v, cache), *device_out = to_device(out, (size_t)n * Q_DIM);
    must(attention_open());
    must(cudaMalloc(&workspace, ATTENTION_WORKSPACE));
    must(attention((bf16 *)device_out, (bf16 *)device_qkv, (bf16 *)device_k, (bf16 *)device_v, workspace, n,
                   pos, context, multiprocessors, 0));
    must(cudaMemcpy(out, device_out, (size_t)n * Q_DIM * sizeof *out, cudaMemcpyDeviceToHost));

    for (int row = 0; row < n; row++)
        for (int head = 0; head < HEADS; head++) {
            double expected[HEAD_DIM], difference = 0, norm = 0;
            size_t at = (size_t)(head / SHARING) * context * HEAD_DIM;

            plain_attention(expected, qkv + (size_t)row * QKV_DIM + head * HEAD_DIM, k + at, v + at,
                            pos + row + 1);
            for (int i = 0; i < HEAD_DIM; i++) {
                double d = bf16_widen(out[(size_t)row * Q_DIM + head * HEAD_DIM + i]) - expected[i];

                difference += d * d;
                norm += expected[i] * expected[i];
            }
            if (!(sqrt(difference / norm) <= worst))
                worst = sqrt(difference / norm);
        }
    cudaFree(device_qkv);
    cudaFree(device_k);
    cudaFree(device_v);
    cudaFree(device_out);
    cudaFree(workspace);
    free(qkv);
    free(k);
    free(v);
    free(out);
    return worst;
}

enum { SHAPES = 14 };

static void
attention_equals_a_sum_in_double_precision(int shapes)
{
    static const int shape[SHAPES][2] = {/* n, pos; the shortest ones that go through every branch first */
                                         {70, 520}, {70, 3},   {1, 0},    {1, 63},   {1, 64},
                                         {2, 62},   {63, 0},   {64, 0},   {65, 1},   {64, 64},
                                         {128, 0},  {129, 33}, {1, 1500}, {33, 1000}};
    double worst = 0;
    int most = 0;

    for (int i = 0; i < shapes; i++)
        for (int multiprocessors : {1, 20, 132}) { /* the more, the more parts the keys are split into */
            int n = shape[i][0], pos = shape[i][1], splits = attention_splits(n, pos, multiprocessors);
            double error = attention_error(n, pos, multiprocessors);

            if (!(error <= 6e-3))
                fprintf(stderr, "attention of %d tokens at %d, %d splits: distance %.2e\n", n, pos, splits,
                        error);
            CHECK(error <= 6e-3); /* two roundings to bf16: of the probabilities, of the result */
            worst = fmax(worst, error);
            most = splits > most ? splits : most;
        }
    CHECK(shapes < SHAPES || most >= 5);
    printf("attention: greatest distance to double precision %.2e\n", worst);
}

/* ---- the k best ---- */

static int
compare_candidates(const void *a, const void *b)
{
    const Candidate *x = (const Candidate *)a, *y = (const Candidate *)b;

    return sampler_before(*x, *y) ? -1 : 1;
}

/* Logits of only a few values, so nearly all are ties; both zeros, which are equal; infinities. */
static void
k_best_equal_a_full_sort_with_the_lower_id_first(void)
{
    static const float values[] = {1.5f, -2, 0.0f, -0.0f, 3e38f, -1e-40f, -INFINITY, 1.5f, INFINITY};
    static const int ks[] = {1, 2, 20, 64, 65, 1000, VOCAB};
    float *logits = (float *)malloc(VOCAB * sizeof *logits);
    Candidate *expected = (Candidate *)malloc(VOCAB * sizeof *expected);
    int *id;
    float *logit;
    Sort s;

    for (int id = 0; id < VOCAB; id++) {
        logits[id] = values[random_bits(id) % (sizeof values / sizeof *values)];
        expected[id].id = id;
        expected[id].logit = logits[id];
    }
    qsort(expected, VOCAB, sizeof *expected, compare_candidates);

    float *device_logits = to_device(logits, VOCAB);
    must(sort_size(&s));
    must(cudaMalloc(&s.id, VOCAB * sizeof *s.id));
    must(cudaMalloc(&s.sorted_id, VOCAB * sizeof *s.sorted_id));
    must(cudaMalloc(&s.sorted_logit, VOCAB * sizeof *s.sorted_logit));
    must(cudaMallocHost((void **)&id, VOCAB * sizeof *id));
    must(cudaMallocHost((void **)&logit, VOCAB * sizeof *logit));
    must(cudaMalloc(&s.scratch, s.scratch_bytes));
    must(number_ids(s.id, 0));
    for (int k : ks) {
        int equal = 1;

        if (k > VOCAB)
            continue;
        memset(id, 0xff, VOCAB * sizeof *id);
        memset(logit, 0xff, VOCAB * sizeof *logit);
        must(sort_best(&s, device_logits, k, id, logit, 0));
        must(cudaDeviceSynchronize());
        for (int i = 0; i < k; i++)
            equal &= id[i] == expected[i].id && logit[i] == expected[i].logit;
        CHECK(equal);
        CHECK(k == VOCAB || (id[k] == -1 && isnan(logit[k]))); /* nothing beyond the k */
    }
    cudaFree(device_logits);
    cudaFree(s.id);
    cudaFree(s.sorted_id);
    cudaFree(s.sorted_logit);
    cudaFree(s.scratch);
    free(logits);
    free(expected);
    cudaFreeHost(id);
    cudaFreeHost(logit);
}

/* Calls change(file) with the bf16 weights of a model's file mapped to be written to. */
template <typename F>
static void
change_weights(const char *dir, F change)
{
    char path[4000];
    Safetensors file;
    void *map;
    int fd;

    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    must(safetensors_open(&file, path));
    fd = open(path, O_RDWR);
    map = mmap(file.map, file.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    CHECK(map == file.map);
    change(file);
    close(fd);
    safetensors_close(&file);
}

/* A model of a test's own, which is removed with it. */
struct OwnModel {
    char dir[3100];

    OwnModel(const char *name)
    {
        snprintf(dir, sizeof dir, "%s/%s", directory, name);
        must(random_model_write(dir, DTYPE_BF16, 2));
    }

    ~OwnModel()
    {
        char path[4000];
        for (const char *name : {"model.safetensors", "config.json"}) {
            snprintf(path, sizeof path, "%s/%s", dir, name);
            unlink(path);
        }
        rmdir(dir);
    }
};

/* Gives `n` neighbours in the vocabulary the embedding of the first of them: equal logits. */
static void
tie_embeddings(const char *dir, int n)
{
    change_weights(dir, [&](const Safetensors &file) {
        uint16_t *embed = (uint16_t *)file.embed.data;
        for (int id = 0; id < VOCAB; id++)
            if (id % n)
                memcpy(embed + (size_t)id * HIDDEN, embed + (size_t)(id / n * n) * HIDDEN,
                       HIDDEN * sizeof *embed);
    });
}

static void
decode_gives_the_first_k_of_all(const char *dir, int equal)
{
    static const int ks[] = {1, 2, 7, 20, 63, 64, 65, 1000, VOCAB};
    Candidate *best = (Candidate *)malloc(VOCAB * sizeof *best);
    Logits *all = empty_logits();
    void *gpu;

    must(model_engine.open(&gpu, dir, {64, 16, 0}));
    for (int pos = 0; pos < 3; pos++) {
        all_logits(&model_engine, gpu, random_token(pos), pos, all);
        CHECK(all->sorted[0].logit == all->sorted[equal - 1].logit);
        for (int k : ks) {
            if (k > VOCAB)
                continue;
            int token = random_token(pos);
            must(model_engine.decode(gpu, &token, 1, pos, k, best));
            CHECK(memcmp(best, all->sorted, k * sizeof *best) == 0);
        }
    }
    model_close(gpu);
    free(best);
    free(all);
}

static void
decode_gives_the_lower_id_first_among_equals(void)
{
    OwnModel tied("tied");

    /* Eight equal ones; then all, which are more than the decode kernel keeps at hand. */
    tie_embeddings(tied.dir, 8);
    decode_gives_the_first_k_of_all(tied.dir, 8);
    tie_embeddings(tied.dir, VOCAB);
    decode_gives_the_first_k_of_all(tied.dir, VOCAB);
}

/* ---- the whole model ---- */

static void
logits_are_those_of_the_cpu(void)
{
    static const int positions[] = {0, 1, 2, 63, 64, 100, 1023, 1024, 2047, 2048, 4095, 8191};
    int limit = LAYERS <= 4 ? 8192 : 1100; /* the CPU's time */
    int *tokens = some_tokens(limit), at = 0;
    void *gpu = open_engine(&model_engine, limit), *cpu = open_engine(&cpu_engine, limit);
    Logits *ours = empty_logits(), *theirs = empty_logits();

    for (int pos : positions) {
        if (pos >= limit)
            break;
        must(model_engine.prefill(gpu, tokens + at, pos - at, at));
        must(cpu_engine.prefill(cpu, tokens + at, pos - at, at));
        all_logits(&model_engine, gpu, tokens[pos], pos, ours);
        all_logits(&cpu_engine, cpu, tokens[pos], pos, theirs);
        printf("position %5d: distance to the CPU %.2e\n", pos, distance(ours, theirs));
        CHECK(distance(ours, theirs) <= BOUND);
        CHECK(same_best(ours, theirs));
        at = pos + 1;
    }
    model_close(gpu);
    cpu_close(cpu);
    free(tokens);
    free(ours);
    free(theirs);
}

static void
prefill_in_any_chunks_gives_the_same(void)
{
    static const int chunks[] = {4096, 64, 7, 1};
    const int n = 4150;
    int *tokens = some_tokens(n + 1);
    Logits *whole = empty_logits(), *pieces = empty_logits();

    for (int chunk : chunks) {
        void *gpu = open_engine(&model_engine, n + 1);

        for (int at = 0; at < n; at += chunk)
            must(model_engine.prefill(gpu, tokens + at, n - at < chunk ? n - at : chunk, at));
        all_logits(&model_engine, gpu, tokens[n], n, chunk == 4096 ? whole : pieces);
        model_close(gpu);
        if (chunk == 4096)
            continue;
        printf("chunks of %4d: distance to chunks of 4096 %.2e\n", chunk, distance(pieces, whole));
        CHECK(distance(pieces, whole) <= BOUND);
        CHECK(same_best(pieces, whole));
    }
    free(tokens);
    free(whole);
    free(pieces);
}

/* What a conversation does: some tokens, a reply, then another text from a shared prefix on. */
static void
a_prefix_can_be_kept(void)
{
    const int n = 300, keep = n / 3;
    int *tokens = some_tokens(2 * n);
    void *used = open_engine(&model_engine, 2 * n), *fresh = open_engine(&model_engine, 2 * n);
    Logits *a = empty_logits(), *b = empty_logits();

    must(model_engine.prefill(used, tokens, n, 0));
    for (int i = n; i < 2 * n; i++)
        must(model_engine.decode(used, &tokens[i], 1, i, 1, a->sorted));
    must(model_engine.prefill(used, tokens + n, n / 2, keep));
    all_logits(&model_engine, used, tokens[0], keep + n / 2, a);

    must(model_engine.prefill(fresh, tokens, keep, 0));
    must(model_engine.prefill(fresh, tokens + n, n / 2, keep));
    all_logits(&model_engine, fresh, tokens[0], keep + n / 2, b);
    printf("a kept prefix: distance to a fresh start %.2e\n", distance(a, b));
    CHECK(distance(a, b) <= BOUND);
    CHECK(same_best(a, b));

    /* From position 0 on, nothing is left of what went before: bit for bit. */
    must(model_engine.prefill(used, tokens, keep, 0));
    must(model_engine.prefill(used, tokens + n, n / 2, keep));
    all_logits(&model_engine, used, tokens[0], keep + n / 2, a);
    CHECK(same_bits(a, b));
    model_close(used);
    model_close(fresh);
    free(tokens);
    free(a);
    free(b);
}

static void
the_same_twice_gives_the_same_bits(void)
{
    const int n = 300;
    int *tokens = some_tokens(n);
    Logits *a = empty_logits(), *b = empty_logits();

    for (int run = 0; run < 2; run++) {
        void *gpu = open_engine(&model_engine, n + 40);
        Candidate best = {tokens[0], 0};

        must(model_engine.prefill(gpu, tokens, n, 0));
        for (int i = 0; i < 30; i++)
            must(model_engine.decode(gpu, &best.id, 1, n + i, 1, &best));
        all_logits(&model_engine, gpu, best.id, n + 30, run == 0 ? a : b);
        model_close(gpu);
    }
    CHECK(same_bits(a, b));
    free(tokens);
    free(a);
    free(b);
}

static void
the_context_can_be_filled_to_the_last_position(void)
{
    const int context = 131;
    int *tokens = some_tokens(context + 1), bad = VOCAB, negative = -1;
    void *gpu = open_engine(&model_engine, context), *cpu = open_engine(&cpu_engine, context);
    Logits *ours = empty_logits(), *theirs = empty_logits();
    Candidate best;

    must(model_engine.prefill(gpu, tokens, context - 1, 0));
    must(cpu_engine.prefill(cpu, tokens, context - 1, 0));
    all_logits(&model_engine, gpu, tokens[context - 1], context - 1, ours);
    all_logits(&cpu_engine, cpu, tokens[context - 1], context - 1, theirs);
    CHECK(distance(ours, theirs) <= BOUND);
    must(model_engine.prefill(gpu, tokens, context, 0));
    must(model_engine.prefill(gpu, tokens, 0, context));

    CHECK(model_engine.decode(gpu, &tokens[0], 1, context, 1, &best) != NULL);
    CHECK(model_engine.decode(gpu, &tokens[0], 1, -1, 1, &best) != NULL);
    CHECK(model_engine.decode(gpu, &bad, 1, 0, 1, &best) != NULL);
    CHECK(model_engine.decode(gpu, &negative, 1, 0, 1, &best) != NULL);
    CHECK(model_engine.decode(gpu, tokens, 1, 0, -1, &best) != NULL);
    CHECK(model_engine.decode(gpu, tokens, 1, 0, VOCAB + 1, &best) != NULL);
    CHECK(model_engine.prefill(gpu, tokens, context + 1, 0) != NULL);
    CHECK(model_engine.prefill(gpu, tokens, 2, context - 1) != NULL);
    CHECK(model_engine.prefill(gpu, &bad, 1, 0) != NULL);
    CHECK(model_engine.prefill(gpu, &negative, 1, 0) != NULL);

    /* A refused call changes nothing. */
    all_logits(&model_engine, gpu, tokens[context - 1], context - 1, theirs);
    CHECK(distance(ours, theirs) <= BOUND);
    model_close(gpu);
    cpu_close(cpu);
    free(tokens);
    free(ours);
    free(theirs);
}

/* Rows and products are two ways to the same cache, whatever a product is padded to. */
static void
long_and_short_prompts_give_the_same(void)
{
    static const int lengths[] = {1, ROWS_PREFILL, ROWS_PREFILL + 1, 127, 128, 129, 200, 700};
    int *tokens = some_tokens(701);
    Logits *products = empty_logits(), *rows = empty_logits();

    for (int n : lengths) {
        void *gpu = open_engine(&model_engine, n + 1), *slow = open_engine(&model_engine, n + 1);
        Model *m = (Model *)gpu;

        must(model_engine.prefill(gpu, tokens, n, 0));
        CHECK(m->cublas_state ==
              (n > ROWS_PREFILL ? CUBLAS_READY : CUBLAS_CLOSED)); /* only where it is needed */
        all_logits(&model_engine, gpu, tokens[n], n, products);
        must(model_rows((Model *)slow, tokens, n, 0));
        all_logits(&model_engine, slow, tokens[n], n, rows);
        printf("%4d tokens: distance to rows %.2e\n", n, distance(products, rows));
        CHECK(n > ROWS_PREFILL ? distance(products, rows) <= BOUND : same_bits(products, rows));
        CHECK(same_best(products, rows));
        model_close(gpu);
        model_close(slow);
    }
    free(tokens);
    free(products);
    free(rows);
}

/* What a thread has opened gives, bit for bit, what is opened when it is needed. */
static void
opening_cublas_in_the_background_changes_nothing(void)
{
    const int n = 200;
    int *tokens = some_tokens(n + 1);
    void *warm = open_engine(&model_engine, 2100), *cold = open_engine(&model_engine, 2100);
    Model *m = (Model *)warm;
    Logits *a = empty_logits(), *b = empty_logits();

    model_warm(warm);
    must(model_engine.prefill(warm, tokens, 5, 0)); /* meanwhile */
    while (model_cublas_state(m) == CUBLAS_OPENING)
        usleep(1000);
    CHECK(m->cublas_state == CUBLAS_READY);
    double begin = seconds_now();
    must(model_engine.prefill(warm, tokens, n, 0));
    printf("the first %d tokens after the thread: %.1f ms\n", n, 1e3 * (seconds_now() - begin));
    begin = seconds_now();
    must(model_engine.prefill(warm, tokens, n, 0));
    printf("and again: %.1f ms\n", 1e3 * (seconds_now() - begin));
    all_logits(&model_engine, warm, tokens[n], n, a);
    must(model_engine.prefill(cold, tokens, n, 0));
    all_logits(&model_engine, cold, tokens[n], n, b);
    CHECK(same_bits(a, b));
    model_close(warm);
    model_close(cold);
    free(tokens);
    free(a);
    free(b);
}

/* But for one rounding in a hundred thousand that falls the other way. */
static void
the_table_of_rope_is_that_of_double_precision(void)
{
    const int half = HEAD_DIM / 2, context = MAX_CONTEXT;
    float2 *table = (float2 *)malloc((size_t)context * half * sizeof *table), *device;
    int differ = 0;
    double worst = 0;

    must(cudaMalloc(&device, (size_t)context * half * sizeof *device));
    must(rope_table(device, context, 0));
    must(cudaMemcpy(table, device, (size_t)context * half * sizeof *table, cudaMemcpyDeviceToHost));
    for (int pos = 0; pos < context; pos++)
        for (int i = 0; i < half; i++) {
            double angle = pos * pow(ROPE_THETA, -2.0 * i / HEAD_DIM);
            float2 is = table[pos * half + i];

            differ += is.x != (float)cos(angle) || is.y != (float)sin(angle);
            worst = fmax(worst, fmax(fabs(is.x - cos(angle)), fabs(is.y - sin(angle))));
        }
    printf("RoPE: greatest difference to double precision %.2e, %d rounded the other way\n", worst, differ);
    CHECK(worst <= 6e-8);
    CHECK(differ <= context * half / 1000);
    cudaFree(device);
    free(table);
}

/* One to eight rows of a pass at `pos` against as many passes of one: all logits, to the bit, and what both
 * leave in the cache, by the logits after them. */
static void
rows_at(void *gpu, const int *tokens, int pos, Candidate *alone, Candidate *rows)
{
    for (int r = 0; r < MAX_ROWS; r++)
        must(model_engine.decode(gpu, tokens + pos + r, 1, pos + r, VOCAB, alone + (size_t)r * VOCAB));
    for (int n = 1; n <= MAX_ROWS; n++) {
        must(model_engine.decode(gpu, tokens + pos, n, pos, VOCAB, rows));
        CHECK(memcmp(rows, alone, (size_t)n * VOCAB * sizeof *rows) == 0);
        if (n < MAX_ROWS) {
            must(model_engine.decode(gpu, tokens + pos + n, 1, pos + n, VOCAB, rows));
            CHECK(memcmp(rows, alone + (size_t)n * VOCAB, VOCAB * sizeof *rows) == 0);
        }
    }
}

static void
a_row_is_as_if_it_were_alone(int bits)
{
    static const int blocks[] = {48, 20, 16, 8, 0}, /* the last one stays for the race below */
        positions[] = {0, 1, 63, 124, 189, 253, 1021, 4093, 4200 - MAX_ROWS};
    int *tokens = some_tokens(4200);
    void *gpu = open_engine(&model_engine, 4200, bits);
    Model *m = (Model *)gpu;
    Candidate *alone = (Candidate *)malloc(MAX_ROWS * VOCAB * sizeof *alone);
    Candidate *rows = (Candidate *)malloc(MAX_ROWS * VOCAB * sizeof *rows), best[MAX_ROWS];

    must(model_engine.prefill(gpu, tokens, 4200, 0));
    for (int n : blocks) {
        decode_close(&m->decode);
        must(decode_open(&m->decode, &m->weights, m->form, m->k_cache, m->v_cache, m->rope, m->context,
                         m->decode_workspace, n));
        for (int pos : positions)
            if (bits == 16 || pos < 100) /* attention knows no forms */
                rows_at(gpu, tokens, pos, alone, rows);
    }
    /* A race shows as an error that moves: the same pass again and again. */
    must(model_engine.decode(gpu, tokens, 3, 0, 1, best));
    for (int again = 0; again < 300; again++) {
        must(model_engine.decode(gpu, tokens, 3, 0, 1, rows));
        CHECK(memcmp(rows, best, 3 * sizeof *rows) == 0);
    }
    model_close(gpu);
    free(tokens);
    free(alone);
    free(rows);
}

/* A card whose display takes some multiprocessors, or a smaller card: fewer blocks do all of the work. */
static void
fewer_blocks_give_the_same(void)
{
    static const int blocks[] = {0, 57, 20}, positions[] = {0, 63, 300, 2000};
    int *tokens = some_tokens(2001);
    void *gpu = open_engine(&model_engine, 2001);
    Model *m = (Model *)gpu;
    Logits *all = empty_logits(), *few = empty_logits();
    Candidate best[DECODE_MAX_K];

    must(model_engine.prefill(gpu, tokens, 2001, 0));
    for (int pos : positions)
        for (int n : blocks) {
            decode_close(&m->decode);
            must(decode_open(&m->decode, &m->weights, m->form, m->k_cache, m->v_cache, m->rope, m->context,
                             m->decode_workspace, n));
            all_logits(&model_engine, gpu, tokens[pos], pos, n == blocks[0] ? all : few);
            if (n == blocks[0])
                continue;
            CHECK(distance(few, all) <= BOUND);
            CHECK(same_best(few, all));
            must(model_engine.decode(gpu, &tokens[pos], 1, pos, DECODE_MAX_K, best));
            CHECK(memcmp(best, few->sorted, sizeof best) == 0);
        }
    model_close(gpu);
    free(tokens);
    free(all);
    free(few);
}

/* ---- files ---- */

/* Writes `dir`/model.safetensors with the numbers of `file`, tensor by tensor as BF16, F16, F32, BF16, ... */
static void
write_mixed(const Safetensors *file, const char *dir)
{
    static const char *const names[DTYPES] = {"BF16", "F16", "F32"};
    enum { TENSORS = LAYERS * LAYER_TENSORS + 2 };
    char *header = (char *)malloc(TENSORS * 160 + 64), path[4000];
    int used = sprintf(header, "{");
    unsigned long long offset = 0, length;
    FILE *out;

    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    out = fopen(path, "wb");
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < TENSORS; i++) {
            int layer = i / LAYER_TENSORS, dtype = i % DTYPES;
            int which = layer < LAYERS ? i % LAYER_TENSORS : i % LAYER_TENSORS == 0 ? EMBED : FINAL_NORM;
            const Tensor *tensor = layer < LAYERS   ? &file->layer[layer][which]
                                   : which == EMBED ? &file->embed
                                                    : &file->norm;
            const uint16_t *value = (const uint16_t *)tensor->data;

            if (pass == 0) {
                unsigned long long end = offset + tensor->count * (dtype == DTYPE_F32 ? 4 : 2);

                used += sprintf(header + used, "%s\"", i ? "," : "");
                used += sprintf(header + used, safetensors_table[which].name, layer);
                used += sprintf(header + used, "\":{\"dtype\":\"%s\",\"shape\":[%d", names[dtype],
                                safetensors_table[which].rows);
                if (safetensors_table[which].columns)
                    used += sprintf(header + used, ",%d", safetensors_table[which].columns);
                used += sprintf(header + used, "],\"data_offsets\":[%llu,%llu]}", offset, end);
                offset = end;
                continue;
            }
            for (size_t j = 0; j < tensor->count; j++) {
                float as_float = bf16_widen(value[j]);
                __half as_half = __float2half(as_float);

                if (dtype == DTYPE_F32)
                    fwrite(&as_float, 4, 1, out);
                else
                    fwrite(dtype == DTYPE_F16 ? (const void *)&as_half : &value[j], 2, 1, out);
            }
        }
        if (pass == 0) {
            used += sprintf(header + used, "}");
            while (used % 8)
                header[used++] = ' ';
            length = used;
            fwrite(&length, 8, 1, out);
            fwrite(header, 1, used, out);
        }
    }
    CHECK(fclose(out) == 0);
    free(header);
}

static int
uploaded(const Tensor *tensor, const bf16 *device, int bits)
{
    uint16_t *expected = (uint16_t *)malloc(tensor->count * 2),
             *actual = (uint16_t *)malloc(tensor->count * 2);
    int equal;

    safetensors_bf16(tensor, 0, tensor->count, expected);
    if (bits == 8)
        for (size_t i = 0; i < tensor->count; i += DOT_GROUP) {
            int8_t q[DOT_GROUP];
            uint16_t scale;
            dot_quantize(q, &scale, expected + i, DOT_GROUP);
            for (int j = 0; j < DOT_GROUP; j++)
                expected[i + j] = bf16_round(q[j] * bf16_widen(scale));
        }
    must(cudaMemcpy(actual, device, tensor->count * 2, cudaMemcpyDeviceToHost));
    equal = 1;
    for (size_t i = 0; i < tensor->count; i++)
        equal &= expected[i] == actual[i] || (isnan(bf16_widen(expected[i])) && isnan(bf16_widen(actual[i])));
    free(expected);
    free(actual);
    return equal;
}

/* Every tensor on the card equals, bit for bit, what safetensors.h makes of it, and in form 8 dot.h of that:
 * packed ones as they are unpacked, the embedding as prefill reads it. */
static void
weights_arrive(const char *dir, int bits)
{
    const int some = VOCAB < 4096 ? (int)VOCAB : 4096;
    int *tokens = (int *)malloc(some * sizeof *tokens);
    float *x = (float *)malloc((size_t)some * HIDDEN * sizeof *x);
    char path[4000];
    Safetensors file;
    bf16 *unpacked;
    void *engine;
    int equal = 1, columns;

    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    must(safetensors_open(&file, path));
    must(model_engine.open(&engine, dir, {16, bits, 0}));
    must(cudaMalloc(&unpacked, LAYER_WEIGHTS * sizeof *unpacked));
    Model *m = (Model *)engine;
    CHECK(m->form == bits);
    for (int i = 1; i < MODEL_TENSORS; i++) {
        const int matrix = (i - 2) % LAYER_TENSORS == Q_PROJ;
        Destination at;
        const Tensor *tensor = model_tensor(m, &file, i, &columns, &at);
        const char *device = at.norm ? (const char *)at.norm : at.matrix->tile(at.tile);
        if (matrix && bits != 16) {
            must(weights_unpack(unpacked, m->weights.layer[(i - 2) / LAYER_TENSORS], bits, m->stream));
            must(cudaStreamSynchronize(m->stream));
        }
        if (!at.norm && bits != 16) {
            static const size_t begin[LAYER_MATRICES] = {0, LAYER_QKV, LAYER_QKV + LAYER_O,
                                                         LAYER_WEIGHTS - LAYER_DOWN};
            device =
                (const char *)(unpacked + begin[(at.index - 1) % LAYER_MATRICES] + at.tile * TILE_WEIGHTS);
        }
        equal &= uploaded(tensor, (const bf16 *)device, at.norm ? 16 : bits);
    }
    CHECK(equal);

    float *device_x = to_device(x, (size_t)some * HIDDEN);
    for (int i = 0; i < some; i++)
        tokens[i] = i < some / 2 ? i : VOCAB - some + i;
    int *device_tokens = to_device(tokens, some);
    must(embedding(device_x, m->weights.embed, m->form, device_tokens, some, m->stream));
    must(cudaStreamSynchronize(m->stream));
    must(cudaMemcpy(x, device_x, (size_t)some * HIDDEN * sizeof *x, cudaMemcpyDeviceToHost));
    equal = 1;
    for (int i = 0; i < some; i++) {
        uint16_t row[HIDDEN];
        int8_t q[HIDDEN];
        uint16_t scale[HIDDEN / DOT_GROUP];
        safetensors_bf16(&file.embed, (size_t)tokens[i] * HIDDEN, HIDDEN, row);
        dot_quantize(q, scale, row, HIDDEN);
        for (int j = 0; j < HIDDEN; j++) {
            const float v = bits == 8 ? q[j] * bf16_widen(scale[j / DOT_GROUP]) : bf16_widen(row[j]);
            equal &= memcmp(&v, &x[(size_t)i * HIDDEN + j], sizeof v) == 0;
        }
    }
    CHECK(equal);
    cudaFree(device_x);
    cudaFree(device_tokens);
    cudaFree(unpacked);
    model_close(engine);
    safetensors_close(&file);
    free(tokens);
    free(x);
}

static void
files_of_every_dtype_arrive(void)
{
    char path[4000], mixed[3100];
    Safetensors file;

    for (int bits : {16, 12, 8})
        weights_arrive(directory, bits);
    if (LAYERS > 4) {
        printf("files of F16 and F32: left to the small shape\n");
        return;
    }
    snprintf(path, sizeof path, "%s/model.safetensors", directory);
    snprintf(mixed, sizeof mixed, "%s/mixed", directory);
    must(safetensors_open(&file, path));
    CHECK(mkdir(mixed, 0777) == 0);
    write_mixed(&file, mixed);
    safetensors_close(&file);
    for (int bits : {16, 12, 8})
        weights_arrive(mixed, bits);
    snprintf(path, sizeof path, "%s/model.safetensors", mixed);
    unlink(path);
    rmdir(mixed);
}

/* ---- forms ---- */

/* Prefill by rows and by products, decode of one row and of several: all logits, in form 12 to the bit those
 * in form 16. */
static void
form_12_changes_nothing(const char *dir)
{
    const int n = 200;
    int *tokens = some_tokens(n + MAX_ROWS);
    Candidate *a = (Candidate *)malloc(MAX_ROWS * VOCAB * sizeof *a);
    Candidate *b = (Candidate *)malloc(MAX_ROWS * VOCAB * sizeof *b);
    void *plain, *packed;

    must(model_engine.open(&plain, dir, {n + MAX_ROWS, 16, 0}));
    must(model_engine.open(&packed, dir, {n + MAX_ROWS, 12, 0}));
    CHECK(((Model *)packed)->form == 12 && ((Model *)packed)->weight_bytes < ((Model *)plain)->weight_bytes);
    for (int prompt : {0, 9, n}) {
        must(model_engine.prefill(plain, tokens, prompt, 0));
        must(model_engine.prefill(packed, tokens, prompt, 0));
        for (int rows : {1, 2, 3, (int)MAX_ROWS}) {
            must(model_engine.decode(plain, tokens + prompt, rows, prompt, VOCAB, a));
            must(model_engine.decode(packed, tokens + prompt, rows, prompt, VOCAB, b));
            CHECK(memcmp(a, b, (size_t)rows * VOCAB * sizeof *a) == 0);
        }
    }
    model_close(plain);
    model_close(packed);
    free(tokens);
    free(a);
    free(b);
}

/* What trained weights may have and random ones have not: zeros, rows of them, rows of another size, numbers
 * far below and far above their neighbours, on both sides of a pair, and so many that one list is not enough.
 */
static void
form_12_holds_awkward_weights(void)
{
    OwnModel own("awkward");

    change_weights(own.dir, [](const Safetensors &file) {
        for (int which : {Q_PROJ, V_PROJ, O_PROJ, GATE_PROJ, UP_PROJ, DOWN_PROJ}) {
            const Tensor *tensor = &file.layer[1][which];
            const int columns = safetensors_table[which].columns;
            uint16_t *w = (uint16_t *)tensor->data;
            for (size_t i = 0; i < tensor->count; i += 301)
                w[i] = i % 2 ? 0x8000 : 0; /* zeros of both signs */
            for (size_t i = 7; i < tensor->count; i += 977)
                w[i] = bf16_round(i % 3 ? 1e-9f : -3.5f); /* too small, too large for a window */
            memset(w + 3 * columns, 0, columns * sizeof *w);
            for (int i = 0; i < columns; i++)
                w[8 * columns + i] = bf16_round(1e-6f * bf16_widen(w[8 * columns + i]));
            for (int i = 0; i < 3 * columns; i += 4) /* half of a tile's lists, or more */
                if (which != Q_PROJ)
                    w[24 * columns + i] = bf16_round(which == O_PROJ ? 1e-12f : 0);
        }
        uint16_t *embed = (uint16_t *)file.embed.data;
        memset(embed + 5 * HIDDEN, 0, HIDDEN * sizeof *embed);
        for (int i = 0; i < HIDDEN; i += 3)
            embed[11 * HIDDEN + i] = 0x8000;
    });
    form_12_changes_nothing(own.dir);
    weights_arrive(own.dir, 12);

    /* What no window and no list can hold: the published form. A subnormal number, infinity, NaN; one that is
     * too far above the others of its row; a row of numbers from 2 on. */
    for (int bad = 0; bad < 5; bad++) {
        void *gpu;
        change_weights(own.dir, [&](const Safetensors &file) {
            static const uint16_t number[] = {0x0001, 0x7f80, 0x7fc0, 0x3f80};
            uint16_t *row = (uint16_t *)file.layer[0][K_PROJ].data + bad * HIDDEN;
            for (int i = 0; i < HIDDEN; i++)
                row[i] = bf16_round(bad == 3 ? 1e-30f : bad == 4 ? 2 + i % 7 : 0.02f);
            if (bad < 4)
                row[100] = number[bad];
            if (bad > 0) /* the row before is mended */
                memcpy(row - HIDDEN, row + 8 * HIDDEN, HIDDEN * sizeof *row);
        });
        must(model_engine.open(&gpu, own.dir, {16, 12, 0}));
        CHECK(((Model *)gpu)->form == 16);
        model_close(gpu);
        if (LAYERS <= 4) /* the CPU's time */
            weights_arrive(own.dir, 8);
    }
}

/* Rounded on the card and on the CPU by one rule. */
static void
form_8_is_that_of_the_cpu(void)
{
    const int n = 300;
    int *tokens = some_tokens(n + 1);
    void *gpu = open_engine(&model_engine, n + 1, 8), *cpu = open_engine(&cpu_engine, n + 1, 8),
         *plain = open_engine(&model_engine, n + 1);
    Logits *ours = empty_logits(), *theirs = empty_logits();

    for (int pos : {0, 20, n}) {
        must(model_engine.prefill(gpu, tokens, pos, 0));
        must(model_engine.prefill(plain, tokens, pos, 0));
        must(cpu_engine.prefill(cpu, tokens, pos, 0));
        all_logits(&model_engine, gpu, tokens[pos], pos, ours);
        all_logits(&cpu_engine, cpu, tokens[pos], pos, theirs);
        const double error = distance(ours, theirs);
        CHECK(error <= BOUND);
        CHECK(same_best(ours, theirs));
        all_logits(&model_engine, plain, tokens[pos], pos, theirs);
        printf("8 bits, position %d: distance to the CPU %.2e, to 16 bits %.2e\n", pos, error,
               distance(ours, theirs));
        CHECK(distance(ours, theirs) > error); /* it is another model */
    }
    model_close(gpu);
    model_close(plain);
    cpu_close(cpu);
    free(tokens);
    free(ours);
    free(theirs);
}

/* ---- measuring ---- */

static void
measurements_are_plausible(void *gpu)
{
    double rate = 0;

    must(model_engine.bandwidth(gpu, &rate));
    printf("read bandwidth: %.0f GB/s\n", rate * 1e-9);
    CHECK(rate > 20e9 && rate < 50e12);
    must(model_engine.profile(gpu, 5));
}

/* ---- the short run ---- */

/* Every kernel, on a few tokens. cuBLAS stores its results with the copy engine, which initcheck does not
 * see: what they are stored to is cleared first, so that all other memory is still checked. */
static void
a_few_tokens(int bits)
{
    const int n = 8, context = 24;
    int *tokens = some_tokens(context);
    void *gpu = open_engine(&model_engine, context, bits);
    Model *m = (Model *)gpu;
    Candidate *best = (Candidate *)malloc(VOCAB * sizeof *best);

    must(cudaMemset(m->qkv, 0, (size_t)m->chunk * QKV_DIM * sizeof *m->qkv));
    must(cudaMemset(m->gate_up, 0, (size_t)m->chunk * 2 * INTERMEDIATE * sizeof *m->gate_up));
    must(cudaMemset(m->workspace, 0, MODEL_WORKSPACE));
    must(cudaDeviceSynchronize());
    must(product_open(&m->cublas_handle, m->stream, m->workspace, MODEL_WORKSPACE));
    must(prefill_load(m->form));
    must(model_forward(m, tokens, 5, 0)); /* prefill would leave so few to decode */
    must(model_engine.prefill(gpu, tokens + 5, n - 5, 5));
    must(model_engine.decode(gpu, &tokens[n], 1, n, 1, best));
    must(model_engine.decode(gpu, &best[0].id, 1, n + 1, DEFAULT_TOP_K, best));
    must(model_engine.decode(gpu, tokens, 3, n + 2, 2, best));
    must(model_engine.decode(gpu, &best[1].id, 1, n + 5, 0, best));
    CHECK(best[0].logit >= best[VOCAB - 1].logit);
    model_close(gpu);
    free(tokens);
    free(best);
}

int
main(int argc, char **argv)
{
    int brief = argc > 1 && strcmp(argv[1], "-s") == 0, given = argc > 1 + brief;
    const char *reason = model_probe();
    char path[4000];
    void *gpu;

    if (reason) {
        printf("skipped: %s\n", reason);
        return 77;
    }
    printf("%s, %s\n", gpu_card, MODEL_NAME);
    if (given)
        snprintf(directory, sizeof directory, "%s", argv[1 + brief]);
    else {
        snprintf(directory, sizeof directory, "%s/test_gpu.XXXXXX",
                 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
        if (!mkdtemp(directory))
            must(fail("cannot make %s", directory));
        must(random_model_write(directory, DTYPE_BF16, 1));
    }

    if (brief) {
        attention_equals_a_sum_in_double_precision(1);
        k_best_equal_a_full_sort_with_the_lower_id_first();
        for (int bits : {16, 12, 8})
            a_few_tokens(bits);
    } else {
        attention_equals_a_sum_in_double_precision(SHAPES);
        k_best_equal_a_full_sort_with_the_lower_id_first();
        logits_are_those_of_the_cpu();
        prefill_in_any_chunks_gives_the_same();
        a_prefix_can_be_kept();
        the_same_twice_gives_the_same_bits();
        the_context_can_be_filled_to_the_last_position();
        long_and_short_prompts_give_the_same();
        opening_cublas_in_the_background_changes_nothing();
        the_table_of_rope_is_that_of_double_precision();
        for (int bits : {16, 12, 8})
            a_row_is_as_if_it_were_alone(bits);
        fewer_blocks_give_the_same();
        files_of_every_dtype_arrive();
        form_12_changes_nothing(directory);
        form_12_holds_awkward_weights();
        form_8_is_that_of_the_cpu();
        decode_gives_the_first_k_of_all(directory, 1);
        decode_gives_the_lower_id_first_among_equals();
        gpu = open_engine(&model_engine, 64);
        measurements_are_plausible(gpu);
        model_close(gpu);
    }

    if (!given) {
        static const char *const names[] = {"model.safetensors", "config.json"};

        for (const char *name : names) {
            snprintf(path, sizeof path, "%s/%s", directory, name);
            unlink(path);
        }
        rmdir(directory);
    }
    return test_result();
}
