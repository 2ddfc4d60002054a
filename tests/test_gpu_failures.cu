/* test_gpu_failures: what the GPU engine says when it cannot run. Needs no card: sizes, drivers and errors
 * are made up, except where there really is no driver. */
#include "../model.cuh"

#include "test.h"

static int
says(const char *line, const char *what)
{
    if (line != NULL && strstr(line, what) != NULL && strchr(line, '\n') == NULL)
        return 1;
    fprintf(stderr, "expected '%s' in: %s\n", what, line ? line : "(nothing)");
    return 0;
}

static void
each_error_says_what_with_which_card_and_what_to_do(void)
{
    const char *line;

    snprintf(model_card, sizeof model_card, "NVIDIA GeForce RTX 3050 (sm_86)");
    unsetenv("CUDA_VISIBLE_DEVICES");

    line = model_explain(cudaErrorInsufficientDriver, "cudaGetDeviceCount(&cards)", 0);
    CHECK(says(line, "no NVIDIA driver"));
    CHECK(says(line, "install"));
    line = model_explain(cudaErrorInsufficientDriver, "cudaGetDeviceCount(&cards)", 11080);
    CHECK(says(line, "supports CUDA 11.8"));
    CHECK(says(line, "update the driver"));

    CHECK(says(model_explain(cudaErrorNoDevice, "f()", 13000), "finds no GPU"));
    setenv("CUDA_VISIBLE_DEVICES", "7", 1);
    CHECK(says(model_explain(cudaErrorNoDevice, "f()", 13000), "CUDA_VISIBLE_DEVICES is '7'"));
    unsetenv("CUDA_VISIBLE_DEVICES");

    line = model_explain(cudaErrorNoKernelImageForDevice, "f()", 13000);
    CHECK(says(line, "no code for NVIDIA GeForce RTX 3050 (sm_86)"));
    CHECK(says(line, MODEL_ARCHITECTURES));
    CHECK(says(line, "CMAKE_CUDA_ARCHITECTURES"));

    line = model_explain(cudaErrorMemoryAllocation, "cudaMalloc(&m->block, 1)", 13000);
    CHECK(says(line, "out of memory on NVIDIA GeForce RTX 3050 (sm_86) in cudaMalloc:"));
    CHECK(says(line, "-c"));

    line = model_explain(cudaErrorLaunchFailure, "cudaStreamSynchronize(m->stream)", 13000);
    CHECK(says(
        line, "NVIDIA GeForce RTX 3050 (sm_86) failed in cudaStreamSynchronize: unspecified launch failure"));
    CHECK(says(line, "-d cpu"));

    CHECK(says(model_error(CUBLAS_STATUS_ALLOC_FAILED, "cublasCreate(&m->cublas)"),
               "cuBLAS failed in cublasCreate"));
    CHECK(model_error(CUBLAS_STATUS_SUCCESS, "f()") == NULL);
    CHECK(model_error(cudaSuccess, "f()") == NULL);
}

/* A card of `total` bytes, `free` of them free. */
static Model
card(double total, double free, int context)
{
    Model m = {};

    m.context = context;
    m.multiprocessors = 20;
    m.sort.scratch_bytes = 4 << 20;
    m.total = (size_t)total;
    m.free = (size_t)free;
    return m;
}

static void
memory_is_checked_before_it_is_taken(void)
{
    Model m = card(8e9, 7.5e9, DEFAULT_CONTEXT);
    size_t needed = model_plan(&m, 0) + MODEL_RESERVE;
    const char *line, *found;
    int fits = 0;

    CHECK(model_check_memory(&m) == NULL);
    m.free = needed;
    CHECK(model_check_memory(&m) == NULL);
    m.free = needed - 1;
    CHECK(model_check_memory(&m) != NULL);

    /* The context that is named fits, the next one does not. */
    m = card(8e9, 0, MAX_CONTEXT);
    m.free = (model_plan(&m, 0) + MODEL_RESERVE) * 9 / 10;
    line = model_check_memory(&m);
    CHECK(says(line, "a context of"));
    CHECK(says(line, "of its 8.00 GB are free"));
    found = line ? strstr(line, "-c ") : NULL;
    CHECK(found != NULL && sscanf(found, "-c %d would fit", &fits) == 1);
    CHECK(fits > 0 && fits < MAX_CONTEXT);
    m.context = fits;
    CHECK(model_check_memory(&m) == NULL);
    m.context = fits + 1;
    CHECK(model_check_memory(&m) != NULL);

    m = card(4e9, 1e6, DEFAULT_CONTEXT);
    line = model_check_memory(&m);
    CHECK(says(line, "needs at least"));
    CHECK(says(line, "0.00 of its 4.00 GB"));
    CHECK(says(line, "-d cpu"));
}

/* The plan in figures: nothing overlaps, everything lies inside and is aligned. */
static void
the_block_is_cut_up_without_overlap(void)
{
    Model m = card(8e9, 8e9, 100);
    const uintptr_t base = (uintptr_t)1 << 40;
    size_t all = model_plan(&m, base), parts = 0;

    for (int part = 0; part < MODEL_PARTS; part++)
        parts += m.part[part];
    CHECK(parts == all);
    CHECK(m.chunk == 100);
    CHECK((uintptr_t)m.weights.embed == base);
    CHECK((uintptr_t)m.k_cache == base + m.part[PART_WEIGHTS]);
    CHECK((char *)m.v_cache - (char *)m.k_cache >= (ptrdiff_t)LAYERS * KV_HEADS * 100 * HEAD_DIM * 2);
    CHECK((uintptr_t)m.workspace + MODEL_WORKSPACE == base + all);
    for (int l = 0; l < LAYERS; l++)
        for (int which = 0; which < LAYER_TENSORS; which++)
            CHECK((uintptr_t)model_layer_tensor(&m.weights.layer[l], which) % MODEL_ALIGNMENT == 0);

    m.context = MAX_CONTEXT;
    model_plan(&m, base);
    CHECK(m.chunk == PREFILL_CHUNK);
}

static void
files_come_before_the_device(void)
{
    void *engine = &engine;

    CHECK(says(model_engine.open(&engine, "/nonexistent", {100, 16, 0}), "/nonexistent/model.safetensors"));
    CHECK(engine == NULL);
    CHECK(says(model_engine.open(&engine, "/nonexistent", {0, 16, 0}), "a context of 0"));
    CHECK(says(model_engine.open(&engine, "/nonexistent", {MAX_CONTEXT + 1, 16, 0}), "1 to"));
    model_engine.close(NULL);
}

static void
a_missing_driver_is_one_line(void)
{
    int driver = 0;

    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver != 0) {
        printf("no driver: not tested, this machine has one\n");
        return;
    }
    CHECK(says(model_engine.probe(), "no NVIDIA driver"));
}

int
main(void)
{
    each_error_says_what_with_which_card_and_what_to_do();
    memory_is_checked_before_it_is_taken();
    the_block_is_cut_up_without_overlap();
    files_come_before_the_device();
    a_missing_driver_is_one_line();
    return test_result();
}
