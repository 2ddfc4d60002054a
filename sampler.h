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

/* One possible next token. */
typedef struct {
    int id;
    float logit;
} Candidate;

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

/* How many candidates sampler_pick needs: 0 = all VOCAB of them. */
static inline int
sampler_wants(const Sampler *s)
{
    if (s->temperature <= 0 || s->top_p <= 0)
        return 1;
    return s->top_k >= VOCAB || s->top_k <= 0 ? 0 : s->top_k;
}

/* How many of c, n weights, come first and sum to at least `enough`; n if all are needed. *sum: theirs. */
static inline int
sampler_cut(const Candidate *c, int n, double enough, double *sum)
{
    int kept = 0;

    for (*sum = 0; kept < n && *sum < enough; kept++)
        *sum += c[kept].logit;
    return kept;
}

/* Reduces c, n >= 1 candidates, best first, to those that may be drawn; returns how many those are (the first
 * ones). The logit of each is replaced by its probability; together these are 1.
 *
 * A candidate stays if the probabilities before it sum to less than top_p: the one that crosses top_p stays,
 * and so does the best. (Hugging Face says the same from the other end: it removes what sums, from the least
 * probable upward, to at most 1 - top_p.)
 *
 * One expf for each candidate is as exact as the logits are. Of a whole vocabulary most are not looked at:
 * those that are left are no more probable than the last, and once even so much could not move the cut,
 * nothing can. Sums are double, because in float 150,000 small terms would be lost beside the first. A NaN
 * counts as probability 0; if nothing has a probability (top_p is 0, the best logit infinite), the first
 * candidate stays. */
static inline int
sampler_keep(const Sampler *s, Candidate *c, int n)
{
    float best = c[0].logit;
    double total = 0, head, ignored;
    float least = 1; /* of the weights so far: those that are left are no greater */
    int done = 0, look = 64, kept;

    if (s->temperature <= 0) {
        c[0].logit = 1;
        return 1;
    }
    if (s->top_k > 0 && n > s->top_k)
        n = s->top_k;
    for (; done < n; done++) {
        float x = (c[done].logit - best) / s->temperature;
        if (done == look) {
            /* expf's last bit may err, and so may the sum of many terms. */
            double most = total + 1.00001 * (n - done) * least + 1e-9 * total;
            if (total >= s->top_p * most && sampler_cut(c, done, s->top_p * total, &ignored) ==
                                                sampler_cut(c, done, s->top_p * most, &ignored))
                break;
            look *= 2;
        }
        c[done].logit = x <= 0 ? least = expf(x) : 0;
        total += c[done].logit;
    }
    kept = sampler_cut(c, done, s->top_p < 1 ? s->top_p * total : INFINITY, &head);
    if (!(head > 0)) {
        c[0].logit = 1;
        return 1;
    }
    for (int i = 0; i < kept; i++)
        c[i].logit = (float)(c[i].logit / head);
    return kept;
}

/* Draws a token id from c, n >= 1 candidates, best first; n is at least sampler_wants(s), or VOCAB where that
 * is 0. Overwrites the logits. */
static inline int
sampler_pick(Sampler *s, Candidate *c, int n)
{
    int kept = sampler_keep(s, c, n), chosen = 0;
    double uniform, sum = 0;

    if (kept == 1)
        return c[0].id;
    uniform = (double)(sampler_random(s) >> 11) * 0x1p-53; /* [0, 1), all 53 bits of a double */
    for (int i = 0; i < kept; i++) {
        if (c[i].logit > 0)
            chosen = i; /* stays if rounding leaves the sum a little short of 1 */
        sum += c[i].logit;
        if (uniform < sum)
            break;
    }
    return c[chosen].id;
}

#endif
