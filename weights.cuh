/* weights.cuh: the forms of a matrix on the card: packed at load, unpacked by decode into registers and by
 * prefill into what cuBLAS reads.
 *
 * A matrix is cut into tiles of TILE_WEIGHTS, in the order in which decode reads them: 8 rows of HIDDEN
 * columns each; of wider rows W = columns / HIDDEN tiles for 8 rows. Form 16 is the file's: bf16, row by row.
 * In the packed forms a tile is laid out as the warps take it: of tile j for its 8 rows, lane 4 g + q of warp
 * w has row g at columns 64 (W w + j) + 8 q.. and 32 further on, 8 each; these 16 lie together.
 *
 * Form 12 rounds nothing. Trained exponents fall into few neighbouring values, so a weight is a byte, its
 * sign and mantissa, and half a byte, its exponent within a window of 16 that is chosen for each row. What
 * falls outside is in the tile's lists: of a matrix all tiles have as many as the worst of them needs, mostly
 * one. A model that has too much for lists, or what none can hold, stays in form 16. The window stands at
 * 2^-15 to 2; the row's scale, a power of two, puts it back: behind the sums, where it changes no bit of them
 * (unless they are subnormal).
 *
 * Form 8 rounds: sign and 7 bits of a whole number, times a scale for 64 columns of a row, as dot.h has it.
 */
#ifndef WEIGHTS_CUH
#define WEIGHTS_CUH

#include "config.h"
#include "gpu.cuh"

#include <limits.h>

enum {
    CHAIN_WARPS = HIDDEN / 64, /* each owns 1 / CHAIN_WARPS of a matrix's columns */
    CHAIN_THREADS = WARP * CHAIN_WARPS,

    TILE_ROWS = 8, /* of HIDDEN columns, or what takes as many bytes */
    TILE_WEIGHTS = TILE_ROWS * HIDDEN,
    TILE_BYTES = TILE_WEIGHTS * 2,

    /* Form 12: bytes; halves of bytes; one list or more, the first of which begins with the rows' scales. */
    TILE_EXPONENTS = TILE_WEIGHTS,
    TILE_LIST = TILE_EXPONENTS + TILE_WEIGHTS / 2,
    LIST_BYTES = 4 * WARP, /* a lane reads an entry */
    TILE_BYTES_12 = TILE_LIST + LIST_BYTES,

    /* Form 8: bytes; a scale (bf16) for each warp and row. */
    TILE_BYTES_8 = TILE_WEIGHTS + CHAIN_WARPS * TILE_ROWS * 2
};

/* A matrix on the card. */
struct Matrix {
    const char *data;    /* (tiles, tile_bytes) */
    uint32_t tile_bytes; /* in form 12 it depends on the lists */

    __host__ __device__ __forceinline__ const char *
    tile(size_t i) const
    {
        return data + i * tile_bytes;
    }
};

/* Device pointers; norms are bf16. */
struct LayerWeights {
    const bf16 *input_norm; /* (HIDDEN) */
    const bf16 *q_norm;     /* (HEAD_DIM) */
    const bf16 *k_norm;     /* (HEAD_DIM) */
    const bf16 *post_norm;  /* (HIDDEN) */
    Matrix qkv;             /* q (Q_DIM, HIDDEN), k (KV_DIM, HIDDEN), v (KV_DIM, HIDDEN) */
    Matrix o;               /* (HIDDEN, Q_DIM) */
    Matrix gate_up;         /* gate (INTERMEDIATE, HIDDEN), up (INTERMEDIATE, HIDDEN) */
    Matrix down;            /* (HIDDEN, INTERMEDIATE) */
};

struct Weights {
    Matrix embed;     /* (VOCAB, HIDDEN) */
    const bf16 *norm; /* (HIDDEN) */
    LayerWeights layer[LAYERS];
};

/* ---- unpacking ---- */

/* Two bytes of v as the halves of a word, each of them twice. */
template <int PAIR>
__device__ __forceinline__ uint32_t
twice(uint32_t v)
{
    return __byte_perm(v, 0, PAIR ? 0x3322 : 0x1100);
}

/* (v & mask) | bits in one instruction, which the compiler does not make of two constants. */
__device__ __forceinline__ uint32_t
mask_or(uint32_t v, uint32_t mask, uint32_t bits)
{
    uint32_t r;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(r) : "r"(v), "r"(mask), "r"(bits));
    return r;
}

/* What a lane has of a tile. read() takes it as it lies, unpack() makes bf16 of it: 8 weights in a, 8 in b,
 * to be multiplied by factor(scale). */
template <int FORM> struct Packed;

template <> struct Packed<12> {
    uint4 byte;
    uint2 exponent;
    uint32_t scale; /* the exponent of a float */
    uint32_t list;  /* this lane's word of the first one */

    __device__ __forceinline__ void
    read(const char *tile, uint32_t warp)
    {
        const uint32_t lane = lane_index();
        list = *(const uint32_t *)(tile + TILE_LIST + lane * 4);
        byte = *(const uint4 *)(tile + warp * 512 + lane * 16);
        exponent = *(const uint2 *)(tile + TILE_EXPONENTS + warp * 256 + lane * 8);
        scale = *(const uint8_t *)(tile + TILE_LIST + lane / 4);
    }

    static __device__ __forceinline__ float
    factor(uint32_t scale)
    {
        return __uint_as_float(scale << 23);
    }

    /* Two weights; exponents: their halves of bytes at bits 7.. and 23.. */
    template <int PAIR>
    static __device__ __forceinline__ uint32_t
    pair(uint32_t bytes, uint32_t exponents)
    {
        return mask_or(exponents, 0x07800780, mask_or(twice<PAIR>(bytes), 0x807f807f, 0x38003800));
    }

    __device__ __forceinline__ void
    unpack(uint4 &a, uint4 &b) const
    {
        a.x = pair<0>(byte.x, exponent.x << 7), a.y = pair<1>(byte.x, exponent.x << 3);
        a.z = pair<0>(byte.y, exponent.x >> 1), a.w = pair<1>(byte.y, exponent.x >> 5);
        b.x = pair<0>(byte.z, exponent.y << 7), b.y = pair<1>(byte.z, exponent.y << 3);
        b.z = pair<0>(byte.w, exponent.y >> 1), b.w = pair<1>(byte.w, exponent.y >> 5);
    }

    /* Puts in what the tile's lists have for this warp. Returns something made of all that was read,
     * for Ring::release. */
    __device__ __forceinline__ uint32_t
    patch(uint4 &a, uint4 &b, const char *tile, uint32_t bytes, uint32_t warp)
    {
        uint32_t at = TILE_LIST;
#pragma unroll 1
        do {
            uint32_t mine = __ballot_sync(~0u, list >> 27 == (16 | warp));
#pragma unroll 1
            for (; mine; mine &= mine - 1) {
                const uint32_t entry = __shfl_sync(~0u, list, __ffs(mine) - 1);
                const uint32_t word = (entry >> 17 & 255) - lane_index() * 8;
                const uint32_t order = entry >> 16 & 1 ? 0x5410 : 0x3254;
                uint32_t *const place[8] = {&a.x, &a.y, &a.z, &a.w, &b.x, &b.y, &b.z, &b.w};
#pragma unroll
                for (uint32_t i = 0; i < 8; i++)
                    if (word == i)
                        *place[i] = __byte_perm(*place[i], entry, order);
            }
            at += LIST_BYTES;
            if (at < bytes)
                list = *(const uint32_t *)(tile + at + lane_index() * 4);
        } while (at < bytes);
        return a.x | scale; /* the lists had to be there for the vote */
    }
};

template <> struct Packed<8> {
    uint4 byte;
    uint32_t scale; /* bf16 */

    __device__ __forceinline__ void
    read(const char *tile, uint32_t warp)
    {
        const uint32_t lane = lane_index();
        byte = *(const uint4 *)(tile + warp * 512 + lane * 16);
        scale = *(const uint16_t *)(tile + TILE_WEIGHTS + warp * 16 + lane / 4 * 2);
    }

    /* Two weights: with their signs, 128 and the number, less 128. */
    template <int PAIR>
    static __device__ __forceinline__ uint32_t
    pair(uint32_t bytes)
    {
        const uint32_t v = twice<PAIR>(bytes), sum = mask_or(v, 0x807f807f, 0x43004300),
                       less = mask_or(v, 0x80008000, 0x43004300);
        uint32_t r;
        asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(less), "r"(0xbf80bf80), "r"(sum));
        return r;
    }

    static __device__ __forceinline__ float
    factor(uint32_t scale)
    {
        return __uint_as_float(scale << 16);
    }

    __device__ __forceinline__ void
    unpack(uint4 &a, uint4 &b) const
    {
        a = make_uint4(pair<0>(byte.x), pair<1>(byte.x), pair<0>(byte.y), pair<1>(byte.y));
        b = make_uint4(pair<0>(byte.z), pair<1>(byte.z), pair<0>(byte.w), pair<1>(byte.w));
    }

    __device__ __forceinline__ uint32_t
    patch(uint4 &a, uint4 &, const char *, uint32_t, uint32_t)
    {
        return a.x | scale;
    }
};

/* Column lane % 8 of those from 8 * eight on, of a row of a matrix with HIDDEN columns. By a whole warp. */
template <int FORM>
__device__ __forceinline__ float
weight_of_row(const Matrix &m, int row, int eight)
{
    const uint32_t lane = lane_index();
    if constexpr (FORM == 16)
        return __bfloat162float(((const bf16 *)m.data)[(size_t)row * HIDDEN + eight * 8 + lane % 8]);
    else {
        const uint32_t warp = eight / 8, from = row % TILE_ROWS * 4 + eight % 4;
        const char *tile = m.tile(row / TILE_ROWS);
        Packed<FORM> packed;
        uint4 a, b;
        packed.read(tile, warp);
        packed.unpack(a, b);
        packed.patch(a, b, tile, m.tile_bytes, warp);
        if (eight % 8 / 4)
            a = b;
        const uint32_t x = __shfl_sync(~0u, a.x, from), y = __shfl_sync(~0u, a.y, from),
                       z = __shfl_sync(~0u, a.z, from), w = __shfl_sync(~0u, a.w, from);
        const float2 two = unpack(lane & 4 ? lane & 2 ? w : z : lane & 2 ? y : x);
        return (lane & 1 ? two.y : two.x) * Packed<FORM>::factor(__shfl_sync(~0u, packed.scale, from));
    }
}

/* The matrices of a layer in bf16, row by row, one after the other. */
enum {
    LAYER_QKV = QKV_DIM * HIDDEN,
    LAYER_O = HIDDEN * Q_DIM,
    LAYER_GATE_UP = 2 * INTERMEDIATE * HIDDEN,
    LAYER_DOWN = HIDDEN * INTERMEDIATE,
    LAYER_WEIGHTS = LAYER_QKV + LAYER_O + LAYER_GATE_UP + LAYER_DOWN
};

/* out = the matrices of a layer; what form 8 has between two bf16 is rounded. One block a tile: all four in
 * one launch, since each by itself is over before it has filled the card. */
template <int FORM>
KERNEL(CHAIN_THREADS)
unpack_kernel(bf16 *out /* (LAYER_WEIGHTS) */, const __grid_constant__ LayerWeights w)
{
    const uint32_t warp = warp_index(), lane = lane_index();
    const Matrix *matrix = &w.qkv;
    int tile = blockIdx.x, wide = 1;
    Packed<FORM> packed;
    uint4 v[2];

    if (tile >= LAYER_QKV / TILE_WEIGHTS) {
        tile -= LAYER_QKV / TILE_WEIGHTS, out += LAYER_QKV;
        matrix = &w.o, wide = Q_DIM / HIDDEN;
        if (tile >= LAYER_O / TILE_WEIGHTS) {
            tile -= LAYER_O / TILE_WEIGHTS, out += LAYER_O;
            matrix = &w.gate_up, wide = 1;
            if (tile >= LAYER_GATE_UP / TILE_WEIGHTS) {
                tile -= LAYER_GATE_UP / TILE_WEIGHTS, out += LAYER_GATE_UP;
                matrix = &w.down, wide = INTERMEDIATE / HIDDEN;
            }
        }
    }
    const char *from = matrix->tile(tile);
    packed.read(from, warp);
    packed.unpack(v[0], v[1]);
    packed.patch(v[0], v[1], from, matrix->tile_bytes, warp);
    const __nv_bfloat162 scale = __float2bfloat162_rn(packed.factor(packed.scale));
    __nv_bfloat162 *two = (__nv_bfloat162 *)v;
#pragma unroll
    for (int i = 0; i < 8; i++)
        two[i] = __hmul2(two[i], scale);
    out += (size_t)(tile / wide * TILE_ROWS + lane / 4) * wide * HIDDEN + 64 * (wide * warp + tile % wide) +
           lane % 4 * 8;
    *(uint4 *)out = v[0];
    *(uint4 *)(out + 32) = v[1];
}

/* ---- packing ---- */

/* The 16 bf16 weights that a lane has of tile j for 8 rows of so many HIDDENs of columns. */
__device__ __forceinline__ void
lane_weights(uint32_t *v /* (8), aligned to 16 bytes */, const bf16 *rows /* (8, wide * HIDDEN) */, int wide,
             int j, uint32_t warp)
{
    const uint32_t lane = lane_index();
    const bf16 *from = rows + (size_t)(lane / 4) * wide * HIDDEN + 64 * (wide * warp + j) + lane % 4 * 8;
    *(uint4 *)v = *(const uint4 *)from;
    *(uint4 *)(v + 4) = *(const uint4 *)(from + 32);
}

/* The first exponent of the window of 16 that has the most of a row's weights, 0 if none has any. It ends
 * below 2, so that a scale's exponent is below 128 and is never taken for an entry. By a warp. */
__device__ __forceinline__ int
best_window(const int (&count)[256])
{
    int best = 0;
    for (int first = 1 + (int)lane_index(); first <= 112; first += WARP) {
        int in = 0;
        for (int i = 0; i < 16; i++)
            in += count[first + i];
        best = max(best, in << 8 | first);
    }
    best = __reduce_max_sync(~0u, best);
    return best >> 8 ? best & 255 : 0;
}

/* 8 rows of bf16 weights to form 12. *longest becomes the most words that the lists of a tile need, if that
 * is more: the matrix is complete if its tiles have room for so many. INT_MAX: it has a number that no list
 * can hold: subnormal, infinite, NaN, 2^64 times the greatest of its row's window and more, or not below 2 in
 * a row of such numbers alone. One block for 8 rows.
 * An entry: bit 31; the warp; from bit 20 the lane; from 16 the weight's number; the weight as it stands
 * where the window does. */
KERNEL(CHAIN_THREADS)
pack_12_kernel(Matrix to, const bf16 *rows /* (8 * gridDim.x, wide * HIDDEN) */, int wide, int *longest)
{
    __shared__ int count[TILE_ROWS][256], window[TILE_ROWS], listed;
    const uint32_t warp = warp_index(), lane = lane_index(), g = lane / 4;
    const int words = (to.tile_bytes - TILE_LIST) / 4;
    __align__(16) uint32_t v[8];

    rows += (size_t)blockIdx.x * TILE_ROWS * wide * HIDDEN;
    for (int i = threadIdx.x; i < TILE_ROWS * 256; i += CHAIN_THREADS)
        count[0][i] = 0;
    __syncthreads();
    for (int j = 0; j < wide; j++) {
        lane_weights(v, rows, wide, j, warp);
        for (int i = 0; i < 16; i++) {
            const uint32_t w = v[i / 2] >> i % 2 * 16 & 0x7fff;
            if (w)
                atomicAdd(&count[g][w >> 7], 1);
        }
    }
    __syncthreads();
    for (int row = warp; row < TILE_ROWS; row += CHAIN_WARPS) {
        const int first = best_window(count[row]);
        if (lane == 0)
            window[row] = first;
    }

    for (int j = 0; j < wide; j++) {
        char *tile = (char *)to.tile(blockIdx.x * wide + j);
        __align__(16) uint32_t byte[4] = {}, exponent[2] = {};
        uint32_t *list = (uint32_t *)(tile + TILE_LIST);

        for (int i = threadIdx.x; i < words; i += CHAIN_THREADS)
            list[i] = 0;
        listed = TILE_ROWS / 4;
        __syncthreads();
        const int first = window[g];
        lane_weights(v, rows, wide, j, warp);
        for (int i = 0; i < 16; i++) {
            const uint32_t w = v[i / 2] >> i % 2 * 16 & 0xffff;
            const int e = w >> 7 & 255, n = e - first;
            byte[i / 4] |= ((w >> 8 & 0x80) | (w & 0x7f)) << i % 4 * 8;
            if (first && n >= 0 && n < 16)
                exponent[i / 8] |= n << (i / 2 % 4 * 4 + i % 2 * 16);
            else if (first && ((w & 0x7fff) == 0 || (e > 0 && n + 112 < 192))) { /* or a sum may overflow */
                const int at = atomicAdd(&listed, 1);
                if (at < words)
                    list[at] = (16 | warp) << 27 | lane << 20 | i << 16 |
                               (w & 0x7fff ? (w & 0x807f) | (uint32_t)(n + 112) << 7 : w);
            } else if (w & 0x7fff) /* what no list can hold */
                atomicMax(longest, INT_MAX);
        }
        *(uint4 *)(tile + warp * 512 + lane * 16) = *(uint4 *)byte;
        *(uint2 *)(tile + TILE_EXPONENTS + warp * 256 + lane * 8) = *(uint2 *)exponent;
        __syncthreads();
        if (threadIdx.x < TILE_ROWS)
            tile[TILE_LIST + threadIdx.x] = window[threadIdx.x] ? window[threadIdx.x] + 15 : 0;
        if (threadIdx.x == 0)
            atomicMax(longest, listed);
        __syncthreads();
    }
}

/* 8 rows of bf16 weights to form 8, rounded as dot_quantize() in dot.h does it. One block for 8 rows. */
KERNEL(CHAIN_THREADS)
pack_8_kernel(Matrix to, const bf16 *rows /* (8 * gridDim.x, wide * HIDDEN) */, int wide)
{
    const uint32_t warp = warp_index(), lane = lane_index(), g = lane / 4;
    __align__(16) uint32_t v[8];

    rows += (size_t)blockIdx.x * TILE_ROWS * wide * HIDDEN;
    for (int j = 0; j < wide; j++) {
        char *tile = (char *)to.tile(blockIdx.x * wide + j);
        __align__(16) uint32_t byte[4] = {};
        float greatest = 0;
        bool finite = true;

        lane_weights(v, rows, wide, j, warp);
        for (int i = 0; i < 16; i++) {
            const float w = fabsf(__uint_as_float(v[i / 2] >> i % 2 * 16 << 16));
            greatest = fmaxf(greatest, w);
            finite &= w < INFINITY;
        }
        for (int m = 1; m < 4; m *= 2) {
            greatest = fmaxf(greatest, __shfl_xor_sync(~0u, greatest, m));
            finite &= __shfl_xor_sync(~0u, finite, m);
        }
        uint32_t scale = __float_as_uint(__bfloat162float(__float2bfloat16(greatest / 127)));
        if (__uint_as_float(scale) * 127 < greatest)
            scale += 1 << 16;
        const float step = __uint_as_float(scale);
        for (int i = 0; i < 16; i++) {
            const float q = step > 0 ? rintf(__uint_as_float(v[i / 2] >> i % 2 * 16 << 16) / step) : 0;
            if (fabsf(q) <= 127)
                byte[i / 4] |= ((uint32_t)fabsf(q) | (q < 0) << 7) << i % 4 * 8;
        }
        *(uint4 *)(tile + warp * 512 + lane * 16) = *(uint4 *)byte;
        if (lane % 4 == 0)
            ((uint16_t *)(tile + TILE_WEIGHTS))[warp * TILE_ROWS + g] = finite ? scale >> 16 : 0x7fc0;
    }
}

/* ---- host ---- */

/* Bytes of a tile in this form; in form 12 with lists for so many words. */
static inline uint32_t
form_tile_bytes(int form, int words)
{
    if (form == 12)
        return TILE_LIST + (words + WARP - 1) / WARP * LIST_BYTES;
    return form == 16 ? (int)TILE_BYTES : (int)TILE_BYTES_8;
}

/* Brings `rows` rows (a multiple of 8) of bf16 weights on the card into their form, beginning at tile `tile`
 * of the matrix. *longest: on the card, see pack_12_kernel. */
static inline const char *
weights_pack(const Matrix &to, int form, size_t tile, const bf16 *from, int rows, int columns, int *longest,
             cudaStream_t stream)
{
    const Matrix part = {to.tile(tile), to.tile_bytes};

    if (form == 12)
        pack_12_kernel<<<rows / TILE_ROWS, CHAIN_THREADS, 0, stream>>>(part, from, columns / HIDDEN, longest);
    else
        pack_8_kernel<<<rows / TILE_ROWS, CHAIN_THREADS, 0, stream>>>(part, from, columns / HIDDEN);
    return gpu_launched("pack");
}

/* out (LAYER_WEIGHTS) = a layer's matrices, which are in a packed form, in bf16. */
static inline const char *
weights_unpack(bf16 *out, const LayerWeights &w, int form, cudaStream_t stream)
{
    if (form == 12)
        unpack_kernel<12><<<LAYER_WEIGHTS / TILE_WEIGHTS, CHAIN_THREADS, 0, stream>>>(out, w);
    else
        unpack_kernel<8><<<LAYER_WEIGHTS / TILE_WEIGHTS, CHAIN_THREADS, 0, stream>>>(out, w);
    return gpu_launched("unpack");
}

#endif
