/* chat.h: the conversation.
 *
 * In: what the user types. Out: the reply on stdout, the thinking on stderr. In between it owns the chat
 * templates, the history, the token sequence of a turn, and the knowledge of what the KV cache holds. How
 * text becomes tokens is tokenizer.h's affair, which token comes next the engine's and the sampler's.
 *
 *     chat_open      reads tokenizer.bin and the four templates of a model directory
 *     chat_read      one turn from the keyboard or a pipe
 *     chat_say       adds it to the history and builds the token sequence, dropping old turns if it must
 *     chat_reply     runs the model and prints what it says
 *     chat_close
 *
 * The sequence is built anew for every turn, because a past reply is not what stood on the screen: its
 * thinking is left out. What it shares with the KV cache is not computed again. */
#ifndef CHAT_H
#define CHAT_H

#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* clock_gettime with -std=c11 */
#endif

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config.h"
#include "draft.h"
#include "engine.h"
#include "fail.h"
#include "numbers.h"
#include "text.h"
#include "tokenizer.h"

typedef struct {
    Text user;
    Text reply; /* as the model wrote it, thinking included, without the token that ended it */
} Turn;

/* A template file, cut at each %s. */
typedef struct {
    Text file;
    Piece piece[3]; /* what stands before, between and after the texts: one more than there are texts */
} Template;

/* THOUGHT: after </think>, whose newlines belong to it. */
typedef enum { SPEAKING, THINKING, THOUGHT } ChatState;

/* Where a reply is shown. Each write to a terminal turns its colour on and off again, so that between two
 * writes, and so on every way out of the program, the terminal is as it was found. */
typedef struct {
    FILE *out, *err; /* the reply; thinking and everything else */
    int bold, dim;   /* may out be told to show bold, and err to show dim text? */

    ChatState state;
    char character[4]; /* the first bytes of a character that is not whole yet */
    int bytes;
    char held[256]; /* from an opening ** on, until it is known to be bold or not */
    int holds;
    int ticks, code;         /* length of the run of backticks here, and of the one that opened code */
    char last, last_thought; /* the byte before, in the reply and in the thinking; 0 = none yet */
    Text speech, thought;    /* what the next flush will write to out and to err */
    const char *error;       /* the first thing that went wrong */
} Screen;

typedef struct {
    /* Set by the caller after chat_open. */
    const char *system; /* the system prompt, or NULL */
    int thinking;       /* 1 = the model thinks before it speaks */
    int limit;          /* most tokens in a reply */
    int context;        /* positions in the KV cache */
    int guesses;        /* most tokens guessed ahead, 0..MAX_ROWS - 1 */
    int verbose;        /* 1 = token ids and timings to screen.err */
    Screen screen;
    Sampler sampler;
    const Engine *engine;
    void *model;     /* opened by engine */
    int interrupted; /* did Ctrl-C end the last reply? */

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
        return fail("%s: has %d %%s, this template has %d: export.py makes it anew", path, found - 1, texts);
    return NULL;
}

static inline const char *
chat_template_open(Template *t, const char *model_dir, const char *name, int texts)
{
    char path[4096], block[4096];
    const char *error = NULL;
    size_t n;

    if (snprintf(path, sizeof path, "%s/%s", model_dir, name) >= (int)sizeof path)
        return fail("%.100s...: the path is too long", model_dir);
    FILE *file = fopen(path, "rb");
    if (!file)
        return fail("%s: %s: export.py makes it", path, strerror(errno));
    while (!error && (n = fread(block, 1, sizeof block, file)) > 0)
        error = t->file.n > 1 << 20 ? fail("%s: more than 1 MB is no chat template", path)
                                    : text_append(&t->file, block, n);
    if (!error && ferror(file))
        error = fail("%s: %s", path, strerror(errno));
    fclose(file);
    return error ? error : chat_template_cut(t, path, texts);
}

static inline const char *
chat_open(Chat *c, const char *model_dir)
{
    static const char *const names[2][2] = {{"template_user.txt", "template_user_thinking.txt"},
                                            {"template_system.txt", "template_system_thinking.txt"}};
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
                                            names[system][thinking], 1 + system)))
                return error;
    c->end[0] = tokenizer_control(&c->tokenizer, "<|im_end|>");
    c->end[1] = tokenizer_control(&c->tokenizer, "<|endoftext|>");
    c->think = tokenizer_control(&c->tokenizer, "<think>");
    c->think_end = tokenizer_control(&c->tokenizer, "</think>");
    if (c->end[0] < 0)
        return fail("%s: has no <|im_end|>, so no reply would end: not a tokenizer of Qwen3", path);
    return NULL;
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
    text_free(&c->screen.speech);
    text_free(&c->screen.thought);
    tokenizer_close(&c->tokenizer);
    memset(c, 0, sizeof *c);
}

/* ---- history and the token sequence ---- */

/* Adds a turn to the history. */
static inline const char *
chat_add(Chat *c, const char *user, size_t n)
{
    if (c->n == c->capacity) {
        int capacity = 2 * c->capacity + 8;
        Turn *grown = (Turn *)realloc(c->turns, (size_t)capacity * sizeof *grown);
        if (!grown)
            return fail("out of memory for %d turns", capacity);
        c->turns = grown;
        c->capacity = capacity;
    }
    memset(&c->turns[c->n], 0, sizeof *c->turns);
    return text_append(&c->turns[c->n++].user, user, n);
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

/* Builds the sequence of the last turn, from the oldest turn on with which it has at most `most` tokens:
 * *first. Fails if the turn alone does not fit the context. */
static inline const char *
chat_fit(Chat *c, int most, int *first)
{
    const char *error = chat_sequence(c, *first = 0, &c->ids);

    if (error || c->ids.n <= most)
        return error;
    if ((error = chat_sequence(c, c->n - 1, &c->ids)))
        return error;
    if (c->ids.n > c->context)
        return fail("the prompt is %d tokens with its template, the context holds %d: shorten it%s", c->ids.n,
                    c->context, c->context < MAX_CONTEXT ? ", or start with a larger -c" : "");
    for (*first = 1; *first < c->n - 1; ++*first)
        if ((error = chat_sequence(c, *first, &c->ids)) || c->ids.n <= most)
            return error;
    return chat_sequence(c, *first = c->n - 1, &c->ids);
}

/* Begins a turn: adds the user's text to the history and builds its token sequence. Where history and a reply
 * no longer fit together the oldest turns are dropped and a line says so. A turn that does not fit even alone
 * is refused, and the history stays as it was. The room kept for a reply is a quarter of the context, or -n
 * where that is less: without it the model would get a word in only to be cut off. */
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
        text_free(&c->turns[--c->n].user);
        return error;
    }
    if (first > 0)
        fprintf(c->screen.err, "(the context of %d tokens is full: the oldest %d of %d turns forgotten)\n",
                c->context, first, c->n);
    chat_drop(c, first);
    return NULL;
}

/* Starts over. What the KV cache holds is still known: the beginning may serve again. */
static inline void
chat_clear(Chat *c)
{
    chat_drop(c, c->n);
}

/* ---- reading ---- */

typedef enum { CHAT_END, CHAT_TURN, CHAT_CLEAR, CHAT_NOTHING } ChatInput;

/* Appends a line of any length without its line end, LF or CRLF; *end is set where there was none left. */
static inline const char *
chat_line(FILE *in, Text *text, int *end)
{
    size_t start = text->n;
    const char *error = NULL;
    int byte;

    errno = 0;
    while (!error && (byte = getc(in)) != EOF && byte != '\n') {
        char c = (char)byte;
        error = text_append(text, &c, 1);
    }
    if (error)
        return error;
    if (ferror(in))
        return fail("standard input: %s", strerror(errno));
    *end = byte == EOF && text->n == start;
    if (text->n > start && text->text[text->n - 1] == '\r')
        text->n--;
    return NULL;
}

/* Reads everything, as lines: their ends become LF, the last one is left out. */
static inline const char *
chat_read_all(FILE *in, Text *text)
{
    const char *error;
    int end = 0;

    for (text->n = 0; !(error = chat_line(in, text, &end)) && !end;)
        if ((error = text_append(text, "\n", 1)))
            return error;
    if (text->n > 0)
        text->n--;
    return error;
}

/* Reads what the user says next: a line, or a block of lines. A line that begins with three double quotes
 * opens a block, the first line that ends with three (it may be the same) closes it, and so does the end of
 * the input. `more` is shown before each further line of a block, on stderr. */
static inline const char *
chat_read(FILE *in, Text *text, const char *more, ChatInput *input)
{
    static const char quotes[] = "\"\"\"";
    const char *error;
    size_t start = 0, blank = 0; /* of the line that was read last; how many bytes are white space */
    int end = 0, block, lines;

    text->n = 0;
    if ((error = chat_line(in, text, &end)))
        return error;
    if (end) {
        *input = CHAT_END;
        return NULL;
    }
    block = text->n >= 3 && !memcmp(text->text, quotes, 3);
    if (block) {
        text->n -= 3;
        memmove(text->text, text->text + 3, text->n);
        lines = text->n > 0;
        while (!end && (text->n < start + 3 || memcmp(text->text + text->n - 3, quotes, 3))) {
            fputs(more, stderr);
            if (lines++ && (error = text_append(text, "\n", 1)))
                return error;
            start = text->n;
            if ((error = chat_line(in, text, &end)))
                return error;
        }
        text->n -= end ? 0 : 3;
        if (text->n == start && start > 0)
            text->n--; /* there was nothing else on the line of the quotes: it is no part of the text */
    }
    while (blank < text->n && strchr(" \t\n", text->text[blank]) && text->text[blank])
        blank++;
    *input = blank == text->n                                                   ? CHAT_NOTHING
             : !block && text->n == 6 && !memcmp(text->text, "/clear", text->n) ? CHAT_CLEAR
                                                                                : CHAT_TURN;
    return NULL;
}

/* ---- writing ---- */

/* The length of the UTF-8 character at s; 0 where n bytes are only its beginning; minus the number of bytes
 * that belong to no character, counted as The Unicode Standard recommends (3.9, "maximal subparts"). */
static inline int
chat_utf8(const unsigned char *s, int n)
{
    int length = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : s[0] < 0xF5 ? 4 : 0;

    for (int i = 1; i < length; i++) {
        int low = i > 1 ? 0x80 : s[0] == 0xE0 ? 0xA0 : s[0] == 0xF0 ? 0x90 : 0x80;
        int high = i > 1 ? 0xBF : s[0] == 0xED ? 0x9F : s[0] == 0xF4 ? 0x8F : 0xBF;
        if (i == n)
            return 0;
        if (s[i] < low || s[i] > high)
            return -i;
    }
    return length ? length : -1;
}

static inline void
chat_queue(Screen *s, Text *text, const char *bytes, size_t n)
{
    const char *error = text_append(text, bytes, n);

    if (error && !s->error)
        s->error = error;
}

/* Ends a run of backticks: one that opens code, or the run of the same length that closes it. */
static inline void
chat_end_ticks(Screen *s)
{
    if (s->ticks > 0)
        s->code = s->code == 0 ? s->ticks : s->code == s->ticks ? 0 : s->code;
    s->ticks = 0;
}

/* A byte of the reply as it is, and where it leaves us: in code or not. */
static inline void
chat_plain(Screen *s, char byte)
{
    if (byte == '`')
        s->ticks++;
    else
        chat_end_ticks(s);
    if (byte == '\n' && s->code < 3)
        s->code = 0;
    s->last = byte;
    chat_queue(s, &s->speech, &byte, 1);
}

static inline void
chat_release(Screen *s)
{
    for (int i = 0; i < s->holds; i++)
        chat_plain(s, s->held[i]);
    s->holds = 0;
}

/* A byte of the reply on its way to a terminal that can show bold. Bold is `**`, not after a letter, digit or
 * asterisk, then text on the same line that neither begins nor ends with a space, then `**`. Its text is held
 * back until that is certain, so a pair of asterisks that means something else is shown as it is. In code
 * they always are: from a run of backticks to the next run of that length, one or two of them to the end of
 * the line at most. */
static inline void
chat_mark(Screen *s, char byte)
{
    const char *h = s->held;
    int n;

    if (s->holds == 0) {
        if (byte != '`')
            chat_end_ticks(s);
        if (byte != '*' || s->code || s->last == '*' || isalnum((unsigned char)s->last)) {
            chat_plain(s, byte);
            return;
        }
    }
    s->held[s->holds++] = byte;
    n = s->holds;
    if (n > 4 && byte == '*' && h[n - 2] == '*' && h[n - 3] != ' ') {
        chat_queue(s, &s->speech, COLOR_BOLD, strlen(COLOR_BOLD));
        chat_queue(s, &s->speech, h + 2, (size_t)n - 4);
        chat_queue(s, &s->speech, COLOR_RESET, strlen(COLOR_RESET));
        s->last = '*';
        s->holds = 0;
    } else if ((n == 2 && byte != '*') || (n == 3 && (byte == '*' || byte == ' ')) || byte == '\n' ||
               n == (int)sizeof s->held) {
        chat_release(s);
    }
}

/* A whole character, to where it belongs. */
static inline void
chat_character(Screen *s, const char *bytes, int n)
{
    if (s->state == THOUGHT && *bytes != '\n') {
        if (s->last_thought != '\n')
            chat_queue(s, &s->thought, "\n", 1);
        s->state = SPEAKING;
    }
    if (s->state != SPEAKING) {
        if (s->dim && s->thought.n == 0)
            chat_queue(s, &s->thought, COLOR_THINKING, strlen(COLOR_THINKING));
        chat_queue(s, &s->thought, bytes, (size_t)n);
        s->last_thought = bytes[n - 1];
        return;
    }
    for (int i = 0; i < n; i++)
        if (s->bold)
            chat_mark(s, bytes[i]);
        else
            chat_plain(s, bytes[i]);
}

/* Writes out what is certain. Fails when standard output does. */
static inline const char *
chat_flush(Screen *s)
{
    if (s->thought.n > 0) {
        if (s->dim)
            chat_queue(s, &s->thought, COLOR_RESET, strlen(COLOR_RESET));
        fwrite(s->thought.text, 1, s->thought.n, s->err);
        fflush(s->err);
    }
    if (s->speech.n > 0 && (fwrite(s->speech.text, 1, s->speech.n, s->out) < s->speech.n || fflush(s->out)) &&
        !s->error)
        s->error = fail("standard output: %s", strerror(errno));
    s->thought.n = s->speech.n = 0;
    return s->error;
}

/* Writes the characters that are whole with these bytes of the model, and keeps the rest for the next call.
 * What can never be a character becomes U+FFFD, so that the output is UTF-8 whatever the model does. */
static inline const char *
chat_write(Screen *s, const char *bytes, int n)
{
    for (int i = 0; i < n; i++) {
        s->character[s->bytes++] = bytes[i];
        while (s->bytes > 0) {
            int length = chat_utf8((const unsigned char *)s->character, s->bytes);
            if (length == 0)
                break;
            if (length > 0)
                chat_character(s, s->character, length);
            else
                chat_character(s, "\xEF\xBF\xBD", 3);
            s->bytes -= abs(length);
            memmove(s->character, s->character + abs(length), (size_t)s->bytes);
        }
    }
    return chat_flush(s);
}

/* Ends what is on the screen with a newline, and makes it ready for the next reply. */
static inline const char *
chat_write_end(Screen *s)
{
    const char *error;

    if (s->bytes > 0)
        chat_character(s, "\xEF\xBF\xBD", 3);
    chat_release(s);
    if (s->state != SPEAKING && s->last_thought != '\n')
        chat_queue(s, &s->thought, "\n", 1);
    if (s->last != '\n')
        chat_queue(s, &s->speech, "\n", 1);
    error = chat_flush(s);
    s->state = SPEAKING;
    s->bytes = s->ticks = s->code = 0;
    s->last = s->last_thought = 0;
    return error;
}

/* ---- the reply ---- */

/* Brings the KV cache to all but the last token of ids, from the first one on that it does not hold yet. */
static inline const char *
chat_prefill(Chat *c, int *reused)
{
    int last = c->ids.n - 1, keep = 0;
    const char *error = NULL;

    while (keep < last && keep < c->cached.n && c->ids.id[keep] == c->cached.id[keep])
        keep++;
    c->cached.n = *reused = keep;
    while (!error && c->cached.n < last && chat_phase != STOPPING) {
        int pos = c->cached.n, n = last - pos < c->engine->chunk ? last - pos : c->engine->chunk;
        error = c->engine->prefill(c->model, c->ids.id + pos, n, pos);
        for (int i = 0; !error && i < n; i++)
            error = tokens_push(&c->cached, c->ids.id[pos + i]);
    }
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

/* Runs the model from the sequence of chat_say to the end of its reply, which is printed as it comes and kept
 * in the history, until a token ends it, or -n, the end of the context, or Ctrl-C does. ids then holds the
 * tokens of the reply too. The rows of a pass are sampled one after the other, as if each had been a pass of
 * its own, up to the first token that is not as guessed. */
static inline const char *
chat_reply(Chat *c)
{
    Turn *turn = &c->turns[c->n - 1];
    int prompt = c->ids.n, reused, made = 0, ended = 0;
    int rows[MAX_ROWS], n_rows = 0, row = 0, guessed = 0, kept = 0;
    int most = c->context - prompt + 1 < c->limit ? c->context - prompt + 1 : c->limit;
    int k = sampler_wants(&c->sampler);
    double start = seconds_now(), first = start;
    const char *error = NULL;

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
        int token, n;
        if (row == n_rows) { /* the first token should not wait for rows that guess what follows it */
            if ((error = chat_pass(c, k, made > 0 ? most - made - 1 : 0, rows, &n_rows)))
                break;
            guessed += n_rows - 1;
            row = 0;
        }
        if ((error = tokens_push(&c->cached, rows[row])))
            break;
        token = sampler_pick(&c->sampler, c->candidates + (size_t)row * k, k ? k : VOCAB);
        if ((error = tokens_push(&c->ids, token)))
            break;
        if (c->guesses > 0)
            draft_add(&c->draft, token);
        if (++row < n_rows && token == rows[row])
            kept++;
        else
            n_rows = row; /* what comes after it is worth nothing: the next pass overwrites it */
        if (++made == 1)
            first = seconds_now();
        ended = token == c->end[0] || token == c->end[1];
        if (ended)
            break;
        const char *bytes = tokenizer_bytes(&c->tokenizer, token, &n);
        if (token == c->think || token == c->think_end)
            c->screen.state = THINKING;
        error = text_append(&turn->reply, bytes, (size_t)n);
        if (!error)
            error = chat_write(&c->screen, bytes, n);
        if (token == c->think_end)
            c->screen.state = THOUGHT;
    }
    c->interrupted = chat_phase == STOPPING;
    chat_phase = IDLE;
    double seconds = seconds_now() - first;
    const char *end_error = chat_write_end(&c->screen);
    if (error || (error = end_error))
        return error;
    if (!ended && c->cached.n == c->context)
        fprintf(c->screen.err, "(the reply was cut: the context of %d tokens is full)\n", c->context);
    if (c->verbose) {
        chat_print_ids(c->screen.err, "reply", c->ids.id + prompt, made);
        fprintf(c->screen.err, "%d prompt tokens, %d reused, %.1f ms to the first token", prompt, reused,
                1e3 * (first - start));
        if (made > 1)
            fprintf(c->screen.err, "; %d tokens, %.1f tokens/s, %.2f ms each", made, (made - 1) / seconds,
                    1e3 * seconds / (made - 1));
        if (c->guesses > 0)
            fprintf(c->screen.err, "; %d guessed, %d kept", guessed, kept);
        fputc('\n', c->screen.err);
    }
    return NULL;
}

#endif
