/* toy_tokenizer.h: stands in for tokenizer.h where a test of the conversation should not depend on a
 * vocabulary. A token is a byte, and five control tokens follow. Include it before chat.h. */
#ifndef TOKENIZER_H
#define TOKENIZER_H

#include "../fail.h"

#include <stdlib.h>
#include <string.h>

enum { IM_START = 256, IM_END, ENDOFTEXT, THINK, THINK_END, TOY_TOKENS };
static const char *const toy_control[] = {"<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>",
                                          "</think>"};

typedef struct {
    int *id; /* (capacity), the first n in use */
    int n, capacity;
} Tokens;

typedef struct {
    const char *text;
    size_t n;
    int control;
} Piece;

typedef struct {
    char bytes[256];
} Tokenizer;

static inline const char *
tokens_push(Tokens *tokens, int id)
{
    if (tokens->n == tokens->capacity) {
        tokens->capacity = 2 * tokens->capacity + 16;
        tokens->id = (int *)realloc(tokens->id, (size_t)tokens->capacity * sizeof *tokens->id);
        if (!tokens->id)
            abort();
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

static inline const char *
tokenizer_open(Tokenizer *t, const char *path)
{
    (void)path;
    for (int i = 0; i < 256; i++)
        t->bytes[i] = (char)i;
    return NULL;
}

static inline void
tokenizer_close(Tokenizer *t)
{
    (void)t;
}

static inline const char *
tokenizer_encode(const Tokenizer *t, const Piece *pieces, int n, Tokens *out)
{
    (void)t;
    for (int p = 0; p < n; p++)
        for (size_t i = 0; i < pieces[p].n;) {
            int id = (unsigned char)pieces[p].text[i], length = 1;
            for (int c = IM_START; pieces[p].control && c < TOY_TOKENS; c++) {
                size_t word = strlen(toy_control[c - IM_START]);
                if (pieces[p].n - i >= word && !memcmp(pieces[p].text + i, toy_control[c - IM_START], word)) {
                    id = c;
                    length = (int)word;
                }
            }
            tokens_push(out, id);
            i += (size_t)length;
        }
    return NULL;
}

static inline const char *
tokenizer_bytes(const Tokenizer *t, int id, int *n)
{
    if (id >= IM_START) {
        *n = (int)strlen(toy_control[id - IM_START]);
        return toy_control[id - IM_START];
    }
    *n = 1;
    return t->bytes + id;
}

static inline int
tokenizer_control(const Tokenizer *t, const char *text)
{
    (void)t;
    for (int c = IM_START; c < TOY_TOKENS; c++)
        if (!strcmp(text, toy_control[c - IM_START]))
            return c;
    return -1;
}

#endif
