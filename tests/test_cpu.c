/* cpu.h, on a small model with random weights that is made on the spot.
 *
 * Hugging Face is the truth, and k and v that are rounded to bf16 keep exact logits from being compared with
 * it: where one of them lies between two bf16 numbers, the last bit of a sum decides which it becomes, and
 * every layer after that multiplies the difference. (Hugging Face in float32 and in float64 are 2e-4 apart
 * then.) So there are two steps: a forward pass in double precision, written here, equals Hugging Face's
 * float32 logits when it rounds nothing; and cpu.h equals that forward pass when this takes the k and v of
 * cpu.h's cache, each of which must be its own k or v, rounded. */
#ifndef QWEN600_TINY
#define QWEN600_TINY
#endif
#include <stddef.h>

static size_t worth = 1 << 24; /* fewer products stay on one thread, which is nearly all of this model */
#define CPU_WORTH worth
#include "../cpu.h"
#include "random_model.h"
#include "test.h"

#include "data/cpu_golden.h"

#include <sys/resource.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED /* malloc ends the program then, and needs far more address space than it may have */
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED
#endif

enum { SEED = 1, CONTEXT = 110, GROUP = HEADS / KV_HEADS };

static char dir[] = "/tmp/test_cpu.XXXXXX", wide_dir[] = "/tmp/test_cpu.XXXXXX";
static int tokens[CONTEXT];
static int length = 101; /* of the sequence: beyond a block of tokens, a tile of positions, a chunk of 64 */

/* ---- the forward pass in double precision ---- */

static double naive_k[LAYERS][CONTEXT][KV_DIM], naive_v[LAYERS][CONTEXT][KV_DIM];
static double worst_rounding; /* how far a cached number is from what it should be the rounding of, less half
                                 of the distance between neighbouring bf16 numbers; relative to the head */

static Safetensors weights;
static const Cpu *rounded; /* whose int8 weights stand for those of the file, or NULL */

static double
value(const Tensor *tensor, size_t i)
{
    const CpuTensor *other = rounded != NULL ? &rounded->embed : NULL;

    if (rounded != NULL && tensor != &weights.embed && tensor != &weights.norm)
        other = &rounded->layer[0][0] + (tensor - &weights.layer[0][0]);
    if (rounded != NULL && tensor != &weights.norm && other->scale != NULL)
        return (double)((const int8_t *)other->weights)[i] * bf16_widen(other->scale[i / 64]);
    return bf16_widen(((const uint16_t *)tensor->data)[i]);
}

static void
naive_matrix(double *out, const double *in, const Tensor *w, int rows, int columns)
{
    for (int r = 0; r < rows; r++) {
        double even = 0, odd = 0;

        for (int c = 0; c < columns; c += 2) {
            even += value(w, (size_t)r * columns + c) * in[c];
            odd += value(w, (size_t)r * columns + c + 1) * in[c + 1];
        }
        out[r] = even + odd;
    }
}

static void
naive_norm(double *out, const double *in, const Tensor *w, int n)
{
    double square = 0;

    for (int i = 0; i < n; i++)
        square += in[i] * in[i] / n;
    for (int i = 0; i < n; i++)
        out[i] = in[i] / sqrt(square + 1e-6) * value(w, i);
}

/* Dimensions i and i + 64 are the real and the imaginary part of a number that is turned. */
static void
naive_turn(double *head, int pos)
{
    for (int i = 0; i < HEAD_DIM / 2; i++) {
        double angle = pos / pow(1e6, i / (HEAD_DIM / 2.0)), real = head[i],
               imaginary = head[i + HEAD_DIM / 2];

        head[i] = cos(angle) * real - sin(angle) * imaginary;
        head[i + HEAD_DIM / 2] = sin(angle) * real + cos(angle) * imaginary;
    }
}

/* Replaces a head's k or v by what the cache holds, which has to be the same, rounded. */
static void
naive_cached(double *head, const uint16_t *cached)
{
    double rms = 0;

    for (int i = 0; i < HEAD_DIM; i++)
        rms += head[i] * head[i] / HEAD_DIM;
    for (int i = 0; i < HEAD_DIM; i++) {
        double rounded = bf16_widen(cached[i]), half_step = ldexp(1, ilogb(head[i]) - 8);
        double excess = (fabs(rounded - head[i]) - half_step) / sqrt(rms);

        if (!(excess <= worst_rounding))
            worst_rounding = excess;
        head[i] = rounded;
    }
}

/* Logits (vocab) of the token at pos, after naive_forward() for all positions before. With an engine, k and v
 * are taken from its cache. */
static void
naive_forward(const Safetensors *s, const Cpu *engine, int pos, double *logits)
{
    static double x[HIDDEN], h[HIDDEN], q[Q_DIM], attention[Q_DIM], gate[INTERMEDIATE], up[INTERMEDIATE];

    for (int i = 0; i < HIDDEN; i++)
        x[i] = value(&s->embed, (size_t)tokens[pos] * HIDDEN + i);
    for (int l = 0; l < LAYERS; l++) {
        const Tensor *w = s->layer[l];

        naive_norm(h, x, &w[INPUT_NORM], HIDDEN);
        naive_matrix(q, h, &w[Q_PROJ], Q_DIM, HIDDEN);
        naive_matrix(naive_k[l][pos], h, &w[K_PROJ], KV_DIM, HIDDEN);
        naive_matrix(naive_v[l][pos], h, &w[V_PROJ], KV_DIM, HIDDEN);
        for (int head = 0; head < KV_HEADS; head++) {
            double *k = naive_k[l][pos] + head * HEAD_DIM, *v = naive_v[l][pos] + head * HEAD_DIM;

            naive_norm(k, k, &w[K_NORM], HEAD_DIM);
            naive_turn(k, pos);
            if (engine != NULL) {
                size_t at = (((size_t)l * KV_HEADS + head) * engine->context + pos) * HEAD_DIM;

                naive_cached(k, engine->k_cache + at);
                naive_cached(v, engine->v_cache + at);
            }
        }
        for (int head = 0; head < HEADS; head++) {
            double *mine = q + head * HEAD_DIM, *out = attention + head * HEAD_DIM, p[CONTEXT], sum = 0;
            int theirs = head / GROUP * HEAD_DIM;

            naive_norm(mine, mine, &w[Q_NORM], HEAD_DIM);
            naive_turn(mine, pos);
            for (int t = 0; t <= pos; t++) {
                p[t] = 0;
                for (int i = 0; i < HEAD_DIM; i++)
                    p[t] += mine[i] * naive_k[l][t][theirs + i] / sqrt(HEAD_DIM);
                sum += p[t] = exp(p[t]);
            }
            for (int i = 0; i < HEAD_DIM; i++) {
                out[i] = 0;
                for (int t = 0; t <= pos; t++)
                    out[i] += p[t] / sum * naive_v[l][t][theirs + i];
            }
        }
        naive_matrix(h, attention, &w[O_PROJ], HIDDEN, Q_DIM);
        for (int i = 0; i < HIDDEN; i++)
            x[i] += h[i];

        naive_norm(h, x, &w[POST_NORM], HIDDEN);
        naive_matrix(gate, h, &w[GATE_PROJ], INTERMEDIATE, HIDDEN);
        naive_matrix(up, h, &w[UP_PROJ], INTERMEDIATE, HIDDEN);
        for (int i = 0; i < INTERMEDIATE; i++)
            gate[i] *= up[i] / (1 + exp(-gate[i]));
        naive_matrix(h, gate, &w[DOWN_PROJ], HIDDEN, INTERMEDIATE);
        for (int i = 0; i < HIDDEN; i++)
            x[i] += h[i];
    }
    if (logits != NULL) {
        naive_norm(h, x, &s->norm, HIDDEN);
        naive_matrix(logits, h, &s->embed, VOCAB, HIDDEN);
    }
}

/* ---- what the tests share ---- */

static Cpu *
open_engine_of(const char *where, int context, int bits)
{
    void *engine = NULL;
    const char *error = cpu_engine.open(&engine, where, (EngineOptions){context, bits, 0});

    if (error != NULL) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    return (Cpu *)engine;
}

static Cpu *
open_engine(const char *where, int context)
{
    return open_engine_of(where, context, 16);
}

/* Decodes tokens[pos] and puts the logits in the order of the ids. */
static void
decode(Cpu *m, int pos, float *logits)
{
    static Candidate all[VOCAB];

    CHECK(cpu_engine.decode(m, &tokens[pos], 1, pos, 0, all) == NULL);
    for (int i = 0; i < VOCAB; i++)
        logits[all[i].id] = all[i].logit;
}

static double
distance(const float *x, const double *y, int n)
{
    double difference = 0, norm = 0;

    for (int i = 0; i < n; i++) {
        difference += (x[i] - y[i]) * (x[i] - y[i]);
        norm += y[i] * y[i];
    }
    return sqrt(difference / norm);
}

/* ---- the tests ---- */

static void
the_double_precision_forward_equals_hugging_face_in_float32(const Safetensors *s)
{
    static double logits[VOCAB];
    int g = 0;

    for (int pos = 0; g < GOLDEN_POSITIONS && pos < length; pos++) {
        double some[GOLDEN_IDS], norm = 0;

        naive_forward(s, NULL, pos, pos == golden[g].pos ? logits : NULL);
        if (pos != golden[g].pos)
            continue;
        for (int i = 0; i < GOLDEN_IDS; i++)
            some[i] = logits[i * (VOCAB / GOLDEN_IDS)];
        for (int i = 0; i < VOCAB; i++)
            norm += logits[i] * logits[i];
        printf("position %d: double precision to Hugging Face %.1e\n", pos,
               distance(golden[g].logit, some, GOLDEN_IDS));
        CHECK(distance(golden[g].logit, some, GOLDEN_IDS) < 2e-6);
        CHECK(fabs(sqrt(norm) / golden[g].norm - 1) < 2e-6);
        g++;
    }
}

/* With each build of the inner loops. */
static void
the_engine_equals_the_double_precision_forward_at_every_position(const Safetensors *s, Cpu *m)
{
    static float logits[VOCAB];
    static double exact[VOCAB];
    double worst = 0;

    worst_rounding = 0;
    for (int pos = 0; pos < length; pos++) {
        double d;

        decode(m, pos, logits);
        naive_forward(s, m, pos, exact);
        d = distance(logits, exact, VOCAB);
        if (!(d <= worst))
            worst = d;
    }
    printf("vector units %s, %d bits: worst distance %.1e, worst rounding of the cache %.1e\n",
           m->units->name, m->bits, worst, worst_rounding);
    CHECK(worst < 1e-5);
    CHECK(worst_rounding < 1e-5);
}

/* A wrong angle, norm or head moves the logits by far more than rounding k and v does. */
static void
the_engine_is_near_hugging_face(Cpu *m)
{
    static float logits[VOCAB];

    for (int g = 0; g < GOLDEN_POSITIONS && golden[g].pos < length; g++) {
        double some[GOLDEN_IDS];
        int best = 0;

        cpu_engine.prefill(m, tokens, golden[g].pos, 0);
        decode(m, golden[g].pos, logits);
        for (int i = 0; i < GOLDEN_IDS; i++)
            some[i] = logits[i * (VOCAB / GOLDEN_IDS)];
        for (int i = 1; i < VOCAB; i++)
            if (logits[i] > logits[best])
                best = i;
        CHECK(distance(golden[g].logit, some, GOLDEN_IDS) < 5e-3);
        CHECK(best == golden[g].best);
    }
}

/* The bound is zero: logits are the same to the last bit however a prompt is cut up. The greedy tokens are
 * then the same too. */
static void
prefill_in_any_chunks_equals_single_steps(int bits)
{
    const int chunks[] = {1, 7, 20, 64, length - 1};
    static float steps[VOCAB], logits[VOCAB];
    Cpu *m = open_engine_of(dir, CONTEXT, bits);

    for (int kind = 0; dot_units(kind) != NULL; kind++) {
        m->units = dot_units(kind);
        for (int pos = 0; pos < length; pos++)
            decode(m, pos, steps);
        for (int c = 0; c < 5; c++) {
            Cpu *other = open_engine_of(dir, CONTEXT, bits);

            other->units = m->units;
            for (int at = 0; at < length - 1; at += chunks[c]) {
                int left = length - 1 - at, n = left < chunks[c] ? left : chunks[c];

                CHECK(cpu_engine.prefill(other, tokens + at, n, at) == NULL);
            }
            decode(other, length - 1, logits);
            CHECK(memcmp(logits, steps, sizeof steps) == 0);
            cpu_engine.close(other);
        }
    }
    cpu_engine.close(m);
}

static void
a_prefix_is_reused_and_what_follows_is_overwritten(Cpu *m)
{
    const int prefix = length * 2 / 5, end = length * 9 / 10;
    static float fresh[VOCAB], reused[VOCAB];
    Cpu *other = open_engine(dir, CONTEXT);

    CHECK(cpu_engine.prefill(m, tokens, length, 0) == NULL);
    for (int i = prefix; i < end; i++)
        tokens[i] = random_token(1000 + i);
    CHECK(cpu_engine.prefill(m, tokens + prefix, end - 1 - prefix, prefix) == NULL);
    decode(m, end - 1, reused);
    CHECK(cpu_engine.prefill(other, tokens, end - 1, 0) == NULL);
    decode(other, end - 1, fresh);
    CHECK(memcmp(fresh, reused, sizeof fresh) == 0);
    for (int i = prefix; i < end; i++)
        tokens[i] = random_token(i);
    cpu_engine.close(other);
}

static void
the_context_can_be_filled_to_its_last_position_and_no_further(Cpu *longer)
{
    const int all = length * 2 / 3;
    static float there[VOCAB], here[VOCAB];
    Cpu *m = open_engine(dir, all);
    Candidate best;

    CHECK(cpu_engine.prefill(m, tokens, all - 1, 0) == NULL);
    decode(m, all - 1, here);
    CHECK(cpu_engine.prefill(longer, tokens, all - 1, 0) == NULL);
    decode(longer, all - 1, there);
    CHECK(memcmp(here, there, sizeof here) == 0);

    CHECK(cpu_engine.decode(m, (int[]){0}, 1, all, 1, &best) != NULL);
    CHECK(cpu_engine.decode(m, (int[]){0}, 1, -1, 1, &best) != NULL);
    CHECK(cpu_engine.prefill(m, tokens, 2, all - 1) != NULL);
    CHECK(cpu_engine.prefill(m, tokens, all + 1, 0) != NULL);
    CHECK(cpu_engine.prefill(m, tokens, 0, all) == NULL); /* nothing, at the end */
    cpu_engine.close(m);
}

static void
a_token_outside_the_vocabulary_is_refused(Cpu *m)
{
    int wrong[2] = {0, VOCAB};
    Candidate best;

    CHECK(cpu_engine.decode(m, (int[]){-1}, 1, 0, 1, &best) != NULL);
    CHECK(cpu_engine.decode(m, (int[]){VOCAB}, 1, 0, 1, &best) != NULL);
    CHECK(cpu_engine.prefill(m, wrong, 2, 0) != NULL);
}

static void
logits_do_not_depend_on_the_number_of_threads(Cpu *m)
{
    static const int threads[] = {2, 3, 8};
    static float one[VOCAB], many[VOCAB];

    set_threads(1);
    worth = 1; /* every loop is spread over the threads */
    CHECK(cpu_engine.prefill(m, tokens, length - 1, 0) == NULL);
    decode(m, length - 1, one);
    for (int i = 0; i < 3; i++) {
        set_threads(threads[i]);
        CHECK(cpu_engine.prefill(m, tokens, length - 1, 0) == NULL);
        decode(m, length - 1, many);
        CHECK(memcmp(one, many, sizeof one) == 0);
    }
    worth = 1 << 24;
}

static void
candidates_come_best_first_and_k_0_means_all(Cpu *m)
{
    static Candidate all[VOCAB], best[DEFAULT_TOP_K];
    int ordered = 1;

    CHECK(cpu_engine.decode(m, &tokens[0], 1, 0, 0, all) == NULL);
    CHECK(cpu_engine.decode(m, &tokens[0], 1, 0, DEFAULT_TOP_K, best) == NULL);
    CHECK(memcmp(all, best, sizeof best) == 0);
    for (int i = 1; i < VOCAB; i++)
        ordered &= sampler_before(all[i - 1], all[i]);
    CHECK(ordered);
}

/* What stands in the cache before them is made up: it need not be the model's. */
static void
rows_of_one_pass_equal_passes_of_their_own(int bits)
{
    enum { DEEP = 4093 + MAX_ROWS };
    static const int depths[] = {63, 0, 1, 509, 1021, 4093, DEEP - 1};
    static Candidate together[MAX_ROWS * VOCAB], alone[VOCAB];
    static int row[MAX_ROWS];
    const int step = under_valgrind() ? 3 : 1;
    Cpu *m = open_engine_of(dir, DEEP, bits);

    for (size_t i = 0; i < (size_t)LAYERS * KV_HEADS * DEEP * HEAD_DIM; i++) {
        m->k_cache[i] = bf16_round((float)(random_bits(i) % 1000) / 500 - 1);
        m->v_cache[i] = bf16_round((float)(random_bits(i) / 1000 % 1000) / 500 - 1);
    }
    for (int kind = 0; dot_units(kind) != NULL; kind++) {
        m->units = dot_units(kind);
        for (size_t d = 0; d < sizeof depths / sizeof *depths && depths[d] < 5 * length * length; d += step)
            for (int n = 1; n <= MAX_ROWS && n <= DEEP - depths[d]; n += step) {
                int same = 1;

                for (int t = 0; t < n; t++)
                    row[t] = random_token(depths[d] + 100 * n + t);
                worth = n % 2 ? 1 : 1 << 24;
                CHECK(cpu_engine.decode(m, row, n, depths[d], VOCAB, together) == NULL);
                for (int t = 0; t < n; t++) {
                    CHECK(cpu_engine.decode(m, row + t, 1, depths[d] + t, VOCAB, alone) == NULL);
                    same &= memcmp(alone, together + (size_t)t * VOCAB, sizeof alone) == 0;
                }
                CHECK(same);
            }
    }
    worth = 1 << 24;
    CHECK(cpu_engine.decode(m, row, 2, DEEP - 1, VOCAB, together) != NULL);
    CHECK(cpu_engine.decode(m, row, MAX_ROWS + 1, 0, 1, together) != NULL);
    CHECK(cpu_engine.decode(m, row, 2, 0, 0, together) != NULL);
    CHECK(cpu_engine.decode(m, row, 1, 0, -1, together) != NULL);
    cpu_engine.close(m);
}

static void
weights_in_8_bits_compute_what_their_dequantized_values_do(void)
{
    const int all = length;
    Cpu *m = open_engine_of(dir, CONTEXT, 8);

    rounded = m;
    length = length < 40 ? length : 40;
    for (int kind = 0; dot_units(kind) != NULL; kind++) {
        m->units = dot_units(kind);
        the_engine_equals_the_double_precision_forward_at_every_position(&weights, m);
    }
    rounded = NULL;
    length = all;
    CHECK(cpu_engine.bytes(m, 0) < 0.54 * engine_bytes(16, 0));
    cpu_engine.close(m);
    m = open_engine_of(dir, CONTEXT, 12); /* the GPU's; here it is 16 */
    CHECK(m->bits == 16 && cpu_engine.bytes(m, 9) == engine_bytes(16, 9));
    cpu_engine.close(m);
}

static void
rounding_to_8_bits_is_to_the_nearest_and_cuts_nothing_off(void)
{
    enum { N = 50 * DOT_GROUP };
    static uint16_t w[N], scale[N / DOT_GROUP];
    static int8_t q[N];

    for (int i = 0; i < N; i++) /* of every size, half of a group, a group of zeros */
        w[i] = i / DOT_GROUP == 7
                   ? 0
                   : bf16_round(ldexpf((float)(random_bits(i) % 2001) - 1000, i / DOT_GROUP * 4 - 110));
    dot_quantize(q, scale, w, N);
    for (int i = 0; i < N; i++) {
        double step = bf16_widen(scale[i / DOT_GROUP]), error = fabs(q[i] * step - bf16_widen(w[i]));

        CHECK(error <= step * 0.500001 && q[i] >= -127);
    }
    for (int g = 0; g < N / DOT_GROUP; g++) {
        int greatest = 0;

        for (int i = g * DOT_GROUP; i < (g + 1) * DOT_GROUP; i++)
            greatest = abs(q[i]) > greatest ? abs(q[i]) : greatest;
        CHECK(g == 7 ? greatest == 0 : greatest >= 126);
    }
    w[3] = 0x7f80; /* infinity */
    w[DOT_GROUP] = 0xffc0;
    dot_quantize(q, scale, w, N);
    CHECK(isnan(bf16_widen(scale[0])) && isnan(bf16_widen(scale[1])) && !isnan(bf16_widen(scale[2])));
}

/* A file of a made-up system. */
static void
write_at(const char *root, const char *path, const char *text)
{
    char name[256];
    FILE *file;

    for (const char *slash = path; (slash = strchr(slash, '/')) != NULL; slash++) {
        snprintf(name, sizeof name, "%s/%.*s", root, (int)(slash - path), path);
        mkdir(name, 0777);
    }
    snprintf(name, sizeof name, "%s/%s", root, path);
    file = fopen(name, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* Far below the greatest a probability is 0, far from 0 a gate is open or shut, and NaN stays NaN. */
static void
exponentials_are_right_to_a_few_bits(void)
{
    enum { N = 4096 };
    static float gate[N], up[N], out[N];

    for (int i = 0; i < N; i++) {
        gate[i] = (float)(i - N / 2) / 20; /* to 102.4 on both sides */
        up[i] = 1;
    }
    for (int kind = 0; dot_units(kind) != NULL; kind++) {
        float p[16] = {3, -INFINITY, 2, -200}, greatest = 2.5f;
        double worst = 0;

        dot_units(kind)->swiglu(out, gate, up, N);
        for (int i = 0; i < N; i++) {
            double exact = gate[i] / (1 + exp(-(double)gate[i]));

            if (gate[i] < -87)
                CHECK(fabs(out[i]) < 1e-35);
            else if (exact != 0 && !(fabs(out[i] / exact - 1) <= worst))
                worst = fabs(out[i] / exact - 1);
        }
        printf("vector units %s: worst relative error of silu %.1e\n", dot_units(kind)->name, worst);
        CHECK(worst < 5e-7);
        for (int i = 4; i < 16; i++)
            p[i] = -INFINITY;
        CHECK(fabs(dot_units(kind)->softmax(p, 16, &greatest) - 1 - exp(-1)) < 5e-7 && greatest == 3);
        CHECK(p[0] == 1 && p[1] == 0 && fabs(p[2] - exp(-1)) < 2e-7 && p[3] == 0 && p[15] == 0);
        p[5] = NAN;
        CHECK(isnan(dot_units(kind)->softmax(p, 16, &greatest)));
    }
}

static void
the_quota_of_control_groups_is_seen(void)
{
    char root[] = "/tmp/test_cpu.XXXXXX", command[64];

    if (mkdtemp(root) == NULL)
        return;
    CHECK(cpu_quota(root) == 0);
    write_at(root, "proc/self/cgroup", "0::/outer/inner\n");
    CHECK(cpu_quota(root) == 0);
    write_at(root, "sys/fs/cgroup/cpu.max", "max 100000\n");
    CHECK(cpu_quota(root) == 0);
    write_at(root, "sys/fs/cgroup/outer/inner/cpu.max", "350000 100000\n");
    CHECK(cpu_quota(root) == 3.5);
    write_at(root, "sys/fs/cgroup/outer/cpu.max", "100000 50000\n"); /* the outer one counts, too */
    CHECK(cpu_quota(root) == 2);
    write_at(root, "proc/self/cgroup", "0::/../host/name\n"); /* which is not here */
    write_at(root, "sys/fs/cgroup/cpu.max", "50000 100000\n");
    CHECK(cpu_quota(root) == 0.5);
    write_at(root, "proc/self/cgroup", "3:cpuset:/\n2:cpu,cpuacct:/docker/x\n1:name=systemd:/\n");
    CHECK(cpu_quota(root) == 0);
    write_at(root, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    write_at(root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    CHECK(cpu_quota(root) == 0);
    write_at(root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");
    CHECK(cpu_quota(root) == 4);
    snprintf(command, sizeof command, "rm -r %s", root);
    CHECK(system(command) == 0);
}

static void
a_float32_file_is_converted(Cpu *m)
{
    static float narrow[VOCAB], wide[VOCAB];
    Cpu *other = open_engine(wide_dir, CONTEXT);

    CHECK(cpu_engine.prefill(m, tokens, 10, 0) == NULL);
    CHECK(cpu_engine.prefill(other, tokens, 10, 0) == NULL);
    decode(m, 10, narrow);
    decode(other, 10, wide);
    CHECK(memcmp(narrow, wide, sizeof narrow) == 0);
    cpu_engine.close(other);
}

static void
what_cannot_be_opened_is_one_line(void)
{
    void *engine = &engine;
    const char *error = cpu_engine.open(&engine, "/nowhere", (EngineOptions){CONTEXT, 16, 0});

    CHECK(error != NULL && strstr(error, "/nowhere") != NULL && strchr(error, '\n') == NULL);
    CHECK(engine == NULL);
    error = cpu_engine.open(&engine, dir, (EngineOptions){0, 16, 0});
    CHECK(error != NULL && strstr(error, "-c") != NULL);
    error = cpu_engine.open(&engine, dir, (EngineOptions){MAX_CONTEXT + 1, 16, 0});
    CHECK(error != NULL && strstr(error, "-c") != NULL);
    error = cpu_engine.open(&engine, dir, (EngineOptions){CONTEXT, 7, 0});
    CHECK(error != NULL && strstr(error, "-w") != NULL);
}

#ifndef SANITIZED
static void
too_little_memory_is_one_line_with_the_figure_and_the_flag(void)
{
    struct rlimit before, little;
    unsigned long long pages = 0;
    void *engine = &engine;
    const char *error = NULL, *flag = NULL;
    int fits;
    FILE *statm = fopen("/proc/self/statm", "r");

    if (statm == NULL || fscanf(statm, "%llu", &pages) != 1)
        return;
    fclose(statm);
    getrlimit(RLIMIT_AS, &before);
    little.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (20 << 20); /* the cache alone takes 32 MB */
    little.rlim_max = before.rlim_max;
    if (setrlimit(RLIMIT_AS, &little) != 0)
        return;
    error = cpu_engine.open(&engine, dir, (EngineOptions){MAX_CONTEXT, 16, 0});
    CHECK(error != NULL && strstr(error, "MB") != NULL && (flag = strstr(error, "-c ")) != NULL);
    CHECK(engine == NULL);
    fits = flag != NULL ? atoi(flag + 3) : 1;
    error = cpu_engine.open(&engine, dir, (EngineOptions){fits, 16, 0}); /* it does not promise too much, */
    CHECK(error == NULL);
    cpu_engine.close(engine);
    error = cpu_engine.open(&engine, dir, (EngineOptions){fits + fits / 8, 16, 0}); /* nor too little */
    CHECK(error != NULL);
    cpu_engine.close(engine);
    setrlimit(RLIMIT_AS, &before);
}
#endif

static void
remove_model(const char *where)
{
    char path[64];

    snprintf(path, sizeof path, "%s/model.safetensors", where);
    remove(path);
    snprintf(path, sizeof path, "%s/config.json", where);
    remove(path);
    remove(where);
}

int
main(void)
{
    const char *error;
    Cpu *m;

    if (under_valgrind())
        length = 10;
    for (int i = 0; i < CONTEXT; i++)
        tokens[i] = random_token(i);
    if (mkdtemp(dir) == NULL || mkdtemp(wide_dir) == NULL) {
        perror("mkdtemp");
        return 1;
    }
    if ((error = random_model_write(dir, DTYPE_BF16, SEED)) != NULL ||
        (error = random_model_write(wide_dir, DTYPE_F32, SEED)) != NULL) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    {
        char path[64];

        snprintf(path, sizeof path, "%s/model.safetensors", dir);
        CHECK(safetensors_open(&weights, path) == NULL);
    }
    m = open_engine(dir, CONTEXT);

    the_double_precision_forward_equals_hugging_face_in_float32(&weights);
    for (int kind = 0; dot_units(kind) != NULL; kind++) {
        m->units = dot_units(kind);
        the_engine_equals_the_double_precision_forward_at_every_position(&weights, m);
    }
    m->units = dot_units(0);
    the_engine_is_near_hugging_face(m);
    prefill_in_any_chunks_equals_single_steps(16);
    prefill_in_any_chunks_equals_single_steps(8);
    a_prefix_is_reused_and_what_follows_is_overwritten(m);
    the_context_can_be_filled_to_its_last_position_and_no_further(m);
    a_token_outside_the_vocabulary_is_refused(m);
    logits_do_not_depend_on_the_number_of_threads(m);
    candidates_come_best_first_and_k_0_means_all(m);
    rows_of_one_pass_equal_passes_of_their_own(16);
    rows_of_one_pass_equal_passes_of_their_own(8);
    weights_in_8_bits_compute_what_their_dequantized_values_do();
    rounding_to_8_bits_is_to_the_nearest_and_cuts_nothing_off();
    exponentials_are_right_to_a_few_bits();
    the_quota_of_control_groups_is_seen();
    a_float32_file_is_converted(m);
    what_cannot_be_opened_is_one_line();
#ifndef SANITIZED
    if (!under_valgrind()) /* whose own memory the limit would count */
        too_little_memory_is_one_line_with_the_figure_and_the_flag();
#endif

    cpu_engine.close(m);
    safetensors_close(&weights);
    remove_model(dir);
    remove_model(wide_dir);
    return test_result();
}
