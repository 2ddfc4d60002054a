/* safetensors.h: model.safetensors -> checked tensors.
 *
 * A safetensors file is 8 bytes (the length of the header, little endian), the header (a JSON object that
 * gives for each tensor its dtype, its shape and its first and last byte), and the data, little endian and
 * row-major. safetensors_open() maps the file, believes nothing that the header says, and hands out one
 * pointer for each tensor of the model. The table below is the only place that knows the tensors' names and
 * shapes.
 *
 * Nothing is copied: the pointers lie in the read-only mapping and live until safetensors_close(). They are
 * aligned to their element; a file in which one is not is refused. */
#ifndef SAFETENSORS_H
#define SAFETENSORS_H

#include "config.h"
#include "fail.h"
#include "numbers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum dtype { DTYPE_BF16, DTYPE_F16, DTYPE_F32, DTYPES };

typedef struct {
    const void *data; /* (count) elements of dtype, row-major */
    int dtype;        /* DTYPE_BF16, DTYPE_F16 or DTYPE_F32 */
    size_t count;     /* elements, not bytes */
} Tensor;

enum layer_tensor {
    INPUT_NORM,
    Q_PROJ,
    K_PROJ,
    V_PROJ,
    O_PROJ,
    Q_NORM,
    K_NORM,
    POST_NORM,
    GATE_PROJ,
    UP_PROJ,
    DOWN_PROJ,
    LAYER_TENSORS,

    /* Not in a layer: the rest of the table. */
    EMBED = LAYER_TENSORS,
    FINAL_NORM,
    LM_HEAD,
    TABLE_TENSORS
};

typedef struct {
    Tensor embed;                        /* (VOCAB, HIDDEN): the input embedding, and the output matrix */
    Tensor norm;                         /* (HIDDEN) */
    Tensor layer[LAYERS][LAYER_TENSORS]; /* shapes in safetensors_table */
    void *map;                           /* (size) bytes: the whole file */
    size_t size;
} Safetensors;

static const struct {
    const char *name;  /* as Hugging Face names it; %d is the layer */
    int rows, columns; /* columns = 0: a vector */
} safetensors_table[TABLE_TENSORS] = {
    {"model.layers.%d.input_layernorm.weight", HIDDEN, 0},
    {"model.layers.%d.self_attn.q_proj.weight", Q_DIM, HIDDEN},
    {"model.layers.%d.self_attn.k_proj.weight", KV_DIM, HIDDEN},
    {"model.layers.%d.self_attn.v_proj.weight", KV_DIM, HIDDEN},
    {"model.layers.%d.self_attn.o_proj.weight", HIDDEN, Q_DIM},
    {"model.layers.%d.self_attn.q_norm.weight", HEAD_DIM, 0},
    {"model.layers.%d.self_attn.k_norm.weight", HEAD_DIM, 0},
    {"model.layers.%d.post_attention_layernorm.weight", HIDDEN, 0},
    {"model.layers.%d.mlp.gate_proj.weight", INTERMEDIATE, HIDDEN},
    {"model.layers.%d.mlp.up_proj.weight", INTERMEDIATE, HIDDEN},
    {"model.layers.%d.mlp.down_proj.weight", HIDDEN, INTERMEDIATE},
    {"model.embed_tokens.weight", VOCAB, HIDDEN},
    {"model.norm.weight", HIDDEN, 0},
    {"lm_head.weight", VOCAB, HIDDEN}, /* optional: a copy of the embedding */
};

/* Every dtype of the format, ours first, so that the size of each tensor in a file can be checked. */
static const struct {
    const char *name;
    unsigned bits;
} safetensors_dtypes[] = {
    {"BF16", 16},   {"F16", 16},    {"F32", 32},    {"F64", 64},    {"C64", 64},    {"I64", 64}, {"U64", 64},
    {"I32", 32},    {"U32", 32},    {"I16", 16},    {"U16", 16},    {"I8", 8},      {"U8", 8},   {"BOOL", 8},
    {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4},
};

enum {
    SAFETENSORS_MAX_HEADER = 100000000, /* bytes; the format's own limit. Qwen3-0.6B's header has 38,000 */
    SAFETENSORS_MAX_RANK = 8,
    SAFETENSORS_NAME = 128,  /* longest name or dtype, with its NUL */
    SAFETENSORS_SHAPE = 200, /* longest printed shape, likewise */
    SAFETENSORS_TIED_ROWS = 64
};

/* For what a header of another model has. */
#define SAFETENSORS_OTHER "this is not " MODEL_NAME "'s model (is it " OTHER_NAME "'s?)"

/* ---- the header: JSON, of exactly the form that the format has ---- */

/* A tensor as the header describes it. */
typedef struct {
    char name[SAFETENSORS_NAME]; /* printable ASCII */
    int dtype;                   /* index into safetensors_dtypes */
    int rank;
    uint64_t shape[SAFETENSORS_MAX_RANK]; /* (rank) */
    uint64_t begin, end;                  /* bytes, from the start of the data */
    int needed;
} SafetensorsEntry;

/* Reads from `at` on. The first error stays and moves `at` to the end, so whoever scans may go on without
 * looking at each step, and stops. */
typedef struct {
    const char *path;
    const char *text, *at, *end; /* the header, in the file */
    const char *error;
} SafetensorsScanner;

/* (3072, 1024) */
static inline const char *
safetensors_shape(const uint64_t *shape, int rank, char out[SAFETENSORS_SHAPE])
{
    int used = snprintf(out, SAFETENSORS_SHAPE, "(");

    for (int i = 0; i < rank; i++)
        used += snprintf(out + used, SAFETENSORS_SHAPE - used, "%s%llu", i ? ", " : "",
                         (unsigned long long)shape[i]);
    snprintf(out + used, SAFETENSORS_SHAPE - used, ")");
    return out;
}

static inline void
safetensors_refuse(SafetensorsScanner *s, const char *why)
{
    if (!s->error)
        s->error = fail("%s: bad header at byte %zu: %s", s->path, (size_t)(s->at - s->text) + 8, why);
    s->at = s->end;
}

/* The next character that is not white space, not consumed; 0 at the end. */
static inline char
safetensors_peek(SafetensorsScanner *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
    return s->at < s->end ? *s->at : '\0';
}

static inline void
safetensors_expect(SafetensorsScanner *s, char c)
{
    char why[] = "expected ' '";

    if (safetensors_peek(s) == c) {
        s->at++;
        return;
    }
    why[10] = c;
    safetensors_refuse(s, why);
}

/* Steps through an object or an array whose opening bracket is read: 1 if member i is there to be read. */
static inline int
safetensors_more(SafetensorsScanner *s, char close, int i)
{
    if (safetensors_peek(s) == close) {
        s->at++;
        return 0;
    }
    if (i > 0)
        safetensors_expect(s, ',');
    return !s->error;
}

/* Reads a name or a dtype. None that we know needs an escape sequence, and an error line may show it as it
 * is. */
static inline void
safetensors_name(SafetensorsScanner *s, char name[SAFETENSORS_NAME])
{
    int n = 0;

    safetensors_expect(s, '"');
    for (; s->at < s->end && *s->at != '"'; s->at++) {
        if (n == SAFETENSORS_NAME - 1 || *s->at < 0x20 || *s->at > 0x7e || *s->at == '\\') {
            safetensors_refuse(s, "a name is not up to 127 printable ASCII characters without a backslash");
            break;
        }
        name[n++] = *s->at;
    }
    name[n] = '\0';
    safetensors_expect(s, '"');
}

/* Steps over a string of any text. */
static inline void
safetensors_skip(SafetensorsScanner *s)
{
    for (safetensors_expect(s, '"'); s->at < s->end && *s->at != '"'; s->at++) {
        s->at += *s->at == '\\';
        if (s->at == s->end || (unsigned char)*s->at < 0x20) {
            safetensors_refuse(s, "control character in a string");
            break;
        }
    }
    safetensors_expect(s, '"');
}

static inline uint64_t
safetensors_integer(SafetensorsScanner *s)
{
    uint64_t value = 0;
    const char *first;

    safetensors_peek(s);
    for (first = s->at; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++) {
        unsigned digit = (unsigned)(*s->at - '0');
        if (value > (UINT64_MAX - digit) / 10) {
            safetensors_refuse(s, "number too large");
            return 0;
        }
        value = value * 10 + digit;
    }
    if (s->at == first || (*first == '0' && s->at - first > 1))
        safetensors_refuse(s, "expected an integer");
    return value;
}

/* Reads an array of at most `most` integers; returns how many. */
static inline int
safetensors_integers(SafetensorsScanner *s, uint64_t *values, int most)
{
    int n = 0;

    for (safetensors_expect(s, '['); safetensors_more(s, ']', n); n++) {
        if (n == most) {
            safetensors_refuse(s, "array too long");
            break;
        }
        values[n] = safetensors_integer(s);
    }
    return n;
}

static inline int
safetensors_dtype(SafetensorsScanner *s)
{
    char name[SAFETENSORS_NAME], why[SAFETENSORS_NAME + 32];

    safetensors_name(s, name);
    for (size_t i = 0; i < sizeof safetensors_dtypes / sizeof *safetensors_dtypes; i++)
        if (!strcmp(name, safetensors_dtypes[i].name))
            return (int)i;
    snprintf(why, sizeof why, "unknown dtype \"%s\"", name);
    safetensors_refuse(s, why);
    return 0;
}

/* {"dtype": "BF16", "shape": [3072, 1024], "data_offsets": [0, 6291456]}, the keys in any order. */
static inline void
safetensors_entry(SafetensorsScanner *s, SafetensorsEntry *entry)
{
    static const char three[] = "a tensor has dtype, shape and data_offsets, each once";
    enum { HAS_DTYPE = 1, HAS_SHAPE = 2, HAS_OFFSETS = 4, HAS_ALL = 7 };
    int has = 0, before;

    safetensors_expect(s, '{');
    for (int i = 0; safetensors_more(s, '}', i); i++) {
        char key[SAFETENSORS_NAME];
        safetensors_name(s, key);
        safetensors_expect(s, ':');
        before = has;
        if (!strcmp(key, "dtype")) {
            has |= HAS_DTYPE;
            entry->dtype = safetensors_dtype(s);
        } else if (!strcmp(key, "shape")) {
            has |= HAS_SHAPE;
            entry->rank = safetensors_integers(s, entry->shape, SAFETENSORS_MAX_RANK);
        } else if (!strcmp(key, "data_offsets")) {
            uint64_t offsets[2] = {0, 0};
            has |= HAS_OFFSETS;
            if (safetensors_integers(s, offsets, 2) != 2)
                safetensors_refuse(s, "data_offsets are two integers");
            entry->begin = offsets[0];
            entry->end = offsets[1];
        }
        if (has == before)
            safetensors_refuse(s, three);
    }
    if (has != HAS_ALL)
        safetensors_refuse(s, three);
}

/* Reads the whole header. *entries, (*n) of them, are the caller's to free, also after an error. */
static inline const char *
safetensors_scan(SafetensorsScanner *s, SafetensorsEntry **entries, size_t *n)
{
    size_t capacity = 0;
    int metadata = 0;

    safetensors_expect(s, '{');
    for (int i = 0; safetensors_more(s, '}', i); i++) {
        char name[SAFETENSORS_NAME];
        safetensors_name(s, name);
        safetensors_expect(s, ':');
        if (!strcmp(name, "__metadata__")) {
            if (metadata++)
                safetensors_refuse(s, "__metadata__ appears twice");
            safetensors_expect(s, '{');
            for (int k = 0; safetensors_more(s, '}', k); k++) {
                safetensors_skip(s);
                safetensors_expect(s, ':');
                safetensors_skip(s);
            }
            continue;
        }
        if (*n == capacity) {
            capacity = capacity ? 2 * capacity : 512;
            void *grown = realloc(*entries, capacity * sizeof **entries);
            if (!grown)
                return fail("%s: out of memory for a header of %zu bytes", s->path,
                            (size_t)(s->end - s->text));
            *entries = (SafetensorsEntry *)grown;
        }
        memset(&(*entries)[*n], 0, sizeof **entries);
        memcpy((*entries)[*n].name, name, sizeof name);
        safetensors_entry(s, &(*entries)[(*n)++]);
    }
    safetensors_peek(s);
    if (s->at < s->end)
        safetensors_refuse(s, "text after the end");
    return s->error;
}

/* ---- the tensors ---- */

static inline int
safetensors_by_name(const void *left, const void *right)
{
    return strcmp(((const SafetensorsEntry *)left)->name, ((const SafetensorsEntry *)right)->name);
}

static inline int
safetensors_by_place(const void *left, const void *right)
{
    const SafetensorsEntry *a = (const SafetensorsEntry *)left, *b = (const SafetensorsEntry *)right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

/* Sorts the entries by name. */
static inline const char *
safetensors_check_names(const char *path, SafetensorsEntry *entries, size_t n)
{
    if (n > 0)
        qsort(entries, n, sizeof *entries, safetensors_by_name);
    for (size_t i = 1; i < n; i++)
        if (!strcmp(entries[i - 1].name, entries[i].name))
            return fail("%s: %s appears twice", path, entries[i].name);
    return NULL;
}

/* Checks that the offsets of a tensor span what its dtype and shape take. */
static inline const char *
safetensors_check_size(const char *path, const SafetensorsEntry *entry)
{
    char shape[SAFETENSORS_SHAPE];
    uint64_t bits = safetensors_dtypes[entry->dtype].bits;
    int overflow = 0;

    for (int i = 0; i < entry->rank; i++) {
        overflow |= entry->shape[i] != 0 && bits > UINT64_MAX / entry->shape[i];
        bits *= entry->shape[i];
    }
    if (!overflow && entry->begin <= entry->end && bits % 8 == 0 && bits / 8 == entry->end - entry->begin)
        return NULL;
    safetensors_shape(entry->shape, entry->rank, shape);
    if (overflow)
        return fail("%s: the shape %s of %s is too large", path, shape, entry->name);
    return fail("%s: %s of shape %s in %s takes %llu bits, but its offsets are %llu to %llu", path,
                entry->name, shape, safetensors_dtypes[entry->dtype].name, (unsigned long long)bits,
                (unsigned long long)entry->begin, (unsigned long long)entry->end);
}

/* Checks that the tensors tile the data, as the format demands: no overlap, no hole, nothing missing at the
 * end, nothing left over. `start` is where the data begins in the file of `size` bytes. Sorts the entries. */
static inline const char *
safetensors_check_places(const char *path, SafetensorsEntry *entries, size_t n, size_t start, size_t size)
{
    uint64_t end = 0;

    if (n > 0)
        qsort(entries, n, sizeof *entries, safetensors_by_place);
    for (size_t i = 0; i < n; i++) {
        const SafetensorsEntry *entry = &entries[i];
        if (entry->begin < end)
            return fail("%s: the data of %s and %s overlap", path, entry[-1].name, entry->name);
        if (entry->begin > end)
            return fail("%s: %llu bytes before the data of %s belong to no tensor", path,
                        (unsigned long long)(entry->begin - end), entry->name);
        end = entry->end;
    }
    if (end > size - start)
        return fail(
            "%s is truncated: it has %llu bytes of data, its header describes %llu; download it again", path,
            (unsigned long long)(size - start), (unsigned long long)end);
    if (end < size - start)
        return fail("%s is damaged: it goes on for %llu bytes after its last tensor; download it again", path,
                    (unsigned long long)(size - start - end));
    return NULL;
}

/* Finds tensor `which` of the table (of layer `layer`) among the entries, which are sorted by name. An absent
 * lm_head is no error: tensor->data is NULL then. */
static inline const char *
safetensors_find(const char *path, SafetensorsEntry *entries, size_t n, const void *data, int which,
                 int layer, Tensor *tensor)
{
    uint64_t expected[2] = {(uint64_t)safetensors_table[which].rows,
                            (uint64_t)safetensors_table[which].columns};
    int rank = expected[1] ? 2 : 1;
    char actual_shape[SAFETENSORS_SHAPE], expected_shape[SAFETENSORS_SHAPE];
    SafetensorsEntry key, *entry = NULL;

    memset(tensor, 0, sizeof *tensor);
    memset(&key, 0, sizeof key);
    snprintf(key.name, sizeof key.name, safetensors_table[which].name, layer);
    if (n > 0)
        entry = (SafetensorsEntry *)bsearch(&key, entries, n, sizeof *entries, safetensors_by_name);
    if (!entry) {
        if (which == LM_HEAD)
            return NULL;
        return fail("%s has no tensor %s: " SAFETENSORS_OTHER, path, key.name);
    }
    entry->needed = 1;
    if (entry->rank != rank || memcmp(entry->shape, expected, (size_t)rank * sizeof *expected) != 0)
        return fail("%s: %s has shape %s, expected %s: " SAFETENSORS_OTHER, path, key.name,
                    safetensors_shape(entry->shape, entry->rank, actual_shape),
                    safetensors_shape(expected, rank, expected_shape));
    if (entry->dtype >= DTYPES)
        return fail("%s: %s has dtype %s, expected BF16, F16 or F32", path, key.name,
                    safetensors_dtypes[entry->dtype].name);
    tensor->data = (const char *)data + entry->begin;
    tensor->dtype = entry->dtype;
    tensor->count = (size_t)expected[0] * (size_t)(expected[1] ? expected[1] : 1);
    if ((uintptr_t)tensor->data % (safetensors_dtypes[entry->dtype].bits / 8) != 0)
        return fail("%s: %s is not aligned to its elements; save the file again with a current safetensors",
                    path, key.name);
    return NULL;
}

/* ---- numbers ---- */

/* Elements first .. first+n-1 of a tensor as bf16: out is (n). */
static inline void
safetensors_bf16(const Tensor *tensor, size_t first, size_t n, uint16_t *out)
{
    const uint16_t *halves = (const uint16_t *)tensor->data;
    const float *floats = (const float *)tensor->data;

    if (tensor->dtype == DTYPE_BF16)
        memcpy(out, halves + first, n * sizeof *out);
    else if (tensor->dtype == DTYPE_F16)
        for (size_t i = 0; i < n; i++)
            out[i] = bf16_round(half_widen(halves[first + i]));
    else
        for (size_t i = 0; i < n; i++)
            out[i] = bf16_round(floats[first + i]);
}

/* ---- the file ---- */

/* An output matrix of its own would be ignored, and the model would talk nonsense. Comparing all of it would
 * read 600 MB, so some rows, spread over the vocabulary, stand for the rest. */
static inline const char *
safetensors_check_tied(const char *path, const Tensor *embed, const Tensor *lm_head)
{
    uint16_t a[HIDDEN], b[HIDDEN];

    for (size_t i = 0; i < SAFETENSORS_TIED_ROWS; i++) {
        size_t row = i * (VOCAB - 1) / (SAFETENSORS_TIED_ROWS - 1);
        safetensors_bf16(embed, row * HIDDEN, HIDDEN, a);
        safetensors_bf16(lm_head, row * HIDDEN, HIDDEN, b);
        if (memcmp(a, b, sizeof a) != 0)
            return fail("%s: row %zu of lm_head.weight differs from model.embed_tokens.weight; this program "
                        "is for models that tie the two",
                        path, row);
    }
    return NULL;
}

/* Fills in the tensors of *s from the entries of the header. Sorts the entries. */
static inline const char *
safetensors_bind(Safetensors *s, const char *path, SafetensorsEntry *entries, size_t n, const void *data)
{
    const char *error;
    Tensor lm_head;

    if (n > 0)
        qsort(entries, n, sizeof *entries, safetensors_by_name);
    if ((error = safetensors_find(path, entries, n, data, EMBED, 0, &s->embed)))
        return error;
    for (int layer = 0; layer < LAYERS; layer++)
        for (int which = 0; which < LAYER_TENSORS; which++)
            if ((error = safetensors_find(path, entries, n, data, which, layer, &s->layer[layer][which])))
                return error;
    if ((error = safetensors_find(path, entries, n, data, FINAL_NORM, 0, &s->norm)) ||
        (error = safetensors_find(path, entries, n, data, LM_HEAD, 0, &lm_head)))
        return error;

    /* A further layer or a bias changes what the model computes; what lies outside "model." does not. */
    for (size_t i = 0; i < n; i++)
        if (!entries[i].needed && !strncmp(entries[i].name, "model.", 6))
            return fail("%s has a further tensor, %s: " SAFETENSORS_OTHER, path, entries[i].name);
    return lm_head.data ? safetensors_check_tied(path, &s->embed, &lm_head) : NULL;
}

/* Fills in the tensors of *s from the file's `size` bytes, which are aligned to 8 and outlive *s; `path` is
 * for the error line. */
static inline const char *
safetensors_parse(Safetensors *s, const char *path, const void *bytes, size_t size)
{
    static const char lfs[] = "version https://git-lfs";
    const unsigned char *file = (const unsigned char *)bytes;
    SafetensorsScanner scanner;
    SafetensorsEntry *entries = NULL;
    uint64_t header = 0;
    size_t n = 0, start;
    const char *error;

    if (size == 0)
        return fail("%s is empty; download it again", path);
    if (size >= sizeof lfs - 1 && memcmp(file, lfs, sizeof lfs - 1) == 0)
        return fail("%s is a Git LFS pointer, not the weights; run `git lfs pull` where it was cloned", path);
    if (size < 10)
        return fail("%s has only %zu bytes, too few for a safetensors file; download it again", path, size);
    for (int i = 7; i >= 0; i--)
        header = header << 8 | file[i];
    if (header < 2 || header > SAFETENSORS_MAX_HEADER || file[8] != '{')
        return fail("%s is not a safetensors file", path);
    if (header > size - 8)
        return fail("%s is truncated: it has %zu bytes, its header alone should have %llu; download it again",
                    path, size, (unsigned long long)header);

    start = (size_t)header + 8;
    scanner.path = path;
    scanner.error = NULL;
    scanner.text = scanner.at = (const char *)file + 8;
    scanner.end = scanner.text + header;

    error = safetensors_scan(&scanner, &entries, &n);
    if (!error)
        error = safetensors_check_names(path, entries, n);
    for (size_t i = 0; !error && i < n; i++)
        error = safetensors_check_size(path, &entries[i]);
    if (!error)
        error = safetensors_check_places(path, entries, n, start, size);
    if (!error)
        error = safetensors_bind(s, path, entries, n, file + start);
    free(entries);
    return error;
}

static inline void
safetensors_close(Safetensors *s)
{
    if (s->map)
        munmap(s->map, s->size);
    memset(s, 0, sizeof *s);
}

/* Maps the file at `path` read-only and checks all of it but the numbers. After an error *s is closed. */
static inline const char *
safetensors_open(Safetensors *s, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block */
    const char *error = NULL;
    struct stat status;
    void *map;

    memset(s, 0, sizeof *s);
    if (fd < 0) {
        int why = errno;
        char index[4096];
        snprintf(index, sizeof index, "%s.index.json", path);
        if (why == ENOENT && access(index, F_OK) == 0)
            return fail("%s: the model is in several files (%s); this program reads a model in one", path,
                        index);
        return fail("cannot open %s: %s", path, strerror(why));
    }
    if (fstat(fd, &status))
        error = fail("cannot read %s: %s", path, strerror(errno));
    else if (S_ISDIR(status.st_mode))
        error = fail("%s is a directory, not a file", path);
    else if (!S_ISREG(status.st_mode))
        error = fail("%s is not a regular file", path);
    else if (status.st_size == 0)
        error = fail("%s is empty; download it again", path);
    if (error) {
        close(fd);
        return error;
    }

    /* Reading ahead twice as far; unlike madvise's way of saying it, this does not let pages go early. */
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return fail("cannot map %s (%llu bytes): %s", path, (unsigned long long)status.st_size,
                    strerror(errno));
    s->map = map;
    s->size = (size_t)status.st_size;
    if ((error = safetensors_parse(s, path, s->map, s->size)))
        safetensors_close(s);
    return error;
}

#endif
