/* decode.cuh: a pass of decode: up to MAX_ROWS tokens, from their embedding rows to the k best logits of
 * each, in one cooperative kernel that reads every weight once.
 *
 * At batch 1 every weight is used once per token, so a token takes the time to read the weights, if nothing
 * else gets in the way. What gets in the way is the chain: five exchanges in each layer, each of which needs
 * all of the result before it. So the kernel is two programs that meet in shared memory:
 *
 * - the feed (ring.cuh) copies this block's share of every matrix, in the order of use, into a ring of tiles.
 *   Weights do not depend on activations, so it runs ahead of the chain;
 * - the chain: the other warps take tiles from the ring into registers, wait for the activations, multiply on
 *   the tensor cores, add up over the warps, and send the result to all blocks.
 *
 * The way of a token through a layer, and who holds what:
 *
 *   out --all--> RMSNorm, q k v --qkv--> attention --attention--> o + residual --mid-->
 *   RMSNorm, gate up, SwiGLU --hidden--> down + residual --out--> next layer
 *
 * An arrow is an exchange: words in global memory that carry their own arrival mark (gpu.cuh). Every matrix
 * is cut by rows into SHARES equal shares; block b has the shares b, b + blocks, ...
 *
 * The rows of a pass are columns of the mma. Each sum of a row has the same terms in the same order whatever
 * the other rows are and however many: a row's numbers are those of a pass of its own, to the bit.
 *
 * Why nobody waits forever: a cooperative launch has all blocks resident, so a block that spins keeps no
 * other from running. Within a pass the exchanges have one order, and a block sends its words of one before
 * it waits for the next; the first exchange waits for nothing. So by induction every word is sent. The feed
 * waits only for tiles to be taken, in the order in which the chain takes them. Why nobody reads a word too
 * late: a word is overwritten one layer on, by a block that has by then received `out` or `mid` from every
 * block, and a block sends those after it has read all that came before. An epoch is a layer of a pass;
 * before its counter comes around, the words are cleared. */
#ifndef DECODE_CUH
#define DECODE_CUH

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attend.cuh"
#include "best.cuh"
#include "config.h"
#include "engine.h"
#include "fail.h"
#include "ring.cuh"

enum {
    O_SLICE = Q_DIM / CHAIN_WARPS,           /* columns of o for a warp: one head's */
    DOWN_SLICE = INTERMEDIATE / CHAIN_WARPS, /* columns of down for a warp */
    RESIDUAL_WORDS = HIDDEN / 4,             /* four fp32 each */
    H_PER_WORD = DOWN_SLICE / WARP,          /* bf16, so that a lane receives one word */
    HIDDEN_WORDS = INTERMEDIATE / H_PER_WORD,
    PART_ROWS = TILE_ROWS * (MLP_TILES > HEAD_TILES ? (int)MLP_TILES : (int)HEAD_TILES), /* of a share */
    PART_SLOTS_90 = 256, /* sums of a warp for several rows: rows of the pass times rows of a share */
    PART_SLOTS_80 = 128,
    PART_SLOTS = ROOMY ? PART_SLOTS_90 : PART_SLOTS_80,
    STAMPS = 10 /* in a layer */
};
static_assert(QKV_TILES == 4 && HEAD_TILES == 4 && MLP_TILES <= 8, "the lanes of a warp have a row each");
static_assert(4 * MLP_TILES % H_PER_WORD == 0 && H_PER_WORD % 2 == 0 && H_PER_WORD <= 6,
              "whole words a share");

struct Decode {
    Weights weights;
    Cache cache;
    Pace pace;

    Word *qkv;            /* (MAX_ROWS, QKV_DIM / 4): four fp32 */
    Word *attention;      /* (MAX_ROWS, HEADS, MAX_SPLITS, HEAD_WORDS): see attend */
    Word *combined;       /* (MAX_ROWS, HEADS, HEAD_WORDS): four bf16 */
    Word *mid, *out;      /* (MAX_ROWS, RESIDUAL_WORDS): the residual stream after attention, after the MLP */
    Word *hidden;         /* (MAX_ROWS, HIDDEN_WORDS): H_PER_WORD bf16 */
    Word *maxima;         /* (MAX_ROWS, MAX_GROUPS): one fp32 */
    float *logits;        /* (MAX_ROWS, VOCAB) */
    DecodeResult *result; /* (MAX_ROWS), mapped host memory */
    long long *stamps;    /* (blocks, LAYERS + 1, STAMPS): clock readings for profile.cuh, or null */

    int form;                             /* of the matrices: 16, 12, 8 */
    int blocks, threads, shared_bytes[4]; /* of a launch; bytes by log2 of the kernel's rows */
    int max_rows;                         /* of a pass, on so many blocks */
    uint32_t epoch;                       /* before the first layer of the launch under way */
};

/* ---- shared memory ----
 *
 * With several rows, activations, attention and the k best take turns in one place: beside the ring a block
 * of sm_86 has 51 KB. A row of `hidden` is half as large again as the others, so down takes four rows at a
 * time. */

enum { DOWN_ROWS = 4 };

template <int ROWS> struct Activations {
    enum {
        MANY = ROWS * (HIDDEN / CHAIN_WARPS > O_SLICE / 2 ? HIDDEN / CHAIN_WARPS : O_SLICE / 2),
        DOWN = (ROWS < DOWN_ROWS ? ROWS : (int)DOWN_ROWS) * DOWN_SLICE / 2
    };
    enum { WORDS = MANY > DOWN ? (int)MANY : (int)DOWN };
    uint32_t x[CHAIN_WARPS][WORDS]; /* pairs of bf16 in operand_place's order, row by row */
};

template <int ROWS> struct Turns {
    union {
        Activations<ROWS> activations;
        AttendShared<ROWS> attend;
        BestShared best;
    };
};
template <> struct Turns<1> {
    Activations<1> activations;
    AttendShared<1> attend;
    BestShared best;
};

template <int ROWS, int SLOTS = PART_SLOTS> struct Shared : Turns<ROWS> {
    enum {
        PART = CHAIN_WARPS * (ROWS == 1 ? (int)PART_ROWS : SLOTS),
        OWN = HIDDEN / (ROWS == 1 ? 1 : 2 * ROWS)
    };
    float part[2][PART];                  /* two buffers of partial sums */
    float sum_squares[ROWS][CHAIN_WARPS]; /* of the vectors at hand, for RMSNorm */
    float residual[ROWS][OWN];            /* this block's shares of the residual stream, one by one */
    int items;                            /* of attention */
    Item item;                            /* the first one */
};

/* Bytes of shared memory of a launch of decode_kernel<., ROWS>. roomy: as ROOMY is on that card. */
template <int ROWS>
constexpr int
shared_bytes(bool roomy)
{
    return (int)sizeof(RingState) + (roomy ? (int)RING_BYTES_90 + (int)sizeof(Shared<ROWS, PART_SLOTS_90>)
                                           : (int)RING_BYTES_80 + (int)sizeof(Shared<ROWS, PART_SLOTS_80>));
}
static_assert(shared_bytes<1>(false) <= 99 << 10 && shared_bytes<MAX_ROWS>(false) <= 99 << 10,
              "what a block has on sm_86");
static_assert(shared_bytes<1>(true) <= 227 << 10 && shared_bytes<MAX_ROWS>(true) <= 227 << 10,
              "what a block has on sm_90");

/* ---- receiving: words -> this warp's columns of the rows, as b wants them ---- */

/* The residual stream times the norm's weights. Half a warp has a row. RMSNorm's factor 1 / rms is the same
 * for all columns, so it waits for the sums at the end: sum_squares, (ROWS, CHAIN_WARPS). */
template <int ROWS>
__device__ __forceinline__ void
receive_residual(Shared<ROWS> &s, uint32_t warp, int n, const bf16 *norm, const Word *words, uint32_t epoch)
{
    enum { PAIRS = (ROWS + 1) / 2 };
    const uint32_t lane = lane_index(), i = lane % 16, column = warp * 64 + 4 * i;
    const int half = ROWS == 1 ? 0 : lane / 16;
    const uint2 weights = *(const uint2 *)(norm + column);
    const float2 n0 = unpack(weights.x), n1 = unpack(weights.y);
    Word word[PAIRS];

    words += half * RESIDUAL_WORDS + warp * 16 + i;
#pragma unroll
    for (int p = 0; p < PAIRS; p++)
        word[p] = word_load(words + 2 * p * RESIDUAL_WORDS);
#pragma unroll
    for (int p = 0; p < PAIRS; p++) {
        const int row = 2 * p + half;
        float v[4];
        word_wait_on(word[p], words + 2 * p * RESIDUAL_WORDS, epoch, row < n);
        word_four(v, word[p]);
        /* rounded, lest a compiler make one operation of it and the subtraction below, in one kernel and not
         * in another */
        const float a = __fmul_rn(v[0], n0.x), b = __fmul_rn(v[1], n0.y);
        const float c = __fmul_rn(v[2], n1.x), d = __fmul_rn(v[3], n1.y);
        const uint32_t high0 = pack(a, b), high1 = pack(c, d);
        const float2 h0 = unpack(high0), h1 = unpack(high1);
        uint32_t *x = s.activations.x[warp] + row * 64;

        x[operand_place<true>(2 * i)] = high0;
        x[operand_place<true>(2 * i + 1)] = high1;
        x[operand_place<true>(2 * i, true)] = pack(a - h0.x, b - h0.y);
        x[operand_place<true>(2 * i + 1, true)] = pack(c - h1.x, d - h1.y);
        float sum = squares(v);
#pragma unroll
        for (int m = 1; m < 16; m *= 2)
            sum += __shfl_xor_sync(~0u, sum, m);
        if (i == 0)
            s.sum_squares[row][warp] = sum;
    }
    __syncwarp();
}

/* A head of attention's output for n rows, AT_ONCE of them at a time, from a lane's one word of each row or
 * its two splits' (PARTS), which lie HEAD_WORDS apart as the rows do `stride`. x: (rows, O_SLICE / 2), in
 * operand_place's order. */
template <int AT_ONCE, int PARTS>
__device__ __forceinline__ void
receive_head_output(uint32_t *x, const Word *words, int stride, const Pass &pass, int n, uint32_t epoch)
{
    const uint32_t lane = lane_index();

#pragma unroll 1
    for (int first = 0; first < n; first += AT_ONCE) {
        Word word[AT_ONCE][PARTS];
#pragma unroll
        for (int r = 0; r < AT_ONCE; r++)
#pragma unroll
            for (int p = 0; p < PARTS; p++)
                word[r][p] = word_load(words + (first + r) * stride + p * HEAD_WORDS);
#pragma unroll
        for (int r = 0; r < AT_ONCE; r++) {
            const int row = first + r;
            const Word *at = words + row * stride;
            Word &v = word[r][0];
            word_wait_on(v, at, epoch, row < n);
            if (PARTS == 2 && pass.splits[row] == 2) {
                word_wait_on(word[r][1], at + HEAD_WORDS, epoch, row < n);
                v = merge(v, word[r][1]);
            }
            x[row * (O_SLICE / 2) + operand_place<false>(2 * lane)] = v.x;
            x[row * (O_SLICE / 2) + operand_place<false>(2 * lane + 1)] = v.y;
        }
    }
}

template <int ROWS>
__device__ __forceinline__ void
receive_attention(Shared<ROWS> &s, const Decode &d, const Pass &pass, uint32_t warp, int n, uint32_t epoch)
{
    enum { TWO = ROWS < 2 ? ROWS : 2, FOUR = ROWS < 4 ? ROWS : 4, DIRECT = HEADS * MAX_SPLITS * HEAD_WORDS };
    const int splits = pass.splits[n - 1]; /* 1 or 2 for all rows, or more for all: see decode_cut */
    const Word *combined = d.combined + warp * HEAD_WORDS + lane_index(),
               *direct = d.attention + warp * MAX_SPLITS * HEAD_WORDS + lane_index();
    uint32_t *x = s.activations.x[warp];

    if (splits == 2)
        receive_head_output<TWO, 2>(x, direct, DIRECT, pass, n, epoch);
    else
        receive_head_output<FOUR, 1>(x, splits == 1 ? direct : combined,
                                     splits == 1 ? (int)DIRECT : HEADS * HEAD_WORDS, pass, n, epoch);
}

/* The MLP's hidden vectors of rows first..last-1. */
template <int ROWS>
__device__ __forceinline__ void
receive_hidden(Shared<ROWS> &s, uint32_t warp, int first, int last, const Word *words, uint32_t epoch)
{
    enum { AT_ONCE = ROWS < DOWN_ROWS ? ROWS : (int)DOWN_ROWS };
    const uint32_t lane = lane_index();
    Word word[AT_ONCE];

    words += first * HIDDEN_WORDS + warp * WARP + lane;
    __syncwarp(); /* the rows before have been read */
#pragma unroll
    for (int r = 0; r < AT_ONCE; r++)
        word[r] = word_load(words + r * HIDDEN_WORDS);
#pragma unroll
    for (int r = 0; r < AT_ONCE; r++) {
        word_wait_on(word[r], words + r * HIDDEN_WORDS, epoch, first + r < last);
        const uint32_t pair[3] = {word[r].x, word[r].y, word[r].z};
        uint32_t *x = s.activations.x[warp] + r * (DOWN_SLICE / 2);
#pragma unroll
        for (int i = 0; i < H_PER_WORD / 2; i++)
            x[operand_place<false>(lane * (H_PER_WORD / 2) + i)] = pair[i];
    }
    __syncwarp();
}

/* ---- adding up and sending: one warp ----
 *
 * part: (CHAIN_WARPS, rows of a share), what each warp found for a row of the pass. scale:
 * 1 / rms of the vector. words: the share's. */

template <int OUT>
__device__ __forceinline__ float
row_sum(const float *part, int row)
{
    float v[4] = {};
#pragma unroll 4
    for (int w = 0; w < CHAIN_WARPS; w += 4)
#pragma unroll
        for (int i = 0; i < 4; i++)
            v[i] += part[(w + i) * OUT + row];
    return (v[0] + v[1]) + (v[2] + v[3]);
}

__device__ __forceinline__ float
inverse_rms(const float (&sum_squares)[CHAIN_WARPS])
{
    float v[4] = {};
#pragma unroll
    for (int w = 0; w < CHAIN_WARPS; w++)
        v[w % 4] += sum_squares[w];
    return rsqrtf(((v[0] + v[1]) + (v[2] + v[3])) / HIDDEN + RMS_NORM_EPS);
}

/* Rows lane, lane + 1, lane + 2 and lane + 3 of every fourth of the first `lanes` lanes, as a word. */
__device__ __forceinline__ void
send_fours(Word *words, float v, uint32_t lanes, uint32_t epoch)
{
    const uint32_t lane = lane_index();
    const float b = __shfl_down_sync(~0u, v, 1), c = __shfl_down_sync(~0u, v, 2),
                d = __shfl_down_sync(~0u, v, 3);
    if (lane % 4 == 0 && lane < lanes)
        word_send_four(words + lane / 4, v, b, c, d, epoch);
}

/* SwiGLU: silu(gate) * up, for 4 MLP_TILES rows of each. */
__device__ __forceinline__ void
send_hidden(const float *part, float scale, Word *words, uint32_t epoch)
{
    uint32_t lane = lane_index(), row = lane < 4 * MLP_TILES ? lane / 8 * 16 + lane % 8 : 0;
    float gate = row_sum<8 * MLP_TILES>(part, row) * scale,
          up = row_sum<8 * MLP_TILES>(part, row + 8) * scale;
    float h = __fdividef(gate, 1 + __expf(-gate)) * up, v[6] = {};
#pragma unroll
    for (int i = 0; i < H_PER_WORD; i++)
        v[i] = __shfl_sync(~0u, h, lane * H_PER_WORD + i);
    if (lane < 4 * MLP_TILES / H_PER_WORD)
        word_send(words + lane, pack(v[0], v[1]), pack(v[2], v[3]), pack(v[4], v[5]), epoch);
}

/* 8 rows of o or down, added to the residual stream. */
__device__ __forceinline__ void
send_residual(const float *part, float *residual, Word *words, uint32_t epoch)
{
    uint32_t lane = lane_index(), row = lane % 8;
    float v = 0;
#pragma unroll
    for (int w = 0; w < CHAIN_WARPS; w += 4)
        v += part[w * 8 + lane];
    v += __shfl_xor_sync(~0u, v, 8);
    v += __shfl_xor_sync(~0u, v, 16);
    v += residual[row];
    __syncwarp(); /* all have read */
    if (lane < 8)
        residual[row] = v;
    send_fours(words, v, 8, epoch);
}

/* ---- the chain ---- */

/* One phase of a layer: this block's shares of one matrix, AT_ONCE rows of the pass after another.
 * receive(first, last) waits for these rows; send(share, i, row, part) has the partial sums of all warps for
 * one row and the block's i-th share. Each row has a warp that sends. The first share's weights are in
 * registers before the wait (EARLY), unless they are so many that several rows' words would not fit beside
 * them. Not unrolled, and one copy of the code for the first share and the others: the loop over the layers
 * has to stay within the instruction cache (H200: a second copy of the loads cost 25 us a token). */
template <class Share, int ROWS, int AT_ONCE, class Ring, class Receive, class Send>
__device__ __forceinline__ void
phase(Shared<ROWS> &s, Ring &ring, const Matrix &matrix, int &buffer, uint32_t warp, int shares, int n,
      Receive receive, Send send)
{
    enum {
        EARLY = ROWS == 1 || sizeof(Share::a) <= 128,
        TOGETHER = ROWS == 1 ? 1 : PART_SLOTS / (int)Share::OUT / 2 * 2 /* rows whose sums fit a buffer */
    };
    int i = 0;
#pragma unroll 1
    for (int share = blockIdx.x; share < shares; share += gridDim.x, i++) {
        Share weights;
        if (!EARLY && i == 0)
            receive(0, min(n, AT_ONCE));
        weights.load(ring, matrix, warp);
        if (EARLY && i == 0)
            receive(0, min(n, AT_ONCE));
#pragma unroll 1
        for (int first = 0; first < n; first += AT_ONCE) {
            const int end = AT_ONCE < ROWS ? min(n, first + AT_ONCE) : n;
            if (AT_ONCE < ROWS && first + i > 0)
                receive(first, end);
#pragma unroll 1
            for (int row = first; row < end; row += TOGETHER, buffer ^= 1) {
                float *part = s.part[buffer];
#pragma unroll 1
                for (int r = 0; r < TOGETHER && row + r < end; r += 2)
                    weights.multiply(part + (r * CHAIN_WARPS + warp) * Share::OUT,
                                     s.activations.x[warp] + (row - first + r) * Share::VECTOR);
                chain_sync();
                const int mine = (warp - row) % CHAIN_WARPS;
#pragma unroll 1
                for (int r = mine; r < TOGETHER && row + r < end; r += CHAIN_WARPS)
                    send(share, i, row + r, part + r * CHAIN_WARPS * Share::OUT);
            }
            if (AT_ONCE >= ROWS)
                break;
        }
    }
}

/* Runs the rows of `pass`: stores their keys and values, leaves all logits in d.logits and, if k is not 0,
 * the k best in d.result. ROWS: pass.n at most. Grid: d.blocks, at least 2 * ROWS where that is more than 2,
 * at most SHARES (more would have nothing to do) and all resident. Block: the chain's warps and the feed's;
 * one block fills a multiprocessor's shared memory. */
template <int FORM, int ROWS>
__global__ void
__launch_bounds__(CHAIN_THREADS + WARP * FEED_WARPS, 1)
    decode_kernel(const __grid_constant__ Decode d, const __grid_constant__ Pass pass)
{
    Shared<ROWS> &s = *(Shared<ROWS> *)(memory + RING_BYTES + sizeof(RingState));
    const int block = blockIdx.x, blocks = gridDim.x, thread = threadIdx.x, n = ROWS == 1 ? 1 : pass.n;
    const uint32_t warp = warp_index();

    if (thread == 0) { /* attention's items, spread evenly over the blocks */
        const int all = KV_HEADS * pass.splits[n - 1] * pass.sets,
                  first = (block * all + blocks - 1) / blocks;
        s.items = ((block + 1) * all + blocks - 1) / blocks - first;
        s.item.head = first / (pass.splits[n - 1] * pass.sets);
        s.item.split = first / pass.sets % pass.splits[n - 1];
        s.item.set = first % pass.sets;
    }
    if (thread < Ring<FORM>::STAGES)
        Ring<FORM>::init(thread);
    __syncthreads();
    if (warp >= CHAIN_WARPS) {
        if ((int)warp < CHAIN_WARPS + FEED_WARPS)
            feed<FORM>(d.weights, d.pace);
        return;
    }

    auto stamp = [&](int layer, int i) {
        if (d.stamps && warp == 0) /* the lanes' readings are one */
            d.stamps[(blockIdx.x * (LAYERS + 1) + layer) * STAMPS + i] = clock64();
    };
    Ring<FORM> ring = {0, 0};
    int buffer = 0; /* which of the two of partial sums is in use */
    uint32_t epoch = d.epoch;

    /* The embedding rows are what the layer before the first one would have sent. */
#pragma unroll 1
    for (int share = block, i = 0; share < SHARES; share += blocks, i++)
#pragma unroll 1
        for (int row = warp; row < n; row += CHAIN_WARPS) {
            const uint32_t lane = lane_index();
            const float v = weight_of_row<FORM>(d.weights.embed, pass.token[row], share);
            if (lane < 8)
                s.residual[row][i * 8 + lane] = v;
            send_fours(d.out + row * RESIDUAL_WORDS + share * 2, v, 8, epoch);
        }

#pragma unroll 1
    for (int l = 0; l < LAYERS; l++) {
        const LayerWeights &w = d.weights.layer[l];
        epoch++;

        stamp(l, 0);
        phase<Tiles<FORM, QKV_TILES, 2, true, ROWS>, ROWS, ROWS>(
            s, ring, w.qkv, buffer, warp, SHARES, n,
            [&](int, int) {
                receive_residual(s, warp, n, w.input_norm, d.out, epoch - 1);
                stamp(l, 1);
            },
            [&](int share, int, int row, const float *part) {
                send_fours(d.qkv + row * (QKV_DIM / 4) + share * 8,
                           row_sum<8 * QKV_TILES>(part, lane_index()) * inverse_rms(s.sum_squares[row]), WARP,
                           epoch);
            });
        stamp(l, 2);
        Item item = s.item;
#pragma unroll 1
        for (int i = 0; i < s.items; i++, item.next(pass))
            attend(s.attend, d.cache, w, d.qkv, d.attention, l, item, pass, warp, epoch);
        if (ROWS > 1 && s.items)
            chain_sync(); /* before activations come where attention was */
        stamp(l, 3);
        phase<Tiles<FORM, 1, O_SLICE / 32, false, ROWS>, ROWS, ROWS>(
            s, ring, w.o, buffer, warp, SHARES, n,
            [&](int, int) {
#pragma unroll 1
                for (int row = warp; row < n; row += CHAIN_WARPS)
                    if (pass.splits[row] > DIRECT_SPLITS)
                        combine(d.combined + row * HEADS * HEAD_WORDS,
                                d.attention + row * HEADS * MAX_SPLITS * HEAD_WORDS, pass.splits[row], epoch);
                receive_attention(s, d, pass, warp, n, epoch);
                __syncwarp();
                stamp(l, 4);
            },
            [&](int share, int i, int row, const float *part) {
                send_residual(part, s.residual[row] + i * 8, d.mid + row * RESIDUAL_WORDS + share * 2, epoch);
            });
        stamp(l, 5);
        phase<Tiles<FORM, MLP_TILES, 2, true, ROWS>, ROWS, ROWS>(
            s, ring, w.gate_up, buffer, warp, SHARES, n,
            [&](int, int) {
                receive_residual(s, warp, n, w.post_norm, d.mid, epoch);
                stamp(l, 6);
            },
            [&](int share, int, int row, const float *part) {
                send_hidden(part, inverse_rms(s.sum_squares[row]),
                            d.hidden + row * HIDDEN_WORDS + share * (4 * MLP_TILES / H_PER_WORD), epoch);
            });
        stamp(l, 7);
        phase<Tiles<FORM, 1, DOWN_SLICE / 32, false, ROWS>, ROWS, (ROWS < DOWN_ROWS ? ROWS : (int)DOWN_ROWS)>(
            s, ring, w.down, buffer, warp, SHARES, n,
            [&](int first, int last) {
                receive_hidden(s, warp, first, last, d.hidden, epoch);
                stamp(l, 8);
            },
            [&](int share, int i, int row, const float *part) {
                send_residual(part, s.residual[row] + i * 8, d.out + row * RESIDUAL_WORDS + share * 2, epoch);
            });
        stamp(l, 9);
    }

    stamp(LAYERS, 0);
    float first_max = -INFINITY, second_max = -INFINITY; /* of the row that this warp sends, or two of them */
    phase<Tiles<FORM, HEAD_TILES, 2, true, ROWS>, ROWS, ROWS>(
        s, ring, d.weights.embed, buffer, warp, HEAD_SHARES, n,
        [&](int, int) {
            receive_residual(s, warp, n, d.weights.norm, d.out, epoch);
            stamp(LAYERS, 1);
        },
        [&](int share, int, int row, const float *part) {
            const float logit = row_sum<8 * HEAD_TILES>(part, lane_index()) * inverse_rms(s.sum_squares[row]);
            d.logits[(size_t)row * VOCAB + share * 32 + lane_index()] = logit;
            if (row < CHAIN_WARPS)
                first_max = fmaxf(first_max, logit);
            else
                second_max = fmaxf(second_max, logit);
        });
    stamp(LAYERS, 2);
    if (pass.k > 0) {
        if ((int)warp < n)
            best_announce(d.maxima + warp * MAX_GROUPS, first_max, epoch);
        if ((int)warp + CHAIN_WARPS < n)
            best_announce(d.maxima + (warp + CHAIN_WARPS) * MAX_GROUPS, second_max, epoch);
        if (block < n)
            best_collect(s.best, d.result + block, d.logits + (size_t)block * VOCAB,
                         d.maxima + block * MAX_GROUPS, pass.k, warp, epoch);
    }
    stamp(LAYERS, 3);
}

/* ---- host ---- */

static inline size_t
decode_words(void)
{
    return (size_t)MAX_ROWS * (QKV_DIM / 4 + HEADS * (MAX_SPLITS + 1) * HEAD_WORDS + 2 * RESIDUAL_WORDS +
                               HIDDEN_WORDS + MAX_GROUPS);
}

/* Device memory that decode_open takes as its workspace. */
static inline size_t
decode_workspace_bytes(void)
{
    return decode_words() * sizeof(Word) + (size_t)MAX_ROWS * VOCAB * sizeof(float);
}

/* The kernel for n rows of weights in a form, and its place among that form's. */
static inline const void *
decode_kernel_for(int form, int n, int *which)
{
#define DECODE_KERNELS(form)                                                           \
    {                                                                                  \
        (const void *)decode_kernel<form, 1>, (const void *)decode_kernel<form, 2>,    \
            (const void *)decode_kernel<form, 4>, (const void *)decode_kernel<form, 8> \
    }
    static const void *const kernel[3][4] = {DECODE_KERNELS(16), DECODE_KERNELS(12), DECODE_KERNELS(8)};

    *which = n == 1 ? 0 : n == 2 ? 1 : n <= 4 ? 2 : 3;
    return kernel[form == 16 ? 0 : form == 12 ? 1 : 2][*which];
}

/* Prepares decoding. weights (matrices in the form), k_cache, v_cache and rope are device memory that stays
 * the caller's, as does workspace (of decode_workspace_bytes(), 256-byte aligned). The grid is the largest
 * that can be resident, at most max_blocks if that is not 0. */
static inline const char *
decode_open(Decode *d, const Weights *weights, int form, bf16 *k_cache, bf16 *v_cache, const float2 *rope,
            int context, void *workspace, int max_blocks)
{
    cudaFuncAttributes attributes;
    int device, processors, available, resident, which;
    Word *p = (Word *)workspace;

    memset(d, 0, sizeof *d);
    d->weights = *weights;
    d->form = form;
    d->cache.k = k_cache, d->cache.v = v_cache, d->cache.rope = rope, d->cache.context = context;
    d->qkv = p, p += MAX_ROWS * QKV_DIM / 4;
    d->attention = p, p += MAX_ROWS * HEADS * MAX_SPLITS * HEAD_WORDS;
    d->combined = p, p += MAX_ROWS * HEADS * HEAD_WORDS;
    d->mid = p, p += MAX_ROWS * RESIDUAL_WORDS;
    d->out = p, p += MAX_ROWS * RESIDUAL_WORDS;
    d->hidden = p, p += MAX_ROWS * HIDDEN_WORDS;
    d->maxima = p, p += MAX_ROWS * MAX_GROUPS;
    d->logits = (float *)p;
    d->epoch = 1;
    TRY(cudaGetDevice(&device));
    TRY(cudaFuncGetAttributes(&attributes, decode_kernel_for(form, 1, &which)));
    TRY(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    TRY(cudaDeviceGetAttribute(&available, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    const bool roomy = attributes.ptxVersion >= 90 && attributes.ptxVersion < 120; /* as ROOMY has it */
    const int bytes[4] = {shared_bytes<1>(roomy), shared_bytes<2>(roomy), shared_bytes<4>(roomy),
                          shared_bytes<8>(roomy)};
    d->threads = CHAIN_THREADS + WARP * (attributes.ptxVersion >= 90 ? FEED_WARPS_90 : FEED_WARPS_80);
    d->blocks = SHARES;
    for (int n = 1; n <= MAX_ROWS; n *= 2) {
        const void *kernel = decode_kernel_for(form, n, &which);
        const int needed = d->shared_bytes[which] = bytes[which];

        if (needed > available)
            return fail("this card offers %d bytes of shared memory a block, decoding needs %d: use -d cpu",
                        available, needed);
        TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, needed));
        TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, d->threads, needed));
        if (d->blocks > processors * resident)
            d->blocks = processors * resident;
    }
    if (max_blocks && d->blocks > max_blocks)
        d->blocks = max_blocks;
    if (d->blocks < 1)
        return fail(
            "preparing to decode: no block of the kernel fits a multiprocessor of this card: use -d cpu");
    d->max_rows = d->blocks < 2 * MAX_ROWS ? 1 : (int)MAX_ROWS; /* few have more of the residual than fits */
    /* H200, an earlier kernel, us a token with 2 and with 4: 327 and 389 on 128 blocks, 419 and 397 on 84. */
    const Pace few = {4, 4, 4, 4}, many = {2, 2, 2, 1};
    d->pace = d->blocks > 100 ? many : few;
    const int stages = RING_BYTES_80 / (form == 8 ? (int)TILE_BYTES_8 : (int)TILE_BYTES);
    if (!roomy) /* all but the one that is being taken */
        d->pace.qkv = d->pace.o = d->pace.mlp = d->pace.down = stages - 1;
    TRY(cudaHostAlloc((void **)&d->result, MAX_ROWS * sizeof *d->result, cudaHostAllocMapped));
    TRY(cudaMemset(workspace, 0, decode_workspace_bytes()));
    TRY(cudaDeviceSynchronize()); /* the caller's stream may not wait for the default one */
    return NULL;
}

static inline void
decode_close(Decode *d)
{
    cudaFreeHost(d->result);
}

/* Groups of a split where the context ends at position pos. Up to 32 groups there are one or two splits, then
 * as many as blocks can take, but of half a block's warps at least. In steps, so that it seldom changes
 * within a pass; and it does change where one split becomes two and two become more: rows of a pass that did
 * not agree on that would wait forever. */
static inline int
decode_cut(const Decode *d, int pos)
{
    const int groups = pos / GROUP + 1, fit = d->blocks / KV_HEADS,
              most = fit < MAX_SPLITS ? fit : (int)MAX_SPLITS;

    if (most < 2)
        return groups > MAX_CONTEXT / GROUP ? groups : MAX_CONTEXT / GROUP + 1;
    if (groups > 16 && groups <= 24) /* leaves attention's receivers no positions (H200: 2 % at depth 128) */
        return 12;
    if (groups <= 32)
        return 16;
    const int cut = (groups + 4 * most - 1) / (4 * most) * 4;
    return cut < 8 ? 8 : cut;
}

/* How many of n rows from position pos on can be one pass. */
static inline int
decode_fit(const Decode *d, int n, int pos)
{
    int rows = 1;

    while (rows < n && rows < d->max_rows && decode_cut(d, pos + rows) == decode_cut(d, pos))
        rows++;
    return rows;
}

/* Starts a pass of n rows, no more than decode_fit() says. Once the stream is done, d->result has each row's
 * k best logits (k at most DECODE_MAX_K); with k = 0 only d->logits are made. */
static inline const char *
decode_launch(Decode *d, const int *tokens, int n, int pos, int k, cudaStream_t stream)
{
    Pass pass = {};
    int which;
    const void *kernel = decode_kernel_for(d->form, n, &which);
    void *args[] = {d, &pass};

    memcpy(pass.token, tokens, n * sizeof *tokens);
    pass.n = n, pass.pos = pos, pass.k = k;
    pass.cut = decode_cut(d, pos);
    for (int r = 0; r < n; r++)
        pass.splits[r] = (pos + r) / GROUP / pass.cut + 1;
    pass.sets = 1;
    while (2 * pass.sets <= n && KV_HEADS * pass.splits[n - 1] * pass.sets * 2 <= d->blocks)
        pass.sets *= 2;
    pass.in_set = (n + pass.sets - 1) / pass.sets;
    if (d->epoch > UINT32_MAX - 2 * (LAYERS + 1)) { /* or an old word could pass for a new one */
        TRY(cudaMemsetAsync(d->qkv, 0, decode_words() * sizeof(Word), stream));
        d->epoch = 1;
    }
    d->epoch += LAYERS + 1;
    TRY(cudaLaunchCooperativeKernel(kernel, dim3(d->blocks), dim3(d->threads), args, d->shared_bytes[which],
                                    stream));
    return NULL;
}

#endif
