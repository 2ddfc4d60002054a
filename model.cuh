/* model.cuh: the model on an NVIDIA card: engine.h's table, filled from a model directory.
 *
 * Everything on the card lies in one block that is allocated at open and cut up by model_plan(): weights,
 * KV cache, rope table, activations, decode's exchanges, workspace. q, k and v of a layer are one matrix, as
 * are gate and up, so that each of these groups is one product. Matrices are in one of the forms of
 * weights.cuh; where they are packed, prefill unpacks a layer as it comes to it.
 * A long prompt goes through the layers in chunks, with cuBLAS and kernels.cuh; a short one as rows of
 * decode.cuh, which also finds the k best logits. */
#ifndef MODEL_CUH
#define MODEL_CUH

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda_runtime.h>

#include "config.h"
#include "decode.cuh"
#include "engine.h"
#include "fail.h"
#include "gpu.cuh"
#include "kernels.cuh"
#include "numbers.h"
#include "product.cuh"
#include "profile.cuh"
#include "safetensors.h"

enum {
    MODEL_ALIGNMENT = 256,      /* bytes */
    MODEL_MIN_CAPABILITY = 80,  /* bf16 products and asynchronous copies: sm_80 */
    MODEL_WORKSPACE = 32 << 20, /* cuBLAS's, as its manual advises for sm_90, and lent to attention */
    MODEL_RESERVE = 128 << 20,  /* left free: kernels are loaded at their first use */
    MODEL_TENSORS = 2 + LAYERS * LAYER_TENSORS,
    LAYER_MATRICES = 4,
    MODEL_MATRICES = 1 + LAYERS * LAYER_MATRICES,

    /* GB/s. On 128 blocks of an H200, whose memory is faster than that, a token takes 313 us in 16 bits and
     * 342 in 12. So 12 pays where reading the 1.19 GB of 16 takes longer than that. */
    MODEL_FAST_MEMORY = 3400,

    /* Upload: so many threads fill two buffers each, as one alone does not keep up with the bus. Pinning
     * costs more than memory does (H200: 10 ms for 16 MB), so buffers are small. */
    UPLOADERS = 4,
    UPLOAD_ELEMENTS = 1 << 19, /* of a buffer, bf16 */
    MODEL_PINNED = UPLOADERS * 2 * UPLOAD_ELEMENTS * 2,

    /* Up to so many tokens of a prompt go through as rows of decode, which needs no cuBLAS. */
    ROWS_PREFILL = 64,

    /* The thread that opens cuBLAS begins so late, in steps of 10 ms: while the driver loads kernels others
     * may wait, and a first turn that was typed ahead should not. */
    WARM_STEPS = 10
};

static_assert((int)MODEL_WORKSPACE >= (int)ATTENTION_WORKSPACE, "attention leaves its partial outputs there");
static_assert(VOCAB * sizeof(Candidate) <= (size_t)MODEL_PINNED, "all candidates arrive there");
static_assert((int)MODEL_WORKSPACE >= (int)MODEL_PINNED, "weights that are to be packed wait there");

typedef enum { CUBLAS_CLOSED, CUBLAS_OPENING, CUBLAS_READY, CUBLAS_MISSING } CublasState;

typedef struct {
    int context, chunk;          /* positions of the cache; tokens of a prompt that go through at once */
    int form;                    /* of the matrices: 16, 12, 8 */
    int longest[MODEL_MATRICES]; /* words that the lists of each need, see weights.cuh */
    int multiprocessors;         /* of the card */
    size_t free, total;          /* bytes of the card, before the block was allocated */
    size_t weight_bytes, cache_bytes, rest_bytes; /* of the block, in this order */
    void *block;                                  /* the one allocation */
    char *pinned;        /* (MODEL_PINNED) of the host: weights pass through, all candidates arrive */
    cudaStream_t stream; /* all work goes here, in order */
    Decode decode;

    CublasState cublas_state; /* written by whoever opens it, with release */
    cublasHandle_t cublas_handle;
    char cublas_missing[500]; /* why */
    int cublas_told;          /* so is the user */
    pthread_t warmer;         /* the thread that opens it */
    int warming, stop;        /* it was started; it shall end */

    /* In the block. The activations have room for `padded` = product_rows(chunk) tokens. */
    Weights weights;
    int *found;             /* (MODEL_MATRICES): becomes `longest` */
    bf16 *k_cache;          /* (LAYERS, KV_HEADS, context, HEAD_DIM) */
    bf16 *v_cache;          /* (LAYERS, KV_HEADS, context, HEAD_DIM) */
    float2 *rope;           /* (context, HEAD_DIM / 2): cosine, sine */
    int *token;             /* (padded) */
    float *x;               /* (padded, HIDDEN): the residual stream */
    bf16 *normed;           /* (padded, HIDDEN) */
    bf16 *qkv;              /* (padded, QKV_DIM) */
    bf16 *attended;         /* (padded, Q_DIM) */
    bf16 *gate_up;          /* (padded, 2 * INTERMEDIATE) */
    bf16 *mlp;              /* (padded, INTERMEDIATE) */
    bf16 *unpacked;         /* (LAYER_WEIGHTS): the layer at hand, if the form is a packed one */
    void *decode_workspace; /* (decode_workspace_bytes()) bytes */
    Sort sort;
    unsigned *sink;  /* (1): where the bandwidth test would write */
    void *workspace; /* (MODEL_WORKSPACE) bytes */
} Model;

/* Seconds that finding the card and beginning work on it took; 0: not done. */
static double model_probed;

/* NULL if this machine can run the engine, otherwise the reason. */
static inline const char *
model_probe(void)
{
    double start = seconds_now();
    cudaFuncAttributes attributes;
    cudaDeviceProp card;
    int cards = 0;

    if (model_probed > 0)
        return NULL;
    TRY(cudaGetDeviceCount(&cards));
    if (cards == 0)
        return gpu_error(cudaErrorNoDevice, "cudaGetDeviceCount");
    TRY(cudaSetDevice(0));
    TRY(cudaGetDeviceProperties(&card, 0));
    snprintf(gpu_card, sizeof gpu_card, "%.255s (sm_%d%d)", card.name, card.major, card.minor);
    if (card.major * 10 + card.minor < MODEL_MIN_CAPABILITY)
        return fail("%s is too old: this program needs sm_80 (GeForce RTX 30, A100) or newer", gpu_card);
    TRY(cudaFuncGetAttributes(&attributes, rmsnorm_kernel)); /* is there code for it? */
    model_probed = seconds_now() - start;
    return NULL;
}

/* ---- memory ---- */

/* Takes `bytes` from the block at *at. */
static inline void *
model_take(uintptr_t *at, size_t bytes)
{
    void *p = (void *)*at;

    *at += (bytes + MODEL_ALIGNMENT - 1) / MODEL_ALIGNMENT * MODEL_ALIGNMENT;
    return p;
}

/* Room for matrix i, of so many weights. */
static inline void
model_take_matrix(Model *m, Matrix *matrix, int i, size_t weights, uintptr_t *at)
{
    matrix->tile_bytes = form_tile_bytes(m->form, m->longest[i]);
    matrix->data = (const char *)model_take(at, weights / TILE_WEIGHTS * matrix->tile_bytes);
}

static inline const bf16 *
model_take_norm(uintptr_t *at, int n)
{
    return (const bf16 *)model_take(at, n * sizeof(bf16));
}

static inline void
model_take_layer(Model *m, int l, uintptr_t *at)
{
    LayerWeights *w = &m->weights.layer[l];
    const int i = 1 + l * LAYER_MATRICES;

    w->input_norm = model_take_norm(at, HIDDEN);
    model_take_matrix(m, &w->qkv, i, LAYER_QKV, at);
    model_take_matrix(m, &w->o, i + 1, LAYER_O, at);
    w->q_norm = model_take_norm(at, HEAD_DIM);
    w->k_norm = model_take_norm(at, HEAD_DIM);
    w->post_norm = model_take_norm(at, HIDDEN);
    model_take_matrix(m, &w->gate_up, i + 2, LAYER_GATE_UP, at);
    model_take_matrix(m, &w->down, i + 3, LAYER_DOWN, at);
}

/* Cuts up a block that begins at `base`: sets every pointer of *m and the bytes of its parts, from
 * m->context, m->form, m->longest and m->sort.scratch_bytes. Returns the bytes in all; so base = 0 asks for
 * the size. */
static inline size_t
model_plan(Model *m, uintptr_t base)
{
    size_t cache = (size_t)LAYERS * KV_HEADS * m->context * HEAD_DIM * sizeof(bf16), n;
    uintptr_t at = base;

    m->chunk = m->context < PREFILL_CHUNK ? m->context : PREFILL_CHUNK;
    n = product_rows(m->chunk);

    model_take_matrix(m, &m->weights.embed, 0, (size_t)VOCAB * HIDDEN, &at);
    for (int l = 0; l < LAYERS; l++)
        model_take_layer(m, l, &at);
    m->weights.norm = model_take_norm(&at, HIDDEN);
    m->weight_bytes = at - base;

    m->k_cache = (bf16 *)model_take(&at, cache);
    m->v_cache = (bf16 *)model_take(&at, cache + DECODE_CACHE_SLACK);
    m->cache_bytes = at - base - m->weight_bytes;

    m->rope = (float2 *)model_take(&at, (size_t)m->context * (HEAD_DIM / 2) * sizeof(float2));
    m->token = (int *)model_take(&at, n * sizeof(int));
    m->x = (float *)model_take(&at, n * HIDDEN * sizeof(float));
    m->normed = (bf16 *)model_take(&at, n * HIDDEN * sizeof(bf16));
    m->qkv = (bf16 *)model_take(&at, n * QKV_DIM * sizeof(bf16));
    m->attended = (bf16 *)model_take(&at, n * Q_DIM * sizeof(bf16));
    m->gate_up = (bf16 *)model_take(&at, n * 2 * INTERMEDIATE * sizeof(bf16));
    m->mlp = (bf16 *)model_take(&at, n * INTERMEDIATE * sizeof(bf16));
    m->unpacked = (bf16 *)model_take(&at, m->form == 16 ? 0 : LAYER_WEIGHTS * sizeof(bf16));
    m->found = (int *)model_take(&at, MODEL_MATRICES * sizeof(int));
    m->decode_workspace = model_take(&at, decode_workspace_bytes());
    m->sort.id = (int *)model_take(&at, VOCAB * sizeof(int));
    m->sort.sorted_id = (int *)model_take(&at, VOCAB * sizeof(int));
    m->sort.sorted_logit = (float *)model_take(&at, VOCAB * sizeof(float));
    m->sort.scratch = model_take(&at, m->sort.scratch_bytes);
    m->sink = (unsigned *)model_take(&at, sizeof(unsigned));
    m->workspace = model_take(&at, MODEL_WORKSPACE);
    m->rest_bytes = at - base - m->weight_bytes - m->cache_bytes;
    return at - base;
}

/* Checks that the block for m->context fits into m->free bytes, and names the context that would. */
static inline const char *
model_check_memory(const Model *m)
{
    Model trial = *m;
    size_t needed = model_plan(&trial, 0) + MODEL_RESERVE;
    int fits = 0, too_many = m->context;

    if (needed <= m->free)
        return NULL;
    while (too_many - fits > 1) {
        trial.context = fits + (too_many - fits) / 2;
        if (model_plan(&trial, 0) + MODEL_RESERVE <= m->free)
            fits = trial.context;
        else
            too_many = trial.context;
    }
    if (fits > 0)
        return fail("a context of %d needs %.2f GB on %s, %.2f of its %.2f GB are free: -c %d would fit",
                    m->context, needed * 1e-9, gpu_card, m->free * 1e-9, m->total * 1e-9, fits);
    trial.context = 1;
    return fail(
        "the model in %d bits needs at least %.2f GB on %s, %.2f of its %.2f GB are free: close other "
        "programs that use it (nvidia-smi lists them), or use %s-d cpu",
        m->form, (model_plan(&trial, 0) + MODEL_RESERVE) * 1e-9, gpu_card, m->free * 1e-9, m->total * 1e-9,
        m->form == 8 ? "" : "-w 8 or ");
}

/* ---- upload ---- */

/* One of the threads that bring the weights to the card. All walk over the same pieces of the tensors and
 * take every UPLOADERS-th; while one of its two buffers travels to the card, the other is filled from the
 * file. */
typedef struct {
    const Model *model;
    const Safetensors *file;
    int index;
    pthread_t thread;
    cudaEvent_t sent[2]; /* the last copy out of this buffer is done */
    size_t all;          /* weights of the file */
    int progress;        /* percent shown; -1: nothing is to be shown */
    char error[1024];    /* or "" */
} Uploader;

/* Where a tensor of the file goes: to a norm, or to a matrix from a tile on. */
typedef struct {
    const bf16 *norm; /* or NULL */
    const Matrix *matrix;
    int index;   /* of the matrix */
    size_t tile; /* the tensor's first one */
} Destination;

static inline Destination
model_place(const Model *m, int layer, int which)
{
    const LayerWeights *w = &m->weights.layer[layer];
    const Matrix *const matrices[LAYER_MATRICES] = {&w->qkv, &w->o, &w->gate_up, &w->down};
    const struct {
        const bf16 *norm;
        int matrix, row;      /* its first one there */
    } table[LAYER_TENSORS] = {/* in the order of safetensors.h */
                              {w->input_norm, 0, 0},     {NULL, 0, 0},         {NULL, 0, Q_DIM},
                              {NULL, 0, Q_DIM + KV_DIM}, {NULL, 1, 0},         {w->q_norm, 0, 0},
                              {w->k_norm, 0, 0},         {w->post_norm, 0, 0}, {NULL, 2, 0},
                              {NULL, 2, INTERMEDIATE},   {NULL, 3, 0}};
    const int matrix = table[which].matrix;

    return {table[which].norm, matrices[matrix], 1 + layer * LAYER_MATRICES + matrix,
            (size_t)table[which].row / TILE_ROWS};
}

/* Tensor i of the file, its columns (0: a norm), and where it goes. */
static inline const Tensor *
model_tensor(const Model *m, const Safetensors *file, int i, int *columns, Destination *to)
{
    const int layer = (i - 2) / LAYER_TENSORS, which = (i - 2) % LAYER_TENSORS;

    if (i < 2) {
        *columns = i == 0 ? HIDDEN : 0;
        *to = {i == 0 ? NULL : m->weights.norm, &m->weights.embed, 0, 0};
        return i == 0 ? &file->embed : &file->norm;
    }
    *columns = safetensors_table[which].columns;
    *to = model_place(m, layer, which);
    return &file->layer[layer][which];
}

/* Sends n weights of a tensor, from its weight `first` on, to where they belong: matrices in a packed form by
 * way of `waiting`, on the card. */
static inline const char *
model_send(const Model *m, const Destination *to, int columns, const uint16_t *weights, bf16 *waiting,
           size_t first, size_t n)
{
    const size_t tile = to->tile + first / TILE_WEIGHTS;
    const bool packed = !to->norm && m->form != 16;
    const bf16 *place = to->norm ? to->norm + first : packed ? waiting : (const bf16 *)to->matrix->tile(tile);

    TRY(cudaMemcpyAsync((void *)place, weights, n * sizeof(bf16), cudaMemcpyHostToDevice, m->stream));
    if (packed)
        TRY(weights_pack(*to->matrix, m->form, tile, waiting, (int)(n / columns), columns,
                         m->found + to->index, m->stream));
    return NULL;
}

static inline const char *
model_upload_share(Uploader *u)
{
    const Model *m = u->model;
    size_t piece = 0, done = 0, n;
    int columns;
    Destination to;

    for (int i = 0; i < MODEL_TENSORS; i++) {
        const Tensor *tensor = model_tensor(m, u->file, i, &columns, &to);
        const size_t whole = columns ? UPLOAD_ELEMENTS / (TILE_ROWS * columns) * (TILE_ROWS * columns)
                                     : (size_t)UPLOAD_ELEMENTS;

        for (size_t first = 0; first < tensor->count; first += n, piece++) {
            const int half = piece / UPLOADERS % 2, buffer = (u->index * 2 + half) * UPLOAD_ELEMENTS;
            uint16_t *pinned = (uint16_t *)m->pinned + buffer;

            n = tensor->count - first < whole ? tensor->count - first : whole;
            done += n;
            if ((int)(piece % UPLOADERS) != u->index)
                continue;
            TRY(cudaEventSynchronize(u->sent[half]));
            safetensors_bf16(tensor, first, n, pinned);
            TRY(model_send(m, &to, columns, pinned, (bf16 *)m->workspace + buffer, first, n));
            TRY(cudaEventRecord(u->sent[half], m->stream));
            if (u->progress >= 0 && (int)(100 * done / u->all) != u->progress) {
                u->progress = (int)(100 * done / u->all);
                fprintf(stderr, "\rweights: %d %%", u->progress);
            }
        }
    }
    return NULL;
}

static void *
model_upload_thread(void *uploader)
{
    Uploader *u = (Uploader *)uploader;
    const char *error = model_upload_share(u);

    if (error)
        snprintf(u->error, sizeof u->error, "%s", error);
    return NULL;
}

static inline const char *
model_upload_events(Uploader *u)
{
    for (int i = 0; i < UPLOADERS; i++)
        for (int half = 0; half < 2; half++)
            TRY(cudaEventCreateWithFlags(&u[i].sent[half], cudaEventDisableTiming));
    return NULL;
}

/* Fills the weights from the file. */
static inline const char *
model_upload(Model *m, const Safetensors *file)
{
    Uploader u[UPLOADERS] = {};
    const char *error = model_upload_events(u);
    size_t all = 0;
    int started = 0, columns;
    Destination to;

    for (int i = 0; i < MODEL_TENSORS; i++)
        all += model_tensor(m, file, i, &columns, &to)->count;
    for (int i = 0; i < UPLOADERS; i++) {
        u[i].model = m;
        u[i].all = all;
        u[i].file = file;
        u[i].index = i;
        u[i].progress = i == 0 && isatty(STDERR_FILENO) ? 0 : -1;
    }
    while (!error && started < UPLOADERS - 1 &&
           !pthread_create(&u[started].thread, NULL, model_upload_thread, &u[started]))
        started++;
    for (int i = started; i < UPLOADERS && !error; i++) /* the last one's share, and those without a thread */
        model_upload_thread(&u[i]);
    for (int i = 0; i < started; i++)
        pthread_join(u[i].thread, NULL);
    if (u[0].progress >= 0)
        fprintf(stderr, "\r%16s\r", "");
    for (int i = 0; i < UPLOADERS; i++) {
        if (!error && *u[i].error)
            error = fail("%s", u[i].error);
        for (int half = 0; half < 2; half++)
            if (u[i].sent[half])
                cudaEventDestroy(u[i].sent[half]);
    }
    if (!error)
        TRY(cudaStreamSynchronize(m->stream));
    return error;
}

/* In form 12: whether the lists of a matrix need more than they had, so that all is to be done once more;
 * where they need so much that nothing is gained, in form 16. */
static inline int
model_again(Model *m, const int found[MODEL_MATRICES])
{
    int again = 0;

    for (int i = 0; i < MODEL_MATRICES; i++)
        if (found[i] > m->longest[i]) {
            m->longest[i] = found[i];
            again = 1;
            if (found[i] > (TILE_BYTES - TILE_LIST) / 4 - WARP)
                m->form = 16;
        }
    return again;
}

/* Makes the block and fills it with the weights. What the lists of form 12 need is known only then. */
static inline const char *
model_load(Model *m, const Safetensors *file)
{
    int found[MODEL_MATRICES];

    for (;;) {
        TRY(model_check_memory(m));
        TRY(cudaMalloc(&m->block, model_plan(m, 0)));
        model_plan(m, (uintptr_t)m->block);
        /* All but the weights is finite from the start: the cache, as decode_open wants it, and the rows that
         * pad a product. */
        TRY(cudaMemsetAsync(m->k_cache, 0, m->cache_bytes + m->rest_bytes, m->stream));
        TRY(model_upload(m, file));
        if (m->form != 12)
            return NULL;
        TRY(cudaMemcpy(found, m->found, sizeof found, cudaMemcpyDeviceToHost));
        if (!model_again(m, found))
            return NULL;
        TRY(cudaFree(m->block));
        m->block = NULL;
    }
}

/* ---- open and close ---- */

static inline void
model_close(void *engine)
{
    Model *m = (Model *)engine;

    if (!m)
        return;
    if (m->warming) {
        __atomic_store_n(&m->stop, 1, __ATOMIC_RELEASE);
        pthread_join(m->warmer, NULL);
    }
    decode_close(&m->decode);
    if (m->cublas_handle)
        cublas.cublasDestroy(m->cublas_handle);
    if (m->stream)
        cudaStreamDestroy(m->stream);
    cudaFree(m->block);
    cudaFreeHost(m->pinned);
    free(m);
}

/* The fastest form that changes nothing, by the memory's speed as the driver has it. */
static inline const char *
model_choose_form(int *form)
{
    int khz, bits;

    TRY(cudaDeviceGetAttribute(&khz, cudaDevAttrMemoryClockRate, 0));
    TRY(cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, 0));
    *form = 2e3 * khz * bits / 8 < MODEL_FAST_MEMORY * 1e9 ? 12 : 16; /* two bits a clock */
    return NULL;
}

/* Everything of model_open() that needs closing after an error. */
static inline const char *
model_open_device(Model *m, const Safetensors *file, int verbose)
{
    double start, memory, upload, decode;

    TRY(model_probe());
    start = seconds_now();
    if (m->form == 0)
        TRY(model_choose_form(&m->form));
    TRY(cudaDeviceGetAttribute(&m->multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    TRY(cudaStreamCreateWithFlags(&m->stream, cudaStreamNonBlocking));
    TRY(sort_size(&m->sort));
    TRY(cudaMemGetInfo(&m->free, &m->total));
    TRY(cudaMallocHost((void **)&m->pinned, MODEL_PINNED));
    memory = seconds_now();
    TRY(model_load(m, file));
    upload = seconds_now();
    TRY(rope_table(m->rope, m->context, m->stream));
    TRY(number_ids(m->sort.id, m->stream));
    TRY(decode_open(&m->decode, &m->weights, m->form, m->k_cache, m->v_cache, m->rope, m->context,
                    m->decode_workspace, 0));
    decode = seconds_now();
    if (verbose)
        fprintf(
            stderr,
            "%s: %.3f GB of weights in %d bits, %.2f GB of KV cache for %d positions, %.2f GB for work; %.2f "
            "of %.2f GB were free\n"
            "opened in %.0f ms: card %.0f, memory %.0f, weights %.0f, decode %.0f\n",
            gpu_card, m->weight_bytes * 1e-9, m->form, m->cache_bytes * 1e-9, m->context,
            m->rest_bytes * 1e-9, m->free * 1e-9, m->total * 1e-9, 1e3 * (model_probed + decode - start),
            1e3 * model_probed, 1e3 * (memory - start), 1e3 * (upload - memory), 1e3 * (decode - upload));
    return NULL;
}

static inline const char *
model_open(void **engine, const char *model_dir, EngineOptions options)
{
    Model *m = (Model *)calloc(1, sizeof *m);
    Safetensors file;
    char path[4000];
    const char *error;

    *engine = NULL;
    if (!m)
        return fail("out of memory for the engine");
    m->context = options.context;
    m->form = options.bits;
    for (int i = 0; i < MODEL_MATRICES; i++)
        m->longest[i] = WARP;
    if (!(error = engine_check_options(options, model_dir, path, sizeof path)) &&
        !(error = safetensors_open(&file, path))) {
        error = model_open_device(m, &file, options.verbose);
        safetensors_close(&file);
    }
    if (error)
        model_close(m);
    else
        *engine = m;
    if (!error && options.bits == 12 && m->form != 12)
        fprintf(stderr, "(weights of 16 bits: this model's do not fit 12)\n");
    return error;
}

/* ---- cuBLAS, when it is needed ---- */

static inline CublasState
model_cublas_state(const Model *m)
{
    return __atomic_load_n(&m->cublas_state, __ATOMIC_ACQUIRE);
}

/* One product with q, k and v, with o, with gate and up and with down each, of every size in use: so are
 * their kernels loaded. What they compute goes where prefill, once it may use cuBLAS, computes anew. */
static inline const char *
model_load_products(Model *m)
{
    const bf16 *w = m->form == 16 ? (const bf16 *)m->weights.layer[0].gate_up.data : m->unpacked;
    cublasHandle_t handle = m->cublas_handle;

    TRY(prefill_load(m->form));
    for (int i = 0; i < PRODUCT_SIZES && product_sizes[i] <= product_rows(m->chunk); i++) {
        int n = product_sizes[i];

        if (__atomic_load_n(&m->stop, __ATOMIC_ACQUIRE))
            break;
        TRY(product(handle, m->qkv, CUDA_R_16BF, 0, w, m->normed, n, QKV_DIM, HIDDEN));
        TRY(product(handle, m->x, CUDA_R_32F, 1, w, m->attended, n, HIDDEN, Q_DIM));
        TRY(product(handle, m->gate_up, CUDA_R_16BF, 0, w, m->normed, n, 2 * INTERMEDIATE, HIDDEN));
        TRY(product(handle, m->x, CUDA_R_32F, 1, w, m->mlp, n, HIDDEN, INTERMEDIATE));
    }
    return NULL;
}

/* Opens cuBLAS, with the kernels of all sizes if `all`; otherwise each is loaded at its first use. */
static inline void
model_open_cublas(Model *m, int all)
{
    const char *error = product_open(&m->cublas_handle, m->stream, m->workspace, MODEL_WORKSPACE);

    if (!error)
        error = all ? model_load_products(m) : attention_open();
    if (error)
        snprintf(m->cublas_missing, sizeof m->cublas_missing, "%s", error);
    __atomic_store_n(&m->cublas_state, error ? CUBLAS_MISSING : CUBLAS_READY, __ATOMIC_RELEASE);
}

static void *
model_warm_thread(void *engine)
{
    Model *m = (Model *)engine;

    for (int i = 0; i < WARM_STEPS && !__atomic_load_n(&m->stop, __ATOMIC_ACQUIRE); i++)
        usleep(10000);
    model_open_cublas(m, 1);
    return NULL;
}

/* Opens cuBLAS in the background. Where no thread can be started, the first long prompt opens it. */
static inline void
model_warm(void *engine)
{
    Model *m = (Model *)engine;

    if (m->warming || model_cublas_state(m) != CUBLAS_CLOSED)
        return;
    m->cublas_state = CUBLAS_OPENING;
    m->warming = !pthread_create(&m->warmer, NULL, model_warm_thread, m);
    if (!m->warming)
        m->cublas_state = CUBLAS_CLOSED;
}

/* Whether cuBLAS takes the next n tokens of a prompt. Only the thread of a chat lets the answer depend on
 * time; without one cuBLAS is opened here, so that the same prompts always give the same numbers. */
static inline int
model_uses_cublas(Model *m, int n)
{
    if (n <= ROWS_PREFILL)
        return 0;
    if (model_cublas_state(m) == CUBLAS_CLOSED)
        model_open_cublas(m, 0);
    if (model_cublas_state(m) == CUBLAS_MISSING && !m->cublas_told) {
        fprintf(stderr, "(long prompts will be slow: %s)\n", m->cublas_missing);
        m->cublas_told = 1;
    }
    return model_cublas_state(m) == CUBLAS_READY;
}

/* ---- prefill ---- */

/* The matrices of a layer as cuBLAS reads them. */
typedef struct {
    const bf16 *qkv, *o, *gate_up, *down;
} LayerMatrices;

/* Unpacks them, where they are packed. */
static inline const char *
model_matrices(Model *m, const LayerWeights *w, LayerMatrices *of)
{
    const bf16 *p = m->unpacked;

    if (m->form == 16) {
        *of = {(const bf16 *)w->qkv.data, (const bf16 *)w->o.data, (const bf16 *)w->gate_up.data,
               (const bf16 *)w->down.data};
        return NULL;
    }
    *of = {p, p + LAYER_QKV, p + LAYER_QKV + LAYER_O, p + LAYER_QKV + LAYER_O + LAYER_GATE_UP};
    return weights_unpack(m->unpacked, *w, m->form, m->stream);
}

/* Sends n <= m->chunk tokens at positions pos.. through the layers, up to where the last one has stored its k
 * and v. The products with o and down add to the residual stream themselves, in fp32. */
static inline const char *
model_forward(Model *m, const int *tokens, int n, int pos)
{
    size_t layer_cache = (size_t)KV_HEADS * m->context * HEAD_DIM;
    cublasHandle_t handle = m->cublas_handle;

    TRY(cudaMemcpyAsync(m->token, tokens, n * sizeof *tokens, cudaMemcpyHostToDevice, m->stream));
    TRY(embedding(m->x, m->weights.embed, m->form, m->token, n, m->stream));
    for (int l = 0; l < LAYERS; l++) {
        const LayerWeights *w = &m->weights.layer[l];
        LayerMatrices of;
        bf16 *k_cache = m->k_cache + l * layer_cache, *v_cache = m->v_cache + l * layer_cache;

        TRY(model_matrices(m, w, &of));
        TRY(rmsnorm(m->normed, m->x, w->input_norm, n, m->stream));
        TRY(product(handle, m->qkv, CUDA_R_16BF, 0, of.qkv, m->normed, n, QKV_DIM, HIDDEN));
        TRY(norm_rope_store(m->qkv, k_cache, v_cache, w->q_norm, w->k_norm, m->rope, n, pos, m->context,
                            m->stream));
        if (l == LAYERS - 1)
            break;
        TRY(attention(m->attended, m->qkv, k_cache, v_cache, m->workspace, n, pos, m->context,
                      m->multiprocessors, m->stream));
        TRY(product(handle, m->x, CUDA_R_32F, 1, of.o, m->attended, n, HIDDEN, Q_DIM));

        TRY(rmsnorm(m->normed, m->x, w->post_norm, n, m->stream));
        TRY(product(handle, m->gate_up, CUDA_R_16BF, 0, of.gate_up, m->normed, n, 2 * INTERMEDIATE, HIDDEN));
        TRY(swiglu(m->mlp, m->gate_up, n, m->stream));
        TRY(product(handle, m->x, CUDA_R_32F, 1, of.down, m->mlp, n, HIDDEN, INTERMEDIATE));
    }
    return NULL;
}

/* The same by decode, whose logits nobody reads. */
static inline const char *
model_rows(Model *m, const int *tokens, int n, int pos)
{
    for (int first = 0, rows; first < n; first += rows) {
        rows = decode_fit(&m->decode, n - first, pos + first);
        TRY(decode_launch(&m->decode, tokens + first, rows, pos + first, 0, m->stream));
    }
    return NULL;
}

static inline const char *
model_prefill(void *engine, const int *tokens, int n, int pos)
{
    Model *m = (Model *)engine;

    TRY(engine_check(tokens, n, pos, m->context));
    for (int first = 0, part; first < n; first += part) {
        part = n - first < m->chunk ? n - first : m->chunk;
        if (model_uses_cublas(m, part))
            TRY(model_forward(m, tokens + first, part, pos + first));
        else {
            if (part > ROWS_PREFILL)
                part = ROWS_PREFILL; /* then cuBLAS may be there */
            TRY(model_rows(m, tokens + first, part, pos + first));
        }
        TRY(cudaStreamSynchronize(m->stream));
    }
    return NULL;
}

/* ---- decode ---- */

/* The k best of one row's logits, by sorting all. */
static inline const char *
model_sort(Model *m, const float *logits, int k, Candidate *candidates)
{
    int *id = (int *)m->pinned;
    float *logit = (float *)(id + VOCAB);

    TRY(sort_best(&m->sort, logits, k, id, logit, m->stream));
    TRY(cudaStreamSynchronize(m->stream));
    sampler_pair(candidates, id, logit, k);
    return NULL;
}

static inline const char *
model_decode(void *engine, const int *tokens, int n, int pos, int k, Candidate *candidates)
{
    Model *m = (Model *)engine;
    int few = k <= DECODE_MAX_K ? k : 0; /* what the kernel itself finds */

    TRY(engine_check_rows(tokens, n, pos, k, m->context));
    if (k == 0)
        k = VOCAB;
    for (int first = 0, rows; first < n; first += rows) {
        rows = decode_fit(&m->decode, n - first, pos + first);
        TRY(decode_launch(&m->decode, tokens + first, rows, pos + first, few, m->stream));
        if (few > 0)
            TRY(cudaStreamSynchronize(m->stream));
        for (int r = 0; r < rows; r++, candidates += k) {
            const DecodeResult *result = m->decode.result + r;
            if (few > 0 && result->found == few)
                memcpy(candidates, result->best, few * sizeof *candidates);
            else /* many, or so many equal ones that the kernel gave up */
                TRY(model_sort(m, m->decode.logits + (size_t)r * VOCAB, k, candidates));
        }
    }
    return NULL;
}

/* ---- measuring ---- */

static inline const char *
model_device(void *engine)
{
    static char line[sizeof gpu_card + 40];

    snprintf(line, sizeof line, "%s, %d bits a weight", gpu_card, ((Model *)engine)->form);
    return line;
}

static inline double
model_bytes(void *engine, int depth)
{
    return engine_bytes(0, depth) - engine_bytes(0, -1) + ((Model *)engine)->weight_bytes;
}

/* event: the beginning and the end of a reading; those that are not NULL are the caller's to destroy. */
static inline const char *
model_read_rate(Model *m, cudaEvent_t event[2], double *bytes_per_second)
{
    const int tries = 20;
    float ms;

    *bytes_per_second = 0;
    TRY(cudaEventCreate(&event[0]));
    TRY(cudaEventCreate(&event[1]));
    for (int i = 0; i < tries; i++) {
        TRY(cudaEventRecord(event[0], m->stream));
        read_kernel<<<m->multiprocessors * 4, READ_THREADS, 0, m->stream>>>(
            m->sink, (const uint4 *)m->weights.embed.data, m->weight_bytes / sizeof(uint4));
        TRY(gpu_launched("read_kernel"));
        TRY(cudaEventRecord(event[1], m->stream));
        TRY(cudaEventSynchronize(event[1]));
        TRY(cudaEventElapsedTime(&ms, event[0], event[1]));
        if (m->weight_bytes / (ms * 1e-3) > *bytes_per_second)
            *bytes_per_second = m->weight_bytes / (ms * 1e-3);
    }
    return NULL;
}

/* The card's read bandwidth: the weights, read once, the best of some tries. */
static inline const char *
model_bandwidth(void *engine, double *bytes_per_second)
{
    cudaEvent_t event[2] = {};
    const char *error = model_read_rate((Model *)engine, event, bytes_per_second);

    for (int i = 0; i < 2; i++)
        if (event[i])
            cudaEventDestroy(event[i]);
    return error;
}

/* Prints where the time of the decode of one token at position pos goes. */
static inline const char *
model_profile(void *engine, int pos)
{
    Model *m = (Model *)engine;
    int token = 0;

    TRY(engine_check(&token, 1, pos, m->context));
    return decode_profile(&m->decode, pos, 1, m->stream);
}

static const Engine model_engine = {"gpu",        PREFILL_CHUNK,   model_probe,   model_open,
                                    model_device, model_prefill,   model_decode,  model_close,
                                    model_bytes,  model_bandwidth, model_profile, model_warm};

#endif
