/* cpu.h: Qwen3 in plain C. Read this before the kernels: it is what they must compute.
 *
 * Weights and KV cache are bf16 (or, with -w 8, the weights int8 with scales), everything else is fp32. A
 * token's embedding is the start of its residual stream x; every layer adds to it what attention and then the
 * MLP make of it, and the logits are the inner products of the normalized x with the rows of the embedding. A
 * matrix (rows, columns) is row-major and maps columns to rows, as in PyTorch.
 *
 * A pass reads all weights once, for one token or for a block of them, so decoding is as fast as memory is.
 * OpenMP spreads rows, heads and positions over the cores, and without it all is the same but slower: all
 * threads go through a pass together, share the loop that each step is, and wait for each other at its end.
 * Every number is computed by one thread in an order that depends neither on the number of threads nor on the
 * tokens beside it in the pass: so neither do the logits, to the last bit. */
#ifndef CPU_H
#define CPU_H

#include "dot.h"
#include "engine.h"
#include "numbers.h"
#include "safetensors.h"

#include <assert.h>
#include <math.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum {
    CPU_BLOCK = 48, /* tokens of a pass, at most: they share a read of the weights; whole shares of 3, 4, 6 */
    CPU_SPAN = 256, /* positions that a thread takes at a time: their keys and values fit the second cache */
    CPU_TILE = 64,  /* of these, whose scores exist at the same time */
    CPU_BAND = 32768, /* weights of a matrix that a thread takes at a time, about: they fit that cache */
    CPU_AHEAD = 8192, /* weights or cached numbers that are asked for in advance, at least */
    CPU_WIDEST = (int)Q_DIM > (int)INTERMEDIATE ? (int)Q_DIM : (int)INTERMEDIATE /* columns of a matrix */
};
static_assert(HEADS / KV_HEADS == 2, "dot.h's mix serves two query heads at once");
static_assert(HIDDEN % 64 == 0 && Q_DIM % 64 == 0 && INTERMEDIATE % 64 == 0 && HEAD_DIM % 64 == 0,
              "whole vectors of columns, whole groups of a scale");
static_assert(HIDDEN % 128 == 0 && KV_DIM % 128 == 0 && INTERMEDIATE % 128 == 0 && VOCAB % 128 == 0,
              "whole bands of rows");

typedef struct {
    const void *weights;   /* as in safetensors_table: bf16, or int8 where there is a scale */
    const uint16_t *scale; /* (rows, columns / DOT_GROUP) bf16, or NULL */
} CpuTensor;

/* What a span of positions gives to the two query heads of a key/value head: softmax and sum are relative to
 * the greatest score. */
typedef struct {
    float acc[2 * HEAD_DIM]; /* (2, HEAD_DIM): sum of exp(score - greatest) * v, split in two */
    float sum[2], greatest[2];
} CpuPart;

/* A matrix of which a step computes the products, and where they go: (n, rows). */
typedef struct {
    float *out;
    CpuTensor w;
    int rows;
} CpuProduct;

typedef struct {
    Safetensors file;
    void *made;   /* the tensors that are not used as they stand in the file, one after the other */
    int bits;     /* of a weight: 16, 8 */
    size_t bytes; /* of all weights, as they are used */

    CpuTensor embed;                        /* (VOCAB, HIDDEN) */
    CpuTensor norm;                         /* (HIDDEN) */
    CpuTensor layer[LAYERS][LAYER_TENSORS]; /* shapes in safetensors_table */

    int context;                 /* positions */
    float *cosine, *sine;        /* (context, HEAD_DIM / 2) */
    uint16_t *k_cache, *v_cache; /* (LAYERS, KV_HEADS, context, HEAD_DIM) bf16 */

    float *x;         /* (CPU_BLOCK, HIDDEN): the residual stream */
    float *h;         /* (CPU_BLOCK, HIDDEN): what is to be added to x */
    float *q;         /* (CPU_BLOCK, HEADS, HEAD_DIM) */
    float *k, *v;     /* (CPU_BLOCK, KV_HEADS, HEAD_DIM) */
    float *gate, *up; /* (CPU_BLOCK, INTERMEDIATE) */
    float *split;     /* (CPU_BLOCK, CPU_WIDEST): a matrix's input, see DotUnits */
    float *logits;    /* (MAX_ROWS, VOCAB) */
    CpuPart *parts;   /* (CPU_BLOCK, KV_HEADS, spans of the context) */

    const DotUnits *units;
} Cpu;

/* ---- the model ---- */

/* out = x / sqrt(mean(x^2) + eps) * weight, all (n). out may be x. */
static inline void cpu_rmsnorm(float *out, const float *x, CpuTensor weight, int n);
/* x += h, then split = rmsnorm(x): for the n tokens of a pass. */
static inline void cpu_norm(Cpu *m, CpuTensor weight, int n);
/* out (n, rows) = split (n, columns) times the transpose of w (rows, columns), for each of the products. */
static inline void cpu_matmul(Cpu *m, const CpuProduct *products, int count, int columns, int n);
/* Normalizes and turns the heads of q and k, which begin at position pos, and puts k and v into the cache. */
static inline void cpu_norm_rope_store(Cpu *m, int layer, int n, int pos);
/* split = softmax(q . k / sqrt(HEAD_DIM)) . v: each of n tokens looks at the positions up to its own. */
static inline void cpu_attention(Cpu *m, int layer, int n, int pos);
/* split = silu(gate) * up, where silu(x) = x / (1 + e^-x). */
static inline void cpu_swiglu(Cpu *m, int n);
/* x (HIDDEN) = the embedding of a token. */
static inline void cpu_embed(const Cpu *m, float *x, int token);

/* What the threads do together in a pass of n <= CPU_BLOCK tokens at positions pos..: all layers, which fills
 * their cache; and if `finish` logits (n, VOCAB), the scores of every token as the next one. */
static inline void
cpu_layers(Cpu *m, int n, int pos, int finish)
{
    const CpuProduct head = {m->logits, m->embed, VOCAB};

    for (int layer = 0; layer < LAYERS; layer++) {
        const CpuTensor *w = m->layer[layer];
        const CpuProduct qkv[] = {
            {m->q, w[Q_PROJ], Q_DIM}, {m->k, w[K_PROJ], KV_DIM}, {m->v, w[V_PROJ], KV_DIM}};
        const CpuProduct o = {m->h, w[O_PROJ], HIDDEN}, down = {m->h, w[DOWN_PROJ], HIDDEN};
        const CpuProduct mlp[] = {{m->gate, w[GATE_PROJ], INTERMEDIATE}, {m->up, w[UP_PROJ], INTERMEDIATE}};

        cpu_norm(m, w[INPUT_NORM], n);
        cpu_matmul(m, qkv, 3, HIDDEN, n);
        cpu_norm_rope_store(m, layer, n, pos);
        if (layer == LAYERS - 1 && !finish)
            return;
        cpu_attention(m, layer, n, pos);
        cpu_matmul(m, &o, 1, Q_DIM, n);

        cpu_norm(m, w[POST_NORM], n);
        cpu_matmul(m, mlp, 2, HIDDEN, n);
        cpu_swiglu(m, n);
        cpu_matmul(m, &down, 1, INTERMEDIATE, n);
    }
    cpu_norm(m, m->norm, n);
    cpu_matmul(m, &head, 1, HIDDEN, n);
}

/* A pass of fewer multiplications than these is done by one thread: the others cost more than they save. */
#ifndef CPU_WORTH
#define CPU_WORTH ((size_t)1 << 24)
#endif
enum { CPU_PRODUCTS = LAYERS * HIDDEN * (QKV_DIM + Q_DIM + 3 * INTERMEDIATE) }; /* for a token, about */

static inline void
cpu_forward(Cpu *m, const int *tokens, int n, int pos, int finish)
{
    for (int t = 0; t < n; t++) {
        cpu_embed(m, m->x + (size_t)t * HIDDEN, tokens[t]);
        memset(m->h + (size_t)t * HIDDEN, 0, HIDDEN * sizeof *m->h); /* the first layer adds it */
    }
    OMP(omp parallel if ((size_t)n * CPU_PRODUCTS >= CPU_WORTH))
    cpu_layers(m, n, pos, finish);
}

/* ---- its pieces ---- */

static inline void
cpu_rmsnorm(float *out, const float *x, CpuTensor weight, int n)
{
    const uint16_t *w = (const uint16_t *)weight.weights;
    float part[16] = {0}, sum = 0, scale; /* sums that need not wait for each other */

    for (int i = 0; i < n; i += 16)
        for (int j = 0; j < 16; j++)
            part[j] += x[i + j] * x[i + j];
    for (int j = 0; j < 16; j++)
        sum += part[j];
    scale = 1 / sqrtf(sum / (float)n + RMS_NORM_EPS);
    for (int i = 0; i < n; i++)
        out[i] = x[i] * scale * bf16_widen(w[i]);
}

/* out (n) = x as a matrix's input: in as many places as a word has weights. */
static inline void
cpu_split(const Cpu *m, float *out, const float *x, size_t n)
{
    m->units->split(out, x, n, 32 / m->bits);
}

static inline void
cpu_norm(Cpu *m, CpuTensor weight, int n)
{
    OMP(omp for)
    for (int t = 0; t < n; t++) {
        float *x = m->x + t * HIDDEN, row[HIDDEN];
        for (int i = 0; i < HIDDEN; i++)
            x[i] += m->h[t * HIDDEN + i];
        cpu_rmsnorm(row, x, weight, HIDDEN);
        cpu_split(m, m->split + t * HIDDEN, row, HIDDEN);
    }
}

static inline void
cpu_embed(const Cpu *m, float *x, int token)
{
    size_t at = (size_t)token * HIDDEN;

    for (size_t i = at; i < at + HIDDEN; i++)
        x[i - at] = m->embed.scale ? (float)((const int8_t *)m->embed.weights)[i] *
                                         bf16_widen(m->embed.scale[i / DOT_GROUP])
                                   : bf16_widen(((const uint16_t *)m->embed.weights)[i]);
}

/* out (n, rows) of four rows of w from row r on; x is split. */
static inline void
cpu_four_rows(const Cpu *m, float *out, const float *x, CpuTensor w, int r, int rows, int columns, int n,
              int ahead)
{
    size_t first = (size_t)r * columns, next = columns;
    float wide[4 * CPU_WIDEST];

    if (w.scale) {
        const int8_t *q = (const int8_t *)w.weights + first;
        const uint16_t *scale = w.scale + first / DOT_GROUP;
        const int8_t *const four[4] = {q, q + next, q + 2 * next, q + 3 * next};
        const uint16_t *const scales[4] = {scale, scale + next / DOT_GROUP, scale + 2 * next / DOT_GROUP,
                                           scale + 3 * next / DOT_GROUP};
        m->units->dot8(out + r, rows, x, n, four, scales, columns, ahead, n > m->units->few8 ? wide : NULL);
    } else {
        const uint16_t *bf16 = (const uint16_t *)w.weights + first;
        const uint16_t *const four[4] = {bf16, bf16 + next, bf16 + 2 * next, bf16 + 3 * next};
        m->units->dot16(out + r, rows, x, n, four, columns, ahead);
    }
}

static inline void
cpu_matmul(Cpu *m, const CpuProduct *products, int count, int columns, int n)
{
    const int most = m->bits == 16 ? m->units->tokens : n > m->units->few8 ? n : m->units->tokens8;
    const int ahead = 4 * columns > CPU_AHEAD ? 4 * columns : CPU_AHEAD;
    int rows = 0, band = 128;

    for (int i = 0; i < count; i++)
        rows += products[i].rows;
    while (band > 4 && band * columns > CPU_BAND)
        band /= 2;
    OMP(omp for schedule(guided))
    for (int from = 0; from < rows; from += band) {
        const CpuProduct *p = products;
        int first = from;
        for (; first >= p->rows; p++)
            first -= p->rows;
        for (int t = 0, take; t < n; t += take) {
            take = dot_share(n - t, most);
            for (int r = first; r < first + band; r += 4)
                cpu_four_rows(m, p->out + (size_t)t * p->rows, m->split + (size_t)t * columns, p->w, r,
                              p->rows, columns, take, t == 0 ? ahead : 0);
        }
    }
}

/* Turns dimension i of a head with dimension i + HEAD_DIM / 2. */
static inline void
cpu_rope(const Cpu *m, float *head, int pos)
{
    const float *cosine = m->cosine + (size_t)pos * (HEAD_DIM / 2);
    const float *sine = m->sine + (size_t)pos * (HEAD_DIM / 2);

    for (int i = 0; i < HEAD_DIM / 2; i++) {
        float a = head[i], b = head[i + HEAD_DIM / 2];
        head[i] = a * cosine[i] - b * sine[i];
        head[i + HEAD_DIM / 2] = b * cosine[i] + a * sine[i];
    }
}

/* Where the cache holds the first position of a head. */
static inline size_t
cpu_cache_at(const Cpu *m, int layer, int kv_head)
{
    return ((size_t)layer * KV_HEADS + kv_head) * m->context * HEAD_DIM;
}

static inline void
cpu_norm_rope_store(Cpu *m, int layer, int n, int pos)
{
    CpuTensor q_norm = m->layer[layer][Q_NORM], k_norm = m->layer[layer][K_NORM];

    OMP(omp for)
    for (int i = 0; i < n * (HEADS + KV_HEADS); i++) {
        int t = i / (HEADS + KV_HEADS), head = i % (HEADS + KV_HEADS), kv_head = head - HEADS;
        if (head < HEADS) {
            float *q = m->q + (size_t)t * Q_DIM + head * HEAD_DIM;
            cpu_rmsnorm(q, q, q_norm, HEAD_DIM);
            cpu_rope(m, q, pos + t);
        } else {
            float *k = m->k + (size_t)t * KV_DIM + kv_head * HEAD_DIM;
            const float *v = m->v + (size_t)t * KV_DIM + kv_head * HEAD_DIM;
            size_t at = cpu_cache_at(m, layer, kv_head) + (size_t)(pos + t) * HEAD_DIM;
            cpu_rmsnorm(k, k, k_norm, HEAD_DIM);
            cpu_rope(m, k, pos + t);
            for (int j = 0; j < HEAD_DIM; j++) {
                m->k_cache[at + j] = bf16_round(k[j]);
                m->v_cache[at + j] = bf16_round(v[j]);
            }
        }
    }
}

/* Four rows of a cache from position i on; beyond the last of n it is that one again, so that nothing is read
 * that was not written. */
static inline void
cpu_four_positions(const uint16_t *rows[4], const uint16_t *cache, int i, int n)
{
    for (int r = 0; r < 4; r++)
        rows[r] = cache + (size_t)(i + r < n ? i + r : n - 1) * HEAD_DIM;
}

/* *part = what positions first..n-1 give to the query heads of a key/value head. q is (2, HEAD_DIM), k and v
 * (n, HEAD_DIM). The softmax is online (arXiv 1805.02867), so no more scores exist than those of a tile. */
static inline void
cpu_attend(const Cpu *m, CpuPart *part, const float *q, const uint16_t *k, const uint16_t *v, int first,
           int n)
{
    float x[2 * HEAD_DIM], score[2][CPU_TILE];
    const uint16_t *rows[4];

    m->units->split(x, q, 2 * HEAD_DIM, 2);
    memset(part->acc, 0, sizeof part->acc);
    for (int g = 0; g < 2; g++) {
        part->greatest[g] = -INFINITY;
        part->sum[g] = 0;
    }
    for (int start = first; start < n; start += CPU_TILE) {
        int count = n - start < CPU_TILE ? n - start : CPU_TILE;
        for (int i = 0; i < count; i += 4) {
            cpu_four_positions(rows, k, start + i, n);
            m->units->dot16(&score[0][i], CPU_TILE, x, 2, rows, HEAD_DIM, CPU_AHEAD);
        }
        for (int g = 0; g < 2; g++) {
            float before = part->greatest[g], sum, rescale;
            for (int i = 0; i < CPU_TILE; i++)
                score[g][i] = i < count ? score[g][i] * (1 / sqrtf(HEAD_DIM)) : -INFINITY;
            sum = m->units->softmax(score[g], CPU_TILE, &part->greatest[g]);
            rescale = expf(before - part->greatest[g]);
            part->sum[g] = part->sum[g] * rescale + sum;
            if (rescale != 1)
                for (int i = 0; i < HEAD_DIM; i++)
                    part->acc[g * HEAD_DIM + i] *= rescale;
        }
        for (int i = 0; i < count; i += 4) {
            cpu_four_positions(rows, v, start + i, n);
            m->units->mix(part->acc, &score[0][i], CPU_TILE, rows, HEAD_DIM, CPU_AHEAD);
        }
    }
}

/* split (2, HEAD_DIM) = what n spans, one after the other, give together. */
static inline void
cpu_merge(const Cpu *m, float *split, const CpuPart *parts, int n)
{
    float acc[2 * HEAD_DIM] = {0}, out[2 * HEAD_DIM];

    for (int g = 0; g < 2; g++) {
        float greatest = parts[0].greatest[g], sum = 0;
        for (int i = 1; i < n; i++)
            if (parts[i].greatest[g] > greatest)
                greatest = parts[i].greatest[g];
        for (int i = 0; i < n; i++) {
            float scale = expf(parts[i].greatest[g] - greatest);
            sum += parts[i].sum[g] * scale;
            for (int j = g * HEAD_DIM; j < (g + 1) * HEAD_DIM; j++)
                acc[j] += parts[i].acc[j] * scale;
        }
        for (int j = g * HEAD_DIM; j < (g + 1) * HEAD_DIM; j++)
            acc[j] /= sum;
    }
    m->units->join(out, acc, 2 * HEAD_DIM);
    cpu_split(m, split, out, 2 * HEAD_DIM);
}

/* Spans begin at multiples of CPU_SPAN, whatever the pass. Tokens are the inner loop: they share what they
 * read. */
static inline void
cpu_attention(Cpu *m, int layer, int n, int pos)
{
    const int spans = (pos + n - 1) / CPU_SPAN + 1;

    OMP(omp for schedule(dynamic))
    for (int i = 0; i < KV_HEADS * spans * n; i++) {
        int kv_head = i / n / spans, span = i / n % spans, t = i % n, first = span * CPU_SPAN;
        int end = pos + t + 1 < first + CPU_SPAN ? pos + t + 1 : first + CPU_SPAN;
        size_t at = cpu_cache_at(m, layer, kv_head);
        if (first < end)
            cpu_attend(m, &m->parts[((size_t)t * KV_HEADS + kv_head) * spans + span],
                       m->q + (size_t)t * Q_DIM + kv_head * 2 * HEAD_DIM, m->k_cache + at, m->v_cache + at,
                       first, end);
    }
    OMP(omp for)
    for (int i = 0; i < KV_HEADS * n; i++)
        cpu_merge(m, m->split + (size_t)i * 2 * HEAD_DIM, m->parts + (size_t)i * spans,
                  (pos + i / KV_HEADS) / CPU_SPAN + 1);
}

static inline void
cpu_swiglu(Cpu *m, int n)
{
    OMP(omp for)
    for (int at = 0; at < n * INTERMEDIATE; at += 64) {
        float silu[64];
        m->units->swiglu(silu, m->gate + at, m->up + at, 64);
        cpu_split(m, m->split + at, silu, 64);
    }
}

/* ---- threads ---- */

/* The number at the start of a control group's file, and the one behind it if asked for; -1: none there. */
static inline double
cpu_group_number(const char *root, const char *group, const char *name, double *second)
{
    char path[3 * 4096];
    double number = -1, ignored;
    FILE *file;

    snprintf(path, sizeof path, "%s/sys/fs/cgroup%s/%s", root, group, name);
    if (!(file = fopen(path, "r")))
        return -1;
    if (fscanf(file, "%lf %lf", &number, second ? second : &ignored) < 1) /* "max" */
        number = -1;
    fclose(file);
    return number;
}

/* How many CPUs the control groups of this process grant it: the least that its own group or one around it
 * has (cgroups(7), both versions); 0: as many as there are. A container may see the host's name of its group,
 * and only the group itself, as the root: names that are not there are passed over. `root` is for tests. */
static inline double
cpu_quota(const char *root)
{
    char line[4096], group[2 * 4096];
    double least = 0;
    FILE *file;

    snprintf(group, sizeof group, "%s/proc/self/cgroup", root);
    if (!(file = fopen(group, "r")))
        return 0;
    while (fgets(line, sizeof line, file)) { /* 0::/name, or 4:cpu,cpuacct:/name */
        char *controllers = strchr(line, ':'), *name = controllers ? strchr(controllers + 1, ':') : NULL;
        const char *version1 = "/cpu";
        if (!name)
            continue;
        *name++ = '\0';
        if (!controllers[1])
            version1 = "";
        else if (strncmp(controllers, ":cpu,", 5) && strcmp(controllers, ":cpu"))
            continue;
        for (char *end = name + strcspn(name, "\n"); end; end = strrchr(name, '/')) {
            double quota, period = -1;
            *end = '\0';
            snprintf(group, sizeof group, "%s%s", version1, name);
            if (*version1) {
                quota = cpu_group_number(root, group, "cpu.cfs_quota_us", NULL);
                period = cpu_group_number(root, group, "cpu.cfs_period_us", NULL);
            } else
                quota = cpu_group_number(root, group, "cpu.max", &period);
            if (quota > 0 && period > 0 && (least == 0 || quota / period < least))
                least = quota / period;
        }
    }
    fclose(file);
    return least;
}

/* At most so many threads. OpenMP takes the CPUs that the process may run on (its affinity); a quota it does
 * not know. Threads beyond it would take turns, all waiting for the one that is held back. */
static inline void
cpu_choose_threads(int most)
{
    double quota = cpu_quota("");

    if (quota > 0 && quota < most)
        most = (int)ceil(quota);
#ifdef _OPENMP
    if (!getenv("OMP_NUM_THREADS") && most < omp_get_max_threads())
        omp_set_num_threads(most);
#endif
}

static inline int
cpu_threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/* ---- the engine: engine.h says what each function does ---- */

static inline const char *
cpu_probe(void)
{
    return NULL;
}

/* Gives back what grows with the context. */
static inline void
cpu_free_context(Cpu *m)
{
    free(m->k_cache);
    free(m->v_cache);
    free(m->cosine);
    free(m->parts);
    m->k_cache = m->v_cache = NULL;
    m->cosine = NULL;
    m->parts = NULL;
}

static inline void
cpu_close(void *engine)
{
    Cpu *m = (Cpu *)engine;

    if (!m)
        return;
    free(m->made);
    cpu_free_context(m);
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

enum { CPU_TENSORS = LAYERS * LAYER_TENSORS + 2 };

/* Tensor i of all: as the file has it, as it is used, and its columns, 0 for a vector. */
static inline const Tensor *
cpu_tensor(Cpu *m, int i, CpuTensor **place, int *columns)
{
    int layer = i / LAYER_TENSORS, which = i % LAYER_TENSORS;

    if (layer < LAYERS) {
        *place = &m->layer[layer][which];
        *columns = safetensors_table[which].columns;
        return &m->file.layer[layer][which];
    }
    *place = which == 0 ? &m->embed : &m->norm;
    *columns = which == 0 ? HIDDEN : 0;
    return which == 0 ? &m->file.embed : &m->file.norm;
}

/* Decides for every tensor whether it is used where it stands or made anew, and allocates room for those. */
static inline const char *
cpu_place(Cpu *m)
{
    size_t made = 0;
    CpuTensor *place;
    int columns;

    for (int fill = 0; fill < 2; fill++) { /* first it only counts */
        char *at = (char *)m->made;
        for (int i = 0; i < CPU_TENSORS; i++) {
            const Tensor *tensor = cpu_tensor(m, i, &place, &columns);
            int round = m->bits == 8 && columns > 0;
            size_t bytes = tensor->count * (round ? sizeof(int8_t) : sizeof(uint16_t));
            size_t scales = round ? tensor->count / DOT_GROUP * sizeof(uint16_t) : 0;
            if (tensor->dtype == DTYPE_BF16 && !round) {
                place->weights = tensor->data;
            } else if (fill) {
                place->weights = at;
                place->scale = round ? (const uint16_t *)(at + bytes) : NULL;
                at += bytes + scales;
            } else {
                made += bytes + scales;
            }
            if (fill)
                m->bytes += bytes + scales;
        }
        if (made > 0 && !m->made && !(m->made = cpu_allocate(made, 1)))
            return fail("out of memory for the weights in %d bits: %.0f MB", m->bits, 1e-6 * (double)made);
    }
    return NULL;
}

/* Rounds a matrix to int8. */
static inline void
cpu_round(const CpuTensor *place, const Tensor *tensor, int columns)
{
    int rows = (int)(tensor->count / (size_t)columns);

    OMP(omp parallel for)
    for (int r = 0; r < rows; r++) {
        uint16_t row[CPU_WIDEST];
        size_t at = (size_t)r * columns;
        safetensors_bf16(tensor, at, columns, row);
        dot_quantize((int8_t *)place->weights + at, (uint16_t *)place->scale + at / DOT_GROUP, row, columns);
    }
}

/* Reads all of the file, so that the first reply need not wait for the disk, and makes what is to be made. */
static inline const char *
cpu_load(Cpu *m)
{
    enum { PAGE = 4096 };
    int progress = isatty(STDERR_FILENO), columns;
    size_t all = 0, done = 0, percent = 101;
    volatile char touched;
    CpuTensor *place;

    for (int i = 0; i < CPU_TENSORS; i++)
        all += cpu_tensor(m, i, &place, &columns)->count;
    for (int i = 0; i < CPU_TENSORS; i++) {
        const Tensor *tensor = cpu_tensor(m, i, &place, &columns);
        if (progress && percent != done * 100 / all)
            fprintf(stderr, "\rweights: %zu %%", percent = done * 100 / all);
        if (place->scale)
            cpu_round(place, tensor, columns);
        else if (place->weights != tensor->data)
            safetensors_bf16(tensor, 0, tensor->count, (uint16_t *)place->weights);
        else
            for (size_t byte = 0; byte < tensor->count * sizeof(uint16_t); byte += PAGE)
                touched = ((const char *)tensor->data)[byte];
        done += tensor->count;
    }
    (void)touched;
    if (progress)
        fprintf(stderr, "\r%16s\r", "");
    return NULL;
}

/* Allocates what grows with the context; 0 if there is not enough memory. *bytes = how much that is. */
static inline int
cpu_allocate_context(Cpu *m, int context, size_t *bytes)
{
    size_t cache = (size_t)LAYERS * KV_HEADS * context * HEAD_DIM, angles = (size_t)context * HEAD_DIM;
    size_t parts = (size_t)CPU_BLOCK * KV_HEADS * ((context - 1) / CPU_SPAN + 1);

    *bytes = 2 * cache * sizeof(uint16_t) + angles * sizeof(float) + parts * sizeof(CpuPart);
    m->k_cache = (uint16_t *)cpu_allocate(cache, sizeof(uint16_t));
    m->v_cache = (uint16_t *)cpu_allocate(cache, sizeof(uint16_t));
    m->cosine = (float *)cpu_allocate(angles, sizeof(float));
    m->parts = (CpuPart *)cpu_allocate(parts, sizeof(CpuPart));
    if (m->k_cache && m->v_cache && m->cosine && m->parts)
        return 1;
    cpu_free_context(m);
    return 0;
}

/* The error for a context that does not fit, with the greatest that does. */
static inline const char *
cpu_too_little(Cpu *m, size_t bytes)
{
    int fits = 0;
    size_t ignored;

    for (int step = MAX_CONTEXT / 2; step > 0; step /= 2)
        if (fits + step < m->context && cpu_allocate_context(m, fits + step, &ignored)) {
            fits += step;
            cpu_free_context(m);
        }
    fits -= fits > 512 ? fits % 256 : 0;
    if (fits == 0)
        return fail("out of memory for any context; %d positions need %.0f MB beside the weights", m->context,
                    1e-6 * (double)bytes);
    return fail("out of memory: a context of %d positions needs %.0f MB beside the weights; -c %d would fit",
                m->context, 1e-6 * (double)bytes, fits);
}

/* Tables, KV cache and activations. */
static inline const char *
cpu_prepare(Cpu *m)
{
    size_t token = 2 * HIDDEN + Q_DIM + 2 * KV_DIM + 2 * INTERMEDIATE + CPU_WIDEST;
    size_t floats = CPU_BLOCK * token + (size_t)MAX_ROWS * VOCAB, bytes;

    if (!(m->x = (float *)cpu_allocate(floats, sizeof(float))))
        return fail("out of memory for the activations: %.0f MB", 1e-6 * (double)(floats * sizeof(float)));
    if (!cpu_allocate_context(m, m->context, &bytes))
        return cpu_too_little(m, bytes);
    m->h = m->x + CPU_BLOCK * HIDDEN;
    m->q = m->h + CPU_BLOCK * HIDDEN;
    m->k = m->q + CPU_BLOCK * Q_DIM;
    m->v = m->k + CPU_BLOCK * KV_DIM;
    m->gate = m->v + CPU_BLOCK * KV_DIM;
    m->up = m->gate + CPU_BLOCK * INTERMEDIATE;
    m->split = m->up + CPU_BLOCK * INTERMEDIATE;
    m->logits = m->split + CPU_BLOCK * CPU_WIDEST;
    m->sine = m->cosine + (size_t)m->context * (HEAD_DIM / 2);
    OMP(omp parallel for)
    for (int pos = 0; pos < m->context; pos++)
        for (int i = 0; i < HEAD_DIM / 2; i++) {
            size_t at = (size_t)pos * (HEAD_DIM / 2) + i;
            rope_angle(pos, i, m->cosine + at, m->sine + at);
        }
    return NULL;
}

static inline const char *
cpu_open(void **engine, const char *model_dir, EngineOptions options)
{
    Cpu *m = (Cpu *)calloc(1, sizeof *m);
    char path[4000]; /* leaves room in a system path of 4,096 bytes */
    const char *error;

    *engine = NULL;
    if (!m)
        return fail("out of memory for the engine");
    cpu_choose_threads(cpu_threads());
    m->context = options.context;
    m->bits = options.bits == 8 ? 8 : 16;
    m->units = dot_units(0);
    if (!(error = engine_check_options(options, model_dir, path, sizeof path)) &&
        !(error = safetensors_open(&m->file, path)) && !(error = cpu_place(m)) && !(error = cpu_prepare(m)))
        error = cpu_load(m);
    if (error) {
        cpu_close(m);
        return error;
    }
    if (options.verbose)
        fprintf(stderr,
                "cpu: weights in %d bits%s %.0f MB, KV cache %.0f MB (%d positions), %d threads, "
                "vector units: %s\n",
                m->bits, options.bits == 12 ? " (-w 12 means that)" : "", 1e-6 * (double)m->bytes,
                1e-6 * LAYERS * 2 * KV_DIM * sizeof(uint16_t) * m->context, m->context, cpu_threads(),
                m->units->name);
    *engine = m;
    return NULL;
}

static inline const char *
cpu_prefill(void *engine, const int *tokens, int n, int pos)
{
    Cpu *m = (Cpu *)engine;
    const char *error = engine_check(tokens, n, pos, m->context);

    if (error)
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

    if (error || n == 0)
        return error;
    cpu_forward(m, tokens, n, pos, 1);
    OMP(omp parallel for if (n > 1))
    for (int t = 0; t < n; t++)
        sampler_best(m->logits + (size_t)t * VOCAB, k ? k : VOCAB, candidates + (size_t)t * k);
    return NULL;
}

static inline const char *
cpu_device(void *engine)
{
    const Cpu *m = (const Cpu *)engine;
    static char line[100];

    snprintf(line, sizeof line, "CPU, %d thread%s, vector units: %s, %d bits a weight", cpu_threads(),
             cpu_threads() > 1 ? "s" : "", m->units->name, m->bits);
    return line;
}

static inline double
cpu_bytes(void *engine, int depth)
{
    const Cpu *m = (const Cpu *)engine;

    return engine_bytes(m->bits == 8 ? 8 + 16.0 / DOT_GROUP : 16, depth);
}

/* Reads 537 MB, far more than a cache holds, with all threads; the best of five times. */
static inline const char *
cpu_bandwidth(void *engine, double *bytes_per_second)
{
    const int pieces = 1024, words = 64 << 10; /* of 8 bytes, in a piece */
    size_t bytes = (size_t)pieces * words * sizeof(uint64_t);
    uint64_t *buffer = (uint64_t *)cpu_allocate(bytes, 1), sum = 0;

    (void)engine;
    *bytes_per_second = 0;
    if (!buffer)
        return fail("out of memory to measure its speed: %.0f MB", 1e-6 * (double)bytes);
    for (int pass = 0; pass < 6; pass++) {
        double start = seconds_now(), rate;
        OMP(omp parallel for schedule(dynamic) reduction(+ : sum))
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
    volatile uint64_t kept = sum; /* so that the compiler cannot leave the loop out */
    (void)kept;
    free(buffer);
    return NULL;
}

static const Engine cpu_engine = {"cpu",      CPU_BLOCK, cpu_probe, cpu_open,      cpu_device, cpu_prefill,
                                  cpu_decode, cpu_close, cpu_bytes, cpu_bandwidth, NULL,       NULL};

#endif
