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

#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* for posix_fadvise with -std=c11 */
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "fail.h"
#include "numbers.h"

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
    Tensor embed;                        /* (vocab, hidden): the input embedding, and the output matrix */
    Tensor norm;                         /* (hidden) */
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
    SAFETENSORS_TEXT = 200, /* longest printed name or shape, with its NUL */
    SAFETENSORS_TIED_ROWS = 64
};

/* ---- the header: JSON, of exactly the form that the format has ---- */

/* A tensor as the header describes it. */
typedef struct {
    const char *name; /* (name_length) bytes of any value, unescaped */
    size_t name_length;
    int dtype; /* index into safetensors_dtypes */
    int rank;
    uint64_t shape[SAFETENSORS_MAX_RANK]; /* (rank) */
    uint64_t begin, end;                  /* bytes, from the start of the data */
    int needed;
} SafetensorsEntry;

/* Reads from `at` on. The first error stays and moves `at` to the end, so whoever scans may go on without
 * looking at each step, and stops. */
typedef struct {
    const char *path;
    char *text, *at, *end; /* the header, our own copy: strings are unescaped in place */
    const char *error;
} SafetensorsScanner;

/* Text from the file for an error line: what is not printable ASCII is shown as \xNN, a long text is cut. */
static inline const char *
safetensors_printable(const char *text, size_t n, char out[SAFETENSORS_TEXT])
{
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];

        if (used + 8 > SAFETENSORS_TEXT) {
            memcpy(out + used, "...", 3);
            used += 3;
            break;
        }
        if (c >= 0x20 && c < 0x7f)
            out[used++] = (char)c;
        else
            used += (size_t)snprintf(out + used, 5, "\\x%02x", c);
    }
    out[used] = '\0';
    return out;
}

/* (3072, 1024) */
static inline const char *
safetensors_shape(const uint64_t *shape, int rank, char out[SAFETENSORS_TEXT])
{
    int used = snprintf(out, SAFETENSORS_TEXT, "(");

    for (int i = 0; i < rank; i++)
        used += snprintf(out + used, SAFETENSORS_TEXT - used, "%s%llu", i ? ", " : "",
                         (unsigned long long)shape[i]);
    snprintf(out + used, SAFETENSORS_TEXT - used, ")");
    return out;
}

static inline void
safetensors_refuse(SafetensorsScanner *s, const char *why)
{
    if (s->error == NULL)
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
    return s->error == NULL;
}

static inline unsigned
safetensors_hex4(SafetensorsScanner *s)
{
    unsigned value = 0;

    for (int i = 0; i < 4; i++) {
        char c = s->at < s->end ? *s->at : '\0';

        if (c >= '0' && c <= '9')
            value = value * 16 + (unsigned)(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            value = value * 16 + (unsigned)((c | 32) - 'a' + 10);
        else {
            safetensors_refuse(s, "\\u needs four hexadecimal digits");
            return 0;
        }
        s->at++;
    }
    return value;
}

/* Writes what the escape sequence at s->at stands for to out, in UTF-8, and returns the end of it. That is
 * never longer than the sequence itself. */
static inline char *
safetensors_escape(SafetensorsScanner *s, char *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char c = s->at + 1 < s->end ? s->at[1] : '\0';
    const char *name = c ? strchr(names, c) : NULL;
    unsigned code;

    if (name != NULL) {
        s->at += 2;
        *out++ = values[name - names];
        return out;
    }
    if (c != 'u') {
        safetensors_refuse(s, "no such escape sequence");
        return out;
    }
    s->at += 2;
    code = safetensors_hex4(s);
    if (code >= 0xd800 && code < 0xdc00 && s->end - s->at > 2 && s->at[0] == '\\' && s->at[1] == 'u') {
        unsigned low;

        s->at += 2;
        low = safetensors_hex4(s);
        code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : 0xd800;
    }
    if (code >= 0xd800 && code < 0xe000) {
        safetensors_refuse(s, "half a surrogate pair");
        return out;
    }
    if (code < 0x80) {
        *out++ = (char)code;
        return out;
    }
    if (code < 0x800)
        *out++ = (char)(0xc0 | code >> 6);
    else {
        if (code < 0x10000)
            *out++ = (char)(0xe0 | code >> 12);
        else {
            *out++ = (char)(0xf0 | code >> 18);
            *out++ = (char)(0x80 | (code >> 12 & 0x3f));
        }
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
    }
    *out++ = (char)(0x80 | (code & 0x3f));
    return out;
}

/* Reads a string; returns its length in bytes. *text points into the scanner's copy and is not terminated. */
static inline size_t
safetensors_string(SafetensorsScanner *s, const char **text)
{
    char *out;

    safetensors_expect(s, '"');
    *text = out = s->at;
    while (s->at < s->end && *s->at != '"') {
        if ((unsigned char)*s->at < 0x20)
            safetensors_refuse(s, "control character in a string");
        else if (*s->at == '\\')
            out = safetensors_escape(s, out);
        else
            *out++ = *s->at++;
    }
    safetensors_expect(s, '"');
    return (size_t)(out - *text);
}

static inline uint64_t
safetensors_integer(SafetensorsScanner *s)
{
    uint64_t value = 0;
    char *first;

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
safetensors_is(const char *text, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(text, word, n) == 0;
}

static inline int
safetensors_dtype(SafetensorsScanner *s)
{
    const char *text;
    size_t n = safetensors_string(s, &text);
    char name[SAFETENSORS_TEXT], why[SAFETENSORS_TEXT + 32];

    for (size_t i = 0; i < sizeof safetensors_dtypes / sizeof *safetensors_dtypes; i++)
        if (safetensors_is(text, n, safetensors_dtypes[i].name))
            return (int)i;
    snprintf(why, sizeof why, "unknown dtype \"%s\"", safetensors_printable(text, n, name));
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
        const char *key;
        size_t n = safetensors_string(s, &key);

        safetensors_expect(s, ':');
        before = has;
        if (safetensors_is(key, n, "dtype")) {
            has |= HAS_DTYPE;
            entry->dtype = safetensors_dtype(s);
        } else if (safetensors_is(key, n, "shape")) {
            has |= HAS_SHAPE;
            entry->rank = safetensors_integers(s, entry->shape, SAFETENSORS_MAX_RANK);
        } else if (safetensors_is(key, n, "data_offsets")) {
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
        const char *name;
        size_t length = safetensors_string(s, &name);

        safetensors_expect(s, ':');
        if (safetensors_is(name, length, "__metadata__")) {
            if (metadata++)
                safetensors_refuse(s, "__metadata__ twice");
            safetensors_expect(s, '{');
            for (int k = 0; safetensors_more(s, '}', k); k++) {
                safetensors_string(s, &name);
                safetensors_expect(s, ':');
                safetensors_string(s, &name);
            }
            continue;
        }
        if (*n == capacity) {
            void *grown;

            capacity = capacity ? 2 * capacity : 512;
            grown = realloc(*entries, capacity * sizeof **entries);
            if (grown == NULL)
                return fail("%s: out of memory for a header of %zu bytes", s->path,
                            (size_t)(s->end - s->text));
            *entries = (SafetensorsEntry *)grown;
        }
        memset(&(*entries)[*n], 0, sizeof **entries);
        (*entries)[*n].name = name;
        (*entries)[*n].name_length = length;
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
    const SafetensorsEntry *a = (const SafetensorsEntry *)left, *b = (const SafetensorsEntry *)right;
    size_t n = a->name_length < b->name_length ? a->name_length : b->name_length;
    int order = memcmp(a->name, b->name, n);

    return order ? order : (a->name_length > b->name_length) - (a->name_length < b->name_length);
}

static inline int
safetensors_by_place(const void *left, const void *right)
{
    const SafetensorsEntry *a = (const SafetensorsEntry *)left, *b = (const SafetensorsEntry *)right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

/* Checks that the offsets of a tensor span what its dtype and shape take. */
static inline const char *
safetensors_check_size(const char *path, const SafetensorsEntry *entry)
{
    char name[SAFETENSORS_TEXT], shape[SAFETENSORS_TEXT];
    uint64_t bits = safetensors_dtypes[entry->dtype].bits;
    int overflow = 0;

    for (int i = 0; i < entry->rank; i++) {
        overflow |= entry->shape[i] != 0 && bits > UINT64_MAX / entry->shape[i];
        bits *= entry->shape[i];
    }
    if (!overflow && entry->begin <= entry->end && bits % 8 == 0 && bits / 8 == entry->end - entry->begin)
        return NULL;
    safetensors_printable(entry->name, entry->name_length, name);
    safetensors_shape(entry->shape, entry->rank, shape);
    if (overflow)
        return fail("%s: the shape %s of %s is too large", path, shape, name);
    return fail("%s: %s of shape %s in %s takes %llu bits, but its offsets are %llu to %llu", path, name,
                shape, safetensors_dtypes[entry->dtype].name, (unsigned long long)bits,
                (unsigned long long)entry->begin, (unsigned long long)entry->end);
}

/* Checks that the tensors tile the data, as the format demands: no overlap, no hole, nothing missing at the
 * end, nothing left over. `start` is where the data begins in the file of `size` bytes. Sorts the entries. */
static inline const char *
safetensors_check_places(const char *path, SafetensorsEntry *entries, size_t n, size_t start, size_t size)
{
    char name[SAFETENSORS_TEXT], other[SAFETENSORS_TEXT];
    uint64_t end = 0;

    if (n > 0)
        qsort(entries, n, sizeof *entries, safetensors_by_place);
    for (size_t i = 0; i < n; i++) {
        const SafetensorsEntry *entry = &entries[i];

        if (entry->begin < end)
            return fail("%s: the data of %s and %s overlap", path,
                        safetensors_printable(entry[-1].name, entry[-1].name_length, other),
                        safetensors_printable(entry->name, entry->name_length, name));
        if (entry->begin > end)
            return fail("%s: %llu bytes before the data of %s belong to no tensor", path,
                        (unsigned long long)(entry->begin - end),
                        safetensors_printable(entry->name, entry->name_length, name));
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
    char name[SAFETENSORS_TEXT], actual_shape[SAFETENSORS_TEXT], expected_shape[SAFETENSORS_TEXT];
    SafetensorsEntry key, *entry = NULL;

    memset(tensor, 0, sizeof *tensor);
    memset(&key, 0, sizeof key);
    key.name = name;
    key.name_length = (size_t)snprintf(name, sizeof name, safetensors_table[which].name, layer);
    if (n > 0)
        entry = (SafetensorsEntry *)bsearch(&key, entries, n, sizeof *entries, safetensors_by_name);
    if (entry == NULL) {
        if (which == LM_HEAD)
            return NULL;
        return fail("%s has no tensor %s: this is not %s's model", path, name, MODEL_NAME);
    }
    entry->needed = 1;
    if (entry->rank != rank || memcmp(entry->shape, expected, (size_t)rank * sizeof *expected) != 0)
        return fail("%s: %s has shape %s, expected %s: this is not %s's model", path, name,
                    safetensors_shape(entry->shape, entry->rank, actual_shape),
                    safetensors_shape(expected, rank, expected_shape), MODEL_NAME);
    if (entry->dtype >= DTYPES)
        return fail("%s: %s has dtype %s, expected BF16, F16 or F32", path, name,
                    safetensors_dtypes[entry->dtype].name);
    tensor->data = (const char *)data + entry->begin;
    tensor->dtype = entry->dtype;
    tensor->count = (size_t)expected[0] * (size_t)(expected[1] ? expected[1] : 1);
    if ((uintptr_t)tensor->data % (safetensors_dtypes[entry->dtype].bits / 8) != 0)
        return fail("%s: %s is not aligned to its elements; save the file again with a current safetensors",
                    path, name);
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
    char name[SAFETENSORS_TEXT];
    const char *error;
    Tensor lm_head;

    if (n > 0)
        qsort(entries, n, sizeof *entries, safetensors_by_name);
    for (size_t i = 1; i < n; i++)
        if (safetensors_by_name(&entries[i - 1], &entries[i]) == 0)
            return fail("%s: two tensors are called %s", path,
                        safetensors_printable(entries[i].name, entries[i].name_length, name));

    if ((error = safetensors_find(path, entries, n, data, EMBED, 0, &s->embed)) != NULL)
        return error;
    for (int layer = 0; layer < LAYERS; layer++)
        for (int which = 0; which < LAYER_TENSORS; which++)
            if ((error = safetensors_find(path, entries, n, data, which, layer, &s->layer[layer][which])) !=
                NULL)
                return error;
    if ((error = safetensors_find(path, entries, n, data, FINAL_NORM, 0, &s->norm)) != NULL ||
        (error = safetensors_find(path, entries, n, data, LM_HEAD, 0, &lm_head)) != NULL)
        return error;

    /* A further layer or a bias changes what the model computes; what lies outside "model." does not. */
    for (size_t i = 0; i < n; i++)
        if (!entries[i].needed && entries[i].name_length > 6 && memcmp(entries[i].name, "model.", 6) == 0)
            return fail("%s has a further tensor, %s: this is not %s's model", path,
                        safetensors_printable(entries[i].name, entries[i].name_length, name), MODEL_NAME);
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
    scanner.text = scanner.at = (char *)malloc((size_t)header);
    if (scanner.text == NULL)
        return fail("%s: out of memory for a header of %llu bytes", path, (unsigned long long)header);
    memcpy(scanner.text, file + 8, (size_t)header);
    scanner.end = scanner.text + header;

    error = safetensors_scan(&scanner, &entries, &n);
    for (size_t i = 0; error == NULL && i < n; i++)
        error = safetensors_check_size(path, &entries[i]);
    if (error == NULL)
        error = safetensors_check_places(path, entries, n, start, size);
    if (error == NULL)
        error = safetensors_bind(s, path, entries, n, file + start);
    free(entries);
    free(scanner.text);
    return error;
}

static inline void
safetensors_close(Safetensors *s)
{
    if (s->map != NULL)
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
    if (fstat(fd, &status) != 0)
        error = fail("cannot read %s: %s", path, strerror(errno));
    else if (S_ISDIR(status.st_mode))
        error = fail("%s is a directory, not a file", path);
    else if (!S_ISREG(status.st_mode))
        error = fail("%s is not a regular file", path);
    else if (status.st_size == 0)
        error = fail("%s is empty; download it again", path);
    if (error != NULL) {
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
    if ((error = safetensors_parse(s, path, s->map, s->size)) != NULL)
        safetensors_close(s);
    return error;
}

#endif
