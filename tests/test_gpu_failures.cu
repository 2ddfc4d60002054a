/* test_gpu_failures: what the GPU engine says when it cannot run, or no longer. Needs no card: sizes,
 * drivers, errors and in the end the card are made up, except where there really is no driver. Run from
 * tests/. */
#include "../model.cuh"

#include "fake_cuda.h"
#include "test.h"

static int
says(const char *line, const char *what)
{
    if (line && strstr(line, what) && !strchr(line, '\n'))
        return 1;
    fprintf(stderr, "expected '%s' in: %s\n", what, line ? line : "(nothing)");
    return 0;
}

/* On a machine without an NVIDIA card there is nothing to install a driver for. */
static void
no_card_no_advice(void)
{
    char folder[] = "/tmp/test_gpu_failures.XXXXXX", path[64];

    CHECK(mkdtemp(folder) != NULL);
    gpu_devices = folder;
    for (int card = 0; card < 2; card++) {
        snprintf(path, sizeof path, "%s/%d", folder, card);
        mkdir(path, 0700);
        snprintf(path, sizeof path, "%s/%d/vendor", folder, card);
        FILE *file = fopen(path, "w");
        CHECK(file && fputs(card ? "0x10de\n" : "0x8086\n", file) >= 0 && !fclose(file));
        const char *line = gpu_explain(cudaErrorInsufficientDriver, "cudaGetDeviceCount(&cards)", 0);
        CHECK(says(line, "no NVIDIA driver"));
        CHECK(!!strstr(line, "install") == card);
    }
    for (int card = 0; card < 2; card++) {
        snprintf(path, sizeof path, "%s/%d/vendor", folder, card);
        remove(path);
        snprintf(path, sizeof path, "%s/%d", folder, card);
        rmdir(path);
    }
    rmdir(folder);
    gpu_devices = "/nonexistent";
}

static void
each_error_says_what_with_which_card_and_what_to_do(void)
{
    const char *line;

    snprintf(gpu_card, sizeof gpu_card, "NVIDIA GeForce RTX 3050 (sm_86)");
    unsetenv("CUDA_VISIBLE_DEVICES");

    gpu_devices = "/nonexistent"; /* then a card is not out of the question */
    line = gpu_explain(cudaErrorInsufficientDriver, "cudaGetDeviceCount(&cards)", 0);
    CHECK(says(line, "no NVIDIA driver"));
    CHECK(says(line, "install"));
    no_card_no_advice();
    line = gpu_explain(cudaErrorInsufficientDriver, "cudaGetDeviceCount(&cards)", 11080);
    CHECK(says(line, "supports CUDA 11.8"));
    CHECK(says(line, "update the driver"));

    CHECK(says(gpu_explain(cudaErrorNoDevice, "f()", 13000), "finds no GPU"));
    setenv("CUDA_VISIBLE_DEVICES", "7", 1);
    CHECK(says(gpu_explain(cudaErrorNoDevice, "f()", 13000), "CUDA_VISIBLE_DEVICES is '7'"));
    unsetenv("CUDA_VISIBLE_DEVICES");

    line = gpu_explain(cudaErrorNoKernelImageForDevice, "f()", 13000);
    CHECK(says(line, "no code for NVIDIA GeForce RTX 3050 (sm_86)"));
    CHECK(says(line, GPU_ARCHITECTURES));
    CHECK(says(line, "CMAKE_CUDA_ARCHITECTURES"));

    line = gpu_explain(cudaErrorMemoryAllocation, "cudaMalloc(&m->block, 1)", 13000);
    CHECK(says(line, "out of memory on NVIDIA GeForce RTX 3050 (sm_86) in cudaMalloc:"));
    CHECK(says(line, "-c"));

    line = gpu_explain(cudaErrorLaunchFailure, "cudaStreamSynchronize(m->stream)", 13000);
    CHECK(says(
        line, "NVIDIA GeForce RTX 3050 (sm_86) failed in cudaStreamSynchronize: unspecified launch failure"));
    CHECK(says(line, "-d cpu"));

    CHECK(says(gpu_error(CUBLAS_STATUS_ALLOC_FAILED, "cublas.cublasCreate(handle)"),
               "cuBLAS failed in cublasCreate"));
    CHECK(gpu_error(CUBLAS_STATUS_SUCCESS, "f()") == NULL);
    CHECK(gpu_error(cudaSuccess, "f()") == NULL);
}

/* A card of `total` bytes, `free` of them free. */
static Model
card(double total, double free, int context)
{
    Model m = {};

    m.context = context;
    m.form = 16;
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
    size_t all = model_plan(&m, base);

    CHECK(m.weight_bytes + m.cache_bytes + m.rest_bytes == all);
    CHECK(m.chunk == 100);
    CHECK((uintptr_t)m.weights.embed.data == base);
    CHECK((uintptr_t)m.k_cache == base + m.weight_bytes);
    CHECK((char *)m.v_cache - (char *)m.k_cache >= (ptrdiff_t)LAYERS * KV_HEADS * 100 * HEAD_DIM * 2);
    CHECK((uintptr_t)m.workspace + MODEL_WORKSPACE == base + all);
    for (int form : {16, 12, 8}) {
        m.form = form;
        for (int i = 0; i < MODEL_MATRICES; i++)
            m.longest[i] = 1 + i % 3 * WARP;
        model_plan(&m, base);
        const char *end = m.weights.embed.tile(VOCAB / TILE_ROWS); /* of what lies before */
        for (int l = 0; l < LAYERS; l++) {
            const LayerWeights *w = &m.weights.layer[l];
            const struct {
                const void *begin, *end;
            } part[] = {{w->input_norm, w->input_norm + HIDDEN},
                        {w->qkv.data, w->qkv.tile(LAYER_QKV / TILE_WEIGHTS)},
                        {w->o.data, w->o.tile(LAYER_O / TILE_WEIGHTS)},
                        {w->q_norm, w->q_norm + HEAD_DIM},
                        {w->k_norm, w->k_norm + HEAD_DIM},
                        {w->post_norm, w->post_norm + HIDDEN},
                        {w->gate_up.data, w->gate_up.tile(LAYER_GATE_UP / TILE_WEIGHTS)},
                        {w->down.data, w->down.tile(LAYER_DOWN / TILE_WEIGHTS)}};
            for (auto &p : part) {
                CHECK((uintptr_t)p.begin % MODEL_ALIGNMENT == 0 && (const char *)p.begin >= end);
                end = (const char *)p.end;
            }
        }
        CHECK((const char *)m.weights.norm >= end);
        CHECK((char *)m.found - (char *)m.unpacked >= (form == 16 ? 0 : (ptrdiff_t)LAYER_WEIGHTS * 2));
    }
    m.form = 16;

    /* A chunk may be padded to more rows than the context has. */
    CHECK(product_rows(100) > 100);
    CHECK((char *)m.normed - (char *)m.x >= (ptrdiff_t)product_rows(100) * HIDDEN * 4);

    m.context = MAX_CONTEXT;
    model_plan(&m, base);
    CHECK(m.chunk == PREFILL_CHUNK);
}

/* What the card says of the lists of form 12. */
static void
lists_that_are_too_short_are_made_longer(void)
{
    static Model m;
    int found[MODEL_MATRICES] = {};

    m.form = 12;
    for (int i = 0; i < MODEL_MATRICES; i++)
        m.longest[i] = WARP;
    CHECK(!model_again(&m, found));
    found[0] = WARP;
    CHECK(!model_again(&m, found));
    found[1] = WARP + 1;
    CHECK(model_again(&m, found) && m.form == 12 && m.longest[0] == WARP);
    CHECK(form_tile_bytes(12, m.longest[1]) == TILE_BYTES_12 + LIST_BYTES);
    CHECK(!model_again(&m, found)); /* now there is room */
    found[2] = (TILE_BYTES - TILE_LIST) / 4 - WARP;
    CHECK(model_again(&m, found) && m.form == 12 && form_tile_bytes(12, m.longest[2]) < TILE_BYTES);
    found[2]++;
    CHECK(model_again(&m, found) && m.form == 16); /* as many bytes */
    m.form = 12;
    found[3] = INT_MAX;
    CHECK(model_again(&m, found) && m.form == 16);
}

static void
files_come_before_the_device(void)
{
    void *engine = &engine;

    CHECK(says(model_engine.open(&engine, "/nonexistent", {100, 16, 0}), "/nonexistent/model.safetensors"));
    CHECK(engine == NULL);
    CHECK(says(model_engine.open(&engine, "/nonexistent", {0, 16, 0}), "a context of 0"));
    CHECK(says(model_engine.open(&engine, "/nonexistent", {MAX_CONTEXT + 1, 16, 0}), "1 to"));
    CHECK(says(model_engine.open(&engine, "/nonexistent", {100, 7, 0}), "-w takes 16, 12 or 8"));
    CHECK(says(model_engine.open(&engine, "/nonexistent", {100, 12, 0}), "/nonexistent/model.safetensors"));
    model_engine.close(NULL);
}

static void
products_have_the_next_of_a_few_sizes(void)
{
    CHECK(product_rows(1) == product_sizes[0]);
    for (int i = 0; i < PRODUCT_SIZES; i++) {
        CHECK(product_rows(product_sizes[i]) == product_sizes[i]);
        if (i > 0)
            CHECK(product_rows(product_sizes[i - 1] + 1) == product_sizes[i]);
    }
    CHECK(product_rows(PREFILL_CHUNK) == PREFILL_CHUNK);
    CHECK(ROWS_PREFILL <= product_sizes[0]);
}

static void
cublas_is_opened_whole_or_named(void)
{
    const char *line = product_library();

    printf("cuBLAS: %s\n", line ? line : "found");
    CHECK(line ? says(line, CUBLAS_FILE) : cublas.cublasCreate && cublas.cublasGemmEx_64 && cublas.library);
    memset(&cublas, 0, sizeof cublas);
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

/* ---- each call fails once ---- */

/* All that a chat does, on models/tiny; returns the first error. *missing: long prompts go without cuBLAS. */
static const char *
everything(int bits, int *missing)
{
    static Candidate best[VOCAB];
    static int tokens[300];
    double rate;
    void *engine = NULL;
    const char *error = model_engine.probe();

    *missing = 0;
    if (error || (error = model_engine.open(&engine, "../models/tiny", {1000, bits, 0})))
        return error;
    if (!(error = model_engine.prefill(engine, tokens, 10, 0)) &&
        !(error = model_engine.prefill(engine, tokens, 300, 10)) &&
        !(error = model_engine.decode(engine, tokens, 2, 310, 1, best)) &&
        !(error = model_engine.decode(engine, tokens, 1, 310, 100, best)) &&
        !(error = model_engine.decode(engine, tokens, 1, 310, 0, best)) &&
        !(error = model_engine.bandwidth(engine, &rate)))
        error = model_engine.profile(engine, 310);
    *missing = ((Model *)engine)->cublas_state == CUBLAS_MISSING;
    model_engine.close(engine);
    return error;
}

static void
fail_at(const char *name, int when, cudaError_t how)
{
    memset(fake.times, 0, sizeof fake.times);
    fake.fails = name;
    fake.when = when;
    fake.how = how;
    fake.hit = 0;
    fake.last = cudaSuccess;
    model_probed = 0;
    snprintf(gpu_card, sizeof gpu_card, "the GPU");
}

static void
every_call_that_fails_is_one_line_and_leaves_nothing_behind(void)
{
    int missing, run = 0, silenced, null;

    if (LAYERS > 4) {
        printf("each call fails once: left to the small shape\n");
        return;
    }
    fake.on = 1;
    fake_cublas_open();
    silenced = dup(STDERR_FILENO); /* that cuBLAS is missing is said there */
    null = open("/dev/null", O_WRONLY);
    for (int bits : {16, 0}) { /* 0: this card's memory is so slow that it gets 12 */
        int calls = 0, times[FAKE_CALLS];

        for (int i = 0; i < 2; i++) { /* twice: some are made only once */
            fail_at(NULL, 0, cudaSuccess);
            const char *error = everything(bits, &missing);
            printf("nothing fails: %s\n", error ? error : "no error");
            CHECK(!error && !missing);
        }
        CHECK(fake.held == 0);
        while (fake.name[calls])
            calls++;
        CHECK(calls > 20);
        memcpy(times, fake.times, sizeof times);

        dup2(null, STDERR_FILENO);
        for (int i = 0; i < calls; i++)
            for (int when = 1; when <= times[i]; when++, run++) {
                fail_at(fake.name[i], when, when % 2 ? cudaErrorLaunchFailure : cudaErrorMemoryAllocation);
                const char *error = everything(bits, &missing);
                int told = error && *error && !strchr(error, '\n') && strlen(error) < 400 &&
                           (strstr(error, "GPU") || strstr(error, "Fake (sm_") || strstr(error, "decod"));

                if (!fake.hit || fake.held || !(told || (!error && missing)))
                    printf("%s, call %d: %s, %d not given back\n", fake.name[i], when,
                           error ? error : "no error", fake.held);
                CHECK(fake.hit && fake.held == 0);
                CHECK(told || (!error && missing)); /* without cuBLAS it goes on */
                fake.held = 0;
            }
        dup2(silenced, STDERR_FILENO);
    }
    close(silenced);
    close(null);
    fake.on = 0;
    printf("%d calls failed once each\n", run);
}

static void
cublas_that_is_not_there_is_told_once_and_done_without(void)
{
    static int tokens[300];
    void *engine;

    if (LAYERS > 4)
        return;
    fake.on = 1;
    fake_cublas_open();
    fail_at("cublasCreate", 1, cudaSuccess);
    CHECK(model_engine.open(&engine, "../models/tiny", {1000, 16, 0}) == NULL);
    Model *m = (Model *)engine;
    CHECK(model_engine.prefill(engine, tokens, ROWS_PREFILL, 0) == NULL);
    CHECK(m->cublas_state == CUBLAS_CLOSED && !fake.hit); /* short: it was not even looked for */
    CHECK(model_engine.prefill(engine, tokens, 300, 0) == NULL);
    CHECK(m->cublas_state == CUBLAS_MISSING && m->cublas_told && fake.hit);
    CHECK(says(m->cublas_missing, "cuBLAS failed in cublasCreate"));
    CHECK(model_engine.prefill(engine, tokens, 300, 0) == NULL);
    model_engine.close(engine);

    /* The thread that opens it is waited for, whenever the end comes. */
    for (int wait = 0; wait < 3; wait++) {
        fail_at(NULL, 0, cudaSuccess);
        CHECK(model_engine.open(&engine, "../models/tiny", {1000, 16, 0}) == NULL);
        m = (Model *)engine;
        model_engine.warm(engine);
        model_engine.warm(engine);
        CHECK(model_engine.prefill(engine, tokens, 300, 0) == NULL);
        if (wait == 1) {
            while (model_cublas_state(m) == CUBLAS_OPENING)
                usleep(1000);
            CHECK(m->cublas_state == CUBLAS_READY);
            CHECK(model_engine.prefill(engine, tokens, 300, 0) == NULL);
        }
        usleep(wait == 2 ? 90000 : 0);
        model_engine.close(engine);
        CHECK(fake.held == 0);
    }
    fake.on = 0;
}

int
main(void)
{
    each_error_says_what_with_which_card_and_what_to_do();
    memory_is_checked_before_it_is_taken();
    the_block_is_cut_up_without_overlap();
    products_have_the_next_of_a_few_sizes();
    cublas_is_opened_whole_or_named();
    lists_that_are_too_short_are_made_longer();
    files_come_before_the_device();
    a_missing_driver_is_one_line();
    every_call_that_fails_is_one_line_and_leaves_nothing_behind();
    cublas_that_is_not_there_is_told_once_and_done_without();
    return test_result();
}
