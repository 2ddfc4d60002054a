/* parity MODEL_DIR REFERENCE_DIR [-d cpu|gpu] [-w BITS] [-n N] [CHUNK...]
 *
 * Compares an engine with the logits that parity_reference.py left in REFERENCE_DIR, and exits with 1 if it
 * is further from them than it may be. The prompt goes through prefill in chunks of CHUNK tokens (0, the
 * default: as many as there are up to the next position). The distance of two rows of logits is ||x - y|| /
 * ||y||.
 *
 * The CPU must be within 1e-4 of b (float32, k and v rounded as its cache has them); the GPU nowhere further
 * from a (float32) than c is (Hugging Face in bf16). Then N tokens (default 200) are run one by one: the best
 * token may differ from the reference's only where the reference's two best logits are closer than twice the
 * greatest error measured in a logit. */
#include "../cpu.h"
#ifdef __CUDACC__
#include "../model.cuh"
#endif

typedef struct {
    int vocab, n, rows;
    int *pos;         /* (rows) */
    int *tokens;      /* (n) */
    float *a, *b, *c; /* (rows, vocab); no b, if the reference has none */
    int *greedy[2];   /* (n) in a, in b */
    float *margin[2]; /* (n) */
} Reference;

static void
die(const char *line)
{
    fprintf(stderr, "parity: %s\n", line);
    exit(1);
}

static void
check(const char *error)
{
    if (error != NULL)
        die(error);
}

static void *
read_words(const char *dir, const char *name, size_t n)
{
    char path[4096];
    void *words = malloc(n * 4);
    FILE *file = NULL;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (words == NULL || (file = fopen(path, "rb")) == NULL || fread(words, 4, n, file) != n)
        die(fail("cannot read %zu words of %s", n, path));
    fclose(file);
    return words;
}

/* The CPU's reference is b, which the GPU's does without. */
static Reference
read_reference(const char *dir, int on_gpu)
{
    Reference r;
    char path[4096];
    FILE *file;
    size_t logits;

    snprintf(path, sizeof path, "%s/index", dir);
    if ((file = fopen(path, "r")) == NULL || fscanf(file, "%d %d %d", &r.vocab, &r.n, &r.rows) != 3)
        die(fail("cannot read %s", path));
    if (r.vocab != VOCAB)
        die(fail("%s has a vocabulary of %d, this program is built for %d", path, r.vocab, VOCAB));
    r.pos = (int *)malloc(r.rows * sizeof(int));
    for (int i = 0; i < r.rows; i++)
        if (r.pos == NULL || fscanf(file, "%d", &r.pos[i]) != 1 || r.pos[i] < 0 || r.pos[i] >= r.n ||
            (i > 0 && r.pos[i] <= r.pos[i - 1]))
            die(fail("%s: %d ascending positions below %d expected", path, r.rows, r.n));
    fclose(file);
    logits = (size_t)r.rows * VOCAB;
    r.tokens = (int *)read_words(dir, "tokens.i32", r.n);
    r.a = (float *)read_words(dir, "a.f32", logits);
    r.c = (float *)read_words(dir, "c.f32", logits);
    r.greedy[0] = (int *)read_words(dir, "greedy_a.i32", r.n);
    r.margin[0] = (float *)read_words(dir, "margin_a.f32", r.n);
    r.b = NULL;
    snprintf(path, sizeof path, "%s/b.f32", dir);
    if (on_gpu && access(path, F_OK) != 0)
        return r;
    r.b = (float *)read_words(dir, "b.f32", logits);
    r.greedy[1] = (int *)read_words(dir, "greedy_b.i32", r.n);
    r.margin[1] = (float *)read_words(dir, "margin_b.f32", r.n);
    return r;
}

static double
distance(const float *x, const float *y)
{
    double difference = 0, norm = 0;

    for (int i = 0; i < VOCAB; i++) {
        difference += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
        norm += (double)y[i] * y[i];
    }
    return sqrt(difference / norm);
}

static double
greatest_error(const float *x, const float *y)
{
    double greatest = 0;

    for (int i = 0; i < VOCAB; i++)
        if (!(fabs((double)x[i] - y[i]) <= greatest)) /* NaN counts */
            greatest = fabs((double)x[i] - y[i]);
    return greatest;
}

static int
best_of(const float *x)
{
    int best = 0;

    for (int i = 1; i < VOCAB; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

/* Prints a line for each position of the reference; returns how many are out of bounds, and the greatest
 * error of a logit against the reference that counts for this engine. */
static int
compare_logits(const Engine *engine, void *state, const Reference *r, int chunk, int on_gpu, double *error)
{
    Candidate *all = (Candidate *)malloc(VOCAB * sizeof *all);
    float *logits = (float *)malloc(VOCAB * sizeof *logits);
    int bad = 0, at = 0;

    if (all == NULL || logits == NULL)
        die("not enough memory");
    for (int i = 0; i < r->rows; i++) {
        const float *a = r->a + (size_t)i * VOCAB, *b = r->b != NULL ? r->b + (size_t)i * VOCAB : a;
        const float *c = r->c + (size_t)i * VOCAB, *reference = on_gpu ? a : b;
        double to_a, to_b, c_to_a;
        char b_column[16] = "-";
        int sorted = 1, wrong;

        while (at < r->pos[i]) {
            int left = r->pos[i] - at, n = chunk > 0 && chunk < left ? chunk : left;

            check(engine->prefill(state, r->tokens + at, n, at));
            at += n;
        }
        check(engine->decode(state, &r->tokens[at], 1, at, 0, all));
        at++;
        for (int k = 0; k < VOCAB; k++)
            logits[k] = NAN;
        for (int k = 0; k < VOCAB; k++) {
            logits[all[k].id] = all[k].logit;
            sorted &= k == 0 || sampler_before(all[k - 1], all[k]);
        }
        to_a = distance(logits, a);
        to_b = distance(logits, b);
        c_to_a = distance(c, a);
        wrong = !sorted || !(on_gpu ? to_a <= c_to_a : to_b <= 1e-4);
        bad += wrong;
        if (!(greatest_error(logits, reference) <= *error))
            *error = greatest_error(logits, reference);
        if (r->b != NULL)
            snprintf(b_column, sizeof b_column, "%.2e", to_b);
        printf("%8d %8d  %.2e  %-8s  %.2e  %8d %9d  %.1e %s\n", chunk, r->pos[i], to_a, b_column, c_to_a,
               all[0].id, best_of(reference), r->margin[!on_gpu][r->pos[i]], wrong ? "  OUT OF BOUNDS" : "");
    }
    free(all);
    free(logits);
    return bad;
}

/* Returns how many of the first n greedy tokens differ from the reference's without excuse. */
static int
compare_greedy(const Engine *engine, void *state, const Reference *r, int n, int on_gpu, double error)
{
    const int *greedy = r->greedy[!on_gpu];
    const float *margin = r->margin[!on_gpu];
    int differences = 0, bad = 0;
    float least = INFINITY;

    for (int i = 0; i < n; i++) {
        Candidate best;

        check(engine->decode(state, &r->tokens[i], 1, i, 1, &best));
        if (margin[i] < least)
            least = margin[i];
        if (best.id == greedy[i])
            continue;
        differences++;
        bad += !(margin[i] < 2 * error);
        printf("position %d: %d, not %d; margin %.2e, allowed below %.2e\n", i, best.id, greedy[i], margin[i],
               2 * error);
    }
    printf("greedy, teacher-forced: %d tokens, %d differ, %d of them beyond the error of %.2e; least margin "
           "%.2e\n",
           n, differences, bad, error, least);
    return bad;
}

int
main(int argc, char **argv)
{
    const char *dirs[2] = {NULL, NULL};
    int chunks[16] = {0}, n_chunks = 0, n_dirs = 0, n = 200, on_gpu = 0, bad = 0;
    const Engine *engine = &cpu_engine;
    EngineOptions options = {0, 16, 1};
    double error = 0;
    Reference r;
    void *state;

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "-d") == 0 && i + 1 < argc)
            on_gpu = strcmp(argv[++i], "gpu") == 0;
        else if (strcmp(argv[i], "-w") == 0 && i + 1 < argc)
            options.bits = atoi(argv[++i]);
        else if (strcmp(argv[i], "-n") == 0 && i + 1 < argc)
            n = atoi(argv[++i]);
        else if (n_dirs < 2)
            dirs[n_dirs++] = argv[i];
        else if (n_chunks < 16)
            chunks[n_chunks++] = atoi(argv[i]);
    if (n_dirs < 2) {
        fprintf(stderr, "usage: %s MODEL_DIR REFERENCE_DIR [-d cpu|gpu] [-w BITS] [-n N] [CHUNK...]\n",
                argv[0]);
        return 2;
    }
    if (on_gpu) {
#ifdef __CUDACC__
        engine = &model_engine;
#else
        die("built without the GPU engine");
#endif
    }
    check(engine->probe());
    r = read_reference(dirs[1], on_gpu);
    options.context = r.n;
    check(engine->open(&state, dirs[0], options));

    printf("%s, %s\n", dirs[0], engine->device(state));
    printf("%8s %8s  %-8s  %-8s  %-8s  %8s %9s  %s\n", "chunk", "position", "to a", "to b", "c to a", "best",
           "reference", "margin");
    for (int i = 0; i < (n_chunks ? n_chunks : 1); i++)
        bad += compare_logits(engine, state, &r, chunks[i], on_gpu, &error);
    bad += compare_greedy(engine, state, &r, n < r.n ? n : r.n, on_gpu, error);
    engine->close(state);
    if (bad)
        printf("%d out of bounds\n", bad);
    return bad != 0;
}
