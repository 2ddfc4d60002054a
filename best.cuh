/* best.cuh: the k best logits of a row, found on the card: 160 bytes leave it in place of 600 KB. */
#ifndef BEST_CUH
#define BEST_CUH

#include "ring.cuh"
#include "sampler.h"

enum {
    DECODE_MAX_K = 64,
    MAX_GROUPS = 256,    /* of lanes of the whole grid, each with a maximum */
    MAX_CANDIDATES = 256 /* that are sorted in the end */
};

/* What a row leaves for the host. */
struct DecodeResult {
    Candidate best[DECODE_MAX_K]; /* best first */
    int found;                    /* how many of them; fewer than asked for: sort the logits instead */
};

struct BestShared {
    alignas(16) float maxima[MAX_GROUPS];
    int group[MAX_GROUPS], groups, collected;
    float bound;
    Candidate candidate[MAX_CANDIDATES];
};

/* Groups into which a warp's lanes fall, so that the grid has groups enough for k. */
__device__ __forceinline__ int
best_parts(void)
{
    int parts = 1;
    while (parts < WARP && (int)gridDim.x * parts < DECODE_MAX_K)
        parts *= 2;
    return parts;
}

/* By the warp that wrote this block's logits of a row: announces them with the maxima of its groups of lanes,
 * (MAX_GROUPS) words. */
__device__ __forceinline__ void
best_announce(Word *words, float lane_max, uint32_t epoch)
{
    const int parts = best_parts(), lane = lane_index();
    for (int m = WARP / 2; m >= parts; m >>= 1)
        lane_max = fmaxf(lane_max, __shfl_xor_sync(~0u, lane_max, m));
    __syncwarp();
    if (lane < parts) {
        asm volatile("fence.acq_rel.gpu;" ::: "memory"); /* all lanes' logits before the word */
        word_send(words + blockIdx.x * parts + lane, __float_as_uint(lane_max), 0, 0, epoch);
    }
}

/* By one block's chain: leaves the k best of logits (VOCAB) in *result, best first, the lower id first among
 * equals. The k-th best maximum is a bound: the k best logits are not below it, and groups whose maximum is
 * below it need no search. */
__device__ void
best_collect(BestShared &s, DecodeResult *result, const float *logits, const Word *words, int k,
             uint32_t warp, uint32_t epoch)
{
    const int thread = threadIdx.x, blocks = gridDim.x, parts = best_parts(), n = blocks * parts;
    const uint32_t lane = lane_index();

    if (thread == 0)
        s.groups = s.collected = 0;
    for (int first = warp * WARP; first < MAX_GROUPS; first += CHAIN_THREADS) {
        const int i = first + lane;
        float maximum = __uint_as_float(word_wait(words + min(i, n - 1), epoch).x);
        s.maxima[i] = i < n ? maximum : -INFINITY;
    }
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    chain_sync();
    for (int i = thread; i < n; i += CHAIN_THREADS) {
        float4 *maxima = (float4 *)s.maxima;
        float own = s.maxima[i];
        int better = 0, equal = 0; /* than this one */
#pragma unroll 8
        for (int j = 0; j < (n + 3) / 4; j++) {
            float4 m = maxima[j];
            better += (m.x > own) + (m.y > own) + (m.z > own) + (m.w > own);
            equal += (m.x == own) + (m.y == own) + (m.z == own) + (m.w == own);
        }
        if (better < k)
            s.group[atomicAdd(&s.groups, 1)] = i;
        if (better < k && better + equal >= min(k, n))
            s.bound = own;
    }
    chain_sync();

    /* A block's share of the head is a line of 32 logits, read by 8 lanes: a warp searches a group four lines
     * at a time. Lane % parts tells whose a logit is. */
    const float bound = s.bound;
    for (int i = warp; i < s.groups; i += CHAIN_WARPS) {
        const int group = s.group[i], shift = __ffs(parts) - 1;
#pragma unroll 5
        for (int share = (group >> shift) + lane / 8 * blocks; share < HEAD_SHARES; share += 4 * blocks) {
            int id = share * 32 + lane % 8 * 4;
            float4 v = __ldcg((const float4 *)(logits + id));
            if (fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)) < bound)
                continue;
            const float logit[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int j = 0; j < 4; j++)
                if (logit[j] >= bound && ((id + j) & (parts - 1)) == (group & (parts - 1))) {
                    int to = atomicAdd(&s.collected, 1);
                    if (to < MAX_CANDIDATES) {
                        s.candidate[to].id = id + j;
                        s.candidate[to].logit = logit[j];
                    }
                }
        }
    }
    chain_sync();
    const int collected = s.collected;
    if (collected <= MAX_CANDIDATES)
        for (int i = thread; i < collected; i += CHAIN_THREADS) {
            Candidate c = s.candidate[i];
            int better = 0;
#pragma unroll 4
            for (int j = 0; j < collected; j++) {
                Candidate t = s.candidate[j];
                better += t.logit > c.logit || (t.logit == c.logit && t.id < c.id);
            }
            if (better < k)
                result->best[better] = c;
        }
    if (thread == 0)
        result->found = collected <= MAX_CANDIDATES ? min(collected, k) : 0;
}

#endif
