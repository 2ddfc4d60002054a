/* failing.c: a library to be preloaded that makes a call fail, for test_failures.py.
 *
 *     FAIL_KIND=malloc FAIL_AT=7 LD_PRELOAD=./failing.so qwen600-tiny ...
 *
 * makes the program's 7th malloc fail, with FAIL_REST=1 all later ones too. FAIL_COUNTS names a file that
 * gets, at the end, how many calls there were of each kind. A write is one to standard output: what fails on
 * standard error cannot be told. */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MALLOC, CALLOC, REALLOC, ALIGNED, OPEN, FSTAT, READ, MMAP, WRITE, FOPEN, THREAD, KINDS };
static const char *const names[KINDS] = {"malloc", "calloc", "realloc", "aligned_alloc", "open",  "fstat",
                                         "read",   "mmap",   "write",   "fopen",         "thread"};
static int started, kind = -1, at, rest, counts[KINDS];

/* What glibc calls its own functions. dlsym allocates, so it cannot find these. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);

static int
fails(int which, int why)
{
    int n;

    if (!started)
        return 0;
    n = __atomic_add_fetch(&counts[which], 1, __ATOMIC_RELAXED);
    if (which != kind || !(n == at || (rest && n > at)))
        return 0;
    errno = why;
    return 1;
}

__attribute__((constructor)) static void
start(void)
{
    const char *wanted = getenv("FAIL_KIND");

    for (int i = 0; wanted && i < KINDS; i++)
        if (!strcmp(wanted, names[i]))
            kind = i;
    at = getenv("FAIL_AT") ? atoi(getenv("FAIL_AT")) : 0;
    rest = getenv("FAIL_REST") != NULL;
}

/* Counting begins with main: before it the CUDA runtime registers its kernels, and checks nothing. */
typedef int Main(int, char **, char **);
static Main *program;

static int
begin(int argc, char **argv, char **environment)
{
    started = 1;
    return program(argc, argv, environment);
}

int
__libc_start_main(Main *called, int argc, char **argv, void (*init)(void), void (*fini)(void),
                  void (*linker_fini)(void), void *stack)
{
    int (*real)(Main *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

    *(void **)&real = dlsym(RTLD_NEXT, "__libc_start_main");
    program = called;
    return real(begin, argc, argv, init, fini, linker_fini, stack);
}

__attribute__((destructor)) static void
end(void)
{
    const char *path = getenv("FAIL_COUNTS");
    FILE *file;

    started = 0;
    if (!path || !(file = fopen(path, "w")))
        return;
    for (int i = 0; i < KINDS; i++)
        fprintf(file, "%s %d\n", names[i], counts[i]);
    fclose(file);
}

void *
malloc(size_t n)
{
    return fails(MALLOC, ENOMEM) ? NULL : __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
    return fails(CALLOC, ENOMEM) ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
    return fails(REALLOC, ENOMEM) ? NULL : __libc_realloc(p, n);
}

void *
aligned_alloc(size_t alignment, size_t n)
{
    return fails(ALIGNED, ENOMEM) ? NULL : __libc_memalign(alignment, n);
}

/* Finds the real function at the first call. */
#define REAL(name)                                       \
    static __typeof__(name) *real;                       \
    void *found = real ? NULL : dlsym(RTLD_NEXT, #name); \
    if (found)                                           \
    memcpy(&real, &found, sizeof real)

int
open(const char *path, int flags, ...)
{
    va_list rest_of;
    int mode;
    REAL(open);

    va_start(rest_of, flags);
    mode = flags & O_CREAT ? va_arg(rest_of, int) : 0;
    va_end(rest_of);
    return fails(OPEN, EMFILE) ? -1 : real(path, flags, mode);
}

int
fstat(int fd, struct stat *status)
{
    REAL(fstat);
    return fails(FSTAT, EIO) ? -1 : real(fd, status);
}

ssize_t
read(int fd, void *data, size_t n)
{
    REAL(read);
    return fails(READ, EIO) ? -1 : real(fd, data, n);
}

ssize_t
write(int fd, const void *data, size_t n)
{
    REAL(write);
    return fd == STDOUT_FILENO && fails(WRITE, ENOSPC) ? -1 : real(fd, data, n);
}

void *
mmap(void *address, size_t n, int protection, int flags, int fd, off_t offset)
{
    REAL(mmap);
    return fails(MMAP, ENOMEM) ? MAP_FAILED : real(address, n, protection, flags, fd, offset);
}

FILE *
fopen(const char *path, const char *mode)
{
    REAL(fopen);
    return fails(FOPEN, EMFILE) ? NULL : real(path, mode);
}

int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    REAL(pthread_create);
    return fails(THREAD, EAGAIN) ? EAGAIN : real(thread, attributes, run, argument);
}
