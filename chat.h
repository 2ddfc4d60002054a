/* chat.h: the conversation.
 *
 * In: what the user says. Out: the reply, to the screen or to a function of the caller's. In between it owns
 * the chat templates, the history, the token sequence of a turn, and the knowledge of what the KV cache
 * holds. How text becomes tokens is tokenizer.h's affair, which token comes next the engine's and the
 * sampler's.
 *
 *     chat_open      reads tokenizer.bin and the four templates of a model directory
 *     chat_say       adds a turn to the history and builds its token sequence, dropping old turns if it must
 *     chat_reply     runs the model and shows what it says
 *     chat_clear     starts over
 *     chat_close
 *
 * The sequence is built anew for every turn, because a past reply is not what was on the screen: its thinking
 * is left out. What it shares with the KV cache is not computed again. tests/embed.c is a program around it.
 */
#ifndef CHAT_H
#define CHAT_H

#include "config.h"
#include "draft.h"
#include "engine.h"
#include "fail.h"
#include "numbers.h"
#include "screen.h"
#include "text.h"
#include "tokenizer.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    Text user;
    Text reply; /* as the model wrote it, thinking included, without the token that ended it */
} Turn;

/* A template file, cut at each %s. */
typedef struct {
    Text file;
    Piece piece[3]; /* what stands before, between and after the texts: one more than there are texts */
} Template;

/* What the last reply took. */
typedef struct {
    int prompt, reused, made; /* tokens: of the prompt, of those that the KV cache held, of the reply */
    int guessed, kept;        /* tokens that were guessed, and of these the right ones */
    double start, first, end; /* seconds_now(): at the start, at the first token, at the end */
} Statistics;

typedef struct {
    /* Set by the caller after chat_open. */
    const char *system; /* the system prompt, or NULL */
    int thinking;       /* 1 = the model thinks before it speaks */
    int limit;          /* most tokens in a reply */
    int context;        /* positions in the KV cache */
    int guesses;        /* most tokens guessed ahead, 0..MAX_ROWS - 1 */
    int verbose;        /* 1 = token ids and timings to screen.err */
    int statistics;     /* 1 = without them, a line about each reply */
    Screen screen;      /* where replies go: streams, or a function */
    Sampler sampler;
    uint64_t seed; /* from which the sampler's generator starts again after chat_clear */
    const Engine *engine;
    void *model; /* opened by engine */

    int interrupted; /* did Ctrl-C end the last reply? */
    Statistics last;

    Tokenizer tokenizer;
    Template templates[2][2]; /* (has system prompt, thinking) */
    int end[2];               /* <|im_end|> and <|endoftext|>, either ends a reply */
    int think, think_end;     /* <think> and </think> */

    Turn *turns; /* (capacity), the oldest first, the first n in use; the last awaits its reply */
    int n, capacity;
    Tokens ids;            /* the whole sequence of the last turn */
    Tokens cached;         /* what positions 0.. of the KV cache hold */
    Candidate *candidates; /* (MAX_ROWS, VOCAB) at most: k of them for each row */
    Draft draft;           /* has ids, where there are guesses */
} Chat;

/* The signal handler turns REPLYING into STOPPING; chat_reply looks at it before every step of the engine. */
enum { IDLE, REPLYING, STOPPING };
static volatile sig_atomic_t chat_phase = IDLE;

/* ---- templates ---- */

/* Cuts t->file at its %s, of which there must be as many as it has texts. A template is data, never a format
 * string: any other % is text. */
static inline const char *
chat_template_cut(Template *t, const char *path, int texts)
{
    size_t n = t->file.n, from = 0;
    const char *text = n > 0 ? t->file.text : "";
    int found = 0;

    for (size_t i = 0; i <= n; i++) {
        int cut = n - i >= 2 && text[i] == '%' && text[i + 1] == 's';
        if (!cut && i < n)
            continue;
        if (found <= texts) {
            Piece piece = {text + from, i - from, 1};
            t->piece[found] = piece;
        }
        found++;
        from = i + 2;
    }
    if (found - 1 != texts)
        return fail("%s: has %d %%s and needs %d: export.py makes it", path, found - 1, texts);
    return NULL;
}

/* Reads a template. Line ends are LF, also where they were made CRLF on the way. */
static inline const char *
chat_template_open(Template *t, const char *model_dir, const char *name, int texts)
{
    char path[4096];
    const char *error;
    size_t kept = 0;

    if (snprintf(path, sizeof path, "%s/%s", model_dir, name) >= (int)sizeof path)
        return fail("%.100s...: the path is too long", model_dir);
    if (access(path, F_OK))
        return fail("%s: %s: export.py makes it", path, strerror(errno));
    if ((error = text_read(&t->file, path, 1 << 20)))
        return error;
    for (size_t i = 0; i < t->file.n; i++)
        if (t->file.text[i] != '\r' || i + 1 == t->file.n || t->file.text[i + 1] != '\n')
            t->file.text[kept++] = t->file.text[i];
    t->file.n = kept;
    return chat_template_cut(t, path, texts);
}

/* [has system prompt][thinking] */
static const char *const chat_template_names[2][2] = {
    {"template_user.txt", "template_user_thinking.txt"},
    {"template_system.txt", "template_system_thinking.txt"}};

/* Does text end with this? */
static inline int
chat_ends(Piece text, Piece with)
{
    return text.n >= with.n && !memcmp(text.text + text.n - with.n, with.text, with.n);
}

static inline int
chat_equal(Piece a, Piece b)
{
    return a.n == b.n && chat_ends(a, b);
}

/* A conversation takes parts from several templates (see chat_sequence), so they must agree: the four begin
 * alike and end alike, but for what lets the model think or not. */
static inline const char *
chat_templates_agree(const Chat *c, const char *model_dir)
{
    const Piece *user = c->templates[0][0].piece, *user_thinking = c->templates[0][1].piece;
    const Piece *system = c->templates[1][0].piece, *system_thinking = c->templates[1][1].piece;
    Piece reply = system_thinking[2];
    const char *odd = NULL;

    if (reply.n > system[2].n)
        reply.n = system[2].n;
    if (!chat_ends(system_thinking[1], user_thinking[0]) || !chat_equal(system_thinking[2], user_thinking[1]))
        odd = chat_template_names[0][1];
    else if (!chat_equal(user[0], user_thinking[0]) || !chat_equal(user[1], system[2]))
        odd = chat_template_names[0][0];
    else if (!chat_equal(system[0], system_thinking[0]) || !chat_equal(system[1], system_thinking[1]) ||
             memcmp(system[2].text, reply.text, reply.n) != 0)
        odd = chat_template_names[1][0];
    return odd ? fail("%s/%s: does not go with the other templates: the four are of one model, and export.py "
                      "makes them",
                      model_dir, odd)
               : NULL;
}

static inline const char *
chat_open(Chat *c, const char *model_dir)
{
    char path[4096];
    const char *error;

    memset(c, 0, sizeof *c);
    c->limit = INT_MAX;
    c->context = DEFAULT_CONTEXT;
    c->screen.out = stdout;
    c->screen.err = stderr;
    if (snprintf(path, sizeof path, "%s/tokenizer.bin", model_dir) >= (int)sizeof path)
        return fail("%.100s...: the path is too long", model_dir);
    if ((error = tokenizer_open(&c->tokenizer, path)))
        return error;
    for (int system = 0; system < 2; system++)
        for (int thinking = 0; thinking < 2; thinking++)
            if ((error = chat_template_open(&c->templates[system][thinking], model_dir,
                                            chat_template_names[system][thinking], 1 + system)))
                return error;
    c->end[0] = tokenizer_control(&c->tokenizer, "<|im_end|>");
    c->end[1] = tokenizer_control(&c->tokenizer, "<|endoftext|>");
    c->think = tokenizer_control(&c->tokenizer, "<think>");
    c->think_end = tokenizer_control(&c->tokenizer, "</think>");
    if (c->end[0] < 0)
        return fail("%s: has no <|im_end|>, so no reply would end: not a tokenizer of Qwen3", path);
    return chat_templates_agree(c, model_dir);
}

/* Forgets the oldest turns. */
static inline void
chat_drop(Chat *c, int turns)
{
    for (int i = 0; i < turns; i++) {
        text_free(&c->turns[i].user);
        text_free(&c->turns[i].reply);
    }
    c->n -= turns;
    if (turns > 0)
        memmove(c->turns, c->turns + turns, (size_t)c->n * sizeof *c->turns);
}

/* After a chat_open that failed too. */
static inline void
chat_close(Chat *c)
{
    chat_drop(c, c->n);
    free(c->turns);
    free(c->candidates);
    draft_close(&c->draft);
    tokens_free(&c->ids);
    tokens_free(&c->cached);
    for (int i = 0; i < 4; i++)
        text_free(&c->templates[i / 2][i % 2].file);
    screen_close(&c->screen);
    tokenizer_close(&c->tokenizer);
    memset(c, 0, sizeof *c);
}

/* ---- history and the token sequence ---- */

/* Adds a turn to the history. */
static inline const char *
chat_add(Chat *c, const char *user, size_t n)
{
    const char *error;

    if (c->n == c->capacity) {
        int capacity = 2 * c->capacity + 8;
        Turn *grown = (Turn *)realloc(c->turns, (size_t)capacity * sizeof *grown);
        if (!grown)
            return fail("out of memory for %d turns", capacity);
        c->turns = grown;
        c->capacity = capacity;
    }
    memset(&c->turns[c->n], 0, sizeof *c->turns);
    if ((error = text_append(&c->turns[c->n].user, user, n)))
        return error;
    c->n++;
    return NULL;
}

/* Takes the last turn back. */
static inline void
chat_take_back(Chat *c)
{
    Turn *turn = &c->turns[--c->n];

    text_free(&turn->user);
    text_free(&turn->reply);
}

/* The first place in text..end where word stands, or NULL. */
static inline const char *
chat_find(const char *text, const char *end, const char *word)
{
    size_t n = strlen(word);

    for (; (size_t)(end - text) >= n; text++)
        if (!memcmp(text, word, n))
            return text;
    return NULL;
}

static inline void
chat_piece(Piece *pieces, int *n, const char *text, size_t length, int control)
{
    Piece piece = {text, length, control};

    pieces[(*n)++] = piece;
}

/* A past reply, as the model's own chat template shows it to the model: what follows the last </think> and
 * its newlines; all of it where there is none. A <think> in there is the model's control token, and the
 * beginning of a thought that was cut short. Adds at most 2 * reply->n / strlen("<think>") + 1 pieces. */
static inline void
chat_past_reply(const Text *reply, Piece *pieces, int *n)
{
    const char *text = reply->n > 0 ? reply->text : "", *end = text + reply->n, *found;
    int thought = 0;

    for (; (found = chat_find(text, end, "</think>")) != NULL; thought = 1)
        text = found + strlen("</think>");
    while (thought && text < end && *text == '\n')
        text++;
    for (; (found = chat_find(text, end, "<think>")) != NULL; text = found + strlen("<think>")) {
        chat_piece(pieces, n, text, (size_t)(found - text), 0);
        chat_piece(pieces, n, found, strlen("<think>"), 1);
    }
    chat_piece(pieces, n, text, (size_t)(end - text), 0);
}

/* The token sequence of the last turn: what the model's own chat template gives for the system prompt, the
 * turns from `first` on with their replies, and the beginning of the next reply. Text never makes a control
 * token, with the one exception in chat_past_reply. Replaces what ids held. */
static inline const char *
chat_sequence(const Chat *c, int first, Tokens *ids)
{
    int system = c->system != NULL, n = 0;
    /* Past turns are shown as thinking mode begins them, whatever mode they had. What stands between a reply
     * and the next user text is what stands between the system prompt and the first. */
    const Piece *past = c->templates[system][1].piece;
    const Piece *last = c->templates[system][c->thinking].piece;
    const Piece *between = &c->templates[1][1].piece[1];
    size_t most = 3;

    for (int i = first; i < c->n; i++)
        most += 4 + 2 * (c->turns[i].reply.n / strlen("<think>"));
    Piece *pieces = (Piece *)malloc(most * sizeof *pieces);
    if (!pieces)
        return fail("out of memory for %zu pieces of text", most);

    pieces[n++] = past[0];
    if (system) {
        chat_piece(pieces, &n, c->system, strlen(c->system), 0);
        pieces[n++] = past[1];
    }
    for (int i = first; i < c->n; i++) {
        const Turn *turn = &c->turns[i];
        chat_piece(pieces, &n, turn->user.text, turn->user.n, 0);
        if (i == c->n - 1) {
            pieces[n++] = last[1 + system];
        } else {
            pieces[n++] = past[1 + system];
            chat_past_reply(&turn->reply, pieces, &n);
            pieces[n++] = *between;
        }
    }
    ids->n = 0;
    const char *error = tokenizer_encode(&c->tokenizer, pieces, n, ids);
    free(pieces);
    return error;
}

/* Builds the sequence of the last turn. Where that has more than `most` tokens it begins with the oldest turn
 * with which half of the context stays free: *first. Fails if the turn alone does not fit the context. */
static inline const char *
chat_fit(Chat *c, int most, int *first)
{
    int low = 1, high = c->n - 1; /* the turn looked for is one of low..high */
    const char *error = chat_sequence(c, *first = 0, &c->ids);

    if (error || c->ids.n <= most)
        return error;
    if (c->n > 1 && (error = chat_sequence(c, *first = c->n - 1, &c->ids)))
        return error;
    if (c->ids.n > c->context)
        return fail("the prompt is %d tokens with its template, the context holds %d: shorten it%s", c->ids.n,
                    c->context, c->context < MAX_CONTEXT ? ", or start with a larger -c" : "");
    while (low < high) {
        *first = (low + high) / 2;
        if ((error = chat_sequence(c, *first, &c->ids)))
            return error;
        if (c->ids.n <= c->context / 2)
            high = *first;
        else
            low = *first + 1;
    }
    return *first == high ? NULL : chat_sequence(c, *first = high, &c->ids);
}

/* Begins a turn: adds the user's text to the history and builds its token sequence. Where history and a reply
 * no longer fit together the oldest turns are dropped until half of the context is free, so that it does not
 * happen again at once, and a line says so. A turn that does not fit even alone is refused, and the history
 * stays as it was. The room kept for a reply is a quarter of the context, or -n where that is less. */
static inline const char *
chat_say(Chat *c, const char *user, size_t n)
{
    int room = c->context / 4 < c->limit ? c->context / 4 : c->limit, first = 0;
    const char *error = chat_add(c, user, n);

    if (error)
        return error;
    /* The last token of a reply needs no position. */
    error = chat_fit(c, room > 1 ? c->context - room + 1 : c->context, &first);
    if (error) {
        chat_take_back(c);
        return error;
    }
    if (first > 0)
        screen_note(&c->screen, "(the context of %d tokens is full: the oldest %d of %d turns forgotten)",
                    c->context, first, c->n);
    chat_drop(c, first);
    return NULL;
}

/* Fails if the system prompt leaves a turn no room. */
static inline const char *
chat_check_system(Chat *c)
{
    const char *error;

    if (!c->system)
        return NULL;
    if ((error = chat_add(c, "", 0)))
        return error;
    error = chat_sequence(c, c->n - 1, &c->ids);
    chat_take_back(c);
    if (!error && c->ids.n >= c->context)
        return fail("the system prompt is %d tokens with its template, the context holds %d: shorten it%s",
                    c->ids.n, c->context, c->context < MAX_CONTEXT ? ", or start with a larger -c" : "");
    return error;
}

/* Starts over, as if nothing had been said: the same turns now get the same replies as at the start. So what
 * the KV cache holds is forgotten too: how much of a prompt is computed at once decides how its sums are
 * rounded. */
static inline void
chat_clear(Chat *c)
{
    chat_drop(c, c->n);
    c->cached.n = 0;
    sampler_seed(&c->sampler, c->seed);
}

/* ---- the reply ---- */

/* Brings the KV cache to all but the last token of ids, from the first one on that it does not hold yet. */
static inline const char *
chat_prefill(Chat *c, int *reused)
{
    int last = c->ids.n - 1, keep = 0, progress;
    const char *error = NULL;

    while (keep < last && keep < c->cached.n && c->ids.id[keep] == c->cached.id[keep])
        keep++;
    c->cached.n = *reused = keep;
    progress = c->screen.err_terminal && last - keep > c->engine->chunk;
    while (!error && c->cached.n < last && chat_phase != STOPPING) {
        int pos = c->cached.n, n = last - pos < c->engine->chunk ? last - pos : c->engine->chunk;
        if (progress)
            fprintf(c->screen.err, "\rreading: %d %%", (int)(100.0 * (pos - keep) / (last - keep)));
        error = c->engine->prefill(c->model, c->ids.id + pos, n, pos);
        for (int i = 0; !error && i < n; i++)
            error = tokens_push(&c->cached, c->ids.id[pos + i]);
    }
    if (progress)
        fprintf(c->screen.err, "\r%15s\r", "");
    return error;
}

static inline void
chat_print_ids(FILE *file, const char *what, const int *ids, int n)
{
    fprintf(file, "%s:", what);
    for (int i = 0; i < n; i++)
        fprintf(file, " %d", ids[i]);
    fputc('\n', file);
}

/* Shows a token of the reply and keeps it in the history. */
static inline const char *
chat_show(Chat *c, int token)
{
    int n;
    const char *bytes = tokenizer_bytes(&c->tokenizer, token, &n), *error;

    if (token == c->think || token == c->think_end)
        c->screen.state = THINKING;
    error = text_append(&c->turns[c->n - 1].reply, bytes, (size_t)n);
    if (!error)
        error = screen_write(&c->screen, bytes, n);
    if (token == c->think_end)
        c->screen.state = THOUGHT;
    return error;
}

/* What is told about a reply beside its text. */
static inline void
chat_report(Chat *c)
{
    const Statistics *last = &c->last;
    double seconds = last->end - last->first, wait = last->first - last->start;

    if (c->verbose) {
        chat_print_ids(c->screen.err, "reply", c->ids.id + last->prompt, last->made);
        fprintf(c->screen.err, "%d prompt tokens, %d reused, %.1f ms to the first token", last->prompt,
                last->reused, 1e3 * wait);
        if (last->made > 1)
            fprintf(c->screen.err, "; %d tokens, %.1f tokens/s, %.2f ms each", last->made,
                    (last->made - 1) / seconds, 1e3 * seconds / (last->made - 1));
        if (c->guesses > 0)
            fprintf(c->screen.err, "; %d guessed, %d kept", last->guessed, last->kept);
        fprintf(c->screen.err, "\ncontext: %d of %d\n", c->cached.n, c->context);
    } else if (c->statistics && last->made > 1) {
        screen_note(&c->screen, "[%.2f tk/s, %d tokens in %.2fs, the first after %.2fs, context %d of %d]",
                    (last->made - 1) / seconds, last->made, wait + seconds, wait, c->cached.n, c->context);
    } else if (c->statistics && last->made > 0) {
        screen_note(&c->screen, "[1 token after %.2fs, context %d of %d]", wait, c->cached.n, c->context);
    }
}

/* One pass of the engine: the last token of ids, and up to `most` guesses at what follows it, but none at
 * what follows the end of the reply. rows[0..*n) are what it ran, c->candidates (*n, k) what may come after
 * each. Where k is 0, which means all logits, an engine takes one row. */
static inline const char *
chat_pass(Chat *c, int k, int most, int *rows, int *n)
{
    int guesses = k == 0 ? 0 : most < c->guesses ? most : c->guesses;
    double start = seconds_now();

    rows[0] = c->ids.id[c->ids.n - 1];
    guesses = draft_guess(&c->draft, rows + 1, guesses);
    for (*n = 1; *n <= guesses && rows[*n] != c->end[0] && rows[*n] != c->end[1];)
        ++*n;
    const char *error = c->engine->decode(c->model, rows, *n, c->cached.n, k, c->candidates);
    if (c->guesses > 0)
        draft_took(&c->draft, *n, seconds_now() - start);
    return error;
}

/* Runs the model from the sequence of chat_say to the end of its reply, which is shown as it comes and kept
 * in the history, until a token ends it, or -n, the end of the context, or Ctrl-C does. ids then holds the
 * tokens of the reply too. A turn that Ctrl-C stopped before its first token is taken back. The rows of a
 * pass are sampled one after the other, as if each had been a pass of its own, up to the first token that is
 * not as guessed. */
static inline const char *
chat_reply(Chat *c)
{
    int prompt = c->ids.n, reused = 0, made = 0, ended = 0;
    int rows[MAX_ROWS], n_rows = 0, row = 0, guessed = 0, right = 0;
    int most = c->context - prompt + 1 < c->limit ? c->context - prompt + 1 : c->limit;
    int k = sampler_wants(&c->sampler);
    double start = seconds_now(), first = start;
    const char *error, *end_error;
    char kept[1024];

    if (!c->candidates &&
        !(c->candidates = (Candidate *)malloc((size_t)MAX_ROWS * VOCAB * sizeof *c->candidates)))
        return fail("out of memory for %d candidates", MAX_ROWS * VOCAB);
    if (c->guesses > 0) {
        if (!c->draft.id && (error = draft_open(&c->draft, c->context + 1)))
            return error;
        draft_follow(&c->draft, c->ids.id, prompt);
    }
    if (c->verbose)
        chat_print_ids(c->screen.err, "prompt", c->ids.id, prompt);
    chat_phase = REPLYING;
    error = chat_prefill(c, &reused);
    while (!error && made < most && chat_phase != STOPPING) {
        if (row == n_rows) { /* the first token should not wait for rows that guess what follows it */
            if ((error = chat_pass(c, k, made > 0 ? most - made - 1 : 0, rows, &n_rows)))
                break;
            guessed += n_rows - 1;
            row = 0;
        }
        if ((error = tokens_push(&c->cached, rows[row])))
            break;
        Candidate *candidates = c->candidates + (size_t)row * k;
        if (!isfinite(candidates[0].logit)) {
            error = fail("the model gives no numbers: its weights are damaged (compare their sha256)");
            break;
        }
        int token = sampler_pick(&c->sampler, candidates, k ? k : VOCAB);
        if ((error = tokens_push(&c->ids, token)))
            break;
        if (c->guesses > 0)
            draft_add(&c->draft, token);
        if (++row < n_rows && token == rows[row])
            right++;
        else
            n_rows = row; /* what comes after it is worth nothing: the next pass overwrites it */
        if (++made == 1)
            first = seconds_now();
        ended = token == c->end[0] || token == c->end[1];
        if (ended)
            break;
        error = chat_show(c, token);
    }
    c->interrupted = chat_phase == STOPPING && !ended && made < most;
    chat_phase = IDLE;
    Statistics last = {prompt, reused, made, guessed, right, start, first, seconds_now()};
    c->last = last;
    snprintf(kept, sizeof kept, "%s", error ? error : ""); /* what screen_end says would replace it */
    end_error = screen_end(&c->screen);
    if (error || end_error)
        return error ? fail("%s", kept) : end_error;
    if (!ended && c->cached.n == c->context)
        screen_note(&c->screen, "(the reply was cut: the context of %d tokens is full)", c->context);
    else if (!ended && made == c->limit)
        screen_note(&c->screen, "(the reply was cut: -n %d)", c->limit);
    chat_report(c);
    if (c->interrupted && made == 0)
        chat_take_back(c);
    return NULL;
}

#endif
