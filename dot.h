/* dot.h: the CPU's inner loops: inner products with rows of weights in 16 or 8 bits, weighted sums of rows,
 * and what needs exponentials.
 *
 * They are written once, with the compiler's vector types, and compiled for each kind of vector unit: the
 * second half of this file is what it includes of itself for each of them. dot_units() hands out what this
 * machine has.
 *
 * A 32-bit word holds two bf16 weights or four of int8, its places. Shifts and masks make a vector of floats
 * of what stands at one place in a vector of words, which is every second or fourth column; so the other
 * operand is kept with the columns of a place together, within as many columns as a vector of words has
 * (`split`), and weights need no shuffling.
 *
 * A sum is added up in the same order whatever else is computed beside it: its bits depend on the kind of
 * unit, and not on how many vectors a weight is multiplied with at once. */
#ifndef DOT_LANES
#ifndef DOT_H
#define DOT_H

#include "numbers.h"

#include <limits.h>
#include <stddef.h>

enum {
    DOT_GROUP = 64, /* columns of a row of int8 that share a scale */
    DOT_MOST = 6    /* vectors x of a call, with any kind of unit */
};

typedef struct {
    const char *name;
    int tokens;  /* most vectors x of a call: 4 * tokens sums, the x and a weight fit the registers */
    int tokens8; /* the same for int8, which has two sums */
    int few8;    /* for more vectors than these it is faster to make floats of the weights first */

    /* out = the n columns of x, those of each of 2 or 4 places together; */
    void (*split)(float *out, const float *x, size_t n, int places);
    /* and, of 2, back. */
    void (*join)(float *out, const float *x, size_t n);

    /* out[t][r] = w[r] . x[t], for four rows r of so many bf16 weights, a multiple of 64, and n vectors x[t],
     * one behind the other, split in two. Row t of out begins at t * stride. Weights `ahead` columns further
     * on are asked for on the way; 0: they are all in a cache. Four rows, so that enough additions are under
     * way. */
    void (*dot16)(float *out, size_t stride, const float *x, int n, const uint16_t *const w[4], int columns,
                  int ahead);

    /* The same for weights q * scale, where q is int8 and DOT_GROUP of a row share a bf16 scale; x split in
     * four. wide: NULL, or room for four rows of floats; then n is not limited. */
    void (*dot8)(float *out, size_t stride, const float *x, int n, const int8_t *const q[4],
                 const uint16_t *const scale[4], int columns, int ahead, float *wide);

    /* acc[g] += sum over r of p[g][r] * v[r], for g = 0 and 1 and four rows v[r] of so many bf16 numbers. acc
     * is (2, columns), split in two; row g of p begins at g * stride. */
    void (*mix)(float *acc, const float *p, size_t stride, const uint16_t *const v[4], int columns,
                int ahead);

    /* *greatest becomes the greatest of n scores p and of itself, then p[i] = e^(p[i] - *greatest), of which
     * it returns the sum. n is a multiple of 16; a score of -INFINITY becomes 0. */
    float (*softmax)(float *p, int n, float *greatest);

    /* out[i] = silu(gate[i]) * up[i], where silu(x) = x / (1 + e^-x). n is a multiple of 16. */
    void (*swiglu)(float *out, const float *gate, const float *up, int n);
} DotUnits;

#define DOT_INLINE static inline __attribute__((always_inline))

/* Does something for i = 0, 1, ... n-1 <= 5, unrolled: what is computed must stay in registers, and no pragma
 * for that is known to gcc, clang and nvcc alike. */
#define DOT_EACH(i, n, ...)           \
    do {                              \
        DOT_ONE(i, 0, n, __VA_ARGS__) \
        DOT_ONE(i, 1, n, __VA_ARGS__) \
        DOT_ONE(i, 2, n, __VA_ARGS__) \
        DOT_ONE(i, 3, n, __VA_ARGS__) \
        DOT_ONE(i, 4, n, __VA_ARGS__) \
        DOT_ONE(i, 5, n, __VA_ARGS__) \
    } while (0)
#define DOT_ONE(i, value, n, ...) \
    {                             \
        const int i = value;      \
        if (value < (n)) {        \
            __VA_ARGS__           \
        }                         \
    }

/* How many of n vectors x to take next, `most` at most: in shares as even as there can be, since one alone is
 * slow. */
static inline int
dot_share(int n, int most)
{
    return (n - 1) / ((n - 1) / most + 1) + 1;
}

/* Asks for a line into the second cache: many more of those can be under way than of the first's. (EPYC
 * Genoa, one core: 24 instead of 13 GB/s.) Asking for what lies behind the end of memory does nothing. */
#define DOT_AHEAD(address) __builtin_prefetch(address, 0, 2)

/* Elements of two vectors of eight, one behind the other. */
#if defined __clang__ || __GNUC__ >= 12
#define DOT_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int32_t DotEight __attribute__((vector_size(32)));
#define DOT_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (DotEight){__VA_ARGS__})
#endif

/* gcc -std=c11 does not make one instruction of a multiplication and an addition of its own accord. */
#ifdef __clang__
#define DOT_FUSE
#else
#define DOT_FUSE optimize("fp-contract=fast")
#endif

#define DOT_LANES 8
#define DOT(name) name##_any
#define DOT_TARGET __attribute__((DOT_FUSE))
#include "dot.h"

#ifdef __x86_64__
#define DOT_LANES 8
#define DOT(name) name##_avx2
#define DOT_PICK(words, k)                                                                                  \
    __builtin_ia32_pshufb256((DotBytes)(words),                                                             \
                             (DotBytes){DOT_AT(k), DOT_AT(k + 4), DOT_AT(k + 8), DOT_AT(k + 12), DOT_AT(k), \
                                        DOT_AT(k + 4), DOT_AT(k + 8), DOT_AT(k + 12)})
#define DOT_AT(k) -1, -1, -1, (char)(k)
typedef char DotBytes __attribute__((vector_size(32)));
#ifdef __clang__
#define DOT_TARGET __attribute__((target("avx2,fma")))
#else
#define DOT_TARGET __attribute__((target("avx2,fma"), DOT_FUSE))
#endif
#include "dot.h"

#define DOT_LANES 16
#define DOT(name) name##_avx512
#ifdef __clang__
#define DOT_TARGET __attribute__((target("avx512f,avx2,fma")))
#else
#define DOT_TARGET __attribute__((target("avx512f,avx2,fma"), DOT_FUSE))
#endif
#include "dot.h"
#endif

/* Kind 0 is the best of this machine, 1 the next, and so on; NULL when there are no more. */
static inline const DotUnits *
dot_units(int kind)
{
#ifdef __x86_64__
    static const DotUnits avx512 = {
        "AVX-512",    6,           4,          INT_MAX,        split_avx512, join_avx512,
        dot16_avx512, dot8_avx512, mix_avx512, softmax_avx512, swiglu_avx512};
    static const DotUnits avx2 = {
        "AVX2", 3, 3, 8, split_avx2, join_avx2, dot16_avx2, dot8_avx2, mix_avx2, softmax_avx2, swiglu_avx2};
    static const DotUnits any = {"SSE2",    3,        3,       8,           split_any, join_any,
                                 dot16_any, dot8_any, mix_any, softmax_any, swiglu_any};
#elif defined(__ARM_NEON)
    static const DotUnits any = {"NEON",    3,        3,       8,           split_any, join_any,
                                 dot16_any, dot8_any, mix_any, softmax_any, swiglu_any};
#else
    static const DotUnits any = {"none",    3,        3,       8,           split_any, join_any,
                                 dot16_any, dot8_any, mix_any, softmax_any, swiglu_any};
#endif

#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma") && kind-- == 0)
        return &avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && kind-- == 0)
        return &avx2;
#endif
    return kind == 0 ? &any : NULL;
}

/* Rounds n bf16 weights, whole groups, to int8 and a scale for each group: the greatest of the group becomes
 * 127 or little less. The scale is a bf16, as the weights are, so that it has their range (half precision
 * has subnormal numbers where a matrix is small), rounded up, so that nothing is cut off at 127; that it is a
 * short number costs nothing, since q is rounded for the scale that is kept. A group in which not all are
 * numbers becomes NaN. */
static inline void
dot_quantize(int8_t *q, uint16_t *scale, const uint16_t *weights, size_t n)
{
    for (size_t i = 0; i < n; i += DOT_GROUP, scale++) {
        float greatest = 0, step;
        for (size_t j = i; j < i + DOT_GROUP; j++)
            if (fabsf(bf16_widen(weights[j])) > greatest) /* a NaN is not */
                greatest = fabsf(bf16_widen(weights[j]));
        *scale = bf16_round(greatest / 127);
        if (bf16_widen(*scale) * 127 < greatest)
            ++*scale;
        step = bf16_widen(*scale);
        for (size_t j = i; j < i + DOT_GROUP; j++) {
            float rounded = step > 0 ? rintf(bf16_widen(weights[j]) / step) : 0;
            q[j] = (int8_t)(fabsf(rounded) <= 127 ? rounded : 0);
            if (!(fabsf(bf16_widen(weights[j])) < INFINITY))
                *scale = 0x7fc0;
        }
    }
}

#endif
#else /* for one kind of vector unit */

typedef float DOT(Floats) __attribute__((vector_size(4 * DOT_LANES)));
typedef int32_t DOT(Ints) __attribute__((vector_size(4 * DOT_LANES)));
typedef uint32_t DOT(Words) __attribute__((vector_size(4 * DOT_LANES)));
typedef float DOT(Eight) __attribute__((vector_size(32), may_alias));
typedef float DOT(FloatsAt) __attribute__((vector_size(4 * DOT_LANES), aligned(4), may_alias));
typedef uint32_t DOT(WordsAt) __attribute__((vector_size(4 * DOT_LANES), aligned(1), may_alias));

#define DOT_TOKENS (DOT_LANES == 16 ? 6 : 3)
#define DOT_TOKENS8 (DOT_LANES == 16 ? 4 : 3)
#define FLOATS_AT(x) (*(const DOT(FloatsAt) *)(x))
#define WORDS_AT(w) (*(const DOT(WordsAt) *)(w))

DOT_TARGET DOT_INLINE void
DOT(split_of)(float *out, const float *x, size_t n, const int places)
{
    for (size_t i = 0; i < n; i += DOT_LANES * places)
        for (int place = 0; place < places; place++)
            for (int j = 0; j < DOT_LANES; j++)
                out[i + (size_t)(place * DOT_LANES + j)] = x[i + (size_t)(places * j + place)];
}

DOT_TARGET static inline void
DOT(split)(float *out, const float *x, size_t n, int places)
{
    if (places == 2)
        DOT(split_of)(out, x, n, 2);
    else
        DOT(split_of)(out, x, n, 4);
}

DOT_TARGET static inline void
DOT(join)(float *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += 2 * DOT_LANES)
        for (int j = 0; j < 2 * DOT_LANES; j++)
            out[i + (size_t)j] = x[i + (size_t)(j % 2 * DOT_LANES + j / 2)];
}

/* out = the sums of four vectors at once. */
DOT_TARGET DOT_INLINE void
DOT(sums)(float *out, const DOT(Floats) * v0, const DOT(Floats) * v1, const DOT(Floats) * v2,
          const DOT(Floats) * v3)
{
    const DOT(Eight) * v[] = {(const DOT(Eight) *)v0, (const DOT(Eight) *)v1, (const DOT(Eight) *)v2,
                              (const DOT(Eight) *)v3};
    DOT(Eight) s[4], a, b;

    for (int r = 0; r < 4; r++) {
        s[r] = v[r][0];
        if (DOT_LANES == 16)
            s[r] += v[r][DOT_LANES / 16];
    }
    a = DOT_SHUFFLE(s[0], s[1], 0, 1, 2, 3, 8, 9, 10, 11) +
        DOT_SHUFFLE(s[0], s[1], 4, 5, 6, 7, 12, 13, 14, 15);
    b = DOT_SHUFFLE(s[2], s[3], 0, 1, 2, 3, 8, 9, 10, 11) +
        DOT_SHUFFLE(s[2], s[3], 4, 5, 6, 7, 12, 13, 14, 15);
    a = DOT_SHUFFLE(a, b, 0, 1, 8, 9, 4, 5, 12, 13) + DOT_SHUFFLE(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    a = DOT_SHUFFLE(a, a, 0, 4, 2, 6, 0, 4, 2, 6) + DOT_SHUFFLE(a, a, 1, 5, 3, 7, 1, 5, 3, 7);
    memcpy(out, &a, 4 * sizeof *out);
}

/* The sums of acc[r][t]. What has an address is kept in memory, of which gcc makes the faster loops where
 * registers are too few, and the slower ones where they are not. */
#define SUMS(out, acc, t)                                                         \
    do {                                                                          \
        const DOT(Floats) copy[4] = {acc[0][t], acc[1][t], acc[2][t], acc[3][t]}; \
        if (DOT_LANES == 16)                                                      \
            DOT(sums)(out, &copy[0], &copy[1], &copy[2], &copy[3]);               \
        else                                                                      \
            DOT(sums)(out, &acc[0][t], &acc[1][t], &acc[2][t], &acc[3][t]);       \
    } while (0)

/* dot16 for a constant n. The hardware's own reading ahead starts anew in every row, and short rows are over
 * before it is under way: hence `ahead`. */
DOT_TARGET DOT_INLINE void
DOT(dot16_of)(float *out, size_t stride, const float *x, const int n, const uint16_t *const w[4], int columns,
              int ahead)
{
    DOT(Floats) acc[4][DOT_MOST], at[DOT_MOST];

    DOT_EACH(r, 4, DOT_EACH(t, n, acc[r][t] = (DOT(Floats)){0};););
    for (int i = 0; i < columns; i += 2 * DOT_LANES) {
        if (ahead > 0 && i % 32 == 0) /* a line */
            DOT_EACH(r, 4, DOT_AHEAD(w[r] + i + ahead););
        DOT_EACH(place, 2, {
            DOT_EACH(t, n, at[t] = FLOATS_AT(x + (size_t)t * columns + i + place * DOT_LANES););
            DOT_EACH(r, 4, {
                DOT(Words) words = WORDS_AT(w[r] + i);
                DOT(Floats) weight = (DOT(Floats))(place == 0 ? words << 16 : words & 0xffff0000u);
                DOT_EACH(t, n, acc[r][t] += weight * at[t];);
            });
        });
    }
    DOT_EACH(t, n, SUMS(out + (size_t)t * stride, acc, t););
}

/* *weight = the numbers at one place of words of int8: of one vector times 2^24, at the top. Between top and
 * bottom that takes two instructions, where AVX2 has one that compilers do not find. With several vectors
 * there is no register for a mask, so there they are shifted down again. */
DOT_TARGET DOT_INLINE void
DOT(weight8)(DOT(Floats) * weight, const int8_t *q, const int place, const int n)
{
    DOT(Words) words = WORDS_AT(q) << ((24 - 8 * place) & 31);

    words = n == 1 ? words & 0xff000000u : (DOT(Words))((DOT(Ints))words >> 24);
#ifdef DOT_PICK
    if (n == 1 && (place == 1 || place == 2))
        words = (DOT(Words))DOT_PICK(WORDS_AT(q), place);
#endif
    *weight = __builtin_convertvector((DOT(Ints))words, DOT(Floats));
}

/* wide (columns / lanes, 4, lanes) = the q of four rows. */
DOT_TARGET DOT_INLINE void
DOT(widen8)(float *wide, const int8_t *const q[4], int columns, int ahead)
{
    for (int i = 0; i < columns; i += 4 * DOT_LANES) {
        if (i % DOT_GROUP == 0)
            DOT_EACH(r, 4, DOT_AHEAD(q[r] + i + ahead););
        DOT_EACH(place, 4, DOT_EACH(r, 4, {
                     float *to = wide + 4 * i + (4 * place + r) * DOT_LANES;
                     DOT(Floats) weight;
                     DOT(weight8)(&weight, q[r] + i, place, 1);
                     *(DOT(FloatsAt) *)to = weight;
                 }););
    }
}

/* dot8 for a constant n, of q or, where those are widened, of what widen8 made of them. What makes q * 2^24
 * of a byte, or q, is exact, and so are all sums the same but for that factor. */
DOT_TARGET DOT_INLINE void
DOT(dot8_of)(float *out, size_t stride, const float *x, const int n, const int8_t *const q[4],
             const uint16_t *const scale[4], int columns, int ahead, const int widened, const float *wide)
{
    DOT(Floats) acc[4][DOT_MOST], part[4][DOT_MOST], at[DOT_MOST];

    DOT_EACH(r, 4, DOT_EACH(t, n, acc[r][t] = (DOT(Floats)){0};););
    for (int group = 0; group < columns; group += DOT_GROUP) {
        if (ahead > 0)
            DOT_EACH(r, 4, DOT_AHEAD(q[r] + group + ahead););
        DOT_EACH(r, 4, DOT_EACH(t, n, part[r][t] = (DOT(Floats)){0};););
        for (int i = group; i < group + DOT_GROUP; i += 4 * DOT_LANES)
            DOT_EACH(place, 4, {
                DOT_EACH(t, n, at[t] = FLOATS_AT(x + (size_t)t * columns + i + place * DOT_LANES););
                DOT_EACH(r, 4, {
                    DOT(Floats) weight;
                    if (widened)
                        weight = FLOATS_AT(wide + 4 * i + (4 * place + r) * DOT_LANES);
                    else
                        DOT(weight8)(&weight, q[r] + i, place, n);
                    DOT_EACH(t, n, part[r][t] += weight * at[t];);
                });
            });
        DOT_EACH(r, 4, {
            float step = bf16_widen(scale[r][group / DOT_GROUP]) * (n == 1 || widened ? 0x1p-24f : 1);
            DOT_EACH(t, n, acc[r][t] += part[r][t] * step;);
        });
    }
    DOT_EACH(t, n, SUMS(out + (size_t)t * stride, acc, t););
}

DOT_TARGET static inline void
DOT(dot16)(float *out, size_t stride, const float *x, int n, const uint16_t *const w[4], int columns,
           int ahead)
{
    DOT_EACH(i, DOT_TOKENS, if (n == i + 1) DOT(dot16_of)(out, stride, x, i + 1, w, columns, ahead););
}

DOT_TARGET static inline void
DOT(dot8)(float *out, size_t stride, const float *x, int n, const int8_t *const q[4],
          const uint16_t *const scale[4], int columns, int ahead, float *wide)
{
    if (wide)
        DOT(widen8)(wide, q, columns, ahead);
    for (int take; n > 0; n -= take, out += take * stride, x += (size_t)take * columns) {
        take = dot_share(n, DOT_TOKENS8);
        DOT_EACH(i, DOT_TOKENS8,
                 if (take == i + 1 && wide)
                     DOT(dot8_of)(out, stride, x, i + 1, q, scale, columns, 0, 1, wide););
        DOT_EACH(i, DOT_TOKENS8,
                 if (take == i + 1 && !wide)
                     DOT(dot8_of)(out, stride, x, i + 1, q, scale, columns, ahead, 0, NULL););
    }
}

DOT_TARGET static inline void
DOT(mix)(float *acc, const float *p, size_t stride, const uint16_t *const v[4], int columns, int ahead)
{
    for (int i = 0; i < columns; i += 2 * DOT_LANES)
        for (int place = 0; place < 2; place++) {
            DOT(FloatsAt) *a = (DOT(FloatsAt) *)(acc + i + place * DOT_LANES);
            DOT(FloatsAt) *b = (DOT(FloatsAt) *)(acc + columns + i + place * DOT_LANES);
            DOT(Floats) sum_a = *a, sum_b = *b;
            DOT_EACH(r, 4, {
                DOT(Words) words = WORDS_AT(v[r] + i);
                DOT(Floats) value = (DOT(Floats))(place == 0 ? words << 16 : words & 0xffff0000u);
                if (place == 0)
                    DOT_AHEAD(v[r] + i + ahead);
                sum_a += value * p[r];
                sum_b += value * p[stride + r];
            });
            *a = sum_a;
            *b = sum_b;
        }
}

/* Where the mask is set a, else b. */
#define SELECT(mask, a, b) ((DOT(Floats))(((DOT(Ints))(a) & (mask)) | ((DOT(Ints))(b) & ~(mask))))

/* v = e^v = 2^k * e^r, where k is v / ln 2 rounded, so that |r| <= ln 2 / 2: eight terms of the series give a
 * float. Adding 1.5 * 2^23 rounds, and leaves k in the last bits. Less than e^-87 is 0, more than e^88 is
 * e^88. */
DOT_TARGET DOT_INLINE void
DOT(exp)(DOT(Floats) * v)
{
    const DOT(Floats) zero = {0};
    DOT(Ints) low = *v < zero - 87;
    DOT(Floats) x = SELECT(low, zero, *v), shifted, k, r, sum;

    x = SELECT(x > zero + 88, zero + 88, x);
    shifted = x * 1.44269504f + 0x1.8p23f;
    k = shifted - 0x1.8p23f;
    r = x - k * 0.693359375f + k * 2.12194440e-4f; /* ln 2 in two parts; k times the first is exact */
    sum = r * (1 / 5040.0f) + 1 / 720.0f;
    sum = sum * r + 1 / 120.0f;
    sum = sum * r + 1 / 24.0f;
    sum = sum * r + 1 / 6.0f;
    sum = sum * r + 0.5f;
    sum = (sum * r + 1) * r + 1;
    *v = SELECT(low, zero, sum * (DOT(Floats))(((DOT(Ints))shifted << 23) + (127 << 23)));
}

DOT_TARGET static inline float
DOT(softmax)(float *p, int n, float *greatest)
{
    DOT(Floats) most = (DOT(Floats)){0} + *greatest, sum = {0};
    float all = 0;

    for (int i = 0; i < n; i += DOT_LANES)
        most = SELECT(FLOATS_AT(p + i) > most, FLOATS_AT(p + i), most);
    for (int i = 0; i < DOT_LANES; i++)
        if (most[i] > *greatest)
            *greatest = most[i];
    for (int i = 0; i < n; i += DOT_LANES) {
        DOT(Floats) v = FLOATS_AT(p + i) - *greatest;
        DOT(exp)(&v);
        *(DOT(FloatsAt) *)(p + i) = v;
        sum += v;
    }
    for (int i = 0; i < DOT_LANES; i++)
        all += sum[i];
    return all;
}

DOT_TARGET static inline void
DOT(swiglu)(float *out, const float *gate, const float *up, int n)
{
    for (int i = 0; i < n; i += DOT_LANES) {
        DOT(Floats) v = -FLOATS_AT(gate + i);
        DOT(exp)(&v);
        *(DOT(FloatsAt) *)(out + i) = FLOATS_AT(gate + i) / (v + 1) * FLOATS_AT(up + i);
    }
}

#undef SELECT
#undef SUMS
#undef DOT_TOKENS
#undef DOT_TOKENS8
#undef FLOATS_AT
#undef WORDS_AT
#undef DOT_LANES
#undef DOT
#undef DOT_PICK
#undef DOT_TARGET
#endif
