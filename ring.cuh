/* ring.cuh: how decode's weights come to the chain: a ring of tiles in shared memory, the feed that fills it,
 * and the warps' taking of tiles into registers.
 *
 * A matrix is cut by rows into equal shares; a share's rows lie one after the other in the file, so it is a
 * whole number of tiles without a gap between them, and a tile is one copy. Where rows are wider than HIDDEN
 * a tile is a piece of the share, whatever row that belongs to. */
#ifndef RING_CUH
#define RING_CUH

#include "config.h"
#include "gpu.cuh"

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
    CHAIN_WARPS = HIDDEN / 64, /* each owns 1 / CHAIN_WARPS of a matrix's columns */
    CHAIN_THREADS = WARP * CHAIN_WARPS,
    SHARES = HIDDEN / 8, /* of every matrix of a layer */

    TILE_ROWS = 8, /* of HIDDEN columns, or what takes as many bytes */
    TILE_WEIGHTS = TILE_ROWS * HIDDEN,
    TILE_BYTES = TILE_WEIGHTS * 2,

    QKV_TILES = QKV_DIM / HIDDEN,          /* of a share of q, k, v */
    O_TILES = Q_DIM / HIDDEN,              /* of o */
    MLP_TILES = 2 * INTERMEDIATE / HIDDEN, /* of gate and up, which take turns */
    DOWN_TILES = INTERMEDIATE / HIDDEN,    /* of down */
    HEAD_TILES = 4,                        /* of a share of the head: 32 logits, one for each lane */
    HEAD_SHARES = VOCAB / (TILE_ROWS * HEAD_TILES),

    /* How many tiles fit beside the rest: a block has 227 KB on sm_90 and sm_100, 99 KB on sm_86 and sm_120.
     */
    STAGES_90 = 11,
    STAGES_80 = 3,
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
    STAGES = STAGES_90,
#else
    STAGES = STAGES_80,
#endif
    /* The copy engine needs one thread; with cp.async the requests of few warps are what a multiprocessor
     * waits for (20 blocks of compute_86 code on an H200: 2.3 ms a token with two, 2.1 with four). */
    FEED_WARPS_90 = 1,
    FEED_WARPS_80 = 4,
#if __CUDA_ARCH__ >= 900
    FEED_WARPS = FEED_WARPS_90
#else
    FEED_WARPS = FEED_WARPS_80
#endif
};
static_assert(VOCAB % (TILE_ROWS * HEAD_TILES) == 0, "whole shares");
static_assert((int)STAGES_90 > (int)MLP_TILES + 2, "a share's tiles are held together");

/* Tiles that may be under way at once. More of them only queue in front of the words, fewer leave the memory
 * idle; what falls between two exchanges differs from matrix to matrix. */
struct Pace {
    int qkv, o, mlp, down;
};

/* The chain's own barrier; the feed never takes part. */
__device__ __forceinline__ void
chain_sync(void)
{
    asm volatile("bar.sync 1, %0;" ::"n"((int)CHAIN_THREADS) : "memory");
}

extern __shared__ __align__(128) char memory[]; /* the tiles, RingState, and what decode.cuh puts behind it */

struct RingState {
    uint64_t full[STAGES_90], empty[STAGES_90]; /* mbarriers */
};

/* A position in the ring; every warp of the chain has its own. */
struct Ring {
    uint32_t at, parity; /* the next tile's stage, and the parity of its round */

    /* The stage of the i-th tile from here. */
    __device__ __forceinline__ uint32_t
    stage(uint32_t i) const
    {
        return at + i < STAGES ? at + i : at + i - STAGES;
    }

    static __device__ __forceinline__ char *
    tile(int stage)
    {
        return memory + stage * TILE_BYTES;
    }

    static __device__ __forceinline__ uint64_t *
    full(int stage)
    {
        return ((RingState *)(memory + STAGES * TILE_BYTES))->full + stage;
    }

    static __device__ __forceinline__ uint64_t *
    empty(int stage)
    {
        return ((RingState *)(memory + STAGES * TILE_BYTES))->empty + stage;
    }

    /* By the first STAGES threads of a block, before anything else. */
    static __device__ __forceinline__ void
    init(int thread)
    {
#if __CUDA_ARCH__ >= 900
        mbarrier_init(full(thread), 1);
#else
        mbarrier_init(full(thread), WARP * FEED_WARPS); /* each thread when its copies are there */
#endif
        mbarrier_init(empty(thread), CHAIN_WARPS);
#if __CUDA_ARCH__ >= 900
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    }

    /* The i-th tile from here, once it has arrived. */
    __device__ __forceinline__ const char *
    wait(int i) const
    {
        mbarrier_wait(full(stage(i)), at + i < STAGES ? parity : parity ^ 1);
        return tile(stage(i));
    }

    /* Gives the next n tiles back to be filled again. seen: something made of every word that was read from
     * them. The arrival must not overtake the reads, which wait in line behind other warps' polls; the
     * compiler orders it behind their issue only, so it takes their result. (H200: without, up to four in ten
     * passes of three rows had a wrong sum.) */
    __device__ __forceinline__ void
    release(uint32_t n, uint32_t seen)
    {
        const uint32_t lane = lane_index(), nothing = seen & (gridDim.z - 1);
        __syncwarp();
        if (lane < n)
            mbarrier_arrive(empty(stage(lane)) + nothing);
        parity ^= at + n >= STAGES;
        at = stage(n);
    }
};

/* The feed's position, counted in tiles from the start; each of its warps has its own. */
struct Feed {
    uint32_t count;

    /* Starts the copy of the next tile, of which `pace` may be under way: once the chain has taken what was
     * in its place. */
    __device__ __forceinline__ void
    copy(const bf16 *from, uint32_t pace)
    {
        const uint32_t stage = count % STAGES, earlier = count - pace;
        if (count >= STAGES)
            mbarrier_wait(Ring::empty(stage), (count / STAGES + 1) % 2);
        if (count >= pace)
            mbarrier_wait(Ring::full(earlier % STAGES), earlier / STAGES % 2);
        const uint32_t to = shared_address(Ring::tile(stage)), barrier = shared_address(Ring::full(stage));
#if __CUDA_ARCH__ >= 900
        if (lane_index() == 0) { /* the last operand: evict first, no weight is needed twice in a pass */
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier),
                         "r"((int)TILE_BYTES)
                         : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
                         "[%0], [%1], %2, [%3], %4;" ::"r"(to),
                         "l"(from), "r"((int)TILE_BYTES), "r"(barrier), "l"(0x12F0000000000000ull)
                         : "memory");
        }
        __syncwarp();
#else
#pragma unroll 8
        for (int i = threadIdx.x - CHAIN_THREADS; i < TILE_BYTES / 16; i += WARP * FEED_WARPS)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + i * 16), "l"(from + i * 8)
                         : "memory");
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
#endif
        count++;
    }
};

/* The feed: all of this block's tiles, in the order in which the chain takes them. */
__device__ void
feed(const Weights &weights, const Pace &pace)
{
    const int block = blockIdx.x, blocks = gridDim.x;
    Feed to = {0};

#pragma unroll 1
    for (int l = 0; l < LAYERS; l++) {
        const LayerWeights &w = weights.layer[l];
#pragma unroll 1
        for (int share = block; share < SHARES; share += blocks)
            for (int i = 0; i < QKV_TILES; i++)
                to.copy(w.q_proj + (size_t)(share * QKV_TILES + i) * TILE_WEIGHTS, pace.qkv);
#pragma unroll 1
        for (int share = block; share < SHARES; share += blocks)
            for (int i = 0; i < O_TILES; i++)
                to.copy(w.o_proj + (size_t)(share * O_TILES + i) * TILE_WEIGHTS, pace.o);
#pragma unroll 1
        for (int share = block; share < SHARES; share += blocks)
            for (int i = 0; i < MLP_TILES / 2; i++) {
                const bf16 *gate = w.gate_proj + (size_t)(share * MLP_TILES / 2 + i) * TILE_WEIGHTS;
                to.copy(gate, pace.mlp);
                to.copy(gate + (size_t)INTERMEDIATE * HIDDEN, pace.mlp);
            }
#pragma unroll 1
        for (int share = block; share < SHARES; share += blocks)
            for (int i = 0; i < DOWN_TILES; i++)
                to.copy(w.down_proj + (size_t)(share * DOWN_TILES + i) * TILE_WEIGHTS, pace.down);
    }
    const int deep = STAGES - 1 < 8 ? STAGES - 1 : 8; /* the head has no exchanges */
#pragma unroll 1
    for (int share = block; share < HEAD_SHARES; share += blocks)
        for (int i = 0; i < HEAD_TILES; i++)
            to.copy(weights.embed + (size_t)(share * HEAD_TILES + i) * TILE_WEIGHTS, deep);
}

/* ---- matrix times vectors ----
 *
 * A warp multiplies its own columns of a share's rows; the sum over the warps comes later. One mma takes 8
 * rows and 32 columns: a lane reads 16 bytes of row g, columns 8q.., and these four registers are a as they
 * are, which makes a's row g the row at columns 8q, 8q+1, 8q+4, 8q+5 and a's row g + 8 the same row at the
 * other four. So column 0 of b holds the vector at the former, column 1 at the latter, and what counts is c
 * at (g, 0) and (g + 8, 1). Columns 2 and 3 do the same for what rounding to bf16 took from the vector.
 *
 * Two neighbouring rows of a tile are in the same banks, so odd rows read the two chunks of 32 columns of a
 * pair in the other order. For one vector columns 4 to 7 of b hold it in that order, too; for several the
 * chunks are put right in registers, and those columns belong to a second vector. Either way a chunk meets
 * the same numbers, and the two accumulators, even chunks and odd ones, are added at the end: to the bit the
 * same.
 */

/* The place of a pair of columns (2i, 2i + 1) of a warp's slice, or of its rest, in b's order: column 0 of b,
 * then column 1. LOW: the vector has a rest, whose chunk follows each chunk. */
template <bool LOW>
__device__ __forceinline__ uint32_t
operand_place(uint32_t i, bool rest = false)
{
    return (LOW ? i / 16 * 32 + rest * 16 : i / 16 * 16) + i % 2 * 8 + i % 16 / 4 * 2 + i % 4 / 2;
}

/* A share's weights in registers: TILES times 8 rows and CHUNKS times 32 columns for a warp. Rows as wide as
 * HIDDEN lie in one tile each; wider ones (then TILES is 1) in WIDTH tiles. ROWS: vectors of the pass. */
template <int TILES, int CHUNKS, bool LOW, int ROWS> struct Tiles {
    enum {
        OUT = 8 * TILES,                      /* rows of a share */
        SLICE = 32 * CHUNKS,                  /* a warp's columns */
        WIDTH = SLICE * CHAIN_WARPS / HIDDEN, /* tiles of 8 rows */
        VECTOR = LOW ? SLICE : SLICE / 2 /* words of a warp's slice of a vector, in operand_place's order */
    };
    uint4 a[TILES][CHUNKS];

    __device__ __forceinline__ void
    load(Ring &ring, uint32_t warp)
    {
        const uint32_t lane = lane_index(), g = lane / 4, swap = (g & 1) * 64;
        const uint32_t first = g * (WIDTH * HIDDEN * 2) + warp * SLICE * 2 + lane % 4 * 16;
        uint32_t seen = 0;
        if (WIDTH == 1) {
            enum { HELD = STAGES > 8 && ROWS >= 4 ? TILES : 2 }; /* tiles before they are given back */
#pragma unroll
            for (int t = 0; t < TILES; t++) {
                const char *tile = ring.wait(t % HELD) + first;
#pragma unroll
                for (int i = 0; i < CHUNKS; i++)
                    a[t][i] = *(const uint4 *)(tile + ((64 * i) ^ swap));
#pragma unroll
                for (int i = 0; i < CHUNKS; i++)
                    seen |= a[t][i].x;
                if (t % HELD == HELD - 1)
                    ring.release(HELD, seen);
            }
        } else {
            uint32_t tile[WIDTH];
#pragma unroll
            for (int j = 0; j < WIDTH; j++)
                tile[j] = shared_address(ring.wait(j));
#pragma unroll
            for (int i = 0; i < CHUNKS; i++) {
                uint32_t byte = first + ((64 * i) ^ swap), p = tile[0];
#pragma unroll
                for (int j = 1; j < WIDTH; j++)
                    if (byte >= (uint32_t)(j * TILE_BYTES))
                        p = tile[j];
                a[0][i] = shared_load(p + byte % TILE_BYTES);
            }
#pragma unroll
            for (int i = 0; i < CHUNKS; i++)
                seen |= a[0][i].x;
            ring.release(WIDTH, seen);
        }
        if (ROWS > 1)
#pragma unroll
            for (int t = 0; t < TILES; t++)
#pragma unroll
                for (int i = 0; i < CHUNKS; i += 2)
                    exchange(a[t][i], a[t][i + 1], -(g & 1));
    }

    /* part (vectors, CHAIN_WARPS, OUT), from this warp's first one on = its part of the products with one
     * vector, or, where ROWS > 1, with two that lie VECTOR words apart in its x. */
    __device__ __forceinline__ void
    multiply(float *part, const uint32_t *x) const
    {
        const uint32_t lane = lane_index(), g = lane / 4, q = lane % 4, chunk = LOW ? 32 : 16;
        const uint32_t swap = ROWS == 1 ? g / 4 * chunk : 0;
        uint2 b[CHUNKS];

        x += (LOW ? g % 4 * 8 : g % 2 * 8) + q * 2 + (ROWS == 1 ? 0 : g / 4 * VECTOR);
#pragma unroll
        for (int t = 0; t < TILES; t++) {
            float c[2][4] = {};
            /* With several rows the weights are needed again, and more sums at once than those of two tiles
             * would take their registers: b is read anew, in order with the stores. */
            if (t == 0 || (ROWS > 1 && t % 2 == 0))
#pragma unroll
                for (int i = 0; i < CHUNKS; i++)
                    b[i] = shared_load_pair(shared_address(x + ((chunk * i) ^ swap)));
#pragma unroll
            for (int i = 0; i < CHUNKS; i++)
                mma(c[i % 2], a[t][i].x, a[t][i].y, a[t][i].z, a[t][i].w, b[i].x, b[i].y);
            float v = c[0][0] + c[0][3] + (c[1][0] + c[1][3]);
            if (LOW)
                v += __shfl_xor_sync(~0u, v, 1);
            if (ROWS == 1) {
                if (q == g % 2 * 2)
                    part[8 * t + g] = v;
            } else if (q % 2 == 0)
                *(volatile float *)(part + q / 2 * (CHAIN_WARPS * OUT) + 8 * t + g) = v;
        }
    }
};

#endif
