/* main.cu: arguments -> open -> loop. Plain C, which nvcc compiles too: with nvcc the program has both
 * engines, without it only the CPU's.
 *
 * What can fail fails in this order: arguments, files, device. */
#include "bench.h"
#include "chat.h"
#include "cpu.h"
#include "editor.h"
#include "safetensors.h"
#include "screen.h"
#include "terminal.h"
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef __CUDACC__
#include "model.cuh"
#define GPU_ENGINE &model_engine
#else
#define GPU_ENGINE NULL
#endif

enum { DONE = 0, FAILED = 1, WRONG_USAGE = 2, INTERRUPTED = 130 };

typedef struct {
    const char *model_dir;
    const char *device; /* "gpu", "cpu" or NULL: choose */
    const char *prompt; /* -i, or NULL: talk */
    Text system;        /* -y, NUL at its end; empty: none */
    int seeded, thinking, limit, context, bits, guesses, bench, verbose;
    Sampler sampler;
} Options;

static const char usage[] =
    "usage: " MODEL_NAME " <model_dir> [options]\n"
    "\n"
    "  -r <int>     reasoning mode, 0 (default) = no thinking, 1 = thinking\n"
    "  -s <int>     random seed, default: from the clock\n"
    "  -k <int>     top-k, default %d; 0 = off\n"
    "  -t <float>   temperature in [0, inf), default %g; 0 = greedy\n"
    "  -p <float>   top-p (nucleus) in [0, 1], default %g\n"
    "  -i <string>  answer this prompt and exit; - reads all of standard input\n"
    "  -y <string>  system prompt, default none\n"
    "  -n <int>     most tokens in a reply, default: as many as fit\n"
    "  -c <int>     context length, default %d, at most %d\n"
    "  -d <string>  device: gpu, cpu; default: gpu if there is one\n"
    "  -w <int>     bits of a weight: 16, 12 lossless, 8 rounded; default: the faster of 16 and 12\n"
    "  -g <int>     most tokens guessed ahead, 0 to %d; changes the speed, never the reply\n"
    "  -b <int>     1 = benchmark this machine and exit\n"
    "  -v <int>     1 = print token ids and timings to stderr\n"
    "  -h           in place of <model_dir>: this text; --version: the version\n"
    "\n"
    "<model_dir> holds model.safetensors, and what export.py makes of the tokenizer beside it:\n"
    "tokenizer.bin, template_user.txt, template_user_thinking.txt, template_system.txt and\n"
    "template_system_thinking.txt.\n";

/* Writes the line of an error, which may quote an argument, a file or the model. */
static void
say(char *line)
{
    screen_line(line);
    screen_put(stderr, MODEL_NAME ": ", strlen(MODEL_NAME ": "));
    screen_put(stderr, line, strlen(line));
    screen_put(stderr, "\n", 1);
}

#ifdef __GNUC__
__attribute__((format(printf, 2, 3), noreturn))
#endif
static void
die(int status, const char *format, ...)
{
    char line[8192];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    editor_restore();
    say(line);
    exit(status);
}

/* ---- arguments ---- */

/* The whole of value as a number from low to high, or wrong usage. */
static long long
parse_integer(const char *flag, const char *value, long long low, long long high)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(value, &end, 10);
    if (!*value || isspace((unsigned char)*value) || *end || errno || number < low || number > high)
        die(WRONG_USAGE, "%s %s: must be a whole number from %lld to %lld", flag, value, low, high);
    return number;
}

/* Likewise from 0 to high. strtof takes more than that: white space, hexadecimal, inf, nan. */
static float
parse_float(const char *flag, const char *value, float high, const char *range)
{
    char *end;
    float number = strtof(value, &end);

    if (!*value || *end || value[strspn(value, "+-.0123456789eE")] || !(number >= 0 && number <= high))
        die(WRONG_USAGE, "%s %s: must be a number in %s", flag, value, range);
    return number;
}

/* Exits, unless what was said on standard output did not get there. */
static void
leave(int status)
{
    if (fflush(stdout) || ferror(stdout))
        die(FAILED, "standard output: %s", strerror(errno));
    exit(status);
}

static Options
parse_arguments(int argc, char **argv)
{
    Options o;
    struct timespec now;

    memset(&o, 0, sizeof o);
    if (argc < 2 || !strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")) {
        fprintf(argc < 2 ? stderr : stdout, usage, DEFAULT_TOP_K, DEFAULT_TEMPERATURE, DEFAULT_TOP_P,
                DEFAULT_CONTEXT, MAX_CONTEXT, MAX_ROWS - 1);
        leave(argc < 2 ? WRONG_USAGE : DONE);
    }
    if (!strcmp(argv[1], "--version")) {
        printf("%s %s\n", MODEL_NAME, VERSION);
        leave(DONE);
    }
    if (argv[1][0] == '-')
        die(WRONG_USAGE, "%s: the model directory comes first; without arguments the usage is shown",
            argv[1]);
    o.model_dir = argv[1];
    o.limit = INT_MAX;
    o.context = DEFAULT_CONTEXT;
    o.guesses = DEFAULT_GUESS;
    o.sampler.temperature = DEFAULT_TEMPERATURE;
    o.sampler.top_k = DEFAULT_TOP_K;
    o.sampler.top_p = DEFAULT_TOP_P;
    clock_gettime(CLOCK_REALTIME, &now);
    sampler_seed(&o.sampler, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);

    for (int i = 2; i < argc; i += 2) {
        const char *flag = argv[i], *value = argv[i + 1]; /* argv[argc] is NULL */
        if (flag[0] != '-' || !flag[1] || flag[2] || !strchr("rsktpiyncdwgbv", flag[1]))
            die(WRONG_USAGE, "%s: unknown option; without arguments the usage is shown", flag);
        if (!value)
            die(WRONG_USAGE, "%s: needs a value", flag);
        switch (flag[1]) {
        case 'r':
            o.thinking = (int)parse_integer(flag, value, 0, 1);
            break;
        case 's':
            o.seeded = 1;
            sampler_seed(&o.sampler, (uint64_t)parse_integer(flag, value, LLONG_MIN, LLONG_MAX));
            break;
        case 'k':
            o.sampler.top_k = (int)parse_integer(flag, value, 0, INT_MAX);
            break;
        case 't':
            o.sampler.temperature = parse_float(flag, value, FLT_MAX, "[0, inf)");
            break;
        case 'p':
            o.sampler.top_p = parse_float(flag, value, 1, "[0, 1]");
            break;
        case 'i':
            if (!value[strspn(value, " \t\r\n")])
                die(WRONG_USAGE, "-i: the prompt is empty");
            o.prompt = value;
            break;
        case 'y':
            o.system.n = 0;
            if (text_append(&o.system, value, strlen(value) + 1))
                die(FAILED, "-y: out of memory");
            terminal_tidy(&o.system);
            break;
        case 'n':
            o.limit = (int)parse_integer(flag, value, 1, INT_MAX);
            break;
        case 'c':
            o.context = (int)parse_integer(flag, value, 1, MAX_CONTEXT);
            break;
        case 'd':
            if (strcmp(value, "gpu") && strcmp(value, "cpu"))
                die(WRONG_USAGE, "-d %s: must be gpu or cpu", value);
            o.device = value;
            break;
        case 'w':
            o.bits = !strcmp(value, "16") ? 16 : !strcmp(value, "12") ? 12 : !strcmp(value, "8") ? 8 : 0;
            if (!o.bits)
                die(WRONG_USAGE, "-w %s: must be 16, 12 or 8", value);
            break;
        case 'g':
            o.guesses = (int)parse_integer(flag, value, 0, MAX_ROWS - 1);
            break;
        case 'b':
            o.bench = (int)parse_integer(flag, value, 0, 1);
            break;
        case 'v':
            o.verbose = (int)parse_integer(flag, value, 0, 1);
            break;
        }
    }
    return o;
}

/* ---- opening ---- */

/* Ctrl-C during a reply ends the reply; elsewhere, or when the first has not been obeyed yet, the program. */
static void
on_interrupt(int number)
{
    (void)number;
    if (chat_phase == REPLYING) {
        chat_phase = STOPPING;
        return;
    }
    editor_restore();
    ssize_t ignored = isatty(STDIN_FILENO) ? write(STDERR_FILENO, "\n", 1) : 0;
    (void)ignored;
    _exit(INTERRUPTED);
}

/* The weights are read where the file is mapped, and a file can shrink. */
static void
on_bus_error(int number)
{
    static const char line[] =
        MODEL_NAME ": a file of the model could not be read: it has become shorter, or its "
                   "disk has failed\n";

    (void)number;
    editor_restore();
    ssize_t ignored = isatty(STDERR_FILENO) ? write(STDERR_FILENO, "\n", 1) : 0; /* in the middle of a line */
    ignored = write(STDERR_FILENO, line, sizeof line - 1);
    (void)ignored;
    _exit(FAILED);
}

static void
catch_signals(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART; /* a write that it interrupts goes on */
    action.sa_handler = on_interrupt;
    sigaction(SIGINT, &action, NULL);
    action.sa_handler = on_bus_error;
    sigaction(SIGBUS, &action, NULL);
    action.sa_handler = SIG_IGN; /* a reader that has gone is an error of the write, and so is a limit */
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
}

/* Takes the places of closed standard descriptors, or else the next files that are opened would get them.
 * What is closed fails as before when it is used: input is opened for writing only, output for reading. */
static void
hold_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            die(FAILED, "/dev/null: %s", strerror(errno));
}

/* Tokenizer and templates; and the weights, for a moment, so that a broken file is reported before a missing
 * device. */
static void
open_files(Chat *chat, const Options *o)
{
    Safetensors weights;
    struct stat status;
    char path[4096];
    const char *error;

    if (stat(o->model_dir, &status))
        die(FAILED, "%s: %s", o->model_dir, strerror(errno));
    if (!S_ISDIR(status.st_mode))
        die(FAILED, "%s: not a directory; the model directory comes first", o->model_dir);
    if ((error = chat_open(chat, o->model_dir)) || (error = tokenizer_fits(&chat->tokenizer)))
        die(FAILED, "%s", error);
    snprintf(path, sizeof path, "%s/model.safetensors", o->model_dir);
    if ((error = safetensors_open(&weights, path)))
        die(FAILED, "%s", error);
    safetensors_close(&weights);
    chat->system = o->system.n > 1 ? o->system.text : NULL;
    chat->thinking = o->thinking;
    chat->limit = o->limit;
    chat->context = o->context;
    chat->guesses = o->guesses;
    chat->verbose = o->verbose;
    chat->sampler = o->sampler;
    chat->seeded = o->seeded;
    chat->seed = o->sampler.state;
    screen_open(&chat->screen);
    chat->statistics = chat->screen.err_terminal;
    if ((error = chat_check_system(chat)))
        die(FAILED, "-y: %s", error);
}

/* The engine for -d; without it the GPU's if it can run here, otherwise the CPU's and a line saying why. */
static const Engine *
choose_engine(const char *device)
{
    const Engine *gpu = GPU_ENGINE;
    const char *reason;

    if (device && !strcmp(device, "cpu"))
        return &cpu_engine;
    reason = gpu ? gpu->probe() : "this build has no GPU engine";
    if (!reason) {
        cpu_choose_threads(SAMPLER_THREADS);
        return gpu;
    }
    if (device)
        die(FAILED, "-d gpu: %s", reason);
    fprintf(stderr, "(no GPU: %s; using the CPU)\n", reason);
    return &cpu_engine;
}

/* ---- talking ---- */

static void
warn_of_greed(Chat *chat)
{
    if (chat->thinking && sampler_wants(&chat->sampler) == 1)
        screen_note(&chat->screen,
                    "(greedy thinking may go round in circles; the model card advises -t 0.6)");
}

/* Answers a turn. Returns an exit status: FAILED if the turn was refused, INTERRUPTED after a Ctrl-C. */
static int
answer(Chat *chat, const Text *text)
{
    const char *error = chat_say(chat, text->text, text->n);

    if (error) {
        char line[1024];
        snprintf(line, sizeof line, "%s", error);
        say(line);
        return FAILED;
    }
    if ((error = chat_reply(chat)))
        die(FAILED, "%s", error);
    return chat->interrupted ? INTERRUPTED : DONE;
}

/* Answers -i. */
static int
answer_prompt(Chat *chat, const char *prompt)
{
    Text text = {NULL, 0, 0};
    const char *error =
        strcmp(prompt, "-") ? text_append(&text, prompt, strlen(prompt)) : terminal_read_all(stdin, &text);
    int status;

    if (error)
        die(FAILED, "%s", error);
    terminal_tidy(&text);
    if (terminal_empty(&text))
        die(FAILED, "-i -: standard input is empty");
    status = answer(chat, &text);
    text_free(&text);
    return status;
}

static const char help[] = "Type a line and press Enter: that is a turn, and the model answers it.\n"
                           "It remembers the turns before. What you paste is one turn, too.\n"
                           "\n"
                           "  \"\"\"      opens a turn of several lines, and closes it\n"
                           "  /clear   forgets the conversation and starts over\n"
                           "  /think   lets the model think before it answers, or no more\n"
                           "  /help    shows this\n"
                           "  /exit    ends, and so does Ctrl-D\n"
                           "  Ctrl-C   stops a reply; clears what you have typed; on an empty line it ends\n"
                           "  Up, Down show what you have said\n";

/* Does what a command says. */
static void
command(Chat *chat, Input input, const Text *text)
{
    switch (input) {
    case INPUT_CLEAR:
        chat_clear(chat);
        screen_note(&chat->screen, "(cleared)");
        break;
    case INPUT_THINK:
        chat->thinking = !chat->thinking;
        screen_note(&chat->screen, "(%s)", chat->thinking ? "thinking" : "not thinking");
        warn_of_greed(chat);
        break;
    case INPUT_HELP:
        screen_put(stderr, help, strlen(help));
        break;
    default:
        screen_note(&chat->screen, "(%.*s is no command: /help names them; in a block it is text)",
                    (int)(text->n < 80 ? text->n : 80), text->text);
    }
}

/* Answers turn by turn until the input ends. At a terminal a refused or interrupted turn is nothing to leave
 * for; in a pipe the first sets the exit status and the second ends it all. */
static int
converse(Chat *chat, const char *model_dir)
{
    int status = DONE;
    const char *error;
    Input input = INPUT_NOTHING;
    Text text = {NULL, 0, 0};
    Terminal keyboard;

    terminal_open(&keyboard, stdin);
    if (keyboard.interactive && chat->engine->warm) /* in a pipe the next turn comes at once */
        chat->engine->warm(chat->model);
    if (keyboard.interactive) {
        screen_note(&chat->screen, "%s: %s on %s, context %d", MODEL_NAME, model_dir,
                    chat->engine->device(chat->model), chat->context);
        screen_note(&chat->screen, "Type a line and press Enter. /help tells more, Ctrl-D ends.");
    }
    while (input != INPUT_END && input != INPUT_STOP && status != INTERRUPTED) {
        if ((error = terminal_read(&keyboard, &text, &input)))
            die(FAILED, "%s", error);
        if (input == INPUT_TURN) {
            int outcome = answer(chat, &text);
            if (outcome != DONE && !keyboard.interactive)
                status = outcome;
        } else if (input > INPUT_TURN) {
            command(chat, input, &text);
        }
    }
    if (input == INPUT_STOP)
        status = INTERRUPTED;
    if (keyboard.interactive) {
        editor_restore();
        fputc('\n', stderr);
    }
    terminal_close(&keyboard);
    text_free(&text);
    return status;
}

int
main(int argc, char **argv)
{
    hold_descriptors();
    Options o = parse_arguments(argc, argv);
    Chat chat;
    const char *error;
    int status = DONE;
    EngineOptions options = {o.context, o.bits, o.verbose};

    catch_signals();
    open_files(&chat, &o);
    chat.engine = choose_engine(o.device);
    if ((error = chat.engine->open(&chat.model, o.model_dir, options)))
        die(FAILED, "%s", error);
    warn_of_greed(&chat);
    if (o.verbose)
        fprintf(stderr, "seed %lld\n", (long long)o.sampler.state);
    if (o.bench) {
        if ((error = bench(chat.engine, chat.model, o.context)))
            die(FAILED, "%s", error);
        if (fflush(stdout) || ferror(stdout))
            die(FAILED, "standard output: the figures could not be written");
    } else {
        status = o.prompt ? answer_prompt(&chat, o.prompt) : converse(&chat, o.model_dir);
    }
    chat.engine->close(chat.model);
    chat_close(&chat);
    text_free(&o.system);
    return status;
}
