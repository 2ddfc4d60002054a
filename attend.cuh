/* attend.cuh: decode's attention: q, k and v come in as words, the heads' outputs go out as words.
 *
 * The positions are cut into splits of `cut` groups of GROUP positions; an item of work is a kv head, a split
 * and some rows of the pass. Where a row has more than DIRECT_SPLITS splits, all blocks together put them
 * into one before o reads it. */
#ifndef ATTEND_CUH
#define ATTEND_CUH

#include "config.h"
#include "engine.h"
#include "ring.cuh"

enum {
    GROUP = 8, /* positions that a warp takes at once */
    MAX_SPLITS = 16,
    DIRECT_SPLITS = 2,
    HEAD_WORDS = HEAD_DIM / 4, /* of q, k, v and of the output: a lane each */
    Q_STRIDE = HEAD_DIM + 32,  /* 64 bytes of padding keep two heads in different banks */
/* SWEEP_ROWS share a reading of keys and values, the mma's a has room for four; the results of MERGE_WARPS
 * are read at once. Below sm_90 more of either would spill. */
#if __CUDA_ARCH__ >= 900
    SWEEP_ROWS = 4,
    MERGE_WARPS = 8,
#else
    SWEEP_ROWS = 2,
    MERGE_WARPS = 4,
#endif
    RECEIVERS = 4, /* warps that receive q, k and v of one row: they get their positions last */

    /* A group may reach past the context: bytes behind the values that are read, and finite like the cache.
     */
    DECODE_CACHE_SLACK = (GROUP - 1) * HEAD_DIM * 2
};
static_assert(HEADS == 2 * KV_HEADS && HEAD_DIM == 4 * WARP,
              "attention is laid out for pairs of heads of 128");
static_assert((int)CHAIN_WARPS == (int)HEADS && (int)CHAIN_WARPS >= (int)RECEIVERS,
              "a warp's columns of o are one head's");

/* What a launch runs. A row's splits follow from its own position and from `cut` alone, and `cut` is the same
 * for all positions of a pass: so a row's sums do not depend on its neighbours. */
struct Pass {
    int token[MAX_ROWS];  /* (n) */
    int n, pos;           /* rows; the first one's position */
    int k;                /* best logits, 0: none */
    int cut;              /* groups in a split */
    int splits[MAX_ROWS]; /* of each row */
    int sets, in_set;     /* the rows of a kv head and split are dealt to so many items, so many to each */
};

struct Cache {
    bf16 *k, *v;        /* (LAYERS, KV_HEADS, context, HEAD_DIM) */
    const float2 *rope; /* (context, HEAD_DIM / 2): cosine and sine */
    int context;
};

template <int ROWS> struct AttendShared {
    bf16 q[ROWS][2][Q_STRIDE]; /* (row, head) */
    bf16 k[ROWS][HEAD_DIM], v[ROWS][HEAD_DIM];
    float max[ROWS][2][CHAIN_WARPS], sum[ROWS][2][CHAIN_WARPS];
    alignas(16) float4 o[CHAIN_WARPS][2][HEAD_WORDS];
};

/* An item of work, (kv head, split, set), and the next one. */
struct Item {
    int head, split, set;

    __device__ __forceinline__ void
    next(const Pass &pass)
    {
        if (++set == pass.sets) {
            set = 0;
            if (++split == pass.splits[pass.n - 1])
                split = 0, head++;
        }
    }
};

/* Keys and values of GROUP positions, as a lane needs them. */
struct KeyValue {
    uint4 k[4]; /* [i]: position g, dimensions 32 i + 8 q..; the mma's b */
    uint2 v[8]; /* [n]: position n, dimensions 4 lane.. */

    /* keys, values: (positions, HEAD_DIM), from this group's first. What lies past the context's end so far
     * is read too: it is finite, and its weight will be 0. */
    __device__ __forceinline__ void
    load(const bf16 *keys, const bf16 *values)
    {
        const uint32_t lane = lane_index();
        keys += lane / 4 * HEAD_DIM + lane % 4 * 8;
        values += lane * 4;
#pragma unroll
        for (int i = 0; i < 4; i++)
            k[i] = *(const uint4 *)(keys + 32 * i);
#pragma unroll
        for (int n = 0; n < 8; n++)
            v[n] = *(const uint2 *)(values + n * HEAD_DIM);
    }

    /* Puts in the keys and values of this pass, (rows, HEAD_DIM), of which this group's first position would
     * be number `first`. */
    __device__ __forceinline__ void
    patch(const bf16 (*keys)[HEAD_DIM], const bf16 (*values)[HEAD_DIM], int first, int rows)
    {
        const uint32_t lane = lane_index();
        const int row = first + (int)lane / 4;
        if (row >= 0 && row < rows)
#pragma unroll
            for (int i = 0; i < 4; i++)
                k[i] = *(const uint4 *)&keys[row][32 * i + lane % 4 * 8];
#pragma unroll
        for (int n = 0; n < 8; n++)
            if (first + n >= 0 && first + n < rows)
                v[n] = *(const uint2 *)&values[first + n][lane * 4];
    }
};

/* Receives one head of q, k or v, with RMSNorm over the head and RoPE if there is a norm: a lane has four
 * dimensions, and the lane 16 further those that RoPE turns them against. table: the position's. */
__device__ __forceinline__ void
receive_head(float (&v)[4], const Word *words, uint32_t epoch, const bf16 *norm, const float2 *table)
{
    const uint32_t lane = lane_index();
    const float4 *at = (const float4 *)(table + lane % 16 * 4);
    float4 r0 = {}, r1 = {};
    uint2 weights = {};
    if (norm) {
        weights = *(const uint2 *)(norm + 4 * lane);
        r0 = at[0], r1 = at[1];
    }
    word_four(v, word_wait(words + lane, epoch));
    if (!norm)
        return;
    const float scale = rsqrtf(warp_sum(squares(v)) / HEAD_DIM + RMS_NORM_EPS);
    const float2 n0 = unpack(weights.x), n1 = unpack(weights.y);
    const float n[4] = {n0.x, n0.y, n1.x, n1.y};
    const float cosine[4] = {r0.x, r0.z, r1.x, r1.z}, sine[4] = {r0.y, r0.w, r1.y, r1.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float own = v[i] * scale * n[i], other = __shfl_xor_sync(~0u, own, 16);
        v[i] = __fmaf_rn(own, cosine[i], __fmul_rn(other, lane < 16 ? -sine[i] : sine[i]));
    }
}

/* Task t of an item with rows first..last-1: q of its rows, then k and v of the rows up to its last, since
 * later rows look at earlier ones. k and v that lie in this split are also stored in the cache, once. */
template <int ROWS>
__device__ __forceinline__ void
receive_qkv(AttendShared<ROWS> &s, const Cache &cache, const LayerWeights &w, const Word *words,
            const Pass &pass, const Item &item, int t, int first, int last, uint32_t at, uint32_t epoch)
{
    const uint32_t lane = lane_index();
    const int queries = 2 * (last - first), q = t < queries, u = q ? t : t - queries, which = u % 2;
    const int row = q ? first + u / 2 : u / 2, pos = pass.pos + row;
    float v[4];

    if (!q && (unsigned)(pos / GROUP - item.split * pass.cut) >= (unsigned)pass.cut)
        return;
    words +=
        row * (QKV_DIM / 4) + (q ? 2 * item.head + which : HEADS + which * KV_HEADS + item.head) * HEAD_WORDS;
    receive_head(v, words, epoch,
                 q            ? w.q_norm
                 : which == 0 ? w.k_norm
                              : NULL,
                 cache.rope + pos * (HEAD_DIM / 2));
    if (q) {
        const float scale = 1.4426950408889634f * 0.08838834764831845f; /* log2(e) / sqrt(HEAD_DIM) */
        bf16 *to = &s.q[row][which][lane / 2 * 8 + lane % 2 * 2];
        *(uint32_t *)to = pack(v[0] * scale, v[1] * scale); /* see the scores below for the order */
        *(uint32_t *)(to + 4) = pack(v[2] * scale, v[3] * scale);
        return;
    }
    const uint2 packed = make_uint2(pack(v[0], v[1]), pack(v[2], v[3]));
    *(uint2 *)&(which == 0 ? s.k : s.v)[row][4 * lane] = packed;
    if (row >= first)
        *(uint2 *)&(which == 0 ? cache.k : cache.v)[at + pos * HEAD_DIM + 4 * lane] = packed;
}

/* Attention of one kv head's two query heads over the positions of one split, for the rows of one set. The
 * warps take GROUP positions at a time, each with a softmax of its own (online, as in FlashAttention), and
 * merge at the end. words: (MAX_ROWS, QKV_DIM / 4), four fp32; out: (MAX_ROWS, HEADS, MAX_SPLITS,
 * HEAD_WORDS), four bf16 and the log2 of the softmax' denominator. */
template <int ROWS>
__device__ __forceinline__ void
attend(AttendShared<ROWS> &s, const Cache &cache, const LayerWeights &w, const Word *words, Word *out,
       int layer, const Item &item, const Pass &pass, uint32_t warp, uint32_t epoch)
{
    enum { SWEEP = ROWS < SWEEP_ROWS ? ROWS : (int)SWEEP_ROWS };
    const uint32_t lane = lane_index(), g = lane / 4;
    const int n = ROWS == 1 ? 1 : pass.n, in_set = ROWS == 1 ? 1 : pass.in_set;
    const int first_row = ROWS == 1 ? 0 : item.set * in_set, last_row = min(n, first_row + in_set);
    const int first = item.split * pass.cut,
              last = min(first + pass.cut, (pass.pos + last_row - 1) / GROUP + 1);
    if (ROWS > 1 && (first_row >= last_row || first >= last))
        return;
    const uint32_t at = (uint32_t)(layer * KV_HEADS + item.head) * cache.context * HEAD_DIM;
    const int tasks = 2 * (last_row - first_row) + 2 * last_row;
    KeyValue kv = {}; /* set here, or its registers would be taken through all phases */
    int group;
    auto load = [&] {
        const size_t from = at + group * GROUP * HEAD_DIM;
        if (group < last)
            kv.load(cache.k + from, cache.v + from);
    };
    auto begin = [&] { group = first + (int)(warp + CHAIN_WARPS - RECEIVERS) % CHAIN_WARPS; };

    begin();
    if ((int)warp >=
        tasks) /* earlier positions do not depend on this pass: fetch them before its q arrives */
        load();
    else {
#pragma unroll 1
        for (int t = warp; t < tasks; t += CHAIN_WARPS)
            receive_qkv(s, cache, w, words, pass, item, t, first_row, last_row, at, epoch);
        load(); /* not earlier: the words would have come after it */
    }
    chain_sync();

#pragma unroll 1
    for (int row = first_row; row < last_row; row += SWEEP) {
        /* Scores: queries are a's rows, keys b's columns, so lane (g, q) holds row g at positions 2q, 2q + 1;
         * row g is head g & 1 of the sweep's row g / 2. a's second and third pair of columns are swapped, so
         * that four registers serve two products: rows 0-7 in the first, 8-15 in the second. Values: a lane
         * sums four dimensions of all rows, the weights come by shuffles. */
        const int own_row = ROWS == 1 ? 0 : min(row + (int)g / 2 % SWEEP, last_row - 1),
                  pos = pass.pos + own_row;
        float4 o[SWEEP][2] = {};
        bool merging = row > first_row; /* a row before may still be */
        float max = -INFINITY, sum = 0;
        if (row > first_row) {
            begin();
            load();
        }
#pragma unroll 1
        while (group < last) {
            float c[2][4] = {};
            if (group >= pass.pos / GROUP)
                kv.patch(s.k, s.v, group * GROUP - pass.pos, last_row);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                uint4 q = *(const uint4 *)&s.q[own_row][g & 1][32 * i + lane % 4 * 8];
                mma(c[0], q.x, q.y, q.z, q.w, kv.k[i].x, kv.k[i].y);
                mma(c[1], q.x, q.y, q.z, q.w, kv.k[i].z, kv.k[i].w);
            }
            float p0 = c[0][0] + c[1][2], p1 = c[0][1] + c[1][3];
            const int position = group * GROUP + lane % 4 * 2;
            if (position > pos)
                p0 = -INFINITY;
            if (position + 1 > pos)
                p1 = -INFINITY;
            float top = fmaxf(max, fmaxf(p0, p1));
            top = fmaxf(top, __shfl_xor_sync(~0u, top, 1));
            top = fmaxf(top, __shfl_xor_sync(~0u, top, 2));
            float shrink = fast_exp2(max - top);
            p0 = fast_exp2(p0 - top);
            p1 = fast_exp2(p1 - top);
            if (ROWS > 1 && group * GROUP > pos) /* this row ends before the group */
                shrink = 1, p0 = p1 = 0;
            max = top;
            sum = __fmaf_rn(sum, shrink, p0 + p1);
#pragma unroll
            for (int r = 0; r < SWEEP; r++) {
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    const int from = 8 * r + 4 * h;
                    float e = __shfl_sync(~0u, shrink, from);
                    float4 t = o[r][h];
                    t.x *= e, t.y *= e, t.z *= e, t.w *= e;
#pragma unroll
                    for (int i = 0; i < 8; i++) {
                        float p = __shfl_sync(~0u, i % 2 ? p1 : p0, from + i / 2);
                        float2 a = unpack(kv.v[i].x), b = unpack(kv.v[i].y);
                        t.x = __fmaf_rn(p, a.x, t.x), t.y = __fmaf_rn(p, a.y, t.y);
                        t.z = __fmaf_rn(p, b.x, t.z), t.w = __fmaf_rn(p, b.y, t.w);
                    }
                    o[r][h] = t;
                }
            }
            group += CHAIN_WARPS;
            load();
        }
        sum += __shfl_xor_sync(~0u, sum, 1);
        sum += __shfl_xor_sync(~0u, sum, 2);
        if (lane % 4 == 0 && g < 2 * SWEEP) {
            s.max[own_row][g & 1][warp] = max;
            s.sum[own_row][g & 1][warp] = sum;
        }
#pragma unroll
        for (int r = 0; r < SWEEP; r++) {
            if (row + r >= last_row || first > (pass.pos + row + r) / GROUP)
                continue;
            if (merging)
                chain_sync();
            merging = true;
            s.o[warp][0][lane] = o[r][0];
            s.o[warp][1][lane] = o[r][1];
            chain_sync();
            if (warp < 2) { /* one head each: the warps' results become the split's */
                float own = lane < CHAIN_WARPS ? s.max[row + r][warp][lane] : -INFINITY, all = warp_max(own);
                float weight = fast_exp2(own - all), total = 0;
                float4 v = make_float4(0, 0, 0, 0);
#pragma unroll MERGE_WARPS
                for (int i = 0; i < CHAIN_WARPS; i++) {
                    float e = __shfl_sync(~0u, weight, i);
                    float4 t = s.o[i][warp][lane];
                    total = __fmaf_rn(e, s.sum[row + r][warp][i], total);
                    v.x = __fmaf_rn(e, t.x, v.x), v.y = __fmaf_rn(e, t.y, v.y);
                    v.z = __fmaf_rn(e, t.z, v.z), v.w = __fmaf_rn(e, t.w, v.w);
                }
                float scale = __fdividef(1, total);
                word_send(out +
                              (((row + r) * HEADS + 2 * item.head + warp) * MAX_SPLITS + item.split) *
                                  HEAD_WORDS +
                              lane,
                          pack(v.x * scale, v.y * scale), pack(v.z * scale, v.w * scale),
                          __float_as_uint(all + __log2f(total)), epoch);
            }
        }
    }
}

/* This block's share of putting a row's splits together: 8 splits by 4 words a load. words: (HEADS,
 * MAX_SPLITS, HEAD_WORDS), combined: (HEADS, HEAD_WORDS), four bf16. */
__device__ __forceinline__ void
combine(Word *combined, const Word *words, int splits, uint32_t epoch)
{
    const uint32_t lane = lane_index();
#pragma unroll 1
    for (int first = blockIdx.x * 4; first < HEADS * HEAD_WORDS; first += gridDim.x * 4) {
        const int word = first + lane % 4, split = lane / 4;
        const Word *p = words + (word / HEAD_WORDS * MAX_SPLITS + split) * HEAD_WORDS + word % HEAD_WORDS;
        Word v[2];
#pragma unroll
        for (int i = 0; i < 2; i++)
            v[i] = split + 8 * i < splits ? word_load(p + i * 8 * HEAD_WORDS)
                                          : make_uint4(0, 0, __float_as_uint(-INFINITY), epoch);
#pragma unroll
        for (int i = 0; i < 2; i++)
            while (__any_sync(~0u, v[i].w != epoch))
                if (split + 8 * i < splits)
                    v[i] = word_load(p + i * 8 * HEAD_WORDS);
        float a = __uint_as_float(v[0].z), b = __uint_as_float(v[1].z), top = fmaxf(a, b);
#pragma unroll
        for (int m = 4; m < 32; m *= 2)
            top = fmaxf(top, __shfl_xor_sync(~0u, top, m));
        a = fast_exp2(a - top), b = fast_exp2(b - top);
        float2 x0 = unpack(v[0].x), y0 = unpack(v[0].y), x1 = unpack(v[1].x), y1 = unpack(v[1].y);
        float t[5] = {a + b, __fmaf_rn(b, x1.x, a * x0.x), __fmaf_rn(b, x1.y, a * x0.y),
                      __fmaf_rn(b, y1.x, a * y0.x), __fmaf_rn(b, y1.y, a * y0.y)};
#pragma unroll
        for (int m = 4; m < 32; m *= 2)
#pragma unroll
            for (int i = 0; i < 5; i++)
                t[i] += __shfl_xor_sync(~0u, t[i], m);
        const float scale = __fdividef(1, t[0]);
        if (lane < 4)
            word_send(combined + word, pack(t[1] * scale, t[2] * scale), pack(t[3] * scale, t[4] * scale), 0,
                      epoch);
    }
}

/* Two splits in one. */
__device__ __forceinline__ Word
merge(const Word &v, const Word &u)
{
    float a = __uint_as_float(v.z), b = __uint_as_float(u.z), top = fmaxf(a, b);
    a = fast_exp2(a - top), b = fast_exp2(b - top);
    const float scale = __fdividef(1, a + b);
    const float2 x0 = unpack(v.x), y0 = unpack(v.y), x1 = unpack(u.x), y1 = unpack(u.y);
    a *= scale, b *= scale;
    return make_uint4(pack(__fmaf_rn(b, x1.x, a * x0.x), __fmaf_rn(b, x1.y, a * x0.y)),
                      pack(__fmaf_rn(b, y1.x, a * y0.x), __fmaf_rn(b, y1.y, a * y0.y)), 0, 0);
}

#endif
