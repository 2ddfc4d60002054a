/* model.cuh: the model on an NVIDIA card. Comes in: a model directory. Goes out: engine.h's table, filled.
 *
 * Everything on the card lies in one block that is allocated at open and cut up by model_plan(): weights,
 * KV cache, rope table, activations, decode's exchanges, workspace. Weights keep the row-major form they have
 * in the file, with q, k and v of a layer side by side, and gate and up, so that each of these groups is one
 * matrix product.
 * Prefill sends a chunk of tokens through the layers with cuBLAS and kernels.cuh; decode.cuh runs one token
 * and finds the k best logits. */
#ifndef MODEL_CUH
#define MODEL_CUH

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "config.h"
#include "decode.cuh"
#include "engine.h"
#include "fail.h"
#include "kernels.cuh"
#include "profile.cuh"
#include "safetensors.h"

enum {
    MODEL_ALIGNMENT = 256,         /* bytes */
    MODEL_MIN_CAPABILITY = 80,     /* bf16 products and asynchronous copies: sm_80 */
    MODEL_UPLOAD_BYTES = 16 << 20, /* of each of the two pinned buffers */
    MODEL_WORKSPACE = 32 << 20,    /* cuBLAS's, as its manual advises for sm_90, and lent to others */
    MODEL_RESERVE = 128 << 20      /* left free: kernels are loaded at their first use */
};

static_assert((int)MODEL_WORKSPACE >= (int)MODEL_UPLOAD_BYTES &&
                  (int)MODEL_WORKSPACE >= (int)ATTENTION_WORKSPACE,
              "an upload converts there, and attention leaves its parts");
static_assert(KV_DIM * HIDDEN * 2 % MODEL_ALIGNMENT == 0 && INTERMEDIATE * HIDDEN * 2 % MODEL_ALIGNMENT == 0,
              "q, k, v and gate, up lie without a gap");

/* What the block is made of; the names are printed with -v 1. */
enum model_part {
    PART_WEIGHTS,
    PART_CACHE,
    PART_ROPE,
    PART_ACTIVATIONS,
    PART_DECODE,
    PART_WORKSPACE,
    MODEL_PARTS
};
static const char *const model_part_name[MODEL_PARTS] = {"weights",     "KV cache", "rope table",
                                                         "activations", "decode",   "workspace"};

typedef struct {
    int context, chunk;       /* positions of the cache; tokens that the activations have room for */
    int multiprocessors;      /* of the card */
    size_t free, total;       /* bytes of the card, before the block was allocated */
    size_t part[MODEL_PARTS]; /* bytes */
    void *block;              /* the one allocation */
    cudaStream_t stream;      /* all work goes here, in order */
    cublasHandle_t cublas;
    Decode decode;

    /* In the block. */
    Weights weights;
    bf16 *k_cache;          /* (LAYERS, KV_HEADS, context, HEAD_DIM) */
    bf16 *v_cache;          /* (LAYERS, KV_HEADS, context, HEAD_DIM) */
    float2 *rope;           /* (context, HEAD_DIM / 2): cosine, sine */
    int *token;             /* (chunk) */
    float *x;               /* (chunk, HIDDEN): the residual stream */
    bf16 *normed;           /* (chunk, HIDDEN) */
    bf16 *qkv;              /* (chunk, QKV_DIM) */
    bf16 *attended;         /* (chunk, Q_DIM) */
    bf16 *gate_up;          /* (chunk, 2 * INTERMEDIATE) */
    bf16 *mlp;              /* (chunk, INTERMEDIATE) */
    void *decode_workspace; /* (decode_workspace_bytes()) bytes */
    Sort sort;
    unsigned *sink;  /* (1): where the bandwidth test would write */
    void *workspace; /* (MODEL_WORKSPACE) bytes */
} Model;

/* ---- what can go wrong ---- */

/* The card as the driver names it, once known. */
static char model_card[300] = "the GPU";

/* The name of the function in the text of a call. */
static inline int
model_name_length(const char *call)
{
    return (int)strcspn(call, "(");
}

#define MODEL_STRING(...) #__VA_ARGS__
#define MODEL_EXPAND(...) MODEL_STRING(__VA_ARGS__)
#ifdef __CUDA_ARCH_LIST__
#define MODEL_ARCHITECTURES MODEL_EXPAND(__CUDA_ARCH_LIST__) /* "860,900" */
#else
#define MODEL_ARCHITECTURES "unknown"
#endif

/* The line for an error that `call` returned. driver is the CUDA version that the driver supports, 0 without
 * one: the runtime calls a driver that is not there one that is too old. */
static inline const char *
model_explain(cudaError_t e, const char *call, int driver)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int major = CUDART_VERSION / 1000, minor = CUDART_VERSION % 1000 / 10;

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
        if (visible != NULL)
            return fail("the NVIDIA driver shows no GPU; CUDA_VISIBLE_DEVICES is '%.100s': unset it, or see "
                        "what nvidia-smi lists",
                        visible);
        return fail("the NVIDIA driver finds no GPU: see what nvidia-smi lists");
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorInvalidKernelImage:
        return fail("this program has no code for %s, it was built for " MODEL_ARCHITECTURES
                    ": build it on this machine, or name the card in CMAKE_CUDA_ARCHITECTURES",
                    model_card);
    case cudaErrorDevicesUnavailable:
        return fail("%s is taken: another program holds it alone, nvidia-smi shows which", model_card);
    case cudaErrorMemoryAllocation:
        return fail(
            "out of memory on %s in %.*s: close other programs that use it (nvidia-smi lists them), or "
            "choose a smaller context with -c",
            model_card, model_name_length(call), call);
    default:
        return fail(
            "%s failed in %.*s: %s (error %d): start again; if it comes back, the kernel log (dmesg, NVRM) "
            "says more, and -d cpu does without",
            model_card, model_name_length(call), call, cudaGetErrorString(e), (int)e);
    }
}

static inline const char *
model_error(cudaError_t e, const char *call)
{
    int driver = 0;

    if (e == cudaSuccess)
        return NULL;
    cudaDriverGetVersion(&driver);
    return model_explain(e, call, driver);
}

static inline const char *
model_error(cublasStatus_t status, const char *call)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return NULL;
    return fail(
        "cuBLAS failed in %.*s on %s: %s: start again; if it comes back, look for other programs on the "
        "card with nvidia-smi, or use -d cpu",
        model_name_length(call), call, model_card, cublasGetStatusString(status));
}

static inline const char *
model_error(const char *line, const char *)
{
    return line;
}

/* Everything that returns a cudaError_t, a cublasStatus_t or a line is called through this. */
#define TRY(call)                                       \
    do {                                                \
        const char *line_ = model_error((call), #call); \
                                                        \
        if (line_ != NULL)                              \
            return line_;                               \
    } while (0)

/* NULL if this machine can run the engine, otherwise the reason. */
static inline const char *
model_probe(void)
{
    cudaFuncAttributes attributes;
    cudaDeviceProp card;
    int cards = 0;

    TRY(cudaGetDeviceCount(&cards));
    if (cards == 0)
        return model_error(cudaErrorNoDevice, "cudaGetDeviceCount");
    TRY(cudaSetDevice(0));
    TRY(cudaGetDeviceProperties(&card, 0));
    snprintf(model_card, sizeof model_card, "%.255s (sm_%d%d)", card.name, card.major, card.minor);
    if (card.major * 10 + card.minor < MODEL_MIN_CAPABILITY)
        return fail("%s is too old: this program needs sm_80 (GeForce RTX 30, A100) or newer", model_card);
    TRY(cudaFuncGetAttributes(&attributes, attention_kernel));
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

static inline const bf16 *
model_take_tensor(uintptr_t *at, int which)
{
    size_t rows = safetensors_table[which].rows, columns = safetensors_table[which].columns;

    return (const bf16 *)model_take(at, rows * (columns ? columns : 1) * sizeof(bf16));
}

/* Where a tensor of safetensors.h lies. */
static inline const bf16 *
model_layer_tensor(const LayerWeights *w, int which)
{
    const bf16 *k_proj = w->q_proj + (size_t)Q_DIM * HIDDEN, *v_proj = k_proj + (size_t)KV_DIM * HIDDEN;
    const bf16 *up_proj = w->gate_proj + (size_t)INTERMEDIATE * HIDDEN;
    const bf16 *tensor[LAYER_TENSORS] = {w->input_norm, w->q_proj, k_proj,      v_proj,
                                         w->o_proj,     w->q_norm, w->k_norm,   w->post_norm,
                                         w->gate_proj,  up_proj,   w->down_proj};

    return tensor[which];
}

/* Tensors lie in the order of safetensors.h, so k and v follow q, and up follows gate. */
static inline void
model_take_layer(LayerWeights *w, uintptr_t *at)
{
    const bf16 *tensor[LAYER_TENSORS];

    for (int which = 0; which < LAYER_TENSORS; which++)
        tensor[which] = model_take_tensor(at, which);
    w->input_norm = tensor[INPUT_NORM];
    w->q_proj = tensor[Q_PROJ];
    w->o_proj = tensor[O_PROJ];
    w->q_norm = tensor[Q_NORM];
    w->k_norm = tensor[K_NORM];
    w->post_norm = tensor[POST_NORM];
    w->gate_proj = tensor[GATE_PROJ];
    w->down_proj = tensor[DOWN_PROJ];
}

/* Cuts up a block that begins at `base`: sets every pointer of *m and the bytes of each part, from
 * m->context and m->sort.scratch_bytes. Returns the bytes in all; so base = 0 asks for the size. */
static inline size_t
model_plan(Model *m, uintptr_t base)
{
    size_t cache = (size_t)LAYERS * KV_HEADS * m->context * HEAD_DIM * sizeof(bf16), n;
    uintptr_t at = base, end[MODEL_PARTS];

    m->chunk = m->context < PREFILL_CHUNK ? m->context : PREFILL_CHUNK;
    n = m->chunk;

    m->weights.embed = model_take_tensor(&at, EMBED);
    for (int l = 0; l < LAYERS; l++)
        model_take_layer(&m->weights.layer[l], &at);
    m->weights.norm = model_take_tensor(&at, FINAL_NORM);
    end[PART_WEIGHTS] = at;

    m->k_cache = (bf16 *)model_take(&at, cache);
    m->v_cache = (bf16 *)model_take(&at, cache + DECODE_CACHE_SLACK);
    end[PART_CACHE] = at;

    m->rope = (float2 *)model_take(&at, (size_t)m->context * (HEAD_DIM / 2) * sizeof(float2));
    end[PART_ROPE] = at;

    m->token = (int *)model_take(&at, n * sizeof(int));
    m->x = (float *)model_take(&at, n * HIDDEN * sizeof(float));
    m->normed = (bf16 *)model_take(&at, n * HIDDEN * sizeof(bf16));
    m->qkv = (bf16 *)model_take(&at, n * QKV_DIM * sizeof(bf16));
    m->attended = (bf16 *)model_take(&at, n * Q_DIM * sizeof(bf16));
    m->gate_up = (bf16 *)model_take(&at, n * 2 * INTERMEDIATE * sizeof(bf16));
    m->mlp = (bf16 *)model_take(&at, n * INTERMEDIATE * sizeof(bf16));
    end[PART_ACTIVATIONS] = at;

    m->decode_workspace = model_take(&at, decode_workspace_bytes());
    m->sort.id = (int *)model_take(&at, VOCAB * sizeof(int));
    m->sort.sorted_id = (int *)model_take(&at, VOCAB * sizeof(int));
    m->sort.sorted_logit = (float *)model_take(&at, VOCAB * sizeof(float));
    m->sort.candidates = (Candidate *)model_take(&at, VOCAB * sizeof(Candidate));
    m->sort.scratch = model_take(&at, m->sort.scratch_bytes);
    m->sink = (unsigned *)model_take(&at, sizeof(unsigned));
    end[PART_DECODE] = at;

    m->workspace = model_take(&at, MODEL_WORKSPACE);
    end[PART_WORKSPACE] = at;

    for (int part = 0; part < MODEL_PARTS; part++)
        m->part[part] = end[part] - (part > 0 ? end[part - 1] : base);
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
                    m->context, needed * 1e-9, model_card, m->free * 1e-9, m->total * 1e-9, fits);
    trial.context = 1;
    return fail(
        "the model needs at least %.2f GB on %s, %.2f of its %.2f GB are free: close other programs that use "
        "it (nvidia-smi lists them), or use -d cpu",
        (model_plan(&trial, 0) + MODEL_RESERVE) * 1e-9, model_card, m->free * 1e-9, m->total * 1e-9);
}

/* ---- upload ---- */

/* Two pinned buffers take turns: while one travels to the card, the other is filled from the file. */
typedef struct {
    char *buffer[2];     /* (MODEL_UPLOAD_BYTES), pinned */
    cudaEvent_t sent[2]; /* the last copy out of it is done */
    int turn;
    size_t done, total; /* bytes of the file's tensors */
    int progress;       /* percent shown; -1: standard error is no terminal */
} Upload;

/* Waits until the buffer whose turn it is may be overwritten. */
static inline const char *
model_upload_buffer(Upload *u, char **buffer)
{
    TRY(cudaEventSynchronize(u->sent[u->turn]));
    *buffer = u->buffer[u->turn];
    return NULL;
}

/* Starts the copy of the buffer's first `bytes` to the device. */
static inline const char *
model_upload_send(Model *m, Upload *u, void *to, size_t bytes)
{
    TRY(cudaMemcpyAsync(to, u->buffer[u->turn], bytes, cudaMemcpyHostToDevice, m->stream));
    TRY(cudaEventRecord(u->sent[u->turn], m->stream));
    u->turn = !u->turn;
    return NULL;
}

static inline const char *
model_upload_tensor(Model *m, Upload *u, const Tensor *tensor, const bf16 *to /* (tensor->count) */)
{
    size_t size = safetensors_dtypes[tensor->dtype].bits / 8, most = MODEL_UPLOAD_BYTES / size;
    bf16 *out = (bf16 *)to;
    char *buffer;

    for (size_t first = 0, n; first < tensor->count; first += n) {
        n = tensor->count - first < most ? tensor->count - first : most;
        TRY(model_upload_buffer(u, &buffer));
        memcpy(buffer, (const char *)tensor->data + first * size, n * size);
        TRY(model_upload_send(m, u, tensor->dtype == DTYPE_BF16 ? (void *)(out + first) : m->workspace,
                              n * size));
        if (tensor->dtype == DTYPE_F16)
            TRY(convert(out + first, (const __half *)m->workspace, (int)n, m->stream));
        else if (tensor->dtype == DTYPE_F32)
            TRY(convert(out + first, (const float *)m->workspace, (int)n, m->stream));

        u->done += n * size;
        if (u->progress >= 0 && (int)(100 * u->done / u->total) != u->progress) {
            u->progress = (int)(100 * u->done / u->total);
            fprintf(stderr, "\rloading the model: %d %%", u->progress);
        }
    }
    return NULL;
}

/* Cosine and sine of pos * theta^(-2i / HEAD_DIM), in double precision, rounded once. */
static inline const char *
model_upload_rope(Model *m, Upload *u)
{
    const int half = HEAD_DIM / 2, most = MODEL_UPLOAD_BYTES / (half * (int)sizeof(float2));
    double frequency[half];
    char *buffer;

    for (int i = 0; i < half; i++)
        frequency[i] = pow(ROPE_THETA, -2.0 * i / HEAD_DIM);
    for (int first = 0, n; first < m->context; first += n) {
        n = m->context - first < most ? m->context - first : most;
        TRY(model_upload_buffer(u, &buffer));
        for (int pos = 0; pos < n; pos++)
            for (int i = 0; i < half; i++) {
                double angle = (first + pos) * frequency[i];

                ((float2 *)buffer)[pos * half + i] = make_float2((float)cos(angle), (float)sin(angle));
            }
        TRY(model_upload_send(m, u, m->rope + (size_t)first * half, n * half * sizeof(float2)));
    }
    return NULL;
}

static inline const char *
model_upload_all(Model *m, Upload *u, const Safetensors *file)
{
    for (int i = 0; i < 2; i++) {
        TRY(cudaMallocHost((void **)&u->buffer[i], MODEL_UPLOAD_BYTES));
        TRY(cudaEventCreateWithFlags(&u->sent[i], cudaEventDisableTiming));
    }
    TRY(model_upload_rope(m, u));
    TRY(model_upload_tensor(m, u, &file->embed, m->weights.embed));
    for (int l = 0; l < LAYERS; l++)
        for (int which = 0; which < LAYER_TENSORS; which++)
            TRY(model_upload_tensor(m, u, &file->layer[l][which],
                                    model_layer_tensor(&m->weights.layer[l], which)));
    TRY(model_upload_tensor(m, u, &file->norm, m->weights.norm));
    TRY(count(m->sort.id, m->stream));
    TRY(cudaStreamSynchronize(m->stream));
    return NULL;
}

static inline size_t
model_tensor_bytes(const Tensor *tensor)
{
    return tensor->count * (safetensors_dtypes[tensor->dtype].bits / 8);
}

/* Fills weights and tables from the file. */
static inline const char *
model_upload(Model *m, const Safetensors *file)
{
    Upload u = {};
    const char *error;

    u.progress = isatty(STDERR_FILENO) ? 0 : -1;
    u.total = model_tensor_bytes(&file->embed) + model_tensor_bytes(&file->norm);
    for (int l = 0; l < LAYERS; l++)
        for (int which = 0; which < LAYER_TENSORS; which++)
            u.total += model_tensor_bytes(&file->layer[l][which]);

    error = model_upload_all(m, &u, file);
    if (u.progress >= 0)
        fprintf(stderr, "\r%40s\r", "");
    for (int i = 0; i < 2; i++) {
        if (u.sent[i] != NULL)
            cudaEventDestroy(u.sent[i]);
        cudaFreeHost(u.buffer[i]);
    }
    return error;
}

/* ---- open and close ---- */

static inline void
model_close(void *engine)
{
    Model *m = (Model *)engine;

    if (m == NULL)
        return;
    decode_close(&m->decode);
    if (m->cublas != NULL)
        cublasDestroy(m->cublas);
    if (m->stream != NULL)
        cudaStreamDestroy(m->stream);
    cudaFree(m->block);
    free(m);
}

static inline void
model_print_plan(const Model *m)
{
    size_t all = 0;

    fprintf(stderr, "%s: %d multiprocessors, %.2f of %.2f GB free\n", model_card, m->multiprocessors,
            m->free * 1e-9, m->total * 1e-9);
    for (int part = 0; part < MODEL_PARTS; part++) {
        fprintf(stderr, "%12.2f MB  %s\n", m->part[part] * 1e-6, model_part_name[part]);
        all += m->part[part];
    }
    fprintf(stderr, "%12.2f MB  in one block, for a context of %d\n", all * 1e-6, m->context);
}

/* Everything of model_open() that needs closing after an error. */
static inline const char *
model_open_device(Model *m, const Safetensors *file, int verbose)
{
    TRY(model_probe());
    TRY(cudaDeviceGetAttribute(&m->multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    TRY(cudaStreamCreateWithFlags(&m->stream, cudaStreamNonBlocking));
    TRY(cublasCreate(&m->cublas));
    TRY(attention_open());
    TRY(sort_size(&m->sort));
    TRY(cudaMemGetInfo(&m->free, &m->total));
    TRY(model_check_memory(m));
    TRY(cudaMalloc(&m->block, model_plan(m, 0)));
    model_plan(m, (uintptr_t)m->block);
    if (verbose)
        model_print_plan(m);
    TRY(cublasSetMathMode(m->cublas, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)); /* sums in fp32 */
    TRY(cublasSetStream(m->cublas, m->stream));
    TRY(cublasSetWorkspace(m->cublas, m->workspace, MODEL_WORKSPACE));
    TRY(model_upload(m, file));
    TRY(cudaMemset(m->k_cache, 0,
                   (char *)m->rope - (char *)m->k_cache)); /* finite, as decode_open wants it */
    TRY(decode_open(&m->decode, &m->weights, m->k_cache, m->v_cache, m->rope, m->context, m->decode_workspace,
                    0));
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
    if (m == NULL)
        return fail("out of memory");
    m->context = options.context;
    if (options.bits == 12 && options.verbose)
        fprintf(stderr, "weights of 16 bits (-w 12 means that)\n");
    if (options.bits == 8)
        error = fail("-w 8: the GPU engine has weights of 16 bits only, so far: use -w 16, or -d cpu");
    else if (m->context < 1 || m->context > MAX_CONTEXT)
        error = fail("a context of %d: the model has 1 to %d positions", m->context, MAX_CONTEXT);
    else if (snprintf(path, sizeof path, "%s/model.safetensors", model_dir) >= (int)sizeof path)
        error = fail("%.100s...: the path is too long", model_dir);
    else if ((error = safetensors_open(&file, path)) == NULL) {
        error = model_open_device(m, &file, options.verbose);
        safetensors_close(&file);
    }
    if (error != NULL)
        model_close(m);
    else
        *engine = m;
    return error;
}

/* ---- prefill ---- */

/* out (n, rows) = in (n, columns) x weight (rows, columns)^T + add * out. cuBLAS counts in columns: to it,
 * every matrix here is its own transpose. */
static inline cublasStatus_t
model_product(Model *m, void *out, cudaDataType type, float add, const bf16 *weight, const bf16 *in, int n,
              int rows, int columns)
{
    const float one = 1;

    return cublasGemmEx(m->cublas, CUBLAS_OP_T, CUBLAS_OP_N, rows, n, columns, &one, weight, CUDA_R_16BF,
                        columns, in, CUDA_R_16BF, columns, &add, out, type, rows, CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT);
}

/* Sends n <= m->chunk tokens at positions pos.. through the layers, up to where the last one has stored its k
 * and v. The products with o and down add to the residual stream themselves, in fp32. */
static inline const char *
model_forward(Model *m, const int *tokens, int n, int pos)
{
    size_t layer_cache = (size_t)KV_HEADS * m->context * HEAD_DIM;

    TRY(cudaMemcpyAsync(m->token, tokens, n * sizeof *tokens, cudaMemcpyHostToDevice, m->stream));
    TRY(embedding(m->x, m->weights.embed, m->token, n, m->stream));
    for (int l = 0; l < LAYERS; l++) {
        const LayerWeights *w = &m->weights.layer[l];
        bf16 *k_cache = m->k_cache + l * layer_cache, *v_cache = m->v_cache + l * layer_cache;

        TRY(rmsnorm(m->normed, m->x, w->input_norm, n, m->stream));
        TRY(model_product(m, m->qkv, CUDA_R_16BF, 0, w->q_proj, m->normed, n, QKV_DIM, HIDDEN));
        TRY(norm_rope_store(m->qkv, k_cache, v_cache, w->q_norm, w->k_norm, m->rope, n, pos, m->context,
                            m->stream));
        if (l == LAYERS - 1)
            break;
        TRY(attention(m->attended, m->qkv, k_cache, v_cache, m->workspace, n, pos, m->context,
                      m->multiprocessors, m->stream));
        TRY(model_product(m, m->x, CUDA_R_32F, 1, w->o_proj, m->attended, n, HIDDEN, Q_DIM));

        TRY(rmsnorm(m->normed, m->x, w->post_norm, n, m->stream));
        TRY(model_product(m, m->gate_up, CUDA_R_16BF, 0, w->gate_proj, m->normed, n, 2 * INTERMEDIATE,
                          HIDDEN));
        TRY(swiglu(m->mlp, m->gate_up, n, m->stream));
        TRY(model_product(m, m->x, CUDA_R_32F, 1, w->down_proj, m->mlp, n, HIDDEN, INTERMEDIATE));
    }
    return NULL;
}

static inline const char *
model_prefill(void *engine, const int *tokens, int n, int pos)
{
    Model *m = (Model *)engine;

    TRY(engine_check(tokens, n, pos, m->context));
    for (int first = 0; first < n; first += m->chunk)
        TRY(model_forward(m, tokens + first, n - first < m->chunk ? n - first : m->chunk, pos + first));
    TRY(cudaStreamSynchronize(m->stream));
    return NULL;
}

/* ---- decode ---- */

/* The k best of one row's logits, by sorting all. */
static inline const char *
model_sort(Model *m, const float *logits, int k, Candidate *candidates)
{
    TRY(sort_best(&m->sort, logits, k, m->stream));
    TRY(cudaMemcpyAsync(candidates, m->sort.candidates, k * sizeof *candidates, cudaMemcpyDeviceToHost,
                        m->stream));
    TRY(cudaStreamSynchronize(m->stream));
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
        const char *error = decode_launch(&m->decode, tokens + first, rows, pos + first, few, m->stream);
        TRY(cudaStreamSynchronize(m->stream)); /* names a card that was lost */
        if (error != NULL)
            return error;
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
model_device(void *)
{
    return model_card;
}

static inline double
model_bytes(void *, int depth)
{
    return engine_bytes(16, depth);
}

static inline const char *
model_read_rate(Model *m, cudaEvent_t begin, cudaEvent_t end, double *bytes_per_second)
{
    const int tries = 20;
    size_t bytes = m->part[PART_WEIGHTS];
    float ms;

    *bytes_per_second = 0;
    for (int i = 0; i < tries; i++) {
        TRY(cudaEventRecord(begin, m->stream));
        read_kernel<<<m->multiprocessors * 4, READ_THREADS, 0, m->stream>>>(
            m->sink, (const uint4 *)m->weights.embed, bytes / sizeof(uint4));
        TRY(cudaGetLastError());
        TRY(cudaEventRecord(end, m->stream));
        TRY(cudaEventSynchronize(end));
        TRY(cudaEventElapsedTime(&ms, begin, end));
        if (bytes / (ms * 1e-3) > *bytes_per_second)
            *bytes_per_second = bytes / (ms * 1e-3);
    }
    return NULL;
}

/* The card's read bandwidth: the weights, read once, the best of some tries. */
static inline const char *
model_bandwidth(void *engine, double *bytes_per_second)
{
    cudaEvent_t begin, end;
    const char *error;

    TRY(cudaEventCreate(&begin));
    TRY(cudaEventCreate(&end));
    error = model_read_rate((Model *)engine, begin, end, bytes_per_second);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
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

static const Engine model_engine = {"gpu",        PREFILL_CHUNK,   model_probe,  model_open,
                                    model_device, model_prefill,   model_decode, model_close,
                                    model_bytes,  model_bandwidth, model_profile};

#endif
