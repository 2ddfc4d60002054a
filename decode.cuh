/* decode.cuh: one token, from its embedding row to the k best logits, in one cooperative kernel.
 *
 * At batch 1 every weight is used once per token, so a token takes the time to read the weights, if nothing
 * else gets in the way. What gets in the way is the chain: five exchanges in each layer, each of which needs
 * all of the result before it. So the kernel is two programs that meet in shared memory:
 *
 * - the stream: one warp of each block copies this block's share of every matrix, in the order of use, into a
 *   ring of tiles. Weights do not depend on activations, so it runs ahead of the chain;
 * - the chain: the other warps take tiles from the ring into registers, wait for the activations, multiply on
 *   the tensor cores, add up over the warps, and send the result to all blocks.
 *
 * The way of a token through a layer, and who holds what:
 *
 *   out --all--> RMSNorm, q k v --qkv--> attention --attention--> o + residual --mid-->
 *   RMSNorm, gate up, SwiGLU --hidden--> down + residual --out--> next layer
 *
 * An arrow is an exchange: words in global memory that carry their own arrival mark (see Word). Every matrix
 * is cut by rows into SHARES equal shares; block b has the shares b, b + blocks, ... */
#ifndef DECODE_CUH
#define DECODE_CUH

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

    QKV_TILES = QKV_DIM / HIDDEN,          /* of a share of q, k, v */
    MLP_TILES = 2 * INTERMEDIATE / HIDDEN, /* of a share of gate and up, which take turns */
    HEAD_TILES = 4,                        /* of a batch of logits, one a lane */
    HEAD_BATCHES = VOCAB / (TILE_ROWS * HEAD_TILES),
    O_SLICE = Q_DIM / WARPS,           /* columns of o_proj for a warp: one head's */
    DOWN_SLICE = INTERMEDIATE / WARPS, /* columns of down_proj for a warp */
    H_PER_WORD = DOWN_SLICE / 32,      /* so that a lane receives one word */
    PART_ROWS = 48,                    /* room for the rows of MLP_TILES */
    ACTIVATION = DOWN_SLICE / 2,       /* pairs of columns: the longest vector of a warp */

    GROUP = 8, /* positions that a warp takes at once in attention */
    MAX_SPLITS = 16,
    Q_STRIDE = HEAD_DIM + 32, /* 64 bytes of padding keep two heads in different banks */

    /* Tiles in flight: more of them only queue in front of the words (H200, 2 against 3: 6 % a token). The
     * head has no exchanges. */
    IN_FLIGHT = 2,
    HEAD_IN_FLIGHT = 8,
    SPLIT_GROUPS = 16, /* so many groups of positions in a split of attention before it is cut again */

    /* A group may reach past the context: bytes behind v_cache that are read, and finite like the caches. */
    DECODE_CACHE_SLACK = (GROUP - 1) * HEAD_DIM * 2,

    DECODE_MAX_K = 64,
    MAX_GROUPS = 256, /* of logits, and of candidates for the k best */
    STAMPS = 10       /* in a layer */
};
static_assert(HEADS == 2 * KV_HEADS && HEAD_DIM == 128, "attention is laid out for pairs of heads of 128");
static_assert((int)WARPS == (int)HEADS && WARPS >= 4, "a warp's columns of o_proj are one head's");
static_assert(QKV_TILES == 4 && HEAD_TILES == 4 && MLP_TILES <= 8, "the lanes of warp 0 have a row each");
static_assert(4 * MLP_TILES % H_PER_WORD == 0 && H_PER_WORD % 2 == 0 && H_PER_WORD <= 6,
              "whole words a share");
static_assert((int)ACTIVATION >= O_SLICE / 2 && ACTIVATION >= 64, "room for every vector");
static_assert(TILE_ROWS * MLP_TILES <= PART_ROWS, "room for the rows at hand");
static_assert(VOCAB % (TILE_ROWS * HEAD_TILES) == 0, "whole batches");

/* A word of an exchange: 12 bytes of payload and the epoch it belongs to, loaded and stored as one 128-bit
 * access, which the memory model keeps whole. So a reader that sees the epoch it waits for has the payload
 * too: no flag, no fence, no second read.
 *
 * Why nobody waits forever: a cooperative launch has all blocks resident, so a block that spins keeps no
 * other from running. Within a token the exchanges have one order, and a block sends its words of one before
 * it waits for the next; the first exchange waits for nothing. So by induction every word is sent. The stream
 * waits only for tiles to be taken, in the order in which the chain takes them.
 * Why nobody reads a word too late: a word is overwritten one layer on, by a block that has by then received
 * `out` or `mid` from every block, and a block sends those after it has read all that came before.
 * An epoch is a layer of a token. The 32-bit counter comes around after some hundred million tokens; what a
 * word holds then is one layer old, not a whole round. */
typedef uint4 Word;

/* What a launch leaves for the host. */
struct DecodeResult {
    Candidate best[DECODE_MAX_K]; /* best first */
    int found;                    /* how many of them; fewer than asked for: sort the logits instead */
};

struct Decode {
    Weights weights;
    bf16 *k_cache, *v_cache; /* (LAYERS, KV_HEADS, context, HEAD_DIM) */
    const float2 *rope;      /* (context, HEAD_DIM / 2): cosine and sine */
    int context;

    Word *qkv;            /* (QKV_DIM / 2): two fp32 */
    Word *attention;      /* (HEADS, MAX_SPLITS, 32): four bf16 and the log2 of the softmax' denominator */
    Word *mid, *out;      /* (HIDDEN / 2): two fp32 of the residual stream after attention, after the MLP */
    Word *hidden;         /* (INTERMEDIATE / H_PER_WORD): H_PER_WORD bf16 */
    Word *maxima;         /* (MAX_GROUPS): one fp32 */
    float *logits;        /* (VOCAB) */
    DecodeResult *result; /* mapped host memory */
    long long *stamps;    /* (blocks, LAYERS + 1, STAMPS): clock readings for decode_profile, or null */

    int blocks, shared_bytes; /* of a launch */
    uint32_t epoch;           /* before the first layer of the launch under way */
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

__device__ __forceinline__ float
warp_max(float v)
{
#pragma unroll
    for (int m = 16; m; m >>= 1)
        v = fmaxf(v, __shfl_xor_sync(~0u, v, m));
    return v;
}

__device__ __forceinline__ float
fast_exp2(float x)
{
    asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
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

/* The rest of a wait whose first reading is in v, so that several first readings can be under way at once. */
__device__ __forceinline__ void
word_wait_on(Word &v, const Word *p, uint32_t epoch)
{
    while (__any_sync(~0u, v.w != epoch))
        v = word_load(p);
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
__device__ __forceinline__ uint32_t
lane_index(void)
{
    uint32_t i;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(i));
    return i;
}

/* The same for all lanes, and so that the compiler can tell: then branches on it do not diverge. */
__device__ __forceinline__ uint32_t
warp_index(void)
{
    return __shfl_sync(~0u, threadIdx.x / 32, 0);
}

/* How many tiles fit beside Shared: a block has 227 KB on sm_90 and sm_100, 99 KB on sm_86 and sm_120. */
enum { STAGES_90 = 11, STAGES_80 = 3 };
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
enum { STAGES = STAGES_90 };
#else
enum { STAGES = STAGES_80 };
#endif

/* ---- shared memory ---- */

struct Shared {
    float part[2][WARPS][PART_ROWS];        /* partial sums of the rows at hand */
    float sum_squares[2][WARPS];            /* of the vector at hand, for RMSNorm */
    float residual[HIDDEN];                 /* only this block's rows are kept */
    uint32_t activation[WARPS][ACTIVATION]; /* pairs of bf16, see operand_place */
    bf16 q[2][Q_STRIDE];                    /* (head) */
    bf16 k[HEAD_DIM], v[HEAD_DIM];          /* of this token */
    alignas(16) float max[2][WARPS], sum[2][WARPS];
    float4 o[WARPS][2][HEAD_DIM / 4];
    uint64_t full[STAGES_90], empty[STAGES_90];
    int first_item, last_item;
    alignas(16) float maxima[MAX_GROUPS];
    int group[MAX_GROUPS], groups, collected;
    float bound;
    Candidate candidate[MAX_GROUPS];
};

/* ---- the ring ---- */

extern __shared__ __align__(128) char memory[]; /* Shared, then the tiles */

enum { RING_OFFSET = (sizeof(Shared) + 127) / 128 * 128 };

/* A position in the ring, counted in tiles from the start; the stream and every warp of the chain have their
 * own. */
struct Ring {
    uint32_t count;

    /* Stage of the i-th tile from here, and the parity of its turn around the ring. */
    __device__ __forceinline__ int
    stage(uint32_t i) const
    {
        return (count + i) % STAGES;
    }

    __device__ __forceinline__ uint32_t
    parity(uint32_t i) const
    {
        return (count + i) / STAGES % 2;
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
        mbarrier_wait(full(stage(i)), parity(i));
        return tile(stage(i));
    }

    /* Gives the next n tiles back to be filled again. */
    __device__ __forceinline__ void
    release(uint32_t n)
    {
        uint32_t lane = lane_index();
        __syncwarp();
        if (lane < n)
            mbarrier_arrive(empty(stage(lane)));
        count += n;
    }
};

/* Starts the copy of one tile: 8 rows of HIDDEN columns, `stride` elements apart. */
__device__ __forceinline__ void
tile_copy(char *tile, const bf16 *rows, int stride, uint64_t *full)
{
    uint32_t lane = lane_index();
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

/* The stream: all of this block's tiles in the order in which the chain takes them. */
__device__ void
stream(const Decode &d)
{
    const int block = blockIdx.x, blocks = gridDim.x;
    Ring ring = {0};

    auto copy = [&](const bf16 *rows, int stride, uint32_t in_flight) {
        if (ring.count >= STAGES)
            mbarrier_wait(Ring::empty(ring.stage(0)), ring.parity(STAGES));
        if (ring.count >= in_flight)
            mbarrier_wait(Ring::full(ring.stage(-in_flight)), ring.parity(-in_flight));
        tile_copy(Ring::tile(ring.stage(0)), rows, stride, Ring::full(ring.stage(0)));
        ring.count++;
    };

#pragma unroll 1
    for (int l = 0; l < LAYERS; l++) {
        const LayerWeights &w = d.weights.layer[l];
#pragma unroll 1
        for (int share = block; share < SHARES; share += blocks)
            for (int i = 0; i < QKV_TILES; i++)
                copy(w.q_proj + (size_t)(share * QKV_TILES + i) * TILE_ROWS * HIDDEN, HIDDEN, IN_FLIGHT);
#pragma unroll 1
        for (int share = block; share < SHARES; share += blocks)
            for (int i = 0; i < Q_DIM / HIDDEN; i++)
                copy(w.o_proj + (size_t)share * TILE_ROWS * Q_DIM + i * HIDDEN, Q_DIM, IN_FLIGHT);
#pragma unroll 1
        for (int share = block; share < SHARES; share += blocks)
            for (int i = 0; i < MLP_TILES / 2; i++) {
                const bf16 *gate = w.gate_proj + (size_t)(share * MLP_TILES / 2 + i) * TILE_ROWS * HIDDEN;
                copy(gate, HIDDEN, IN_FLIGHT);
                copy(gate + (size_t)INTERMEDIATE * HIDDEN, HIDDEN, IN_FLIGHT);
            }
#pragma unroll 1
        for (int share = block; share < SHARES; share += blocks)
            for (int i = 0; i < INTERMEDIATE / HIDDEN; i++)
                copy(w.down_proj + (size_t)share * TILE_ROWS * INTERMEDIATE + i * HIDDEN, INTERMEDIATE,
                     IN_FLIGHT);
    }
#pragma unroll 1
    for (int batch = block; batch < HEAD_BATCHES; batch += blocks)
        for (int i = 0; i < HEAD_TILES; i++)
            copy(d.weights.embed + (size_t)(batch * HEAD_TILES + i) * TILE_ROWS * HIDDEN, HIDDEN,
                 HEAD_IN_FLIGHT < STAGES ? (int)HEAD_IN_FLIGHT : STAGES - 1);
}

/* ---- matrix times vector ----
 *
 * A warp multiplies its own columns of the rows at hand; the sum over the warps comes later. One mma takes 8
 * rows and 32 columns: a lane reads 16 bytes of row g, columns 8q.., and these four registers are a as they
 * are, which makes a's row g the row at columns 8q, 8q+1, 8q+4, 8q+5 and a's row g + 8 the same row at the
 * other four. So column 0 of b holds the vector at the former, column 1 at the latter, and what counts is c
 * at (g, 0) and (g + 8, 1). Columns 2 and 3 do the same for what rounding to bf16 took from the vector. */

/* The place of a pair of columns (2i, 2i + 1) in b's order: column 0 of b, then column 1. */
__device__ __forceinline__ uint32_t
operand_place(uint32_t i)
{
    return i / 16 * 16 + i % 2 * 8 + i % 16 / 4 * 2 + i % 4 / 2;
}

/* The weights at hand, in registers: TILES times 8 rows and CHUNKS times 32 columns a warp. Rows as wide as
 * HIDDEN lie in one tile each; wider ones (then TILES is 1) in WIDTH tiles side by side. LOW: the vector has
 * its rounding's rest. */
template <int TILES, int CHUNKS, bool LOW> struct Rows {
    enum { SLICE = 32 * CHUNKS, WIDTH = SLICE * WARPS / HIDDEN }; /* a warp's columns, tiles side by side */
    uint4 a[TILES][CHUNKS];

    __device__ __forceinline__ void
    load(Ring &ring, uint32_t warp)
    {
        uint32_t lane = lane_index(), offset = lane / 4 * TILE_STRIDE + lane % 4 * 16;
        if (WIDTH == 1) {
#pragma unroll
            for (int t = 0; t < TILES; t++) {
                const char *tile = ring.wait(t % 2) + offset + warp * SLICE * 2;
#pragma unroll
                for (int i = 0; i < CHUNKS; i++)
                    a[t][i] = *(const uint4 *)(tile + 64 * i);
                if (t % 2)
                    ring.release(2);
            }
        } else {
            const char *tile[WIDTH];
#pragma unroll
            for (int j = 0; j < WIDTH; j++)
                tile[j] = ring.wait(j);
#pragma unroll
            for (int i = 0; i < CHUNKS; i++) {
                uint32_t column = warp * SLICE + 32 * i;
                const char *p = tile[0];
#pragma unroll
                for (int j = 1; j < WIDTH; j++)
                    if (column >= (uint32_t)(j * HIDDEN))
                        p = tile[j];
                a[0][i] = *(const uint4 *)(p + column % HIDDEN * 2 + offset);
            }
            ring.release(WIDTH);
        }
    }

    __device__ __forceinline__ void
    multiply(Shared &s, int turn, uint32_t warp) const
    {
        const uint32_t lane = lane_index(), g = lane / 4, q = lane % 4;
        const uint32_t *x = s.activation[warp] + (LOW && g & 2 ? SLICE / 2 : 0) + (g & 1) * 8 + q * 2;
        uint2 b[CHUNKS];

#pragma unroll
        for (int i = 0; i < CHUNKS; i++)
            b[i] = *(const uint2 *)(x + 16 * i);
#pragma unroll
        for (int t = 0; t < TILES; t++) {
            float c[2][4] = {};
#pragma unroll
            for (int i = 0; i < CHUNKS; i++)
                mma(c[TILES == 1 ? i % 2 : 0], a[t][i].x, a[t][i].y, a[t][i].z, a[t][i].w, b[i].x, b[i].y);
            float v = c[0][0] + c[0][3] + (c[1][0] + c[1][3]);
            if (LOW)
                v += __shfl_xor_sync(~0u, v, 1);
            if (q == 0)
                s.part[turn][warp][8 * t + g] = v;
        }
    }
};

/* ---- receiving: words -> this warp's columns of the vector, as b wants them ---- */

/* The residual stream times the norm's weights, (HIDDEN), from `words` or, in the first layer, from the
 * embedding row. RMSNorm's factor 1 / rms is the same for all columns, so it waits for the sums at the end:
 * sum_squares, (WARPS). */
__device__ __forceinline__ void
receive_residual(Shared &s, uint32_t warp, const bf16 *norm, float *sum_squares, const Word *words,
                 uint32_t epoch, const bf16 *embedding = NULL)
{
    uint32_t lane = lane_index(), column = warp * 64 + 2 * lane;
    float2 n = unpack(*(const uint32_t *)(norm + column)), v;
    if (words) {
        Word t = word_wait(words + warp * 32 + lane, epoch);
        v = make_float2(__uint_as_float(t.x), __uint_as_float(t.y));
    } else
        v = unpack(*(const uint32_t *)(embedding + column));
    float a = v.x * n.x, b = v.y * n.y;
    uint32_t high = pack(a, b);
    float2 h = unpack(high);

    s.activation[warp][operand_place(lane)] = high;
    s.activation[warp][32 + operand_place(lane)] = pack(a - h.x, b - h.y);
    __syncwarp();
    float squares = warp_sum(v.x * v.x + v.y * v.y);
    if (lane == 0)
        sum_squares[warp] = squares;
}

/* One head of attention's output: the splits' results weighed by their softmax' denominators. */
__device__ __forceinline__ void
receive_attention(Shared &s, uint32_t warp, const Word *words, int splits, uint32_t epoch)
{
    enum { BATCH = 4 }; /* words in flight */
    uint32_t lane = lane_index();
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
                word_wait_on(v[i], words + (first + i) * 32, epoch);
                max = fmaxf(max, __uint_as_float(v[i].z));
            }
        float shrink = fast_exp2(top - max);
        top = max;
        total *= shrink;
#pragma unroll
        for (int i = 0; i < 4; i++)
            o[i] *= shrink;
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            if (first + i < splits) {
                float e = fast_exp2(__uint_as_float(v[i].z) - max);
                float2 a = unpack(v[i].x), b = unpack(v[i].y);
                total += e;
                o[0] += e * a.x, o[1] += e * a.y, o[2] += e * b.x, o[3] += e * b.y;
            }
    }
    float r = __fdividef(1, total);
    s.activation[warp][operand_place(2 * lane)] = pack(o[0] * r, o[1] * r);
    s.activation[warp][operand_place(2 * lane + 1)] = pack(o[2] * r, o[3] * r);
    __syncwarp();
}

/* The MLP's hidden vector, (INTERMEDIATE). */
__device__ __forceinline__ void
receive_hidden(Shared &s, uint32_t warp, const Word *words, uint32_t epoch)
{
    uint32_t lane = lane_index();
    Word v = word_wait(words + warp * 32 + lane, epoch);
    const uint32_t pair[3] = {v.x, v.y, v.z};
#pragma unroll
    for (int i = 0; i < H_PER_WORD / 2; i++)
        s.activation[warp][operand_place(lane * (H_PER_WORD / 2) + i)] = pair[i];
    __syncwarp();
}

/* ---- adding up and sending: warp 0 ----
 *
 * part: (WARPS, PART_ROWS), what each warp found for the share's rows. scale: 1 / rms of the vector. words:
 * the share's. */

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

/* 32 rows of q, k or v. */
__device__ __forceinline__ void
send_qkv(const float (&part)[WARPS][PART_ROWS], float scale, Word *words, uint32_t epoch)
{
    uint32_t lane = lane_index();
    float v = row_sum(part, lane) * scale, next = __shfl_xor_sync(~0u, v, 1);
    if (lane % 2 == 0)
        word_send(words + lane / 2, __float_as_uint(v), __float_as_uint(next), 0, epoch);
}

/* SwiGLU: silu(gate) * up, for 4 MLP_TILES rows of each. */
__device__ __forceinline__ void
send_hidden(const float (&part)[WARPS][PART_ROWS], float scale, Word *words, uint32_t epoch)
{
    uint32_t lane = lane_index(), row = lane < 4 * MLP_TILES ? lane / 8 * 16 + lane % 8 : 0;
    float gate = row_sum(part, row) * scale, up = row_sum(part, row + 8) * scale;
    float h = __fdividef(gate, 1 + __expf(-gate)) * up, v[6] = {};
#pragma unroll
    for (int i = 0; i < H_PER_WORD; i++)
        v[i] = __shfl_sync(~0u, h, lane * H_PER_WORD + i);
    if (lane < 4 * MLP_TILES / H_PER_WORD)
        word_send(words + lane, pack(v[0], v[1]), pack(v[2], v[3]), pack(v[4], v[5]), epoch);
}

/* 8 rows of o_proj or down_proj, added to the residual stream. */
__device__ __forceinline__ void
send_residual(const float (&part)[WARPS][PART_ROWS], float *residual, Word *words, uint32_t epoch)
{
    uint32_t lane = lane_index(), row = lane % 8;
    float v = 0;
#pragma unroll
    for (int w = 0; w < WARPS; w += 4)
        v += part[w + lane / 8][row];
    v += __shfl_xor_sync(~0u, v, 8);
    v += __shfl_xor_sync(~0u, v, 16);
    v += residual[row];
    float next = __shfl_xor_sync(~0u, v, 1);
    __syncwarp(); /* all have read */
    if (lane < 8)
        residual[row] = v;
    if (lane < 8 && lane % 2 == 0)
        word_send(words + lane / 2, __float_as_uint(v), __float_as_uint(next), 0, epoch);
}

/* ---- attention ---- */

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

    /* Puts this token's own key and value in, at position `at` of the group. */
    __device__ __forceinline__ void
    patch(const bf16 *key, const bf16 *value, int at)
    {
        const uint32_t lane = lane_index();
        if (lane / 4 == (uint32_t)at)
#pragma unroll
            for (int i = 0; i < 4; i++)
                k[i] = *(const uint4 *)(key + 32 * i + lane % 4 * 8);
#pragma unroll
        for (int n = 0; n < 8; n++)
            if (n == at)
                v[n] = *(const uint2 *)(value + lane * 4);
    }
};

/* Receives one head of q, k or v (RMSNorm over the head and RoPE for q and k): a lane has dimensions 2l, 2l+1
 * and those 64 further, which RoPE turns against each other. */
__device__ __forceinline__ void
receive_head(float (&v)[4], const Word *words, uint32_t epoch, const bf16 *norm, const float2 *table)
{
    uint32_t lane = lane_index();
    const float4 rope = *(const float4 *)(table + 2 * lane);
    float2 n0 = make_float2(1, 1), n1 = n0;
    if (norm) {
        n0 = unpack(*(const uint32_t *)(norm + 2 * lane));
        n1 = unpack(*(const uint32_t *)(norm + 64 + 2 * lane));
    }
    Word a = word_load(words + lane), b = word_load(words + 32 + lane);
    word_wait_on(a, words + lane, epoch);
    word_wait_on(b, words + 32 + lane, epoch);
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

/* Attention of one kv head's two query heads over the positions of one split; item = (kv head, split). The
 * warps take GROUP positions at a time, each with a softmax of its own (online, as in FlashAttention), and
 * merge at the end. The last split also stores this token's key and value. */
__device__ __forceinline__ void
attend(const Decode &d, Shared &s, uint32_t warp, int layer, int item, int split_bits, int pos,
       uint32_t epoch)
{
    const uint32_t lane = lane_index(), g = lane / 4;
    const int splits = 1 << split_bits, head = item >> split_bits, split = item & (splits - 1);
    const int groups = pos / GROUP + 1, first = groups * split >> split_bits,
              last = groups * (split + 1) >> split_bits;
    const LayerWeights &w = d.weights.layer[layer];
    const uint32_t at = (uint32_t)(layer * KV_HEADS + head) * d.context * HEAD_DIM;
    KeyValue kv = {}; /* or its registers, set only under a condition, would be busy through all phases */
    int group = first + (int)(warp + WARPS - 4) % WARPS; /* the warps that receive q, k and v come last */
    auto load = [&] {
        const size_t from = at + group * GROUP * HEAD_DIM;
        if (group < last)
            kv.load(d.k_cache + from, d.v_cache + from);
    };

    if (warp >= 4) /* earlier positions do not depend on this token: fetch them before its q arrives */
        load();
    else {
        float v[4];
        const Word *words = d.qkv + (warp < 2 ? (2 * head + warp) * (HEAD_DIM / 2)
                                              : Q_DIM / 2 + (warp - 2) * KV_DIM / 2 + head * (HEAD_DIM / 2));
        receive_head(v, words, epoch,
                     warp < 2    ? w.q_norm
                     : warp == 2 ? w.k_norm
                                 : NULL,
                     d.rope + pos * (HEAD_DIM / 2));
        if (warp < 2) {
            const float scale = 1.4426950408889634f * 0.08838834764831845f; /* log2(e) / sqrt(HEAD_DIM) */
#pragma unroll
            for (int i = 0; i < 2; i++)
                *(uint32_t *)&s.q[warp][64 * i + lane / 4 * 8 + (lane % 2 * 2 + lane % 4 / 2) * 2] =
                    pack(v[2 * i] * scale, v[2 * i + 1] * scale);
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
        load(); /* not earlier: the words would have come after it */
    }
    consumers_sync();

    /* Scores: queries are a's rows (row g is head g & 1; its second and third pair of columns are swapped, so
     * that four registers serve two products: rows 0-7 in the first, 8-15 in the second), keys b's columns,
     * so lane (g, q) holds head g & 1 at positions 2q and 2q + 1. Values: a lane sums four dimensions of both
     * heads, the weights come by shuffles. */
    float4 o0 = make_float4(0, 0, 0, 0), o1 = o0;
    float max = -INFINITY, sum = 0;
#pragma unroll 1
    while (group < last) {
        float c[2][4] = {};
        if (group == pos / GROUP)
            kv.patch(s.k, s.v, pos % GROUP);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            uint4 q = *(const uint4 *)&s.q[g & 1][32 * i + lane % 4 * 8];
            mma(c[0], q.x, q.y, q.z, q.w, kv.k[i].x, kv.k[i].y);
            mma(c[1], q.x, q.y, q.z, q.w, kv.k[i].z, kv.k[i].w);
        }
        float p0 = c[0][0] + c[1][2], p1 = c[0][1] + c[1][3];
        int position = group * GROUP + lane % 4 * 2;
        if (position > pos)
            p0 = -INFINITY;
        if (position + 1 > pos)
            p1 = -INFINITY;
        float top = fmaxf(max, fmaxf(p0, p1));
        top = fmaxf(top, __shfl_xor_sync(~0u, top, 1));
        top = fmaxf(top, __shfl_xor_sync(~0u, top, 2));
        float shrink = fast_exp2(max - top);
        max = top;
        p0 = fast_exp2(p0 - top);
        p1 = fast_exp2(p1 - top);
        sum = sum * shrink + (p0 + p1);
        float shrink0 = __shfl_sync(~0u, shrink, 0), shrink1 = __shfl_sync(~0u, shrink, 4);
        o0.x *= shrink0, o0.y *= shrink0, o0.z *= shrink0, o0.w *= shrink0;
        o1.x *= shrink1, o1.y *= shrink1, o1.z *= shrink1, o1.w *= shrink1;
#pragma unroll
        for (int n = 0; n < 8; n++) {
            float a = __shfl_sync(~0u, n % 2 ? p1 : p0, n / 2),
                  b = __shfl_sync(~0u, n % 2 ? p1 : p0, 4 + n / 2);
            float2 x = unpack(kv.v[n].x), y = unpack(kv.v[n].y);
            o0.x += a * x.x, o0.y += a * x.y, o0.z += a * y.x, o0.w += a * y.y;
            o1.x += b * x.x, o1.y += b * x.y, o1.z += b * y.x, o1.w += b * y.y;
        }
        group += WARPS;
        load();
    }
    sum += __shfl_xor_sync(~0u, sum, 1);
    sum += __shfl_xor_sync(~0u, sum, 2);
    s.o[warp][0][lane] = o0;
    s.o[warp][1][lane] = o1;
    if (lane % 4 == 0 && g < 2) {
        s.max[g][warp] = max;
        s.sum[g][warp] = sum;
    }
    consumers_sync();
    if (warp < 2) { /* one head each: the warps' results become the split's */
        float own = lane < WARPS ? s.max[warp][lane] : -INFINITY, top = warp_max(own);
        float weight = fast_exp2(own - top), total = warp_sum(lane < WARPS ? weight * s.sum[warp][lane] : 0);
        float4 v = make_float4(0, 0, 0, 0);
#pragma unroll 8
        for (int i = 0; i < WARPS; i++) {
            float e = __shfl_sync(~0u, weight, i);
            float4 t = s.o[i][warp][lane];
            v.x += e * t.x, v.y += e * t.y, v.z += e * t.z, v.w += e * t.w;
        }
        float r = __fdividef(1, total);
        word_send(d.attention + ((2 * head + warp) * MAX_SPLITS + split) * 32 + lane, pack(v.x * r, v.y * r),
                  pack(v.z * r, v.w * r), __float_as_uint(top + __log2f(total)), epoch);
    }
}

/* ---- the k best ---- */

/* Leaves the k best logits in d.result, best first, the lower id first among equals. A block's logits fall
 * into `parts` groups of lanes, and every group has a maximum. The k-th best maximum is a bound: the k best
 * logits are not below it, and groups whose maximum is below it need no search. Block 0 does the rest. */
__device__ void
k_best(const Decode &d, Shared &s, uint32_t warp, int k, float lane_max, int parts, uint32_t epoch)
{
    enum { CANDIDATES = sizeof(s.candidate) / sizeof(s.candidate[0]) };
    const int thread = threadIdx.x, blocks = gridDim.x, n = blocks * parts;
    const uint32_t lane = lane_index();

    if (warp == 0) {
        for (int m = 16; m >= parts; m >>= 1)
            lane_max = fmaxf(lane_max, __shfl_xor_sync(~0u, lane_max, m));
        asm volatile("fence.acq_rel.gpu;" ::: "memory"); /* the logits before the word that announces them */
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
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
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

    /* A block's batch is a line of 32 logits, read by 8 lanes: a warp searches a group four lines at a time.
     * Lane % parts tells whose a logit is. */
    const float bound = s.bound;
    for (int i = warp; i < s.groups; i += WARPS) {
        const int group = s.group[i], shift = __ffs(parts) - 1;
#pragma unroll 5
        for (int batch = (group >> shift) + lane / 8 * blocks; batch < HEAD_BATCHES; batch += 4 * blocks) {
            int id = batch * 32 + lane % 8 * 4;
            float4 v = __ldcg((const float4 *)(d.logits + id));
            if (fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)) < bound)
                continue;
            const float logit[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int j = 0; j < 4; j++)
                if (logit[j] >= bound && ((id + j) & (parts - 1)) == (group & (parts - 1))) {
                    int to = atomicAdd(&s.collected, 1);
                    if (to < CANDIDATES) {
                        s.candidate[to].id = id + j;
                        s.candidate[to].logit = logit[j];
                    }
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
                d.result->best[better] = c;
        }
    if (thread == 0)
        d.result->found = collected <= CANDIDATES ? min(collected, k) : 0;
}

/* ---- the chain ---- */

/* One phase of a layer: this block's shares of one matrix. receive() waits for the vector, with the first
 * share's weights in registers by then; send(share, part) is warp 0's and has the partial sums of all warps.
 * Not unrolled, and one copy of the code for the first share and the others: the loop over the layers has to
 * stay within the instruction cache (H200: a second copy of the loads cost 25 us a token). */
template <class Tiles, class Receive, class Send>
__device__ __forceinline__ void
phase(Shared &s, Ring &ring, int &turn, uint32_t warp, Receive receive, Send send)
{
#pragma unroll 1
    for (int share = blockIdx.x; share < SHARES; share += gridDim.x, turn ^= 1) {
        Tiles tiles;
        tiles.load(ring, warp);
        if (share == (int)blockIdx.x)
            receive();
        tiles.multiply(s, turn, warp);
        consumers_sync();
        if (warp == 0)
            send(share, s.part[turn]);
    }
}

/* Runs `token` at position `pos`: stores its keys and values, leaves all logits in d.logits and, if k is not
 * 0, the k best in d.result. Attention is cut into 2^split_bits splits. PROFILE compiles the readings of the
 * clock in. Grid: d.blocks, at most SHARES (more would have nothing to do) and all resident. Block: the
 * chain's WARPS warps and the stream's; one block fills a multiprocessor's shared memory. */
template <bool PROFILE>
__global__ void
__launch_bounds__(DECODE_THREADS, 1)
    decode_kernel(const __grid_constant__ Decode d, int token, int pos, int k, int split_bits)
{
    Shared &s = *(Shared *)memory;
    const int block = blockIdx.x, blocks = gridDim.x, thread = threadIdx.x;
    const uint32_t warp = warp_index();
    Ring ring = {0};

    if (thread == 0) { /* attention's items, spread evenly over the blocks */
        s.first_item = ((block * KV_HEADS << split_bits) + blocks - 1) / blocks;
        s.last_item = (((block + 1) * KV_HEADS << split_bits) + blocks - 1) / blocks;
    }
    if (thread < STAGES) {
#if __CUDA_ARCH__ >= 900
        mbarrier_init(s.full + thread, 1);
#else
        mbarrier_init(s.full + thread,
                      32); /* the lanes of the stream's warp, each when its copies are there */
#endif
        mbarrier_init(s.empty + thread, WARPS);
#if __CUDA_ARCH__ >= 900
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    }
    __syncthreads();
    if (warp == WARPS) {
        stream(d);
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

    typedef const float(&Part)[WARPS][PART_ROWS];
#pragma unroll 1
    for (int l = 0; l < LAYERS; l++) {
        const LayerWeights &w = d.weights.layer[l];

        stamp(l, 0);
        phase<Rows<QKV_TILES, 2, true>>(
            s, ring, turn, warp,
            [&] {
                receive_residual(s, warp, w.input_norm, s.sum_squares[0], l ? d.out : NULL, epoch++,
                                 d.weights.embed + token * HIDDEN);
                stamp(l, 1);
            },
            [&](int share, Part part) {
                send_qkv(part, inverse_rms(s.sum_squares[0]), d.qkv + share * 16, epoch);
            });
        stamp(l, 2);
#pragma unroll 1
        for (int item = s.first_item; item < s.last_item; item++)
            attend(d, s, warp, l, item, split_bits, pos, epoch);
        stamp(l, 3);
        phase<Rows<1, O_SLICE / 32, false>>(
            s, ring, turn, warp,
            [&] {
                receive_attention(s, warp, d.attention, 1 << split_bits, epoch);
                stamp(l, 4);
            },
            [&](int share, Part part) {
                send_residual(part, s.residual + share * 8, d.mid + share * 4, epoch);
            });
        stamp(l, 5);
        phase<Rows<MLP_TILES, 2, true>>(
            s, ring, turn, warp,
            [&] {
                receive_residual(s, warp, w.post_norm, s.sum_squares[1], d.mid, epoch);
                stamp(l, 6);
            },
            [&](int share, Part part) {
                send_hidden(part, inverse_rms(s.sum_squares[1]),
                            d.hidden + share * (4 * MLP_TILES / H_PER_WORD), epoch);
            });
        stamp(l, 7);
        phase<Rows<1, DOWN_SLICE / 32, false>>(
            s, ring, turn, warp,
            [&] {
                receive_hidden(s, warp, d.hidden, epoch);
                stamp(l, 8);
            },
            [&](int share, Part part) {
                send_residual(part, s.residual + share * 8, d.out + share * 4, epoch);
            });
        stamp(l, 9);
    }

    stamp(LAYERS, 0);
    int parts = 1;
    while (parts < 32 && blocks * parts < DECODE_MAX_K)
        parts *= 2;
    float lane_max = -INFINITY;
#pragma unroll 1
    for (int batch = block; batch < HEAD_BATCHES; batch += blocks, turn ^= 1) {
        Rows<HEAD_TILES, 2, true> tiles;
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

/* Device memory that decode_open takes as its workspace. */
static inline size_t
decode_workspace_bytes(void)
{
    size_t words = QKV_DIM / 2 + HEADS * MAX_SPLITS * 32 + HIDDEN + INTERMEDIATE / H_PER_WORD + MAX_GROUPS;
    return words * sizeof(Word) + VOCAB * sizeof(float);
}

/* Prepares decoding. weights, k_cache, v_cache and rope are device memory that stays the caller's, as does
 * workspace (of decode_workspace_bytes(), 256-byte aligned). The grid is the largest that can be resident, at
 * most max_blocks if that is not 0. */
static inline const char *
decode_open(Decode *d, const Weights *weights, bf16 *k_cache, bf16 *v_cache, const float2 *rope, int context,
            void *workspace, int max_blocks)
{
    const void *kernel[] = {(const void *)decode_kernel<false>, (const void *)decode_kernel<true>};
    cudaFuncAttributes attributes;
    cudaError_t e;
    int device, processors, available, per_processor, roomy;
    Word *p = (Word *)workspace;

    memset(d, 0, sizeof *d);
    d->weights = *weights;
    d->k_cache = k_cache, d->v_cache = v_cache, d->rope = rope, d->context = context;
    d->qkv = p, p += QKV_DIM / 2;
    d->attention = p, p += HEADS * MAX_SPLITS * 32;
    d->mid = p, p += HIDDEN / 2;
    d->out = p, p += HIDDEN / 2;
    d->hidden = p, p += INTERMEDIATE / H_PER_WORD;
    d->maxima = p, p += MAX_GROUPS;
    d->logits = (float *)p;
    d->epoch = 1;
    if ((e = cudaGetDevice(&device)) || (e = cudaFuncGetAttributes(&attributes, kernel[0])) ||
        (e = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device)) ||
        (e = cudaDeviceGetAttribute(&available, cudaDevAttrMaxSharedMemoryPerBlockOptin, device)))
        return fail("preparing to decode: %s", cudaGetErrorString(e));
    roomy = attributes.ptxVersion >= 90 && attributes.ptxVersion < 120; /* as STAGES has it */
    d->shared_bytes = RING_OFFSET + (roomy ? STAGES_90 : STAGES_80) * TILE_BYTES;
    if (d->shared_bytes > available)
        return fail("this card offers %d bytes of shared memory a block, decoding needs %d: use -d cpu",
                    available, d->shared_bytes);
    for (int i = 0; i < 2; i++)
        if ((e = cudaFuncSetAttribute(kernel[i], cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      d->shared_bytes)))
            return fail("preparing to decode: %s", cudaGetErrorString(e));
    if ((e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, kernel[0], DECODE_THREADS,
                                                           d->shared_bytes)))
        return fail("preparing to decode: %s", cudaGetErrorString(e));
    d->blocks = processors * per_processor;
    if (d->blocks > SHARES)
        d->blocks = SHARES;
    if (max_blocks && d->blocks > max_blocks)
        d->blocks = max_blocks;
    if ((e = cudaHostAlloc((void **)&d->result, sizeof *d->result, cudaHostAllocMapped)) ||
        (e = cudaMemset(workspace, 0, decode_workspace_bytes())) ||
        (e = cudaDeviceSynchronize())) /* the caller's stream may not wait for the default one */
        return fail("preparing to decode: %s", cudaGetErrorString(e));
    return NULL;
}

static inline void
decode_close(Decode *d)
{
    cudaFreeHost(d->result);
}

/* Into how many splits attention cuts the context at a position: the power of 2. A split costs every block
 * the reading of its words, so the last doubling waits for twice the positions (H200, depth 1,024: 419 us
 * with 8 splits, 438 with 16). */
static inline int
decode_split_bits(const Decode *d, int pos)
{
    int groups = pos / GROUP + 1, bits = 0;
    while (1 << bits < MAX_SPLITS && groups > (1 << bits < MAX_SPLITS / 2 ? SPLIT_GROUPS : 2 * SPLIT_GROUPS)
                                                  << bits)
        bits++;
    while (bits > 0 && KV_HEADS << bits > d->blocks)
        bits--;
    return bits;
}

/* Starts one token. Once the stream is done, d->result has its k best logits (k at most DECODE_MAX_K); with
 * k = 0 only d->logits are made. */
static inline const char *
decode_launch(Decode *d, int token, int pos, int k, cudaStream_t stream)
{
    int split_bits = decode_split_bits(d, pos);
    void *args[] = {d, &token, &pos, &k, &split_bits};
    const void *kernel = d->stamps ? (const void *)decode_kernel<true> : (const void *)decode_kernel<false>;
    cudaError_t e;

    d->epoch += LAYERS + 1;
    e = cudaLaunchCooperativeKernel(kernel, dim3(d->blocks), dim3(DECODE_THREADS), args, d->shared_bytes,
                                    stream);
    return e ? fail("starting the decode kernel (%d blocks, %d bytes of shared memory): %s", d->blocks,
                    d->shared_bytes, cudaGetErrorString(e))
             : NULL;
}

/* Milliseconds of a token at position pos: with the launches queued (kernels about 3 us apart), with the host
 * waiting for each, and of the kernel that reads the clock, whose readings go to stamps as Decode has them.
 */
static inline const char *
decode_clock(Decode *d, int pos, cudaStream_t stream, cudaEvent_t begin, cudaEvent_t end, long long *stamps,
             float *queued, float *waited, float *stamped)
{
    enum { TURNS = 20 };
    long long *device_stamps = d->stamps;
    const char *error = NULL;
    cudaError_t e = cudaSuccess;

    d->stamps = NULL;
    for (int wait = 0; wait < 2 && !error && !e; wait++) {
        error =
            decode_launch(d, 0, pos, DEFAULT_TOP_K, stream); /* keeps the card busy until the others queue */
        e = cudaEventRecord(begin, stream);
        for (int i = 0; i < TURNS && !error && !e; i++) {
            error = decode_launch(d, 0, pos, DEFAULT_TOP_K, stream);
            if (wait)
                e = cudaStreamSynchronize(stream);
        }
        if (!error && !e && !(e = cudaEventRecord(end, stream)) && !(e = cudaEventSynchronize(end)))
            e = cudaEventElapsedTime(wait ? waited : queued, begin, end);
    }
    *queued /= TURNS;
    *waited /= TURNS;

    d->stamps = device_stamps;
    for (int i = 0; i < 2 && !error && !e; i++) { /* the first loads the kernel */
        error = decode_launch(d, 0, pos, DEFAULT_TOP_K, stream);
        e = cudaEventRecord(i == 0 ? begin : end, stream);
    }
    d->stamps = NULL;
    if (!error && !e && !(e = cudaEventSynchronize(end)) && !(e = cudaEventElapsedTime(stamped, begin, end)))
        e = cudaMemcpy(stamps, device_stamps, (size_t)d->blocks * (LAYERS + 1) * STAMPS * sizeof *stamps,
                       cudaMemcpyDeviceToHost);
    return error || !e ? error : fail("profiling: %s", cudaGetErrorString(e));
}

/* The clock's ticks between two neighbouring stamps, summed over layers first..last-1, the mean over the
 * blocks. */
static inline double
decode_ticks(const Decode *d, const long long *stamps, int stamp, int first, int last)
{
    double sum = 0;

    for (int b = 0; b < d->blocks; b++)
        for (int l = first; l < last; l++) {
            const long long *at = stamps + ((size_t)b * (LAYERS + 1) + l) * STAMPS + stamp;
            sum += (double)(at[1] - at[0]);
        }
    return sum / d->blocks;
}

/* Prints where the time of one token at position pos goes: milliseconds of all layers, microseconds of one,
 * both the mean over the blocks. A wait is for other blocks' words, but also for the weights that come first.
 */
static inline const char *
decode_profile(Decode *d, int pos, cudaStream_t stream)
{
    static const char *const phase_name[STAMPS - 1] = {
        "q, k, v: wait",  "q, k, v: multiply",  "attention",  "o: wait",       "o: multiply",
        "gate, up: wait", "gate, up: multiply", "down: wait", "down: multiply"};
    static const char *const last_name[] = {"head: wait", "head: multiply", "k best"};
    const size_t block_stamps = (LAYERS + 1) * STAMPS;
    long long *stamps = (long long *)calloc(d->blocks * block_stamps, sizeof *stamps), longest = 1;
    float queued = 0, waited = 0, ms = 0;
    cudaEvent_t begin = NULL, end = NULL;
    const char *error = NULL;
    cudaError_t e;

    if (stamps == NULL)
        return fail("profiling: no memory for the clock readings of %d blocks", d->blocks);
    if ((e = cudaEventCreate(&begin)) || (e = cudaEventCreate(&end)) ||
        (e = cudaMalloc((void **)&d->stamps, d->blocks * block_stamps * sizeof *stamps)))
        error = fail("profiling: %s", cudaGetErrorString(e));
    else {
        long long *device_stamps = d->stamps;
        error = decode_clock(d, pos, stream, begin, end, stamps, &queued, &waited, &ms);
        cudaFree(device_stamps);
    }
    d->stamps = NULL;
    if (begin)
        cudaEventDestroy(begin);
    if (end)
        cudaEventDestroy(end);
    if (error) {
        free(stamps);
        return error;
    }
    for (int b = 0; b < d->blocks; b++) {
        const long long *at = stamps + b * block_stamps;
        if (at[LAYERS * STAMPS + 3] - at[0] > longest)
            longest = at[LAYERS * STAMPS + 3] - at[0];
    }
    printf("%-22s %9s %9s\n", "phase", "ms", "us/layer");
    for (int i = 0; i < STAMPS - 1; i++) {
        double each = decode_ticks(d, stamps, i, 0, LAYERS) * ms / longest;
        printf("%-22s %9.4f %9.2f\n", phase_name[i], each, each * 1e3 / LAYERS);
    }
    for (int i = 0; i < 3; i++)
        printf("%-22s %9.4f %9s\n", last_name[i],
               decode_ticks(d, stamps, i, LAYERS, LAYERS + 1) * ms / longest, "-");
    printf("%-22s %9.4f %9s\n", "kernel", queued, "-");
    printf("%-22s %9.4f %9s\n", "host, between kernels", waited - queued, "-");
    free(stamps);
    return NULL;
}

#endif
