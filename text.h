/* text.h: bytes that grow, and a whole file read into them. What the bytes mean is others' affair. */
#ifndef TEXT_H
#define TEXT_H

#include "fail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* They may hold anything, NUL included. */
typedef struct {
    char *text; /* (capacity), the first n in use */
    size_t n, capacity;
} Text;

static inline const char *
text_append(Text *t, const char *text, size_t n)
{
    if (n > t->capacity - t->n) {
        size_t capacity = 2 * (t->n + n) + 64;
        char *grown = (char *)realloc(t->text, capacity);
        if (!grown)
            return fail("out of memory for %zu bytes of text", capacity);
        t->text = grown;
        t->capacity = capacity;
    }
    if (n > 0)
        memcpy(t->text + t->n, text, n);
    t->n += n;
    return NULL;
}

static inline void
text_free(Text *t)
{
    free(t->text);
    memset(t, 0, sizeof *t);
}

/* Appends the whole of a regular file of at most `limit` bytes. The line of an error begins with the path. */
static inline const char *
text_read(Text *t, const char *path, size_t limit)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block */
    const char *error = NULL;
    char block[1 << 16];
    struct stat status;
    ssize_t got;

    if (fd < 0)
        return fail("%s: %s", path, strerror(errno));
    if (fstat(fd, &status))
        error = fail("%s: %s", path, strerror(errno));
    else if (!S_ISREG(status.st_mode))
        error = fail("%s: not a regular file", path);
    while (!error && (got = read(fd, block, sizeof block)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            error = fail("%s: %s", path, strerror(errno));
        else if (t->n + (size_t)got > limit)
            error = fail("%s: larger than %zu bytes", path, limit);
        else if (text_append(t, block, (size_t)got))
            error = fail("%s: out of memory for it", path);
    }
    close(fd);
    return error;
}

#endif
