/* Fuzzes what chat.h does with bytes that others wrote: templates, the conversation, what the model says.
 *
 * An input is up to four fields, ended by a byte 0x1E each: template_user, template_system, the system
 * prompt, and what is typed; every other turn typed is taken for a reply. */
#include "toy_tokenizer.h"
#include "../chat.h"
#include "../terminal.h"

#include <stdint.h>

#define HOLDS(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                       \
        }                                                                                  \
    } while (0)

static Text
field(const uint8_t **data, const uint8_t *end)
{
    const uint8_t *stop = *data;
    Text text = {NULL, 0, 0};

    while (stop < end && *stop != 0x1E)
        stop++;
    HOLDS(!text_append(&text, (const char *)*data, (size_t)(stop - *data)));
    *data = stop < end ? stop + 1 : end;
    return text;
}

/* How many control tokens are in these ids? */
static int
controls(const Tokens *ids)
{
    int n = 0;

    for (int i = 0; i < ids->n; i++)
        n += ids->id[i] >= IM_START;
    return n;
}

/* A template is what its pieces are when %s stands between them. */
static int
cut(Template *t, int texts)
{
    Text joined = {NULL, 0, 0};

    if (chat_template_cut(t, "fuzz", texts))
        return 0;
    for (int i = 0; i <= texts; i++) {
        HOLDS(!i || !text_append(&joined, "%s", 2));
        HOLDS(!text_append(&joined, t->piece[i].text, t->piece[i].n));
    }
    HOLDS(joined.n == t->file.n && !memcmp(joined.text, t->file.text, joined.n));
    text_free(&joined);
    return 1;
}

/* Text that came from a reader and goes to a screen: plain, it gets through unchanged if it is UTF-8, and to
 * a terminal without control characters. */
static void
show(const Text *text, int bold, int terminal)
{
    char *written;
    size_t size, broken = 0;
    Screen s;

    memset(&s, 0, sizeof s);
    s.out = open_memstream(&written, &size);
    s.err = stderr;
    s.bold = bold;
    s.out_terminal = terminal;
    for (size_t i = 0; i < text->n; i += 3)
        HOLDS(!screen_write(&s, text->text + i, text->n - i < 3 ? (int)(text->n - i) : 3));
    HOLDS(!screen_end(&s));
    fclose(s.out);
    HOLDS(size > 0 && written[size - 1] == '\n');
    for (size_t i = 0; i < text->n;) {
        int left = text->n - i < 4 ? (int)(text->n - i) : 4;
        int length = screen_utf8(text->text + i, (size_t)left);
        HOLDS(length <= left && length >= -3);
        broken += length <= 0;
        i += length > 0 ? (size_t)length : length < 0 ? (size_t)-length : text->n - i;
    }
    if (!bold && !terminal && !broken)
        HOLDS(size - text->n <= 1 && !memcmp(written, text->text, text->n));
    for (size_t i = 0; i < size;) {
        int length = screen_utf8(written + i, size - i < 4 ? size - i : 4);
        HOLDS(length > 0);
        HOLDS(!terminal || written[i] == '\n' || written[i] == '\t' || !screen_control(written + i, length));
        i += (size_t)length;
    }
    free(written);
    screen_close(&s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = data + size;
    Text system, typed, text = {NULL, 0, 0};
    Input kind = INPUT_NOTHING;
    Terminal keyboard;
    int turns = 0, in_templates, in_text = 0;
    Chat c;

    memset(&c, 0, sizeof c);
    tokenizer_open(&c.tokenizer, "");
    c.context = 1 << 20;
    c.limit = INT_MAX;
    c.screen.err = stderr;
    for (int i = 0; i < 2; i++) {
        c.templates[i][0].file = field(&data, end);
        c.templates[i][1].file = c.templates[i][0].file;
    }
    system = field(&data, end);
    typed = field(&data, end);
    HOLDS(!text_append(&system, "", 1));
    c.system = system.n > 1 ? system.text : NULL;
    if (cut(&c.templates[0][0], 1) && cut(&c.templates[0][1], 1) && cut(&c.templates[1][0], 2) &&
        cut(&c.templates[1][1], 2) && typed.n > 0) {
        FILE *in = fmemopen(typed.text, typed.n, "rb");
        terminal_open(&keyboard, in);
        while (!terminal_read(&keyboard, &text, &kind) && kind != INPUT_END) {
            if (kind == INPUT_CLEAR)
                chat_clear(&c);
            if (kind != INPUT_TURN)
                continue;
            HOLDS(text.n > 0);
            show(&text, turns % 2, 0);
            show(&text, 0, 1);
            if (turns++ % 2 && c.n > 0) {
                text_free(&c.turns[c.n - 1].reply);
                HOLDS(!text_append(&c.turns[c.n - 1].reply, text.text, text.n));
            } else
                HOLDS(!chat_say(&c, text.text, text.n));
        }
        fclose(in);
        /* Control tokens come from the templates, and from the thoughts of replies. */
        if (c.n > 0) {
            HOLDS(!chat_sequence(&c, 0, &c.ids));
            in_templates = controls(&c.ids);
            for (int i = 0; i < c.n - 1; i++)
                for (const char *at = c.turns[i].reply.text,
                                *stop = c.turns[i].reply.n ? at + c.turns[i].reply.n : at;
                     c.turns[i].reply.n && (at = chat_find(at, stop, "<think>")); at++)
                    in_text++;
            for (int i = 0; i < c.n; i++)
                c.turns[i].user.n = c.turns[i].reply.n = 0;
            c.system = c.system ? "" : NULL;
            HOLDS(!chat_sequence(&c, 0, &c.ids));
            HOLDS(in_templates >= controls(&c.ids) && in_templates <= controls(&c.ids) + in_text);
        }
    }
    for (int i = 0; i < 2; i++)
        memset(&c.templates[i][1].file, 0, sizeof c.templates[i][1].file); /* it is that of [0] */
    text_free(&text);
    text_free(&system);
    text_free(&typed);
    chat_close(&c);
    return 0;
}
