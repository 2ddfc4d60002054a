/* fake_cuda.h: a card that is not there, whose calls fail when they are told to.
 *
 * The linker sends every call of the CUDA runtime here: it is told to wrap what stands in a FAKE_CALL. So are
 * the few functions of cuBLAS. While fake.on is 0 calls go on to the real ones. Memory of the card is memory
 * of the host, copies are made, kernels are not run: what is tested is what the program says and gives back
 * when a call fails, and no device is ever brought into a fault for it. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include "../product.cuh"

#define FAKE_FIRST(first, ...) first

enum {
    FAKE_CALLS = 64,
    FAKE_VERSION = FAKE_FIRST(__CUDA_ARCH_LIST__) / 10 /* 90 for sm_90: one for which there is code */
};

static struct {
    int on;
    const char *fails;            /* this call, */
    int when;                     /* the when-th time, */
    cudaError_t how;              /* returns this */
    int hit;                      /* it did */
    cudaError_t last;             /* what cudaGetLastError returns */
    int held;                     /* blocks of memory, streams, events and handles that are not given back */
    const char *name[FAKE_CALLS]; /* the calls made */
    int times[FAKE_CALLS];        /* and how often */
} fake;

/* Counts a call. Whether it is the one that fails. */
static int
fake_fails(const char *name)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int i = 0, fails;

    pthread_mutex_lock(&lock);
    while (fake.name[i] && strcmp(fake.name[i], name))
        i++;
    fake.name[i] = name;
    fails = ++fake.times[i] == fake.when && fake.fails && !strcmp(name, fake.fails);
    fake.hit |= fails;
    pthread_mutex_unlock(&lock);
    return fails;
}

static cudaError_t
fake_take(void **p, size_t bytes)
{
    *p = calloc(bytes, 1);
    __atomic_fetch_add(&fake.held, 1, __ATOMIC_RELAXED);
    return cudaSuccess;
}

static cudaError_t
fake_give_back(void *p)
{
    if (p)
        __atomic_fetch_sub(&fake.held, 1, __ATOMIC_RELAXED);
    free(p);
    return cudaSuccess;
}

/* A call that can fail and one that cannot: its parameters, how to pass them on, and what it does here. */
#define FAKE_CALL(name, parameters, arguments, does)                       \
    extern "C" __attribute__((weak)) cudaError_t __real_##name parameters; \
    extern "C" cudaError_t __wrap_##name parameters;                       \
    extern "C" cudaError_t __wrap_##name parameters                        \
    {                                                                      \
        if (!fake.on)                                                      \
            return __real_##name arguments;                                \
        if (fake_fails(#name))                                             \
            return fake.last = fake.how;                                   \
        return does;                                                       \
    }
#define FAKE_CERTAIN_CALL(name, parameters, arguments, does)               \
    extern "C" __attribute__((weak)) cudaError_t __real_##name parameters; \
    extern "C" cudaError_t __wrap_##name parameters;                       \
    extern "C" cudaError_t __wrap_##name parameters                        \
    {                                                                      \
        return fake.on ? (does) : __real_##name arguments;                 \
    }

static cudaError_t
fake_attribute(int *value, cudaDeviceAttr attribute)
{
    *value = attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? 232448 : 20;
    if (attribute == cudaDevAttrComputeCapabilityMajor)
        *value = FAKE_VERSION / 10;
    if (attribute == cudaDevAttrComputeCapabilityMinor)
        *value = FAKE_VERSION % 10;
    return cudaSuccess;
}

static cudaError_t
fake_properties(cudaDeviceProp *card)
{
    memset(card, 0, sizeof *card);
    strcpy(card->name, "Fake");
    card->major = FAKE_VERSION / 10;
    card->minor = FAKE_VERSION % 10;
    return cudaSuccess;
}

static cudaError_t
fake_function(cudaFuncAttributes *attributes)
{
    memset(attributes, 0, sizeof *attributes);
    attributes->ptxVersion = attributes->binaryVersion = FAKE_VERSION;
    return cudaSuccess;
}

static cudaError_t
fake_memory(size_t *free_bytes, size_t *total)
{
    *free_bytes = *total = (size_t)8 << 30;
    return cudaSuccess;
}

static cudaError_t
fake_last(void)
{
    cudaError_t e = fake.last;

    fake.last = cudaSuccess;
    return e;
}

FAKE_CALL(cudaGetDeviceCount, (int *n), (n), (*n = 1, cudaSuccess))
FAKE_CALL(cudaGetDevice, (int *device), (device), (*device = 0, cudaSuccess))
FAKE_CALL(cudaSetDevice, (int device), (device), cudaSuccess)
FAKE_CALL(cudaDeviceGetAttribute, (int *value, cudaDeviceAttr attribute, int device),
          (value, attribute, device), fake_attribute(value, attribute))
FAKE_CALL(cudaGetDeviceProperties, (cudaDeviceProp * card, int device), (card, device), fake_properties(card))
FAKE_CALL(cudaMemGetInfo, (size_t * free_bytes, size_t *total), (free_bytes, total),
          fake_memory(free_bytes, total))
FAKE_CALL(cudaFuncGetAttributes, (cudaFuncAttributes * attributes, const void *kernel), (attributes, kernel),
          fake_function(attributes))
FAKE_CALL(cudaFuncSetAttribute, (const void *kernel, cudaFuncAttribute attribute, int value),
          (kernel, attribute, value), cudaSuccess)
FAKE_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
          (int *blocks, const void *kernel, int threads, size_t shared), (blocks, kernel, threads, shared),
          (*blocks = 1, cudaSuccess))
FAKE_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
          (int *blocks, const void *kernel, int threads, size_t shared, unsigned flags),
          (blocks, kernel, threads, shared, flags), (*blocks = 1, cudaSuccess))
FAKE_CALL(cudaMalloc, (void **p, size_t bytes), (p, bytes), fake_take(p, bytes))
FAKE_CALL(cudaMallocHost, (void **p, size_t bytes), (p, bytes), fake_take(p, bytes))
FAKE_CALL(cudaHostAlloc, (void **p, size_t bytes, unsigned flags), (p, bytes, flags), fake_take(p, bytes))
FAKE_CALL(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), (stream, flags),
          fake_take((void **)stream, 1))
FAKE_CALL(cudaEventCreate, (cudaEvent_t * event), (event), fake_take((void **)event, 1))
FAKE_CALL(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), (event, flags),
          fake_take((void **)event, 1))
FAKE_CALL(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream), cudaSuccess)
FAKE_CALL(cudaEventSynchronize, (cudaEvent_t event), (event), cudaSuccess)
FAKE_CALL(cudaEventElapsedTime, (float *ms, cudaEvent_t begin, cudaEvent_t end), (ms, begin, end),
          (*ms = 1, cudaSuccess))
FAKE_CALL(cudaMemcpy, (void *to, const void *from, size_t bytes, cudaMemcpyKind kind),
          (to, from, bytes, kind), (memcpy(to, from, bytes), cudaSuccess))
FAKE_CALL(cudaMemcpyAsync,
          (void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
          (to, from, bytes, kind, stream), (memcpy(to, from, bytes), cudaSuccess))
FAKE_CALL(cudaMemset, (void *to, int value, size_t bytes), (to, value, bytes), cudaSuccess)
FAKE_CALL(cudaMemsetAsync, (void *to, int value, size_t bytes, cudaStream_t stream),
          (to, value, bytes, stream), cudaSuccess)
FAKE_CALL(cudaDeviceSynchronize, (void), (), cudaSuccess)
FAKE_CALL(cudaStreamSynchronize, (cudaStream_t stream), (stream), cudaSuccess)
FAKE_CALL(cudaLaunchKernel,
          (const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream),
          (kernel, grid, block, arguments, shared, stream), cudaSuccess)
FAKE_CALL(__cudaLaunchKernel,
          (cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream),
          (kernel, grid, block, arguments, shared, stream), cudaSuccess)
FAKE_CALL(cudaLaunchKernelExC,
          (const cudaLaunchConfig_t *configuration, const void *kernel, void **arguments),
          (configuration, kernel, arguments), cudaSuccess)
FAKE_CALL(cudaLaunchCooperativeKernel,
          (const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream),
          (kernel, grid, block, arguments, shared, stream), cudaSuccess)

FAKE_CERTAIN_CALL(__cudaGetKernel, (cudaKernel_t * kernel, const void *entry), (kernel, entry),
                  (*kernel = NULL, cudaSuccess))
FAKE_CERTAIN_CALL(cudaGetLastError, (void), (), fake_last())
FAKE_CERTAIN_CALL(cudaPeekAtLastError, (void), (), fake.last)
FAKE_CERTAIN_CALL(cudaFree, (void *p), (p), fake_give_back(p))
FAKE_CERTAIN_CALL(cudaFreeHost, (void *p), (p), fake_give_back(p))
FAKE_CERTAIN_CALL(cudaStreamDestroy, (cudaStream_t stream), (stream), fake_give_back(stream))
FAKE_CERTAIN_CALL(cudaEventDestroy, (cudaEvent_t event), (event), fake_give_back(event))

/* ---- cuBLAS ---- */

static cublasStatus_t
fake_cublas(const char *name)
{
    return fake_fails(name) ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t
fake_create(cublasHandle_t *handle)
{
    if (fake_cublas("cublasCreate"))
        return CUBLAS_STATUS_ALLOC_FAILED;
    fake_take((void **)handle, 1);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t
fake_destroy(cublasHandle_t handle)
{
    fake_give_back(handle);
    return CUBLAS_STATUS_SUCCESS;
}

/* Puts functions that do nothing where those of cuBLAS would be. */
static void
fake_cublas_open(void)
{
    cublas.library = &fake;
    cublas.cublasCreate = fake_create;
    cublas.cublasDestroy = fake_destroy;
    cublas.cublasGetStatusString = [](cublasStatus_t) { return "made up"; };
    cublas.cublasSetMathMode = [](cublasHandle_t, cublasMath_t) { return fake_cublas("cublasSetMathMode"); };
    cublas.cublasSetStream = [](cublasHandle_t, cudaStream_t) { return fake_cublas("cublasSetStream"); };
    cublas.cublasSetWorkspace = [](cublasHandle_t, void *, size_t) {
        return fake_cublas("cublasSetWorkspace");
    };
    cublas.cublasGemmEx_64 = [](cublasHandle_t, cublasOperation_t, cublasOperation_t, int64_t, int64_t,
                                int64_t, const void *, const void *, cudaDataType, int64_t, const void *,
                                cudaDataType, int64_t, const void *, void *, cudaDataType, int64_t,
                                cublasComputeType_t,
                                cublasGemmAlgo_t) { return fake_cublas("cublasGemmEx"); };
}

#endif
