/* editor.h: a line is typed.
 *
 * In: keys. Out: a line, which may hold pasted lines. While the editor is open the terminal is in a mode of
 * ours: each key comes at once and none is echoed, also while a reply is printed, so that what is typed ahead
 * waits for its prompt. On every way out that there is, signals included, the terminal gets back what it had.
 * What a line means is terminal.h's affair.
 *
 *     editor_open      takes the terminal, if there is one whose cursor moves
 *     editor_line      lets a line be typed
 *     editor_remember  keeps a turn for the keys up and down
 *     editor_restore   gives the terminal back, at any time
 *     editor_close */
#ifndef EDITOR_H
#define EDITOR_H

#include "config.h"
#include "fail.h"
#include "screen.h"
#include "text.h"

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

#ifndef __cplusplus
int wcwidth(wchar_t wide); /* glibc's headers keep it from _DEFAULT_SOURCE */
#endif

enum {
    EDITOR_MOST = 1 << 26, /* bytes of a line: more than any context holds, and what tokenizer.h takes */
    EDITOR_PROMPT = 2      /* columns of "> " and of ". " */
};

typedef struct {
    Text line; /* what is being typed */
    size_t cursor;
    const char *prompt;
    int colour;
    int columns, rows; /* of the terminal */
    int top;       /* the row of prompt and line that is shown first, where they are longer than the screen;
                      -1: the prompt is yet to be shown */
    int row;       /* of the cursor, counted from top */
    Text *history; /* (capacity) the turns, of which n are in use; */
    int n, capacity;
    int recalled; /* the one shown now; n: none, */
    Text draft;   /* and what was typed before one was shown */
    Text out;     /* what editor_draw writes */
    char input[4096];
    int next, filled; /* the bytes of input that were read but not looked at */
    const char *error;
} Editor;

/* ---- the terminal's mode ---- */

typedef enum { MODE_FOUND, MODE_REPLY, MODE_EDIT } EditorMode;

/* What signal handlers must know. */
static struct {
    struct termios modes[3];
    volatile sig_atomic_t set, wanted; /* the mode that the terminal is in, and the one for after a stop */
    volatile sig_atomic_t resized, resumed;
} editor;

/* In our modes a paste comes between ESC [ 200 ~ and ESC [ 201 ~. */
static inline void
editor_set(int mode)
{
    const char *paste = mode == MODE_FOUND ? "\x1b[?2004l" : "\x1b[?2004h";
    int change = (mode == MODE_FOUND) != (editor.set == MODE_FOUND);
    ssize_t ignored = change ? write(STDERR_FILENO, paste, strlen(paste)) : 0;

    (void)ignored;
    if (mode != editor.set)
        tcsetattr(STDIN_FILENO, TCSANOW, &editor.modes[mode]);
    editor.set = mode;
}

/* Gives the terminal back. May be called at any time, from a signal handler too. */
static inline void
editor_restore(void)
{
    editor.wanted = MODE_FOUND;
    editor_set(MODE_FOUND);
}

static inline void
editor_on_death(int number)
{
    editor_restore();
    raise(number); /* its handler is the default one again */
}

/* After a stop, whoever had the terminal meanwhile. */
static inline void
editor_on_continue(int number)
{
    int saved = errno;

    (void)number;
    if (editor.wanted != MODE_FOUND && tcgetpgrp(STDIN_FILENO) == getpgrp()) {
        editor.set = MODE_FOUND;
        editor_set(editor.wanted);
        editor.resumed = 1;
    }
    errno = saved;
}

/* Ctrl-Z: stops with the terminal as it was found. */
static inline void
editor_on_stop(int number)
{
    int saved = errno;
    struct sigaction action, ours;
    sigset_t mask;

    editor_set(MODE_FOUND);
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    sigaction(number, &action, &ours);
    raise(number);
    sigemptyset(&mask);
    sigaddset(&mask, number);
    sigprocmask(SIG_UNBLOCK, &mask, NULL); /* here it stops, unless nobody could make it go on */
    sigaction(number, &ours, NULL);
    errno = saved;
    editor_on_continue(number);
}

static inline void
editor_on_resize(int number)
{
    (void)number;
    editor.resized = 1;
}

static inline void
editor_catch(void)
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
        action.sa_handler = number == SIGTSTP    ? editor_on_stop
                            : number == SIGCONT  ? editor_on_continue
                            : number == SIGWINCH ? editor_on_resize
                                                 : editor_on_death;
        action.sa_flags = action.sa_handler == editor_on_death ? SA_RESETHAND | SA_NODEFER : SA_RESTART;
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
editor_byte(Editor *e, int patience)
{
    struct pollfd keyboard = {STDIN_FILENO, POLLIN, 0};

    while (e->next == e->filled) {
        if (patience < 0 && (editor.resized || editor.resumed))
            return KEY_REDRAW;
        int ready = poll(&keyboard, 1, patience);
        if (ready == 0)
            return KEY_NONE;
        ssize_t got = ready > 0 ? read(STDIN_FILENO, e->input, sizeof e->input) : -1;
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
            return KEY_END_OF_INPUT;
        e->next = 0;
        e->filled = got > 0 ? (int)got : 0;
    }
    return (unsigned char)e->input[e->next++];
}

/* The next key. Those without a character send ESC [ numbers letter, or ESC O letter. */
static inline int
editor_key(Editor *e)
{
    enum { PATIENCE = 100 /* milliseconds in which the rest of a key arrives */ };
    int key = editor_byte(e, -1), numbers[2] = {0, 0}, at = 0;

    if (key != ESCAPE)
        return key;
    key = editor_byte(e, PATIENCE);
    if (key == 'b' || key == 'f')
        return key == 'b' ? KEY_WORD_LEFT : KEY_WORD_RIGHT;
    if (key != '[' && key != 'O')
        return KEY_NONE;
    while ((key = editor_byte(e, PATIENCE)) >= ' ' && key < '@') {
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

/* How the character at byte i of the line is shown: *shown of *n bytes on *width columns; its length. */
static inline size_t
editor_glyph(const Editor *e, size_t i, const char **shown, int *n, int *width)
{
    const char *text = e->line.text + i;
    int length = screen_utf8(text, e->line.n - i);
    wchar_t wide = 0;

    if (length <= 0) { /* not a character, or not yet */
        *shown = "\xEF\xBF\xBD";
        *n = 3;
        *width = 1;
        return length ? (size_t)-length : e->line.n - i;
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
editor_after(const Editor *e, size_t i)
{
    const char *shown;
    int n, width = 0;

    if (i < e->line.n)
        i += editor_glyph(e, i, &shown, &n, &width);
    while (i < e->line.n) {
        size_t length = editor_glyph(e, i, &shown, &n, &width);
        if (width > 0)
            break;
        i += length;
    }
    return i;
}

/* Where the character begins that ends at byte i. */
static inline size_t
editor_before(const Editor *e, size_t i)
{
    size_t before = 0, after = 0;

    while (after < i) {
        before = after;
        after = editor_after(e, after);
    }
    return before;
}

static inline int
editor_blank(const Editor *e, size_t i)
{
    return strchr(" \t\n", e->line.text[i]) && e->line.text[i];
}

/* Where the word begins that the cursor is in or behind (step -1), or ends that it is in or before (1). */
static inline size_t
editor_word(const Editor *e, int step)
{
    size_t i = e->cursor, end = step > 0 ? e->line.n : 0, beside = step > 0 ? 0 : 1;

    while (i != end && editor_blank(e, i - beside))
        i += (size_t)step;
    while (i != end && !editor_blank(e, i - beside))
        i += (size_t)step;
    return i;
}

/* Inserts text at the cursor. */
static inline void
editor_insert(Editor *e, const char *text, size_t n)
{
    size_t behind = e->line.n - e->cursor;

    if (n == 0 || n > EDITOR_MOST - e->line.n || (e->error = text_append(&e->line, text, n)))
        return;
    memmove(e->line.text + e->cursor + n, e->line.text + e->cursor, behind);
    memcpy(e->line.text + e->cursor, text, n);
    e->cursor += n;
}

/* Takes the bytes from..to - 1 out. */
static inline void
editor_erase(Editor *e, size_t from, size_t to)
{
    if (from < to)
        memmove(e->line.text + from, e->line.text + to, e->line.n - to);
    e->line.n -= to - from;
    e->cursor = from;
}

/* The rest of a paste: everything up to ESC [ 201 ~. Its line ends, which come as a key would send them,
 * become LF. */
static inline void
editor_paste(Editor *e)
{
    static const char end[] = "\x1b[201~";
    size_t length = strlen(end), kept = 0;
    Text text = {NULL, 0, 0};
    int byte;

    while (!e->error && (byte = editor_byte(e, -1)) != KEY_END_OF_INPUT) {
        char c = (char)byte;
        if (byte == KEY_REDRAW) {
            editor.resized = editor.resumed = 0;
            continue;
        }
        e->error = text_append(&text, &c, 1);
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
    if (!e->error)
        editor_insert(e, text.text, kept);
    text_free(&text);
}

/* Shows an earlier turn, or what was typed before one was shown. */
static inline void
editor_recall(Editor *e, int which)
{
    const Text *from = which == e->n ? &e->draft : &e->history[which];

    if (e->recalled == e->n) {
        e->draft.n = 0;
        e->error = text_append(&e->draft, e->line.text, e->line.n);
    }
    e->recalled = which;
    editor_erase(e, 0, e->line.n);
    if (!e->error)
        editor_insert(e, from->text, from->n);
}

/* Keeps a turn for editor_recall, unless it is the one before. */
static inline const char *
editor_remember(Editor *e, const Text *text)
{
    const Text *last = e->n > 0 ? &e->history[e->n - 1] : NULL;
    const char *error;

    if (last && last->n == text->n && !memcmp(last->text, text->text, text->n))
        return NULL;
    if (e->n == e->capacity) {
        int capacity = 2 * e->capacity + 8;
        Text *grown = (Text *)realloc(e->history, (size_t)capacity * sizeof *grown);
        if (!grown)
            return fail("out of memory for %d turns", capacity);
        e->history = grown;
        e->capacity = capacity;
    }
    memset(&e->history[e->n], 0, sizeof *e->history);
    if ((error = text_append(&e->history[e->n], text->text, text->n)))
        return error;
    e->n++;
    return NULL;
}

/* ---- the line on the screen ---- */

typedef struct {
    int row, column;
} Place;

/* Adds to what the next editor_draw will write. */
static inline void
editor_emit(Editor *e, const char *text, size_t n)
{
    const char *error = text_append(&e->out, text, n);

    if (error)
        e->error = error;
}

/* Likewise: moves the cursor up by so many rows, and to this column. */
static inline void
editor_move(Editor *e, int up, int column)
{
    char sequence[32];

    if (up > 0)
        editor_emit(e, sequence, (size_t)snprintf(sequence, sizeof sequence, "\x1b[%dA", up));
    editor_emit(e, "\r", 1);
    if (column > 0)
        editor_emit(e, sequence, (size_t)snprintf(sequence, sizeof sequence, "\x1b[%dC", column));
}

/* Where the cursor is behind the first n bytes of the line, counted from the start of the prompt. Emits what
 * the rows from..to - 1 show on the way. The terminal itself goes on to the next row where one is full, but
 * only when there is something to show on it. */
static inline Place
editor_walk(Editor *e, size_t n, int from, int to)
{
    Place at = {0, EDITOR_PROMPT};
    const char *shown;
    int bytes, width;

    for (size_t i = 0; i < n;) {
        int line_end = e->line.text[i] == '\n';
        i += editor_glyph(e, i, &shown, &bytes, &width);
        if (line_end) {
            at.row++;
            at.column = 0;
            if (at.row > from && at.row < to)
                editor_emit(e, "\r\n", 2);
            continue;
        }
        /* What stands for a control character has its columns one by one. */
        for (int step = width == bytes ? 1 : bytes, columns = width == bytes ? 1 : width; bytes > 0;
             bytes -= step, shown += step) {
            if (at.column + columns > e->columns) {
                at.row++;
                at.column = 0;
            }
            at.column += columns;
            if (at.row >= from && at.row < to)
                editor_emit(e, shown, (size_t)step);
        }
    }
    if (at.column == e->columns) {
        at.row++;
        at.column = 0;
        if (at.row > from && at.row < to)
            editor_emit(e, " \r", 2);
    }
    return at;
}

/* Shows the line, or as much around the cursor as fits the screen. All of it goes out at once. */
static inline void
editor_draw(Editor *e)
{
    Place end = editor_walk(e, e->line.n, 0, 0), cursor = editor_walk(e, e->cursor, 0, 0);
    int top = e->top > 0 ? e->top : 0, last;

    if (top > cursor.row)
        top = cursor.row;
    if (cursor.row - top >= e->rows)
        top = cursor.row - e->rows + 1;
    if (end.row - top < e->rows)
        top = end.row < e->rows ? 0 : end.row - e->rows + 1;
    last = end.row - top < e->rows ? end.row : top + e->rows - 1;

    e->out.n = 0;
    editor_move(e, e->row, e->top == 0 && top == 0 ? EDITOR_PROMPT : 0); /* a prompt that is there stays */
    editor_emit(e, "\x1b[J", 3);
    if (e->top != 0 && top == 0) {
        editor_emit(e, COLOR_PROMPT, e->colour ? strlen(COLOR_PROMPT) : 0);
        editor_emit(e, e->prompt, EDITOR_PROMPT);
        editor_emit(e, COLOR_RESET, e->colour ? strlen(COLOR_RESET) : 0);
    }
    editor_walk(e, e->line.n, top, last + 1);
    if (e->cursor < e->line.n)
        editor_move(e, last - cursor.row, cursor.column);
    e->top = top;
    e->row = cursor.row - top;
    if (!e->error)
        screen_put(stderr, e->out.text, e->out.n);
}

/* Asks how large the terminal is. */
static inline void
editor_measure(Editor *e)
{
    struct winsize size;

    memset(&size, 0, sizeof size);
    ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
    e->columns = size.ws_col > 0 ? size.ws_col : 80;
    e->rows = size.ws_row > 0 ? size.ws_row : 24;
    if (e->columns < 2 * EDITOR_PROMPT)
        e->columns = 2 * EDITOR_PROMPT;
}

/* Lets a line be typed: e->line. Returns the key that ended it: Enter, as '\r' or '\n'; 'C' & CTRL, on an
 * empty line or in a block; 'D' & CTRL on an empty line; KEY_END_OF_INPUT. */
static inline int
editor_line(Editor *e, const char *prompt)
{
    int key = KEY_NONE;

    e->line.n = e->cursor = 0;
    e->recalled = e->n;
    e->prompt = prompt;
    e->row = 0;
    e->top = -1;
    editor.wanted = MODE_EDIT;
    editor_set(MODE_EDIT);
    editor.resized = editor.resumed = 0;
    editor_measure(e);
    editor_draw(e);
    while (!e->error) {
        key = editor_key(e);
        switch (key) {
        case KEY_NONE:
            break;
        case KEY_REDRAW:
            editor_measure(e);
            /* A terminal that is resized wraps the line anew; after a stop the cursor is on a new row. */
            e->row = editor.resumed ? 0 : editor_walk(e, e->cursor, 0, 0).row - e->top;
            e->top = -1;
            editor.resized = editor.resumed = 0;
            break;
        case '\r':
        case '\n':
            e->cursor = e->line.n;
            e->rows = INT_MAX; /* all of it stays to be read */
            editor_draw(e);
            goto done;
        case 'C' & CTRL:
            if (e->line.n == 0 || *prompt == '.')
                goto done; /* a block is left, whatever the line holds */
            editor_erase(e, 0, e->line.n);
            e->recalled = e->n;
            e->top = -1;
            break;
        case KEY_END_OF_INPUT:
            goto done;
        case 'D' & CTRL:
        case KEY_DELETE:
            if (key != KEY_DELETE && e->line.n == 0)
                goto done;
            editor_erase(e, e->cursor, editor_after(e, e->cursor));
            break;
        case 'H' & CTRL:
        case 0x7F:
            editor_erase(e, editor_before(e, e->cursor), e->cursor);
            break;
        case 'W' & CTRL:
            editor_erase(e, editor_word(e, -1), e->cursor);
            break;
        case 'U' & CTRL:
            editor_erase(e, 0, e->cursor);
            break;
        case 'K' & CTRL:
            e->line.n = e->cursor;
            break;
        case 'A' & CTRL:
        case KEY_HOME:
            e->cursor = 0;
            break;
        case 'E' & CTRL:
        case KEY_END:
            e->cursor = e->line.n;
            break;
        case 'B' & CTRL:
        case KEY_LEFT:
            e->cursor = editor_before(e, e->cursor);
            break;
        case 'F' & CTRL:
        case KEY_RIGHT:
            e->cursor = editor_after(e, e->cursor);
            break;
        case KEY_WORD_LEFT:
            e->cursor = editor_word(e, -1);
            break;
        case KEY_WORD_RIGHT:
            e->cursor = editor_word(e, 1);
            break;
        case 'P' & CTRL:
        case KEY_UP:
            if (e->recalled > 0)
                editor_recall(e, e->recalled - 1);
            break;
        case 'N' & CTRL:
        case KEY_DOWN:
            if (e->recalled < e->n)
                editor_recall(e, e->recalled + 1);
            break;
        case 'Z' & CTRL:
            kill(0, SIGTSTP); /* as the terminal would do */
            break;
        case 'L' & CTRL:
            screen_put(stderr, "\x1b[H\x1b[2J", 7);
            e->row = 0;
            e->top = -1;
            break;
        case KEY_PASTE:
            editor_paste(e);
            break;
        default:
            if (key >= ' ' || key == '\t') {
                char byte = (char)key;
                editor_insert(e, &byte, 1);
            }
        }
        if (!e->error && e->next == e->filled)
            editor_draw(e);
    }
done:
    editor.wanted = MODE_REPLY;
    editor_set(MODE_REPLY);
    return key;
}

/* ---- open and close ---- */

/* Takes the terminal, if standard input and standard error are one and its cursor moves. Returns whether. */
static inline int
editor_open(Editor *e)
{
    memset(e, 0, sizeof *e);
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO) || !screen_moves() ||
        tcgetattr(STDIN_FILENO, &editor.modes[MODE_FOUND]))
        return 0;
    e->colour = screen_colour(STDERR_FILENO);
    if (!setlocale(LC_CTYPE, "C.UTF-8")) /* for wcwidth */
        setlocale(LC_CTYPE, "");
    for (int mode = MODE_REPLY; mode <= MODE_EDIT; mode++) {
        struct termios *m = &editor.modes[mode];
        *m = editor.modes[MODE_FOUND];
        m->c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
        m->c_lflag |= ISIG | NOFLSH; /* a Ctrl-C keeps what was typed ahead */
        m->c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IGNCR | ISTRIP);
        m->c_cc[VMIN] = 1;
        m->c_cc[VTIME] = 0;
    }
    /* While a line is edited these two are keys. */
    editor.modes[MODE_EDIT].c_cc[VINTR] = editor.modes[MODE_EDIT].c_cc[VSUSP] = _POSIX_VDISABLE;
    atexit(editor_restore);
    editor_catch();
    return 1;
}

static inline void
editor_close(Editor *e)
{
    editor_restore();
    for (int i = 0; i < e->n; i++)
        text_free(&e->history[i]);
    free(e->history);
    text_free(&e->line);
    text_free(&e->draft);
    text_free(&e->out);
    memset(e, 0, sizeof *e);
}

#endif
