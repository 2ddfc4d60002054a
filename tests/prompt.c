/* prompt: prints the token ids of the next turn's whole sequence, one a line.
 *
 *     prompt MODEL_DIR [-r 0|1] [-y SYSTEM] [--] USER [REPLY USER]...
 *
 * USER and REPLY are the conversation so far, the last USER the turn that awaits its reply; -- is for a USER
 * that looks like an option. Only tokenizer.bin and the templates are read, so it serves any model. */
#include "../chat.h"

static int
wrong_usage(const char *what)
{
    fprintf(stderr, "prompt: %s\nusage: prompt MODEL_DIR [-r 0|1] [-y SYSTEM] [--] USER [REPLY USER]...\n",
            what);
    return 2;
}

int
main(int argc, char **argv)
{
    Chat chat;
    const char *system = NULL, *error;
    int thinking = 0, i;

    if (argc < 2)
        return wrong_usage("no model directory");
    for (i = 2; i + 1 < argc && (!strcmp(argv[i], "-r") || !strcmp(argv[i], "-y")); i += 2) {
        if (argv[i][1] == 'y')
            system = argv[i + 1];
        else if (strcmp(argv[i + 1], "0") && strcmp(argv[i + 1], "1"))
            return wrong_usage("-r must be 0 or 1");
        else
            thinking = argv[i + 1][0] == '1';
    }
    i += i < argc && !strcmp(argv[i], "--");
    if ((argc - i) % 2 == 0)
        return wrong_usage("the conversation must end with what the user says");

    error = chat_open(&chat, argv[1]);
    chat.system = system;
    chat.thinking = thinking;
    for (; !error && i < argc; i += 2) {
        error = chat_add(&chat, argv[i], strlen(argv[i]));
        if (!error && argv[i + 1])
            error = text_append(&chat.turns[chat.n - 1].reply, argv[i + 1], strlen(argv[i + 1]));
    }
    if (!error)
        error = chat_sequence(&chat, 0, &chat.ids);
    for (i = 0; !error && i < chat.ids.n; i++)
        printf("%d\n", chat.ids.id[i]);
    if (!error && (fflush(stdout) || ferror(stdout)))
        error = fail("standard output: %s", strerror(errno));
    if (error)
        fprintf(stderr, "prompt: %s\n", error);
    chat_close(&chat);
    return error != NULL;
}
