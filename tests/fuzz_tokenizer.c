/* fuzz_tokenizer.c: a libFuzzer target. If the first byte of the input is 'F', the rest is a tokenizer.bin;
 * otherwise the rest is text for the tokenizer made by hand, and the first byte says how much of it may have
 * control tokens. */
#include "handmade_tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Appends what the tokens stand for to bytes; returns how many. */
static size_t
decode(const Tokenizer *t, const Tokens *tokens, char *bytes)
{
    size_t at = 0;

    for (int i = 0; i < tokens->n; i++) {
        int n;
        const char *token = tokenizer_bytes(t, tokens->id[i], &n);

        memcpy(bytes + at, token, (size_t)n);
        at += (size_t)n;
    }
    return at;
}

static void
fuzz_file(const uint8_t *data, size_t size)
{
    static const char text[] = "It's 12 e\xcc\xa3\xcc\x81 \xea\xb0\x80\xff<|im_end|>\r\n  x";
    Piece piece = {text, sizeof text - 1, 1};
    unsigned char *file = (unsigned char *)malloc(size + 1);
    Tokens tokens;
    Tokenizer t;

    memset(&tokens, 0, sizeof tokens);
    memcpy(file, data, size);
    if (tokenizer_load(&t, file, size, "fuzz") == NULL) {
        if (tokenizer_encode(&t, &piece, 1, &tokens))
            abort();
        for (int i = -1; i <= (int)t.rows[TOKENIZER_TOKENS]; i++) {
            int n;
            const char *bytes = tokenizer_bytes(&t, i, &n);

            if (memchr(bytes, 0, (size_t)n) && n == 0) /* reads all of them */
                abort();
        }
        tokenizer_control(&t, "<|im_end|>");
    }
    tokenizer_close(&t);
    tokens_free(&tokens);
}

static void
fuzz_text(const uint8_t *data, size_t size, size_t cut)
{
    static Tokenizer t;
    const char *text = (const char *)data;
    char *once = (char *)malloc(12 * size + 1), *twice = (char *)malloc(36 * size + 1);
    Piece pieces[2];
    Tokens tokens;
    size_t n;

    if (!t.file && handmade_open(&t))
        abort();
    memset(&tokens, 0, sizeof tokens);
    cut = cut < size ? cut : size;
    pieces[0] = (Piece){text, cut, 1};
    pieces[1] = (Piece){text + cut, size - cut, 0};
    if (tokenizer_encode(&t, pieces, 2, &tokens))
        abort();
    n = decode(&t, &tokens, once);

    if (cut == 0) { /* What came back is normalized: now it must come back unchanged. */
        pieces[0] = (Piece){once, n, 0};
        tokens.n = 0;
        if (tokenizer_encode(&t, pieces, 1, &tokens) || decode(&t, &tokens, twice) != n ||
            memcmp(once, twice, n))
            abort();
    }
    free(once);
    free(twice);
    tokens_free(&tokens);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] == 'F')
        fuzz_file(data + 1, size - 1);
    else
        fuzz_text(data + 1, size - 1, data[0]);
    return 0;
}
