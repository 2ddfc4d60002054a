/* product.cuh: the matrix products of prefill, by cuBLAS.
 *
 * cuBLAS is half a gigabyte: opening it takes a tenth of a second, loading its kernels as long again. So it
 * is no part of the program but opened once a prompt is long enough for it, and in a chat by a thread while
 * the first text is being typed. For the same reason a product has one of a few numbers of rows: what is less
 * is padded, and the kernels of all of them can be loaded beforehand. */
#ifndef PRODUCT_CUH
#define PRODUCT_CUH

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <dlfcn.h>

#include "config.h"
#include "gpu.cuh"

/* The version built against; from the loader's path, otherwise from where the build found it. */
#define CUBLAS_FILE "libcublas.so." GPU_EXPAND(CUBLAS_VER_MAJOR)
#ifndef CUBLAS_FOLDER
#define CUBLAS_FOLDER "/usr/local/cuda/lib64"
#endif

/* All that is used of it. */
/* clang-format off */
#define CUBLAS_FUNCTIONS(DO)  \
    DO(cublasCreate)          \
    DO(cublasDestroy)         \
    DO(cublasGemmEx_64)       \
    DO(cublasGetStatusString) \
    DO(cublasSetMathMode)     \
    DO(cublasSetStream)       \
    DO(cublasSetWorkspace)
/* clang-format on */

#define CUBLAS_POINTER(name) decltype(::name) *name;
static struct {
    void *library; /* NULL: not open */
    CUBLAS_FUNCTIONS(CUBLAS_POINTER)
} cublas;

/* Rows of a product, ascending. */
static const int product_sizes[] = {128, 256, 512, 1024, 1536, 2048};
static_assert(PREFILL_CHUNK <= 2048, "a chunk has one of these numbers of rows");

enum { PRODUCT_SIZES = sizeof product_sizes / sizeof *product_sizes };

/* The rows that a product of n <= PREFILL_CHUNK has. */
static inline int
product_rows(int n)
{
    int i = 0;

    while (product_sizes[i] < n)
        i++;
    return product_sizes[i];
}

static inline const char *
gpu_error(cublasStatus_t status, const char *call)
{
    const char *name = strncmp(call, "cublas.", 7) ? call : call + 7;

    if (status == CUBLAS_STATUS_SUCCESS)
        return NULL;
    return fail(
        "cuBLAS failed in %.*s on %s: %s: start again; if it comes back, look for other programs on the "
        "card with nvidia-smi, or use -d cpu",
        (int)strcspn(name, "("), name, gpu_card,
        cublas.library ? cublas.cublasGetStatusString(status) : "it is not open");
}

static inline const char *
product_library(void)
{
    const char *missing = NULL;
    void *library;

    if (cublas.library)
        return NULL;
    if (!(library = dlopen(CUBLAS_FILE, RTLD_LAZY)) &&
        !(library = dlopen(CUBLAS_FOLDER "/" CUBLAS_FILE, RTLD_LAZY)))
        return fail("%s", dlerror());
#define CUBLAS_FIND(name)                                                      \
    if (!(cublas.name = (decltype(::name) *)dlsym(library, GPU_EXPAND(name)))) \
        missing = GPU_EXPAND(name);
    CUBLAS_FUNCTIONS(CUBLAS_FIND)
    if (missing)
        return fail("%s has no %s", CUBLAS_FILE, missing);
    cublas.library = library; /* it stays open to the end */
    return NULL;
}

/* A handle whose products go to the stream and use the workspace (bytes) on the card. *handle is set as soon
 * as there is something to destroy. */
static inline const char *
product_open(cublasHandle_t *handle, cudaStream_t stream, void *workspace, size_t bytes)
{
    TRY(product_library());
    TRY(cublas.cublasCreate(handle));
    TRY(cublas.cublasSetMathMode(*handle,
                                 CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)); /* sums in fp32 */
    TRY(cublas.cublasSetStream(*handle, stream));
    TRY(cublas.cublasSetWorkspace(*handle, workspace, bytes));
    return NULL;
}

/* out (n, rows) = in (n, columns) x weight (rows, columns)^T + add * out, for product_rows(n) rows of in and
 * out. cuBLAS counts in columns: to it, every matrix here is its own transpose. */
static inline const char *
product(cublasHandle_t handle, void *out, cudaDataType type, float add, const __nv_bfloat16 *weight,
        const __nv_bfloat16 *in, int n, int rows, int columns)
{
    const float one = 1;

    TRY(cublas.cublasGemmEx_64(handle, CUBLAS_OP_T, CUBLAS_OP_N, rows, product_rows(n), columns, &one, weight,
                               CUDA_R_16BF, columns, in, CUDA_R_16BF, columns, &add, out, type, rows,
                               CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    return NULL;
}

#endif
