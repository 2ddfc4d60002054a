/* embed: the engine inside another program. Asks one question and gets the reply by a function of its own.
 *
 *     embed MODEL_DIR QUESTION
 *
 * Built with: cc -std=c11 -O3 -march=native -fopenmp embed.c -lm */
#include "../chat.h"
#include "../cpu.h"

/* Called with whole UTF-8 characters, as they come. To return an error ends the reply. */
static const char *
on_text(void *to, ScreenKind kind, const char *text, size_t n)
{
    return kind == SCREEN_REPLY ? text_append((Text *)to, text, n) : NULL;
}

int
main(int argc, char **argv)
{
    EngineOptions options = {DEFAULT_CONTEXT, 16, 0};
    Text reply = {NULL, 0, 0};
    const char *error;
    Chat chat;

    if (argc != 3)
        return 2;
    error = chat_open(&chat, argv[1]);
    chat.engine = &cpu_engine;
    chat.screen.write = on_text;
    chat.screen.to = &reply;
    if (!error)
        error = chat.engine->open(&chat.model, argv[1], options);
    if (!error)
        error = chat_say(&chat, argv[2], strlen(argv[2]));
    if (!error)
        error = chat_reply(&chat);
    if (error)
        fprintf(stderr, "embed: %s\n", error);
    else
        printf("The model says: %.*s", (int)reply.n, reply.text);
    if (chat.model)
        chat.engine->close(chat.model);
    chat_close(&chat);
    text_free(&reply);
    return error != NULL;
}
