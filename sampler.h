/* sampler.h: logits -> the best candidates -> one token.
 *
 * The candidates come from an engine, best first (sampler_best). Temperature, then top-k, then top-p decide
 * which of them stay and how probable each is, in the order and by the rules of Hugging Face's logits
 * processors; a seeded generator then draws one. Two rules are stricter than theirs: among equal logits the
 * lower id comes first, and top-k keeps exactly k. */
#ifndef SAMPLER_H
#define SAMPLER_H

#include "config.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* One possible next token. */
typedef struct {
    int id;
    float logit;
} Candidate;

/* Weights are summed group by group, so that a sum in the middle is found again without adding all up. */
enum { SAMPLER_GROUP = 64, SAMPLER_GROUPS = (VOCAB + SAMPLER_GROUP - 1) / SAMPLER_GROUP };

/* Of SAMPLER_WORTH candidates or more OpenMP's threads take SAMPLER_RUN each, in turn: with 1, 2 or
 * 4 threads each always the same ones, which lie in its cache. Beside a GPU so many threads suffice: they
 * spin as they wait. */
enum { SAMPLER_WORTH = 8192, SAMPLER_RUN = 1024, SAMPLER_THREADS = 4 };

typedef struct {
    float temperature; /* [0, inf); 0: the best token, always */
    int top_k;         /* 0: off */
    float top_p;       /* [0, 1]; 1: off, 0: the best token, always */
    uint64_t state;    /* of the generator */
} Sampler;

static inline void
sampler_seed(Sampler *s, uint64_t seed)
{
    s->state = seed;
}

/* SplitMix64: G. L. Steele, D. Lea, C. H. Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA
 * 2014. Any seed is a good one, since each output is a strong mix of a counter: neighbouring seeds are
 * independent. */
static inline uint64_t
sampler_random(Sampler *s)
{
    uint64_t z = s->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Whether a stands before b: the better first, the lower id among equals, what is no number last. */
static inline int
sampler_before(Candidate a, Candidate b)
{
    if (a.logit == b.logit || (a.logit != a.logit && b.logit != b.logit))
        return a.id < b.id;
    return a.logit > b.logit || b.logit != b.logit;
}

/* In the heap c (n), every candidate stands before its parent. Lets c[i] sink to where it belongs. */
static inline void
sampler_sink(Candidate *c, int n, int i)
{
    Candidate sinking = c[i];

    for (int child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && sampler_before(c[child], c[child + 1]))
            child++;
        if (!sampler_before(sinking, c[child]))
            break;
        c[i] = c[child];
    }
    c[i] = sinking;
}

/* c (k) = the best of the logits (VOCAB), 1 <= k <= VOCAB, best first, by a heap with the worst on top. */
static inline void
sampler_best(const float *logits, int k, Candidate *c)
{
    for (int id = 0; id < VOCAB; id++) {
        Candidate candidate = {id, logits[id]};
        if (id < k) {
            c[id] = candidate;
            if (id == k - 1)
                for (int i = k / 2; i-- > 0;)
                    sampler_sink(c, k, i);
        } else if (sampler_before(candidate, c[0])) {
            c[0] = candidate;
            sampler_sink(c, k, 0);
        }
    }
    for (int n = k - 1; n > 0; n--) {
        Candidate worst = c[0];
        c[0] = c[n];
        c[n] = worst;
        sampler_sink(c, n, 0);
    }
}

/* c (n) = ids and their logits, eight bytes at a time: two stores of four keep gcc from vector code. */
static inline void
sampler_pair(Candidate *c, const int *id, const float *logit, int n)
{
    OMP(omp parallel for schedule(static, SAMPLER_RUN) if (n >= SAMPLER_WORTH))
    for (int i = 0; i < n; i++) {
        uint32_t bits;
        uint64_t both;

        memcpy(&bits, &logit[i], sizeof bits);
        both = (uint64_t)bits << 32 | (uint32_t)id[i];
        memcpy(&c[i], &both, sizeof both);
    }
}

/* How many candidates sampler_pick needs: 0 = all VOCAB of them. */
static inline int
sampler_wants(const Sampler *s)
{
    if (s->temperature <= 0 || s->top_p <= 0)
        return 1;
    return s->top_k >= VOCAB || s->top_k <= 0 ? 0 : s->top_k;
}

/* e^x for x in [-88, 0], less than one unit of the last place off; e^-88 is 0. It is expf without a branch,
 * so that a compiler makes vector code of a loop of them, and the same with any C library. The method and the
 * numbers are those of Cephes (S. L. Moshier): e^x = 2^k e^r. */
static inline float
sampler_exp(float x)
{
    const float round = 0x1.8p23f; /* a sum with it has no room for a fraction */
    float sum = x * 1.44269504f + round, k = sum - round, power;
    float r = x - k * 0.693359375f + k * 2.12194440e-4f, e = 1.9875691500e-4f;
    uint32_t bits;

    e = e * r + 1.3981999507e-3f;
    e = e * r + 8.3334519073e-3f;
    e = e * r + 4.1665795894e-2f;
    e = e * r + 1.6666665459e-1f;
    e = e * r + 5.0000001201e-1f;
    e = e * (r * r) + r + 1;
    memcpy(&bits, &sum, sizeof bits);
    bits = (bits + 127) << 23; /* of 2^k; of 0 where k is -127 */
    memcpy(&power, &bits, sizeof power);
    return e * power;
}

/* Replaces the logits of a group's n candidates by their weights, e^((logit - best) / temperature), 0 where
 * that is no number; returns their sum. */
static inline __attribute__((always_inline)) double
sampler_weigh_any(Candidate *c, int n, float best, float temperature)
{
    float weight[SAMPLER_GROUP];
    double four[4] = {0}; /* sums that need not wait for each other */

    for (int i = 0; i < n; i++)
        weight[i] = c[i].logit - best;
    for (int i = n; i < SAMPLER_GROUP; i++)
        weight[i] = -INFINITY;
    for (int i = 0; i < SAMPLER_GROUP; i++) {
        float x = weight[i] / temperature;

        weight[i] = x > -88 ? x : -88;
    }
    for (int i = 0; i < SAMPLER_GROUP; i++)
        weight[i] = sampler_exp(weight[i]);
    for (int i = 0; i < SAMPLER_GROUP; i += 4)
        for (int j = 0; j < 4; j++)
            four[j] += weight[i + j];
    for (int i = 0; i < n; i++)
        c[i].logit = weight[i];
    return (four[0] + four[1]) + (four[2] + four[3]);
}

#ifdef __x86_64__
/* The same eight at a time, to the bit: without multiplications that are fused with additions. */
static inline __attribute__((target("avx2"))) double
sampler_weigh_avx2(Candidate *c, int n, float best, float temperature)
{
    return sampler_weigh_any(c, n, best, temperature);
}
#endif

static inline double
sampler_weigh(Candidate *c, int n, float best, float temperature)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        return sampler_weigh_avx2(c, n, best, temperature);
#endif
    return sampler_weigh_any(c, n, best, temperature);
}

/* The same for the group of candidates that begins with number i of n. */
static inline double
sampler_weigh_group(Candidate *c, int i, int n, float best, float temperature)
{
    return sampler_weigh(c + i, n - i < SAMPLER_GROUP ? n - i : (int)SAMPLER_GROUP, best, temperature);
}

/* How many of c, n weights, come first and sum to at least `enough`; n if all are needed. *sum: theirs.
 * before[i] is the sum of the first i groups. */
static inline int
sampler_cut(const Candidate *c, int n, const double *before, double enough, double *sum)
{
    int group = 0, kept;

    while ((group + 1) * SAMPLER_GROUP < n && before[group + 1] < enough)
        group++;
    *sum = before[group];
    for (kept = group * SAMPLER_GROUP; kept < n && *sum < enough; kept++)
        *sum += c[kept].logit;
    return kept;
}

/* Reduces c, n >= 1 candidates, best first, to those that may be drawn; returns how many those are (the first
 * ones). The logit of each is replaced by its weight, which is 1 for the best; together these are *sum, and
 * what comes before each group of them is in before (SAMPLER_GROUPS).
 *
 * A candidate stays if the probabilities before it sum to less than top_p: the one that crosses top_p stays,
 * and so does the best. (Hugging Face says the same from the other end: it removes what sums, from the least
 * probable upward, to at most 1 - top_p.)
 *
 * One exponential in float for each candidate is as exact as the logits are. Of a whole vocabulary most are
 * not looked at: those that are left are no more probable than the last, and once even so much could not move
 * the cut, nothing can. Sums are double, because in float 150,000 small terms would be lost beside the first.
 * A NaN counts as probability 0; if nothing has a probability (top_p is 0, the best logit infinite), the
 * first candidate stays. */
static inline int
sampler_keep(const Sampler *s, Candidate *c, int n, double *before, double *sum)
{
    const float best = c[0].logit;
    double total = 0, ignored;
    int done = 0, kept = 0;

    if (s->top_k > 0 && n > s->top_k)
        n = s->top_k;
    *sum = 0;
    for (int look = SAMPLER_GROUP; s->temperature > 0 && done < n; look *= 8) {
        const int first = done;

        done = look < n ? look : n;
        if (done - first < SAMPLER_WORTH) /* even to ask OpenMP for one thread takes longer than 20 weights */
            for (int i = first; i < done; i += SAMPLER_GROUP)
                before[i / SAMPLER_GROUP] = sampler_weigh_group(c, i, done, best, s->temperature);
        else {
            OMP(omp parallel for schedule(static, SAMPLER_RUN / SAMPLER_GROUP))
            for (int i = first; i < done; i += SAMPLER_GROUP)
                before[i / SAMPLER_GROUP] = sampler_weigh_group(c, i, done, best, s->temperature);
        }
        for (int i = first / SAMPLER_GROUP; i * SAMPLER_GROUP < done; i++) {
            double group = before[i];

            before[i] = total;
            total += group;
        }
        if (done < n) {
            /* The last bit of a weight may err, and so may the sum of many terms. */
            double most = total + 1.00001 * (n - done) * c[done - 1].logit + 1e-9 * total;
            if (total >= s->top_p * most && sampler_cut(c, done, before, s->top_p * total, &ignored) ==
                                                sampler_cut(c, done, before, s->top_p * most, &ignored))
                break;
        }
    }
    if (done > 0)
        kept = sampler_cut(c, done, before, s->top_p < 1 ? s->top_p * total : INFINITY, sum);
    if (*sum > 0)
        return kept;
    before[0] = 0;
    *sum = c[0].logit = 1;
    return 1;
}

/* Draws a token id from c, n >= 1 candidates, best first; n is at least sampler_wants(s), or VOCAB where that
 * is 0. Overwrites the logits. */
static inline int
sampler_pick(Sampler *s, Candidate *c, int n)
{
    double before[SAMPLER_GROUPS], sum, uniform;
    int kept = sampler_keep(s, c, n, before, &sum), drawn;

    if (kept == 1)
        return c[0].id;
    uniform = (double)(sampler_random(s) >> 11) * 0x1p-53; /* [0, 1), all 53 bits of a double */
    drawn = sampler_cut(c, kept, before, uniform * sum, &sum);
    return c[drawn > 0 ? drawn - 1 : 0].id;
}

#endif
