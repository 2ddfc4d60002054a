/* gpu.cuh: what the files of the GPU share. On the host: how a CUDA error is told. On the card: instructions
 * that C++ has no name for, sums over a warp, pairs of bf16, and the words by which blocks hand each other
 * numbers. */
#ifndef GPU_CUH
#define GPU_CUH

#include "fail.h"

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef __nv_bfloat16 bf16;

enum { WARP = 32 }; /* threads */

/* ---- errors ---- */

/* The card as the driver names it, once known. */
static char gpu_card[300] = "the GPU";

#define GPU_TEXT(...) #__VA_ARGS__
#define GPU_EXPAND(...) GPU_TEXT(__VA_ARGS__)
#ifdef __CUDA_ARCH_LIST__
#define GPU_ARCHITECTURES GPU_EXPAND(__CUDA_ARCH_LIST__) /* "860,900" */
#else
#define GPU_ARCHITECTURES "unknown"
#endif

/* The system's list of PCI devices: a folder for each, with a file of its vendor. */
static const char *gpu_devices = "/sys/bus/pci/devices";

/* Is there an NVIDIA card? Where there is no list, or under WSL, whose list has no cards, we do not know and
 * say yes. */
static inline int
gpu_has_card(void)
{
    char pattern[256], vendor[8];
    int found = 0;
    glob_t list;

    snprintf(pattern, sizeof pattern, "%s/*/vendor", gpu_devices);
    if (!access("/dev/dxg", F_OK) || glob(pattern, 0, NULL, &list))
        return 1;
    for (size_t i = 0; i < list.gl_pathc; i++) {
        FILE *file = fopen(list.gl_pathv[i], "r");
        found |= file && fgets(vendor, sizeof vendor, file) && !strncmp(vendor, "0x10de", 6);
        if (file)
            fclose(file);
    }
    globfree(&list);
    return found;
}

/* The line for an error of `call`, of which only the function's name is told. driver is the CUDA version that
 * the driver supports, 0 without one: the runtime calls a driver that is not there one that is too old. */
static inline const char *
gpu_explain(cudaError_t e, const char *call, int driver)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int major = CUDART_VERSION / 1000, minor = CUDART_VERSION % 1000 / 10;
    int name = (int)strcspn(call, "(");

    switch (e) {
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
    case cudaErrorSystemDriverMismatch:
        if (driver == 0 && !gpu_has_card())
            return fail("no NVIDIA driver, and no NVIDIA card");
        if (driver == 0)
            return fail("no NVIDIA driver: install one that supports CUDA %d.%d", major, minor);
        return fail(
            "the NVIDIA driver supports CUDA %d.%d, this program needs %d.%d: update the driver, or build "
            "with an older CUDA toolkit",
            driver / 1000, driver % 1000 / 10, major, minor);
    case cudaErrorNoDevice:
        if (visible)
            return fail("the NVIDIA driver shows no GPU; CUDA_VISIBLE_DEVICES is '%.100s': unset it, or see "
                        "what nvidia-smi lists",
                        visible);
        return fail("the NVIDIA driver finds no GPU: see what nvidia-smi lists");
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorInvalidKernelImage:
        return fail("this program has no code for %s, it was built for " GPU_ARCHITECTURES
                    ": build it on this machine, or name the card in CMAKE_CUDA_ARCHITECTURES",
                    gpu_card);
    case cudaErrorDevicesUnavailable:
        return fail("%s is taken: another program holds it alone, nvidia-smi shows which", gpu_card);
    case cudaErrorMemoryAllocation:
        return fail(
            "out of memory on %s in %.*s: close other programs that use it (nvidia-smi lists them), or "
            "choose a smaller context with -c or fewer bits with -w",
            gpu_card, name, call);
    default:
        return fail(
            "%s failed in %.*s: %s (error %d): start again; if it comes back, the kernel log (dmesg, NVRM) "
            "says more, and -d cpu does without",
            gpu_card, name, call, cudaGetErrorString(e), (int)e);
    }
}

static inline const char *
gpu_error(cudaError_t e, const char *call)
{
    int driver = 0;

    if (e == cudaSuccess)
        return NULL;
    cudaDriverGetVersion(&driver);
    return gpu_explain(e, call, driver);
}

static inline const char *
gpu_error(const char *line, const char *)
{
    return line;
}

/* Everything that returns a cudaError_t or a line is called through this. */
#define TRY(call)                                     \
    do {                                              \
        const char *line_ = gpu_error((call), #call); \
                                                      \
        if (line_)                                    \
            return line_;                             \
    } while (0)

/* The line for the launch just made, NULL if it began. It does not wait: what goes wrong later is told by the
 * call that waits. */
static inline const char *
gpu_launched(const char *kernel)
{
    return gpu_error(cudaGetLastError(), kernel);
}

/* A kernel, whose blocks have at most so many threads. */
#define KERNEL(threads) static __global__ void __launch_bounds__(threads)

/* ---- places ---- */

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

/* ---- instructions ---- */

__device__ __forceinline__ uint32_t
shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ uint4
shared_load(uint32_t address)
{
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(address)
                 : "memory");
    return v;
}

__device__ __forceinline__ uint2
shared_load_pair(uint32_t address)
{
    uint2 v;
    asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];"
                 : "=r"(v.x), "=r"(v.y)
                 : "r"(address)
                 : "memory");
    return v;
}

/* Exchanges a and b where mask is ~0, not where it is 0; in place, which selects would not be. */
__device__ __forceinline__ void
exchange(uint32_t &a, uint32_t &b, uint32_t mask)
{
    asm volatile("{\n.reg .b32 d;\nlop3.b32 d, %0, %1, %2, 0x28;\nxor.b32 %0, %0, d;\nxor.b32 %1, %1, d;\n}"
                 : "+r"(a), "+r"(b)
                 : "r"(mask));
}

__device__ __forceinline__ void
exchange(uint4 &a, uint4 &b, uint32_t mask)
{
    exchange(a.x, b.x, mask), exchange(a.y, b.y, mask), exchange(a.z, b.z, mask), exchange(a.w, b.w, mask);
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
#if __CUDA_ARCH__ >= 900
#define MBARRIER_WAIT "mbarrier.try_wait.parity.shared.b64"
#else
#define MBARRIER_WAIT "mbarrier.test_wait.parity.shared.b64"
#endif
    asm volatile("{\n.reg .pred p;\nagain:\n" MBARRIER_WAIT
                 " p, [%0], %1;\n@!p bra again;\n}" ::"r"(shared_address(barrier)),
                 "r"(parity)
                 : "memory");
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

/* Brings the cache line (128 bytes) that holds p into the L2 cache. */
__device__ __forceinline__ void
prefetch(const void *p)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}

/* ---- words ----
 *
 * A word of an exchange: 12 bytes of payload and the epoch it belongs to, loaded and stored as one 128-bit
 * access, which the memory model keeps whole. So a reader that sees the epoch it waits for has the payload
 * too: no flag, no fence, no second read. */
typedef uint4 Word;

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
word_wait(const Word *p, uint32_t epoch)
{
    Word v;
    do
        v = word_load(p);
    while (__any_sync(~0u, v.w != epoch));
    return v;
}

/* The rest of a wait whose first reading is in v, so that several first readings can be under way at once. */
__device__ __forceinline__ void
word_wait_on(Word &v, const Word *p, uint32_t epoch, bool wanted = true)
{
    while (__any_sync(~0u, wanted && v.w != epoch))
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

/* The float rounded to its upper 24 bits, so that a word holds four: 16 bits of significand, as many as a
 * bf16 and the bf16 of its rest have together. */
__device__ __forceinline__ uint32_t
round24(float v)
{
    return v == v ? (__float_as_uint(v) + 0x80) & 0xffffff00u : 0x7fffff00u;
}

__device__ __forceinline__ void
word_send_four(Word *p, float a, float b, float c, float d, uint32_t epoch)
{
    const uint32_t last = round24(d);
    word_send(p, round24(a) | last >> 24, round24(b) | (last >> 16 & 0xff), round24(c) | (last >> 8 & 0xff),
              epoch);
}

__device__ __forceinline__ void
word_four(float (&v)[4], const Word &word)
{
    v[0] = __uint_as_float(word.x & 0xffffff00u);
    v[1] = __uint_as_float(word.y & 0xffffff00u);
    v[2] = __uint_as_float(word.z & 0xffffff00u);
    v[3] = __uint_as_float(word.x << 24 | (word.y & 0xff) << 16 | (word.z & 0xff) << 8);
}

/* The sum of four squares, in one order wherever it is asked for. */
__device__ __forceinline__ float
squares(const float (&v)[4])
{
    return __fmaf_rn(v[0], v[0], __fmul_rn(v[1], v[1])) + __fmaf_rn(v[2], v[2], __fmul_rn(v[3], v[3]));
}

#endif
