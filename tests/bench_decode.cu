/* bench_decode: the decode kernel alone, on random weights made on the card: checked against plain fp32 kernels, then
 * timed over depths and settings, beside the card's read floor. */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <chrono>
#include "../decode.cuh"

#define OK(x)                                                                                                          \
    do {                                                                                                               \
        cudaError_t e_ = (x);                                                                                          \
        if (e_ != cudaSuccess) {                                                                                       \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #x, cudaGetErrorString(e_));                                 \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static __device__ __host__ uint32_t
hash(uint32_t x)
{
    x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu, x ^= x >> 16;
    return x;
}

__global__ void
fill(bf16 *p, size_t n, float mean, float deviation, uint32_t seed)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        float u = (hash((uint32_t)i * 2 + seed) >> 8) * 0x1p-24f + 0x1p-25f, v = hash((uint32_t)i * 2 + 1 + seed) * 0x1p-32f;
        p[i] = __float2bfloat16(mean + deviation * sqrtf(-2 * logf(u)) * cospif(2 * v));
    }
}

__global__ void
table(float2 *rope, int context)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < context * 64; i += gridDim.x * blockDim.x) {
        double a = i / 64 * pow(ROPE_THETA, -(i % 64) / 64.0);
        rope[i] = make_float2((float)cos(a), (float)sin(a));
    }
}

/* ---- the plain reference ---- */
__global__ void r_norm(const float *x, const bf16 *w, float *y) { __shared__ float s; if (!threadIdx.x) s = 0; __syncthreads(); float a = 0; for (int i = threadIdx.x; i < HIDDEN; i += 256) a += x[i] * x[i]; atomicAdd(&s, a); __syncthreads(); float r = rsqrtf(s / HIDDEN + 1e-6f); for (int i = threadIdx.x; i < HIDDEN; i += 256) y[i] = x[i] * r * __bfloat162float(w[i]); }
__global__ void r_mv(const bf16 *w, const float *x, float *y, int k, int n, int add) { int r = blockIdx.x * 8 + threadIdx.x / 32; if (r >= n) return; float a = 0; for (int i = threadIdx.x % 32; i < k; i += 32) a += __bfloat162float(w[(size_t)r * k + i]) * x[i]; a = warp_sum(a); if (threadIdx.x % 32 == 0) y[r] = a + (add ? y[r] : 0); }
__global__ void r_rope(float *qkv, const bf16 *qn, const bf16 *kn, const float2 *rope, bf16 *kc, bf16 *vc, int context, int pos) { int h = blockIdx.x, t = threadIdx.x; float *v = qkv + h * 128; if (h >= HEADS + KV_HEADS) { int kh = h - HEADS - KV_HEADS; for (int i = t; i < 128; i += 32) vc[((size_t)kh * context + pos) * 128 + i] = __float2bfloat16(v[i]); return; } const bf16 *w = h < HEADS ? qn : kn; float s = 0; for (int i = t; i < 128; i += 32) s += v[i] * v[i]; s = rsqrtf(warp_sum(s) / 128 + 1e-6f); for (int i = t; i < 64; i += 32) { float2 c = rope[pos * 64 + i]; float a = v[i] * s * __bfloat162float(w[i]), b = v[i + 64] * s * __bfloat162float(w[i + 64]); v[i] = a * c.x - b * c.y; v[i + 64] = b * c.x + a * c.y; } __syncwarp(); if (h >= HEADS) for (int i = t; i < 128; i += 32) kc[((size_t)(h - HEADS) * context + pos) * 128 + i] = __float2bfloat16(v[i]); }
__global__ void r_attend(const float *qkv, const bf16 *kc, const bf16 *vc, float *out, float *scores, int context, int pos) { int h = blockIdx.x, t = threadIdx.x, kh = h / 2; float *s = scores + (size_t)h * context; const float *q = qkv + h * 128; for (int j = t; j <= pos; j += 128) { float a = 0; for (int i = 0; i < 128; i++) a += q[i] * __bfloat162float(kc[((size_t)kh * context + j) * 128 + i]); s[j] = a * 0.08838834764831845f; } __syncthreads(); float m = -1e30f, l = 0, o = 0; for (int j = 0; j <= pos; j++) m = fmaxf(m, s[j]); for (int j = 0; j <= pos; j++) { float p = expf(s[j] - m); l += p; o += p * __bfloat162float(vc[((size_t)kh * context + j) * 128 + t]); } out[h * 128 + t] = o / l; }
__global__ void r_act(const float *g, float *h) { int i = blockIdx.x * 256 + threadIdx.x; if (i < INTERMEDIATE) h[i] = g[i] / (1 + expf(-g[i])) * g[i + INTERMEDIATE]; }
__global__ void r_embed(const bf16 *e, int token, float *x) { for (int i = threadIdx.x; i < HIDDEN; i += 256) x[i] = __bfloat162float(e[(size_t)token * HIDDEN + i]); }

__global__ void
read_all(const uint4 *p, size_t n, uint32_t *sink)
{
    uint32_t a = 0;
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x, step = (size_t)gridDim.x * blockDim.x;
    for (; i + 3 * step < n; i += 4 * step) {
        uint4 v0 = __ldcs(p + i), v1 = __ldcs(p + i + step), v2 = __ldcs(p + i + 2 * step), v3 = __ldcs(p + i + 3 * step);
        a ^= v0.x ^ v0.y ^ v0.z ^ v0.w ^ v1.x ^ v1.y ^ v1.z ^ v1.w ^ v2.x ^ v2.y ^ v2.z ^ v2.w ^ v3.x ^ v3.y ^ v3.z ^ v3.w;
    }
    if (a == 0x12345)
        *sink = a;
}

static Decode d;
static float *X, *Y, *QKV, *ATT, *G, *SC, *LOG;

static void
reference(int token, int pos)
{
    r_embed<<<1, 256>>>(d.weights.embed, token, X);
    for (int l = 0; l < LAYERS; l++) {
        const LayerWeights &w = d.weights.layer[l];
        bf16 *kc = d.k_cache + (size_t)l * KV_HEADS * d.context * 128, *vc = d.v_cache + (size_t)l * KV_HEADS * d.context * 128;
        r_norm<<<1, 256>>>(X, w.input_norm, Y);
        r_mv<<<(Q_DIM + 2 * KV_DIM) / 8, 256>>>(w.q_proj, Y, QKV, HIDDEN, Q_DIM + 2 * KV_DIM, 0);
        r_rope<<<HEADS + 2 * KV_HEADS, 32>>>(QKV, w.q_norm, w.k_norm, d.rope, kc, vc, d.context, pos);
        r_attend<<<HEADS, 128>>>(QKV, kc, vc, ATT, SC, d.context, pos);
        r_mv<<<HIDDEN / 8, 256>>>(w.o_proj, ATT, X, Q_DIM, HIDDEN, 1);
        r_norm<<<1, 256>>>(X, w.post_norm, Y);
        r_mv<<<2 * INTERMEDIATE / 8, 256>>>(w.gate_proj, Y, G, HIDDEN, 2 * INTERMEDIATE, 0);
        r_act<<<(INTERMEDIATE + 255) / 256, 256>>>(G, ATT);
        r_mv<<<HIDDEN / 8, 256>>>(w.down_proj, ATT, X, INTERMEDIATE, HIDDEN, 1);
    }
    r_norm<<<1, 256>>>(X, d.weights.norm, Y);
    r_mv<<<VOCAB / 8, 256>>>(d.weights.embed, Y, LOG, HIDDEN, VOCAB, 0);
    OK(cudaDeviceSynchronize());
}

static int
splits_for(int pos)
{
    return 1 << decode_split_bits(&d, pos);
}

static void
launch(int token, int pos, int k, cudaStream_t s = 0)
{
    const char *e = decode_launch(&d, token, pos, k, s);
    if (e)
        printf("%s\n", e), exit(1);
}

static double
check(int pos, int k)
{
    int token = (int)(hash(pos) % VOCAB);
    reference(token, pos);
    std::vector<float> a(VOCAB), b(VOCAB);
    OK(cudaMemcpy(b.data(), LOG, VOCAB * 4, cudaMemcpyDeviceToHost));
    OK(cudaMemset(d.logits, 0xff, VOCAB * 4));
    memset(d.result->best, 0xff, sizeof d.result->best);
    launch(token, pos, k);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(a.data(), d.logits, VOCAB * 4, cudaMemcpyDeviceToHost));
    double num = 0, den = 0;
    for (int i = 0; i < VOCAB; i++)
        num += (a[i] - b[i]) * (double)(a[i] - b[i]), den += b[i] * (double)b[i];
    std::vector<int> order(VOCAB);
    for (int i = 0; i < VOCAB; i++)
        order[i] = i;
    std::partial_sort(order.begin(), order.begin() + k, order.end(),
                      [&](int x, int y) { return a[x] > a[y] || (a[x] == a[y] && x < y); });
    int wrong = d.result->found != k;
    for (int i = 0; i < k; i++)
        wrong += d.result->best[i].id != order[i] || d.result->best[i].logit != a[order[i]];
    double e = sqrt(num / den);
    printf("check pos %5d k %2d splits %2d: relative error %.2e, %d of the best wrong%s\n", pos, k, splits_for(pos), e, wrong,
           e < 2e-2 && !wrong ? "" : "  FAILED");
    return e;
}

static float
timed(int pos, int k, int n = 60)
{
    static cudaEvent_t e0, e1;
    if (!e0)
        cudaEventCreate(&e0), cudaEventCreate(&e1);
    std::vector<float> t;
    for (int r = 0; r < 3; r++) {
        cudaEventRecord(e0);
        for (int i = 0; i < n; i++)
            launch(i * 37 % VOCAB, pos, k);
        cudaEventRecord(e1);
        OK(cudaEventSynchronize(e1));
        float ms;
        cudaEventElapsedTime(&ms, e0, e1);
        t.push_back(ms / n * 1e3f);
    }
    std::sort(t.begin(), t.end());
    return t[1];
}

int
main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "all";
    cudaDeviceProp prop;
    OK(cudaGetDeviceProperties(&prop, 0));
    printf("%s, %d SMs, sizeof Shared %zu, tile %d\n", prop.name, prop.multiProcessorCount, sizeof(Shared), TILE_BYTES);
    d.context = 8192;
    size_t layer = (size_t)(Q_DIM + 2 * KV_DIM) * HIDDEN + (size_t)HIDDEN * Q_DIM + 3ull * INTERMEDIATE * HIDDEN;
    size_t count = (size_t)VOCAB * HIDDEN + layer * LAYERS;
    bf16 *block, *norms;
    OK(cudaMalloc(&block, count * 2));
    OK(cudaMalloc(&norms, (LAYERS + 1) * 4096 * 2));
    fill<<<2048, 256>>>(block, count, 0, 0.02f, 1);
    fill<<<64, 256>>>(norms, (LAYERS + 1) * 4096, 1, 0.1f, 77);
    bf16 *p = block;
    d.weights.embed = p, p += (size_t)VOCAB * HIDDEN;
    d.weights.norm = norms + LAYERS * 4096;
    for (int l = 0; l < LAYERS; l++) {
        LayerWeights &w = d.weights.layer[l];
        w.q_proj = p, p += (size_t)(Q_DIM + 2 * KV_DIM) * HIDDEN;
        w.o_proj = p, p += (size_t)HIDDEN * Q_DIM;
        w.gate_proj = p, p += 2ull * INTERMEDIATE * HIDDEN;
        w.down_proj = p, p += (size_t)HIDDEN * INTERMEDIATE;
        w.input_norm = norms + l * 4096, w.post_norm = w.input_norm + 1024, w.q_norm = w.input_norm + 2048, w.k_norm = w.input_norm + 2176;
    }
    size_t kv = (size_t)LAYERS * KV_HEADS * d.context * 128;
    OK(cudaMalloc(&d.k_cache, kv * 2));
    OK(cudaMalloc(&d.v_cache, kv * 2));
    fill<<<2048, 256>>>(d.k_cache, kv, 0, 1, 3);
    fill<<<2048, 256>>>(d.v_cache, kv, 0, 0.5f, 5);
    float2 *rope;
    OK(cudaMalloc(&rope, d.context * 64 * sizeof(float2)));
    table<<<256, 256>>>(rope, d.context);
    d.rope = rope;
    void *workspace;
    OK(cudaMalloc(&workspace, decode_workspace_bytes()));
    for (float **q : {&X, &Y, &QKV, &ATT, &G, &LOG})
        OK(cudaMalloc(q, (VOCAB + 8) * 4));
    OK(cudaMalloc(&SC, (size_t)HEADS * d.context * 4));
    {
        Weights w = d.weights;
        const char *e = decode_open(&d, &w, d.k_cache, d.v_cache, rope, d.context, workspace, 0);
        if (e)
            printf("%s\n", e), exit(1);
    }
    printf("stages %d, shared %d\n", d.stages, d.shared_bytes);
    OK(cudaDeviceSynchronize());

    if (!strcmp(what, "short")) { /* for the sanitizer */
        check(5, 20);
        check(300, 20);
        return 0;
    }
    for (int pos : {0, 5, 63, 64, 127, 128, 500, 1000, 1024, 4095, 8191})
        check(pos, pos % 2 ? 20 : 1 + pos % 64);
    d.blocks = 20, check(100, 20), check(3000, 64);
    d.blocks = 57, check(100, 20), check(3000, 64);
    d.blocks = std::min(prop.multiProcessorCount, (int)SHARES);

    cudaEvent_t e0, e1;
    cudaEventCreate(&e0), cudaEventCreate(&e1);
    float floor = 1e9;
    for (int grid : {132, 264, 528, 1056})
        for (int r = 0; r < 3; r++) {
            cudaEventRecord(e0);
            read_all<<<grid, 512>>>((const uint4 *)block, count / 8, (uint32_t *)workspace);
            cudaEventRecord(e1);
            OK(cudaEventSynchronize(e1));
            float ms;
            cudaEventElapsedTime(&ms, e0, e1);
            floor = std::min(floor, ms * 1e3f);
        }
    printf("read floor %.1f us, %.0f GB/s\n", floor, count * 2 / floor / 1e3);
    auto show = [&](const char *name, int pos, int k) {
        float t = timed(pos, k);
        printf("%-28s pos %5d splits %2d: %.1f us, %.0f tok/s, floor/time %.2f\n", name, pos, splits_for(pos), t, 1e6 / t, floor / t);
        fflush(stdout);
    };
    if (!strcmp(what, "profile")) {
        timed(64, 1, 4);
        return 0;
    }
    show("base", 64, 1);
    show("base k=20", 64, 20);
    show("base k=0", 64, 0);
    d.cooperative = 0;
    show("not cooperative", 64, 1);
    d.cooperative = 1;
    for (int ahead : {0, 1, 2})
        for (int depth : {2, 3}) {
            char name[64];
            snprintf(name, sizeof name, "depth %d ahead %d", depth, ahead);
            d.depth = depth, d.ahead = ahead;
            if (depth >= d.stages)
                continue;
            for (int pos : {64, 1024, 4096, 8000})
                show(name, pos, 1);
        }
    d.depth = 2, d.ahead = 0, d.head_depth = std::min(8, d.stages - 1);
    for (int limit : {16, 32, 128}) {
        d.group_limit = limit;
        char name[64];
        snprintf(name, sizeof name, "group limit %d", limit);
        for (int pos : {128, 512, 1024, 4096, 8000})
            show(name, pos, 1);
    }
    d.group_limit = 32;
    for (int b : {20, 64}) {
        d.blocks = b;
        char name[64];
        snprintf(name, sizeof name, "blocks %d", b);
        show(name, 64, 1);
        show(name, 4096, 1);
    }
    d.blocks = std::min(prop.multiProcessorCount, (int)SHARES);
    { /* host loop */
        cudaStream_t s;
        cudaStreamCreate(&s);
        for (int spin : {0, 1}) {
            auto t0 = std::chrono::steady_clock::now();
            int n = 400, token = 1;
            for (int i = 0; i < n; i++) {
                launch(token, 64 + i % 16, 20, s);
                OK(cudaStreamSynchronize(s));
                token = d.result->best[0].id;
            }
            OK(cudaStreamSynchronize(s));
            double us = std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count() / n * 1e6;
            printf("host loop, %s: %.1f us a token\n", spin ? "decode_wait" : "synchronize", us);
        }
    }
    { /* stamps */
        size_t n = (size_t)d.blocks * (LAYERS + 1) * STAMPS;
        std::vector<long long> s(n);
        OK(cudaMalloc(&d.stamps, n * 8));
        { /* consecutive launches: the time between */
            std::vector<long long> u(n);
            long long *first = d.stamps, *second;
            OK(cudaMalloc(&second, n * 8));
            for (int i = 0; i < 6; i++) {
                d.stamps = i % 2 ? second : first;
                launch(5, 64, 20);
            }
            OK(cudaDeviceSynchronize());
            OK(cudaMemcpy(s.data(), first, n * 8, cudaMemcpyDeviceToHost));
            OK(cudaMemcpy(u.data(), second, n * 8, cudaMemcpyDeviceToHost));
            auto at = [&](std::vector<long long> &v, int b, int i) { return v[((size_t)b * (LAYERS + 1) + LAYERS) * STAMPS + i]; };
            long long s0 = at(s, 0, 4), e0 = 0, s1 = at(u, 0, 4), e1 = 0, s1l = 0;
            for (int b = 0; b < d.blocks; b++) {
                s0 = std::min(s0, at(s, b, 4)), e0 = std::max(e0, at(s, b, 5));
                s1 = std::min(s1, at(u, b, 4)), e1 = std::max(e1, at(u, b, 5)), s1l = std::max(s1l, at(u, b, 4));
            }
            printf("launches back to back: first %lld ns, gap %lld ns, second %lld ns, spread of starts %lld ns; %.2f GHz\n", e0 - s0, s1 - e0, e1 - s1, s1l - s1,
                   (double)(at(u, 0, 3) - u[0]) / (at(u, 0, 5) - at(u, 0, 4)));
            d.stamps = first;
        }
        for (int pos : {64, 1024, 4096}) {
            for (int i = 0; i < 5; i++)
                launch(5, pos, 20);
            OK(cudaDeviceSynchronize());
            OK(cudaMemcpy(s.data(), d.stamps, n * 8, cudaMemcpyDeviceToHost));
            for (int b : {0, 1, 16, 77}) {
                printf("pos %d block %3d:", pos, b);
                const char *names[] = {"start..", "qkv load+wait", "qkv", "attend", "o load+wait", "o", "gu load", "gu wait", "gu", "down load", "down wait", "down"};
                const int from[] = {0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, to[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
                auto at = [&](int l, int i) { return s[((size_t)b * (LAYERS + 1) + l) * STAMPS + i]; };
                for (int i = 1; i < 12; i++) {
                    double sum = 0;
                    for (int l = 4; l < LAYERS; l++)
                        sum += (double)(at(l, to[i]) - at(l, from[i])) / (LAYERS - 4);
                    printf(" %s %.0f", names[i], sum);
                }
                double in[5] = {};
                for (int l = 4; l < LAYERS; l++)
                    for (int i = 0; i < 5; i++)
                        in[i] += (double)(i < 4 ? at(l, 12 + i) - (i ? at(l, 11 + i) : at(l, 2)) : at(l, 3) - at(l, 15)) / (LAYERS - 4);
                printf(" | attend: receive %.0f sync %.0f groups %.0f sync %.0f merge %.0f", in[0], in[1], in[2], in[3], in[4]);
                printf(" | layer %.0f first %lld | head wait %lld, head %lld, best %lld | all %lld\n", (double)(at(LAYERS, 0) - at(4, 0)) / (LAYERS - 4),
                       at(1, 0) - at(0, 0), at(LAYERS, 1) - at(LAYERS, 0), at(LAYERS, 2) - at(LAYERS, 1), at(LAYERS, 3) - at(LAYERS, 2), at(LAYERS, 3) - at(0, 0));
            }
        }
    }
    return 0;
}
