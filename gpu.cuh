/* gpu.cuh: what everything that runs on an NVIDIA card shares: how a CUDA error is told, and how a kernel
 * begins. */
#ifndef GPU_CUH
#define GPU_CUH

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

/* The card as the driver names it, once known. */
static char gpu_card[300] = "the GPU";

#define GPU_TEXT(...) #__VA_ARGS__
#define GPU_EXPAND(...) GPU_TEXT(__VA_ARGS__)
#ifdef __CUDA_ARCH_LIST__
#define GPU_ARCHITECTURES GPU_EXPAND(__CUDA_ARCH_LIST__) /* "860,900" */
#else
#define GPU_ARCHITECTURES "unknown"
#endif

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
            "choose a smaller context with -c",
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

#endif
