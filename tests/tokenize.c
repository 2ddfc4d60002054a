/* tokenize.c: the token ids of text.
 *
 * usage: tokenize [-p] [-l] MODEL_DIR < text
 *
 * Reads bytes from standard input and prints their ids, one a line.
 *   -p  recognise control tokens such as <|im_end|> too
 *   -l  many texts: before each stands its length in bytes, on a line; the ids of each come on one line */
#include "../tokenizer.h"

#include <stdio.h>

/* Reads up to limit bytes of standard input (0 = all); *text grows as needed. */
static const char *
read_text(char **text, size_t *n, size_t limit)
{
    static size_t capacity;

    *n = 0;
    for (;;) {
        size_t want, got;

        if (!*text || *n == capacity) {
            char *grown;

            capacity = *text ? 2 * capacity : 1 << 16;
            grown = (char *)realloc(*text, capacity);
            if (!grown)
                return fail("out of memory for a text of %llu bytes", (unsigned long long)capacity);
            *text = grown;
        }
        want = limit && limit - *n < capacity - *n ? limit - *n : capacity - *n;
        got = fread(*text + *n, 1, want, stdin);
        *n += got;
        if (got < want && ferror(stdin))
            return fail("standard input: %s", strerror(errno));
        if (got < want || *n == limit)
            return NULL;
    }
}

static const char *
run(const Tokenizer *t, int control, int many)
{
    const char *error = NULL;
    unsigned long long length = 0;
    char *text = NULL;
    Tokens tokens;

    memset(&tokens, 0, sizeof tokens);
    while (!error && (!many || scanf("%llu", &length) == 1)) {
        Piece piece = {NULL, 0, control};

        if (many && getchar() != '\n')
            error = fail("standard input: a length and a line end must stand before each text");
        if (!error && !(many && length == 0))
            error = read_text(&text, &piece.n, (size_t)length);
        if (!error && many && piece.n != length)
            error = fail("standard input ends inside a text of %llu bytes", length);
        piece.text = text;
        tokens.n = 0;
        if (!error)
            error = tokenizer_encode(t, &piece, 1, &tokens);
        for (int i = 0; i < tokens.n; i++)
            printf("%d%s", tokens.id[i], many && i + 1 < tokens.n ? " " : "\n");
        if (many && tokens.n == 0)
            printf("\n");
        if (!many)
            break;
    }
    if (!error && many && !feof(stdin))
        error = fail("standard input: a length must stand before each text");
    free(text);
    tokens_free(&tokens);
    return error;
}

int
main(int argc, char **argv)
{
    const char *directory = NULL, *error;
    int control = 0, many = 0;
    char path[4096];
    Tokenizer t;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-p") == 0) {
            control = 1;
        } else if (strcmp(argv[i], "-l") == 0) {
            many = 1;
        } else if (argv[i][0] != '-' && !directory) {
            directory = argv[i];
        } else {
            directory = NULL;
            break;
        }
    }
    if (!directory) {
        fprintf(stderr, "usage: tokenize [-p] [-l] MODEL_DIR < text\n");
        return 2;
    }
    snprintf(path, sizeof path, "%s/tokenizer.bin", directory);
    error = tokenizer_open(&t, path);
    if (!error) {
        error = run(&t, control, many);
        tokenizer_close(&t);
    }
    if (!error && (fflush(stdout) || ferror(stdout)))
        error = fail("standard output: %s", strerror(errno));
    if (error)
        fprintf(stderr, "tokenize: %s\n", error);
    return error != NULL;
}
