/* cpu_cache MODEL_DIR DIR N|FILE: what parity_reference.py starts from. Runs N random tokens, or those whose
 * ids stand in FILE, through the CPU engine and writes, little endian,
 *
 *     DIR/tokens.i32   (n)
 *     DIR/cache.bf16   (2, layers, kv_heads, n, head_dim): k after RoPE, then v */
#include "../cpu.h"
#include "random_model.h"

static void
die(const char *line)
{
    fprintf(stderr, "cpu_cache: %s\n", line);
    exit(1);
}

static void
write_file(const char *dir, const char *name, const void *first, const void *second, size_t bytes)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    if ((file = fopen(path, "wb")) == NULL || fwrite(first, 1, bytes, file) != bytes ||
        (second != NULL && fwrite(second, 1, bytes, file) != bytes) || fclose(file) != 0)
        die(fail("cannot write %s: %s", path, strerror(errno)));
}

int
main(int argc, char **argv)
{
    static int tokens[MAX_CONTEXT];
    const char *error;
    void *state;
    FILE *file;
    char *end;
    int n;

    if (argc != 4) {
        fprintf(stderr, "usage: %s MODEL_DIR DIR N|FILE\n", argv[0]);
        return 2;
    }
    n = (int)strtol(argv[3], &end, 10);
    if (*end == '\0') {
        n = n < MAX_CONTEXT ? n : MAX_CONTEXT;
        for (int i = 0; i < n; i++)
            tokens[i] = random_token(i);
    } else {
        if ((file = fopen(argv[3], "r")) == NULL)
            die(fail("cannot open %s: %s", argv[3], strerror(errno)));
        for (n = 0; n < MAX_CONTEXT && fscanf(file, "%d", &tokens[n]) == 1; n++)
            ;
        fclose(file);
    }
    if (n < 1)
        die("no tokens");
    if (mkdir(argv[2], 0777) != 0 && errno != EEXIST)
        die(fail("cannot make %s: %s", argv[2], strerror(errno)));
    if ((error = cpu_engine.open(&state, argv[1], (EngineOptions){n, 16, 1})) != NULL ||
        (error = cpu_engine.prefill(state, tokens, n, 0)) != NULL)
        die(error);
    write_file(argv[2], "tokens.i32", tokens, NULL, (size_t)n * sizeof *tokens);
    write_file(argv[2], "cache.bf16", ((Cpu *)state)->k_cache, ((Cpu *)state)->v_cache,
               (size_t)LAYERS * KV_HEADS * n * HEAD_DIM * sizeof(uint16_t));
    cpu_engine.close(state);
    return 0;
}
