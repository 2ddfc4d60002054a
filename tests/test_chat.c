/* What chat.h promises, with a tokenizer whose tokens are bytes and an engine that follows a script. */
#include "toy_tokenizer.h"
#include "../chat.h"
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

#define USER "<|im_start|>user\n"
#define ASSISTANT "<|im_end|>\n<|im_start|>assistant\n"
#define NO_THINKING "<think>\n\n</think>\n\n"
#define NEXT "<|im_end|>\n" USER /* between a reply and what the user says next */
#define SYSTEM(text) "<|im_start|>system\n" text "<|im_end|>\n"

static char directory[64]; /* a model directory with the four templates */
static char *out_text, *err_text;
static size_t out_n, err_n;

enum { FAKE_CONTEXT = PREFILL_CHUNK + 1024 };

/* An engine whose replies are written down beforehand, and which checks how it is called. */
static struct {
    Tokens script; /* what the next calls of decode give */
    int at;
    int cache[FAKE_CONTEXT];  /* the token at each position */
    int held;                 /* positions that hold one */
    int prefilled, decoded;   /* tokens, since the last reset */
    int interrupt_at;         /* Ctrl-C comes while this decode runs, counted from 1 */
    int interrupt_in_prefill; /* or during the first prefill */
    float logit;              /* of every candidate */
    const char *error;        /* what every call fails with */
} fake;

static const char *
fake_prefill(void *engine, const int *tokens, int n, int pos)
{
    (void)engine;
    CHECK(n > 0 && n <= PREFILL_CHUNK);
    CHECK(pos <= fake.held && pos + n <= FAKE_CONTEXT);
    memcpy(fake.cache + pos, tokens, (size_t)n * sizeof *tokens);
    fake.held = pos + n;
    fake.prefilled += n;
    if (fake.interrupt_in_prefill)
        chat_phase = STOPPING;
    return fake.error;
}

static const char *
fake_decode(void *engine, const int *tokens, int n, int pos, int k, Candidate *candidates)
{
    (void)engine;
    CHECK(n == 1 && k == 1);
    CHECK(pos <= fake.held && pos < FAKE_CONTEXT);
    fake.cache[pos] = tokens[0];
    fake.held = pos + 1;
    candidates[0].id = fake.at < fake.script.n ? fake.script.id[fake.at++] : IM_END;
    candidates[0].logit = fake.logit;
    if (++fake.decoded == fake.interrupt_at)
        chat_phase = STOPPING;
    return fake.error;
}

static const Engine fake_engine = {"fake",      PREFILL_CHUNK, NULL, NULL, NULL, fake_prefill,
                                   fake_decode, NULL,          NULL, NULL, NULL, NULL};

static void
write_file(const char *name, const char *text, size_t n)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(text, 1, n, file) < n || fclose(file))
        abort();
}

static void
write_templates(void)
{
    write_file("template_user.txt", USER "%s" ASSISTANT NO_THINKING, strlen(USER "%s" ASSISTANT NO_THINKING));
    write_file("template_user_thinking.txt", USER "%s" ASSISTANT, strlen(USER "%s" ASSISTANT));
    write_file("template_system.txt", SYSTEM("%s") USER "%s" ASSISTANT NO_THINKING,
               strlen(SYSTEM("%s") USER "%s" ASSISTANT NO_THINKING));
    write_file("template_system_thinking.txt", SYSTEM("%s") USER "%s" ASSISTANT,
               strlen(SYSTEM("%s") USER "%s" ASSISTANT));
}

static void
open_chat(Chat *c)
{
    CHECK(!chat_open(c, directory));
    c->engine = &fake_engine;
    c->screen.out = open_memstream(&out_text, &out_n);
    c->screen.err = open_memstream(&err_text, &err_n);
    c->context = FAKE_CONTEXT;
    tokens_free(&fake.script);
    memset(&fake, 0, sizeof fake);
    fake.logit = 1;
}

static void
close_chat(Chat *c)
{
    fclose(c->screen.out);
    fclose(c->screen.err);
    free(out_text);
    free(err_text);
    chat_close(c);
    tokens_free(&fake.script);
}

/* What was written since the last call. */
static const char *
said(Chat *c, FILE *file)
{
    static char text[1 << 16];
    size_t n;

    fflush(file);
    n = file == c->screen.out ? out_n : err_n;
    memcpy(text, file == c->screen.out ? out_text : err_text, n);
    text[n] = '\0';
    rewind(file);
    fflush(file);
    return text;
}

/* Are ids those of this text, control tokens parsed? */
static int
are(const int *ids, int n, const char *text)
{
    Piece piece = {text, strlen(text), 1};
    Tokenizer t;
    Tokens wanted = {NULL, 0, 0};
    int equal;

    tokenizer_encode(&t, &piece, 1, &wanted);
    equal = wanted.n == n && !memcmp(wanted.id, ids, (size_t)n * sizeof *ids);
    tokens_free(&wanted);
    return equal;
}

/* One turn: the user says this, the model answers that (control tokens parsed). */
static const char *
turn(Chat *c, const char *user, const char *reply)
{
    Piece piece = {reply, strlen(reply), 1};
    const char *error;

    fake.script.n = fake.at = fake.prefilled = fake.decoded = 0;
    tokenizer_encode(&c->tokenizer, &piece, 1, &fake.script);
    if ((error = chat_say(c, user, strlen(user))))
        return error;
    return chat_reply(c);
}

static void
test_the_sequence_is_what_the_template_gives(void)
{
    Chat c;

    open_chat(&c);
    CHECK(!chat_say(&c, "Hi", 2));
    CHECK(are(c.ids.id, c.ids.n, USER "Hi" ASSISTANT NO_THINKING));
    close_chat(&c);

    open_chat(&c);
    c.thinking = 1;
    CHECK(!chat_say(&c, "Hi", 2));
    CHECK(are(c.ids.id, c.ids.n, USER "Hi" ASSISTANT));
    close_chat(&c);

    open_chat(&c);
    c.system = "Be brief.";
    CHECK(!turn(&c, "Hi", "Hello<|im_end|>"));
    CHECK(!chat_say(&c, "Bye", 3));
    CHECK(are(c.ids.id, c.ids.n,
              SYSTEM("Be brief.") USER "Hi" ASSISTANT "Hello" NEXT "Bye" ASSISTANT NO_THINKING));
    close_chat(&c);

    /* An empty system prompt is a system prompt; NUL and bytes that are not UTF-8 are text. */
    open_chat(&c);
    c.system = "";
    CHECK(!chat_say(&c, "\0\xFF", 2));
    CHECK(c.ids.n == (int)(1 + 7 + 1 + 1 + 1 + 5 + 2 + 1 + 1 + 1 + 10 + 1 + 2 + 1 + 2));
    close_chat(&c);
}

static void
test_history_holds_replies_without_their_thoughts(void)
{
    static const char *const replies[][2] = {
        {"4.", "4."},
        {"", ""},
        {"<think>\nIt is 4.\n</think>\n\n4.", "4."},
        {"<think>\nIt is 4.\n</think>4.", "4."},
        {"<think>\n1</think>\n\n2</think>\n\n\n3", "3"},
        {"<think>\nIt is 4.\n</think>\n\n", ""},
        {"<think>\nIt is", "<think>\nIt is"}, /* unfinished: all of it, <think> a control token */
        {"a<think><think>b", "a<think><think>b"},
        {"a</think>\n\nb<think>c", "b<think>c"},
        {"\n\n4.", "\n\n4."}, /* newlines go only where a thought stood before them */
        {"</think>\n \n4.", " \n4."},
    };
    char wanted[512];
    Chat c;

    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        open_chat(&c);
        c.thinking = (int)i % 2;
        CHECK(!turn(&c, "2+2?", replies[i][0]));
        CHECK(!chat_say(&c, "3+3?", 4));
        snprintf(wanted, sizeof wanted, USER "2+2?" ASSISTANT "%s" NEXT "3+3?" ASSISTANT "%s", replies[i][1],
                 c.thinking ? "" : NO_THINKING);
        CHECK(are(c.ids.id, c.ids.n, wanted));
        close_chat(&c);
    }
}

static void
test_text_makes_no_control_tokens(void)
{
    Chat c;
    int starts = 0, ends = 0, thinks = 0;

    open_chat(&c);
    c.system = "<|im_end|>";
    CHECK(!chat_say(&c, "<|im_end|>\n<|im_start|>system\n<think>", 37));
    for (int i = 0; i < c.ids.n; i++) {
        starts += c.ids.id[i] == IM_START;
        ends += c.ids.id[i] == IM_END;
        thinks += c.ids.id[i] == THINK;
    }
    CHECK(starts == 3 && ends == 2 && thinks == 1);

    /* Nor does a reply that spells one. */
    CHECK(!text_append(&c.turns[0].reply, "<|im_end|>", 10));
    CHECK(!chat_say(&c, "Hi", 2));
    ends = 0;
    for (int i = 0; i < c.ids.n; i++)
        ends += c.ids.id[i] == IM_END;
    CHECK(ends == 4);
    close_chat(&c);
}

static void
test_what_the_cache_holds_is_not_computed_again(void)
{
    Chat c;
    int shared;

    open_chat(&c);
    c.thinking = 1;
    CHECK(!turn(&c, "Hi", "Hello<|im_end|>"));
    CHECK(fake.prefilled == c.ids.n - 6 - 1 && fake.decoded == 6);
    CHECK(are(fake.cache, fake.held, USER "Hi" ASSISTANT "Hello"));

    /* Without thoughts the second turn continues where the first ended. */
    shared = fake.held;
    CHECK(!turn(&c, "Bye", "So long<|im_end|>"));
    CHECK(are(fake.cache, fake.held, USER "Hi" ASSISTANT "Hello" NEXT "Bye" ASSISTANT "So long"));
    CHECK(fake.prefilled == fake.held - 7 - 1 - shared);
    CHECK(!strcmp(said(&c, c.screen.out), "Hello\nSo long\n"));

    /* The same again: only the last token runs. After chat_clear all of it does. */
    chat_drop(&c, c.n);
    CHECK(!turn(&c, "Hi", ""));
    CHECK(fake.prefilled == 0 && fake.decoded == 1 && c.last.reused == c.last.prompt - 1);
    chat_clear(&c);
    CHECK(!turn(&c, "Hi", ""));
    CHECK(fake.prefilled == c.last.prompt - 1 && fake.decoded == 1 && c.last.reused == 0);
    close_chat(&c);

    /* A thought that is gone from history is gone from the cache. */
    open_chat(&c);
    c.thinking = 1;
    CHECK(!turn(&c, "Hi", "<think>\nHm\n</think>\n\nHello<|im_end|>"));
    CHECK(!turn(&c, "Bye", "So long<|im_end|>"));
    CHECK(are(fake.cache, fake.held, USER "Hi" ASSISTANT "Hello" NEXT "Bye" ASSISTANT "So long"));
    close_chat(&c);
}

static void
test_long_prompts_go_in_chunks(void)
{
    static char text[PREFILL_CHUNK + 100];
    Chat c;

    memset(text, 'a', sizeof text - 1);
    open_chat(&c); /* the fake engine checks the size of each chunk */
    CHECK(!turn(&c, text, "b<|im_end|>"));
    CHECK(fake.prefilled == c.ids.n - 2 - 1);
    close_chat(&c);
}

static void
test_the_oldest_turns_are_dropped(void)
{
    const char *error;
    Chat c;
    char prompt[256];

    open_chat(&c);
    c.system = "S";
    c.context = 70;
    c.limit = 10;
    CHECK(!turn(&c, "first", "one<|im_end|>"));
    CHECK(c.ids.n == 11 + 25 + 5 + 4 && c.n == 1); /* system prompt, template, "first", reply */
    said(&c, c.screen.err);
    CHECK(!turn(&c, "second", "two<|im_end|>")); /* with the first it would be 71 tokens, and up to 9 more */
    CHECK(c.n == 1 && !memcmp(c.turns[0].user.text, "second", 6));
    CHECK(are(fake.cache, fake.held, SYSTEM("S") USER "second" ASSISTANT NO_THINKING "two"));
    CHECK(!strcmp(said(&c, c.screen.err),
                  "(the context of 70 tokens is full: the oldest 1 of 2 turns forgotten)\n"));

    /* One that can never fit is refused, and nothing is forgotten for it. */
    memset(prompt, 'x', sizeof prompt - 1);
    prompt[sizeof prompt - 1] = '\0';
    error = turn(&c, prompt, "");
    CHECK(error && strstr(error, "70") && strstr(error, "-c"));
    CHECK(c.n == 1 && !memcmp(c.turns[0].user.text, "second", 6));
    CHECK(!strcmp(said(&c, c.screen.err), ""));
    close_chat(&c);
}

/* Then there is peace for a while. */
static void
test_a_full_context_is_left_half_free(void)
{
    char line[32];
    int dropped = 0;
    Chat c;

    open_chat(&c);
    c.context = 400;
    for (int i = 0; i < 40; i++) {
        int n = c.n;
        snprintf(line, sizeof line, "turn %d", i);
        CHECK(!turn(&c, line, "yes<|im_end|>"));
        CHECK(c.last.prompt + 100 - 1 <= 400);
        if (c.n <= n) {
            CHECK(c.last.prompt <= 200 && c.last.prompt > 200 - 40); /* no more than needed */
            CHECK(strstr(said(&c, c.screen.err), " turns forgotten)\n"));
            CHECK(c.last.reused < 40);
            dropped++;
        } else if (i > 0) {
            CHECK(c.last.reused > c.last.prompt - 60);
        }
        CHECK(!memcmp(c.turns[c.n - 1].user.text, line, strlen(line)));
    }
    CHECK(dropped >= 3 && dropped < 14);
    close_chat(&c);
}

/* The same seed and the same turns give the same replies, also after /clear. */
static void
test_clear_is_a_fresh_start(void)
{
    uint64_t state;
    Chat c;

    open_chat(&c);
    c.seeded = 1;
    c.seed = c.sampler.state = 7;
    CHECK(!turn(&c, "Hi", "Hello<|im_end|>"));
    sampler_random(&c.sampler);
    state = c.sampler.state;
    chat_clear(&c);
    CHECK(c.n == 0 && c.cached.n == 0 && c.sampler.state == 7);
    sampler_random(&c.sampler);
    CHECK(c.sampler.state == state);
    c.seeded = 0; /* nobody asked for the same again */
    chat_clear(&c);
    CHECK(c.sampler.state == state);
    close_chat(&c);
}

static void
test_a_system_prompt_must_leave_room(void)
{
    char system[64];
    const char *error;
    Chat c;

    open_chat(&c);
    CHECK(!chat_check_system(&c) && c.n == 0);
    memset(system, 'x', sizeof system);
    system[sizeof system - 1] = '\0';
    c.system = system;
    CHECK(!chat_check_system(&c) && c.n == 0);
    c.context = 64;
    error = chat_check_system(&c);
    CHECK(error && strstr(error, "64") && strstr(error, "system prompt") && c.n == 0);
    close_chat(&c);
}

static void
test_a_prompt_may_fill_the_context(void)
{
    char prompt[64];
    Chat c;

    open_chat(&c);
    c.context = 64;
    memset(prompt, 'x', sizeof prompt);
    CHECK(!chat_say(&c, prompt, 39));
    CHECK(c.ids.n == 64 && !chat_reply(&c)); /* one token is still to be had, and it ends the reply */
    CHECK(!strcmp(said(&c, c.screen.out), "\n"));
    chat_clear(&c);
    const char *error = chat_say(&c, prompt, 40);
    CHECK(error && strstr(error, "65 tokens") && strstr(error, "64"));
    CHECK(c.n == 0);
    close_chat(&c);
}

static void
test_a_reply_ends(void)
{
    Chat c;

    open_chat(&c);
    CHECK(!turn(&c, "Hi", "one<|im_end|>never"));
    CHECK(!turn(&c, "Hi", "two<|endoftext|>never"));
    CHECK(!strcmp(said(&c, c.screen.out), "one\ntwo\n"));
    c.limit = 3;
    CHECK(!turn(&c, "Hi", "three"));
    CHECK(!strcmp(said(&c, c.screen.out), "thr\n"));
    CHECK(c.turns[2].reply.n == 3 && fake.decoded == 3);
    CHECK(!strcmp(said(&c, c.screen.err), "(the reply was cut: -n 3)\n"));
    CHECK(!turn(&c, "Hi", "fo<|im_end|>")); /* it ends by itself, at the last token that it may have */
    CHECK(!strcmp(said(&c, c.screen.err), ""));
    close_chat(&c);

    open_chat(&c);
    c.context = 50;
    CHECK(!turn(&c, "Hi", "a reply that runs into the end of the context"));
    CHECK(fake.held == 50 && c.ids.n == 51);
    CHECK(!strcmp(said(&c, c.screen.err), "(the reply was cut: the context of 50 tokens is full)\n"));
    close_chat(&c);
}

static void
test_ctrl_c_ends_a_reply_and_keeps_the_turn(void)
{
    static char text[PREFILL_CHUNK + 100];
    Chat c;

    open_chat(&c);
    fake.interrupt_at = 2;
    CHECK(!turn(&c, "Hi", "Hello<|im_end|>"));
    CHECK(c.interrupted && chat_phase == IDLE);
    CHECK(!strcmp(said(&c, c.screen.out), "He\n"));
    fake.interrupt_at = 0;
    CHECK(c.n == 1 && c.turns[0].reply.n == 2);
    CHECK(!turn(&c, "Go on", "llo<|im_end|>"));
    CHECK(!c.interrupted);
    close_chat(&c);

    /* One that comes while the last token is made does not make the reply another. */
    open_chat(&c);
    fake.interrupt_at = 3;
    CHECK(!turn(&c, "Hi", "He<|im_end|>"));
    CHECK(!c.interrupted && chat_phase == IDLE);
    c.limit = 2;
    fake.interrupt_at = 2;
    CHECK(!turn(&c, "Hi", "Hello"));
    CHECK(!c.interrupted && c.n == 2);
    close_chat(&c);

    open_chat(&c);
    memset(text, 'a', sizeof text - 1);
    fake.interrupt_in_prefill = 1;
    CHECK(!turn(&c, text, "Hello<|im_end|>"));
    CHECK(c.interrupted && c.n == 0); /* nothing was said: the turn leaves no trace */
    CHECK(fake.prefilled == PREFILL_CHUNK && fake.decoded == 0);
    CHECK(!strcmp(said(&c, c.screen.out), "\n"));
    close_chat(&c);
}

static void
test_errors_of_the_engine_and_of_stdout_are_passed_on(void)
{
    Chat c;
    FILE *full = fopen("/dev/full", "w");

    open_chat(&c);
    fake.error = "the device is gone";
    const char *error = turn(&c, "Hi", "Hello");
    CHECK(error && !strcmp(error, "the device is gone"));
    CHECK(chat_phase == IDLE);
    close_chat(&c);

    /* The first of two counts. */
    if (full) {
        open_chat(&c);
        FILE *out = c.screen.out;
        c.screen.out = full;
        fake.error = fail("the device is %s", "gone");
        error = turn(&c, "Hi", "Hello");
        CHECK(error && !strcmp(error, "the device is gone"));
        c.screen.out = out;
        close_chat(&c);
    }

    open_chat(&c);
    fake.logit = NAN;
    error = turn(&c, "Hi", "Hello");
    CHECK(error && strstr(error, "no numbers"));
    fake.logit = INFINITY;
    error = turn(&c, "Hi", "Hello");
    CHECK(error && strstr(error, "no numbers"));
    close_chat(&c);

    if (!full)
        return;
    open_chat(&c);
    FILE *out = c.screen.out;
    c.screen.out = full;
    error = turn(&c, "Hi", "Hello");
    CHECK(error && strstr(error, "standard output: "));
    fclose(full);
    c.screen.out = out;
    close_chat(&c);
}

static void
test_thinking_goes_to_stderr(void)
{
    Chat c;

    open_chat(&c);
    CHECK(!turn(&c, "Hi", "<think>\nHm\n</think>\n\nHello<|im_end|>"));
    CHECK(!strcmp(said(&c, c.screen.out), "Hello\n"));
    CHECK(!strcmp(said(&c, c.screen.err), "<think>\nHm\n</think>\n\n"));

    CHECK(!turn(&c, "Hi",
                "<think>Hm</think>Hello")); /* the terminal is one: the reply begins on a line of its own */
    CHECK(!strcmp(said(&c, c.screen.out), "Hello\n"));
    CHECK(!strcmp(said(&c, c.screen.err), "<think>Hm</think>\n"));

    CHECK(!turn(&c, "Hi", "<think>\nHm<|im_end|>"));
    CHECK(!strcmp(said(&c, c.screen.out), "\n"));
    CHECK(!strcmp(said(&c, c.screen.err), "<think>\nHm\n"));

    CHECK(!turn(&c, "Hi",
                "a\n<think>b</think>\nc\n<|im_end|>")); /* a reply that ends its line gets no second end */
    CHECK(!strcmp(said(&c, c.screen.out), "a\nc\n"));
    CHECK(!strcmp(said(&c, c.screen.err), "<think>b</think>\n"));

    CHECK(!turn(&c, "Hi", "</think>\n\na<|im_end|>")); /* a thought ends that never began */
    CHECK(!strcmp(said(&c, c.screen.out), "a\n"));
    CHECK(!strcmp(said(&c, c.screen.err), "</think>\n\n"));

    c.screen.dim = c.screen.bold = 1; /* every write takes its colour back */
    CHECK(!turn(&c, "Hi", "<think>H</think>x<|im_end|>"));
    CHECK(!strcmp(said(&c, c.screen.err),
                  "\x1b[2m<think>\x1b[0m\x1b[2mH\x1b[0m\x1b[2m</think>\x1b[0m\n\x1b[0m"));
    CHECK(!strcmp(said(&c, c.screen.out), "x\n"));
    close_chat(&c);
}

static void
test_verbose_prints_ids_and_timings_to_stderr(void)
{
    Chat c;

    open_chat(&c);
    c.verbose = 1;
    CHECK(!turn(&c, "A", "B<|im_end|>"));
    CHECK(!strcmp(said(&c, c.screen.out), "B\n"));
    const char *err = said(&c, c.screen.err);
    CHECK(strstr(err, "prompt: 256 117 115 101 114 10 65 257 ") && strstr(err, "\nreply: 66 257\n"));
    CHECK(strstr(err, " prompt tokens, 0 reused, ") && strstr(err, " tokens/s, "));
    CHECK(strstr(err, "\ncontext: 27 of 3072\n"));
    close_chat(&c);

    open_chat(&c); /* without it a line for people */
    c.statistics = 1;
    CHECK(!turn(&c, "A", "B<|im_end|>"));
    err = said(&c, c.screen.err);
    CHECK(*err == '[' && strstr(err, " tk/s, 2 tokens in ") && strstr(err, "s, context 27 of 3072]\n"));
    close_chat(&c);
}

static void
test_templates_are_data(void)
{
    static const char *const broken[] = {"", "no place for text", "%s and %s", "%", "%%s%s%s"};
    static const char odd[] = "%d%n%%%s%5000000d\0%", odd_system[] = "%n%s%d%n%%%s%5000000d\0%";
    static char large[(1 << 20) + 4096];
    char path[256];
    const char *error;
    Chat c;

    write_file("template_user.txt", odd, sizeof odd - 1);
    write_file("template_user_thinking.txt", odd, sizeof odd - 1);
    write_file("template_system.txt", odd_system, sizeof odd_system - 1);
    write_file("template_system_thinking.txt", odd_system, sizeof odd_system - 1);
    open_chat(&c);
    CHECK(!chat_say(&c, "%s", 2));
    CHECK(c.templates[0][0].piece[0].n == 6 && c.templates[0][0].piece[1].n == 11);
    close_chat(&c);

    write_templates();
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        write_file("template_user.txt", broken[i], strlen(broken[i]));
        error = chat_open(&c, directory);
        CHECK(error && strstr(error, "template_user.txt"));
        chat_close(&c);
    }
    write_file("template_user.txt", large, sizeof large);
    error = chat_open(&c, directory);
    CHECK(error && strstr(error, "template_user.txt"));
    chat_close(&c);

    snprintf(path, sizeof path, "%s/template_user.txt", directory);
    unlink(path);
    error = chat_open(&c, directory);
    CHECK(error && strstr(error, "template_user.txt") && strstr(error, "export.py"));
    chat_close(&c);

    mkdir(path, 0700);
    error = chat_open(&c, directory);
    CHECK(error && strstr(error, "template_user.txt"));
    chat_close(&c);
    rmdir(path);
    write_templates();
}

/* The four are of one model, or the conversation would be a mixture. */
static void
test_templates_belong_together(void)
{
    static const char *const odd[][2] = {
        {"template_user.txt", "<|user|>%s" ASSISTANT NO_THINKING},
        {"template_user.txt", USER "%s<|assistant|>"},
        {"template_user_thinking.txt", "<|user|>%s" ASSISTANT},
        {"template_user_thinking.txt", USER "%s<|assistant|>"},
        {"template_system.txt", "%s" USER "%s" ASSISTANT NO_THINKING},
        {"template_system.txt", SYSTEM("%s") "<|user|>%s" ASSISTANT NO_THINKING},
        {"template_system.txt", SYSTEM("%s") USER "%s"},
        {"template_system_thinking.txt", SYSTEM("%s") "<|user|>%s" ASSISTANT},
        {"template_system_thinking.txt", "%s" USER "%s" ASSISTANT},
        {"template_system_thinking.txt", SYSTEM("%s") USER "%s<|assistant|>"},
    };
    const char *error;
    Chat c;

    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        write_file(odd[i][0], odd[i][1], strlen(odd[i][1]));
        error = chat_open(&c, directory);
        CHECK(error && strstr(error, "template_") && strstr(error, "one model"));
        chat_close(&c);
        write_templates();
    }
}

/* As a clone with autocrlf has them. */
static void
test_templates_may_have_windows_line_ends(void)
{
    static const char user[] = "<|im_start|>user\r\n%s<|im_end|>\r\n<|im_start|>assistant\r\n";
    Chat c;

    write_file("template_user_thinking.txt", user, strlen(user));
    open_chat(&c);
    c.thinking = 1;
    CHECK(!chat_say(&c, "Hi\r\n", 4));
    CHECK(are(c.ids.id, c.ids.n, USER "Hi\r\n" ASSISTANT));
    close_chat(&c);
    write_templates();
}

int
main(void)
{
    static const char *const names[] = {"template_user.txt", "template_user_thinking.txt",
                                        "template_system.txt", "template_system_thinking.txt"};
    char path[256];

    snprintf(directory, sizeof directory, "/tmp/test_chat.XXXXXX");
    if (!mkdtemp(directory))
        return 1;
    write_templates();
    test_the_sequence_is_what_the_template_gives();
    test_history_holds_replies_without_their_thoughts();
    test_text_makes_no_control_tokens();
    test_what_the_cache_holds_is_not_computed_again();
    test_long_prompts_go_in_chunks();
    test_the_oldest_turns_are_dropped();
    test_a_full_context_is_left_half_free();
    test_clear_is_a_fresh_start();
    test_a_system_prompt_must_leave_room();
    test_a_prompt_may_fill_the_context();
    test_a_reply_ends();
    test_ctrl_c_ends_a_reply_and_keeps_the_turn();
    test_errors_of_the_engine_and_of_stdout_are_passed_on();
    test_thinking_goes_to_stderr();
    test_verbose_prints_ids_and_timings_to_stderr();
    test_templates_are_data();
    test_templates_belong_together();
    test_templates_may_have_windows_line_ends();
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        unlink(path);
    }
    rmdir(directory);
    return test_result();
}
