/* tokenizer.h: text to token ids and back, exactly as Hugging Face does it for Qwen2 and Qwen3.
 *
 * tokenizer.bin, which export.py makes, goes in; then bytes become ids, and ids bytes. Nothing here knows of
 * chat templates, and of the model only tokenizer_fits() does. Text goes through three steps: Unicode
 * normalization (NFC), a split into words, and byte pair encoding of each word. All Unicode data comes from
 * the file. Any bytes are accepted: one that is no part of valid UTF-8 is a symbol of its own and comes back
 * as it was.
 *
 * tokenizer.bin is a list of 32-bit words, little endian as all machines that this runs on, then text:
 *
 *     "Q6TK" | version | Unicode version of letters and numbers, 4 words | rows of each table, 9 words |
 *     bytes of text | each table, in the order of enum tokenizer_table, row by row | bytes of all tokens
 */
#ifndef TOKENIZER_H
#define TOKENIZER_H

#include "config.h"
#include "fail.h"
#include "text.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A growable array of token ids. All zeros is an empty one. */
typedef struct {
    int *id; /* (n) */
    int n, capacity;
} Tokens;

/* A stretch of text. Added tokens such as <|im_end|> are recognized in it only if control is set. */
typedef struct {
    const char *text; /* (n) bytes, not terminated */
    size_t n;
    int control;
} Piece;

enum tokenizer_table {
    TOKENIZER_TOKENS,     /* end: where the token's bytes end; they start where the previous token's end */
    TOKENIZER_MERGES,     /* left, right, merged: ids, the pair to merge first in the first row */
    TOKENIZER_ADDED,      /* id: tokens that are found in text before anything else happens to it */
    TOKENIZER_LETTERS,    /* first, last code point: general category L */
    TOKENIZER_NUMBERS,    /* first, last: general category N */
    TOKENIZER_SPACES,     /* first, last: White_Space */
    TOKENIZER_COMBINING,  /* first, last, canonical combining class; all others have class 0 */
    TOKENIZER_DECOMPOSED, /* code point, its full canonical decomposition in 4 words filled up with 0 */
    TOKENIZER_COMPOSED,   /* first, second, the code point they compose to */
    TOKENIZER_TABLES
};

enum {
    TOKENIZER_VERSION = 1,
    TOKENIZER_HEADER = 7 + TOKENIZER_TABLES, /* words */
    TOKENIZER_MAX_FILE = 1 << 26,            /* bytes; that of Qwen3 has 4 million */
    TOKENIZER_MAX_ADDED = 1024,              /* all are looked for wherever one may start */
    TOKENIZER_MAX_PROBES = 64,               /* slots to the one of a merge; in Qwen3's 12 at most */
    TOKENIZER_MAX_TEXT = 1 << 26,            /* bytes, so that whatever is counted below fits an int */
    TOKENIZER_CODE_POINTS = 0x110000, /* Unicode's; the invalid byte b becomes code point 0x110000 + b */
    TOKENIZER_SYMBOLS = 0x110000 + 256
};

/* What the split pattern asks about a code point. */
enum tokenizer_kind { TOKENIZER_OTHER, TOKENIZER_LETTER, TOKENIZER_NUMBER, TOKENIZER_SPACE };

typedef struct {
    unsigned char *file;                     /* the file; table and text point into it */
    const uint32_t *table[TOKENIZER_TABLES]; /* (rows, columns) each */
    uint32_t rows[TOKENIZER_TABLES];
    const unsigned char *text;      /* the bytes of all tokens, in the order of their ids */
    uint32_t byte[256];             /* the token of each single byte */
    unsigned char added_first[256]; /* whether an added token starts with this byte */
    uint32_t *slot;                 /* (slots) hash table: row of TOKENIZER_MERGES + 1, or 0 */
    uint32_t slots;                 /* a power of two */
    unsigned char *kind;            /* (TOKENIZER_SYMBOLS) enum tokenizer_kind */
    unsigned char *combining;       /* (TOKENIZER_SYMBOLS) canonical combining class */
} Tokenizer;

static inline const char *
tokens_push(Tokens *tokens, int id)
{
    if (tokens->n == tokens->capacity) {
        int capacity = tokens->capacity ? 2 * tokens->capacity : 64;
        int *grown = (int *)realloc(tokens->id, (size_t)capacity * sizeof *grown);
        if (!grown)
            return fail("out of memory for %d tokens", capacity);
        tokens->id = grown;
        tokens->capacity = capacity;
    }
    tokens->id[tokens->n++] = id;
    return NULL;
}

static inline void
tokens_free(Tokens *tokens)
{
    free(tokens->id);
    memset(tokens, 0, sizeof *tokens);
}

static inline int
tokenizer_columns(int table)
{
    static const int columns[] = {1, 3, 1, 2, 2, 2, 3, 5, 3};

    return columns[table];
}

static inline const uint32_t *
tokenizer_row(const Tokenizer *t, int table, uint32_t i)
{
    return t->table[table] + (size_t)tokenizer_columns(table) * i;
}

/* The bytes of a token, not terminated; *n = 0 for an id without text. */
static inline const char *
tokenizer_bytes(const Tokenizer *t, int id, int *n)
{
    const uint32_t *end = t->table[TOKENIZER_TOKENS];
    uint32_t start;

    *n = 0;
    if (id < 0 || (uint32_t)id >= t->rows[TOKENIZER_TOKENS])
        return "";
    start = id ? end[id - 1] : 0;
    *n = (int)(end[id] - start);
    return (const char *)t->text + start;
}

/* The id of the added token with this text, or -1. */
static inline int
tokenizer_control(const Tokenizer *t, const char *text)
{
    for (uint32_t i = 0; i < t->rows[TOKENIZER_ADDED]; i++) {
        int id = (int)t->table[TOKENIZER_ADDED][i], n;
        const char *bytes = tokenizer_bytes(t, id, &n);
        if ((size_t)n == strlen(text) && memcmp(bytes, text, (size_t)n) == 0)
            return id;
    }
    return -1;
}

/* Whether these are the tokens of the model that this program is for. */
static inline const char *
tokenizer_fits(const Tokenizer *t)
{
    uint32_t tokens = t->rows[TOKENIZER_TOKENS];
    int im_end = tokenizer_control(t, "<|im_end|>");

    if (tokens >= TOKENS && tokens <= VOCAB && im_end == IM_END_ID)
        return NULL;
    return fail("tokenizer.bin is not of " MODEL_NAME "'s model: it has %u tokens (%d to %d) and <|im_end|> "
                "is %d (%d); run export.py on the files of this model, or is it " OTHER_NAME "'s?",
                tokens, TOKENS, VOCAB, im_end, IM_END_ID);
}

/* ---- loading ---- */

/* The slot where the search for a pair of ids begins. */
static inline uint32_t
tokenizer_hash(const Tokenizer *t, uint32_t left, uint32_t right)
{
    uint64_t hash = ((uint64_t)left << 32 | right) * 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio */

    return (uint32_t)(hash >> 32) & (t->slots - 1);
}

/* The slot of a pair of ids: the one that holds it, or the empty one where it would go. */
static inline uint32_t
tokenizer_slot(const Tokenizer *t, uint32_t left, uint32_t right)
{
    uint32_t slot = tokenizer_hash(t, left, right);

    while (t->slot[slot]) {
        const uint32_t *merge = tokenizer_row(t, TOKENIZER_MERGES, t->slot[slot] - 1);
        if (merge[0] == left && merge[1] == right)
            break;
        slot = (slot + 1) & (t->slots - 1);
    }
    return slot;
}

/* Checks the tokens and makes the table of single bytes. */
static inline const char *
tokenizer_load_tokens(Tokenizer *t, uint32_t text_size, const char *path)
{
    const uint32_t *end = t->table[TOKENIZER_TOKENS], *added = t->table[TOKENIZER_ADDED];
    uint32_t tokens = t->rows[TOKENIZER_TOKENS];
    unsigned char seen[256] = {0};

    for (uint32_t id = 0; id < tokens; id++)
        if (end[id] < (id ? end[id - 1] : 0) || end[id] > text_size)
            return fail("%s: token %u has no valid place in the text: run export.py again", path, id);
    if (t->rows[TOKENIZER_ADDED] > TOKENIZER_MAX_ADDED)
        return fail("%s: %u added tokens, the limit is %d: run export.py again", path,
                    t->rows[TOKENIZER_ADDED], TOKENIZER_MAX_ADDED);
    for (uint32_t i = 0; i < t->rows[TOKENIZER_ADDED]; i++) {
        const char *bytes;
        int n;
        for (uint32_t j = 0; j < i; j++)
            if (added[j] == added[i])
                return fail("%s: added token %u appears twice: run export.py again", path, added[i]);
        if (added[i] >= tokens)
            return fail("%s: added token %u of %u tokens: run export.py again", path, added[i], tokens);
        bytes = tokenizer_bytes(t, (int)added[i], &n);
        if (n == 0)
            return fail("%s: added token %u has no text: run export.py again", path, added[i]);
        t->added_first[(unsigned char)bytes[0]] = 1;
    }
    for (uint32_t id = 0; id < tokens; id++) {
        int n;
        const unsigned char *bytes = (const unsigned char *)tokenizer_bytes(t, (int)id, &n);
        if (n == 1 && !seen[bytes[0]]) {
            seen[bytes[0]] = 1;
            t->byte[bytes[0]] = id;
        }
    }
    for (int byte = 0; byte < 256; byte++)
        if (!seen[byte])
            return fail("%s: no token for byte %d: run export.py again", path, byte);
    return NULL;
}

/* Checks the merges and makes their hash table. */
static inline const char *
tokenizer_load_merges(Tokenizer *t, const char *path)
{
    uint32_t merges = t->rows[TOKENIZER_MERGES], tokens = t->rows[TOKENIZER_TOKENS];

    for (t->slots = 2; t->slots < 2 * merges;)
        t->slots *= 2;
    t->slot = (uint32_t *)calloc(t->slots, sizeof *t->slot);
    if (!t->slot)
        return fail("%s: out of memory for %u merges", path, merges);
    for (uint32_t rank = 0; rank < merges; rank++) {
        const uint32_t *merge = tokenizer_row(t, TOKENIZER_MERGES, rank);
        const char *bytes[3];
        uint32_t slot;
        int n[3];
        for (int i = 0; i < 3; i++) {
            if (merge[i] >= tokens)
                return fail("%s: merge %u names token %u of %u: run export.py again", path, rank, merge[i],
                            tokens);
            bytes[i] = tokenizer_bytes(t, (int)merge[i], &n[i]);
        }
        /* So every encoding decodes to what was encoded, and merging ends. */
        if (!n[0] || !n[1] || n[2] != n[0] + n[1] || memcmp(bytes[2], bytes[0], (size_t)n[0]) ||
            memcmp(bytes[2] + n[0], bytes[1], (size_t)n[1]))
            return fail("%s: merge %u: token %u is not %u and %u joined: run export.py again", path, rank,
                        merge[2], merge[0], merge[1]);
        slot = tokenizer_slot(t, merge[0], merge[1]);
        if (t->slot[slot])
            return fail("%s: merge %u appears twice: run export.py again", path, rank);
        if (((slot - tokenizer_hash(t, merge[0], merge[1])) & (t->slots - 1)) >= TOKENIZER_MAX_PROBES)
            return fail("%s: too many merges share a place in the hash table, up to %u: run export.py again",
                        path, rank);
        t->slot[slot] = rank + 1;
    }
    return NULL;
}

/* Checks the Unicode tables and spreads them out, one byte for each code point. */
static inline const char *
tokenizer_load_unicode(Tokenizer *t, const char *path)
{
    t->kind = (unsigned char *)calloc(2, TOKENIZER_SYMBOLS);
    if (!t->kind)
        return fail("%s: out of memory for its Unicode tables", path);
    t->combining = t->kind + TOKENIZER_SYMBOLS;

    for (int table = TOKENIZER_LETTERS; table < TOKENIZER_TABLES; table++) {
        int ranges = table <= TOKENIZER_COMBINING;
        uint64_t previous = 0;
        for (uint32_t i = 0; i < t->rows[table]; i++) {
            const uint32_t *row = tokenizer_row(t, table, i);
            /* What a table is sorted by, and may not repeat or overlap: ranges, code points, pairs. */
            uint64_t key = table == TOKENIZER_COMPOSED ? (uint64_t)row[0] << 32 | row[1] : row[0];
            for (int j = 0; j < tokenizer_columns(table); j++)
                if (row[j] >= TOKENIZER_CODE_POINTS || row[j] - 0xd800 < 0x800)
                    return fail("%s: code point 0x%x in table %d is none: run export.py again", path, row[j],
                                table);
            if ((i && key <= previous) || (ranges && row[1] < row[0]) ||
                (table == TOKENIZER_COMBINING && row[2] > 255))
                return fail("%s: row %u of Unicode table %d is out of order: run export.py again", path, i,
                            table);
            previous = ranges ? row[1] : key;
            if (table == TOKENIZER_COMBINING)
                memset(t->combining + row[0], (int)row[2], row[1] - row[0] + 1);
            else if (ranges)
                memset(t->kind + row[0], table - TOKENIZER_LETTERS + TOKENIZER_LETTER, row[1] - row[0] + 1);
        }
    }
    if (t->kind[0x20] != TOKENIZER_SPACE || t->kind[0x0a] != TOKENIZER_SPACE ||
        t->kind[0x0d] != TOKENIZER_SPACE)
        return fail("%s: blank and line end are not among its spaces: run export.py again", path);
    return NULL;
}

/* Finds the tables in the file and checks everything. */
static inline const char *
tokenizer_parse(Tokenizer *t, size_t size, const char *path)
{
    uint32_t header[TOKENIZER_HEADER];
    uint64_t at = sizeof header;
    const char *error;

    if (size < sizeof header || memcmp(t->file, "Q6TK", 4) != 0)
        return fail("%s: this is no tokenizer.bin: run export.py again", path);
    memcpy(header, t->file, sizeof header);
    if (header[1] != TOKENIZER_VERSION)
        return fail("%s: version %u, this program reads version %d: run export.py again", path, header[1],
                    TOKENIZER_VERSION);
    for (int i = 0; i < TOKENIZER_TABLES; i++) {
        t->rows[i] = header[6 + i];
        if (at <= size)
            t->table[i] = (const uint32_t *)(const void *)(t->file + at);
        at += 4 * (uint64_t)tokenizer_columns(i) * t->rows[i];
    }
    if (at <= size)
        t->text = t->file + at;
    at += header[TOKENIZER_HEADER - 1];
    if (at != size)
        return fail("%s: %zu bytes, its header promises %llu: run export.py again", path, size,
                    (unsigned long long)at);

    error = tokenizer_load_tokens(t, header[TOKENIZER_HEADER - 1], path);
    if (!error)
        error = tokenizer_load_merges(t, path);
    if (!error)
        error = tokenizer_load_unicode(t, path);
    return error;
}

static inline void
tokenizer_close(Tokenizer *t)
{
    free(t->file);
    free(t->slot);
    free(t->kind);
    memset(t, 0, sizeof *t);
}

/* Opens what is in memory and takes it over (it is from malloc); path is only for messages. After an error
 * there is nothing to close. */
static inline const char *
tokenizer_load(Tokenizer *t, unsigned char *file, size_t size, const char *path)
{
    const char *error;

    memset(t, 0, sizeof *t);
    t->file = file;
    error = tokenizer_parse(t, size, path);
    if (error)
        tokenizer_close(t);
    return error;
}

/* Opens a tokenizer.bin. After an error there is nothing to close. */
static inline const char *
tokenizer_open(Tokenizer *t, const char *path)
{
    Text file = {NULL, 0, 0};
    const char *error;

    memset(t, 0, sizeof *t);
    error = text_read(&file, path, TOKENIZER_MAX_FILE);
    if (error) {
        text_free(&file);
        if (access(path, F_OK) && errno == ENOENT)
            return fail("%s: %s: export.py makes this file", path, strerror(ENOENT));
        return error;
    }
    return tokenizer_load(t, (unsigned char *)file.text, file.n, path);
}

/* ---- normalization: Unicode Standard Annex 15, form C ---- */

/* Hangul syllables are arithmetic (The Unicode Standard, 3.12): L + V, then + T. */
enum {
    HANGUL_S = 0xac00,
    HANGUL_L = 0x1100,
    HANGUL_V = 0x1161,
    HANGUL_T = 0x11a7, /* one before the first T: T = 0 means none */
    HANGUL_LS = 19,
    HANGUL_VS = 21,
    HANGUL_TS = 28
};

/* Memory that encoding reuses from word to word. */
typedef struct {
    void *memory;
    size_t size;
} TokenizerBuffer;

/* A part of a word during merging, in a doubly linked list. */
typedef struct {
    uint32_t id;
    uint32_t rank;      /* of the pair that it forms with the next one, + 1; 0 = none */
    int previous, next; /* -1 = none */
} TokenizerPart;

typedef struct {
    TokenizerBuffer points; /* uint32_t: code points of a stretch of text */
    TokenizerBuffer marks;  /* uint32_t: a run of combining marks while it is sorted */
    TokenizerBuffer parts;  /* TokenizerPart: one word */
    TokenizerBuffer heap;   /* uint64_t: pairs of that word that can be merged */
} TokenizerWork;

static inline const char *
tokenizer_reserve(TokenizerBuffer *buffer, size_t size)
{
    if (size > buffer->size) {
        size_t grown = size > 2 * buffer->size ? size : 2 * buffer->size;
        free(buffer->memory);
        buffer->memory = malloc(grown);
        buffer->size = buffer->memory ? grown : 0;
        if (!buffer->memory)
            return fail("out of memory for tokenizing: %zu bytes", grown);
    }
    return NULL;
}

/* The first code point of s[0..n), n > 0, and how many bytes it takes. */
static inline size_t
tokenizer_code_point(const unsigned char *s, size_t n, uint32_t *point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = 0;
    uint32_t c;
    int valid;

    while (length < 5 && (s[0] << length & 0x80))
        length++;
    if (length == 0) {
        *point = s[0];
        return 1;
    }
    valid = length >= 2 && length <= 4 && length <= n;
    c = s[0] & (0x7fu >> length);
    for (size_t i = 1; valid && i < length; i++) {
        valid = (s[i] & 0xc0) == 0x80;
        c = c << 6 | (s[i] & 0x3f);
    }
    if (!valid || c < least[length] || c >= TOKENIZER_CODE_POINTS || c - 0xd800 < 0x800) {
        *point = TOKENIZER_CODE_POINTS + s[0];
        return 1;
    }
    *point = c;
    return length;
}

/* The inverse: writes the bytes of a code point and returns how many there are, at most 4. */
static inline int
tokenizer_utf8(uint32_t c, unsigned char *s)
{
    int length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    if (c < 0x80 || c >= TOKENIZER_CODE_POINTS) {
        s[0] = (unsigned char)c; /* 0x110000 is a multiple of 256: an invalid byte comes out as it was */
        return 1;
    }
    for (int i = length - 1; i > 0; i--, c >>= 6)
        s[i] = (unsigned char)(0x80 | (c & 0x3f));
    s[0] = (unsigned char)((0xf00 >> length & 0xff) | c);
    return length;
}

/* The row of a sorted table that starts with these words: one in TOKENIZER_DECOMPOSED, two in
 * TOKENIZER_COMPOSED. */
static inline const uint32_t *
tokenizer_find(const Tokenizer *t, int table, uint32_t first, uint32_t second)
{
    uint32_t low = 0, high = t->rows[table];
    uint64_t wanted = (uint64_t)first << 32 | second;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        const uint32_t *row = tokenizer_row(t, table, middle);
        uint64_t key = (uint64_t)row[0] << 32 | (table == TOKENIZER_COMPOSED ? row[1] : 0);
        if (key == wanted)
            return row;
        if (key < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Writes the full canonical decomposition of c, at most 4 code points; returns how many. */
static inline size_t
tokenizer_decompose(const Tokenizer *t, uint32_t c, uint32_t *out)
{
    uint32_t syllable = c - HANGUL_S;
    const uint32_t *row;
    size_t n = 1;

    out[0] = c;
    if (c < 0x80)
        return 1;
    if (syllable < HANGUL_LS * HANGUL_VS * HANGUL_TS) {
        out[0] = HANGUL_L + syllable / (HANGUL_VS * HANGUL_TS);
        out[1] = HANGUL_V + syllable / HANGUL_TS % HANGUL_VS;
        out[2] = HANGUL_T + syllable % HANGUL_TS;
        return out[2] == HANGUL_T ? 2 : 3;
    }
    row = tokenizer_find(t, TOKENIZER_DECOMPOSED, c, 0);
    if (row)
        for (n = 0; n < 4 && row[1 + n]; n++)
            out[n] = row[1 + n];
    return n;
}

/* The code point that the two compose to, or 0. */
static inline uint32_t
tokenizer_compose(const Tokenizer *t, uint32_t first, uint32_t second)
{
    uint32_t l = first - HANGUL_L, v = second - HANGUL_V, syllable = first - HANGUL_S;
    const uint32_t *row;

    if (second < 0x80)
        return 0;
    if (l < HANGUL_LS && v < HANGUL_VS)
        return HANGUL_S + (l * HANGUL_VS + v) * HANGUL_TS;
    if (syllable < HANGUL_LS * HANGUL_VS * HANGUL_TS && syllable % HANGUL_TS == 0 && second > HANGUL_T &&
        second < HANGUL_T + HANGUL_TS)
        return first + (second - HANGUL_T);
    row = tokenizer_find(t, TOKENIZER_COMPOSED, first, second);
    return row ? row[2] : 0;
}

/* Sorts a run of combining marks by class (ccc), stably. */
static inline const char *
tokenizer_sort_marks(const Tokenizer *t, uint32_t *mark, size_t n, TokenizerWork *work)
{
    size_t place[256] = {0}, sum = 0;
    uint32_t *sorted;
    const char *error;

    for (size_t i = 1;; i++) { /* nearly always in order already */
        if (i >= n)
            return NULL;
        if (t->combining[mark[i]] < t->combining[mark[i - 1]])
            break;
    }
    error = tokenizer_reserve(&work->marks, n * sizeof *sorted);
    if (error)
        return error;
    sorted = (uint32_t *)work->marks.memory;
    for (size_t i = 0; i < n; i++)
        place[t->combining[mark[i]]]++;
    for (int ccc = 0; ccc < 256; ccc++) {
        size_t count = place[ccc];
        place[ccc] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        sorted[place[t->combining[mark[i]]]++] = mark[i];
    memcpy(mark, sorted, n * sizeof *sorted);
    return NULL;
}

/* Puts the normalized code points of text[0..size) into work->points; *n = how many. */
static inline const char *
tokenizer_normalize(const Tokenizer *t, const unsigned char *text, size_t size, TokenizerWork *work,
                    size_t *n)
{
    const char *error = tokenizer_reserve(&work->points, 4 * size * sizeof(uint32_t));
    uint32_t *points = (uint32_t *)work->points.memory;
    size_t count = 0, composed = 0, starter = 0, length;
    int last = 0; /* combining class of the last code point that was kept */

    if (error)
        return error;
    for (size_t i = 0; i < size; i += length) {
        uint32_t point;
        length = tokenizer_code_point(text + i, size - i, &point);
        count += tokenizer_decompose(t, point, points + count);
    }
    for (size_t i = 0, end; i < count; i = end + 1) {
        for (end = i; end < count && t->combining[points[end]]; end++)
            ;
        error = tokenizer_sort_marks(t, points + i, end - i, work);
        if (error)
            return error;
    }
    /* A code point composes with the last starter (class 0) unless one between them has class 0 or no lower
     * class than its own. */
    for (size_t i = 0; i < count; i++) {
        int ccc = t->combining[points[i]];
        uint32_t composite = 0;
        if (composed && !t->combining[points[starter]] && (starter + 1 == composed || last < ccc))
            composite = tokenizer_compose(t, points[starter], points[i]);
        if (composite) {
            points[starter] = composite;
            continue;
        }
        if (ccc == 0)
            starter = composed;
        last = ccc;
        points[composed++] = points[i];
    }
    *n = composed;
    return NULL;
}

/* ---- words ---- */

/* Where the word that starts at point[i] ends: i < n, result > i. This is tokenizer.json's pattern
 *
 *     (?i:'s|'t|'re|'ve|'m|'ll|'d) | [^\r\n\p{L}\p{N}]?\p{L}+ | \p{N}
 *     | [ ]?[^\s\p{L}\p{N}]+[\r\n]* | \s*[\r\n]+ | \s+(?!\S) | \s+
 *
 * where the first alternative that matches wins and each part takes as much as it can. */
static inline size_t
tokenizer_word(const Tokenizer *t, const uint32_t *point, size_t i, size_t n)
{
    int kind = t->kind[point[i]];
    int newline = point[i] == '\r' || point[i] == '\n';
    size_t end, after_newline = 0;

    if (point[i] == '\'') {
        uint32_t next[2] = {0, 0};
        for (size_t j = 0; j < 2 && i + 1 + j < n; j++) {
            uint32_t c = point[i + 1 + j];
            /* Ignoring case, the long s U+017F is an s; no other letter here has such a double. */
            next[j] = c - 'A' < 26 ? c + 32 : c == 0x17f ? 's' : c;
        }
        if (next[0] == 's' || next[0] == 't' || next[0] == 'm' || next[0] == 'd')
            return i + 2;
        if ((next[0] == 'r' && next[1] == 'e') || (next[0] == 'v' && next[1] == 'e') ||
            (next[0] == 'l' && next[1] == 'l'))
            return i + 3;
    }

    end = i + ((kind == TOKENIZER_OTHER || kind == TOKENIZER_SPACE) && !newline);
    if (end < n && t->kind[point[end]] == TOKENIZER_LETTER) {
        while (end < n && t->kind[point[end]] == TOKENIZER_LETTER)
            end++;
        return end;
    }

    if (kind == TOKENIZER_NUMBER)
        return i + 1;

    end = i + (point[i] == ' ');
    if (end < n && t->kind[point[end]] == TOKENIZER_OTHER) {
        while (end < n && t->kind[point[end]] == TOKENIZER_OTHER)
            end++;
        while (end < n && (point[end] == '\r' || point[end] == '\n'))
            end++;
        return end;
    }

    for (end = i; end < n && t->kind[point[end]] == TOKENIZER_SPACE; end++)
        if (point[end] == '\r' || point[end] == '\n')
            after_newline = end + 1;
    if (after_newline)
        return after_newline;
    /* The last space goes with the word that follows, if there is one and if another is left here. */
    return end == n || end == i + 1 ? end : end - 1;
}

/* ---- byte pair encoding ---- */

/* The heap holds rank << 32 | index of a pair's left part, so the smallest entry is the pair to merge next:
 * lowest rank, then leftmost. */
static inline void
tokenizer_heap_push(uint64_t *heap, size_t *n, uint64_t entry)
{
    size_t i = (*n)++;

    for (; i && heap[(i - 1) / 2] > entry; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = entry;
}

static inline uint64_t
tokenizer_heap_pop(uint64_t *heap, size_t *n)
{
    uint64_t top = heap[0], entry = heap[--*n];
    size_t i = 0, child;

    for (; (child = 2 * i + 1) < *n; i = child) {
        if (child + 1 < *n && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= entry)
            break;
        heap[i] = heap[child];
    }
    heap[i] = entry;
    return top;
}

/* Looks up the pair of a part and its next one, and puts it into the heap if it can be merged. */
static inline void
tokenizer_pair(const Tokenizer *t, TokenizerPart *part, int i, uint64_t *heap, size_t *n)
{
    part[i].rank = 0;
    if (part[i].next >= 0)
        part[i].rank = t->slot[tokenizer_slot(t, part[i].id, part[part[i].next].id)];
    if (part[i].rank)
        tokenizer_heap_push(heap, n, (uint64_t)part[i].rank << 32 | (uint32_t)i);
}

/* Encodes one word, point[0..count). */
static inline const char *
tokenizer_encode_word(const Tokenizer *t, const uint32_t *point, size_t count, TokenizerWork *work,
                      Tokens *out)
{
    const char *error = tokenizer_reserve(&work->parts, 4 * count * sizeof(TokenizerPart));
    TokenizerPart *part = (TokenizerPart *)work->parts.memory;
    uint64_t *heap;
    size_t entries = 0;
    int n = 0;

    if (error)
        return error;
    for (size_t i = 0; i < count; i++) {
        unsigned char bytes[4];
        int length = tokenizer_utf8(point[i], bytes);
        for (int j = 0; j < length; j++, n++) {
            part[n].id = t->byte[bytes[j]];
            part[n].previous = n - 1;
            part[n].next = n + 1;
        }
    }
    part[n - 1].next = -1;

    /* Every merge takes one entry out and puts at most two in. */
    error = tokenizer_reserve(&work->heap, 2 * (size_t)n * sizeof *heap);
    if (error)
        return error;
    heap = (uint64_t *)work->heap.memory;
    for (int i = 0; i < n; i++)
        tokenizer_pair(t, part, i, heap, &entries);
    while (entries) {
        uint64_t entry = tokenizer_heap_pop(heap, &entries);
        int i = (int)(uint32_t)entry, gone;
        if (part[i].rank != entry >> 32)
            continue; /* one of the two has been merged since */
        part[i].id = tokenizer_row(t, TOKENIZER_MERGES, part[i].rank - 1)[2];
        gone = part[i].next;
        part[gone].rank = 0;
        part[i].next = part[gone].next;
        if (part[i].next >= 0)
            part[part[i].next].previous = i;
        tokenizer_pair(t, part, i, heap, &entries);
        if (part[i].previous >= 0)
            tokenizer_pair(t, part, part[i].previous, heap, &entries);
    }
    for (int i = 0; i >= 0 && !error; i = part[i].next)
        error = tokens_push(out, (int)part[i].id);
    return error;
}

/* Encodes text that has no added tokens. */
static inline const char *
tokenizer_encode_text(const Tokenizer *t, const unsigned char *text, size_t size, TokenizerWork *work,
                      Tokens *out)
{
    const uint32_t *points;
    size_t n = 0, end;
    const char *error;

    if (!size)
        return NULL;
    error = tokenizer_normalize(t, text, size, work, &n);
    points = (const uint32_t *)work->points.memory;
    for (size_t i = 0; !error && i < n; i = end) {
        end = tokenizer_word(t, points, i, n);
        error = tokenizer_encode_word(t, points + i, end - i, work, out);
    }
    return error;
}

/* The longest added token that text[0..n) starts with: its length, or 0. */
static inline size_t
tokenizer_added(const Tokenizer *t, const unsigned char *text, size_t n, int *id)
{
    size_t longest = 0;

    if (!t->added_first[text[0]])
        return 0;
    for (uint32_t i = 0; i < t->rows[TOKENIZER_ADDED]; i++) {
        int candidate = (int)t->table[TOKENIZER_ADDED][i], length;
        const char *bytes = tokenizer_bytes(t, candidate, &length);
        if ((size_t)length > longest && (size_t)length <= n && memcmp(bytes, text, (size_t)length) == 0) {
            longest = (size_t)length;
            *id = candidate;
        }
    }
    return longest;
}

/* Appends the ids of pieces[0..n), taken as one text: words may reach across pieces. An added token is
 * recognized where it lies within one piece that has control set; the text before it and after it are
 * encoded each on its own, as Hugging Face does. After an error, out is as it was. */
static inline const char *
tokenizer_encode(const Tokenizer *t, const Piece *pieces, int n, Tokens *out)
{
    TokenizerWork work;
    unsigned char *text;
    size_t size = 0, start = 0, at = 0;
    const char *error = NULL;
    int before = out->n;

    for (int i = 0; i < n; i++) {
        if (pieces[i].n > TOKENIZER_MAX_TEXT - size)
            return fail("the text is too long: the limit is %d bytes", TOKENIZER_MAX_TEXT);
        size += pieces[i].n;
    }
    text = (unsigned char *)malloc(size + 1);
    if (!text)
        return fail("out of memory for a text of %zu bytes", size);
    memset(&work, 0, sizeof work);
    for (int i = 0; i < n; i++) {
        if (pieces[i].n)
            memcpy(text + at, pieces[i].text, pieces[i].n);
        at += pieces[i].n;
    }
    at = 0;
    for (int i = 0; i < n && !error; i++) {
        size_t end = at + pieces[i].n;
        while (pieces[i].control && at < end && !error) {
            int id = 0;
            size_t length = tokenizer_added(t, text + at, end - at, &id);
            if (length) {
                error = tokenizer_encode_text(t, text + start, at - start, &work, out);
                if (!error)
                    error = tokens_push(out, id);
                start = at + length;
            }
            at += length ? length : 1;
        }
        at = end;
    }
    if (!error)
        error = tokenizer_encode_text(t, text + start, size - start, &work, out);
    if (error)
        out->n = before;
    free(text);
    free(work.points.memory);
    free(work.marks.memory);
    free(work.parts.memory);
    free(work.heap.memory);
    return error;
}

#endif
