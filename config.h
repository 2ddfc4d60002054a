/* config.h: the shape of the model, the limits and the defaults. Edit, then build again.
 *
 * Everything about the model is a constant here, so the compiler can unroll loops and a reader can look up a
 * number once. There are two blocks: Qwen3-0.6B, and the small model in models/tiny (built with
 * -DQWEN600_TINY). export.py compares the block whose shape fits with a model's config.json. */
#ifndef CONFIG_H
#define CONFIG_H

#define VERSION "1.1"

/* POSIX, beside C11. A file includes ours before the system's, so that those see it. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif

#ifdef __FAST_MATH__
#error "-ffast-math computes something else: infinity, NaN and the order of sums matter here"
#endif
#if defined __SIZEOF_POINTER__ && __SIZEOF_POINTER__ < 8
#error "this needs a 64-bit machine (no -m32): the files are mapped whole, and sizes are of 64 bits"
#endif
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "this needs a little-endian machine: the files hold little-endian numbers, which are used as they lie"
#endif

#ifdef QWEN600_TINY

#define MODEL_NAME "qwen600-tiny" /* this model's program */
#define OTHER_NAME "qwen600"      /* the other block's */
#define ROPE_THETA 1000000.0
#define RMS_NORM_EPS 1e-6f
enum {
    LAYERS = 4,         /* transformer blocks */
    HIDDEN = 256,       /* width of the residual stream */
    HEADS = 4,          /* query heads */
    KV_HEADS = 2,       /* key/value heads; HEADS / KV_HEADS query heads share one */
    HEAD_DIM = 128,     /* width of a head; note that HEADS * HEAD_DIM is not HIDDEN */
    INTERMEDIATE = 512, /* width of the MLP */
    VOCAB = 2048,       /* rows of the embedding table, which is also the output matrix (tied) */
    TOKENS = 2048,      /* the rows that its tokenizer has a token for, at least */
    IM_END_ID = 2045,   /* <|im_end|>, which ends a turn: whether a tokenizer.bin is this model's */
    MAX_CONTEXT = 8192  /* positions the model was made for */
};

#else

#define MODEL_NAME "qwen600"
#define OTHER_NAME "qwen600-tiny"
#define ROPE_THETA 1000000.0
#define RMS_NORM_EPS 1e-6f
enum {
    LAYERS = 28,
    HIDDEN = 1024,
    HEADS = 16,
    KV_HEADS = 8,
    HEAD_DIM = 128,
    INTERMEDIATE = 3072,
    VOCAB = 151936,
    TOKENS = 151669,
    IM_END_ID = 151645,
    MAX_CONTEXT = 40960
};

#endif

enum {
    Q_DIM = HEADS * HEAD_DIM,     /* rows of q_proj, columns of o_proj */
    KV_DIM = KV_HEADS * HEAD_DIM, /* rows of k_proj and v_proj */
    QKV_DIM = Q_DIM + 2 * KV_DIM, /* of the three one after the other */

    DEFAULT_CONTEXT = 8192, /* -c */
    /* Prompt tokens that go through the model at once: bounds the activations' memory, 36 KB a token on the
     * GPU. At 2,048 (75 MB) each matrix product of the real shape still fills the largest card. */
    PREFILL_CHUNK = 2048,

    DEFAULT_TOP_K = 20, /* -k */
    DEFAULT_GUESS = 7   /* -g */
};
#define DEFAULT_TEMPERATURE 0.6f /* -t */
#define DEFAULT_TOP_P 0.95f      /* -p */

/* Colours of a terminal: ANSI escape sequences. */
#define COLOR_PROMPT "\x1b[1;32m"
#define COLOR_THINKING "\x1b[2m"
#define COLOR_BOLD "\x1b[1m"
#define COLOR_RESET "\x1b[0m"

/* A directive of OpenMP, where the compiler has it. */
#ifdef _OPENMP
#define OMP(directive) _Pragma(#directive)
#else
#define OMP(directive)
#endif

#endif
