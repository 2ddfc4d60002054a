/* What terminal.h promises of lines that come through a pipe. test_terminal.py sits at a terminal. */
#include "../terminal.h"
#include "test.h"

static FILE *
input(const char *bytes, size_t n)
{
    FILE *file = tmpfile();

    if (!file || fwrite(bytes, 1, n, file) < n)
        abort();
    rewind(file);
    return file;
}

/* Reads turns until the end; gives them joined by '|', commands as "<clear>". */
static const char *
turns_of(const char *bytes, size_t n)
{
    static const char *const names[] = {"", "", "", "", "clear", "help", "think", "unknown"};
    static char all[4096];
    FILE *file = input(bytes, n);
    Text text = {NULL, 0, 0};
    Input kind = INPUT_NOTHING;
    Terminal t;
    size_t length = 0;

    terminal_open(&t, file);
    while (kind != INPUT_END) {
        CHECK(!terminal_read(&t, &text, &kind));
        if (kind > INPUT_TURN)
            length += (size_t)sprintf(all + length, "<%s>|", names[kind]);
        if (kind == INPUT_TURN) {
            memcpy(all + length, text.text, text.n);
            length += text.n;
            all[length++] = '|';
        }
    }
    all[length] = '\0';
    CHECK(!terminal_read(&t, &text, &kind) && kind == INPUT_END); /* and the end stays the end */
    terminal_close(&t);
    text_free(&text);
    fclose(file);
    return all;
}

static void
test_a_line_is_a_turn(void)
{
#define Q "\"\"\""
    static const char *const cases[][2] = {
        {"", ""},
        {"\n\r\n  \n\t\n", ""},
        {"a\nb\n", "a|b|"},
        {"a\r\nb", "a|b|"},
        {" a \n", " a |"},
        {"/clear\na /clear\n /clear \t\n/clear\r\n/clear", "<clear>|a /clear|<clear>|<clear>|<clear>|"},
        {"/help\n/think\n/clear now\n/\n/Help\n/other\n/exit\na",
         "<help>|<think>|/clear now|/|/Help|/other|"},
        {Q "\na\nb\n" Q "\nc\n", "a\nb|c|"},
        {Q "a\r\nb" Q "\nc\n", "a\nb|c|"},
        {Q "a" Q "\nc\n", "a|c|"},
        {Q "\n\na\n\n" Q "\n", "\na\n|"},
        {Q "\na\n", "a|"}, /* the end of the input closes it */
        {Q "\n" Q "\n" Q Q "\nb\n", "b|"},
        {Q "\n/clear\n" Q "\n", "/clear|"},
        {Q "\"\na" Q, "\"\na|"},
        {Q "\na\n" Q " \t\nb\n", "a|b|"}, /* blanks behind the quotes */
        {Q " \na\n" Q "\nb\n", "a|b|"},
        {Q "a" Q " \nb\n", "a|b|"},
        {Q "  " Q "\nb\n", "b|"},
        {Q "\na" Q "b\n" Q "\n", "a" Q "b|"},
        {"\xEF\xBB\xBF"
         "a\n\xEF\xBB\xBF" Q "\nb\nc\n" Q,
         "a|b\nc|"}, /* byte order marks */
        {"\xEF\xBB\xBF\n\xEF\xBB\xBF/clear\n", "<clear>|"},
        {"a " Q "\nb\n", "a " Q "|b|"}, /* not at the beginning of a line: text */
        {"\"\"\n", "\"\"|"},
        {"\xFF\xFE\n", "\xFF\xFE|"},
    };
    FILE *file;
    Text text = {NULL, 0, 0};
    Terminal t;
    Input kind;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(!strcmp(turns_of(cases[i][0], strlen(cases[i][0])), cases[i][1]));

    file = input("a\0b\n", 4);
    terminal_open(&t, file);
    CHECK(!terminal_read(&t, &text, &kind) && kind == INPUT_TURN);
    CHECK(text.n == 3 && !memcmp(text.text, "a\0b", 3));
    fclose(file);

    enum { LONG = 1 << 20 };
    char *line = (char *)malloc(LONG);
    memset(line, 'x', LONG);
    file = input(line, LONG);
    terminal_open(&t, file);
    CHECK(!terminal_read(&t, &text, &kind) && kind == INPUT_TURN && text.n == LONG);
    fclose(file);
    free(line);
    text_free(&text);
}

static void
test_all_of_the_input_as_one_turn(void)
{
    static const char *const cases[][2] = {{"", ""},
                                           {"a", "a"},
                                           {"a\n", "a"},
                                           {"a\r\nb\n\n", "a\nb\n"},
                                           {Q "\n/clear\n", Q "\n/clear"},
                                           {"\xEF\xBB\xBF"
                                            "a",
                                            "a"}};
    Text text = {NULL, 0, 0};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        FILE *file = input(cases[i][0], strlen(cases[i][0]));
        CHECK(!terminal_read_all(file, &text));
        CHECK(text.n == strlen(cases[i][1]) && (!text.n || !memcmp(text.text, cases[i][1], text.n)));
        fclose(file);
    }
    text_free(&text);
}

static void
test_standard_input_is_bounded(void)
{
    static char block[1 << 16];
    Text text = {NULL, 0, 0};
    FILE *file = tmpfile();
    const char *error;

    memset(block, 'x', sizeof block);
    for (int i = 0; i <= TERMINAL_MOST / (int)sizeof block; i++)
        if (!file || fwrite(block, 1, sizeof block, file) < sizeof block)
            abort();
    rewind(file);
    error = terminal_read_all(file, &text);
    CHECK(error && strstr(error, "64 MB") && text.n <= TERMINAL_MOST);
    fclose(file);
    text_free(&text);
}

/* The words of a command line are tidied as typed lines are. */
static void
test_tidy(void)
{
    static const char *const cases[][2] = {{"", ""},
                                           {"a\r\nb", "a\nb"},
                                           {"a\rb\r", "a\rb\r"},
                                           {"\r\r\n", "\r\n"},
                                           {"\xEF\xBB\xBF"
                                            "a",
                                            "a"},
                                           {"\xEF\xBB", "\xEF\xBB"},
                                           {"a\xEF\xBB\xBF", "a\xEF\xBB\xBF"}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Text text = {NULL, 0, 0};
        CHECK(!text_append(&text, cases[i][0], strlen(cases[i][0])));
        terminal_tidy(&text);
        CHECK(text.n == strlen(cases[i][1]) && (!text.n || !memcmp(text.text, cases[i][1], text.n)));
        text_free(&text);
    }
}

/* A line for the editor's arithmetic, on a terminal of ten columns. */
static void
line(Editor *t, const char *text)
{
    memset(t, 0, sizeof *t);
    t->columns = 10;
    CHECK(!text_append(&t->line, text, strlen(text)));
}

static void
test_the_cursor_moves_over_whole_characters(void)
{
    static const struct {
        const char *text;
        size_t ends[6];
    } cases[] = {
        {"abc", {1, 2, 3}},
        {"a\xE4\xBD\xA0\xF0\x9F\x99\x82", {1, 4, 8}},
        {"e\xCC\x81\xCC\xA3x", {5, 6}}, /* e, acute, dot below */
        {"\xCC\x81x", {2, 3}},
        {"\xFF\xE4\xBD", {1, 3}},
        {"\x1b\xC2\x9B", {1, 3}},
    };
    Editor t;

    setlocale(LC_CTYPE, "C.UTF-8");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t at = 0;
        line(&t, cases[i].text);
        for (int step = 0; at < t.line.n; step++) {
            size_t after = editor_after(&t, at);
            CHECK(after == cases[i].ends[step]);
            CHECK(editor_before(&t, after) == at);
            if (after <= at)
                break;
            at = after;
        }
        text_free(&t.line);
    }
}

static void
test_rows_and_columns(void)
{
    static const struct {
        const char *text;
        Place end;
    } cases[] = {
        {"", {0, 2}},
        {"abcdefg", {0, 9}},
        {"abcdefgh", {1, 0}}, /* a full row: the cursor is on the next */
        {"abcdefgh\nx", {1, 1}},
        {"abcdefghi", {1, 1}},
        {"abcdefg\xE4\xBD\xA0", {1, 2}}, /* two columns where one is left */
        {"abcdef\xE4\xBD\xA0", {1, 0}},
        {"abcdefg\x1bz", {1, 2}}, /* ^[ is two characters of one column each */
        {"abcdefg\t", {1, 3}},
        {"a\n\nb", {2, 1}},
        {"e\xCC\x81", {0, 3}},
    };
    Editor t;

    setlocale(LC_CTYPE, "C.UTF-8");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        line(&t, cases[i].text);
        Place end = editor_walk(&t, t.line.n, 0, 0);
        CHECK(end.row == cases[i].end.row && end.column == cases[i].end.column);
        text_free(&t.line);
    }
}

int
main(void)
{
    test_a_line_is_a_turn();
    test_all_of_the_input_as_one_turn();
    test_standard_input_is_bounded();
    test_tidy();
    test_the_cursor_moves_over_whole_characters();
    test_rows_and_columns();
    return test_result();
}
