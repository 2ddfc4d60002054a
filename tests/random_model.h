/* random_model.h: a directory with a model of the shape in config.h and random weights, initialised as the
 * model's own class does: matrices from a normal distribution of mean 0 and standard deviation 0.02, norm
 * weights 1. To those a standard deviation of 0.1 is added, so that a forgotten or exchanged norm shows.
 *
 * Every number is a function of the seed, its tensor and its place there alone: the 64 bits that SplitMix64
 * (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014) makes of a counter are four
 * numbers of 16 bits, and each of these chooses one of 65,536 equally likely quantiles. */
#ifndef RANDOM_MODEL_H
#define RANDOM_MODEL_H

#include "../safetensors.h"

#include <math.h>
#include <stdio.h>

static inline uint64_t
random_bits(uint64_t counter)
{
    uint64_t z = (counter + 1) * 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Token i of the sequence that the tests run; parity_reference.py has the same formula. */
static inline int
random_token(int i)
{
    return (int)(random_bits((uint64_t)i) % VOCAB);
}

/* quantiles[i] = the z below which a standard normal number is with probability (i + 1/2) / 65536. */
static inline void
random_quantiles(float quantiles[65536])
{
    double z = -5;

    for (int i = 0; i < 32768; i++) {
        for (int step = 0; step < 8; step++) /* Newton, from the quantile before */
            z -= (erfc(-z * sqrt(0.5)) / 2 - (i + 0.5) / 65536) / (exp(-z * z / 2) * 0.3989422804014327);
        quantiles[i] = (float)z;
        quantiles[65535 - i] = (float)-z;
    }
}

typedef struct {
    char name[64];
    int number, rows, columns; /* columns = 0: a vector */
} RandomTensor;

static inline int
random_by_name(const void *a, const void *b)
{
    return strcmp(((const RandomTensor *)a)->name, ((const RandomTensor *)b)->name);
}

/* Tensors in the order of their names, without lm_head: as transformers saves them. Returns how many. */
static inline int
random_tensors(RandomTensor *tensors)
{
    int n = 0;

    for (int layer = 0; layer <= LAYERS; layer++) {
        int first = layer < LAYERS ? 0 : EMBED, last = layer < LAYERS ? DOWN_PROJ : FINAL_NORM;

        for (int which = first; which <= last; which++, n++) {
            snprintf(tensors[n].name, sizeof tensors[n].name, safetensors_table[which].name, layer);
            tensors[n].number = n;
            tensors[n].rows = safetensors_table[which].rows;
            tensors[n].columns = safetensors_table[which].columns;
        }
    }
    qsort(tensors, n, sizeof *tensors, random_by_name);
    return n;
}

static inline const char *
random_write_tensor(FILE *file, const RandomTensor *tensor, int dtype, uint64_t seed, const float *quantiles)
{
    enum { CHUNK = 1 << 20 };
    static uint32_t wide[CHUNK];
    static uint16_t chunk[CHUNK];
    size_t count = (size_t)tensor->rows * (tensor->columns ? tensor->columns : 1);
    uint64_t key = random_bits(random_bits(seed) + (uint64_t)tensor->number);
    float mean = tensor->columns ? 0.0f : 1.0f, deviation = tensor->columns ? 0.02f : 0.1f;

    for (size_t start = 0; start < count; start += CHUNK) {
        int n = count - start < CHUNK ? (int)(count - start) : CHUNK; /* a multiple of 4 */

#ifdef _OPENMP
#pragma omp parallel for
#endif
        for (int i = 0; i < n; i += 4) {
            uint64_t bits = random_bits(key + (start + i) / 4);

            for (int j = 0; j < 4; j++, bits >>= 16) {
                float value = mean + deviation * quantiles[bits & 0xffff];

                chunk[i + j] = bf16_round(value);
                wide[i + j] = (uint32_t)chunk[i + j] << 16;
            }
        }
        if (dtype == DTYPE_BF16 ? fwrite(chunk, sizeof *chunk, n, file) != (size_t)n
                                : fwrite(wide, sizeof *wide, n, file) != (size_t)n)
            return fail("cannot write %s: %s", tensor->name, strerror(errno));
    }
    return NULL;
}

static inline const char *
random_write_weights(FILE *file, int dtype, uint64_t seed)
{
    enum { MOST = LAYERS * LAYER_TENSORS + 2 };
    static RandomTensor tensors[MOST];
    static char header[MOST * 160 + 64];
    static float quantiles[65536];
    int n = random_tensors(tensors), used;
    unsigned long long offset = 0;
    unsigned char length[8];
    const char *error = NULL;

    used = snprintf(header, sizeof header, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (int i = 0; i < n; i++) {
        unsigned long long rows = tensors[i].rows, columns = tensors[i].columns;
        unsigned long long end = offset + (dtype == DTYPE_BF16 ? 2 : 4) * rows * (columns ? columns : 1);
        char shape[32];

        snprintf(shape, sizeof shape, columns ? "%llu,%llu" : "%llu", rows, columns);
        used += snprintf(header + used, sizeof header - used,
                         ",\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%llu,%llu]}",
                         tensors[i].name, dtype == DTYPE_BF16 ? "BF16" : "F32", shape, offset, end);
        offset = end;
    }
    used += snprintf(header + used, sizeof header - used, "}");
    while (used % 8)
        header[used++] = ' ';
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)used >> 8 * i);
    if (fwrite(length, 1, 8, file) != 8 || fwrite(header, 1, used, file) != (size_t)used)
        return fail("cannot write the header: %s", strerror(errno));

    random_quantiles(quantiles);
    for (int i = 0; i < n && error == NULL; i++)
        error = random_write_tensor(file, &tensors[i], dtype, seed, quantiles);
    return error;
}

static inline const char *
random_write_config(FILE *file)
{
    int written = fprintf(file,
                          "{\n"
                          "  \"architectures\": [\"Qwen3ForCausalLM\"],\n"
                          "  \"model_type\": \"qwen3\",\n"
                          "  \"num_hidden_layers\": %d,\n"
                          "  \"hidden_size\": %d,\n"
                          "  \"num_attention_heads\": %d,\n"
                          "  \"num_key_value_heads\": %d,\n"
                          "  \"head_dim\": %d,\n"
                          "  \"intermediate_size\": %d,\n"
                          "  \"vocab_size\": %d,\n"
                          "  \"max_position_embeddings\": %d,\n"
                          "  \"rope_theta\": %.1f,\n"
                          "  \"rms_norm_eps\": %g,\n"
                          "  \"hidden_act\": \"silu\",\n"
                          "  \"attention_bias\": false,\n"
                          "  \"tie_word_embeddings\": true,\n"
                          "  \"torch_dtype\": \"bfloat16\"\n"
                          "}\n",
                          LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD_DIM, INTERMEDIATE, VOCAB, MAX_CONTEXT,
                          ROPE_THETA, (double)RMS_NORM_EPS);

    return written < 0 ? fail("%s", strerror(errno)) : NULL;
}

/* Writes dir/model.safetensors and dir/config.json; makes dir if it is not there. The dtype is DTYPE_BF16 or
 * DTYPE_F32: the same numbers, in a wider file. */
static inline const char *
random_model_write(const char *dir, int dtype, uint64_t seed)
{
    static const char *const names[] = {"config.json", "model.safetensors"};
    const char *error = NULL;

    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return fail("cannot make %s: %s", dir, strerror(errno));
    for (int i = 0; i < 2 && error == NULL; i++) {
        char path[4096];
        FILE *file;

        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        if ((file = fopen(path, "wb")) == NULL)
            return fail("cannot write %s: %s", path, strerror(errno));
        error = i == 0 ? random_write_config(file) : random_write_weights(file, dtype, seed);
        if (fclose(file) != 0 && error == NULL)
            error = fail("cannot write %s: %s", path, strerror(errno));
    }
    return error;
}

#endif
