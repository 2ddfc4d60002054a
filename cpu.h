/* cpu.h: Qwen3 in plain C. Read this before the kernels: it is what they must compute.
 *
 * Weights and KV cache are bf16, everything else is fp32. A token's embedding is the start of its residual
 * stream x; every layer adds to it what attention and then the MLP make of it, and the logits are the inner
 * products of the normalised x with the rows of the embedding (cpu_forward, cpu_decode). Shapes stand in
 * config.h; a matrix (rows, columns) is row-major and maps columns to rows, as in PyTorch.
 *
 * A token that is decoded reads all weights once, so decoding is as fast as memory is; a prompt goes through
 * in blocks of CPU_BLOCK tokens, which share each read of a weight. OpenMP spreads rows, heads and tokens
 * over the cores, and without it all is the same but slower. Every number is computed by one thread in an
 * order that does not depend on the number of threads or on how a prompt was cut up: so neither do the
 * logits, to the last bit. */
#ifndef CPU_H
#define CPU_H

#include "safetensors.h" /* first: it chooses the system's features */

#include <assert.h>
#include <math.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#define CPU_OMP(directive) _Pragma(#directive)
#else
#define CPU_OMP(directive)
#endif

#include "engine.h"
#include "numbers.h"

/* Loops over fewer weights, or products of attention, stay on one thread: waking the others costs more than
 * they save. What is done to a number outside of these costs about as much as 32 of them. */
#ifndef CPU_WORTH
#define CPU_WORTH ((size_t)1 << 20)
#endif

enum {
    CPU_BLOCK = 32, /* tokens that share a read of the weights: their inputs fit the second cache */
    CPU_TILE = 64,  /* positions whose keys and values are read together: they fit the first */
    CPU_GROUP = HEADS / KV_HEADS, /* query heads that share a key/value head */
    CPU_HALF = HEAD_DIM / 2,
    CPU_LANES = 8,   /* floats in a vector */
    CPU_BAND = 32,   /* rows of a matrix that a thread takes at a time */
    CPU_AHEAD = 4096 /* weights or cached numbers that are asked for in advance */
};
static_assert(CPU_GROUP == 2, "cpu_dot and cpu_mix serve two query heads at once");
static_assert(HIDDEN % 32 == 0 && INTERMEDIATE % 32 == 0 && HEAD_DIM % 32 == 0 && VOCAB % 32 == 0,
              "whole bands of rows, whole vectors of columns");

typedef uint16_t cpu_bf16; /* the upper half of a float */

enum cpu_operation {
    CPU_EMBEDDING,
    CPU_NORMS,
    CPU_QKV,
    CPU_ROPE,
    CPU_ATTENTION,
    CPU_O,
    CPU_GATE_UP,
    CPU_DOWN,
    CPU_HEAD,
    CPU_BEST,
    CPU_OPERATIONS
};

typedef void (*CpuDot)(float *out, size_t stride, const float *x, int n, const cpu_bf16 *const w[4],
                       int columns);
typedef void (*CpuMix)(float *acc, const float *p, size_t stride, const cpu_bf16 *const v[4]);

typedef struct {
    Safetensors file;
    cpu_bf16 *converted; /* the tensors that the file holds as F16 or F32, one after the other */

    const cpu_bf16 *embed;                        /* (vocab, hidden) */
    const cpu_bf16 *norm;                         /* (hidden) */
    const cpu_bf16 *layer[LAYERS][LAYER_TENSORS]; /* shapes in safetensors_table */

    int context;                 /* positions */
    float *cosine, *sine;        /* (context, head_dim / 2) */
    cpu_bf16 *k_cache, *v_cache; /* (layers, kv_heads, context, head_dim) */

    float *x;         /* (CPU_BLOCK, hidden): the residual stream */
    float *h;         /* (CPU_BLOCK, hidden): x normalised, and what is to be added to x */
    float *q;         /* (CPU_BLOCK, heads, head_dim) */
    float *k, *v;     /* (CPU_BLOCK, kv_heads, head_dim) */
    float *attention; /* (CPU_BLOCK, heads, head_dim) */
    float *gate, *up; /* (CPU_BLOCK, intermediate) */
    float *split;     /* (CPU_BLOCK, the most columns of a matrix): a matrix's input, see cpu_split */
    float *logits;    /* (vocab) */

    CpuDot dot;
    CpuMix mix;
    const char *units; /* which of them: for -v 1 */

    double *seconds; /* (CPU_OPERATIONS) while cpu_profile measures, else NULL */
    double lap;      /* when the last operation ended */
} Cpu;

/* ---- the two inner loops ----
 *
 * They are written with the compiler's vector types, which become whatever the target has, and compiled twice
 * on x86: for every 64-bit machine, and for those with AVX2 and FMA; cpu_open takes what is there.
 *
 * A vector of eight 32-bit words holds sixteen weights. Shifted left by 16, each word is the float of an even
 * column, and with its lower half cleared that of an odd one. So the other operand is kept with its even
 * columns before its odd ones within every sixteen, and weights need no shuffling. */

typedef float CpuFloats __attribute__((vector_size(32)));
typedef uint32_t CpuWords __attribute__((vector_size(32)));
typedef float CpuFloatsAt __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint32_t CpuWordsAt __attribute__((vector_size(32), aligned(2), may_alias));

#define CPU_INLINE static inline __attribute__((always_inline))
#define CPU_LOAD(x) (*(const CpuFloatsAt *)(x))
#define CPU_STORE(x) (*(CpuFloatsAt *)(x))
#define CPU_WEIGHTS(w) (*(const CpuWordsAt *)(w))
#define CPU_EVEN(words) ((CpuFloats)((words) << 16))
#define CPU_ODD(words) ((CpuFloats)((words)&0xffff0000u))

/* Asks for what four rows of weights hold `ahead` columns further on, that is in rows after these: the
 * hardware's own reading ahead starts anew in every row, and short rows are over before it is under way.
 * (EPYC Milan, two cores: 25 instead of 22 GB/s.) Past the end of memory it does nothing. */
CPU_INLINE void
cpu_fetch(const cpu_bf16 *const w[4], int i, int ahead)
{
    for (int r = 0; r < 4; r++)
        __builtin_prefetch(w[r] + i + ahead);
}

CPU_INLINE float
cpu_sum(const CpuFloats *vector)
{
    CpuFloats v = *vector;

    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

/* out[t][r] = w[r] . x[t] for four rows r of `columns` weights and n = 1 or 2 vectors x[t], split. Row t of
 * out begins at t * stride. Four rows at once, so that enough additions are under way. */
CPU_INLINE void
cpu_dot(float *out, size_t stride, const float *x, int n, const cpu_bf16 *const w[4], int columns)
{
    const float *y = x + columns;
    const int ahead = 4 * columns > CPU_AHEAD ? 4 * columns : CPU_AHEAD;
    CpuFloats a0 = {0}, a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;

    if (n == 1) {
        for (int i = 0; i < columns; i += 2 * CPU_LANES) {
            CpuFloats even = CPU_LOAD(x + i), odd = CPU_LOAD(x + i + CPU_LANES);
            CpuWords w0 = CPU_WEIGHTS(w[0] + i), w1 = CPU_WEIGHTS(w[1] + i);
            CpuWords w2 = CPU_WEIGHTS(w[2] + i), w3 = CPU_WEIGHTS(w[3] + i);

            cpu_fetch(w, i, ahead);
            a0 += CPU_EVEN(w0) * even;
            a1 += CPU_EVEN(w1) * even;
            a2 += CPU_EVEN(w2) * even;
            a3 += CPU_EVEN(w3) * even;
            a0 += CPU_ODD(w0) * odd;
            a1 += CPU_ODD(w1) * odd;
            a2 += CPU_ODD(w2) * odd;
            a3 += CPU_ODD(w3) * odd;
        }
    } else {
        for (int i = 0; i < columns; i += 2 * CPU_LANES) {
            CpuFloats x_even = CPU_LOAD(x + i), x_odd = CPU_LOAD(x + i + CPU_LANES);
            CpuFloats y_even = CPU_LOAD(y + i), y_odd = CPU_LOAD(y + i + CPU_LANES);
            CpuWords words;

            cpu_fetch(w, i, ahead);
            words = CPU_WEIGHTS(w[0] + i);
            a0 += CPU_EVEN(words) * x_even;
            b0 += CPU_EVEN(words) * y_even;
            a0 += CPU_ODD(words) * x_odd;
            b0 += CPU_ODD(words) * y_odd;
            words = CPU_WEIGHTS(w[1] + i);
            a1 += CPU_EVEN(words) * x_even;
            b1 += CPU_EVEN(words) * y_even;
            a1 += CPU_ODD(words) * x_odd;
            b1 += CPU_ODD(words) * y_odd;
            words = CPU_WEIGHTS(w[2] + i);
            a2 += CPU_EVEN(words) * x_even;
            b2 += CPU_EVEN(words) * y_even;
            a2 += CPU_ODD(words) * x_odd;
            b2 += CPU_ODD(words) * y_odd;
            words = CPU_WEIGHTS(w[3] + i);
            a3 += CPU_EVEN(words) * x_even;
            b3 += CPU_EVEN(words) * y_even;
            a3 += CPU_ODD(words) * x_odd;
            b3 += CPU_ODD(words) * y_odd;
        }
        out[stride] = cpu_sum(&b0);
        out[stride + 1] = cpu_sum(&b1);
        out[stride + 2] = cpu_sum(&b2);
        out[stride + 3] = cpu_sum(&b3);
    }
    out[0] = cpu_sum(&a0);
    out[1] = cpu_sum(&a1);
    out[2] = cpu_sum(&a2);
    out[3] = cpu_sum(&a3);
}

/* acc[g] += sum over r of p[g][r] * v[r], for the two heads g of a group and four rows v[r] of the value
 * cache. acc is (CPU_GROUP, head_dim), split; row g of p begins at g * stride. */
CPU_INLINE void
cpu_mix(float *acc, const float *p, size_t stride, const cpu_bf16 *const v[4])
{
    const float *q = p + stride;

    for (int i = 0; i < HEAD_DIM; i += 2 * CPU_LANES) {
        float *a = acc + i, *b = acc + HEAD_DIM + i;
        CpuFloats a_even = CPU_LOAD(a), a_odd = CPU_LOAD(a + CPU_LANES);
        CpuFloats b_even = CPU_LOAD(b), b_odd = CPU_LOAD(b + CPU_LANES);

        cpu_fetch(v, i, CPU_AHEAD);
        for (int r = 0; r < 4; r++) {
            CpuWords words = CPU_WEIGHTS(v[r] + i);

            a_even += CPU_EVEN(words) * p[r];
            a_odd += CPU_ODD(words) * p[r];
            b_even += CPU_EVEN(words) * q[r];
            b_odd += CPU_ODD(words) * q[r];
        }
        CPU_STORE(a) = a_even;
        CPU_STORE(a + CPU_LANES) = a_odd;
        CPU_STORE(b) = b_even;
        CPU_STORE(b + CPU_LANES) = b_odd;
    }
}

static inline void
cpu_dot_any(float *out, size_t stride, const float *x, int n, const cpu_bf16 *const w[4], int columns)
{
    cpu_dot(out, stride, x, n, w, columns);
}

static inline void
cpu_mix_any(float *acc, const float *p, size_t stride, const cpu_bf16 *const v[4])
{
    cpu_mix(acc, p, stride, v);
}

#ifdef __x86_64__
#ifdef __clang__
#define CPU_AVX2 __attribute__((target("avx2,fma")))
#else /* gcc -std=c11 would not make one instruction of a multiplication and an addition */
#define CPU_AVX2 __attribute__((target("avx2,fma"), optimize("fp-contract=fast")))
#endif

CPU_AVX2 static inline void
cpu_dot_avx2(float *out, size_t stride, const float *x, int n, const cpu_bf16 *const w[4], int columns)
{
    cpu_dot(out, stride, x, n, w, columns);
}

CPU_AVX2 static inline void
cpu_mix_avx2(float *acc, const float *p, size_t stride, const cpu_bf16 *const v[4])
{
    cpu_mix(acc, p, stride, v);
}
#endif

static inline void
cpu_choose_units(Cpu *m)
{
    m->dot = cpu_dot_any;
    m->mix = cpu_mix_any;
    m->units = "any";
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        m->dot = cpu_dot_avx2;
        m->mix = cpu_mix_avx2;
        m->units = "AVX2";
    }
#endif
}

/* Even columns before odd ones within every sixteen of n, and back. */
static inline void
cpu_split(float *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += 2 * CPU_LANES)
        for (size_t j = 0; j < CPU_LANES; j++) {
            out[i + j] = x[i + 2 * j];
            out[i + CPU_LANES + j] = x[i + 2 * j + 1];
        }
}

static inline void
cpu_join(float *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += 2 * CPU_LANES)
        for (size_t j = 0; j < CPU_LANES; j++) {
            out[i + 2 * j] = x[i + j];
            out[i + 2 * j + 1] = x[i + CPU_LANES + j];
        }
}

/* ---- the pieces of the model ---- */

/* out = x / sqrt(mean(x^2) + eps) * weight, all (n). out may be x. */
static inline void
cpu_rmsnorm(float *out, const float *x, const cpu_bf16 *weight, int n)
{
    float sum = 0, scale;

    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    scale = 1 / sqrtf(sum / (float)n + RMS_NORM_EPS);
    for (int i = 0; i < n; i++)
        out[i] = x[i] * scale * bf16_widen(weight[i]);
}

/* h = rmsnorm(x) for the n tokens of a block. */
static inline void
cpu_norm(Cpu *m, const cpu_bf16 *weight, int n)
{
    CPU_OMP(omp parallel for if ((size_t)32 * n * HIDDEN >= CPU_WORTH))
    for (int t = 0; t < n; t++)
        cpu_rmsnorm(m->h + t * HIDDEN, m->x + t * HIDDEN, weight, HIDDEN);
}

/* out (n, rows) = x (n, columns) times the transpose of w (rows, columns). */
static inline void
cpu_matmul(Cpu *m, float *out, const float *x, const cpu_bf16 *w, int rows, int columns, int n)
{
    CPU_OMP(omp parallel for if ((size_t)32 * n * HIDDEN >= CPU_WORTH))
    for (int t = 0; t < n; t++)
        cpu_split(m->split + (size_t)t * columns, x + (size_t)t * columns, columns);

    CPU_OMP(omp parallel for schedule(dynamic) if ((size_t)rows * columns >= CPU_WORTH))
    for (int band = 0; band < rows; band += CPU_BAND)
        for (int r = band; r < band + CPU_BAND; r += 4) {
            const cpu_bf16 *first = w + (size_t)r * columns;
            const cpu_bf16 *const four[4] = {first, first + columns, first + 2 * columns,
                                             first + 3 * columns};

            for (int t = 0; t < n; t += 2)
                m->dot(out + (size_t)t * rows + r, rows, m->split + (size_t)t * columns, n - t > 1 ? 2 : 1,
                       four, columns);
        }
}

/* x += h */
static inline void
cpu_add(Cpu *m, int n)
{
    for (int i = 0; i < n * HIDDEN; i++)
        m->x[i] += m->h[i];
}

/* Turns a head at position pos: dimension i with i + head_dim / 2, by the angle pos * theta^(-2i / head_dim)
 * (RoFormer, arXiv 2104.09864, with the pairing of GPT-NeoX). */
static inline void
cpu_rope(const Cpu *m, float *head, int pos)
{
    const float *cosine = m->cosine + (size_t)pos * CPU_HALF, *sine = m->sine + (size_t)pos * CPU_HALF;

    for (int i = 0; i < CPU_HALF; i++) {
        float a = head[i], b = head[i + CPU_HALF];

        head[i] = a * cosine[i] - b * sine[i];
        head[i + CPU_HALF] = b * cosine[i] + a * sine[i];
    }
}

/* Where the cache holds the first position of a head. */
static inline size_t
cpu_cache_at(const Cpu *m, int layer, int kv_head)
{
    return ((size_t)layer * KV_HEADS + kv_head) * m->context * HEAD_DIM;
}

/* Normalises and turns the heads of q and k, and puts k and v into the cache. */
static inline void
cpu_rope_and_store(Cpu *m, int layer, int n, int pos)
{
    const cpu_bf16 *q_norm = m->layer[layer][Q_NORM], *k_norm = m->layer[layer][K_NORM];

    CPU_OMP(omp parallel for if ((size_t)32 * n * HIDDEN >= CPU_WORTH))
    for (int t = 0; t < n; t++) {
        for (int head = 0; head < HEADS; head++) {
            float *q = m->q + (size_t)t * Q_DIM + head * HEAD_DIM;

            cpu_rmsnorm(q, q, q_norm, HEAD_DIM);
            cpu_rope(m, q, pos + t);
        }
        for (int head = 0; head < KV_HEADS; head++) {
            float *k = m->k + (size_t)t * KV_DIM + head * HEAD_DIM;
            const float *v = m->v + (size_t)t * KV_DIM + head * HEAD_DIM;
            size_t at = cpu_cache_at(m, layer, head) + (size_t)(pos + t) * HEAD_DIM;

            cpu_rmsnorm(k, k, k_norm, HEAD_DIM);
            cpu_rope(m, k, pos + t);
            for (int i = 0; i < HEAD_DIM; i++) {
                m->k_cache[at + i] = bf16_round(k[i]);
                m->v_cache[at + i] = bf16_round(v[i]);
            }
        }
    }
}

/* Four rows of a cache from position i on; beyond the last of n it is that one again, so that nothing is read
 * that was not written. */
static inline void
cpu_four_rows(const cpu_bf16 *rows[4], const cpu_bf16 *cache, int i, int n)
{
    for (int r = 0; r < 4; r++)
        rows[r] = cache + (size_t)(i + r < n ? i + r : n - 1) * HEAD_DIM;
}

/* out = softmax(q . k / sqrt(head_dim)) . v over n positions, for the query heads that share a key/value
 * head; q and out are (CPU_GROUP, head_dim), k and v (n, head_dim). The softmax is online (arXiv 1805.02867):
 * sum and acc are relative to the greatest score so far, so no more scores exist than those of a tile. */
static inline void
cpu_attend(const Cpu *m, float *out, const float *q, const cpu_bf16 *k, const cpu_bf16 *v, int n)
{
    float x[CPU_GROUP * HEAD_DIM], acc[CPU_GROUP * HEAD_DIM] = {0}, score[CPU_GROUP][CPU_TILE];
    float greatest[CPU_GROUP], sum[CPU_GROUP];
    const cpu_bf16 *rows[4];

    cpu_split(x, q, CPU_GROUP * HEAD_DIM);
    for (int g = 0; g < CPU_GROUP; g++) {
        greatest[g] = -INFINITY;
        sum[g] = 0;
    }
    for (int start = 0; start < n; start += CPU_TILE) {
        int count = n - start < CPU_TILE ? n - start : CPU_TILE;

        for (int i = 0; i < count; i += 4) {
            cpu_four_rows(rows, k, start + i, n);
            m->dot(&score[0][i], CPU_TILE, x, CPU_GROUP, rows, HEAD_DIM);
        }
        for (int g = 0; g < CPU_GROUP; g++) {
            float before = greatest[g], rescale;

            for (int i = 0; i < count; i++) {
                score[g][i] *= 1 / sqrtf(HEAD_DIM);
                if (score[g][i] > greatest[g])
                    greatest[g] = score[g][i];
            }
            rescale = expf(before - greatest[g]);
            sum[g] *= rescale;
            for (int i = 0; i < HEAD_DIM; i++)
                acc[g * HEAD_DIM + i] *= rescale;
            for (int i = 0; i < count; i++)
                sum[g] += score[g][i] = expf(score[g][i] - greatest[g]);
            for (int i = count; i % 4; i++)
                score[g][i] = 0;
        }
        for (int i = 0; i < count; i += 4) {
            cpu_four_rows(rows, v, start + i, n);
            m->mix(acc, &score[0][i], CPU_TILE, rows);
        }
    }
    cpu_join(out, acc, CPU_GROUP * HEAD_DIM);
    for (int i = 0; i < CPU_GROUP * HEAD_DIM; i++)
        out[i] /= sum[i / HEAD_DIM];
}

/* Each of the n tokens looks at the positions up to its own. */
static inline void
cpu_attention(Cpu *m, int layer, int n, int pos)
{
    CPU_OMP(omp parallel for schedule(dynamic) if ((size_t)(pos + n) * n * Q_DIM >= CPU_WORTH))
    for (int i = 0; i < KV_HEADS * n; i++) {
        int kv_head = i / n, t = i % n;
        size_t at = cpu_cache_at(m, layer, kv_head),
               offset = (size_t)t * Q_DIM + kv_head * CPU_GROUP * HEAD_DIM;

        cpu_attend(m, m->attention + offset, m->q + offset, m->k_cache + at, m->v_cache + at, pos + t + 1);
    }
}

/* gate = silu(gate) * up, where silu(x) = x / (1 + e^-x) */
static inline void
cpu_swiglu(Cpu *m, int n)
{
    CPU_OMP(omp parallel for if ((size_t)32 * n * HIDDEN >= CPU_WORTH))
    for (int i = 0; i < n * INTERMEDIATE; i++)
        m->gate[i] = m->gate[i] / (1 + expf(-m->gate[i])) * m->up[i];
}

/* ---- the model ---- */

/* Charges the time since the last call to an operation. */
static inline void
cpu_lap(Cpu *m, int operation)
{
    double now;

    if (m->seconds == NULL)
        return;
    now = seconds_now();
    m->seconds[operation] += now - m->lap;
    m->lap = now;
}

/* Runs n <= CPU_BLOCK tokens at positions pos.. through all layers: fills their cache, and x if `finish`. */
static inline void
cpu_forward(Cpu *m, const int *tokens, int n, int pos, int finish)
{
    for (int t = 0; t < n; t++)
        for (int i = 0; i < HIDDEN; i++)
            m->x[t * HIDDEN + i] = bf16_widen(m->embed[(size_t)tokens[t] * HIDDEN + i]);
    cpu_lap(m, CPU_EMBEDDING);

    for (int layer = 0; layer < LAYERS; layer++) {
        const cpu_bf16 *const *w = m->layer[layer];

        cpu_norm(m, w[INPUT_NORM], n);
        cpu_lap(m, CPU_NORMS);
        cpu_matmul(m, m->q, m->h, w[Q_PROJ], Q_DIM, HIDDEN, n);
        cpu_matmul(m, m->k, m->h, w[K_PROJ], KV_DIM, HIDDEN, n);
        cpu_matmul(m, m->v, m->h, w[V_PROJ], KV_DIM, HIDDEN, n);
        cpu_lap(m, CPU_QKV);
        cpu_rope_and_store(m, layer, n, pos);
        cpu_lap(m, CPU_ROPE);
        if (layer == LAYERS - 1 && !finish)
            return;
        cpu_attention(m, layer, n, pos);
        cpu_lap(m, CPU_ATTENTION);
        cpu_matmul(m, m->h, m->attention, w[O_PROJ], HIDDEN, Q_DIM, n);
        cpu_add(m, n);
        cpu_lap(m, CPU_O);

        cpu_norm(m, w[POST_NORM], n);
        cpu_lap(m, CPU_NORMS);
        cpu_matmul(m, m->gate, m->h, w[GATE_PROJ], INTERMEDIATE, HIDDEN, n);
        cpu_matmul(m, m->up, m->h, w[UP_PROJ], INTERMEDIATE, HIDDEN, n);
        cpu_swiglu(m, n);
        cpu_lap(m, CPU_GATE_UP);
        cpu_matmul(m, m->h, m->gate, w[DOWN_PROJ], HIDDEN, INTERMEDIATE, n);
        cpu_add(m, n);
        cpu_lap(m, CPU_DOWN);
    }
}

/* ---- the k best ---- */

static inline int
cpu_before(Candidate a, Candidate b)
{
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

/* In the heap c (n), every candidate stands before its parent. Lets c[i] sink to where it belongs. */
static inline void
cpu_sink(Candidate *c, int n, int i)
{
    Candidate sinking = c[i];

    for (int child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && cpu_before(c[child], c[child + 1]))
            child++;
        if (!cpu_before(sinking, c[child]))
            break;
        c[i] = c[child];
    }
    c[i] = sinking;
}

/* c = the k best of the logits (vocab), best first, by a heap with the worst of them on top. */
static inline void
cpu_best(const float *logits, int k, Candidate *c)
{
    for (int id = 0; id < VOCAB; id++) {
        Candidate candidate = {id, logits[id]};

        if (id < k) {
            c[id] = candidate;
            if (id == k - 1)
                for (int i = k / 2; i-- > 0;)
                    cpu_sink(c, k, i);
        } else if (cpu_before(candidate, c[0])) {
            c[0] = candidate;
            cpu_sink(c, k, 0);
        }
    }
    for (int n = k - 1; n > 0; n--) {
        Candidate worst = c[0];

        c[0] = c[n];
        c[n] = worst;
        cpu_sink(c, n, 0);
    }
}

/* ---- the engine: engine.h says what each function does ---- */

static inline const char *
cpu_probe(void)
{
    return NULL;
}

static inline void
cpu_close(void *engine)
{
    Cpu *m = (Cpu *)engine;

    if (m == NULL)
        return;
    free(m->converted);
    free(m->cosine);
    free(m->k_cache);
    free(m->v_cache);
    free(m->x);
    safetensors_close(&m->file);
    free(m);
}

/* n * size bytes, aligned to a cache line and rounded up to whole ones. NULL if there is not enough. */
static inline void *
cpu_allocate(size_t n, size_t size)
{
    return aligned_alloc(64, (n * size + 63) / 64 * 64);
}

/* Tensor i of all, and where its pointer belongs. */
static inline const Tensor *
cpu_tensor(Cpu *m, int i, const cpu_bf16 ***place)
{
    int layer = i / LAYER_TENSORS, which = i % LAYER_TENSORS;

    if (layer < LAYERS) {
        *place = &m->layer[layer][which];
        return &m->file.layer[layer][which];
    }
    *place = which == 0 ? &m->embed : &m->norm;
    return which == 0 ? &m->file.embed : &m->file.norm;
}

/* Points at every tensor; those that are not bf16 are converted. Reads all of the file, so that the first
 * reply need not wait for the disk. */
static inline const char *
cpu_load(Cpu *m)
{
    enum { TENSORS = LAYERS * LAYER_TENSORS + 2, PAGE = 4096 };
    int progress = isatty(STDERR_FILENO);
    size_t count = 0, all = 0, done = 0, percent = 101;
    const cpu_bf16 **place;
    volatile char touched;

    for (int i = 0; i < TENSORS; i++) {
        const Tensor *tensor = cpu_tensor(m, i, &place);

        all += tensor->count;
        if (tensor->dtype != DTYPE_BF16)
            count += tensor->count;
    }
    if (count > 0 && (m->converted = (cpu_bf16 *)cpu_allocate(count, sizeof(cpu_bf16))) == NULL)
        return fail("not enough memory to convert the weights to bf16: %zu MB",
                    count * sizeof(cpu_bf16) >> 20);
    count = 0;
    for (int i = 0; i < TENSORS; i++) {
        const Tensor *tensor = cpu_tensor(m, i, &place);

        if (progress && percent != done * 100 / all)
            fprintf(stderr, "\rreading weights: %zu %%", percent = done * 100 / all);
        if (tensor->dtype == DTYPE_BF16) {
            *place = (const cpu_bf16 *)tensor->data;
            for (size_t byte = 0; byte < tensor->count * sizeof(cpu_bf16); byte += PAGE)
                touched = ((const char *)tensor->data)[byte];
        } else {
            *place = m->converted + count;
            safetensors_bf16(tensor, 0, tensor->count, m->converted + count);
            count += tensor->count;
        }
        done += tensor->count;
    }
    (void)touched;
    if (progress)
        fprintf(stderr, "\r%40s\r", "");
    return NULL;
}

/* Tables, KV cache and activations. */
static inline const char *
cpu_prepare(Cpu *m, int verbose)
{
    enum { WIDEST = (int)Q_DIM > (int)INTERMEDIATE ? (int)Q_DIM : (int)INTERMEDIATE };
    size_t cache = (size_t)LAYERS * KV_HEADS * m->context * HEAD_DIM, angles = (size_t)m->context * CPU_HALF;
    size_t token = 2 * HIDDEN + 2 * Q_DIM + 2 * KV_DIM + 2 * INTERMEDIATE + WIDEST;
    size_t floats = CPU_BLOCK * token + VOCAB;

    m->k_cache = (cpu_bf16 *)cpu_allocate(cache, sizeof(cpu_bf16));
    m->v_cache = (cpu_bf16 *)cpu_allocate(cache, sizeof(cpu_bf16));
    m->cosine = (float *)cpu_allocate(2 * angles, sizeof(float));
    m->x = (float *)cpu_allocate(floats, sizeof(float));
    if (m->k_cache == NULL || m->v_cache == NULL || m->cosine == NULL || m->x == NULL)
        return fail("not enough memory: a context of %d positions needs %zu MB beside the weights; a smaller "
                    "-c needs less",
                    m->context, (2 * cache * sizeof(cpu_bf16) + (2 * angles + floats) * sizeof(float)) >> 20);

    m->h = m->x + CPU_BLOCK * HIDDEN;
    m->q = m->h + CPU_BLOCK * HIDDEN;
    m->attention = m->q + CPU_BLOCK * Q_DIM;
    m->k = m->attention + CPU_BLOCK * Q_DIM;
    m->v = m->k + CPU_BLOCK * KV_DIM;
    m->gate = m->v + CPU_BLOCK * KV_DIM;
    m->up = m->gate + CPU_BLOCK * INTERMEDIATE;
    m->split = m->up + CPU_BLOCK * INTERMEDIATE;
    m->logits = m->split + CPU_BLOCK * WIDEST;

    m->sine = m->cosine + angles;
    CPU_OMP(omp parallel for)
    for (int pos = 0; pos < m->context; pos++)
        for (int i = 0; i < CPU_HALF; i++) {
            double angle = pos * pow(ROPE_THETA, -2.0 * i / HEAD_DIM);

            m->cosine[(size_t)pos * CPU_HALF + i] = (float)cos(angle);
            m->sine[(size_t)pos * CPU_HALF + i] = (float)sin(angle);
        }

    if (verbose) {
        int threads = 1;

#ifdef _OPENMP
        threads = omp_get_max_threads();
#endif
        fprintf(stderr,
                "cpu: weights %zu MB, KV cache %zu MB (%d positions), tables %zu MB, activations %zu MB, "
                "%d threads, vector units: %s\n",
                m->file.size >> 20, 2 * cache * sizeof(cpu_bf16) >> 20, m->context,
                2 * angles * sizeof(float) >> 20, floats * sizeof(float) >> 20, threads, m->units);
    }
    return NULL;
}

static inline const char *
cpu_open(void **engine, const char *model_dir, EngineOptions options)
{
    Cpu *m = (Cpu *)calloc(1, sizeof *m);
    char path[4000]; /* what safetensors_open appends fits a system path then */
    const char *error;

    *engine = NULL;
    if (m == NULL)
        return fail("not enough memory: %zu bytes", sizeof *m);
    m->context = options.context;
    cpu_choose_units(m);
    if (m->context < 1 || m->context > MAX_CONTEXT)
        error = fail("a context of %d positions: -c takes 1 to %d", m->context, MAX_CONTEXT);
    else if (snprintf(path, sizeof path, "%s/model.safetensors", model_dir) >= (int)sizeof path)
        error = fail("the path of the model is longer than %zu bytes", sizeof path);
    else
        error = safetensors_open(&m->file, path);
    if (error == NULL)
        error = cpu_prepare(m, options.verbose);
    if (error == NULL)
        error = cpu_load(m);
    if (error != NULL)
        cpu_close(m);
    else
        *engine = m;
    return error;
}

static inline const char *
cpu_prefill(void *engine, const int *tokens, int n, int pos)
{
    Cpu *m = (Cpu *)engine;
    const char *error = engine_check(tokens, n, pos, m->context);

    if (error != NULL)
        return error;
    for (int t = 0; t < n; t += CPU_BLOCK)
        cpu_forward(m, tokens + t, n - t < CPU_BLOCK ? n - t : CPU_BLOCK, pos + t, 0);
    return NULL;
}

static inline const char *
cpu_decode(void *engine, const int *tokens, int n, int pos, int k, Candidate *candidates)
{
    Cpu *m = (Cpu *)engine;
    const char *error = engine_check_rows(tokens, n, pos, k, m->context);

    if (error != NULL)
        return error;
    for (int t = 0; t < n; t++) {
        cpu_forward(m, tokens + t, 1, pos + t, 1);
        cpu_norm(m, m->norm, 1);
        cpu_lap(m, CPU_NORMS);
        cpu_matmul(m, m->logits, m->h, m->embed, VOCAB, HIDDEN, 1);
        cpu_lap(m, CPU_HEAD);
        cpu_best(m->logits, k ? k : VOCAB, candidates + (size_t)t * k);
        cpu_lap(m, CPU_BEST);
    }
    return NULL;
}

static inline const char *
cpu_device(void *engine)
{
    const Cpu *m = (const Cpu *)engine;
    static char line[80];
    int threads = 1;

#ifdef _OPENMP
    threads = omp_get_max_threads();
#endif
    snprintf(line, sizeof line, "CPU, %d thread%s, vector units: %s", threads, threads > 1 ? "s" : "",
             m->units);
    return line;
}

static inline double
cpu_bytes(void *engine, int depth)
{
    (void)engine;
    return engine_bytes(16, depth);
}

/* Reads 512 MB, far more than a cache holds, with all threads; the best of five times. */
static inline const char *
cpu_bandwidth(void *engine, double *bytes_per_second)
{
    const int pieces = 1024, words = 64 << 10; /* of 8 bytes, in a piece */
    size_t bytes = (size_t)pieces * words * sizeof(uint64_t);
    uint64_t *buffer = (uint64_t *)cpu_allocate(bytes, 1), sum = 0;
    volatile uint64_t kept; /* so that the compiler cannot leave the loop out */

    (void)engine;
    *bytes_per_second = 0;
    if (buffer == NULL)
        return fail("not enough memory to measure its speed: %zu MB", bytes >> 20);
    for (int pass = 0; pass < 6; pass++) {
        double start = seconds_now(), rate;

        CPU_OMP(omp parallel for schedule(dynamic) reduction(+ : sum))
        for (int piece = 0; piece < pieces; piece++) {
            uint64_t *at = buffer + (size_t)piece * words;

            if (pass == 0)
                memset(at, piece, words * sizeof *at);
            for (int i = 0; i < words; i++)
                sum += at[i];
        }
        rate = (double)bytes / (seconds_now() - start);
        if (pass > 0 && rate > *bytes_per_second)
            *bytes_per_second = rate;
    }
    kept = sum;
    (void)kept;
    free(buffer);
    return NULL;
}

/* Overwrites the cache at pos. */
static inline const char *
cpu_profile(void *engine, int pos)
{
    static const char *const names[CPU_OPERATIONS] = {"embedding", "norms", "q, k, v",  "rope, store",
                                                      "attention", "o",     "gate, up", "down",
                                                      "head",      "k best"};
    const size_t hidden = HIDDEN * sizeof(cpu_bf16);
    const size_t bytes[CPU_OPERATIONS] = {0,
                                          0,
                                          LAYERS * QKV_DIM * hidden,
                                          0,
                                          LAYERS * 2 * KV_DIM * sizeof(cpu_bf16) * ((size_t)pos + 1),
                                          LAYERS * Q_DIM * hidden,
                                          LAYERS * 2 * INTERMEDIATE * hidden,
                                          LAYERS * INTERMEDIATE * hidden,
                                          VOCAB * hidden,
                                          0};
    Cpu *m = (Cpu *)engine;
    double seconds[CPU_OPERATIONS] = {0}, one[CPU_OPERATIONS], total = 0;
    Candidate best[DEFAULT_TOP_K];
    enum { TOKENS = 10, PAGE = 4096 / sizeof(cpu_bf16) };
    int token = 0;
    const char *error = engine_check(&token, 1, pos, m->context);

    if (error != NULL)
        return error;
    /* Memory that was never written is one page of zeros, in the first cache: write what stands there. */
    for (size_t head = 0; head < LAYERS * KV_HEADS; head++)
        for (size_t i = 0; i < (size_t)pos * HEAD_DIM; i += PAGE) {
            volatile cpu_bf16 *k = m->k_cache + head * m->context * HEAD_DIM + i;
            volatile cpu_bf16 *v = m->v_cache + head * m->context * HEAD_DIM + i;

            *k = *k;
            *v = *v;
        }
    for (int i = 0; i < TOKENS; i++) { /* the fastest of them counts */
        double sum = 0;

        memset(one, 0, sizeof one);
        m->seconds = one;
        m->lap = seconds_now();
        cpu_decode(m, &token, 1, pos, DEFAULT_TOP_K, best);
        for (int j = 0; j < CPU_OPERATIONS; j++)
            sum += one[j];
        if (i == 0 || sum < total) {
            total = sum;
            memcpy(seconds, one, sizeof seconds);
        }
    }
    m->seconds = NULL;

    printf("%-12s %9s %9s %7s %7s\n", "operation", "ms/token", "ms/layer", "share", "GB/s");
    for (int i = 0; i < CPU_OPERATIONS; i++) {
        int in_layer = i != CPU_EMBEDDING && i != CPU_HEAD && i != CPU_BEST;

        printf("%-12s %9.3f ", names[i], 1e3 * seconds[i]);
        if (in_layer)
            printf("%9.4f ", 1e3 * seconds[i] / LAYERS);
        else
            printf("%9s ", "");
        printf("%6.1f%% ", 100 * seconds[i] / total);
        if (bytes[i])
            printf("%7.1f", 1e-9 * (double)bytes[i] / seconds[i]);
        printf("\n");
    }
    printf("%-12s %9.3f\n", "all", 1e3 * total);
    return NULL;
}

static const Engine cpu_engine = {"cpu",      CPU_BLOCK, cpu_probe, cpu_open,      cpu_device,  cpu_prefill,
                                  cpu_decode, cpu_close, cpu_bytes, cpu_bandwidth, cpu_profile, NULL};

#endif
