/* handmade_tokenizer.h: a tokenizer.bin small enough to know by heart, for tests.
 *
 * Ids 0..255 are the bytes; then come the tokens of HANDMADE_TOKENS, the added tokens last. Letters, numbers,
 * marks and compositions are the few that the tests use, with their values from the Unicode Character
 * Database. */
#ifndef HANDMADE_TOKENIZER_H
#define HANDMADE_TOKENIZER_H

#include "../tokenizer.h"

enum { AB = 256, ABC, BC, SPACE_A, AA, AAAA, EMPTY, IM_END, IM_END_OF, THINK, THINK_X, HANDMADE_TOKENS };

static const char *const handmade_text[] = {"ab", "abc",        "bc",           " a",      "aa",      "aaaa",
                                            "",   "<|im_end|>", "<|im_end|>of", "<think>", "<think>x"};

/* bc before ab: abc becomes a, bc, and the longer token abc is never reached. */
static const uint32_t handmade_merges[] = {'b', 'c', BC,      'a', 'b', AB, AB, 'c', ABC,
                                           ' ', 'a', SPACE_A, 'a', 'a', AA, AA, AA,  AAAA};
static const uint32_t handmade_added[] = {IM_END, IM_END_OF, THINK_X, THINK};
static const uint32_t handmade_letters[] = {'A',    'Z',    'a',    'z',    0xc0,   0xff,   0x17f,  0x17f,
                                            0x1100, 0x11ff, 0x1e69, 0x1e69, 0x4e00, 0x9fa5, 0xac00, 0xd7a3};
static const uint32_t handmade_numbers[] = {'0', '9', 0xb2, 0xb3, 0x660, 0x669};
static const uint32_t handmade_spaces[] = {9, 13, ' ', ' ', 0x85, 0x85, 0xa0, 0xa0, 0x3000, 0x3000};
static const uint32_t handmade_combining[] = {0x300, 0x314, 230, 0x323, 0x326, 220, 0x345, 0x345, 240};
static const uint32_t handmade_decomposed[] = {0xe9, 'e', 0x301,  0,   0,     0x344, 0x308, 0x301,
                                               0,    0,   0x1e69, 's', 0x323, 0x307, 0};
static const uint32_t handmade_composed[] = {'e', 0x301, 0xe9, 's', 0x323, 0x1e63, 0x1e63, 0x307, 0x1e69};

/* Writes the file's bytes into out (if it is not NULL); returns how many there are. */
static inline size_t
handmade_tokenizer(unsigned char *out)
{
    const uint32_t *tables[] = {NULL,
                                handmade_merges,
                                handmade_added,
                                handmade_letters,
                                handmade_numbers,
                                handmade_spaces,
                                handmade_combining,
                                handmade_decomposed,
                                handmade_composed};
    const size_t sizes[] = {4 * HANDMADE_TOKENS,       sizeof handmade_merges,     sizeof handmade_added,
                            sizeof handmade_letters,   sizeof handmade_numbers,    sizeof handmade_spaces,
                            sizeof handmade_combining, sizeof handmade_decomposed, sizeof handmade_composed};
    uint32_t header[TOKENIZER_HEADER] = {0}, ends[HANDMADE_TOKENS], end = 0;
    size_t size = sizeof header;

    for (uint32_t i = 0; i < HANDMADE_TOKENS; i++)
        ends[i] = end += i < 256 ? 1 : (uint32_t)strlen(handmade_text[i - 256]);
    memcpy(header, "Q6TK", 4);
    header[1] = TOKENIZER_VERSION;
    memcpy(header + 2, "14.0.0", 6);
    header[TOKENIZER_HEADER - 1] = end;
    for (int i = 0; i < TOKENIZER_TABLES; i++) {
        header[6 + i] = (uint32_t)(sizes[i] / 4) / (uint32_t)tokenizer_columns(i);
        if (out)
            memcpy(out + size, i ? tables[i] : ends, sizes[i]);
        size += sizes[i];
    }
    if (out) {
        memcpy(out, header, sizeof header);
        for (int i = 0; i < HANDMADE_TOKENS; i++) {
            unsigned char byte = (unsigned char)i;
            size_t length = i < 256 ? 1 : strlen(handmade_text[i - 256]);

            memcpy(out + size, i < 256 ? (const void *)&byte : handmade_text[i - 256], length);
            size += length;
        }
        return size;
    }
    return size + end;
}

static inline const char *
handmade_open(Tokenizer *t)
{
    size_t size = handmade_tokenizer(NULL);
    unsigned char *file = (unsigned char *)malloc(size);

    if (!file)
        return fail("out of memory");
    handmade_tokenizer(file);
    return tokenizer_load(t, file, size, "handmade");
}

#endif
