/* screen.h: text goes out.
 *
 * In: the bytes that a model says, cut anywhere. Out: whole UTF-8 characters, the reply on one stream,
 * thinking and notes on another; dim and bold where a terminal shows them. Nothing that is written here can
 * command a terminal: control characters are shown, not sent. What the text is about is others' affair.
 *
 *     screen_write   some bytes of the reply, or of the thinking
 *     screen_end     the reply is over
 *     screen_note    a line of our own
 *     screen_line    makes a line of an error harmless */
#ifndef SCREEN_H
#define SCREEN_H

#include "config.h"
#include "fail.h"
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* THOUGHT: after </think>, whose newlines belong to it. */
typedef enum { SPEAKING, THINKING, THOUGHT } ScreenState;

typedef enum { SCREEN_REPLY, SCREEN_THOUGHT, SCREEN_NOTE } ScreenKind;

/* Each write to a terminal turns its colour on and off again, so that between two writes, and so on every way
 * out of the program, the terminal has its own. */
typedef struct {
    FILE *out, *err;                /* the reply; thinking and notes */
    int out_terminal, err_terminal; /* are they terminals? There control characters are shown as ^[ is */
    int bold, dim;                  /* does out show bold text, and err dim text? */

    /* Where it is not NULL, everything goes there instead; what it returns is the error. */
    const char *(*write)(void *to, ScreenKind kind, const char *text, size_t n);
    void *to;

    ScreenState state;
    char character[4]; /* the first bytes of a character that is not whole yet */
    int bytes;
    char held[256]; /* from an opening ** on, until it is known to be bold or not */
    int holds;
    int ticks, code;         /* length of the run of backticks here, and of the one that opened code */
    char last, last_thought; /* the byte before, in the reply and in the thinking; 0 = none yet */
    Text speech, thought;    /* what the next flush will write to out and to err */
    const char *error;       /* the first thing that went wrong */
} Screen;

/* ---- characters ---- */

/* The length of the UTF-8 character at text; 0 where n bytes are only its beginning; minus the number of
 * bytes that belong to no character, counted as The Unicode Standard recommends (3.9, "maximal subparts"). */
static inline int
screen_utf8(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    /* The second byte has limits of its own: overlong forms, surrogates and what is beyond U+10FFFF. */
    int low = s[0] == 0xE0 ? 0xA0 : s[0] == 0xF0 ? 0x90 : 0x80;
    int high = s[0] == 0xED ? 0x9F : s[0] == 0xF4 ? 0x8F : 0xBF;
    int length = s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;

    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xC2 || s[0] > 0xF4)
        return -1;
    for (int i = 1; i < length; i++, low = 0x80, high = 0xBF) {
        if ((size_t)i == n)
            return 0;
        if (s[i] < low || s[i] > high)
            return -i;
    }
    return length;
}

/* How the character at text is shown if it is a control character, as keyboards name them: ^[ is escape, ^?
 * is delete, and those from U+0080 on are what they abbreviate, escape and a letter: ^[[ for U+009B. NULL for
 * all other characters. */
static inline const char *
screen_control(const char *text, int length)
{
    static char shown[4];
    unsigned char first = (unsigned char)text[0];

    if (length == 2 && first == 0xC2 && (unsigned char)text[1] < 0xA0)
        snprintf(shown, sizeof shown, "^[%c", (unsigned char)text[1] - 0x40);
    else if (length == 1 && (first < 0x20 || first == 0x7F))
        snprintf(shown, sizeof shown, "^%c", first ^ 0x40);
    else
        return NULL;
    return shown;
}

/* Makes a line of an error harmless, which may quote anything: control characters, line ends too, and what is
 * no character become question marks. */
static inline void
screen_line(char *line)
{
    size_t n = strlen(line), kept = 0;

    for (size_t i = 0; i < n;) {
        int length = screen_utf8(line + i, n - i);
        if (length <= 0 || screen_control(line + i, length)) {
            line[kept++] = '?';
        } else {
            memmove(line + kept, line + i, (size_t)length);
            kept += (size_t)length;
        }
        i += length ? (size_t)abs(length) : n - i;
    }
    line[kept] = '\0';
}

/* ---- streams ---- */

/* Can what stands at the other end of this terminal move its cursor? */
static inline int
screen_moves(void)
{
    const char *term = getenv("TERM");

    return term && *term && strcmp(term, "dumb") != 0;
}

/* Is this a terminal that has colour, and does its user want it? (no-color.org) */
static inline int
screen_colour(int fd)
{
    const char *no_color = getenv("NO_COLOR");

    return isatty(fd) && screen_moves() && !(no_color && *no_color);
}

/* Standard output and standard error, with what they can show. */
static inline void
screen_open(Screen *s)
{
    s->out = stdout;
    s->err = stderr;
    s->out_terminal = isatty(STDOUT_FILENO);
    s->err_terminal = isatty(STDERR_FILENO);
    s->bold = screen_colour(STDOUT_FILENO);
    s->dim = screen_colour(STDERR_FILENO);
}

/* Writes all of it at once; waits for a descriptor that does not block. Returns 0, or errno. */
static inline int
screen_put(FILE *file, const char *text, size_t n)
{
    struct pollfd ready = {fileno(file), POLLOUT, 0};

    if (ready.fd < 0) /* memory */
        return fwrite(text, 1, n, file) < n || fflush(file) ? errno : 0;
    if (fflush(file))
        return errno;
    while (n > 0) {
        ssize_t written = write(ready.fd, text, n);
        if (written >= 0) {
            text += written;
            n -= (size_t)written;
        } else if (errno == EAGAIN) {
            poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

/* Only what goes to standard output can fail: if standard error cannot be written there is nobody to tell. */
static inline void
screen_send(Screen *s, ScreenKind kind, const char *text, size_t n)
{
    const char *error = NULL;
    int number;

    if (s->write)
        error = s->write(s->to, kind, text, n);
    else if ((number = screen_put(kind == SCREEN_REPLY ? s->out : s->err, text, n)) && kind == SCREEN_REPLY)
        error = fail("standard output: %s", strerror(number));
    if (!s->error)
        s->error = error;
}

/* ---- the reply ---- */

static inline void
screen_queue(Screen *s, Text *text, const char *bytes, size_t n)
{
    const char *error = text_append(text, bytes, n);

    if (!s->error)
        s->error = error;
}

/* Ends a run of backticks: one that opens code, or the run of the same length that closes it. */
static inline void
screen_end_ticks(Screen *s)
{
    if (s->ticks > 0 && s->code == 0)
        s->code = s->ticks;
    else if (s->ticks == s->code)
        s->code = 0;
    s->ticks = 0;
}

/* A byte of the reply as it is, and where it leaves us: in code or not. */
static inline void
screen_plain(Screen *s, char byte)
{
    if (byte == '`')
        s->ticks++;
    else
        screen_end_ticks(s);
    if (byte == '\n' && s->code < 3)
        s->code = 0;
    s->last = byte;
    screen_queue(s, &s->speech, &byte, 1);
}

static inline void
screen_release(Screen *s)
{
    for (int i = 0; i < s->holds; i++)
        screen_plain(s, s->held[i]);
    s->holds = 0;
}

/* A byte of the reply on its way to a terminal that can show bold. Bold is `**`, not after a letter, digit or
 * asterisk, then text on the same line that neither begins nor ends with a space, then `**`. Its text is held
 * back until that is certain, so a pair of asterisks that means something else is shown as it is. In code
 * they always are: code goes from a run of backticks to the next run of that length, and if it is a run of
 * one or two, no further than the end of the line. */
static inline void
screen_mark(Screen *s, char byte)
{
    const char *h = s->held;
    int n;

    if (s->holds == 0) {
        if (byte != '`')
            screen_end_ticks(s);
        if (byte != '*' || s->code || s->last == '*' || isalnum((unsigned char)s->last)) {
            screen_plain(s, byte);
            return;
        }
    }
    s->held[s->holds++] = byte;
    n = s->holds;
    if (n > 4 && byte == '*' && h[n - 2] == '*' && h[n - 3] != ' ') {
        screen_queue(s, &s->speech, COLOR_BOLD, strlen(COLOR_BOLD));
        screen_queue(s, &s->speech, h + 2, (size_t)n - 4);
        screen_queue(s, &s->speech, COLOR_RESET, strlen(COLOR_RESET));
        s->last = '*';
        s->holds = 0;
    } else if ((n == 2 && byte != '*') || (n == 3 && (byte == '*' || byte == ' ')) || byte == '\n' ||
               n == (int)sizeof s->held) {
        screen_release(s);
    }
}

/* A whole character, to where it belongs. */
static inline void
screen_character(Screen *s, const char *bytes, int n)
{
    const char *control = screen_control(bytes, n);

    if (s->state == THOUGHT && *bytes != '\n') {
        if (s->last_thought != '\n')
            screen_queue(s, &s->thought, "\n", 1);
        s->state = SPEAKING;
    }
    if (control && *bytes != '\n' && *bytes != '\t' &&
        (s->state == SPEAKING ? s->out_terminal : s->err_terminal)) {
        bytes = control;
        n = (int)strlen(control);
    }
    if (s->state != SPEAKING) {
        if (s->dim && s->thought.n == 0)
            screen_queue(s, &s->thought, COLOR_THINKING, strlen(COLOR_THINKING));
        screen_queue(s, &s->thought, bytes, (size_t)n);
        s->last_thought = bytes[n - 1];
        return;
    }
    for (int i = 0; i < n; i++)
        if (s->bold)
            screen_mark(s, bytes[i]);
        else
            screen_plain(s, bytes[i]);
}

/* Writes out what is certain. Fails when standard output does. */
static inline const char *
screen_flush(Screen *s)
{
    if (s->thought.n > 0) {
        if (s->dim)
            screen_queue(s, &s->thought, COLOR_RESET, strlen(COLOR_RESET));
        screen_send(s, SCREEN_THOUGHT, s->thought.text, s->thought.n);
    }
    if (s->speech.n > 0)
        screen_send(s, SCREEN_REPLY, s->speech.text, s->speech.n);
    s->thought.n = s->speech.n = 0;
    return s->error;
}

/* Writes the characters that are whole with these bytes of the model, and keeps the rest for the next call.
 * What can never be a character becomes U+FFFD, so that the output is UTF-8 whatever the model does. */
static inline const char *
screen_write(Screen *s, const char *bytes, int n)
{
    for (int i = 0; i < n; i++) {
        s->character[s->bytes++] = bytes[i];
        while (s->bytes > 0) {
            int length = screen_utf8(s->character, (size_t)s->bytes);
            if (length == 0)
                break;
            if (length > 0)
                screen_character(s, s->character, length);
            else
                screen_character(s, "\xEF\xBF\xBD", 3);
            s->bytes -= abs(length);
            memmove(s->character, s->character + abs(length), (size_t)s->bytes);
        }
    }
    return screen_flush(s);
}

/* Ends what is on the screen with a newline, and makes it ready for the next reply. */
static inline const char *
screen_end(Screen *s)
{
    const char *error;

    if (s->bytes > 0)
        screen_character(s, "\xEF\xBF\xBD", 3);
    screen_release(s);
    if (s->state != SPEAKING && s->last_thought != '\n')
        screen_queue(s, &s->thought, "\n", 1);
    if (s->last != '\n')
        screen_queue(s, &s->speech, "\n", 1);
    error = screen_flush(s);
    s->state = SPEAKING;
    s->bytes = s->ticks = s->code = 0;
    s->last = s->last_thought = 0;
    return error;
}

/* A line of our own, dim where that can be. */
#ifdef __GNUC__
__attribute__((format(printf, 2, 3)))
#endif
static inline void
screen_note(Screen *s, const char *format, ...)
{
    char line[1024], shown[1024 + 32];
    va_list args;
    int n;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    screen_line(line);
    n = snprintf(shown, sizeof shown, "%s%s%s\n", s->dim ? COLOR_THINKING : "", line,
                 s->dim ? COLOR_RESET : "");
    screen_send(s, SCREEN_NOTE, shown, (size_t)n);
}

static inline void
screen_close(Screen *s)
{
    text_free(&s->speech);
    text_free(&s->thought);
}

#endif
