/* decode.cuh: one token, from its embedding row to the k best logits, in one cooperative kernel.
 *
 * At batch 1 every weight is used once per token, so the time is the time to read the weights, if nothing
 * else gets in the way. What gets in the way is the chain: 28 layers of five matrix products, each of which
 * needs all of the result before it. So the kernel is two programs that meet in shared memory:
 *
 *   the stream   one warp of each block copies this block's share of every matrix, in the order of use, into
 * a ring of tiles. Weights do not depend on activations, so it runs ahead of the chain. the chain    the
 * other warps take tiles from the ring into registers, wait for the activations, multiply on the tensor
 * cores, add up across the warps, and send the result to all blocks.
 *
 * Blocks exchange activations as 16-byte words that carry their own arrival mark (see Word). */
#ifndef DECODE_CUH
#define DECODE_CUH

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <stdint.h>

#include "config.h"
#include "fail.h"
#include "sampler.h"

typedef __nv_bfloat16 bf16;

/* Device pointers; all matrices row-major as in the file. */
struct LayerWeights {
    const bf16 *input_norm; /* (HIDDEN) */
    const bf16 *q_proj;     /* (Q_DIM, HIDDEN), then k_proj (KV_DIM, HIDDEN) and v_proj (KV_DIM, HIDDEN) */
    const bf16 *o_proj;     /* (HIDDEN, Q_DIM) */
    const bf16 *q_norm;     /* (HEAD_DIM) */
    const bf16 *k_norm;     /* (HEAD_DIM) */
    const bf16 *post_norm;  /* (HIDDEN) */
    const bf16 *gate_proj;  /* (INTERMEDIATE, HIDDEN), then up_proj (INTERMEDIATE, HIDDEN) */
    const bf16 *down_proj;  /* (HIDDEN, INTERMEDIATE) */
};

struct Weights {
    const bf16 *embed; /* (VOCAB, HIDDEN) */
    const bf16 *norm;  /* (HIDDEN) */
    LayerWeights layer[LAYERS];
};

enum {
    WARPS = HIDDEN / 64,             /* consumer warps: each owns 1/WARPS of a matrix's columns */
    CONSUMERS = 32 * WARPS,          /* threads */
    DECODE_THREADS = CONSUMERS + 32, /* and one warp that feeds the ring */
    SHARES = HIDDEN / 8,             /* every matrix of a layer is cut into this many equal shares of rows */

    TILE_ROWS = 8, /* a tile: 8 rows of HIDDEN columns, padded so that 2 rows fall into different banks */
    TILE_STRIDE = HIDDEN * 2 + 64, /* bytes */
    TILE_BYTES = TILE_ROWS * TILE_STRIDE,

    QKV_TILES = (Q_DIM + 2 * KV_DIM) / HIDDEN / 2, /* a share of q, k, v: this many mma tiles of 16 rows */
    MLP_TILES = INTERMEDIATE / HIDDEN,             /* a share of gate and up: tiles of 8 gate + 8 up rows */
    HEAD_TILES = 2,
    HEAD_BATCHES = VOCAB / (16 * HEAD_TILES),
    O_SLICE = Q_DIM / WARPS,           /* columns of o_proj for a warp: one head */
    DOWN_SLICE = INTERMEDIATE / WARPS, /* columns of down_proj for a warp */
    H_PER_WORD = DOWN_SLICE / 32,      /* so that a lane receives one word */
    PART_ROWS = 48,
    HALF = 96, /* room for half of a slice */

    GROUP = 8, /* positions that a warp takes at once in attention */
    MAX_SPLITS = 16,
    Q_STRIDE = HEAD_DIM + 32, /* 64 bytes of padding keep two heads in different banks */

    DECODE_MAX_K = 64,
    MAX_GROUPS = 256, /* of logits, and of candidates for the k best */
    STAMPS = 17
};
static_assert(HEADS == 2 * KV_HEADS && HEAD_DIM == 128, "attention is laid out for pairs of heads of 128");
static_assert((int)WARPS == (int)HEADS && WARPS >= 4, "o_proj: a warp's columns are one head's");
static_assert(16 * QKV_TILES == 32 && 16 * HEAD_TILES == 32 && 8 * MLP_TILES <= 32, "one lane a row");
static_assert(O_SLICE / 2 <= HALF && DOWN_SLICE / 2 <= HALF && 16 * MLP_TILES <= PART_ROWS, "");
static_assert(8 * MLP_TILES % H_PER_WORD == 0 && H_PER_WORD <= 6 && VOCAB % 32 == 0, "");

/* A word of an exchange: 12 bytes of payload and the epoch it belongs to, loaded and stored as one 128-bit
 * access, which the memory model keeps whole. So a reader that sees the epoch it waits for has the payload
 * too: no flag, no fence, no second read. */
typedef uint4 Word;

struct Decode {
    Weights weights;
    bf16 *k_cache, *v_cache; /* (LAYERS, KV_HEADS, context, HEAD_DIM) */
    const float2 *rope;      /* (context, HEAD_DIM / 2): cosine and sine */
    int context;

    Word *qkv;         /* ((Q_DIM + 2 KV_DIM) / 2): two fp32 */
    Word *attention;   /* (HEADS, MAX_SPLITS, 32): four bf16 and the log2 of the softmax' denominator */
    Word *mid, *out;   /* (HIDDEN / 2): two fp32 of the residual stream after attention, after the MLP */
    Word *hidden;      /* (INTERMEDIATE / H_PER_WORD): H_PER_WORD bf16 */
    Word *maxima;      /* (256): one fp32 */
    float *logits;     /* (VOCAB) */
    Candidate *best;   /* (DECODE_MAX_K), mapped host memory */
    int *found;        /* mapped host memory: how many of best are valid */
    long long *stamps; /* (blocks, LAYERS + 1, STAMPS) or null */

    int blocks, stages, shared_bytes, depth, head_depth, group_limit, ahead, cooperative;
    uint32_t epoch;
};

/* ---- instructions that C++ has no name for ---- */

__device__ __forceinline__ uint32_t
shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void
mbarrier_init(uint64_t *barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals));
}

__device__ __forceinline__ void
mbarrier_arrive(uint64_t *barrier)
{
    asm volatile(
        "{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(shared_address(barrier))
        : "memory");
}

__device__ __forceinline__ void
mbarrier_wait(uint64_t *barrier, uint32_t parity)
{
    uint32_t done;
    do {
#if __CUDA_ARCH__ >= 900
        asm volatile(
            "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
            : "=r"(done)
            : "r"(shared_address(barrier)), "r"(parity)
            : "memory");
#else
        asm volatile(
            "{\n.reg .pred p;\nmbarrier.test_wait.parity.shared.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
            : "=r"(done)
            : "r"(shared_address(barrier)), "r"(parity)
            : "memory");
#endif
    } while (!done);
}

/* The consumer warps' own barrier; the ring's warp never takes part. */
__device__ __forceinline__ void
consumers_sync(void)
{
    asm volatile("bar.sync 1, %0;" ::"n"((int)CONSUMERS) : "memory");
}

/* c (16, 8) += a (16, 16) b (16, 8). With g = lane / 4 and q = lane % 4 a lane holds a: rows g, g+8 at
 * columns 2q, 2q+1 (a0, a1) and 2q+8, 2q+9 (a2, a3); b: those rows of column g; c: row g (c0, c1) and g+8
 * (c2, c3) at columns 2q, 2q+1. */
__device__ __forceinline__ void
mma(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/* The same with a (16, 8) and b (8, 8). */
__device__ __forceinline__ void
mma8(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t b0)
{
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(b0));
}

/* Two floats to bf16, the first in the low half. */
__device__ __forceinline__ uint32_t
pack(float low, float high)
{
    uint32_t r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}

__device__ __forceinline__ float2
unpack(uint32_t v)
{
    return make_float2(__uint_as_float(v << 16), __uint_as_float(v & 0xffff0000u));
}

__device__ __forceinline__ float
warp_sum(float v)
{
#pragma unroll
    for (int m = 16; m; m >>= 1)
        v += __shfl_xor_sync(~0u, v, m);
    return v;
}

__device__ __forceinline__ Word
word_load(const Word *p)
{
    uint64_t low, high;
    asm volatile("{\n.reg .b128 t;\nld.relaxed.gpu.global.b128 t, [%2];\nmov.b128 {%0, %1}, t;\n}"
                 : "=l"(low), "=l"(high)
                 : "l"(p)
                 : "memory");
    return make_uint4((uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32));
}

__device__ __forceinline__ Word
word_wait(const Word *p, uint32_t epoch, uint32_t lanes = ~0u)
{
    Word v;
    do
        v = word_load(p);
    while (__any_sync(lanes, v.w != epoch));
    return v;
}

__device__ __forceinline__ void
word_send(Word *p, uint32_t x, uint32_t y, uint32_t z, uint32_t epoch)
{
    uint64_t low = x | (uint64_t)y << 32, high = z | (uint64_t)epoch << 32;
    asm volatile("{\n.reg .b128 t;\nmov.b128 t, {%1, %2};\nst.relaxed.gpu.global.b128 [%0], t;\n}" ::"l"(p),
                 "l"(low), "l"(high)
                 : "memory");
}

/* The thread's place, read again at each use: the compiler would otherwise keep every address that it can
 * work out beforehand through all layers, and spill them. */
__device__ __forceinline__ int
lane_index(void)
{
    int i;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(i));
    return i;
}

/* The same for all lanes, and the compiler can tell. */
__device__ __forceinline__ int
warp_index(void)
{
    return __shfl_sync(~0u, threadIdx.x / 32, 0);
}

/* ---- shared memory ---- */

struct Shared {
    float part[2][WARPS][PART_ROWS];         /* partial sums of the rows at hand */
    float sum_squares[2][WARPS];             /* of the vector at hand, for RMSNorm */
    float residual[HIDDEN];                  /* only this block's rows are kept */
    uint32_t activation[WARPS][2][HALF / 2]; /* bf16 pairs; [0], [1]: columns 0 and 1 of the mma's b */
    bf16 q[2][Q_STRIDE];                     /* (head) */
    bf16 k[HEAD_DIM], v[HEAD_DIM];           /* of this token */
    alignas(16) float max[2][WARPS], sum[2][WARPS];
    float4 o[WARPS][2][HEAD_DIM / 4];
    uint64_t full[32], empty[32];
    int first_item, last_item;
    alignas(16) float maxima[MAX_GROUPS];
    int group[MAX_GROUPS], groups, collected;
    float bound;
    Candidate candidate[MAX_GROUPS];
};

/* ---- the ring ---- */

extern __shared__ __align__(128) char memory[]; /* Shared, then the tiles */

enum { RING_OFFSET = (sizeof(Shared) + 127) / 128 * 128 };

/* A position in the ring; the stream and every warp of the chain have their own. */
struct Ring {
    int stages, stage;
    uint32_t parity;

    /* Stage and parity of the i-th tile from here. */
    __device__ __forceinline__ int
    at(int i, uint32_t *p) const
    {
        int s = stage + i;
        *p = parity;
        if (s >= stages || s < 0) {
            s += s < 0 ? stages : -stages;
            *p ^= 1;
        }
        return s;
    }

    __device__ __forceinline__ void
    advance(int n)
    {
        stage = at(n, &parity);
    }

    static __device__ __forceinline__ char *
    tile(int stage)
    {
        return memory + RING_OFFSET + stage * TILE_BYTES;
    }

    static __device__ __forceinline__ uint64_t *
    full(int stage)
    {
        return ((Shared *)memory)->full + stage;
    }

    static __device__ __forceinline__ uint64_t *
    empty(int stage)
    {
        return ((Shared *)memory)->empty + stage;
    }

    /* The i-th tile from here, once it has arrived. */
    __device__ __forceinline__ const char *
    wait(int i) const
    {
        uint32_t p;
        int s = at(i, &p);
        mbarrier_wait(full(s), p);
        return tile(s);
    }

    /* Gives the next n tiles back to be filled again. */
    __device__ __forceinline__ void
    release(int n)
    {
        uint32_t p;
        int lane = lane_index();
        __syncwarp();
        if (lane < n)
            mbarrier_arrive(empty(at(lane, &p)));
        advance(n);
    }
};

/* Starts the copy of one tile: 8 rows of HIDDEN columns, `stride` elements apart. */
__device__ __forceinline__ void
tile_copy(char *tile, const bf16 *rows, int stride, uint64_t *full)
{
    int lane = lane_index();
#if __CUDA_ARCH__ >= 900
    if (lane == 0)
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(full)),
                     "r"(TILE_ROWS * HIDDEN * 2)
                     : "memory");
    __syncwarp();
    if (lane < TILE_ROWS) /* the last operand: evict first, a weight is not needed again in this token */
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
                     "[%1], %2, "
                     "[%3], %4;" ::"r"(shared_address(tile + lane * TILE_STRIDE)),
                     "l"(rows + (size_t)lane * stride), "r"(HIDDEN * 2), "r"(shared_address(full)),
                     "l"(0x12F0000000000000ull)
                     : "memory");
#else
#pragma unroll 8
    for (int i = lane; i < TILE_ROWS * HIDDEN / 8; i += 32) {
        int row = i / (HIDDEN / 8), column = i % (HIDDEN / 8) * 8;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                         shared_address(tile + row * TILE_STRIDE + column * 2)),
                     "l"(rows + (size_t)row * stride + column)
                     : "memory");
    }
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(full)) : "memory");
#endif
}

/* The stream: all of this block's tiles in the order in which the chain takes them. At most `depth` tiles are
 * in flight, because more only queue in front of the exchanges' words. */
__device__ void
stream(const Decode &d, Ring ring, int pos, int splits)
{
    int block = blockIdx.x, blocks = gridDim.x, issued = 0;

    auto copy = [&](const bf16 *rows, int stride, int depth) {
        uint32_t p;
        if (issued >= ring.stages)
            mbarrier_wait(Ring::empty(ring.stage), ring.parity ^ 1);
        if (issued >= depth) {
            int s = ring.at(-depth, &p);
            mbarrier_wait(Ring::full(s), p);
        }
        tile_copy(Ring::tile(ring.stage), rows, stride, Ring::full(ring.stage));
        issued++;
        ring.advance(1);
    };
    /* Asks the L2 for this block's part of a layer's KV cache. */
    auto fetch_cache = [&](int l) {
#if __CUDA_ARCH__ >= 900
        const Shared &s = *(const Shared *)memory;
        if (lane_index() == 0 && l < LAYERS)
            for (int item = s.first_item; item < s.last_item; item++) {
                int groups = pos / GROUP + 1, head = item / splits, split = item % splits;
                int first = groups * split / splits * GROUP,
                    last = min(groups * (split + 1) / splits * GROUP, pos);
                size_t at = ((size_t)(l * KV_HEADS + head) * d.context + first) * HEAD_DIM;
                if (first < last) {
                    uint32_t bytes = (last - first) * HEAD_DIM * 2;
                    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(d.k_cache + at),
                                 "r"(bytes));
                    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(d.v_cache + at),
                                 "r"(bytes));
                }
            }
#endif
    };
    if (d.ahead == 2)
        fetch_cache(0);
#pragma unroll 1
    for (int l = 0; l < LAYERS; l++) {
        const LayerWeights &w = d.weights.layer[l];
        if (d.ahead == 1)
            fetch_cache(l);
#pragma unroll 1
        for (int share = block; share < SHARES; share += blocks)
            for (int i = 0; i < 2 * QKV_TILES; i++)
                copy(w.q_proj + (size_t)(share * 2 * QKV_TILES + i) * TILE_ROWS * HIDDEN, HIDDEN, d.depth);
#pragma unroll 1
        for (int share = block; share < SHARES; share += blocks)
            for (int i = 0; i < Q_DIM / HIDDEN; i++)
                copy(w.o_proj + (size_t)share * TILE_ROWS * Q_DIM + i * HIDDEN, Q_DIM, d.depth);
        if (d.ahead == 2)
            fetch_cache(l + 1);
#pragma unroll 1
        for (int share = block; share < SHARES; share += blocks)
            for (int i = 0; i < MLP_TILES; i++) {
                const bf16 *gate = w.gate_proj + (size_t)(share * MLP_TILES + i) * TILE_ROWS * HIDDEN;
                copy(gate, HIDDEN, d.depth);
                copy(gate + (size_t)INTERMEDIATE * HIDDEN, HIDDEN, d.depth);
            }
#pragma unroll 1
        for (int share = block; share < SHARES; share += blocks)
            for (int i = 0; i < INTERMEDIATE / HIDDEN; i++)
                copy(w.down_proj + (size_t)share * TILE_ROWS * INTERMEDIATE + i * HIDDEN, INTERMEDIATE,
                     d.depth);
    }
#pragma unroll 1
    for (int batch = block; batch < HEAD_BATCHES; batch += blocks)
        for (int i = 0; i < 2 * HEAD_TILES; i++)
            copy(d.weights.embed + (size_t)(batch * 2 * HEAD_TILES + i) * TILE_ROWS * HIDDEN, HIDDEN,
                 d.head_depth);
}

/* ---- matrix times vector ----
 *
 * A warp multiplies its own columns of the rows at hand; the sum over the warps comes later. The weights are
 * the mma's a, straight from the tile: a lane's 16 bytes are 8 neighbouring columns of its row, and b takes
 * the same columns, so their order inside the mma does not matter. Of b's 8 columns two are in use:
 *
 *   wide   16 rows, HIDDEN columns: b's column 0 is the bf16 vector, column 1 what rounding took from it
 *   tall   8 rows, more columns: a's upper 8 rows are the rows with the first half of the warp's columns, its
 * lower 8 the same rows with the second half, and b's columns 0 and 1 the two halves of the vector. */

template <int CHUNKS>
__device__ __forceinline__ void
operand(uint4 (&x)[CHUNKS], const uint32_t (&activation)[2][HALF / 2])
{
    int lane = lane_index();
#pragma unroll
    for (int i = 0; i < CHUNKS; i++)
        x[i] = *(const uint4 *)&activation[lane / 4 & 1][i * 16 + lane % 4 * 4];
}

template <int TILES> struct Wide {
    uint4 a[TILES][2][2]; /* (tile, 32 columns, upper or lower 8 rows) */

    __device__ __forceinline__ void
    load(Ring &ring, int warp)
    {
        int lane = lane_index(),
            offset = lane / 4 * TILE_STRIDE + warp * 128 + lane % 4 * 16;
#pragma unroll
        for (int t = 0; t < TILES; t++) {
#pragma unroll
            for (int r = 0; r < 2; r++) {
                const char *tile = ring.wait(r) + offset;
                a[t][0][r] = *(const uint4 *)tile;
                a[t][1][r] = *(const uint4 *)(tile + 64);
            }
            ring.release(2);
        }
    }

    __device__ __forceinline__ void
    multiply(Shared &s, int turn, int warp) const
    {
        uint4 x[2];
        operand(x, s.activation[warp]);
        int lane = lane_index();
        float *part = s.part[turn][warp];
        float c[TILES][4] = {};
#pragma unroll
        for (int t = 0; t < TILES; t++)
#pragma unroll
            for (int i = 0; i < 2; i++) {
                mma(c[t], a[t][i][0].x, a[t][i][1].x, a[t][i][0].y, a[t][i][1].y, x[i].x, x[i].y);
                mma(c[t], a[t][i][0].z, a[t][i][1].z, a[t][i][0].w, a[t][i][1].w, x[i].z, x[i].w);
            }
        if (lane % 4 == 0)
#pragma unroll
            for (int t = 0; t < TILES; t++) {
                part[t * 16 + lane / 4] = c[t][0] + c[t][1];
                part[t * 16 + 8 + lane / 4] = c[t][2] + c[t][3];
            }
    }
};

template <int SLICE> struct Tall {
    enum { CHUNKS = SLICE / 64 };
    uint4 a[CHUNKS][2];

    __device__ __forceinline__ void
    load(Ring &ring, int warp)
    {
        int lane = lane_index(), offset = lane / 4 * TILE_STRIDE + lane % 4 * 16;
        const char *tile[SLICE * WARPS / HIDDEN];
#pragma unroll
        for (int i = 0; i < SLICE * WARPS / HIDDEN; i++)
            tile[i] = ring.wait(i);
#pragma unroll
        for (int i = 0; i < CHUNKS; i++)
#pragma unroll
            for (int r = 0; r < 2; r++) {
                int column = warp * SLICE + r * (SLICE / 2) + i * 32;
                const char *p = tile[0];
#pragma unroll
                for (int j = 1; j < SLICE * WARPS / HIDDEN; j++)
                    if (column >= j * HIDDEN)
                        p = tile[j];
                a[i][r] = *(const uint4 *)(p + column % HIDDEN * 2 + offset);
            }
        ring.release(SLICE * WARPS / HIDDEN);
    }

    __device__ __forceinline__ void
    multiply(Shared &s, int turn, int warp) const
    {
        uint4 x[CHUNKS];
        operand(x, s.activation[warp]);
        int lane = lane_index();
        float *part = s.part[turn][warp];
        float c[2][4] = {};
#pragma unroll
        for (int i = 0; i < CHUNKS; i++) {
            mma(c[0], a[i][0].x, a[i][1].x, a[i][0].y, a[i][1].y, x[i].x, x[i].y);
            mma(c[1], a[i][0].z, a[i][1].z, a[i][0].w, a[i][1].w, x[i].z, x[i].w);
        }
        if (lane % 4 == 0)
            part[lane / 4] = c[0][0] + c[1][0] + (c[0][3] + c[1][3]);
    }
};

/* ---- receiving: words -> this warp's columns of the vector, as the mma's b ---- */

/* The residual stream times the norm's weights. The factor 1 / rms is left to the sums at the end. */
__device__ __forceinline__ void
receive_residual(Shared &s, int warp, const bf16 *norm, float *sum_squares, const Word *words, uint32_t epoch,
                 const bf16 *embedding = nullptr)
{
    int lane = lane_index(), column = warp * 64 + 2 * lane;
    float2 n = unpack(*(const uint32_t *)(norm + column)), v;
    if (words) {
        Word t = word_wait(words + warp * 32 + lane, epoch);
        v = make_float2(__uint_as_float(t.x), __uint_as_float(t.y));
    } else
        v = unpack(*(const uint32_t *)(embedding + column));
    float a = v.x * n.x, b = v.y * n.y;
    uint32_t high = pack(a, b);
    float2 h = unpack(high);

    s.activation[warp][0][lane] = high;
    s.activation[warp][1][lane] = pack(a - h.x, b - h.y);
    __syncwarp();
    float squares = warp_sum(v.x * v.x + v.y * v.y);
    if (lane == 0)
        sum_squares[warp] = squares;
}

/* One head of attention's output: the splits' results weighed by their softmax' denominators. */
__device__ __forceinline__ void
receive_attention(Shared &s, int warp, const Word *words, int splits, uint32_t epoch)
{
    enum { BATCH = 4 }; /* words in flight */
    int lane = lane_index();
    float top = -INFINITY, total = 0, o[4] = {};

    words += warp * MAX_SPLITS * 32 + lane;
#pragma unroll 1
    for (int first = 0; first < splits; first += BATCH) {
        Word v[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            if (first + i < splits)
                v[i] = word_load(words + (first + i) * 32);
        float max = top;
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            if (first + i < splits) {
                while (__any_sync(~0u, v[i].w != epoch))
                    v[i] = word_load(words + (first + i) * 32);
                max = fmaxf(max, __uint_as_float(v[i].z));
            }
        float shrink = exp2f(top - max);
        top = max;
        total *= shrink;
#pragma unroll
        for (int i = 0; i < 4; i++)
            o[i] *= shrink;
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            if (first + i < splits) {
                float e = exp2f(__uint_as_float(v[i].z) - max);
                float2 a = unpack(v[i].x), b = unpack(v[i].y);
                total += e;
                o[0] += e * a.x, o[1] += e * a.y, o[2] += e * b.x, o[3] += e * b.y;
            }
    }
    float r = 1 / total;
    *(uint2 *)&s.activation[warp][lane / 16][lane % 16 * 2] =
        make_uint2(pack(o[0] * r, o[1] * r), pack(o[2] * r, o[3] * r));
    __syncwarp();
}

__device__ __forceinline__ void
receive_hidden(Shared &s, int warp, const Word *words, uint32_t epoch)
{
    int lane = lane_index();
    Word v = word_wait(words + warp * 32 + lane, epoch);
    uint32_t *to = &s.activation[warp][lane / 16][lane % 16 * (H_PER_WORD / 2)];
    to[0] = v.x;
    to[1] = v.y;
    if (H_PER_WORD > 4)
        to[2] = v.z;
    __syncwarp();
}

/* ---- adding up and sending: warp 0 ---- */

__device__ __forceinline__ float
row_sum(const float (&part)[WARPS][PART_ROWS], int row)
{
    float v[4] = {};
#pragma unroll
    for (int w = 0; w < WARPS; w++)
        v[w % 4] += part[w][row];
    return (v[0] + v[1]) + (v[2] + v[3]);
}

__device__ __forceinline__ float
inverse_rms(const float (&sum_squares)[WARPS])
{
    float v[4] = {};
#pragma unroll
    for (int w = 0; w < WARPS; w++)
        v[w % 4] += sum_squares[w];
    return rsqrtf(((v[0] + v[1]) + (v[2] + v[3])) / HIDDEN + RMS_NORM_EPS);
}

__device__ __forceinline__ void
send_qkv(const float (&part)[WARPS][PART_ROWS], float scale, Word *words, uint32_t epoch)
{
    int lane = lane_index();
    float v = row_sum(part, lane) * scale, next = __shfl_xor_sync(~0u, v, 1);
    if (lane % 2 == 0)
        word_send(words + lane / 2, __float_as_uint(v), __float_as_uint(next), 0, epoch);
}

__device__ __forceinline__ void
send_hidden(const float (&part)[WARPS][PART_ROWS], float scale, Word *words, uint32_t epoch)
{
    int lane = lane_index(), row = lane < 8 * MLP_TILES ? lane / 8 * 16 + lane % 8 : 0;
    float gate = row_sum(part, row) * scale, up = row_sum(part, row + 8) * scale;
    float h = gate / (1 + __expf(-gate)) * up, v[6] = {};
#pragma unroll
    for (int i = 0; i < H_PER_WORD; i++)
        v[i] = __shfl_sync(~0u, h, lane * H_PER_WORD + i);
    if (lane < 8 * MLP_TILES / H_PER_WORD)
        word_send(words + lane, pack(v[0], v[1]), pack(v[2], v[3]), pack(v[4], v[5]), epoch);
}

__device__ __forceinline__ void
send_residual(const float (&part)[WARPS][PART_ROWS], float *residual, Word *words, uint32_t epoch)
{
    int lane = lane_index(), row = lane % 8;
    float v = 0;
#pragma unroll
    for (int w = 0; w < WARPS; w += 4)
        v += part[w + lane / 8][row];
    v += __shfl_xor_sync(~0u, v, 8);
    v += __shfl_xor_sync(~0u, v, 16);
    v += residual[row];
    float next = __shfl_xor_sync(~0u, v, 1);
    if (lane < 8)
        residual[row] = v;
    if (lane < 8 && lane % 2 == 0)
        word_send(words + lane / 2, __float_as_uint(v), __float_as_uint(next), 0, epoch);
}

/* ---- attention ---- */

struct KeyValue {
    uint4 k[4]; /* [i]: position g, dimensions 32 i + 8 q.. */
    uint4 v[4]; /* [2 n + i]: position 2q + n, dimensions 64 i + 8 g.. */

    /* keys, values: (positions, HEAD_DIM). What lies at or past `end` is not read and becomes zero. */
    __device__ __forceinline__ void
    load(const bf16 *keys, const bf16 *values, int base, int end)
    {
        const int g = lane_index() / 4, q = lane_index() % 4;
        const uint4 zero = make_uint4(0, 0, 0, 0);
        const bf16 *key = keys + (base + g) * HEAD_DIM + 8 * q,
                   *value = values + (base + 2 * q) * HEAD_DIM + 8 * g;
#pragma unroll
        for (int i = 0; i < 4; i++)
            k[i] = base + g < end ? *(const uint4 *)(key + 32 * i) : zero;
#pragma unroll
        for (int n = 0; n < 2; n++)
#pragma unroll
            for (int i = 0; i < 2; i++)
                v[2 * n + i] =
                    base + 2 * q + n < end ? *(const uint4 *)(value + n * HEAD_DIM + 64 * i) : zero;
    }

    /* Puts this token's own key and value in. */
    __device__ __forceinline__ void
    patch(const bf16 *key, const bf16 *value, int base, int pos)
    {
        const int g = lane_index() / 4, q = lane_index() % 4;
        if (base + g == pos)
#pragma unroll
            for (int i = 0; i < 4; i++)
                k[i] = *(const uint4 *)(key + 32 * i + 8 * q);
#pragma unroll
        for (int n = 0; n < 2; n++)
            if (base + 2 * q + n == pos)
#pragma unroll
                for (int i = 0; i < 2; i++)
                    v[2 * n + i] = *(const uint4 *)(value + 64 * i + 8 * g);
    }
};

/* Receives one head of q, k or v (RMSNorm over the head and RoPE for q and k): a lane has dimensions 2l, 2l+1
 * and those 64 further, which RoPE turns against each other. */
__device__ __forceinline__ void
receive_head(float (&v)[4], const Word *words, uint32_t epoch, const bf16 *norm, const float2 *table)
{
    int lane = lane_index();
    const float4 rope = *(const float4 *)(table + 2 * lane);
    float2 n0 = make_float2(1, 1), n1 = n0;
    if (norm) {
        n0 = unpack(*(const uint32_t *)(norm + 2 * lane));
        n1 = unpack(*(const uint32_t *)(norm + 64 + 2 * lane));
    }
    Word a = word_load(words + lane), b = word_load(words + 32 + lane);
    while (__any_sync(~0u, a.w != epoch))
        a = word_load(words + lane);
    while (__any_sync(~0u, b.w != epoch))
        b = word_load(words + 32 + lane);
    v[0] = __uint_as_float(a.x), v[1] = __uint_as_float(a.y);
    v[2] = __uint_as_float(b.x), v[3] = __uint_as_float(b.y);
    if (!norm)
        return;
    float r =
        rsqrtf(warp_sum(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3]) / HEAD_DIM + RMS_NORM_EPS);
    float x0 = v[0] * r * n0.x, x1 = v[1] * r * n0.y, y0 = v[2] * r * n1.x, y1 = v[3] * r * n1.y;
    v[0] = x0 * rope.x - y0 * rope.y, v[1] = x1 * rope.z - y1 * rope.w;
    v[2] = y0 * rope.x + x0 * rope.y, v[3] = y1 * rope.z + x1 * rope.w;
}

/* Attention of one kv head's two query heads over the positions of one split. */
template <class Stamp>
__device__ __forceinline__ void
attend(const Decode &d, Shared &s, int warp, Stamp stamp, int layer, int head, int split, int splits, int pos,
       uint32_t epoch)
{
    const int lane = lane_index(), g = lane / 4;
    const int groups = pos / GROUP + 1, first = groups * split / splits, last = groups * (split + 1) / splits;
    const LayerWeights &w = d.weights.layer[layer];
    const uint32_t at = (uint32_t)(layer * KV_HEADS + head) * d.context * HEAD_DIM;
    KeyValue kv;
    int group = first + warp;

    if (group < last) /* the earlier positions do not depend on this token: fetch them before its q arrives */
        kv.load(d.k_cache + at, d.v_cache + at, group * GROUP, pos);

    if (warp < 4) {
        float v[4];
        const Word *words = d.qkv + (warp < 2 ? (2 * head + warp) * (HEAD_DIM / 2)
                                              : Q_DIM / 2 + (warp - 2) * KV_DIM / 2 + head * (HEAD_DIM / 2));
        receive_head(v, words, epoch,
                     warp < 2    ? w.q_norm
                     : warp == 2 ? w.k_norm
                                 : nullptr,
                     d.rope + pos * (HEAD_DIM / 2));
        if (warp < 2) {
            const float scale = 1.4426950408889634f * 0.08838834764831845f; /* log2(e) / sqrt(HEAD_DIM) */
#pragma unroll
            for (int i = 0; i < 2; i++)
                *(uint32_t *)&s.q[warp][64 * i + 2 * lane] = pack(v[2 * i] * scale, v[2 * i + 1] * scale);
        } else {
            bf16 *to = warp == 2 ? s.k : s.v,
                 *cache = (warp == 2 ? d.k_cache : d.v_cache) + at + pos * HEAD_DIM;
#pragma unroll
            for (int i = 0; i < 2; i++) {
                uint32_t x = pack(v[2 * i], v[2 * i + 1]);
                *(uint32_t *)&to[64 * i + 2 * lane] = x;
                if (split == splits - 1)
                    *(uint32_t *)&cache[64 * i + 2 * lane] = x;
            }
        }
    }
    stamp(1);
    consumers_sync();
    stamp(2);

    /* Queries are a's rows (g & 1 is the head), keys b's columns, so that c
     * has a lane's scores where the second product wants them as b: positions 2q, 2q+1 and 8 further of head
     * g & 1. */
    float o[8][4] = {}, max = -INFINITY, sum = 0;
#pragma unroll 1
    for (; group < last; group += WARPS) {
        asm volatile("" ::
                         : "memory"); /* q is read again in each turn: there are no registers to keep it in */
        float c[2][4] = {};
        kv.patch(s.k, s.v, group * GROUP, pos);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            uint4 q = *(const uint4 *)&s.q[g & 1][32 * i + lane % 4 * 8];
            mma(c[0], q.x, 0, q.y, 0, kv.k[i].x, kv.k[i].y);
            mma(c[1], q.z, 0, q.w, 0, kv.k[i].z, kv.k[i].w);
        }
        float p[2], top = max;
#pragma unroll
        for (int n = 0; n < 2; n++) {
            p[n] = c[0][n] + c[1][n];
            if (group * GROUP + lane % 4 * 2 + n > pos)
                p[n] = -INFINITY;
            top = fmaxf(top, p[n]);
        }
        top = fmaxf(top, __shfl_xor_sync(~0u, top, 1));
        top = fmaxf(top, __shfl_xor_sync(~0u, top, 2));
        float shrink = exp2f(max - top);
        max = top;
        p[0] = exp2f(p[0] - top);
        p[1] = exp2f(p[1] - top);
        sum = sum * shrink + p[0] + p[1];
        float shrink0 = __shfl_sync(~0u, shrink, 0), shrink1 = __shfl_sync(~0u, shrink, 4);
        uint32_t b = pack(p[0], p[1]);
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const uint32_t half = j % 2 ? 0x7632 : 0x5410;
            o[j][0] *= shrink0, o[j][1] *= shrink1, o[j][2] *= shrink0, o[j][3] *= shrink1;
            mma8(o[j], __byte_perm((&kv.v[0].x)[j / 2], (&kv.v[2].x)[j / 2], half),
                 __byte_perm((&kv.v[1].x)[j / 2], (&kv.v[3].x)[j / 2], half), b);
        }
        if (group + WARPS < last)
            kv.load(d.k_cache + at, d.v_cache + at, (group + WARPS) * GROUP, pos);
    }
    sum += __shfl_xor_sync(~0u, sum, 1);
    sum += __shfl_xor_sync(~0u, sum, 2);
    stamp(3);

    /* Lanes with q = 0 hold dimensions 8g + j (c0, c1 for the two heads) and 64 + 8g + j (c2, c3). */
    if (lane % 4 == 0) {
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                s.o[warp][h][i / 2 * 16 + 2 * g + i % 2] =
                    make_float4(o[i % 2 * 4][h + i / 2 * 2], o[i % 2 * 4 + 1][h + i / 2 * 2],
                                o[i % 2 * 4 + 2][h + i / 2 * 2], o[i % 2 * 4 + 3][h + i / 2 * 2]);
        if (g < 2) {
            s.max[g][warp] = max;
            s.sum[g][warp] = sum;
        }
    }
    consumers_sync();
    stamp(4);
    if (warp < 2) { /* one head each: the warps' results become the split's */
        float top = -INFINITY, total = 0;
        float4 v = make_float4(0, 0, 0, 0);
#pragma unroll
        for (int i = 0; i < WARPS; i++)
            top = fmaxf(top, s.max[warp][i]);
#pragma unroll 4
        for (int i = 0; i < WARPS; i++) {
            float weight = exp2f(s.max[warp][i] - top);
            float4 t = s.o[i][warp][lane];
            total += weight * s.sum[warp][i];
            v.x += weight * t.x, v.y += weight * t.y, v.z += weight * t.z, v.w += weight * t.w;
        }
        float r = 1 / total;
        word_send(d.attention + ((2 * head + warp) * MAX_SPLITS + split) * 32 + lane, pack(v.x * r, v.y * r),
                  pack(v.z * r, v.w * r), __float_as_uint(top + log2f(total)), epoch);
    }
}

/* ---- the k best ---- */

/* A block's logits fall into `parts` groups of lanes, and every group has a maximum. The k-th best maximum is
 * a bound: the k best logits are not below it, and groups whose maximum is below it need no search. Block 0
 * does the rest. */
__device__ void
k_best(const Decode &d, Shared &s, int warp, int k, float lane_max, int parts, uint32_t epoch)
{
    enum { CANDIDATES = sizeof(s.candidate) / sizeof(s.candidate[0]) };
    const int thread = threadIdx.x, lane = lane_index(), blocks = gridDim.x, n = blocks * parts;

    if (warp == 0) {
        for (int m = 16; m >= parts; m >>= 1)
            lane_max = fmaxf(lane_max, __shfl_xor_sync(~0u, lane_max, m));
        __threadfence(); /* the logits before the word that announces them */
        __syncwarp();
        if (lane < parts)
            word_send(d.maxima + blockIdx.x * parts + lane, __float_as_uint(lane_max), 0, 0, epoch);
    }
    if (blockIdx.x)
        return;

    if (thread == 0)
        s.groups = s.collected = 0;
    for (int i = thread; i < MAX_GROUPS; i += CONSUMERS)
        s.maxima[i] = i < n ? __uint_as_float(word_wait(d.maxima + i, epoch, __activemask()).x) : -INFINITY;
    __threadfence();
    consumers_sync();
    for (int i = thread; i < n; i += CONSUMERS) {
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
    consumers_sync();

    /* A batch of a block is a line of 32 logits, which 8 lanes read; the lines of all groups found are spread
     * over the warps. Lane % parts tells whose a logit is. */
    const float bound = s.bound;
    const int batches = (HEAD_BATCHES + blocks - 1) / blocks, lines = s.groups * batches;
#pragma unroll 4
    for (int i = thread / 8; i < lines; i += CONSUMERS / 8) {
        int group = s.group[i / batches], batch = group / parts + i % batches * blocks,
            id = batch * 32 + lane % 8 * 4;
        float4 v = batch < HEAD_BATCHES ? __ldcg((const float4 *)(d.logits + id))
                                        : make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
        float logit[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (logit[j] >= bound && batch < HEAD_BATCHES && (id + j) % parts == group % parts) {
                int at = atomicAdd(&s.collected, 1);
                if (at < CANDIDATES) {
                    s.candidate[at].id = id + j;
                    s.candidate[at].logit = logit[j];
                }
            }
    }
    consumers_sync();
    const int collected = s.collected;
    if (collected <= CANDIDATES)
        for (int i = thread; i < collected; i += CONSUMERS) {
            Candidate c = s.candidate[i];
            int better = 0;
#pragma unroll 4
            for (int j = 0; j < collected; j++) {
                Candidate t = s.candidate[j];
                better += t.logit > c.logit || (t.logit == c.logit && t.id < c.id);
            }
            if (better < k)
                d.best[better] = c;
        }
    if (thread == 0)
        *d.found = collected <= CANDIDATES ? min(collected, k) : 0;
}

/* ---- the chain ---- */

template <bool PROFILE>
__global__ void
__launch_bounds__(DECODE_THREADS, 1)
    decode_kernel(const __grid_constant__ Decode d, int token, int pos, int k, int splits)
{
    Shared &s = *(Shared *)memory;
    const int block = blockIdx.x, blocks = gridDim.x, thread = threadIdx.x;
    const int warp = warp_index();
    Ring ring = {d.stages, 0, 0};

    if (thread == 0) { /* attention's items, spread evenly over the blocks */
        s.first_item = (block * KV_HEADS * splits + blocks - 1) / blocks;
        s.last_item = ((block + 1) * KV_HEADS * splits + blocks - 1) / blocks;
    }
    if (thread < d.stages) {
#if __CUDA_ARCH__ >= 900
        mbarrier_init(s.full + thread, 1);
#else
        mbarrier_init(s.full + thread, 32);
#endif
        mbarrier_init(s.empty + thread, WARPS);
#if __CUDA_ARCH__ >= 900
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    }
    __syncthreads();
    if (warp == WARPS) {
        stream(d, ring, pos, splits);
        return;
    }

    auto stamp = [&](int layer, int i) {
        if (PROFILE && thread == 0)
            d.stamps[((size_t)block * (LAYERS + 1) + layer) * STAMPS + i] = clock64();
    };
    int turn = 0; /* counts the batches: which of the two buffers of partial sums is in use */
    uint32_t epoch = d.epoch;

#pragma unroll 1
    for (int share = block; share < SHARES; share += blocks)
        if (thread < 8)
            s.residual[share * 8 + thread] =
                __bfloat162float(d.weights.embed[token * HIDDEN + share * 8 + thread]);

#pragma unroll 1
    for (int l = 0; l < LAYERS; l++) {
        const LayerWeights &w = d.weights.layer[l];
        stamp(l, 0);
        {
#pragma unroll 1
            for (int share = block; share < SHARES; share += blocks, turn ^= 1) {
                Wide<QKV_TILES> tiles;
                tiles.load(ring, warp);
                if (share == block) {
                    receive_residual(s, warp, w.input_norm, s.sum_squares[0], l ? d.out : nullptr, epoch++,
                                     d.weights.embed + token * HIDDEN);
                    stamp(l, 1);
                }
                tiles.multiply(s, turn, warp);
                consumers_sync();
                if (warp == 0)
                    send_qkv(s.part[turn], inverse_rms(s.sum_squares[0]), d.qkv + share * 16, epoch);
            }
        }
        stamp(l, 2);
#pragma unroll 1
        for (int item = s.first_item; item < s.last_item; item++)
            attend(
                d, s, warp, [&](int i) { stamp(l, 11 + i); }, l, item / splits, item % splits, splits, pos, epoch);
        stamp(l, 3);
        {
#pragma unroll 1
            for (int share = block; share < SHARES; share += blocks, turn ^= 1) {
                Tall<O_SLICE> tiles;
                tiles.load(ring, warp);
                if (share == block) {
                    receive_attention(s, warp, d.attention, splits, epoch);
                    stamp(l, 4);
                }
                tiles.multiply(s, turn, warp);
                consumers_sync();
                if (warp == 0)
                    send_residual(s.part[turn], s.residual + share * 8, d.mid + share * 4, epoch);
            }
        }
        stamp(l, 5);
        {
#pragma unroll 1
            for (int share = block; share < SHARES; share += blocks, turn ^= 1) {
                Wide<MLP_TILES> tiles;
                tiles.load(ring, warp);
                if (share == block) {
                    stamp(l, 6);
                    receive_residual(s, warp, w.post_norm, s.sum_squares[1], d.mid, epoch);
                    stamp(l, 7);
                }
                tiles.multiply(s, turn, warp);
                consumers_sync();
                if (warp == 0)
                    send_hidden(s.part[turn], inverse_rms(s.sum_squares[1]),
                                d.hidden + share * (8 * MLP_TILES / H_PER_WORD), epoch);
            }
        }
        stamp(l, 8);
        {
#pragma unroll 1
            for (int share = block; share < SHARES; share += blocks, turn ^= 1) {
                Tall<DOWN_SLICE> tiles;
                tiles.load(ring, warp);
                if (share == block) {
                    stamp(l, 9);
                    receive_hidden(s, warp, d.hidden, epoch);
                    stamp(l, 10);
                }
                tiles.multiply(s, turn, warp);
                consumers_sync();
                if (warp == 0)
                    send_residual(s.part[turn], s.residual + share * 8, d.out + share * 4, epoch);
            }
        }
        stamp(l, 11);
    }

    stamp(LAYERS, 0);
    int parts = 1;
    while (parts < 32 && blocks * parts < DECODE_MAX_K)
        parts *= 2;
    float lane_max = -INFINITY;
#pragma unroll 1
    for (int batch = block; batch < HEAD_BATCHES; batch += blocks, turn ^= 1) {
        Wide<HEAD_TILES> tiles;
        tiles.load(ring, warp);
        if (batch == block) {
            receive_residual(s, warp, d.weights.norm, s.sum_squares[0], d.out, epoch);
            stamp(LAYERS, 1);
        }
        tiles.multiply(s, turn, warp);
        consumers_sync();
        if (warp == 0) {
            float logit = row_sum(s.part[turn], lane_index()) * inverse_rms(s.sum_squares[0]);
            d.logits[batch * 32 + lane_index()] = logit;
            lane_max = fmaxf(lane_max, logit);
        }
    }
    stamp(LAYERS, 2);
    if (k > 0)
        k_best(d, s, warp, k, lane_max, parts, epoch);
    stamp(LAYERS, 3);
}

/* ---- host ---- */

static inline size_t
decode_workspace_bytes(void)
{
    size_t words =
        (Q_DIM + 2 * KV_DIM) / 2 + HEADS * MAX_SPLITS * 32 + HIDDEN + INTERMEDIATE / H_PER_WORD + 256;
    return words * sizeof(Word) + VOCAB * sizeof(float);
}

static inline void
decode_carve(Decode *d, void *workspace)
{
    Word *p = (Word *)workspace;
    d->qkv = p, p += (Q_DIM + 2 * KV_DIM) / 2;
    d->attention = p, p += HEADS * MAX_SPLITS * 32;
    d->mid = p, p += HIDDEN / 2;
    d->out = p, p += HIDDEN / 2;
    d->hidden = p, p += INTERMEDIATE / H_PER_WORD;
    d->maxima = p, p += 256;
    d->logits = (float *)p;
}

static inline cudaError_t
decode_launch(Decode *d, int token, int pos, int k, int splits, cudaStream_t stream)
{
    void *args[] = {d, &token, &pos, &k, &splits};
    const void *kernel = d->stamps ? (const void *)decode_kernel<true> : (const void *)decode_kernel<false>;
    cudaError_t e =
        !d->cooperative
            ? cudaLaunchKernel(kernel, dim3(d->blocks), dim3(DECODE_THREADS), args, d->shared_bytes, stream)
            : cudaLaunchCooperativeKernel(kernel, dim3(d->blocks), dim3(DECODE_THREADS), args,
                                          d->shared_bytes, stream);
    d->epoch += LAYERS + 1;
    return e;
}

#endif
