/* fuzz_safetensors.c: any bytes as a file of weights, for libFuzzer.
 *
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined fuzz_safetensors.c -o fuzz_safetensors
 *     ./fuzz_safetensors -max_len=4096 corpus/safetensors
 *
 * The shape is that of a model of a few bytes, in place of config.h, so that whole files that are accepted
 * are small enough to be found. corpus/safetensors holds such files and what fuzzing made of them. */
#define CONFIG_H
#define _DEFAULT_SOURCE
#define MODEL_NAME "few-bytes"
#define OTHER_NAME "other"
#define ROPE_THETA 10000.0
enum {
    LAYERS = 1,
    HIDDEN = 2,
    HEADS = 1,
    KV_HEADS = 1,
    HEAD_DIM = 2,
    INTERMEDIATE = 3,
    VOCAB = 4,
    Q_DIM = HEADS * HEAD_DIM,
    KV_DIM = KV_HEADS * HEAD_DIM
};
#include "../safetensors.h"

static void
require(int condition)
{
    if (!condition)
        abort();
}

static void
check_tensor(const Tensor *tensor, size_t count, const unsigned char *file, size_t size)
{
    const unsigned char *data = tensor->data;
    size_t bytes = count * (tensor->dtype == DTYPE_F32 ? 4 : 2);
    uint16_t values[VOCAB * HIDDEN];

    require(tensor->dtype >= 0 && tensor->dtype < DTYPES && tensor->count == count);
    require(data >= file + 10 && bytes <= size && data <= file + size - bytes);
    require((size_t)(data - file) % (tensor->dtype == DTYPE_F32 ? 4 : 2) == 0);
    safetensors_bf16(tensor, 0, count, values); /* reads all of it */
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    static const size_t counts[LAYER_TENSORS] = {2, 4, 4, 4, 4, 2, 2, 2, 6, 6, 6};
    unsigned char *file = malloc(size ? size : 1); /* aligned, as a mapping is, and of exactly that size */
    const char *error;
    Safetensors s;

    memcpy(file, input, size);
    memset(&s, 0, sizeof s);
    error = safetensors_parse(&s, "file", file, size);
    if (!error) {
        check_tensor(&s.embed, VOCAB * HIDDEN, file, size);
        check_tensor(&s.norm, HIDDEN, file, size);
        for (int i = 0; i < LAYER_TENSORS; i++)
            check_tensor(&s.layer[0][i], counts[i], file, size);
    } else
        for (; *error != '\0'; error++) /* one line that does nothing to a terminal */
            require(*error >= 0x20 && *error < 0x7f);
    free(file);
    return 0;
}
