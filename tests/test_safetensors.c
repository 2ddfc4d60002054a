/* test_safetensors.c: what safetensors.h accepts, what it refuses, and in which words. Run from tests/. The
 * files are made here, sparse, in a temporary directory; the names of the tensors are checked against headers
 * written by transformers (data/safetensors_*.json, see make_safetensors_goldens.py). */
#include "../safetensors.h"
#include "test.h"

#include <math.h>
#include <stddef.h>

/* ---- a model file to be, which each test spoils in its own way ---- */

enum {
    MOST_ROWS = 8000,
    STRIDE = LAYERS > 4 ? 31 : 1 /* every byte of the small model's header is tried, of the real one's some */
};

typedef struct {
    char name[320];
    const char *dtype;
    int bytes; /* of an element */
    int rank;
    uint64_t shape[2], begin, end;
} Row;

static Row rows[MOST_ROWS];
static int row_count;
static char header[1 << 20];
static char folder[] = "/tmp/test_safetensors.XXXXXX", path[64];

static Row *
add(const char *name, uint64_t n, uint64_t columns)
{
    Row *row = &rows[row_count++];

    memset(row, 0, sizeof *row);
    snprintf(row->name, sizeof row->name, "%s", name);
    row->dtype = "BF16";
    row->bytes = 2;
    row->rank = columns ? 2 : 1;
    row->shape[0] = n;
    row->shape[1] = columns;
    return row;
}

static Row *
find(const char *name)
{
    for (int i = 0; i < row_count; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    fprintf(stderr, "no row %s\n", name);
    exit(1);
}

/* Gives each row its place, one after the other, and writes the header; returns the size of the data. */
static uint64_t
lay_out(void)
{
    uint64_t at = 0;

    for (int i = 0; i < row_count; i++) {
        rows[i].begin = at;
        at += rows[i].shape[0] * (rows[i].rank == 2 ? rows[i].shape[1] : 1) * (uint64_t)rows[i].bytes;
        rows[i].end = at;
    }
    return at;
}

static void
write_header(void)
{
    char *at = header;

    at += sprintf(at, "{\"__metadata__\": {\"format\": \"pt\"}");
    for (int i = 0; i < row_count; i++) {
        Row *row = &rows[i];

        at += sprintf(at, ", \"%s\": {\"dtype\": \"%s\", \"shape\": [%llu", row->name, row->dtype,
                      (unsigned long long)row->shape[0]);
        if (row->rank == 2)
            at += sprintf(at, ", %llu", (unsigned long long)row->shape[1]);
        at += sprintf(at, "], \"data_offsets\": [%llu, %llu]}", (unsigned long long)row->begin,
                      (unsigned long long)row->end);
    }
    at += sprintf(at, "}");
    while ((at - header) % 8)
        *at++ = ' ';
    *at = '\0';
}

/* A right model, as it may come: embedding first, layers in order. */
static void
right_model(void)
{
    static const struct {
        const char *name;
        uint64_t rows, columns;
    } layer[] = {
        {"input_layernorm", HIDDEN, 0},          {"self_attn.q_proj", HEADS * HEAD_DIM, HIDDEN},
        {"self_attn.k_proj", KV_DIM, HIDDEN},    {"self_attn.v_proj", KV_DIM, HIDDEN},
        {"self_attn.o_proj", HIDDEN, Q_DIM},     {"self_attn.q_norm", HEAD_DIM, 0},
        {"self_attn.k_norm", HEAD_DIM, 0},       {"post_attention_layernorm", HIDDEN, 0},
        {"mlp.gate_proj", INTERMEDIATE, HIDDEN}, {"mlp.up_proj", INTERMEDIATE, HIDDEN},
        {"mlp.down_proj", HIDDEN, INTERMEDIATE},
    };

    row_count = 0;
    add("model.embed_tokens.weight", VOCAB, HIDDEN);
    for (int i = 0; i < LAYERS; i++)
        for (size_t k = 0; k < sizeof layer / sizeof *layer; k++) {
            char name[128];

            snprintf(name, sizeof name, "model.layers.%d.%s.weight", i, layer[k].name);
            add(name, layer[k].rows, layer[k].columns);
        }
    add("model.norm.weight", HIDDEN, 0);
}

/* ---- writing it, opening it ---- */

static FILE *
create(void)
{
    FILE *file = fopen(path, "wb");

    if (file == NULL) {
        perror(path);
        exit(1);
    }
    return file;
}

static void
put_length(unsigned char *out, uint64_t length)
{
    for (int i = 0; i < 8; i++)
        out[i] = (unsigned char)(length >> 8 * i);
}

/* Writes `header` and `data` bytes of zeros, which take no room on the disk. */
static void
write_file(uint64_t data)
{
    unsigned char length[8];
    size_t n = strlen(header);
    FILE *file = create();

    put_length(length, n);
    fwrite(length, 1, 8, file);
    fwrite(header, 1, n, file);
    fflush(file);
    if (ftruncate(fileno(file), (off_t)(8 + n + data)) != 0)
        perror("ftruncate");
    fclose(file);
}

static void
write_text(const char *text)
{
    FILE *file = create();

    fputs(text, file);
    fclose(file);
}

/* Overwrites bytes of the data. */
static void
patch(uint64_t at, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "r+b");

    fseeko(file, (off_t)(8 + strlen(header) + at), SEEK_SET);
    fwrite(bytes, 1, n, file);
    fclose(file);
}

/* Opens the file at `path` and closes it again; returns the error line or "". */
static const char *
try_open(void)
{
    static char line[1100];
    Safetensors s;
    const char *error = safetensors_open(&s, path);

    snprintf(line, sizeof line, "%s", error ? error : "");
    CHECK(error == NULL || s.map == NULL);
    safetensors_close(&s);
    CHECK(s.map == NULL && s.embed.data == NULL);
    return line;
}

static const char *
try_rows(void)
{
    uint64_t data = lay_out();

    write_header();
    write_file(data);
    return try_open();
}

static int
contains(const char *line, const char *text)
{
    int good = strstr(line, text) != NULL && strchr(line, '\n') == NULL;

    for (const char *c = line; *c; c++)
        good &= (unsigned char)*c >= 0x20 && (unsigned char)*c < 0x7f;
    if (!good)
        fprintf(stderr, "    said: %s\n", line);
    return good;
}

static int
is_empty(const char *line)
{
    if (*line)
        fprintf(stderr, "    said: %s\n", line);
    return *line == '\0';
}

#define ACCEPTED(line) CHECK(is_empty(line))
#define REFUSED(line, text) CHECK(contains(line, text))

/* Parses a header given as text, followed by `data` zeros, in a block of exactly that size. */
static const char *
try_text(const char *text, size_t data)
{
    static char line[1100];
    size_t n = strlen(text);
    unsigned char *bytes = calloc(1, 8 + n + data);
    Safetensors s;
    const char *error;

    put_length(bytes, n);
    memcpy(bytes + 8, text, n);
    memset(&s, 0, sizeof s);
    error = safetensors_parse(&s, "x", bytes, 8 + n + data);
    snprintf(line, sizeof line, "%s", error ? error : "");
    free(bytes);
    return line;
}

/* ---- what is right ---- */

static void
test_tensors_are_where_the_header_says(void)
{
    Safetensors s;
    const char *error;
    unsigned char resident;
    uint64_t data;
    void *map;

    right_model();
    data = lay_out();
    write_header();
    write_file(data);
    for (int i = 0; i < row_count; i++) { /* mark the first and the last element of each */
        uint16_t first = (uint16_t)(2 * i + 1), last = (uint16_t)(2 * i + 2);

        patch(rows[i].begin, &first, 2);
        patch(rows[i].end - 2, &last, 2);
    }
    error = safetensors_open(&s, path);
    CHECK(error == NULL);
    if (error != NULL)
        return;
    for (int i = 0; i < row_count; i++) {
        const Tensor *t = i == 0               ? &s.embed
                          : i == row_count - 1 ? &s.norm
                                               : &s.layer[(i - 1) / LAYER_TENSORS][(i - 1) % LAYER_TENSORS];
        const uint16_t *values = t->data;

        CHECK(t->dtype == DTYPE_BF16);
        CHECK(t->count == (rows[i].end - rows[i].begin) / 2);
        CHECK((const char *)t->data - (const char *)s.map == (ptrdiff_t)(8 + strlen(header) + rows[i].begin));
        CHECK(values[0] == 2 * i + 1 && values[t->count - 1] == 2 * i + 2);
    }
    map = s.map;
    safetensors_close(&s);
    CHECK(mincore(map, 1, &resident) != 0 && errno == ENOMEM); /* nothing is mapped there any more */
}

static void
test_header_written_by_transformers_is_accepted(void)
{
    char name[64];
    uint64_t data = 0;
    const char *error;
    FILE *file;

    snprintf(name, sizeof name, "data/safetensors_%s.json", MODEL_NAME);
    file = fopen(name, "rb");
    CHECK(file != NULL);
    if (file == NULL)
        return;
    header[fread(header, 1, sizeof header - 1, file)] = '\0';
    fclose(file);
    for (const char *at = header; (at = strstr(at, "\"data_offsets\":[")) != NULL; at++) {
        unsigned long long begin, end;

        if (sscanf(at, "\"data_offsets\":[%llu,%llu", &begin, &end) == 2 && end > data)
            data = end;
    }
    while (strlen(header) % 8)
        strcat(header, " ");
    write_file(data);
    error = try_open();
    ACCEPTED(error);
    CHECK(data > 0);
}

static void
test_order_and_further_tensors_do_not_matter(void)
{
    char name[64];
    Row row;

    right_model();
    for (int i = 0; i < row_count / 2; i++) {
        row = rows[i];
        rows[i] = rows[row_count - 1 - i];
        rows[row_count - 1 - i] = row;
    }
    for (int i = 0; i < 7000; i++) {
        snprintf(name, sizeof name, "other.%d", i);
        add(name, i % 3, i % 5)->dtype = i % 2 ? "I16" : "F16";
    }
    ACCEPTED(try_rows());
}

static void
test_f16_and_f32_are_accepted(void)
{
    right_model();
    for (int i = 0; i < row_count; i++) {
        rows[i].dtype = i % 2 ? "F16" : "F32";
        rows[i].bytes = i % 2 ? 2 : 4;
    }
    ACCEPTED(try_rows());
}

static void
test_other_dtypes_are_refused_by_name(void)
{
    static const struct {
        const char *dtype;
        int bytes;
    } others[] = {{"F64", 8}, {"I8", 1}, {"U8", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"I32", 4}, {"I16", 2}};
    char expected[128];

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        right_model();
        find("model.layers.1.mlp.down_proj.weight")->dtype = others[i].dtype;
        find("model.layers.1.mlp.down_proj.weight")->bytes = others[i].bytes;
        snprintf(expected, sizeof expected,
                 "model.layers.1.mlp.down_proj.weight has dtype %s, expected BF16, F16 or F32",
                 others[i].dtype);
        REFUSED(try_rows(), expected);
    }
    right_model();
    find("model.norm.weight")->dtype = "BF17";
    REFUSED(try_rows(), "unknown dtype \"BF17\"");
}

static void
test_output_matrix_must_be_the_embedding(void)
{
    static const uint64_t places[] = {0, (uint64_t)(VOCAB - 1) * HIDDEN + HIDDEN - 1};
    uint16_t one = 0x3f80;
    Row *row;

    right_model();
    add("lm_head.weight", VOCAB, HIDDEN);
    ACCEPTED(try_rows());
    for (int i = 0; i < 2; i++) { /* one number differs, in the first row, in the last */
        char expected[64];

        write_file(rows[row_count - 1].end);
        patch(rows[row_count - 1].begin + 2 * places[i], &one, 2);
        snprintf(expected, sizeof expected, "row %d of lm_head.weight differs", i ? VOCAB - 1 : 0);
        REFUSED(try_open(), expected);
        patch(2 * places[i], &one, 2); /* the embedding's too */
        ACCEPTED(try_open());
    }
    right_model(); /* a copy in another dtype is a copy */
    row = add("lm_head.weight", VOCAB, HIDDEN);
    row->dtype = "F32";
    row->bytes = 4;
    ACCEPTED(try_rows());
    row->shape[1] = HIDDEN / 2;
    REFUSED(try_rows(), "lm_head.weight has shape");
}

/* ---- another model's file ---- */

static void
test_another_model_is_refused_by_its_first_difference(void)
{
    char expected[200];
    Row *row;

    right_model();
    row = find("model.layers.0.mlp.up_proj.weight");
    row->shape[1] = 2048;
    snprintf(expected, sizeof expected,
             "%s: model.layers.0.mlp.up_proj.weight has shape (%d, 2048), expected (%d, %d): this is not "
             "%s's model (is it %s's?)",
             path, INTERMEDIATE, INTERMEDIATE, HIDDEN, MODEL_NAME, OTHER_NAME);
    REFUSED(try_rows(), expected);

    right_model();
    row = find("model.layers.2.self_attn.q_norm.weight");
    row->rank = 2;
    row->shape[1] = 1;
    snprintf(expected, sizeof expected, "q_norm.weight has shape (%d, 1), expected (%d)", HEAD_DIM, HEAD_DIM);
    REFUSED(try_rows(), expected);

    right_model();
    strcpy(find("model.layers.3.self_attn.k_norm.weight")->name, "elsewhere");
    snprintf(expected, sizeof expected,
             "%s has no tensor model.layers.3.self_attn.k_norm.weight: this is not %s's", path, MODEL_NAME);
    REFUSED(try_rows(), expected);

    right_model();
    snprintf(expected, sizeof expected, "model.layers.%d.input_layernorm.weight", LAYERS);
    add(expected, HIDDEN, 0);
    snprintf(expected, sizeof expected, "%s has a further tensor, model.layers.%d.input_layernorm.weight",
             path, LAYERS);
    REFUSED(try_rows(), expected);

    right_model();
    add("model.layers.0.self_attn.q_proj.bias", Q_DIM, 0);
    REFUSED(try_rows(), "has a further tensor, model.layers.0.self_attn.q_proj.bias");

    REFUSED(try_text("{}", 0), "has no tensor model.embed_tokens.weight");
}

/* ---- what is not even a file of weights ---- */

static void
test_not_a_model_file(void)
{
    char expected[200], index[80];

    remove(path);
    REFUSED(try_open(), "cannot open");
    REFUSED(try_open(), "No such file or directory");

    snprintf(index, sizeof index, "%s.index.json", path);
    fclose(fopen(index, "w"));
    REFUSED(try_open(), "the model is in several files");
    remove(index);

    mkdir(path, 0700);
    REFUSED(try_open(), "is a directory");
    rmdir(path);

    CHECK(mkfifo(path, 0600) == 0);
    REFUSED(try_open(), "is not a regular file"); /* and no waiting for a writer */
    remove(path);

    write_text("");
    REFUSED(try_open(), "is empty");
    write_text("123456789");
    REFUSED(try_open(), "has only 9 bytes");
    write_text("version https://git-lfs.github.com/spec/v1\noid sha256:"
               "f47f71177f32bcd101b7573ec9171e6a57f4f4d31148d38e382306f42996874b\nsize 1503300328\n");
    REFUSED(try_open(), "is a Git LFS pointer, not the weights; run `git lfs pull`");
    write_text("<!DOCTYPE html><html>Not found</html>");
    REFUSED(try_open(), "is not a safetensors file");

    right_model();
    try_rows();
    if (chmod(path, 0) == 0 && (geteuid() != 0 || seteuid(65534) == 0)) { /* root may read anything */
        REFUSED(try_open(), "cannot open");
        if (getuid() == 0)
            CHECK(seteuid(0) == 0);
    }
    chmod(path, 0600);

    write_file(rows[row_count - 1].end - 1);
    snprintf(expected, sizeof expected, "is truncated: it has %llu bytes of data, its header describes %llu",
             (unsigned long long)rows[row_count - 1].end - 1, (unsigned long long)rows[row_count - 1].end);
    REFUSED(try_open(), expected);
    write_file(rows[row_count - 1].end + 5);
    REFUSED(try_open(), "it goes on for 5 bytes after its last tensor");
}

/* ---- a hostile header ---- */

static void
test_length_of_the_header(void)
{
    static const uint64_t lengths[] = {0, 1, 100000001, 1ull << 32, 1ull << 63, UINT64_MAX - 7, UINT64_MAX};
    unsigned char bytes[16] = "........{}      ";
    Safetensors s;

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        put_length(bytes, lengths[i]);
        REFUSED(safetensors_parse(&s, "x", bytes, sizeof bytes), "x is not a safetensors file");
    }
    put_length(bytes, 9);
    REFUSED(safetensors_parse(&s, "x", bytes, sizeof bytes),
            "x is truncated: it has 16 bytes, its header alone should have 9");
    put_length(bytes, 8);
    REFUSED(safetensors_parse(&s, "x", bytes, sizeof bytes), "has no tensor");
}

static void
test_header_is_strict_json(void)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"{\"a\"}", "bad header at byte 12: expected ':'"},
        {"{\"a\":}", "expected '{'"},
        {"{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[", "expected '{'"},
        {"{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{", "a tensor has dtype, shape and data_offsets"},
        {"{\"a\":{}}", "a tensor has dtype, shape and data_offsets, each once"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[]}}", "a tensor has dtype, shape and data_offsets, each once"},
        {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}",
         "a tensor has dtype, shape and data_offsets, each once"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4],\"more\":1}}", "a tensor has dtype"},
        {"{\"a\":{\"dtype\":5}}", "expected '\"'"},
        {"{\"a\":{\"shape\":5}}", "expected '['"},
        {"{\"a\":{\"shape\":[-1]}}", "expected an integer"},
        {"{\"a\":{\"shape\":[1.5]}}", "expected ','"},
        {"{\"a\":{\"shape\":[1e3]}}", "expected ','"},
        {"{\"a\":{\"shape\":[01]}}", "expected an integer"},
        {"{\"a\":{\"shape\":[\"1\"]}}", "expected an integer"},
        {"{\"a\":{\"shape\":[1,]}}", "expected an integer"},
        {"{\"a\":{\"shape\":[,1]}}", "expected an integer"},
        {"{\"a\":{\"shape\":[1 2]}}", "expected ','"},
        {"{\"a\":{\"shape\":[18446744073709551616]}}", "number too large"},
        {"{\"a\":{\"shape\":[99999999999999999999999999]}}", "number too large"},
        {"{\"a\":{\"shape\":[1,1,1,1,1,1,1,1,1]}}", "array too long"},
        {"{\"a\":{\"data_offsets\":[1]}}", "data_offsets are two integers"},
        {"{\"a\":{\"data_offsets\":[1,2,3]}}", "array too long"},
        {"{\"a\":{\"dtype\":\"\\u001b[2J\\n\"}}", "a name is not up to 127 printable ASCII characters"},
        {"{\"a\":{\"dtype\":\"[2J\"}}", "unknown dtype \"[2J\""},
        {"{\"a\":{\"d\\u0074ype\":", "a name is not up to 127 printable ASCII characters"},
        {"{\"__metadata__\":{\"a\":\"b\"},}", "expected '\"'"},
        {"{,}", "expected '\"'"},
        {"{\"__metadata__\":{\"a\":{}}}", "expected '\"'"},
        {"{\"__metadata__\":{\"a\":\"b\"", "expected ','"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", "__metadata__ appears twice"},
        {"{\"__metadata__\":{\"a\n\":", "control character in a string"},
        {"{\"__metadata__\":{\"a\\\n\":", "control character in a string"},
        {"{\"__metadata__\":{\"\\", "control character in a string"},
        {"{\"__metadata__\":{\"\\\"", "expected '\"'"},
        {"{\"a\n\":", "a name is not up to 127 printable ASCII characters without a backslash"},
        {"{\"\x7f\":", "a name is not up to 127 printable ASCII characters without a backslash"},
        {"{\"\xc3\xa9\":", "a name is not up to 127 printable ASCII characters without a backslash"},
        {"{\"\\x\":", "a name is not up to 127 printable ASCII characters without a backslash"},
        {"{\"\\", "a name is not up to 127 printable ASCII characters without a backslash"},
        {"{} x", "text after the end"},
        {"{}{}", "text after the end"},
        {"{'a'", "expected '\"'"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        REFUSED(try_text(cases[i].text, 0), cases[i].why);
}

/* What the format allows, though no writer may do it: white space, keys in any order, any text in metadata.
 */
static void
test_header_may_be_any_json(void)
{
    uint64_t data;
    char *rest, *copy;

    right_model();
    data = lay_out();
    write_header();
    rest = strstr(header, "}, ") + 3;
    copy = strdup(rest);
    sprintf(rest,
            "\n\t\r \"z\"\n: { \"data_offsets\"\t:[ %llu , %llu\n] , \"shape\" : [ ] , \"dtype\" : \"F32\" } "
            ", %s\n\n",
            (unsigned long long)data, (unsigned long long)data + 4, copy);
    free(copy);
    write_file(data + 4);
    ACCEPTED(try_open());
    REFUSED(try_text("{\"__metadata__\":{\"\\\\\":\"\\\"\\u00e9\\/\xc3\xa9\\ud800\"}}", 0), "has no tensor");
}

static void
test_names_are_unique_and_plain(void)
{
    static const char refused[] = "a name is not up to 127 printable ASCII characters without a backslash";
    Row *row;

    right_model();
    add("model.norm.weight", HIDDEN, 0);
    REFUSED(try_rows(), "model.safetensors: model.norm.weight appears twice");
    lay_out();
    rows[row_count - 1].begin = find("model.norm.weight")->begin; /* and both at the same place */
    rows[row_count - 1].end = find("model.norm.weight")->end;
    write_header();
    write_file(rows[row_count - 1].end);
    REFUSED(try_open(), "model.safetensors: model.norm.weight appears twice");

    right_model();
    strcpy(find("model.norm.weight")->name, "model.\\u006eorm.weight");
    REFUSED(try_rows(), refused);
    right_model();
    add("other\xc2\x9b", 1, 0);
    REFUSED(try_rows(), refused);

    right_model();
    row = add("model.", 1, 0);
    memset(row->name + 6, 'y', 121);
    REFUSED(try_rows(), "yyyyyy: this is not");
    row->name[127] = 'y';
    REFUSED(try_rows(), refused);
}

static void
test_offsets_fit_the_shape_and_the_file(void)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}",
         "x: a of shape (2) in F32 takes 64 bits, but its offsets are 0 to 4"},
        {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[4,0]}}", "its offsets are 4 to 0"},
        {"{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", "takes 12 bits"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[18446744073709551615,3]}}",
         "but its offsets are"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}",
         "the shape (4294967296, 4294967296) of a is too large"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[18446744073709551615],\"data_offsets\":[0,4]}}",
         "is too large"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[9],\"data_offsets\":[0,9]}}",
         "x is truncated: it has 8 bytes of data, its header describes 9"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2305843009213693951],\"data_offsets\":[0,2305843009213693951]}"
         "}",
         "is truncated: it has 8 bytes of data, its header describes 2305843009213693951"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[18446744073709551614,18446744073709551615]"
         "}}",
         "18446744073709551614 bytes before the data of a belong to no tensor"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[0,5]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}",
         "x: the data of a and b overlap"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]}}",
         "overlap"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}",
         "x: 1 bytes before the data of b belong to no tensor"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[7],\"data_offsets\":[0,7]}}",
         "it goes on for 1 bytes after its last tensor"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]},"
         "\"b\":{\"dtype\":\"I64\",\"shape\":[4,0],\"data_offsets\":[8,8]}}",
         "has no tensor model.embed_tokens.weight"}, /* nothing wrong with the offsets */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        REFUSED(try_text(cases[i].text, 8), cases[i].why);
}

static void
test_elements_must_be_aligned(void)
{
    Row embed, *odd;

    right_model();
    odd = add("odd", 3, 0);
    odd->dtype = "I8";
    odd->bytes = 1;
    embed = rows[0]; /* what follows three bytes lies at an odd place */
    rows[0] = *odd;
    *odd = embed;
    REFUSED(try_rows(), "is not aligned to its elements");
}

static unsigned char *
model_in_memory(size_t *start, size_t *size)
{
    uint64_t data;
    unsigned char *bytes;

    right_model();
    data = lay_out();
    write_header();
    *start = 8 + strlen(header);
    *size = *start + data;
    bytes = calloc(1, *size);
    put_length(bytes, strlen(header));
    memcpy(bytes + 8, header, strlen(header));
    return bytes;
}

static void
test_header_cut_at_any_byte(void)
{
    size_t start, size;
    unsigned char *whole = model_in_memory(&start, &size);
    Safetensors s;
    int cuts = 0, good = 0;

    CHECK(safetensors_parse(&s, "x", whole, size) == NULL);
    for (size_t n = 0; n < start; n += STRIDE, cuts++) {
        unsigned char *part = malloc(n ? n : 1); /* exactly n bytes, so that ASan sees one too many */
        const char *error, *expected = n == 0 ? "is empty" : n < 10 ? "has only" : "is truncated";

        memcpy(part, whole, n);
        error = safetensors_parse(&s, "x", part, n); /* the file ends there */
        good += error != NULL && strstr(error, expected) != NULL;
        if (n >= 10) { /* the header ends there */
            put_length(part, n - 8);
            error = safetensors_parse(&s, "x", part, n);
            good += error != NULL && (strstr(error, "bad header") || strstr(error, "is truncated"));
        } else
            good++;
        free(part);
    }
    CHECK(good == 2 * cuts);
    free(whole);
}

/* No byte of the header can be changed so that a tensor comes to lie outside the data. */
static void
test_header_with_any_byte_changed(void)
{
    size_t start, size;
    unsigned char *bytes = model_in_memory(&start, &size);
    static const unsigned char changes[] = {1, 2, 4, 8, 64, 128, 0x5d};
    int outside = 0, refused = 0;

    for (size_t i = 0; i < start; i += STRIDE) {
        unsigned char change = changes[i % sizeof changes];
        Safetensors s;

        bytes[i] ^= change;
        if (safetensors_parse(&s, "x", bytes, size) != NULL)
            refused++;
        else
            for (int layer = 0; layer < LAYERS; layer++)
                for (int k = 0; k < LAYER_TENSORS; k++) {
                    const Tensor *t = &s.layer[layer][k];
                    const unsigned char *data = t->data;

                    outside += data < bytes + start || data + 2 * t->count > bytes + size;
                }
        bytes[i] ^= change;
    }
    CHECK(outside == 0);
    CHECK(refused > (int)(start / STRIDE) / 2);
    free(bytes);
}

/* ---- numbers ---- */

static float
float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, 4);
    return value;
}

static void
test_every_half_widens_exactly(void)
{
    int wrong = 0;

    for (int half = 0; half < 0x10000; half++) {
        int exponent = half >> 10 & 31, fraction = half & 1023;
        float value = half_widen((uint16_t)half);
        double expected = exponent == 31 ? (fraction ? NAN : INFINITY)
                          : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                         : ldexp(fraction, -24);

        if (isnan(expected))
            wrong += !isnan(value);
        else
            wrong += value != (half & 0x8000 ? -expected : expected) || !signbit(value) != !(half & 0x8000);
    }
    CHECK(wrong == 0);
}

static void
test_floats_round_to_the_nearest_bf16(void)
{
    static const uint32_t lows[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    int wrong = 0;

    for (uint32_t high = 0; high < 0x10000; high++)
        for (int i = 0; i < 6; i++) {
            uint32_t bits = high << 16 | lows[i];
            uint16_t rounded = bf16_round(float_of(bits));
            uint32_t up = lows[i] > 0x8000 || (lows[i] == 0x8000 && high % 2); /* ties: to the even one */

            if (isnan(float_of(bits)))
                wrong += !isnan(float_of((uint32_t)rounded << 16)) || (rounded ^ high) >> 15;
            else
                wrong += rounded != high + up;
        }
    CHECK(wrong == 0);
    CHECK(bf16_round(float_of(0x7f7fffff)) == 0x7f80); /* the largest float is nearer to infinity */
}

static void
test_any_dtype_reads_as_bf16(void)
{
    static const uint16_t bf16[] = {0x3f80, 0xc000, 0x3e80}; /* 1, -2, 0.25 */
    static const uint16_t f16[] = {0x3c00, 0xc000, 0x3400};
    static const float f32[] = {1, -2, 0.25f};
    const void *data[DTYPES] = {bf16, f16, f32};

    for (int dtype = 0; dtype < DTYPES; dtype++) {
        Tensor tensor = {data[dtype], dtype, 3};
        uint16_t out[3] = {7, 7, 7};

        safetensors_bf16(&tensor, 1, 2, out);
        CHECK(out[0] == bf16[1] && out[1] == bf16[2] && out[2] == 7);
    }
}

int
main(void)
{
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        return 1;
    }
    chmod(folder, 0711);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    test_tensors_are_where_the_header_says();
    test_header_written_by_transformers_is_accepted();
    test_order_and_further_tensors_do_not_matter();
    test_f16_and_f32_are_accepted();
    test_other_dtypes_are_refused_by_name();
    test_output_matrix_must_be_the_embedding();
    test_another_model_is_refused_by_its_first_difference();
    test_not_a_model_file();
    test_length_of_the_header();
    test_header_is_strict_json();
    test_header_may_be_any_json();
    test_names_are_unique_and_plain();
    test_offsets_fit_the_shape_and_the_file();
    test_elements_must_be_aligned();
    test_header_cut_at_any_byte();
    test_header_with_any_byte_changed();
    test_every_half_widens_exactly();
    test_floats_round_to_the_nearest_bf16();
    test_any_dtype_reads_as_bf16();
    remove(path);
    rmdir(folder);
    return test_result();
}
