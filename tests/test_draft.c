/* What draft.h guesses, what that costs, and that chat.h gives the same replies with guesses and without:
 * with a tokenizer whose tokens are bytes, an engine that makes up repetitive text, and a clock that it
 * drives. */
#define QWEN600_TINY /* a small vocabulary, since some replies want all of it */
#include "toy_tokenizer.h"

#define NUMBERS_H /* the clock is ours */
static double now;
static double
seconds_now(void)
{
    return now;
}

/* Ctrl-C comes while the text of this token is on its way to the screen, counted from 1. */
static int interrupt_at, shown;
static const char *interrupting_bytes(const Tokenizer *t, int id, int *n);
#define tokenizer_bytes interrupting_bytes
#include "../chat.h"
#undef tokenizer_bytes
#include "test.h"

#include <time.h>
#include <unistd.h>

static const char *
interrupting_bytes(const Tokenizer *t, int id, int *n)
{
    if (++shown == interrupt_at && chat_phase == REPLYING)
        chat_phase = STOPPING;
    return tokenizer_bytes(t, id, n);
}

enum { MOST = MAX_ROWS - 1, LONG = 40960 };

/* ---- what is guessed ---- */

static Draft
opened(int capacity)
{
    Draft d;

    CHECK(!draft_open(&d, capacity));
    return d;
}

/* The guess after this text, as text, when rows cost nothing and guesses were right before. */
static const char *
after(const char *text, int most)
{
    static char guess[MOST + 1];
    int ids[256], guessed[MOST], n = (int)strlen(text);
    Draft d = opened(n + 1);

    for (int i = 0; i < n; i++)
        ids[i] = text[i];
    draft_follow(&d, ids, n);
    d.row = 0;
    for (int length = 1; length <= DRAFT_LONGEST; length++)
        d.right[length] = 0.5;
    n = draft_guess(&d, guessed, most);
    for (int i = 0; i < n; i++)
        guess[i] = (char)guessed[i];
    guess[n] = '\0';
    draft_close(&d);
    return guess;
}

static void
test_what_followed_the_last_tokens_is_guessed(void)
{
    CHECK(!strcmp(after("the cat sat. Th", 7), "e cat s"));
    CHECK(!strcmp(after("the cat sat. Th", 2), "e "));
    CHECK(!strcmp(after("the cat sat. Th", 0), ""));
    CHECK(!strcmp(after("abcd-xbcd+-xbc", 1), "d"));
    /* Longer is better than later, later better than earlier. */
    CHECK(!strcmp(after("abc1 bc2 c3 abc", 1), "1"));
    CHECK(!strcmp(after("abc1 abc2 xc3 abc", 1), "2"));
    /* It may run into itself. */
    CHECK(!strcmp(after("no: ha", 7), ""));
    CHECK(!strcmp(after("haha", 7), "hahahah"));
    CHECK(!strcmp(after("aa", 7), "aaaaaaa"));
    CHECK(!strcmp(after("abcabc", 7), "abcabca"));
    /* Where nothing repeats nothing is guessed. */
    CHECK(!strcmp(after("", 7), "") && !strcmp(after("a", 7), "") && !strcmp(after("abcdefg", 7), ""));
}

static void
test_the_match_is_the_longest_and_of_these_the_latest(void)
{
    int ids[DRAFT_TRIES];
    Sampler random = {0, 0, 0, 1};

    for (int round = 0; round < (under_valgrind() ? 200 : 2000);
         round++) { /* short, so that every place is looked at */
        Draft d = opened(DRAFT_TRIES);
        int symbols = 1 + round % 5, prompt = round % 7;

        for (int n = 0; n < DRAFT_TRIES; n++) {
            int length = 0, from = 0;

            ids[n] = (int)(sampler_random(&random) % (unsigned)symbols) << 15;
            if (n + 1 < prompt)
                continue;
            if (n + 1 == prompt)
                draft_follow(&d, ids, prompt);
            else
                draft_add(&d, ids[n]);
            for (int at = n - 1; at >= 0; at--) {
                int same = 0;
                while (same <= at && same < DRAFT_LONGEST && ids[at - same] == ids[n - same])
                    same++;
                if (same > length) {
                    length = same;
                    from = at + 1;
                }
            }
            CHECK(d.length == length);
            /* One that was followed to its full length is not looked for again. */
            if (length > 0 && length < DRAFT_LONGEST)
                CHECK(d.from == from);
            else if (length > 0)
                CHECK(!memcmp(ids + d.from - length, ids + n + 1 - length, (size_t)length * sizeof *ids));
        }
        draft_close(&d);
    }
}

static void
test_a_new_prompt_keeps_what_it_shares_with_the_last(void)
{
    enum { ROOM = 400 };
    int ids[ROOM];
    Draft d = opened(ROOM);
    Sampler random = {0, 0, 0, 2};

    memset(ids, 0, sizeof ids);
    for (int round = 0; round < (under_valgrind() ? 100 : 1000); round++) {
        int shared = (int)(sampler_random(&random) % ROOM), n = shared + (int)(sampler_random(&random) % 40);
        Draft fresh = opened(ROOM);

        n = n < ROOM ? n : ROOM;
        for (int i = shared; i < n; i++)
            ids[i] = (int)(sampler_random(&random) % 100000); /* some of these share a hash */
        draft_follow(&d, ids, n);
        draft_follow(&fresh, ids, n);
        CHECK(d.n == n && !memcmp(d.id, ids, (size_t)n * sizeof *ids));
        CHECK(!memcmp(d.before, fresh.before, (size_t)n * sizeof *ids));
        CHECK(!memcmp(d.latest, fresh.latest, sizeof *d.latest << DRAFT_BITS));
        CHECK(d.length == fresh.length && (d.length == 0 || d.from == fresh.from));
        draft_close(&fresh);
    }
    draft_close(&d);
}

/* ---- what it costs ---- */

/* A text as a chat would run it, a further row at so many passes: its time in passes, for each token. */
static double
replayed(Draft *d, const int *ids, int n, double row)
{
    int guess[MOST];
    double time = 0;

    draft_follow(d, ids, 0);
    for (int at = 0; at < n;) {
        int most = n - at - 1 < MOST ? n - at - 1 : MOST, i = 0;
        int rows = 1 + (at > 0 ? draft_guess(d, guess, most) : 0);
        double seconds = 1 + row * (rows - 1);

        draft_took(d, rows, seconds);
        time += seconds;
        draft_add(d, ids[at++]);
        for (; i < rows - 1 && guess[i] == ids[at - 1]; i++)
            draft_add(d, ids[at++]);
    }
    return time / n;
}

/* Tokens by chance, a few of them often and most of them seldom, as words are: what came after one of them
 * says nothing about what comes next. */
static void
no_repeats(int *ids, int n)
{
    Sampler random = {0, 0, 0, 3};

    for (int i = 0; i < n; i++)
        ids[i] = (int)exp(log(150000) * (double)(sampler_random(&random) >> 11) * 0x1p-53) - 1;
}

static void
test_text_without_repeats_costs_one_percent_at_most(void)
{
    static const double costs[] = {0, 0.02, 0.05, 0.115, 0.2, 0.3, 0.5, 1};
    static int ids[LONG];

    for (int c = 0; c < (int)(sizeof costs / sizeof *costs); c++)
        for (int n = 200; n <= LONG; n *= 14) {
            Draft d = opened(LONG);
            no_repeats(ids, n);
            CHECK(replayed(&d, ids, n, costs[c]) <= 1.01);
            for (int i = 0; i < n; i++)
                ids[i] = i * 3;
            CHECK(replayed(&d, ids, n, costs[c]) <= 1);
            draft_close(&d);
        }
}

static void
test_text_that_repeats_itself_gains_what_the_rows_allow(void)
{
    static int ids[LONG];
    Draft d = opened(LONG);

    no_repeats(ids, 1000);
    for (int i = 1000; i < 11000; i++) /* 1,000 new tokens, then these ten times */
        ids[i] = ids[i - 1000];
    CHECK(replayed(&d, ids, 11000, 0) <= 0.23);     /* 2 of 11 */
    CHECK(replayed(&d, ids, 11000, 0.115) <= 0.32); /* 1 of 11, and 1.805 passes for 8 tokens */
    CHECK(replayed(&d, ids, 11000, 1) <= 1.01);
    draft_close(&d);
}

static void
test_what_a_row_costs_is_learned(void)
{
    int guess[MOST], tokens[200];
    Draft d = opened(400);

    for (int i = 0; i < 200; i++)
        tokens[i] = i % 9;
    draft_follow(&d, tokens, 40);
    for (int i = 40; i < 200; i++)
        draft_add(&d, tokens[i]);
    draft_took(&d, 1, 0.002);
    CHECK(draft_guess(&d, guess, MOST) == MOST);
    draft_took(&d, 8, 1.0); /* one pass that was held up changes little */
    CHECK(draft_guess(&d, guess, MOST) == MOST);
    for (int i = 0; i < 20; i++)
        draft_took(&d, 8, 0.016); /* rows that cost what a pass costs do */
    d.right[d.length] = 0.9;
    CHECK(d.row > 0.99 && draft_guess(&d, guess, MOST) == 0);
    for (int i = 0; i < 1000; i++)
        draft_took(&d, 1, 0.002); /* but not for ever */
    CHECK(draft_guess(&d, guess, MOST) > 0);
    for (int i = 0; i < 20; i++)
        draft_took(&d, 3, 0.002);
    CHECK(d.row < 0.01 && draft_guess(&d, guess, MOST) == MOST);
    for (int i = 0; i < 2000; i++)
        draft_took(&d, 1, i % 50 ? 0.004 : 4); /* deeper in the context a pass takes longer */
    CHECK(d.pass >= 0.004 && d.pass < 0.005 && d.row < 0.01);
    draft_close(&d);
}

/* Seconds for 4,096 tokens, each guessed at, behind n others: the best of three times. */
static double
seconds_after(const int *ids, int n)
{
    enum { TOKENS = 4096 };
    int guess[MOST];
    double best = 1e9;

    for (int round = 0; round < (under_valgrind() ? 1 : 3); round++) {
        Draft d = opened(n + TOKENS);
        draft_follow(&d, ids, n);
        d.row = 0;
        clock_t start = clock();
        for (int i = 0; i < TOKENS; i++) {
            draft_guess(&d, guess, MOST);
            draft_add(&d, ids[n + i]);
        }
        double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        best = seconds < best ? seconds : best;
        draft_close(&d);
    }
    return best;
}

static void
test_a_guess_is_as_quick_in_a_long_text_of_any_kind(void)
{
    static int ids[LONG + 4096];
    Sampler random = {0, 0, 0, 4};

    for (int kind = 0; kind < 6; kind++) {
        for (int i = 0; i < LONG + 4096; i++) {
            int chance = (int)(sampler_random(&random) % 150000);
            ids[i] = kind == 0   ? 7
                     : kind == 1 ? i % 2
                     : kind == 2 ? chance % 2
                     : kind == 3 ? (i % 15 ? 7 : chance) /* matches that always end short of the longest */
                     : kind == 4 ? chance
                                 : chance % 8 << 15; /* what hashes alike on most machines would */
        }
        double deep = seconds_after(ids, LONG);
        CHECK(deep < 20 * seconds_after(ids, 64) + 0.01 && deep < 4);
    }
}

/* ---- replies ---- */

#define USER "<|im_start|>user\n"
#define SYSTEM "<|im_start|>system\n%s<|im_end|>\n"
#define ASSISTANT "<|im_end|>\n<|im_start|>assistant\n"

enum { FAKE_CONTEXT = 1024, TURNS = 4 };

static struct {
    int cache[FAKE_CONTEXT]; /* the token at each position */
    int passes, rows;
    int interrupt_in; /* Ctrl-C comes during this pass, counted from 1 */
    double row;       /* what a further row costs */
    Chat *chat;
} fake;

/* What stands in the cache before pos must be the sequence, whatever was guessed before. */
static void
fake_store(const int *tokens, int n, int pos)
{
    CHECK(pos >= 0 && pos + n <= fake.chat->context && pos == fake.chat->cached.n);
    CHECK(!memcmp(fake.cache, fake.chat->ids.id, (size_t)pos * sizeof *tokens));
    CHECK(tokens[0] == fake.chat->ids.id[pos]);
    memcpy(fake.cache + pos, tokens, (size_t)n * sizeof *tokens);
}

static const char *
fake_prefill(void *engine, const int *tokens, int n, int pos)
{
    (void)engine;
    fake_store(tokens, n, pos);
    return NULL;
}

/* The next token depends on the last two, and mostly on the last one, so the text goes round in circles,
 * thinks, breaks off characters and ends. */
static const char *
fake_decode(void *engine, const int *tokens, int n, int pos, int k, Candidate *candidates)
{
    (void)engine;
    CHECK(n >= 1 && n <= MAX_ROWS && k <= 40 && (k > 0 || n == 1));
    fake_store(tokens, n, pos);
    for (int row = 0; row < n; row++)
        for (int i = 0; i < (k ? k : VOCAB); i++) {
            int last = fake.cache[pos + row], older = fake.cache[pos + row - 1];
            Sampler random = {0, 0, 0, (uint64_t)(last * 131 + older % 3 * (i % 2) * 7 + i)};
            int any = (int)(sampler_random(&random) % 97);
            Candidate *c = candidates + (size_t)row * k + i;
            c->id = i >= 40     ? i % TOY_TOKENS
                    : any == 96 ? (i % 2 ? IM_END : ENDOFTEXT)
                    : any >= 93 ? THINK
                    : any >= 90 ? THINK_END
                    : any >= 80 ? 0xC0 + any % 32
                                : 32 + any;
            c->logit = -0.7f * (float)i;
        }
    fake.rows += n;
    now += 1 + fake.row * (n - 1);
    if (++fake.passes == fake.interrupt_in)
        chat_phase = STOPPING;
    return NULL;
}

static const Engine fake_engine = {"fake",      64,   NULL, NULL, NULL, fake_prefill,
                                   fake_decode, NULL, NULL, NULL, NULL, NULL};

static char directory[64]; /* a model directory with the four templates */

static void
write_templates(void)
{
    static const char *const files[][2] = {
        {"user", USER "%s" ASSISTANT "<think>\n\n</think>\n\n"},
        {"user_thinking", USER "%s" ASSISTANT},
        {"system", SYSTEM USER "%s" ASSISTANT "<think>\n\n</think>\n\n"},
        {"system_thinking", SYSTEM USER "%s" ASSISTANT},
    };
    char path[128];

    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/template_%s.txt", directory, files[i][0]);
        FILE *file = fopen(path, "wb");
        if (!file || fputs(files[i][1], file) < 0 || fclose(file))
            abort();
    }
}

static void
remove_templates(void)
{
    static const char *const names[] = {"user", "user_thinking", "system", "system_thinking"};
    char path[128];

    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/template_%s.txt", directory, names[i]);
        unlink(path);
    }
    rmdir(directory);
}

/* All that a conversation leaves behind, as text. */
typedef struct {
    char *text;
    size_t n;
    int guessed;
} Trace;

static void
print_ids(FILE *file, const char *what, const Tokens *ids)
{
    fprintf(file, "%s:", what);
    for (int i = 0; i < ids->n; i++)
        fprintf(file, " %d", ids->id[i]);
    fputc('\n', file);
}

/* The conversation that this seed gives, with so many guesses. */
static Trace
conversation(uint64_t seed, int guesses)
{
    static const float temperatures[] = {0, 0.3f, 0.7f, 1, 1.5f}, top_ps[] = {1, 1, 0.95f, 0.5f, 0};
    static const int top_ks[] = {20, 20, 1, 5, 40, 0}, limits[] = {INT_MAX, INT_MAX, 300, 40, 9, 2, 1};
    static const double costs[] = {0, 0.02, 0.115, 0.3, 1};
    Sampler random = {0, 0, 0, seed};
    Trace trace = {NULL, 0, 0};
    FILE *file = open_memstream(&trace.text, &trace.n);
    Chat c;

#define ANY(array) array[sampler_random(&random) % (sizeof array / sizeof *array)]
    CHECK(!chat_open(&c, directory));
    memset(&fake, 0, sizeof fake);
    fake.chat = &c;
    fake.row = ANY(costs);
    c.engine = &fake_engine;
    c.guesses = guesses;
    c.screen.out = c.screen.err = file;
    c.screen.bold = c.screen.dim = (int)(sampler_random(&random) % 2);
    c.system = sampler_random(&random) % 2 ? "Be brief." : NULL;
    c.thinking = (int)(sampler_random(&random) % 2);
    c.context = 100 + (int)(sampler_random(&random) % (FAKE_CONTEXT - 100));
    c.limit = ANY(limits);
    c.sampler.temperature = ANY(temperatures);
    c.sampler.top_k = ANY(top_ks);
    c.sampler.top_p = ANY(top_ps);
    sampler_seed(&c.sampler, seed);
    for (int turn = 0; turn < TURNS; turn++) {
        char user[16];
        size_t n = sampler_random(&random) % sizeof user;

        for (size_t i = 0; i < n; i++)
            user[i] = (char)('A' + sampler_random(&random) % 5);
        shown = 0;
        interrupt_at = sampler_random(&random) % 3 ? 0 : (int)(sampler_random(&random) % 30);
        CHECK(!chat_say(&c, user, n));
        CHECK(!chat_reply(&c));
        fprintf(file, "\ninterrupted %d, generator %llu, reply %zu bytes: ", c.interrupted,
                (unsigned long long)c.sampler.state, c.turns[c.n - 1].reply.n);
        if (c.turns[c.n - 1].reply.n > 0)
            fwrite(c.turns[c.n - 1].reply.text, 1, c.turns[c.n - 1].reply.n, file);
        print_ids(file, "\nids", &c.ids);
        print_ids(file, "cached", &c.cached);
        CHECK(!memcmp(fake.cache, c.cached.id, (size_t)c.cached.n * sizeof(int)));
        if (sampler_random(&random) % 8 == 0)
            chat_clear(&c);
    }
    trace.guessed = fake.rows - fake.passes;
    fclose(file);
    chat_close(&c);
    return trace;
}

static void
test_replies_are_the_same_with_and_without_guesses(void)
{
    int guessed = 0, ended = 0, cut = 0, interrupted = 0;

    for (uint64_t seed = 0; seed < 200; seed++) {
        Trace plain = conversation(seed, 0);
        CHECK(plain.guessed == 0);
        ended += strstr(plain.text, " 257\ncached") || strstr(plain.text, " 258\ncached");
        cut += !!strstr(plain.text, "(the reply was cut");
        interrupted += !!strstr(plain.text, "interrupted 1");
        for (int guesses = 1; guesses <= MOST; guesses++) {
            Trace trace = conversation(seed, guesses);
            CHECK(trace.n == plain.n && !memcmp(trace.text, plain.text, plain.n));
            guessed += trace.guessed;
            free(trace.text);
        }
        free(plain.text);
    }
    CHECK(guessed > 50000 && ended > 30 && cut > 30 && interrupted > 30);
}

/* A greedy reply that repeats itself, with so many guesses, stopped during this pass or not (0). */
static Chat
circles(int guesses, int interrupt_in, char **text, size_t *n)
{
    Chat c;

    CHECK(!chat_open(&c, directory));
    memset(&fake, 0, sizeof fake);
    fake.chat = &c;
    fake.interrupt_in = interrupt_in;
    c.engine = &fake_engine;
    c.guesses = guesses;
    c.verbose = 1;
    c.limit = 200;
    c.screen.out = c.screen.err = open_memstream(text, n);
    CHECK(!chat_say(&c, "AAA", 3));
    CHECK(!chat_reply(&c));
    fclose(c.screen.out);
    return c;
}

static void
test_a_pass_that_ctrl_c_meets_gives_one_token(void)
{
    char *text;
    size_t n;

    for (int guesses = 0; guesses <= MOST; guesses += MOST) {
        Chat whole = circles(guesses, 0, &text, &n);
        int last = fake.passes;
        free(text);
        for (int pass = 1; pass < last; pass++) {
            Chat c = circles(guesses, pass, &text, &n);
            CHECK(c.interrupted && fake.passes == pass && c.cached.n == c.ids.n - 1);
            CHECK(!memcmp(c.ids.id, whole.ids.id, (size_t)c.ids.n * sizeof(int)));
            fake.interrupt_in = 0;
            chat_close(&c);
            free(text);
        }
        chat_close(&whole);
    }
}

static void
test_fewer_passes_give_the_same_reply_and_verbose_says_so(void)
{
    char *text, wanted[64];
    size_t n;
    Chat c = circles(0, 0, &text, &n);

    CHECK(fake.passes == 200 && fake.rows == 200 && !strstr(text, "guessed"));
    CHECK(strstr(text, " ms each\n"));
    chat_close(&c);
    free(text);

    c = circles(MOST, 0, &text, &n);
    CHECK(fake.passes < 60 && fake.rows >= 200);
    snprintf(wanted, sizeof wanted, " ms each; %d guessed, %d kept\n", fake.rows - fake.passes,
             200 - fake.passes);
    CHECK(strstr(text, wanted));
    chat_close(&c);
    free(text);
}

int
main(void)
{
    snprintf(directory, sizeof directory, "/tmp/test_draft.XXXXXX");
    if (!mkdtemp(directory))
        return 1;
    write_templates();
    test_what_followed_the_last_tokens_is_guessed();
    test_the_match_is_the_longest_and_of_these_the_latest();
    test_a_new_prompt_keeps_what_it_shares_with_the_last();
    test_text_without_repeats_costs_one_percent_at_most();
    test_text_that_repeats_itself_gains_what_the_rows_allow();
    test_what_a_row_costs_is_learned();
    test_a_guess_is_as_quick_in_a_long_text_of_any_kind();
    test_replies_are_the_same_with_and_without_guesses();
    test_a_pass_that_ctrl_c_meets_gives_one_token();
    test_fewer_passes_give_the_same_reply_and_verbose_says_so();
    remove_templates();
    return test_result();
}
