/* ring.cuh: how decode's weights come to the chain: a ring of tiles in shared memory, the feed that fills it,
 * and the warps' taking of tiles into registers.
 *
 * A matrix is cut by rows into equal shares. In every form a share is a whole number of tiles without a gap
 * between them, and a tile is one copy. In the file's form, where rows are wider than HIDDEN, a tile is a
 * piece of the share, whatever row that belongs to. */
#ifndef RING_CUH
#define RING_CUH

#include "config.h"
#include "gpu.cuh"
#include "weights.cuh"

enum {
    SHARES = HIDDEN / 8, /* of every matrix of a layer */

    QKV_TILES = QKV_DIM / HIDDEN,          /* of a share of q, k, v */
    O_TILES = Q_DIM / HIDDEN,              /* of o */
    MLP_TILES = 2 * INTERMEDIATE / HIDDEN, /* of gate and up, which take turns */
    DOWN_TILES = INTERMEDIATE / HIDDEN,    /* of down */
    HEAD_TILES = 4,                        /* of a share of the head: 32 logits, one for each lane */
    HEAD_SHARES = VOCAB / (TILE_ROWS * HEAD_TILES),

    /* A block has 227 KB on sm_90 and sm_100, 99 KB on sm_86 and sm_120. In the former two more tiles would
     * fit if there were fewer PART_SLOTS; but copies under way while attention waits for its words delay them
     * (H200, us a token at depth 0, 128 and 8,000: 315, 331 and 600 with 11 tiles, 314, 320 and 584 with 9,
     * 316, 323 and 580 with 8). */
    RING_BYTES_90 = 9 * TILE_BYTES,
    RING_BYTES_80 = 3 * TILE_BYTES,
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
    ROOMY = 1, /* 227 KB of shared memory a block */
#else
    ROOMY = 0,
#endif
    RING_BYTES = ROOMY ? (int)RING_BYTES_90 : (int)RING_BYTES_80,
    MAX_STAGES = RING_BYTES_90 / TILE_BYTES_8,

    /* The copy engine needs one thread; with cp.async the requests of few warps are what a multiprocessor
     * waits for (an earlier kernel on 20 blocks of an H200: 2.3 ms a token with two, 2.1 with four). */
    FEED_WARPS_90 = 1,
    FEED_WARPS_80 = 4,
#if __CUDA_ARCH__ >= 900
    FEED_WARPS = FEED_WARPS_90,
    FEED_UNROLL = 1 /* one thread issues a tile's copy and has time */
#else
    FEED_WARPS = FEED_WARPS_80,
    FEED_UNROLL = 8 /* H200, code of compute_86 on 128 blocks: 423 us a token in place of 440 */
#endif
};
static_assert(VOCAB % (TILE_ROWS * HEAD_TILES) == 0, "whole shares");
static_assert((int)RING_BYTES_90 / TILE_BYTES > (int)MLP_TILES + 2, "a share's tiles are held together");

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
    uint64_t full[MAX_STAGES], empty[MAX_STAGES]; /* mbarriers */
};

/* A position in the ring; every warp of the chain has its own. */
template <int FORM> struct Ring {
    enum { STAGE_BYTES = FORM == 8 ? (int)TILE_BYTES_8 : (int)TILE_BYTES, STAGES = RING_BYTES / STAGE_BYTES };
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
        return memory + stage * STAGE_BYTES;
    }

    static __device__ __forceinline__ uint64_t *
    full(int stage)
    {
        return ((RingState *)(memory + RING_BYTES))->full + stage;
    }

    static __device__ __forceinline__ uint64_t *
    empty(int stage)
    {
        return ((RingState *)(memory + RING_BYTES))->empty + stage;
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
template <int FORM> struct Feed {
    typedef Ring<FORM> To;
    uint32_t count;

    /* Starts the copy of the next tile, tile i of a matrix. So many may be under way at once, and what was in
     * its place has to be taken. */
    __device__ __forceinline__ void
    copy(const Matrix &matrix, size_t i, uint32_t pace)
    {
        const uint32_t bytes = FORM == 16 ? TILE_BYTES : FORM == 12 ? matrix.tile_bytes : TILE_BYTES_8;
        const uint32_t stage = count % To::STAGES, earlier = count - pace;
        const char *from = matrix.data + i * bytes;
        if (count >= To::STAGES)
            mbarrier_wait(To::empty(stage), (count / To::STAGES + 1) % 2);
        if (count >= pace)
            mbarrier_wait(To::full(earlier % To::STAGES), earlier / To::STAGES % 2);
        const uint32_t to = shared_address(To::tile(stage)), barrier = shared_address(To::full(stage));
#if __CUDA_ARCH__ >= 900
        if (lane_index() == 0) { /* the last operand: evict first, no weight is needed twice in a pass */
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                         : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
                         "[%0], [%1], %2, [%3], %4;" ::"r"(to),
                         "l"(from), "r"(bytes), "r"(barrier), "l"(0x12F0000000000000ull)
                         : "memory");
        }
        __syncwarp();
#else
        enum { STEP = WARP * FEED_WARPS * 16 };
        const uint32_t mine = threadIdx.x * 16 % STEP;
#pragma unroll
        for (uint32_t at = 0; at < To::STAGE_BYTES; at += STEP)
            if (at + mine < bytes)
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + at + mine),
                             "l"(from + at + mine)
                             : "memory");
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
#endif
        count++;
    }
};

/* This block's shares of matrix m of a layer, in the order of use. */
template <int FORM>
__device__ __forceinline__ void
feed_matrix(Feed<FORM> &to, const LayerWeights &w, const Pace &pace, int m)
{
    const Matrix &matrix = m == 0 ? w.qkv : m == 1 ? w.o : m == 2 ? w.gate_up : w.down;
    const int tiles = m == 0 ? QKV_TILES : m == 1 ? O_TILES : m == 2 ? MLP_TILES : DOWN_TILES;
    const int at_once = m == 0 ? pace.qkv : m == 1 ? pace.o : m == 2 ? pace.mlp : pace.down;
#pragma unroll 1
    for (int share = blockIdx.x; share < SHARES; share += gridDim.x)
#pragma unroll FEED_UNROLL
        for (int i = 0; i < tiles; i++) {
            const int up = i % 2 * (INTERMEDIATE / TILE_ROWS); /* gate and up take turns */
            to.copy(matrix, m == 2 ? up + share * (MLP_TILES / 2) + i / 2 : share * tiles + i, at_once);
        }
}

/* The feed: all of this block's tiles, in the order in which the chain takes them. Where it is one warp, that
 * is mostly idle and also brings a layer's two norms into the L2 cache, for which the chain would otherwise
 * wait (H200: 1 % at depth 64). The calls without a loop are for the compiler, which unrolls no loop over
 * tiles whose number is not known to it before. */
template <int FORM>
__device__ void
feed(const Weights &weights, const Pace &pace)
{
    const int block = blockIdx.x, blocks = gridDim.x;
    Feed<FORM> to = {0};

#pragma unroll 1
    for (int l = 0; l < LAYERS; l++) {
        const LayerWeights &w = weights.layer[l];
        if (FEED_WARPS == 1) {
            const uint32_t lane = lane_index(), lines = HIDDEN / 64;
            if (lane < 2 * lines)
                prefetch((lane < lines ? w.input_norm : w.post_norm) + lane % lines * 64);
#pragma unroll 1
            for (int m = 0; m < 4; m++)
                feed_matrix(to, w, pace, m);
        } else {
            feed_matrix(to, w, pace, 0);
            feed_matrix(to, w, pace, 1);
            feed_matrix(to, w, pace, 2);
            feed_matrix(to, w, pace, 3);
        }
    }
    const int deep = Ring<FORM>::STAGES - 1 < 8 ? Ring<FORM>::STAGES - 1 : 8; /* the head has no exchanges */
#pragma unroll 1
    for (int share = block; share < HEAD_SHARES; share += blocks)
#pragma unroll FEED_UNROLL
        for (int i = 0; i < HEAD_TILES; i++)
            to.copy(weights.embed, share * HEAD_TILES + i, deep);
}

/* ---- matrix times vectors ----
 *
 * A warp multiplies its own columns of a share's rows; the sum over the warps comes later. One mma takes 8
 * rows and 32 columns: a lane reads 16 bytes of row g, columns 8q.., and these four registers are a as they
 * are, which makes a's row g the row at columns 8q, 8q+1, 8q+4, 8q+5 and a's row g + 8 the same row at the
 * other four. So column 0 of b holds the vector at the former, column 1 at the latter, and what counts is c
 * at (g, 0) and (g + 8, 1). Columns 2 and 3 do the same for what rounding to bf16 took from the vector.
 *
 * In the file's form two neighbouring rows of a tile are in the same banks, so odd rows read the two chunks
 * of 32 columns of a pair in the other order. For one vector columns 4 to 7 of b hold it in that order, too;
 * for several the chunks are put right in registers, and those columns belong to a second vector. Either way
 * a chunk meets the same numbers, and the two accumulators, even chunks and odd ones, are added at the end:
 * to the bit the same.
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
template <int FORM, int TILES, int CHUNKS, bool LOW, int ROWS> struct Tiles {
    enum {
        OUT = 8 * TILES,                      /* rows of a share */
        SLICE = 32 * CHUNKS,                  /* a warp's columns */
        WIDTH = SLICE * CHAIN_WARPS / HIDDEN, /* tiles of 8 rows */
        VECTOR = LOW ? SLICE : SLICE / 2, /* words of a warp's slice of a vector, in operand_place's order */
        SCALES = FORM == 8 ? WIDTH : 1,   /* of a row */
        EACH = FORM == 8 ? 2 : 4          /* of them in a register */
    };
    uint4 a[TILES][CHUNKS];
    uint32_t scales[(TILES * SCALES + EACH - 1) / EACH];

    __device__ __forceinline__ void
    load(Ring<FORM> &ring, const Matrix &matrix, uint32_t warp)
    {
        if constexpr (FORM == 16)
            load_16(ring, warp);
        else {
            /* How many tiles are read before they are given back: one where there are few stages, as the feed
             * waits for it. */
            enum { ALL = TILES * WIDTH, HELD = Ring<FORM>::STAGES < 8 ? 1 : ALL % 2 ? (int)ALL : 2 };
#pragma unroll
            for (int first = 0; first < ALL; first += HELD) {
                Packed<FORM> packed[HELD];
                const char *tile[HELD];
                uint32_t seen = 0;
#pragma unroll
                for (int i = 0; i < HELD; i++) {
                    tile[i] = ring.wait(i);
                    packed[i].read(tile[i], warp);
                }
#pragma unroll
                for (int i = 0; i < HELD; i++) {
                    const int t = (first + i) / WIDTH, j = (first + i) % WIDTH, s = t * SCALES + j;
                    uint4 &low = a[t][2 * j], &high = a[t][2 * j + 1];
                    packed[i].unpack(low, high);
                    seen |= packed[i].patch(low, high, tile[i], matrix.tile_bytes, warp);
                    if (j < SCALES)
                        scales[s / EACH] = (s % EACH ? scales[s / EACH] : 0) | packed[i].scale
                                                                                   << s % EACH * (32 / EACH);
                }
                ring.release(HELD, seen);
            }
        }
    }

    __device__ __forceinline__ void
    load_16(Ring<FORM> &ring, uint32_t warp)
    {
        const uint32_t lane = lane_index(), g = lane / 4, swap = (g & 1) * 64;
        const uint32_t first = g * (WIDTH * HIDDEN * 2) + warp * SLICE * 2 + lane % 4 * 16;
        uint32_t seen = 0;
        if (WIDTH == 1) {
            enum { HELD = Ring<FORM>::STAGES > 8 && ROWS >= 4 ? TILES : 2 }; /* before they are given back */
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

    /* The scale of this lane's row of tile t, for 64 columns of this warp's. */
    __device__ __forceinline__ float
    scale(int t, int j = 0) const
    {
        const int i = t * SCALES + j;
        return Packed<FORM>::factor(scales[i / EACH] << (EACH - 1 - i % EACH) * (32 / EACH) >>
                                    (EACH - 1) * (32 / EACH));
    }

    /* part (vectors, CHAIN_WARPS, OUT), from this warp's first one on = its part of the products with one
     * vector, or, where ROWS > 1, with two that lie VECTOR words apart in its x. */
    __device__ __forceinline__ void
    multiply(float *part, const uint32_t *x) const
    {
        enum { SWAPPED = FORM == 16 && ROWS == 1, SUMS = FORM == 8 ? (int)SCALES : 2 };
        const uint32_t lane = lane_index(), g = lane / 4, q = lane % 4, chunk = LOW ? 32 : 16;
        const uint32_t swap = SWAPPED ? g / 4 * chunk : 0;
        uint2 b[CHUNKS];

        x += (LOW ? g % 4 * 8 : g % 2 * 8) + q * 2 + (ROWS == 1 ? 0 : g / 4 * VECTOR);
#pragma unroll
        for (int t = 0; t < TILES; t++) {
            float c[SUMS][4] = {};
            /* With several rows the weights are needed again, and more sums at once than those of two tiles
             * would take their registers: b is read anew, in order with the stores. */
            if (t == 0 || (ROWS > 1 && t % 2 == 0))
#pragma unroll
                for (int i = 0; i < CHUNKS; i++)
                    b[i] = shared_load_pair(shared_address(x + ((chunk * i) ^ swap)));
#pragma unroll
            for (int i = 0; i < CHUNKS; i++)
                mma(c[FORM == 8 ? i / 2 : i % 2], a[t][i].x, a[t][i].y, a[t][i].z, a[t][i].w, b[i].x, b[i].y);
            float v = c[0][0] + c[0][3];
            if constexpr (FORM == 8) {
                v = __fmul_rn(v, scale(t)); /* not to become one operation with what follows */
#pragma unroll
                for (int j = 1; j < SUMS; j++)
                    v = __fmaf_rn(scale(t, j), c[j][0] + c[j][3], v);
            } else
                v += c[1][0] + c[1][3];
            if constexpr (FORM == 12)
                v *= scale(t);
            if (LOW)
                v += __shfl_xor_sync(~0u, v, 1);
            if (ROWS == 1) {
                if (q == (SWAPPED ? g % 2 * 2 : 0))
                    part[8 * t + g] = v;
            } else if (q % 2 == 0)
                *(volatile float *)(part + q / 2 * (CHAIN_WARPS * OUT) + 8 * t + g) = v;
        }
    }
};

#endif
