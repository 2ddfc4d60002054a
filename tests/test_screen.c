/* What screen.h promises: whole characters, bold, and nothing that commands a terminal. */
#include "../screen.h"
#include "test.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a screen shows of this text, when it gets it a byte at a time. */
static const char *
shown(const char *text, size_t n, int bold)
{
    static char copy[4096];
    char *written;
    size_t size;
    Screen s;

    memset(&s, 0, sizeof s);
    s.out = open_memstream(&written, &size);
    s.err = stderr;
    s.bold = bold;
    for (size_t i = 0; i < n; i++)
        CHECK(!screen_write(&s, text + i, 1));
    CHECK(!screen_end(&s));
    fclose(s.out);
    memcpy(copy, written, size);
    copy[size] = '\0';
    free(written);
    screen_close(&s);
    return copy;
}

static void
test_bytes_are_held_back_until_they_form_whole_characters(void)
{
    /* Expected values: Python's bytes.decode("utf-8", errors="replace"). */
    static const char *const cases[][2] = {
        {"a\xC3\xA9\xE4\xBD\xA0\xF0\x9F\x99\x82", "a\xC3\xA9\xE4\xBD\xA0\xF0\x9F\x99\x82"},
        {"\xE4\xBD", "\xEF\xBF\xBD"},
        {"\xE4\xBD!", "\xEF\xBF\xBD!"},
        {"\xFF\xC0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xE0\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xF0\x80\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xF0\x9F\x99\xC3\xA9", "\xEF\xBF\xBD\xC3\xA9"},
        {"\xF1\x80\x80\xE1\x80\xC2", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xC3\xC3\xA9", "\xEF\xBF\xBD\xC3\xA9"},
    };
    char wanted[64];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(wanted, sizeof wanted, "%s\n", cases[i][1]);
        CHECK(!strcmp(shown(cases[i][0], strlen(cases[i][0]), 0), wanted));
    }

    Screen s;
    char *written;
    size_t size;
    memset(&s, 0, sizeof s);
    s.out = open_memstream(&written, &size);
    s.err = stderr;
    CHECK(!screen_write(&s, "a\xF0\x9F\x99", 4) && size == 1);
    CHECK(!screen_write(&s, "\x82", 1) && size == 5);
    fclose(s.out);
    free(written);
    text_free(&s.speech);
}

static void
test_bold_is_bold_and_code_is_untouched(void)
{
#define B(text) "\x1b[1m" text "\x1b[0m"
    static const char *const cases[][2] = {
        {"a **b** c", "a " B("b") " c"},
        {"**b**", B("b")},
        {"**b** and **c d**.", B("b") " and " B("c d") "."},
        {"* **b**: c", "* " B("b") ": c"},
        {"(**b**)", "(" B("b") ")"},
        {"**`-c`**: d", B("`-c`") ": d"},
        {"\xE4\xBD\xA0**\xE5\xA5\xBD**", "\xE4\xBD\xA0" B("\xE5\xA5\xBD")},
        {"`a`**b**", "`a`" B("b")},
        {"a ** b ** c", "a ** b ** c"},     /* operators */
        {"2**3 and 3**2", "2**3 and 3**2"}, /* powers */
        {"f(**a, **b)", "f(**a, **b)"},
        {"***", "***"},
        {"****", "****"},
        {"***a***", "***a***"},
        {"**a\nb**", "**a\nb**"}, /* bold stays on its line */
        {"**a", "**a"},
        {"**", "**"},
        {"*a*", "*a*"},
        {"`x **y** z`", "`x **y** z`"},
        {"``x ` **y** z`` **b**", "``x ` **y** z`` " B("b")},
        {"```\nx **y** z\n```\n**b**", "```\nx **y** z\n```\n" B("b")},
        {"```c\n`a\n**y**\n```", "```c\n`a\n**y**\n```"},
        {"a ` b\n**c**", "a ` b\n" B("c")}, /* a lone backtick ends with its line */
    };
    char wanted[256], text[700];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(wanted, sizeof wanted, "%s\n", cases[i][1]);
        CHECK(!strcmp(shown(cases[i][0], strlen(cases[i][0]), 1), wanted));
        snprintf(wanted, sizeof wanted, "%s\n", cases[i][0]);
        CHECK(!strcmp(shown(cases[i][0], strlen(cases[i][0]), 0), wanted));
    }
    memset(text, 'a', sizeof text); /* too long to hold back: shown as it is */
    memcpy(text, "**", 2);
    memcpy(text + 600, "**\n", 4);
    CHECK(!strcmp(shown(text, 603, 1), text));
}

/* On a terminal control characters are shown; a pipe gets the bytes. */
static void
test_nothing_that_is_said_commands_a_terminal(void)
{
    static const char *const cases[][2] = {
        {"\x1b[31mred", "^[[31mred"},
        {"\x1b]52;c;eA==\a", "^[]52;c;eA==^G"},
        {"a\r\b\x7f\x01", "a^M^H^?^A"},
        {"a\tb\nc", "a\tb\nc"},
        {"\xC2\x9B"
         "31m",
         "^[[31m"}, /* C1 in UTF-8 */
        {"\xC2\x80\xC2\x9D\xC2\x9F", "^[@^[]^[_"},
        {"\x9B"
         "31m",
         "\xEF\xBF\xBD"
         "31m"}, /* and alone, which is no character */
        {"\xC2\xA0\xC3\xA9", "\xC2\xA0\xC3\xA9"},
    };
    char wanted[64];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int thought = 0; thought < 2; thought++) {
            char *out, *err;
            size_t out_n, err_n;
            Screen s;

            memset(&s, 0, sizeof s);
            s.out = open_memstream(&out, &out_n);
            s.err = open_memstream(&err, &err_n);
            s.out_terminal = !thought;
            s.err_terminal = thought;
            s.state = thought ? THINKING : SPEAKING;
            CHECK(!screen_write(&s, cases[i][0], (int)strlen(cases[i][0])));
            CHECK(!screen_end(&s));
            fclose(s.out);
            fclose(s.err);
            snprintf(wanted, sizeof wanted, "%s\n", cases[i][1]);
            CHECK(!strcmp(thought ? err : out, wanted));
            free(out);
            free(err);
            screen_close(&s);
        }
    CHECK(!strcmp(shown("\x1b[31m\x7f\xC2\x9B", 8, 0), "\x1b[31m\x7f\xC2\x9B\n"));
}

static void
test_a_line_of_an_error_is_one_line(void)
{
    static const char *const cases[][2] = {
        {"two\nlines\t", "two?lines?"},
        {"\x1b[31m\x7f", "?[31m?"},
        {"\xC2\x9B"
         "31m",
         "?31m"},
        {"\x9B"
         "31m",
         "?31m"},
        {"na\xC3\xAFve", "na\xC3\xAFve"},
        {"cut\xE4\xBD", "cut?"},
    };
    char text[64];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(text, sizeof text, "%s", cases[i][0]);
        screen_line(text);
        CHECK(!strcmp(text, cases[i][1]));
    }
}

static const char *
collect(void *to, ScreenKind kind, const char *text, size_t n)
{
    Text *texts = (Text *)to;

    if (kind == SCREEN_NOTE)
        return fail("notes are not taken");
    return text_append(&texts[kind], text, n);
}

static void
test_a_function_may_take_it_all(void)
{
    Text texts[2] = {{NULL, 0, 0}, {NULL, 0, 0}};
    const char *error;
    Screen s;

    memset(&s, 0, sizeof s);
    s.write = collect;
    s.to = texts;
    s.state = THINKING;
    CHECK(!screen_write(&s, "Hm", 2));
    s.state = THOUGHT;
    CHECK(!screen_write(&s, "\xC3", 1) && texts[SCREEN_REPLY].n == 0);
    CHECK(!screen_write(&s, "\xA9", 1) && !screen_end(&s));
    CHECK(texts[SCREEN_REPLY].n == 3 && !memcmp(texts[SCREEN_REPLY].text, "\xC3\xA9\n", 3));
    CHECK(texts[SCREEN_THOUGHT].n == 3 && !memcmp(texts[SCREEN_THOUGHT].text, "Hm\n", 3));
    screen_note(&s, "%d", 1);
    error = screen_write(&s, "x", 1);
    CHECK(error && !strcmp(error, "notes are not taken"));
    screen_close(&s);
    text_free(&texts[0]);
    text_free(&texts[1]);
}

/* A reader that is slow, and a descriptor that does not wait for it. */
static void
test_a_descriptor_that_does_not_block_is_waited_for(void)
{
    enum { MUCH = 1 << 20 };
    static char text[MUCH], block[1 << 16];
    int ends[2], flags;
    size_t got = 0;
    ssize_t n;

    if (pipe(ends))
        abort();
    memset(text, 'x', MUCH);
    pid_t child = fork();
    if (child == 0) {
        FILE *out = fdopen(ends[1], "w");
        close(ends[0]);
        flags = fcntl(ends[1], F_GETFL);
        fcntl(ends[1], F_SETFL, flags | O_NONBLOCK);
        _exit(out ? screen_put(out, text, MUCH) : 1);
    }
    close(ends[1]);
    usleep(50000);
    while ((n = read(ends[0], block, sizeof block)) > 0)
        got += (size_t)n;
    waitpid(child, &flags, 0);
    CHECK(got == MUCH && flags == 0);
    close(ends[0]);
}

static void
test_the_least_and_the_last_code_points_are_characters(void)
{
    static const char *const whole[] = {"\xC2\x80",         "\xDF\xBF",        "\xE0\xA0\x80",
                                        "\xED\x9F\xBF",     "\xEE\x80\x80",    "\xEF\xBF\xBF",
                                        "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"};

    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        for (size_t n = 1; n <= strlen(whole[i]); n++)
            CHECK(screen_utf8(whole[i], n) == (n < strlen(whole[i]) ? 0 : (int)n));
}

int
main(void)
{
    test_bytes_are_held_back_until_they_form_whole_characters();
    test_bold_is_bold_and_code_is_untouched();
    test_nothing_that_is_said_commands_a_terminal();
    test_a_line_of_an_error_is_one_line();
    test_a_function_may_take_it_all();
    test_a_descriptor_that_does_not_block_is_waited_for();
    test_the_least_and_the_last_code_points_are_characters();
    return test_result();
}
