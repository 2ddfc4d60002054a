/* bench_decode: the decode kernel alone, on random weights of the model's shape made on the card, in each of
 * their forms, beside the card's read floor: what the weights and the cache would take if reading them were
 * all.
 *
 *     bench_decode [BLOCKS]     at most so many blocks, such as 20 to see the compute side of an RTX 3050
 *
 * Correctness is the business of test_gpu and parity. */
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include "../profile.cuh"

#define CUDA(call) check((call) ? cudaGetErrorString(cudaGetLastError()) : NULL)

enum { CONTEXT = 8192, TURNS = 200 };

static void
check(const char *error)
{
    if (error) {
        fprintf(stderr, "bench_decode: %s\n", error);
        exit(1);
    }
}

/* p[i] from a normal distribution, from a hash of i and the seed by Box and Muller's formula. */
__global__ void
fill(bf16 *p, size_t n, float mean, float deviation, uint32_t seed)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x) {
        uint32_t h[2];
        for (int j = 0; j < 2; j++) {
            uint32_t x = (uint32_t)(2 * i + j) + seed;
            x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu, x ^= x >> 16;
            h[j] = x;
        }
        float u = ((h[0] >> 8) + 0.5f) * 0x1p-24f, v = h[1] * 0x1p-32f;
        p[i] = __float2bfloat16(mean + deviation * sqrtf(-2 * logf(u)) * cospif(2 * v));
    }
}

__global__ void
read_all(const uint4 *p, size_t n, uint32_t *sink)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    uint32_t seen = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i + 3 * step < n; i += 4 * step)
        for (int j = 0; j < 4; j++) {
            uint4 v = __ldcs(p + i + j * step);
            seen |= v.x ^ v.y ^ v.z ^ v.w;
        }
    if (seen == 1)
        *sink = seen;
}

/* The least mean of four runs of some 10 ms each. */
template <class Work>
static double
microseconds(Work work)
{
    cudaEvent_t begin, end;
    float ms, best = INFINITY;
    int turns = 1;
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
    for (int i = 0; i < 5; i++) {
        CUDA(cudaEventRecord(begin));
        for (int j = 0; j < turns; j++)
            work(j);
        CUDA(cudaEventRecord(end));
        CUDA(cudaEventSynchronize(end));
        CUDA(cudaEventElapsedTime(&ms, begin, end));
        if (i == 0)
            turns = std::max(3, std::min(100, (int)(10 / ms)));
        else
            best = std::min(best, ms / turns);
    }
    return best * 1e3;
}

static const size_t qkv = (size_t)QKV_DIM * HIDDEN, o = (size_t)HIDDEN * Q_DIM,
                    mlp = (size_t)INTERMEDIATE * HIDDEN, norms = 2 * HIDDEN + 2 * HEAD_DIM,
                    count = (size_t)VOCAB * HIDDEN + LAYERS * (qkv + o + 3 * mlp);

/* The next matrix: packed at *to from *from, both of which move on; or, in form 16, where it is. */
static Matrix
matrix(int form, const bf16 **from, char **to, size_t rows, int columns, int *longest)
{
    Matrix m = {form == 16 ? (const char *)*from : *to, form_tile_bytes(form, WARP)};
    if (form != 16)
        check(weights_pack(m, form, 0, *from, (int)rows, columns, longest, 0));
    *from += rows * columns;
    *to += rows * columns / TILE_WEIGHTS * m.tile_bytes;
    return m;
}

static void
bench(Decode &d, double floor)
{
    printf("%8s %10s %10s %12s %24s\n", "", "1 row:", "", "", "2, 4 and 8 rows:");
    printf("%8s %10s %10s %12s %8s %8s %8s\n", "depth", "us", "tokens/s", "floor/time", "us", "us", "us");
    for (int depth : {0, 64, 128, 512, 1024, 2048, 4096, 8000}) {
        double us[4], least = floor * (1 + 2.0 * LAYERS * KV_HEADS * HEAD_DIM * depth / count);
        for (int i = 0; i < 4; i++)
            us[i] = microseconds([&](int turn) {
                int tokens[MAX_ROWS];
                for (int r = 0; r < MAX_ROWS; r++)
                    tokens[r] = (turn * 37 + r * 11) % VOCAB;
                check(decode_launch(&d, tokens, std::min(1 << i, d.max_rows), depth, 1, 0));
            });
        printf("%8d %10.1f %10.0f %12.2f %8.1f %8.1f %8.1f\n", depth, us[0], 1e6 / us[0], least / us[0],
               us[1], us[2], us[3]);
    }
    printf("\nwith the host: launch, wait and read, each token the best one before it\n");
    for (int k : {1, 20}) {
        int token = 1;
        auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < TURNS; i++) {
            check(decode_launch(&d, &token, 1, i % 128, k, 0));
            CUDA(cudaStreamSynchronize(0));
            token = d.result->best[0].id;
        }
        double us =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() * 1e6 / TURNS;
        printf("depth 0-127, k = %2d: %.1f us, %.0f tokens/s\n", k, us, 1e6 / us);
    }
}

int
main(int argc, char **argv)
{
    const size_t cache = (size_t)LAYERS * KV_HEADS * CONTEXT * HEAD_DIM;
    cudaDeviceProp card;
    Weights w;
    Decode d;
    bf16 *weights, *norm, *k_cache, *v_cache;
    char *packed;
    float2 *rope;
    void *workspace;
    int *longest, words;

    CUDA(cudaGetDeviceProperties(&card, 0));
    CUDA(cudaMalloc(&weights, count * sizeof(bf16)));
    CUDA(cudaMalloc(&packed, count * sizeof(bf16)));
    CUDA(cudaMalloc(&longest, sizeof *longest));
    CUDA(cudaMemset(longest, 0, sizeof *longest));
    CUDA(cudaMalloc(&norm, (LAYERS + 1) * norms * sizeof(bf16)));
    CUDA(cudaMalloc(&k_cache, cache * sizeof(bf16)));
    CUDA(cudaMalloc(&v_cache, cache * sizeof(bf16) + DECODE_CACHE_SLACK));
    CUDA(cudaMalloc(&rope, CONTEXT * HEAD_DIM / 2 * sizeof(float2)));
    CUDA(cudaMalloc(&workspace, decode_workspace_bytes()));
    fill<<<2048, 256>>>(weights, count, 0, 0.02f, 1);
    fill<<<64, 256>>>(norm, (LAYERS + 1) * norms, 1, 0.1f, 2);
    fill<<<2048, 256>>>(k_cache, cache, 0, 1, 3);
    fill<<<2048, 256>>>(v_cache, cache, 0, 0.5f, 4);
    std::vector<float2> angles(CONTEXT * HEAD_DIM / 2);
    for (int i = 0; i < CONTEXT * HEAD_DIM / 2; i++) {
        double angle = i / (HEAD_DIM / 2) * pow(ROPE_THETA, -(i % (HEAD_DIM / 2)) * 2.0 / HEAD_DIM);
        angles[i] = make_float2((float)cos(angle), (float)sin(angle));
    }
    CUDA(cudaMemcpy(rope, angles.data(), angles.size() * sizeof(float2), cudaMemcpyHostToDevice));
    double floor = INFINITY;
    for (int blocks = 1; blocks <= 8; blocks *= 2)
        floor = std::min(floor, microseconds([&](int) {
                             read_all<<<card.multiProcessorCount * blocks, 512>>>(
                                 (const uint4 *)weights, count / 8, (uint32_t *)longest);
                         }));
    printf("%s, " MODEL_NAME "; read floor of the weights in 16 bits: %.1f us, %.0f GB/s\n", card.name, floor,
           count * 2 / floor * 1e-3);

    for (int form : {16, 12, 8}) {
        const bf16 *from = weights;
        char *to = packed;
        w.embed = matrix(form, &from, &to, VOCAB, HIDDEN, longest);
        w.norm = norm + LAYERS * norms;
        for (int l = 0; l < LAYERS; l++) {
            LayerWeights *layer = &w.layer[l];
            layer->qkv = matrix(form, &from, &to, QKV_DIM, HIDDEN, longest);
            layer->o = matrix(form, &from, &to, HIDDEN, Q_DIM, longest);
            layer->gate_up = matrix(form, &from, &to, 2 * INTERMEDIATE, HIDDEN, longest);
            layer->down = matrix(form, &from, &to, HIDDEN, INTERMEDIATE, longest);
            layer->input_norm = norm + l * norms;
            layer->post_norm = layer->input_norm + HIDDEN;
            layer->q_norm = layer->post_norm + HIDDEN;
            layer->k_norm = layer->q_norm + HEAD_DIM;
        }
        check(decode_open(&d, &w, form, k_cache, v_cache, rope, CONTEXT, workspace,
                          argc > 1 ? atoi(argv[1]) : 0));
        CUDA(cudaMemcpy(&words, longest, sizeof words, cudaMemcpyDeviceToHost));
        if (words > WARP)
            check("a list of form 12 is too long");
        const double bits = form == 16 ? 16 : (to - packed) * 8.0 / count;
        printf("\n%d bits (%.3f a weight), %d blocks of %d threads, %d bytes of shared memory\n", form, bits,
               d.blocks, d.threads, d.shared_bytes[0]);
        bench(d, floor * bits / 16);
        for (int rows : {1, 8})
            if (form == 16) {
                printf("\n%d rows at depth 64\n", rows);
                check(decode_profile(&d, 64, std::min(rows, d.max_rows), 0));
            }
        decode_close(&d);
    }
    return 0;
}
