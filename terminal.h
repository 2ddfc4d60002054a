/* terminal.h: the keyboard.
 *
 * In: what a person types, or what comes through a pipe. Out: a turn, or a command. A line is a turn; so is a
 * paste, whatever lines it has; three double quotes open and close a block of lines. What a turn is about is
 * others' affair.
 *
 *     terminal_open      looks what there is: an editor for the line, a plain terminal, a pipe
 *     terminal_read      the next turn or command
 *     terminal_read_all  everything as one turn
 *     terminal_close */
#ifndef TERMINAL_H
#define TERMINAL_H

#include "config.h"
#include "editor.h"
#include "fail.h"
#include "screen.h"
#include "text.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    TERMINAL_MOST = EDITOR_MOST, /* bytes of a turn */
    TERMINAL_CUT = 4095          /* bytes of a line, of which a terminal without an editor drops the rest */
};

typedef enum {
    INPUT_END,     /* of the input, or /exit */
    INPUT_STOP,    /* Ctrl-C on an empty line */
    INPUT_NOTHING, /* an empty line, a block that was left */
    INPUT_TURN,
    INPUT_CLEAR,
    INPUT_HELP,
    INPUT_THINK,
    INPUT_UNKNOWN /* a word after a slash that is no command */
} Input;

typedef struct {
    FILE *in;
    int interactive; /* somebody sits at a terminal and gets prompts */
    int edits;       /* and the editor is open */
    int ended;       /* the end of the input was met */
    Editor editor;
} Terminal;

/* ---- lines and turns ---- */

/* Appends a line of any length without its line end, LF or CRLF; *end is set where there was none left. */
static inline const char *
terminal_line(FILE *in, Text *text, int *end)
{
    struct pollfd ready = {fileno(in), POLLIN, 0};
    size_t start = text->n;
    const char *error = NULL;
    int byte;

    for (errno = 0; !error && (byte = getc(in)) != '\n'; errno = 0) {
        char c = (char)byte;
        if (byte == EOF && ferror(in) && errno == EAGAIN) { /* a descriptor that does not block */
            clearerr(in);
            poll(&ready, 1, -1);
            continue;
        }
        if (byte == EOF)
            break;
        error = text->n < TERMINAL_MOST
                    ? text_append(text, &c, 1)
                    : fail("standard input: more than %d MB in one turn", TERMINAL_MOST >> 20);
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

/* Drops a byte order mark at the start, and CR before LF. */
static inline void
terminal_tidy(Text *text)
{
    size_t kept = 0, from = text->n >= 3 && !memcmp(text->text, "\xEF\xBB\xBF", 3) ? 3 : 0;

    for (size_t i = from; i < text->n; i++)
        if (text->text[i] != '\r' || i + 1 == text->n || text->text[i + 1] != '\n')
            text->text[kept++] = text->text[i];
    text->n = kept;
}

/* Is there nothing but white space in it? */
static inline int
terminal_empty(const Text *text)
{
    size_t blank = 0;

    while (blank < text->n && text->text[blank] && strchr(" \t\r\n", text->text[blank]))
        blank++;
    return blank == text->n;
}

/* Reads everything, as lines: their ends become LF, the last one is left out. */
static inline const char *
terminal_read_all(FILE *in, Text *text)
{
    const char *error;
    int end = 0;

    for (text->n = 0; !(error = terminal_line(in, text, &end)) && !end;)
        if ((error = text_append(text, "\n", 1)))
            return error;
    if (text->n > 0)
        text->n--;
    terminal_tidy(text);
    return error;
}

/* Gets a line, typed or piped, and appends it. *stop is 'C' or 'D' & CTRL where there was none. */
static inline const char *
terminal_get(Terminal *t, const char *prompt, Text *text, int *stop)
{
    size_t start = text->n;
    const char *error;

    *stop = 0;
    if (t->edits) {
        Text *line = &t->editor.line;
        int key = editor_line(&t->editor, prompt);
        if (t->editor.error)
            return t->editor.error;
        if (line->n > 0 && line->text[line->n - 1] == '\n') /* of a paste */
            line->n--;
        t->ended = key == KEY_END_OF_INPUT;
        if (key == '\r' || key == '\n')
            fputc('\n', stderr);
        else if (line->n == 0 || key == ('C' & CTRL))
            *stop = t->ended ? 'D' & CTRL : key;
        return text_append(text, line->text, line->n);
    }
    if (t->interactive)
        fprintf(stderr, "%s%s%s", t->editor.colour ? COLOR_PROMPT : "", prompt,
                t->editor.colour ? COLOR_RESET : "");
    error = terminal_line(t->in, text, &t->ended);
    if (!error && t->interactive && text->n - start >= TERMINAL_CUT)
        fprintf(stderr, "(the terminal cuts a line at %d bytes: use -i - for a longer turn)\n", TERMINAL_CUT);
    if (t->ended)
        *stop = 'D' & CTRL;
    return error;
}

/* Three double quotes at the end of text, with blanks behind them or not: how many bytes those are, or 0. */
static inline size_t
terminal_quotes(const char *text, size_t n)
{
    size_t end = n;

    while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '\t'))
        end--;
    return end >= 3 && !memcmp(text + end - 3, "\"\"\"", 3) ? n - end + 3 : 0;
}

/* Reads the rest of a block into text, which holds what stood behind its opening quotes. The first line that
 * ends with three quotes closes it, and so does the end of the input. */
static inline const char *
terminal_block(Terminal *t, Text *text, int *stop)
{
    size_t start = 0, quotes; /* of the line that was read last */
    const char *error;
    int lines = !terminal_empty(text);

    if (!lines)
        text->n = 0;
    while (!(quotes = text->n > start ? terminal_quotes(text->text + start, text->n - start) : 0)) {
        if (lines++ && (error = text_append(text, "\n", 1)))
            return error;
        start = text->n;
        if ((error = terminal_get(t, ". ", text, stop)))
            return error;
        if (*stop)
            break;
    }
    text->n -= quotes;
    if (text->n > 0 && text->text[text->n - 1] == '\n')
        text->n--; /* there was nothing else on the line of the quotes: it is no part of the text */
    return NULL;
}

/* What a line is: a turn, a command, or nothing. */
static inline Input
terminal_sort(const Terminal *t, const Text *text)
{
    static const char *const names[] = {"/clear", "/help", "/think", "/exit"};
    static const Input inputs[] = {INPUT_CLEAR, INPUT_HELP, INPUT_THINK, INPUT_END};
    size_t from = 0, to = text->n, letters;

    if (terminal_empty(text))
        return INPUT_NOTHING;
    while (text->text[from] == ' ' || text->text[from] == '\t')
        from++;
    while (text->text[to - 1] == ' ' || text->text[to - 1] == '\t')
        to--;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (to - from == strlen(names[i]) && !memcmp(text->text + from, names[i], to - from))
            return inputs[i];
    for (letters = from + 1; letters < to; letters++)
        if ((text->text[letters] | 0x20) < 'a' || (text->text[letters] | 0x20) > 'z')
            break;
    return t->interactive && text->text[from] == '/' && letters == to && to - from > 1 ? INPUT_UNKNOWN
                                                                                       : INPUT_TURN;
}

/* Reads what the user says next. */
static inline const char *
terminal_read(Terminal *t, Text *text, Input *input)
{
    const char *error;
    int stop, block;

    text->n = 0;
    *input = INPUT_END;
    if (t->ended)
        return NULL;
    if ((error = terminal_get(t, "> ", text, &stop)))
        return error;
    if (stop) {
        t->ended = 1;
        *input = stop == ('C' & CTRL) ? INPUT_STOP : INPUT_END;
        return NULL;
    }
    terminal_tidy(text);
    /* A paste of several lines is a turn as it stands. */
    block = text->n >= 3 && !memcmp(text->text, "\"\"\"", 3) && !memchr(text->text, '\n', text->n);
    if (block) {
        text->n -= 3;
        memmove(text->text, text->text + 3, text->n);
        if ((error = terminal_block(t, text, &stop)))
            return error;
        t->ended = t->ended || stop == ('D' & CTRL);
    }
    if (stop == ('C' & CTRL)) {
        fputc('\n', stderr);
        *input = INPUT_NOTHING;
        return NULL;
    }
    *input = terminal_sort(t, text);
    if (block && *input != INPUT_NOTHING)
        *input = INPUT_TURN;
    t->ended = t->ended || *input == INPUT_END;
    return t->edits && *input == INPUT_TURN ? editor_remember(&t->editor, text) : NULL;
}

/* ---- open and close ---- */

static inline void
terminal_open(Terminal *t, FILE *in)
{
    memset(t, 0, sizeof *t);
    t->in = in;
    t->interactive = in == stdin && isatty(STDIN_FILENO);
    t->edits = t->interactive && editor_open(&t->editor);
    t->editor.colour = screen_colour(STDERR_FILENO);
}

static inline void
terminal_close(Terminal *t)
{
    editor_close(&t->editor);
    memset(t, 0, sizeof *t);
}

#endif
