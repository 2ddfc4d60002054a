/* terminal.h: the keyboard.
 *
 * In: what a person types, or what comes through a pipe. Out: a turn, or a command. A line is a turn; so is a
 * paste, whatever lines it has; three double quotes open and close a block of lines. What a turn is about is
 * others' affair.
 *
 *     terminal_open      looks what there is: an editor for the line, a plain terminal, a pipe
 *     terminal_read      the next turn or command
 *     terminal_read_all  everything as one turn
 *     terminal_close
 *
 * The editor is for a terminal whose cursor moves. While it is there the terminal is in a mode of ours: each
 * key comes at once and none is echoed, also while a reply is printed, so that what is typed ahead waits for
 * its prompt. On every way out that there is, signals included, the terminal gets back what it had. */
#ifndef TERMINAL_H
#define TERMINAL_H

#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* signals, winsize with -std=c11 */
#endif

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "config.h"
#include "fail.h"
#include "screen.h"
#include "text.h"

#ifndef __cplusplus
int wcwidth(wchar_t wide); /* glibc's headers keep it from _DEFAULT_SOURCE */
#endif

enum {
    TERMINAL_MOST = 1 << 26, /* bytes of a turn: more than any context holds, and what tokenizer.h takes */
    TERMINAL_CUT = 4095,     /* bytes of a line, of which a terminal without an editor drops the rest */
    TERMINAL_PROMPT = 2      /* columns of "> " and of ". " */
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
    int editor;      /* standard input and standard error are that terminal, and its cursor moves */
    int colour;
    int ended; /* the end of the input was met */

    Text line; /* what is being typed */
    size_t cursor;
    const char *prompt;
    int columns, rows; /* of the terminal */
    int top; /* the row of prompt and line that is shown first, where they are longer than the screen; -1: the
                prompt is yet to be shown */
    int row; /* of the cursor, counted from top */
    Text *history; /* (capacity) the turns, of which n are in use; */
    int n, capacity;
    int recalled; /* the one shown now; n: none, */
    Text draft;   /* and what was typed before one was shown */
    Text out;     /* what a terminal_draw writes */
    char input[4096];
    int next, filled; /* the bytes of input that were read but not looked at */
    const char *error;
} Terminal;

/* ---- the terminal's mode ---- */

typedef enum { MODE_FOUND, MODE_REPLY, MODE_EDIT } TerminalMode;

/* What signal handlers must know. */
static struct {
    struct termios modes[3];
    volatile sig_atomic_t set, wanted; /* the mode that the terminal is in, and the one for after a stop */
    volatile sig_atomic_t resized, resumed;
} terminal;

/* In our modes a paste comes between ESC [ 200 ~ and ESC [ 201 ~. */
static inline void
terminal_set(int mode)
{
    const char *paste = mode == MODE_FOUND ? "\x1b[?2004l" : "\x1b[?2004h";
    ssize_t ignored = 0;

    if ((mode == MODE_FOUND) != (terminal.set == MODE_FOUND))
        ignored = write(STDERR_FILENO, paste, strlen(paste));
    (void)ignored;
    if (mode != terminal.set)
        tcsetattr(STDIN_FILENO, TCSANOW, &terminal.modes[mode]);
    terminal.set = mode;
}

/* Gives the terminal back. May be called at any time, from a signal handler too. */
static inline void
terminal_restore(void)
{
    terminal.wanted = MODE_FOUND;
    terminal_set(MODE_FOUND);
}

static inline void
terminal_on_death(int number)
{
    terminal_restore();
    raise(number); /* its handler is the default one again */
}

/* After a stop, whoever had the terminal meanwhile. */
static inline void
terminal_on_continue(int number)
{
    int saved = errno;

    (void)number;
    if (terminal.wanted != MODE_FOUND && tcgetpgrp(STDIN_FILENO) == getpgrp()) {
        terminal.set = MODE_FOUND;
        terminal_set(terminal.wanted);
        terminal.resumed = 1;
    }
    errno = saved;
}

/* Ctrl-Z: stops with the terminal as it was found. */
static inline void
terminal_on_stop(int number)
{
    int saved = errno;
    struct sigaction action, ours;
    sigset_t mask;

    terminal_set(MODE_FOUND);
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    sigaction(number, &action, &ours);
    raise(number);
    sigemptyset(&mask);
    sigaddset(&mask, number);
    sigprocmask(SIG_UNBLOCK, &mask, NULL); /* here it stops, unless nobody could make it go on */
    sigaction(number, &ours, NULL);
    errno = saved;
    terminal_on_continue(number);
}

static inline void
terminal_on_resize(int number)
{
    (void)number;
    terminal.resized = 1;
}

static inline void
terminal_catch(void)
{
    static const int harmless[] = {SIGCHLD, SIGURG, SIGKILL, SIGSTOP, SIGTTIN, SIGTTOU};
    struct sigaction action, found;

    for (int number = 1; number <= SIGRTMAX; number++) {
        int dies = 1;
        for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
            dies = dies && number != harmless[i];
        /* What somebody else handles or ignores stays so. */
        if (!dies || sigaction(number, NULL, &found) || (found.sa_flags & SA_SIGINFO) ||
            found.sa_handler != SIG_DFL)
            continue;
        memset(&action, 0, sizeof action);
        sigemptyset(&action.sa_mask);
        action.sa_handler = number == SIGTSTP    ? terminal_on_stop
                            : number == SIGCONT  ? terminal_on_continue
                            : number == SIGWINCH ? terminal_on_resize
                                                 : terminal_on_death;
        action.sa_flags = action.sa_handler == terminal_on_death ? SA_RESETHAND | SA_NODEFER : SA_RESTART;
        sigaction(number, &action, NULL);
    }
}

/* ---- keys ---- */

enum {
    CTRL = 0x1F, /* 'A' & CTRL is what Ctrl-A sends */
    ESCAPE = 0x1B,
    KEY_NONE = 256,
    KEY_END_OF_INPUT,
    KEY_REDRAW,
    KEY_UP,
    KEY_DOWN,
    KEY_LEFT,
    KEY_RIGHT,
    KEY_WORD_LEFT,
    KEY_WORD_RIGHT,
    KEY_HOME,
    KEY_END,
    KEY_DELETE,
    KEY_PASTE
};

/* The next byte from the keyboard. KEY_NONE after so many milliseconds; -1: there is always time. */
static inline int
terminal_byte(Terminal *t, int patience)
{
    struct pollfd keyboard = {STDIN_FILENO, POLLIN, 0};

    while (t->next == t->filled) {
        if (patience < 0 && (terminal.resized || terminal.resumed))
            return KEY_REDRAW;
        int ready = poll(&keyboard, 1, patience);
        if (ready == 0)
            return KEY_NONE;
        ssize_t got = ready > 0 ? read(STDIN_FILENO, t->input, sizeof t->input) : -1;
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
            return KEY_END_OF_INPUT;
        t->next = 0;
        t->filled = got > 0 ? (int)got : 0;
    }
    return (unsigned char)t->input[t->next++];
}

/* The next key. Those without a character send ESC [ numbers letter, or ESC O letter. */
static inline int
terminal_key(Terminal *t)
{
    enum { PATIENCE = 100 /* milliseconds in which the rest of a key arrives */ };
    int key = terminal_byte(t, -1), numbers[2] = {0, 0}, at = 0;

    if (key != ESCAPE)
        return key;
    key = terminal_byte(t, PATIENCE);
    if (key == 'b' || key == 'f')
        return key == 'b' ? KEY_WORD_LEFT : KEY_WORD_RIGHT;
    if (key != '[' && key != 'O')
        return KEY_NONE;
    while ((key = terminal_byte(t, PATIENCE)) >= ' ' && key < '@') {
        if (key == ';')
            at = 1;
        else if (key >= '0' && key <= '9' && numbers[at] < 1000)
            numbers[at] = 10 * numbers[at] + key - '0';
    }
    switch (key) {
    case 'A':
        return KEY_UP;
    case 'B':
        return KEY_DOWN;
    case 'C':
        return numbers[1] > 2 ? KEY_WORD_RIGHT : KEY_RIGHT; /* with Alt or Ctrl */
    case 'D':
        return numbers[1] > 2 ? KEY_WORD_LEFT : KEY_LEFT;
    case 'H':
        return KEY_HOME;
    case 'F':
        return KEY_END;
    case '~':
        return numbers[0] == 1 || numbers[0] == 7   ? KEY_HOME
               : numbers[0] == 4 || numbers[0] == 8 ? KEY_END
               : numbers[0] == 3                    ? KEY_DELETE
               : numbers[0] == 200                  ? KEY_PASTE
                                                    : KEY_NONE;
    }
    return KEY_NONE;
}

/* ---- the line ---- */

/* How the character at byte i of the line is shown: *shown of *n bytes on *width columns. Returns its length.
 */
static inline size_t
terminal_glyph(const Terminal *t, size_t i, const char **shown, int *n, int *width)
{
    const char *text = t->line.text + i;
    int length = screen_utf8(text, t->line.n - i);
    wchar_t wide = 0;

    if (length <= 0) { /* not a character, or not yet */
        *shown = "\xEF\xBF\xBD";
        *n = 3;
        *width = 1;
        return length ? (size_t)-length : t->line.n - i;
    }
    *shown = *text == '\t' ? "    " : screen_control(text, length);
    if (*shown) {
        *width = *n = (int)strlen(*shown);
        return (size_t)length;
    }
    *shown = text;
    *n = length;
    *width = mbtowc(&wide, text, (size_t)length) > 0 ? wcwidth(wide) : 1;
    if (*width < 0) /* newer than the system's tables */
        *width = wide >= 0x1F000 ? 2 : 1;
    return (size_t)length;
}

/* Where the character ends that begins at byte i, with the marks that combine with it. */
static inline size_t
terminal_after(const Terminal *t, size_t i)
{
    const char *shown;
    int n, width = 0;

    if (i < t->line.n)
        i += terminal_glyph(t, i, &shown, &n, &width);
    while (i < t->line.n) {
        size_t length = terminal_glyph(t, i, &shown, &n, &width);
        if (width > 0)
            break;
        i += length;
    }
    return i;
}

/* Where the character begins that ends at byte i. */
static inline size_t
terminal_before(const Terminal *t, size_t i)
{
    size_t before = 0, after = 0;

    while (after < i) {
        before = after;
        after = terminal_after(t, after);
    }
    return before;
}

static inline int
terminal_blank(const Terminal *t, size_t i)
{
    return strchr(" \t\n", t->line.text[i]) && t->line.text[i];
}

/* Where the word begins that the cursor is in or behind (step -1), or ends that it is in or before (1). */
static inline size_t
terminal_word(const Terminal *t, int step)
{
    size_t i = t->cursor, end = step > 0 ? t->line.n : 0, beside = step > 0 ? 0 : 1;

    while (i != end && terminal_blank(t, i - beside))
        i += (size_t)step;
    while (i != end && !terminal_blank(t, i - beside))
        i += (size_t)step;
    return i;
}

/* Inserts text at the cursor. */
static inline void
terminal_insert(Terminal *t, const char *text, size_t n)
{
    size_t behind = t->line.n - t->cursor;

    if (n == 0 || n > TERMINAL_MOST - t->line.n || (t->error = text_append(&t->line, text, n)))
        return;
    memmove(t->line.text + t->cursor + n, t->line.text + t->cursor, behind);
    memcpy(t->line.text + t->cursor, text, n);
    t->cursor += n;
}

/* Takes the bytes from..to - 1 out. */
static inline void
terminal_erase(Terminal *t, size_t from, size_t to)
{
    if (from < to)
        memmove(t->line.text + from, t->line.text + to, t->line.n - to);
    t->line.n -= to - from;
    t->cursor = from;
}

/* The rest of a paste: everything up to ESC [ 201 ~. Its line ends, which come as a key would send them,
 * become LF. */
static inline void
terminal_paste(Terminal *t)
{
    static const char end[] = "\x1b[201~";
    size_t length = strlen(end), kept = 0;
    Text text = {NULL, 0, 0};
    int byte;

    while (!t->error && (byte = terminal_byte(t, -1)) != KEY_END_OF_INPUT) {
        char c = (char)byte;
        if (byte == KEY_REDRAW) {
            terminal.resized = terminal.resumed = 0;
            continue;
        }
        t->error = text_append(&text, &c, 1);
        if (text.n >= length && !memcmp(text.text + text.n - length, end, length)) {
            text.n -= length;
            break;
        }
    }
    for (size_t i = 0; i < text.n; i++)
        if (text.text[i] != '\r')
            text.text[kept++] = text.text[i];
        else if (i + 1 == text.n || text.text[i + 1] != '\n')
            text.text[kept++] = '\n';
    if (!t->error)
        terminal_insert(t, text.text, kept);
    text_free(&text);
}

/* Shows an earlier turn, or what was typed before one was shown. */
static inline void
terminal_recall(Terminal *t, int which)
{
    const Text *from = which == t->n ? &t->draft : &t->history[which];

    if (t->recalled == t->n) {
        t->draft.n = 0;
        t->error = text_append(&t->draft, t->line.text, t->line.n);
    }
    t->recalled = which;
    terminal_erase(t, 0, t->line.n);
    if (!t->error)
        terminal_insert(t, from->text, from->n);
}

/* Keeps a turn for terminal_recall, unless it is the one before. */
static inline const char *
terminal_remember(Terminal *t, const Text *text)
{
    const Text *last = t->n > 0 ? &t->history[t->n - 1] : NULL;
    const char *error;

    if (last && last->n == text->n && !memcmp(last->text, text->text, text->n))
        return NULL;
    if (t->n == t->capacity) {
        int capacity = 2 * t->capacity + 8;
        Text *grown = (Text *)realloc(t->history, (size_t)capacity * sizeof *grown);
        if (!grown)
            return fail("out of memory for %d turns", capacity);
        t->history = grown;
        t->capacity = capacity;
    }
    memset(&t->history[t->n], 0, sizeof *t->history);
    if ((error = text_append(&t->history[t->n], text->text, text->n)))
        return error;
    t->n++;
    return NULL;
}

/* ---- the line on the screen ---- */

typedef struct {
    int row, column;
} Place;

/* Adds to what the next terminal_draw will write. */
static inline void
terminal_emit(Terminal *t, const char *text, size_t n)
{
    const char *error = text_append(&t->out, text, n);

    if (error)
        t->error = error;
}

/* Likewise: moves the cursor up by so many rows, and to this column. */
static inline void
terminal_move(Terminal *t, int up, int column)
{
    char sequence[32];

    if (up > 0)
        terminal_emit(t, sequence, (size_t)snprintf(sequence, sizeof sequence, "\x1b[%dA", up));
    terminal_emit(t, "\r", 1);
    if (column > 0)
        terminal_emit(t, sequence, (size_t)snprintf(sequence, sizeof sequence, "\x1b[%dC", column));
}

/* Where the cursor is behind the first n bytes of the line, counted from the start of the prompt. Emits what
 * the rows from..to - 1 show on the way. The terminal itself goes on to the next row where one is full, but
 * only when there is something to show on it. */
static inline Place
terminal_walk(Terminal *t, size_t n, int from, int to)
{
    Place at = {0, TERMINAL_PROMPT};
    const char *shown;
    int bytes, width;

    for (size_t i = 0; i < n;) {
        int line_end = t->line.text[i] == '\n';
        i += terminal_glyph(t, i, &shown, &bytes, &width);
        if (line_end) {
            at.row++;
            at.column = 0;
            if (at.row > from && at.row < to)
                terminal_emit(t, "\r\n", 2);
            continue;
        }
        /* What stands for a control character has its columns one by one. */
        for (int step = width == bytes ? 1 : bytes, columns = width == bytes ? 1 : width; bytes > 0;
             bytes -= step, shown += step) {
            if (at.column + columns > t->columns) {
                at.row++;
                at.column = 0;
            }
            at.column += columns;
            if (at.row >= from && at.row < to)
                terminal_emit(t, shown, (size_t)step);
        }
    }
    if (at.column == t->columns) {
        at.row++;
        at.column = 0;
        if (at.row > from && at.row < to)
            terminal_emit(t, " \r", 2);
    }
    return at;
}

/* Shows the line, or as much around the cursor as fits the screen. All of it goes out at once. */
static inline void
terminal_draw(Terminal *t)
{
    Place end = terminal_walk(t, t->line.n, 0, 0), cursor = terminal_walk(t, t->cursor, 0, 0);
    int top = t->top > 0 ? t->top : 0, last;

    if (top > cursor.row)
        top = cursor.row;
    if (cursor.row - top >= t->rows)
        top = cursor.row - t->rows + 1;
    if (end.row - top < t->rows)
        top = end.row < t->rows ? 0 : end.row - t->rows + 1;
    last = end.row - top < t->rows ? end.row : top + t->rows - 1;

    t->out.n = 0;
    terminal_move(t, t->row,
                  t->top == 0 && top == 0 ? TERMINAL_PROMPT : 0); /* a prompt that is there stays */
    terminal_emit(t, "\x1b[J", 3);
    if (t->top != 0 && top == 0) {
        terminal_emit(t, COLOR_PROMPT, t->colour ? strlen(COLOR_PROMPT) : 0);
        terminal_emit(t, t->prompt, TERMINAL_PROMPT);
        terminal_emit(t, COLOR_RESET, t->colour ? strlen(COLOR_RESET) : 0);
    }
    terminal_walk(t, t->line.n, top, last + 1);
    if (t->cursor < t->line.n)
        terminal_move(t, last - cursor.row, cursor.column);
    t->top = top;
    t->row = cursor.row - top;
    if (!t->error)
        screen_put(stderr, t->out.text, t->out.n);
}

/* Asks how large the terminal is. */
static inline void
terminal_measure(Terminal *t)
{
    struct winsize size;

    memset(&size, 0, sizeof size);
    ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
    t->columns = size.ws_col > 0 ? size.ws_col : 80;
    t->rows = size.ws_row > 0 ? size.ws_row : 24;
    if (t->columns < 2 * TERMINAL_PROMPT)
        t->columns = 2 * TERMINAL_PROMPT;
}

/* Lets a line be typed: t->line. Returns '\r', or why there is none: 'C' & CTRL on a line that is empty, 'D'
 * & CTRL likewise. */
static inline int
terminal_edit(Terminal *t, const char *prompt)
{
    int key = KEY_NONE;

    t->line.n = t->cursor = 0;
    t->recalled = t->n;
    t->prompt = prompt;
    t->row = 0;
    t->top = -1;
    terminal.wanted = MODE_EDIT;
    terminal_set(MODE_EDIT);
    terminal.resized = terminal.resumed = 0;
    terminal_measure(t);
    terminal_draw(t);
    while (!t->error) {
        key = terminal_key(t);
        switch (key) {
        case KEY_NONE:
            break;
        case KEY_REDRAW:
            terminal_measure(t);
            /* A terminal that is resized wraps the line anew; after a stop the cursor is on a new row. */
            t->row = terminal.resumed ? 0 : terminal_walk(t, t->cursor, 0, 0).row - t->top;
            t->top = -1;
            terminal.resized = terminal.resumed = 0;
            break;
        case '\r':
        case '\n':
            t->cursor = t->line.n;
            t->rows = INT_MAX; /* all of it stays to be read */
            terminal_draw(t);
            goto done;
        case 'C' & CTRL:
            if (t->line.n == 0 || *prompt == '.')
                goto done; /* a block is left, whatever the line holds */
            terminal_erase(t, 0, t->line.n);
            t->recalled = t->n;
            t->top = -1;
            break;
        case 'D' & CTRL:
            if (t->line.n == 0)
                goto done;
            terminal_erase(t, t->cursor, terminal_after(t, t->cursor));
            break;
        case KEY_END_OF_INPUT:
            key = t->line.n > 0 ? '\r' : 'D' & CTRL;
            t->ended = 1;
            goto done;
        case KEY_DELETE:
            terminal_erase(t, t->cursor, terminal_after(t, t->cursor));
            break;
        case 'H' & CTRL:
        case 0x7F:
            terminal_erase(t, terminal_before(t, t->cursor), t->cursor);
            break;
        case 'W' & CTRL:
            terminal_erase(t, terminal_word(t, -1), t->cursor);
            break;
        case 'U' & CTRL:
            terminal_erase(t, 0, t->cursor);
            break;
        case 'K' & CTRL:
            t->line.n = t->cursor;
            break;
        case 'A' & CTRL:
        case KEY_HOME:
            t->cursor = 0;
            break;
        case 'E' & CTRL:
        case KEY_END:
            t->cursor = t->line.n;
            break;
        case 'B' & CTRL:
        case KEY_LEFT:
            t->cursor = terminal_before(t, t->cursor);
            break;
        case 'F' & CTRL:
        case KEY_RIGHT:
            t->cursor = terminal_after(t, t->cursor);
            break;
        case KEY_WORD_LEFT:
            t->cursor = terminal_word(t, -1);
            break;
        case KEY_WORD_RIGHT:
            t->cursor = terminal_word(t, 1);
            break;
        case 'P' & CTRL:
        case KEY_UP:
            if (t->recalled > 0)
                terminal_recall(t, t->recalled - 1);
            break;
        case 'N' & CTRL:
        case KEY_DOWN:
            if (t->recalled < t->n)
                terminal_recall(t, t->recalled + 1);
            break;
        case 'Z' & CTRL:
            kill(0, SIGTSTP); /* as the terminal would do */
            break;
        case 'L' & CTRL:
            screen_put(stderr, "\x1b[H\x1b[2J", 7);
            t->row = 0;
            t->top = -1;
            break;
        case KEY_PASTE:
            terminal_paste(t);
            break;
        default:
            if (key >= ' ' || key == '\t') {
                char byte = (char)key;
                terminal_insert(t, &byte, 1);
            }
        }
        if (!t->error && t->next == t->filled)
            terminal_draw(t);
    }
done:
    terminal.wanted = MODE_REPLY;
    terminal_set(MODE_REPLY);
    return key;
}

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
    if (t->editor) {
        int key = terminal_edit(t, prompt);
        if (t->error)
            return t->error;
        if (t->line.n > 0 && t->line.text[t->line.n - 1] == '\n') /* of a paste */
            t->line.n--;
        if (key != '\r' && key != '\n')
            *stop = key;
        else
            fputc('\n', stderr);
        return text_append(text, t->line.text, t->line.n);
    }
    if (t->interactive)
        fprintf(stderr, "%s%s%s", t->colour ? COLOR_PROMPT : "", prompt, t->colour ? COLOR_RESET : "");
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
    return t->editor && *input == INPUT_TURN ? terminal_remember(t, text) : NULL;
}

/* ---- open and close ---- */

static inline void
terminal_open(Terminal *t, FILE *in)
{
    memset(t, 0, sizeof *t);
    t->in = in;
    t->interactive = in == stdin && isatty(STDIN_FILENO);
    t->colour = screen_colour(STDERR_FILENO);
    t->editor = t->interactive && isatty(STDERR_FILENO) && screen_moves() &&
                !tcgetattr(STDIN_FILENO, &terminal.modes[MODE_FOUND]);
    if (!t->editor)
        return;
    if (!setlocale(LC_CTYPE, "C.UTF-8")) /* for wcwidth */
        setlocale(LC_CTYPE, "");
    for (int mode = MODE_REPLY; mode <= MODE_EDIT; mode++) {
        struct termios *m = &terminal.modes[mode];
        *m = terminal.modes[MODE_FOUND];
        m->c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
        m->c_lflag |= ISIG | NOFLSH; /* a Ctrl-C keeps what was typed ahead */
        m->c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IGNCR | ISTRIP);
        m->c_cc[VMIN] = 1;
        m->c_cc[VTIME] = 0;
    }
    /* While a line is edited these two are keys. */
    terminal.modes[MODE_EDIT].c_cc[VINTR] = terminal.modes[MODE_EDIT].c_cc[VSUSP] = _POSIX_VDISABLE;
    atexit(terminal_restore);
    terminal_catch();
}

static inline void
terminal_close(Terminal *t)
{
    terminal_restore();
    for (int i = 0; i < t->n; i++)
        text_free(&t->history[i]);
    free(t->history);
    text_free(&t->line);
    text_free(&t->draft);
    text_free(&t->out);
    memset(t, 0, sizeof *t);
}

#endif
