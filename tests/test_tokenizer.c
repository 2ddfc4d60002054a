/* test_tokenizer.c: tokenizer.h on a small tokenizer made by hand; the real one is tested from Python
 * (test_tokenizer_golden.py, test_tokenizer_differential.py). What text becomes is worked out by hand from
 * the pattern in tokenizer.json and from UAX 15. */
#include "handmade_tokenizer.h"
#include "test.h"

static Tokenizer t;

/* Whether the pieces have these ids, -1 ends them; decoding must give the bytes of `back`. */
static int
encodes(const Piece *pieces, int n, const int *ids, const char *back, size_t size)
{
    Tokens out;
    int same = 1, decodes = 1;
    size_t at = 0;

    memset(&out, 0, sizeof out);
    CHECK(tokens_push(&out, 77) == NULL); /* it appends */
    CHECK(tokenizer_encode(&t, pieces, n, &out) == NULL);
    same = out.id[0] == 77;
    for (int i = 1; i < out.n; i++) {
        int length;
        const char *bytes = tokenizer_bytes(&t, out.id[i], &length);

        same = same && ids[i - 1] == out.id[i];
        decodes = decodes && at + (size_t)length <= size && memcmp(bytes, back + at, (size_t)length) == 0;
        at += (size_t)length;
    }
    same = same && ids[out.n - 1] == -1;
    for (int i = 0; !same && i < out.n; i++)
        fprintf(stderr, "%d%s", out.id[i], i + 1 < out.n ? " " : "\n");
    tokens_free(&out);
    return same && decodes && at == size;
}

/* One piece without added tokens, of `back` after normalization. */
#define ENCODES(text, back, ...)                               \
    do {                                                       \
        static const int ids[] = {__VA_ARGS__, -1};            \
        Piece piece = {text, sizeof text - 1, 0};              \
        CHECK(encodes(&piece, 1, ids, back, sizeof back - 1)); \
    } while (0)

/* Where the words of a text end, as a text with | after each word. */
static int
splits(const char *text, const char *expected)
{
    uint32_t point[64];
    size_t size = strlen(text), n = 0, length, k = 0;
    char got[256];

    for (size_t i = 0; i < size; i += length)
        length = tokenizer_code_point((const unsigned char *)text + i, size - i, &point[n++]);
    for (size_t i = 0, end; i < n; i = end) {
        end = tokenizer_word(&t, point, i, n);
        for (size_t j = i; j < end; j++)
            k += (size_t)tokenizer_utf8(point[j], (unsigned char *)got + k);
        got[k++] = '|';
    }
    got[k] = 0;
    if (strcmp(got, expected) != 0)
        fprintf(stderr, "split as: %s\n", got);
    return strcmp(got, expected) == 0;
}

static void
splits_as_the_pattern_says(void)
{
    CHECK(splits("Hello, world!", "Hello|,| world|!|"));
    CHECK(splits("it's I'M we'Re 'llama x've", "it|'s| I|'M| we|'Re| '|llama| x|'ve|"));
    CHECK(splits("'Sx 'Mx 'LLx 'll'Dx", "'S|x| '|Mx| '|LLx| '|ll|'D|x|"));
    CHECK(splits("he'llo a'REx a'VEx a'Tx", "he|'ll|o| a|'RE|x| a|'VE|x| a|'T|x|"));
    CHECK(splits("'sx 'r ''t", "'s|x| '|r| ''|t|"));
    CHECK(splits("a'\xc5\xbfx", "a|'\xc5\xbf|x|")); /* long s, U+017F */
    CHECK(splits("don'", "don|'|"));
    CHECK(splits("x1234\xd9\xa0", "x|1|2|3|4|\xd9\xa0|"));
    CHECK(splits("a.b ?! -c", "a|.b| ?!| -|c|"));
    CHECK(splits("!!\n\r\n x", "!!\n\r\n| x|"));
    CHECK(splits("a  b   ", "a| | b|   |"));
    CHECK(splits("a \n \n  b", "a| \n \n| | b|"));
    CHECK(splits("\ta\t\tb\t1", "\ta|\t|\tb|\t|1|"));
    CHECK(splits("\xe3\x80\x80\xe4\xbd\xa0", "\xe3\x80\x80\xe4\xbd\xa0|"));
    CHECK(splits("\xe3\x80\x80!", "\xe3\x80\x80|!|"));
    CHECK(splits("\na", "\n|a|"));
    CHECK(splits("e\xcc\x81", "e|\xcc\x81|")); /* a mark is neither letter nor number */
    CHECK(splits("\xff\xfez", "\xff\xfe|z|"));
    CHECK(splits("\xffz", "\xffz|"));
}

static void
merges_by_rank_then_from_the_left(void)
{
    ENCODES("abc", "abc", 'a', BC);
    ENCODES("abab", "abab", AB, AB);
    ENCODES("abbc", "abbc", AB, BC);
    ENCODES("aaa", "aaa", AA, 'a');
    ENCODES("aaaaaaa", "aaaaaaa", AAAA, AA, 'a');
    ENCODES("x ab", "x ab", 'x', ' ', AB); /* ab has a lower rank than " a" */
    ENCODES("x ax", "x ax", 'x', SPACE_A, 'x');
    ENCODES("a1b", "a1b", 'a', '1', 'b');
}

static void
normalizes_to_form_c(void)
{
    ENCODES("e\xcc\x81", "\xc3\xa9", 0xc3, 0xa9);
    ENCODES("\xc3\xa9", "\xc3\xa9", 0xc3, 0xa9);
    /* s, dot above, dot below: sorted, then composed twice, to U+1E69 */
    ENCODES("s\xcc\x87\xcc\xa3", "\xe1\xb9\xa9", 0xe1, 0xb9, 0xa9);
    /* a mark of the same class in between blocks */
    ENCODES("e\xcc\x80\xcc\x81", "e\xcc\x80\xcc\x81", 'e', 0xcc, 0x80, 0xcc, 0x81);
    /* one of a lower class does not */
    ENCODES("e\xcc\xa3\xcc\x81", "\xc3\xa9\xcc\xa3", 0xc3, 0xa9, 0xcc, 0xa3);
    /* U+0344 decomposes and never comes back; a mark before any letter stays */
    ENCODES("\xcd\x84", "\xcc\x88\xcc\x81", 0xcc, 0x88, 0xcc, 0x81);
    ENCODES("\xcc\x81x", "\xcc\x81x", 0xcc, 0x81, 'x');
    /* Hangul: L V T; LV T; L alone; LVT T */
    ENCODES("\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8", "\xea\xb0\x81", 0xea, 0xb0, 0x81);
    ENCODES("\xea\xb0\x80\xe1\x86\xa8", "\xea\xb0\x81", 0xea, 0xb0, 0x81);
    ENCODES("\xe1\x84\x80", "\xe1\x84\x80", 0xe1, 0x84, 0x80);
    ENCODES("\xea\xb0\x81\xe1\x86\xa8", "\xea\xb0\x81\xe1\x86\xa8", 0xea, 0xb0, 0x81, 0xe1, 0x86, 0xa8);
    /* U+11A7 stands before the first T and is none */
    ENCODES("\xea\xb0\x80\xe1\x86\xa7", "\xea\xb0\x80\xe1\x86\xa7", 0xea, 0xb0, 0x80, 0xe1, 0x86, 0xa7);
    /* an invalid byte stands between */
    ENCODES("e\xff\xcc\x81", "e\xff\xcc\x81", 'e', 0xff, 0xcc, 0x81);
}

static void
keeps_bytes_that_are_no_utf8(void)
{
    uint32_t point;

    CHECK(tokenizer_code_point((const unsigned char *)"\xed\xa0\x80", 3, &point) == 1 && point == 0x1100ed);
    CHECK(tokenizer_code_point((const unsigned char *)"\xed\x9f\xbf", 3, &point) == 3 && point == 0xd7ff);
    CHECK(tokenizer_code_point((const unsigned char *)"\xee\x80\x80", 3, &point) == 3 && point == 0xe000);
    CHECK(tokenizer_code_point((const unsigned char *)"\xed\xbf\xbf", 3, &point) == 1 && point == 0x1100ed);
    /* The least and the greatest code point of each length, and the overlong forms just below. */
    CHECK(tokenizer_code_point((const unsigned char *)"\x7f", 1, &point) == 1 && point == 0x7f);
    CHECK(tokenizer_code_point((const unsigned char *)"\xc1\xbf", 2, &point) == 1 && point == 0x1100c1);
    CHECK(tokenizer_code_point((const unsigned char *)"\xc2\x80", 2, &point) == 2 && point == 0x80);
    CHECK(tokenizer_code_point((const unsigned char *)"\xdf\xbf", 2, &point) == 2 && point == 0x7ff);
    CHECK(tokenizer_code_point((const unsigned char *)"\xe0\x9f\xbf", 3, &point) == 1 && point == 0x1100e0);
    CHECK(tokenizer_code_point((const unsigned char *)"\xe0\xa0\x80", 3, &point) == 3 && point == 0x800);
    CHECK(tokenizer_code_point((const unsigned char *)"\xef\xbf\xbf", 3, &point) == 3 && point == 0xffff);
    CHECK(tokenizer_code_point((const unsigned char *)"\xf0\x8f\xbf\xbf", 4, &point) == 1 &&
          point == 0x1100f0);
    CHECK(tokenizer_code_point((const unsigned char *)"\xf0\x90\x80\x80", 4, &point) == 4 &&
          point == 0x10000);
    CHECK(tokenizer_code_point((const unsigned char *)"\xf4\x8f\xbf\xbf", 4, &point) == 4 &&
          point == 0x10ffff);
    CHECK(tokenizer_code_point((const unsigned char *)"\xf4\x90\x80\x80", 4, &point) == 1 &&
          point == 0x1100f4);
    ENCODES("a\0b", "a\0b", 'a', 0, 'b');
    ENCODES("\x80", "\x80", 0x80);
    ENCODES("a\xc3", "a\xc3", 'a', 0xc3);
    ENCODES("\xe4\xb8", "\xe4\xb8", 0xe4, 0xb8);
    ENCODES("\xc0\xaf", "\xc0\xaf", 0xc0, 0xaf);
    ENCODES("\xed\xa0\x80", "\xed\xa0\x80", 0xed, 0xa0, 0x80);
    ENCODES("\xf4\x90\x80\x80", "\xf4\x90\x80\x80", 0xf4, 0x90, 0x80, 0x80);
    ENCODES("\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf", 0xf4, 0x8f, 0xbf, 0xbf);
}

static void
finds_added_tokens_only_in_control_pieces(void)
{
    static const int text[] = {'<', '|', 'i', 'm', '_', 'e', 'n', 'd', '|', '>', -1};
    static const int control[] = {'x', IM_END, -1}, longest[] = {IM_END_OF, IM_END, 'o', -1}, none[] = {-1};
    static const int twice[] = {IM_END, IM_END, -1}, spaces[] = {' ', ' ', IM_END, SPACE_A, -1};
    static const int across[] = {'<', '|', 'i', 'm', '_', 'e', 'n', 'd', '|', '>', IM_END, 'a', BC, -1};
    static const int thinks[] = {THINK_X, THINK, 'y', -1};
    static const int mark[] = {THINK, 0xcc, 0x81, -1};
    Piece one = {"<|im_end|>", 10, 0};
    Piece pieces[4] = {{"<|im_", 5, 1}, {"end|>", 5, 1}, {"<|im_end|>ab", 12, 1}, {"c", 1, 0}};

    CHECK(encodes(&one, 1, text, "<|im_end|>", 10));
    one = (Piece){"x<|im_end|>", 11, 1};
    CHECK(encodes(&one, 1, control, "x<|im_end|>", 11));
    one = (Piece){"<|im_end|>of<|im_end|>o", 23, 1};
    CHECK(encodes(&one, 1, longest, "<|im_end|>of<|im_end|>o", 23));
    one = (Piece){"<think>x<think>y", 16, 1};
    CHECK(encodes(&one, 1, thinks, "<think>x<think>y", 16));
    one = (Piece){"<|im_end|><|im_end|>", 20, 1};
    CHECK(encodes(&one, 1, twice, "<|im_end|><|im_end|>", 20));
    /* Spaces before a control token are the end of a text: both are one word. */
    one = (Piece){"  <|im_end|> a", 14, 1};
    CHECK(encodes(&one, 1, spaces, "  <|im_end|> a", 14));
    /* A token must lie within a piece; a word need not: "ab" and "c" are encoded together, as abc is. */
    CHECK(encodes(pieces, 4, across, "<|im_end|><|im_end|>abc", 23));
    CHECK(encodes(pieces, 0, none, "", 0));
    /* The mark after the token has nothing to compose with. */
    one = (Piece){"<think>\xcc\x81", 9, 1};
    CHECK(encodes(&one, 1, mark, "<think>\xcc\x81", 9));
    one = (Piece){NULL, 0, 1};
    CHECK(encodes(&one, 1, none, "", 0));
}

static void
knows_its_tokens(void)
{
    int n;

    CHECK(memcmp(tokenizer_bytes(&t, ABC, &n), "abc", 3) == 0 && n == 3);
    CHECK(memcmp(tokenizer_bytes(&t, IM_END, &n), "<|im_end|>", 10) == 0 && n == 10);
    CHECK(tokenizer_bytes(&t, 0, &n)[0] == 0 && n == 1);
    CHECK(tokenizer_bytes(&t, EMPTY, &n) != NULL && n == 0);
    CHECK(tokenizer_bytes(&t, HANDMADE_TOKENS, &n) != NULL && n == 0);
    CHECK(tokenizer_bytes(&t, -1, &n) != NULL && n == 0);
    CHECK(tokenizer_control(&t, "<|im_end|>") == IM_END);
    CHECK(tokenizer_control(&t, "<think>") == THINK);
    for (uint32_t i = 0; i < sizeof handmade_added / sizeof *handmade_added; i++)
        CHECK(tokenizer_control(&t, handmade_text[handmade_added[i] - 256]) == (int)handmade_added[i]);
    CHECK(tokenizer_control(&t, "abc") == -1);
    CHECK(tokenizer_control(&t, "") == -1);
}

/* The line of tokenizer_fits() for a tokenizer of so many tokens, where <|im_end|> is this one; "" if it
 * fits. */
static const char *
fits(uint32_t tokens, uint32_t im_end)
{
    static uint32_t ends[VOCAB + 1];
    Tokenizer other;
    const char *error;

    for (uint32_t id = 0; id < tokens; id++)
        ends[id] = id < im_end ? 0 : 10;
    memset(&other, 0, sizeof other);
    other.rows[TOKENIZER_TOKENS] = tokens;
    other.rows[TOKENIZER_ADDED] = 1;
    other.table[TOKENIZER_TOKENS] = ends;
    other.table[TOKENIZER_ADDED] = &im_end;
    other.text = (const unsigned char *)"<|im_end|>";
    error = tokenizer_fits(&other);
    return error ? error : "";
}

static void
fits_only_the_model_of_this_program(void)
{
    CHECK(strcmp(fits(TOKENS, IM_END_ID), "") == 0);
    CHECK(strcmp(fits(VOCAB, IM_END_ID), "") == 0);
    CHECK(strstr(fits(TOKENS - 1, IM_END_ID), "it has 151668 tokens (151669 to 151936)"));
    CHECK(strstr(fits(VOCAB + 1, IM_END_ID), "it has 151937 tokens (151669 to 151936)"));
    CHECK(strstr(fits(TOKENS, IM_END_ID - 1), "<|im_end|> is 151644 (151645)"));
    CHECK(strstr(fits(2048, 2045), "is not of qwen600's model: it has 2048 tokens"));
    CHECK(strstr(fits(2048, 2045), "run export.py on the files of this model, or is it qwen600-tiny's?"));
}

/* The line that loading gives once the words at this offset are set to words[0..n); "" if it loads. */
static const char *
broken_row(size_t offset, const uint32_t *words, size_t n)
{
    size_t size = handmade_tokenizer(NULL);
    unsigned char *file = (unsigned char *)malloc(size);
    const char *error;
    Tokenizer other;

    handmade_tokenizer(file);
    memcpy(file + offset, words, 4 * n);
    error = tokenizer_load(&other, file, size, "file");
    tokenizer_close(&other);
    return error ? error : "";
}

static const char *
broken(size_t offset, uint32_t word)
{
    return broken_row(offset, &word, 1);
}

static void
refuses_what_is_no_tokenizer(void)
{
    size_t table[TOKENIZER_TABLES], offset = 4 * TOKENIZER_HEADER, size = handmade_tokenizer(NULL);

    for (int i = 0; i < TOKENIZER_TABLES; i++) {
        table[i] = offset;
        offset += 4 * (size_t)tokenizer_columns(i) * t.rows[i];
    }
    CHECK(strcmp(broken(0, 0x4b543651), "") == 0); /* the magic number as it is */
    CHECK(strstr(broken(0, 0x46554747), "file: this is no tokenizer.bin"));
    CHECK(strstr(broken(4, 2), "version 2, this program reads version 1: run export.py again"));
    CHECK(strstr(broken(24, 268), "its header promises"));
    CHECK(strstr(broken(24, 0xffffffff), "its header promises"));
    CHECK(strstr(broken(table[TOKENIZER_TOKENS] + 40, 5), "token 10 has no valid place"));
    CHECK(strstr(broken(table[TOKENIZER_MERGES] - 4, t.table[TOKENIZER_TOKENS][HANDMADE_TOKENS - 1] + 1),
                 "token 266 has no valid place"));
    CHECK(strstr(broken(table[TOKENIZER_MERGES] + 12 * 4 + 8, AAAA),
                 "merge 4: token 261 is not 97 and 97 joined"));
    CHECK(strstr(broken_row(table[TOKENIZER_MERGES] + 12, handmade_merges, 3), "merge 1 appears twice"));
    CHECK(strstr(broken(table[TOKENIZER_MERGES] + 8, AB), "merge 0: token 256 is not 98 and 99 joined"));
    CHECK(strstr(broken(table[TOKENIZER_MERGES] + 4, 1000), "merge 0 names token 1000 of 267"));
    CHECK(strstr(broken(table[TOKENIZER_MERGES] + 4, EMPTY), "merge 0: token 258 is not 98 and 262 joined"));
    CHECK(strstr(broken(table[TOKENIZER_ADDED], 267), "added token 267 of 267"));
    CHECK(strstr(broken(table[TOKENIZER_ADDED], EMPTY), "added token 262 has no text"));
    CHECK(strstr(broken(table[TOKENIZER_ADDED] + 4, IM_END), "added token 263 appears twice"));
    CHECK(strstr(broken(table[TOKENIZER_ADDED] + 12, IM_END_OF), "added token 264 appears twice"));
    CHECK(strstr(broken(table[TOKENIZER_LETTERS], 'b' << 16), "is none"));
    CHECK(strstr(broken(table[TOKENIZER_LETTERS] + 4, 'a'), "out of order"));
    CHECK(strstr(broken(table[TOKENIZER_LETTERS] + 4, 'A' - 1), "out of order"));
    CHECK(strstr(broken(table[TOKENIZER_SPACES] + 4, 12), "line end are not among its spaces"));
    CHECK(strstr(broken(table[TOKENIZER_COMBINING] + 8, 256), "out of order"));
    CHECK(strstr(broken(table[TOKENIZER_DECOMPOSED], 0x345), "out of order"));
    CHECK(strstr(broken(table[TOKENIZER_COMPOSED] + 4, 0xd800), "is none"));

    /* The bytes 0 1 2 3 become 1 1 2 3. */
    CHECK(strstr(broken(size - t.table[TOKENIZER_TOKENS][HANDMADE_TOKENS - 1], 0x03020101),
                 "no token for byte 0"));
}

/* Whether opening this file fails with its path and these words. */
static int
refused(const char *path, const char *words)
{
    Tokenizer other;
    const char *error = tokenizer_open(&other, path);
    size_t n = strlen(path);

    return error && !strncmp(error, path, n) && !strncmp(error + n, words, strlen(words));
}

static void
opens_only_a_good_file(void)
{
    char path[64]; /* several builds of this test run at once */
    size_t size = handmade_tokenizer(NULL);
    unsigned char *file = (unsigned char *)malloc(size);
    Tokenizer other;
    FILE *stream;

    handmade_tokenizer(file);
    snprintf(path, sizeof path, "/tmp/test_tokenizer.%ld", (long)getpid());
    CHECK(strstr(tokenizer_open(&other, "no/such/file"),
                 "no/such/file: No such file or directory: export.py makes this file"));
    CHECK(strstr(tokenizer_open(&other, "."), "not a regular file"));
    CHECK(strstr(tokenizer_open(&other, "/dev/zero"), "/dev/zero: not a regular file"));
    CHECK(mkfifo(path, 0600) == 0);
    CHECK(refused(path, ": not a regular file")); /* and no waiting */
    remove(path);
    stream = fopen(path, "wb");
    CHECK(stream && fclose(stream) == 0);
    CHECK(strstr(tokenizer_open(&other, path), ": this is no tokenizer.bin"));
    tokenizer_close(&other); /* closing what did not open is harmless */
    stream = fopen(path, "wb");
    CHECK(stream && fwrite(file, 1, size, stream) == size && fclose(stream) == 0);
    CHECK(tokenizer_open(&other, path) == NULL);
    CHECK(tokenizer_control(&other, "<think>") == THINK);
    tokenizer_close(&other);
    if (chmod(path, 0) == 0 && (geteuid() != 0 || seteuid(65534) == 0)) { /* root may read anything */
        CHECK(refused(path, ": Permission denied"));
        if (getuid() == 0)
            CHECK(seteuid(0) == 0);
    }
    CHECK(truncate(path, (off_t)TOKENIZER_MAX_FILE + 1) == 0 && chmod(path, 0600) == 0);
    CHECK(refused(path, ": larger than 67108864 bytes"));
    remove(path);
    free(file);
}

enum { MANY = 2000 };

/* What loading says of a file of the 256 bytes, then MANY tokens a, then aa, with these merges and added
 * tokens;
 * "" if it loads. */
static const char *
load(const uint32_t (*merges)[3], uint32_t n, const uint32_t *added, uint32_t m)
{
    static const uint32_t spaces[] = {9, 13, ' ', ' '};
    uint32_t header[TOKENIZER_HEADER] = {
        0x4b543651, TOKENIZER_VERSION, 0, 0, 0, 0, 256 + MANY + 1, n, m, 0, 0, 2};
    uint32_t ends[256 + MANY + 1];
    char text[256 + MANY + 2];
    const char *error;
    Text file;
    Tokenizer other;

    for (uint32_t id = 0; id < header[6]; id++) {
        ends[id] = id + 1 + (id == 256 + MANY);
        text[id] = (char)(id < 256 ? id : 'a');
    }
    text[256 + MANY + 1] = 'a';
    header[TOKENIZER_HEADER - 1] = sizeof text;
    memset(&file, 0, sizeof file);
    CHECK(!text_append(&file, (const char *)header, sizeof header));
    CHECK(!text_append(&file, (const char *)ends, sizeof ends));
    CHECK(!text_append(&file, (const char *)merges, n * sizeof *merges));
    CHECK(!text_append(&file, (const char *)added, 4 * m));
    CHECK(!text_append(&file, (const char *)spaces, sizeof spaces));
    CHECK(!text_append(&file, text, sizeof text));
    error = tokenizer_load(&other, (unsigned char *)file.text, file.n, "file");
    tokenizer_close(&other);
    return error ? error : "";
}

static void
refuses_what_would_take_for_ever(void)
{
    static uint32_t added[TOKENIZER_MAX_ADDED + 1], merges[TOKENIZER_MAX_PROBES + 1][3];
    uint32_t n = 0;
    Tokenizer empty;

    for (uint32_t i = 0; i <= TOKENIZER_MAX_ADDED; i++)
        added[i] = 256 + i;
    CHECK(!strcmp(load(merges, 0, added, TOKENIZER_MAX_ADDED), ""));
    CHECK(strstr(load(merges, 0, added, TOKENIZER_MAX_ADDED + 1), "1025 added tokens, the limit is 1024"));

    empty.slots = 256; /* as many as loading makes for this many merges */
    for (uint32_t left = 256; left < 256 + MANY; left++)
        for (uint32_t right = 256; right < 256 + MANY && n <= TOKENIZER_MAX_PROBES; right++)
            if (tokenizer_hash(&empty, left, right) == 7) {
                merges[n][0] = left;
                merges[n][1] = right;
                merges[n++][2] = 256 + MANY;
            }
    CHECK(n == TOKENIZER_MAX_PROBES + 1);
    CHECK(!strcmp(load(merges, n - 1, added, 0), ""));
    CHECK(strstr(load(merges, n, added, 0), "too many merges share a place in the hash table, up to 64"));
}

static void
refuses_every_shorter_or_longer_file(void)
{
    size_t size = handmade_tokenizer(NULL);
    unsigned char *whole = (unsigned char *)malloc(size + 1);

    handmade_tokenizer(whole);
    whole[size] = 0;
    for (size_t n = 0; n <= size + 1; n++) {
        unsigned char *file = (unsigned char *)malloc(n + 1); /* + 1: malloc(0) may be NULL */
        const char *error;
        Tokenizer other;

        memcpy(file, whole, n);
        error = tokenizer_load(&other, file, n, "file");
        CHECK(n == size ? error == NULL : error != NULL && strstr(error, "file: ") == error);
        tokenizer_close(&other);
    }
    free(whole);
}

static void
encodes_long_words(void)
{
    enum { LONG = 200000 };
    static char text[LONG];
    Piece piece = {text, LONG, 0};
    Tokens out;

    memset(&out, 0, sizeof out);
    memset(text, 'a', LONG);
    CHECK(tokenizer_encode(&t, &piece, 1, &out) == NULL && out.n == LONG / 4 && out.id[0] == AAAA);
    /* Alternating marks of classes 230 and 220, to be sorted: U+0301 U+0323. */
    for (int i = 0; i < LONG; i++)
        text[i] = (i & 1) == 0 ? '\xcc' : (i & 2) ? '\xa3' : '\x81';
    out.n = 0;
    CHECK(tokenizer_encode(&t, &piece, 1, &out) == NULL && out.n == LONG);
    CHECK(out.id[1] == 0xa3 && out.id[LONG / 2 - 1] == 0xa3 && out.id[LONG / 2 + 1] == 0x81 &&
          out.id[LONG - 1] == 0x81);
    piece.n = (size_t)TOKENIZER_MAX_TEXT + 1;
    out.n = 0;
    CHECK(strstr(tokenizer_encode(&t, &piece, 1, &out), "the text is too long") && out.n == 0);
    tokens_free(&out);
}

int
main(void)
{
    const char *error = handmade_open(&t);

    if (error) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    splits_as_the_pattern_says();
    merges_by_rank_then_from_the_left();
    normalizes_to_form_c();
    keeps_bytes_that_are_no_utf8();
    finds_added_tokens_only_in_control_pieces();
    knows_its_tokens();
    fits_only_the_model_of_this_program();
    encodes_long_words();
    refuses_what_is_no_tokenizer();
    refuses_what_would_take_for_ever();
    refuses_every_shorter_or_longer_file();
    opens_only_a_good_file();
    tokenizer_close(&t);
    return test_result();
}
