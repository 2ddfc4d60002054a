/* kernels.cuh: the kernels of prefill, the table of RoPE, the sort of all logits, the card's read bandwidth.
 *
 * A kernel of prefill works on n tokens at once, one row of a matrix for each. Matrices are row-major; those
 * that go into a matrix product are bf16, the residual stream and every sum are fp32. All kernels but the
 * last stand beside a function that launches them and does not wait. */
#ifndef KERNELS_CUH
#define KERNELS_CUH

#include <stdint.h>

#include <cub/device/device_radix_sort.cuh>
#include <cuda_bf16.h>

#include "config.h"
#include "gpu.cuh"
#include "sampler.h"
#include "weights.cuh"

enum {
    SHARING = HEADS / KV_HEADS, /* query heads that share a key/value head */
};

static_assert(HEADS % KV_HEADS == 0, "every key/value head serves as many query heads");
static_assert(HEAD_DIM == 128, "a lane holds 4 elements of a head, a head is 16 pieces of 16 bytes");
static_assert(HIDDEN % 128 == 0 && INTERMEDIATE % 8 == 0,
              "rows are read in float4 by a warp, 8 bf16 by a thread");

/* ---- pieces ---- */

__host__ __device__ constexpr int
ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}

/* threadIdx.x, read again at each use, so that nothing which follows from it stays in a register. */
static __device__ __forceinline__ int
thread_index(void)
{
    int i;

    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(i));
    return i;
}

/* ---- embedding ---- */

/* x[i] = embed[token[i]]. One block a token; a warp has 8 elements at a time. */
template <int FORM>
KERNEL(CHAIN_THREADS)
embedding_kernel(float *x /* (n, HIDDEN) */, Matrix embed /* (VOCAB, HIDDEN) */, const int *token /* (n) */)
{
#pragma unroll
    for (int i = 0; i < HIDDEN / 8 / CHAIN_WARPS; i++) {
        const int eight = i * CHAIN_WARPS + warp_index();
        const float v = weight_of_row<FORM>(embed, token[blockIdx.x], eight);
        if (lane_index() < 8)
            x[(size_t)blockIdx.x * HIDDEN + eight * 8 + lane_index()] = v;
    }
}

/* The kernel for a form. */
static inline auto
embedding_kernel_for(int form)
{
    return form == 16 ? embedding_kernel<16> : form == 12 ? embedding_kernel<12> : embedding_kernel<8>;
}

static inline const char *
embedding(float *x, const Matrix &embed, int form, const int *token, int n, cudaStream_t stream)
{
    embedding_kernel_for(form)<<<n, CHAIN_THREADS, 0, stream>>>(x, embed, token);
    return gpu_launched("embedding");
}

/* ---- RMSNorm ---- */

enum { RMSNORM_WARPS = 4, RMSNORM_THREADS = RMSNORM_WARPS * WARP };

/* out = x / sqrt(mean(x^2) + eps) * weight, row by row. A warp has a whole row in registers, so it reads it
 * once and needs no shared memory; blocks of only 4 warps, so that 2,048 rows still fill the largest card. */
KERNEL(RMSNORM_THREADS)
rmsnorm_kernel(bf16 *out /* (n, HIDDEN) */, const float *x /* (n, HIDDEN) */,
               const bf16 *weight /* (HIDDEN) */, int n)
{
    int row = blockIdx.x * RMSNORM_WARPS + threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const float4 *in = (const float4 *)(x + (size_t)row * HIDDEN);
    float4 v[HIDDEN / 128];
    float sum = 0;

    if (row >= n)
        return;
#pragma unroll
    for (int i = 0; i < HIDDEN / 128; i++) {
        v[i] = in[i * WARP + lane];
        sum += v[i].x * v[i].x + v[i].y * v[i].y + v[i].z * v[i].z + v[i].w * v[i].w;
    }
    float scale = rsqrtf(warp_sum(sum) / HIDDEN + RMS_NORM_EPS);
#pragma unroll
    for (int i = 0; i < HIDDEN / 128; i++) {
        uint2 w = ((const uint2 *)weight)[i * WARP + lane];
        float2 a = unpack(w.x), b = unpack(w.y);

        ((uint2 *)(out + (size_t)row * HIDDEN))[i * WARP + lane] =
            make_uint2(pack(v[i].x * scale * a.x, v[i].y * scale * a.y),
                       pack(v[i].z * scale * b.x, v[i].w * scale * b.y));
    }
}

static inline const char *
rmsnorm(bf16 *out, const float *x, const bf16 *weight, int n, cudaStream_t stream)
{
    rmsnorm_kernel<<<ceil_div(n, RMSNORM_WARPS), RMSNORM_THREADS, 0, stream>>>(out, x, weight, n);
    return gpu_launched("rmsnorm");
}

/* ---- the table of RoPE ---- */

/* rope[pos][i] = cosine and sine of pos * theta^(-2i / HEAD_DIM), in double precision and rounded once. The
 * angle is given in units of pi, in which no angle is too large for a short computation. One block a
 * position. */
KERNEL(HEAD_DIM / 2)
rope_table_kernel(float2 *rope /* (context, HEAD_DIM / 2) */, double log2_theta)
{
    const int pos = blockIdx.x, i = threadIdx.x;
    double cosine, sine;

    sincospi(pos * exp2(-2.0 * i / HEAD_DIM * log2_theta) / 3.14159265358979323846, &sine, &cosine);
    rope[(size_t)pos * (HEAD_DIM / 2) + i] = make_float2((float)cosine, (float)sine);
}

static inline const char *
rope_table(float2 *rope, int context, cudaStream_t stream)
{
    rope_table_kernel<<<context, HEAD_DIM / 2, 0, stream>>>(rope, log2(ROPE_THETA));
    return gpu_launched("rope_table");
}

/* ---- q/k norm, RoPE, KV store ---- */

enum { ROPE_WARPS = 8, ROPE_THREADS = ROPE_WARPS * WARP };

/* Every head of q and k: RMSNorm, then the rotation by its position, in fp32 and rounded once. q stays where
 * it is, k and v go into the cache of this layer. One warp a head; a lane holds dimensions 2l, 2l + 1 and, 64
 * further on, their partners in the rotation (the halves of a head turn against each other, as in Hugging
 * Face's rotate_half). */
KERNEL(ROPE_THREADS)
norm_rope_store_kernel(bf16 *qkv /* (n, QKV_DIM) */, bf16 *k_cache /* (KV_HEADS, context, HEAD_DIM) */,
                       bf16 *v_cache /* (KV_HEADS, context, HEAD_DIM) */, const bf16 *q_norm /* (HEAD_DIM) */,
                       const bf16 *k_norm /* (HEAD_DIM) */,
                       const float2 *rope /* (context, HEAD_DIM / 2): cosine, sine */, int n, int pos,
                       int context)
{
    const int heads = HEADS + 2 * KV_HEADS;
    int unit = blockIdx.x * ROPE_WARPS + threadIdx.x / WARP, lane = threadIdx.x % WARP;
    int row = unit / heads, head = unit % heads;

    if (row >= n)
        return;
    uint32_t *in = (uint32_t *)(qkv + (size_t)row * QKV_DIM + head * HEAD_DIM), *out = in;
    if (head >= HEADS) {
        int kv_head = (head - HEADS) % KV_HEADS;
        bf16 *cache = head < HEADS + KV_HEADS ? k_cache : v_cache;

        out = (uint32_t *)(cache + ((size_t)kv_head * context + pos + row) * HEAD_DIM);
    }
    uint32_t low = in[lane], high = in[WARP + lane];

    if (head < HEADS + KV_HEADS) {
        const uint32_t *weight = (const uint32_t *)(head < HEADS ? q_norm : k_norm);
        float2 a = unpack(low), b = unpack(high), wa = unpack(weight[lane]), wb = unpack(weight[WARP + lane]);
        float4 rotation = ((const float4 *)(rope + (size_t)(pos + row) * (HEAD_DIM / 2)))[lane];
        float scale =
            rsqrtf(warp_sum(a.x * a.x + a.y * a.y + b.x * b.x + b.y * b.y) / HEAD_DIM + RMS_NORM_EPS);

        a = make_float2(a.x * scale * wa.x, a.y * scale * wa.y);
        b = make_float2(b.x * scale * wb.x, b.y * scale * wb.y);
        low = pack(a.x * rotation.x - b.x * rotation.y, a.y * rotation.z - b.y * rotation.w);
        high = pack(b.x * rotation.x + a.x * rotation.y, b.y * rotation.z + a.y * rotation.w);
    }
    out[lane] = low;
    out[WARP + lane] = high;
}

static inline const char *
norm_rope_store(bf16 *qkv, bf16 *k_cache, bf16 *v_cache, const bf16 *q_norm, const bf16 *k_norm,
                const float2 *rope, int n, int pos, int context, cudaStream_t stream)
{
    int units = n * (HEADS + 2 * KV_HEADS);

    norm_rope_store_kernel<<<ceil_div(units, ROPE_WARPS), ROPE_THREADS, 0, stream>>>(
        qkv, k_cache, v_cache, q_norm, k_norm, rope, n, pos, context);
    return gpu_launched("norm_rope_store");
}

/* ---- attention ---- */

/* log2(e) / sqrt(HEAD_DIM): the softmax uses powers of 2. */
#define ATTENTION_LOG2 (1.44269504f * 0.0883883476f)

/* FlashAttention-2 (Dao, 2023): a block holds a tile of queries and walks over the keys and values it may
 * see, with a running maximum and sum, so no matrix of scores ever exists.
 *
 * The query heads that share a key/value head are rows of one tile, because they read the same keys: row r of
 * the tile is token r / SHARING, head r % SHARING. A warp has 32 rows; each fragment of K or V that it reads
 * from shared memory feeds two products, without which shared memory, not the tensor cores, would be the
 * limit. */
enum {
    ATTENTION_WARPS = 4,
    ATTENTION_TILES = 2, /* 16 rows each, of a warp */
    ATTENTION_ROWS = ATTENTION_WARPS * ATTENTION_TILES * 16,
    ATTENTION_TOKENS = ATTENTION_ROWS / SHARING,
    ATTENTION_KEYS = 64, /* of one step */
    ATTENTION_THREADS = ATTENTION_WARPS * WARP,

    /* Shared memory: the queries, then two stages of keys and values. 96 KB: one block on sm_86, two on
     * sm_90. */
    PIECES = HEAD_DIM * (int)sizeof(bf16) / 16, /* of a row, 16 bytes each */
    ROW_BYTES = HEAD_DIM * (int)sizeof(bf16),
    QUERY_BYTES = ATTENTION_ROWS * ROW_BYTES,
    KEY_BYTES = ATTENTION_KEYS * ROW_BYTES,
    ATTENTION_SHARED = QUERY_BYTES + 4 * KEY_BYTES,

    ATTENTION_SPLITS = 32,         /* of the keys, at most */
    ATTENTION_WORKSPACE = 32 << 20 /* bytes, for what they found */
};

static_assert(ATTENTION_ROWS % SHARING == 0, "a tile holds whole tokens");

/* Where a piece of a row lies: the eight rows that ldmatrix reads together fall into different banks. */
static __device__ __forceinline__ uint32_t
swizzle(int row, int piece)
{
    return row * ROW_BYTES + ((piece ^ (row & 7)) << 4);
}

/* Starts the copy of `rows` rows of HEAD_DIM into shared memory, `heads` of them for a token: row r comes
 * from src + (r / heads) * stride + (r % heads) * HEAD_DIM. Rows from `limit` on are zeros: what lies there
 * may be no number. */
template <int rows, int heads>
static __device__ __forceinline__ void
load_rows(uint32_t shared, const bf16 *src, int stride, int limit)
{
#pragma unroll
    for (int i = thread_index(); i < rows * PIECES; i += ATTENTION_THREADS) {
        int row = i / PIECES, piece = i % PIECES, bytes = row < limit ? 16 : 0;
        const bf16 *from = src + (row / heads) * stride + (row % heads) * HEAD_DIM + piece * 8;

        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared + swizzle(row, piece)),
                     "l"(from), "r"(bytes)
                     : "memory");
    }
}

static __device__ __forceinline__ void
ldmatrix(uint32_t r[4], uint32_t shared)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared)
                 : "memory");
}

static __device__ __forceinline__ void
ldmatrix_transposed(uint32_t r[4], uint32_t shared)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared)
                 : "memory");
}

/* s = q x k^T for the 32 rows of a warp and the keys of one step. The pieces 2d and 2d + 1 of a row lie where
 * 0 and 1 do, but for three bits: there are no registers to keep all these addresses in. */
static __device__ __forceinline__ void
attention_scores(float s[ATTENTION_TILES][ATTENTION_KEYS / 8][4], uint32_t queries, uint32_t keys)
{
    int thread = thread_index(), lane = thread % WARP;

    queries += swizzle(thread / WARP * ATTENTION_TILES * 16 + lane % 16, lane / 16);
    keys += swizzle(lane / 16 * 8 + lane % 8, lane / 8 % 2);
#pragma unroll
    for (int t = 0; t < ATTENTION_TILES; t++)
#pragma unroll
        for (int j = 0; j < ATTENTION_KEYS / 8; j++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                s[t][j][i] = 0;
#pragma unroll
    for (int d = 0; d < HEAD_DIM / 16; d++) {
        uint32_t q[ATTENTION_TILES][4];

#pragma unroll
        for (int t = 0; t < ATTENTION_TILES; t++)
            ldmatrix(q[t], (queries ^ d << 5) + t * 16 * ROW_BYTES);
#pragma unroll
        for (int j = 0; j < ATTENTION_KEYS / 16; j++) {
            uint32_t k[4];

            ldmatrix(k, (keys ^ d << 5) + j * 16 * ROW_BYTES);
#pragma unroll
            for (int t = 0; t < ATTENTION_TILES; t++) {
                mma(s[t][2 * j], q[t][0], q[t][1], q[t][2], q[t][3], k[0], k[1]);
                mma(s[t][2 * j + 1], q[t][0], q[t][1], q[t][2], q[t][3], k[2], k[3]);
            }
        }
    }
}

/* o += p x v for the 32 rows of a warp; two neighbouring key tiles of p, as the softmax leaves them, are the
 * operand that a product over 16 keys wants. */
static __device__ __forceinline__ void
attention_values(float o[ATTENTION_TILES][HEAD_DIM / 8][4],
                 const uint32_t p[ATTENTION_TILES][ATTENTION_KEYS / 8][2], uint32_t values)
{
    int lane = thread_index() % WARP;

    values += swizzle(lane % 16, lane / 16);
#pragma unroll
    for (int j = 0; j < ATTENTION_KEYS / 16; j++)
#pragma unroll
        for (int d = 0; d < HEAD_DIM / 16; d++) {
            uint32_t v[4];

            ldmatrix_transposed(v, (values ^ d << 5) + j * 16 * ROW_BYTES);
#pragma unroll
            for (int t = 0; t < ATTENTION_TILES; t++) {
                const uint32_t *a = p[t][2 * j], *b = p[t][2 * j + 1];

                mma(o[t][2 * d], a[0], a[1], b[0], b[1], v[0], v[1]);
                mma(o[t][2 * d + 1], a[0], a[1], b[0], b[1], v[2], v[3]);
            }
        }
}

/* The row of the block's tile whose scores a thread holds in elements 2h and 2h + 1 of its tile t. */
static __device__ __forceinline__ int
attention_row(int thread, int t, int h)
{
    return (thread / WARP * ATTENTION_TILES + t) * 16 + h * 8 + thread % WARP / 4;
}

/* What one block of several that share the keys of a tile has found: its output, and the logarithm of the sum
 * of its softmax, by which attention_merge_kernel weighs it. */
typedef struct {
    float *out;     /* (splits, n, HEADS, HEAD_DIM) */
    float *log_sum; /* (splits, n, HEADS), to base 2 */
} Partial;

/* Of the 32 rows of a warp: rows g and g + 8 of each 16 in a thread. */
struct AttentionRows {
    float o[ATTENTION_TILES][HEAD_DIM / 8][4] = {}; /* the output so far, not yet divided by the sum */
    float maximum[ATTENTION_TILES][2], sum[ATTENTION_TILES][2] = {}; /* of the softmax */

    __device__ __forceinline__
    AttentionRows()
    {
#pragma unroll
        for (int t = 0; t < ATTENTION_TILES; t++)
            maximum[t][0] = maximum[t][1] = -INFINITY;
    }
};

/* p = exp(s - maximum) for the scores of one step; `first` is the position of the tile's first token. A new
 * maximum corrects what was summed up before. */
static __device__ __forceinline__ void
attention_softmax(AttentionRows &r, float s[ATTENTION_TILES][ATTENTION_KEYS / 8][4],
                  uint32_t p[ATTENTION_TILES][ATTENTION_KEYS / 8][2], int step, int first)
{
#pragma unroll
    for (int t = 0; t < ATTENTION_TILES; t++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float highest = r.maximum[t][h], total = 0;

            if ((step + 1) * ATTENTION_KEYS > first + 1) { /* keys that some row does not see */
                int thread = thread_index(), row = attention_row(thread, t, h);
                int visible = first + row / SHARING - step * ATTENTION_KEYS - thread % 4 * 2;

#pragma unroll
                for (int j = 0; j < ATTENTION_KEYS / 8; j++)
#pragma unroll
                    for (int i = 0; i < 2; i++)
                        if (j * 8 + i > visible)
                            s[t][j][2 * h + i] = -INFINITY;
            }
#pragma unroll
            for (int j = 0; j < ATTENTION_KEYS / 8; j++)
                highest = fmaxf(highest, fmaxf(s[t][j][2 * h], s[t][j][2 * h + 1]));
            highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 1));
            highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 2));

            /* Later steps seldom raise a maximum, so most need no correction. */
            if (__any_sync(~0u, highest > r.maximum[t][h])) {
                float correction = fast_exp2((r.maximum[t][h] - highest) * ATTENTION_LOG2);

                r.maximum[t][h] = highest;
                r.sum[t][h] *= correction;
#pragma unroll
                for (int d = 0; d < HEAD_DIM / 8; d++) {
                    r.o[t][d][2 * h] *= correction;
                    r.o[t][d][2 * h + 1] *= correction;
                }
            }
            /* Every row sees a key of the first step: the maximum is a number. */
            float shift = highest * ATTENTION_LOG2;
#pragma unroll
            for (int j = 0; j < ATTENTION_KEYS / 8; j++) {
                float a = fast_exp2(fmaf(s[t][j][2 * h], ATTENTION_LOG2, -shift));
                float b = fast_exp2(fmaf(s[t][j][2 * h + 1], ATTENTION_LOG2, -shift));

                total += a + b;
                p[t][j][h] = pack(a, b);
            }
            r.sum[t][h] += total;
        }
}

/* Writes the rows out, or where the keys are split what this split found; `first` is the row of the tile's
 * first token. */
static __device__ __forceinline__ void
attention_store(const AttentionRows &r, bf16 *out, Partial partial, int n, int first, int kv_head)
{
#pragma unroll
    for (int t = 0; t < ATTENTION_TILES; t++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            int thread = thread_index(), row = attention_row(thread, t, h), token = first + row / SHARING;
            float total = r.sum[t][h];

            total += __shfl_xor_sync(~0u, total, 1);
            total += __shfl_xor_sync(~0u, total, 2);
            float scale = 1 / total;
            size_t at = (size_t)token * HEADS + kv_head * SHARING + row % SHARING;

            if (token >= n)
                continue;
            if (gridDim.y == 1) {
                uint32_t *to = (uint32_t *)(out + at * HEAD_DIM);

#pragma unroll
                for (int d = 0; d < HEAD_DIM / 8; d++)
                    to[d * 4 + thread % 4] = pack(r.o[t][d][2 * h] * scale, r.o[t][d][2 * h + 1] * scale);
            } else {
                at += (size_t)blockIdx.y * n * HEADS;
                float2 *to = (float2 *)(partial.out + at * HEAD_DIM);

#pragma unroll
                for (int d = 0; d < HEAD_DIM / 8; d++)
                    to[d * 4 + thread % 4] =
                        make_float2(r.o[t][d][2 * h] * scale, r.o[t][d][2 * h + 1] * scale);
                if (thread % 4 == 0)
                    partial.log_sum[at] = r.maximum[t][h] * ATTENTION_LOG2 + log2f(total);
            }
        }
}

/* out = softmax(q k^T / sqrt(HEAD_DIM)) v, causal: the token in row i, at position pos + i, sees keys
 * 0..pos + i, all of them in the cache of this layer. Grid (query tiles * KV_HEADS, splits of the keys), 4
 * warps a block. The first half of the blocks takes the tiles from the last one down, the second half from
 * the first one up: two blocks that share a multiprocessor then have about the same work together as any
 * other two. Every row sees a key of every split. */
KERNEL(ATTENTION_THREADS)
attention_kernel(bf16 *out /* (n, Q_DIM) */, const bf16 *qkv /* (n, QKV_DIM) */,
                 const bf16 *k_cache /* (KV_HEADS, context, HEAD_DIM) */,
                 const bf16 *v_cache /* (KV_HEADS, context, HEAD_DIM) */, Partial partial, int n, int pos,
                 int context)
{
    extern __shared__ __align__(256) unsigned char shared[];
    const uint32_t queries = (uint32_t)__cvta_generic_to_shared(shared), stages = queries + QUERY_BYTES;
    const int order = blockIdx.x / KV_HEADS, kv_head = blockIdx.x % KV_HEADS, tiles = gridDim.x / KV_HEADS;
    const int tile = order < ceil_div(tiles, 2) ? tiles - 1 - order : order - ceil_div(tiles, 2);
    const int first = tile * ATTENTION_TOKENS; /* row of the tile's first token */
    const int last = min(first + ATTENTION_TOKENS, n) - 1;
    const int steps = ceil_div(pos + last + 1, ATTENTION_KEYS);
    const int begin = steps * blockIdx.y / gridDim.y, end = steps * (blockIdx.y + 1) / gridDim.y;
    const bf16 *k = k_cache + (size_t)kv_head * context * HEAD_DIM;
    const bf16 *v = v_cache + (size_t)kv_head * context * HEAD_DIM;

    AttentionRows r;

    auto load_step = [&](int step) {
        uint32_t stage = stages + step % 2 * 2 * KEY_BYTES;
        size_t offset = (size_t)step * ATTENTION_KEYS * HEAD_DIM;
        int limit = pos + n - step * ATTENTION_KEYS;

        load_rows<ATTENTION_KEYS, 1>(stage, k + offset, HEAD_DIM, limit);
        load_rows<ATTENTION_KEYS, 1>(stage + KEY_BYTES, v + offset, HEAD_DIM, limit);
        asm volatile("cp.async.commit_group;" ::: "memory");
    };

    load_rows<ATTENTION_ROWS, SHARING>(queries, qkv + (size_t)first * QKV_DIM + kv_head * SHARING * HEAD_DIM,
                                       QKV_DIM, (n - first) * SHARING);
    load_step(begin);
    for (int step = begin; step < end; step++) {
        uint32_t stage = stages + step % 2 * 2 * KEY_BYTES;
        float s[ATTENTION_TILES][ATTENTION_KEYS / 8][4];
        uint32_t p[ATTENTION_TILES][ATTENTION_KEYS / 8][2];

        /* This step's keys are there, and every warp is done with the stage that the next step goes to. */
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        if (step + 1 < end)
            load_step(step + 1);

        attention_scores(s, queries, stage);
        attention_softmax(r, s, p, step, pos + first);
        attention_values(r.o, p, stage + KEY_BYTES);
    }

    attention_store(r, out, partial, n, first, kv_head);
}

/* out = the splits' outputs, weighed. One warp for a head of a token, a lane has four of its elements. */
KERNEL(ATTENTION_THREADS)
attention_merge_kernel(bf16 *out /* (n, Q_DIM) */, Partial partial, int splits, int n)
{
    const int row = blockIdx.x * ATTENTION_WARPS + threadIdx.x / WARP, lane = threadIdx.x % WARP;
    float4 v = make_float4(0, 0, 0, 0);
    float highest = -INFINITY, total = 0;

    if (row >= n * HEADS)
        return;
    for (int i = 0; i < splits; i++)
        highest = fmaxf(highest, partial.log_sum[i * n * HEADS + row]);
    for (int i = 0; i < splits; i++) {
        size_t at = (size_t)i * n * HEADS + row;
        float weight = fast_exp2(partial.log_sum[at] - highest);
        float4 each = ((const float4 *)(partial.out + at * HEAD_DIM))[lane];

        total += weight;
        v.x += weight * each.x;
        v.y += weight * each.y;
        v.z += weight * each.z;
        v.w += weight * each.w;
    }
    float scale = 1 / total;
    ((uint2 *)(out + (size_t)row * HEAD_DIM))[lane] =
        make_uint2(pack(v.x * scale, v.y * scale), pack(v.z * scale, v.w * scale));
}

/* Into how many splits the keys are cut: few tokens behind a long past are few tiles, which alone would
 * leave most of the card idle. A split has four steps or more, and only a tile's last two hold keys that some
 * row does not see. */
static inline int
attention_splits(int n, int pos, int multiprocessors)
{
    int wanted = 2 * multiprocessors / (ceil_div(n, ATTENTION_TOKENS) * KV_HEADS);
    int room = ATTENTION_WORKSPACE / (n * HEADS * (HEAD_DIM + 1) * (int)sizeof(float));
    int splits = min(min(wanted, room), min(pos / (4 * ATTENTION_KEYS), (int)ATTENTION_SPLITS));

    return splits > 1 ? splits : 1;
}

static inline const char *
attention(bf16 *out, const bf16 *qkv, const bf16 *k_cache, const bf16 *v_cache,
          void *workspace /* (ATTENTION_WORKSPACE) bytes */, int n, int pos, int context, int multiprocessors,
          cudaStream_t stream)
{
    int splits = attention_splits(n, pos, multiprocessors);
    size_t rows = (size_t)splits * n * HEADS;
    Partial partial = {(float *)workspace, (float *)workspace + rows * HEAD_DIM};

    attention_kernel<<<dim3(ceil_div(n, ATTENTION_TOKENS) * KV_HEADS, splits), ATTENTION_THREADS,
                       ATTENTION_SHARED, stream>>>(out, qkv, k_cache, v_cache, partial, n, pos, context);
    if (splits > 1)
        attention_merge_kernel<<<ceil_div(n * HEADS, ATTENTION_WARPS), ATTENTION_THREADS, 0, stream>>>(
            out, partial, splits, n);
    return gpu_launched("attention");
}

/* Once, before the first launch: more than 48 KB of shared memory has to be asked for. */
static inline const char *
attention_open(void)
{
    TRY(cudaFuncSetAttribute(attention_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             ATTENTION_SHARED));
    return NULL;
}

/* ---- SiLU x up ---- */

enum { SWIGLU_THREADS = 256 };

static __device__ __forceinline__ uint32_t
swiglu_pair(uint32_t gate, uint32_t up)
{
    float2 g = unpack(gate), u = unpack(up);

    return pack(__fdividef(g.x, 1 + __expf(-g.x)) * u.x, __fdividef(g.y, 1 + __expf(-g.y)) * u.y);
}

/* out = gate / (1 + exp(-gate)) * up, where a row of gate_up is a row of gate, then one of up. Eight
 * elements, 16 bytes, a thread. */
KERNEL(SWIGLU_THREADS)
swiglu_kernel(bf16 *out /* (n, INTERMEDIATE) */, const bf16 *gate_up /* (n, 2 * INTERMEDIATE) */, int n)
{
    const int row_pieces = INTERMEDIATE / 8;
    int i = blockIdx.x * SWIGLU_THREADS + threadIdx.x, row = i / row_pieces, piece = i % row_pieces;

    if (row >= n)
        return;
    const uint4 *in = (const uint4 *)gate_up + (size_t)row * 2 * row_pieces + piece;
    uint4 gate = in[0], up = in[row_pieces];

    ((uint4 *)out)[i] = make_uint4(swiglu_pair(gate.x, up.x), swiglu_pair(gate.y, up.y),
                                   swiglu_pair(gate.z, up.z), swiglu_pair(gate.w, up.w));
}

static inline const char *
swiglu(bf16 *out, const bf16 *gate_up, int n, cudaStream_t stream)
{
    swiglu_kernel<<<ceil_div(n * (INTERMEDIATE / 8), SWIGLU_THREADS), SWIGLU_THREADS, 0, stream>>>(
        out, gate_up, n);
    return gpu_launched("swiglu");
}

/* ---- loading ---- */

/* Loads the kernels of prefill, which otherwise happens at their first launch. */
static inline const char *
prefill_load(int form)
{
    cudaFuncAttributes attributes;

    TRY(attention_open());
    TRY(cudaFuncGetAttributes(&attributes, embedding_kernel_for(form)));
    if (form != 16)
        TRY(cudaFuncGetAttributes(&attributes, form == 12 ? unpack_kernel<12> : unpack_kernel<8>));
    TRY(cudaFuncGetAttributes(&attributes, rmsnorm_kernel));
    TRY(cudaFuncGetAttributes(&attributes, norm_rope_store_kernel));
    TRY(cudaFuncGetAttributes(&attributes, attention_kernel));
    TRY(cudaFuncGetAttributes(&attributes, attention_merge_kernel));
    TRY(cudaFuncGetAttributes(&attributes, swiglu_kernel));
    return NULL;
}

/* ---- all logits, sorted ---- */

enum { SORT_THREADS = 256 };

KERNEL(SORT_THREADS)
number_ids_kernel(int *id /* (VOCAB) */)
{
    int i = blockIdx.x * SORT_THREADS + threadIdx.x;

    if (i < VOCAB)
        id[i] = i;
}

/* id = 0, 1, 2, ...: what the sort permutes. */
static inline const char *
number_ids(int *id, cudaStream_t stream)
{
    number_ids_kernel<<<ceil_div(VOCAB, SORT_THREADS), SORT_THREADS, 0, stream>>>(id);
    return gpu_launched("number_ids");
}

/* What a sort of the logits needs beside them. */
typedef struct {
    int *id;             /* (VOCAB): 0, 1, 2, ... */
    int *sorted_id;      /* (VOCAB) */
    float *sorted_logit; /* (VOCAB) */
    void *scratch;       /* (scratch_bytes), CUB's */
    size_t scratch_bytes;
} Sort;

/* Sets s->scratch_bytes. */
static inline const char *
sort_size(Sort *s)
{
    s->scratch_bytes = 0;
    TRY(cub::DeviceRadixSort::SortPairsDescending(NULL, s->scratch_bytes, (const float *)NULL, (float *)NULL,
                                                  (const int *)NULL, (int *)NULL, (int)VOCAB));
    return NULL;
}

/* id, logit (k), pinned memory of the host: the k best logits, best first. The sort keeps the order of equal
 * logits, and the ids go in ascending: the lower id first. The copy engine takes them there: a kernel that
 * stores into the host's memory sends a small packet for every few of them. */
static inline const char *
sort_best(const Sort *s, const float *logits /* (VOCAB) */, int k, int *id, float *logit, cudaStream_t stream)
{
    size_t bytes = s->scratch_bytes;

    TRY(cub::DeviceRadixSort::SortPairsDescending(s->scratch, bytes, logits, s->sorted_logit, s->id,
                                                  s->sorted_id, (int)VOCAB, 0, 32, stream));
    TRY(cudaMemcpyAsync(id, s->sorted_id, k * sizeof *id, cudaMemcpyDeviceToHost, stream));
    TRY(cudaMemcpyAsync(logit, s->sorted_logit, k * sizeof *logit, cudaMemcpyDeviceToHost, stream));
    return NULL;
}

/* ---- the card's read bandwidth ---- */

enum { READ_THREADS = 512, READ_UNROLL = 8 };

/* Reads n pieces of 16 bytes once, eight of them in flight a thread, and does as little with them as will
 * keep the compiler from leaving them out. A few blocks a multiprocessor, which stride over all of it. */
KERNEL(READ_THREADS)
read_kernel(unsigned *sink /* (1) */, const uint4 *data /* (n) */, size_t n)
{
    size_t step = (size_t)gridDim.x * READ_THREADS;
    unsigned all = 0;

    for (size_t i = (size_t)blockIdx.x * READ_THREADS + threadIdx.x; i < n; i += step * READ_UNROLL) {
        uint4 v[READ_UNROLL];

#pragma unroll
        for (int u = 0; u < READ_UNROLL; u++)
            v[u] = i + u * step < n ? __ldcs(data + i + u * step) : make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int u = 0; u < READ_UNROLL; u++)
            all |= v[u].x ^ v[u].y ^ v[u].z ^ v[u].w;
    }
    if (all == 0)
        *sink = 1; /* never, with weights */
}

#endif
