/* fail.h: how a function says what went wrong.
 *
 * Every function of this program that can fail returns const char *: NULL when all is well, otherwise one
 * line (no newline at its end) that says what failed, on what, and what to do. The line lives until the next
 * fail() of its thread. Only main.cu prints it and chooses the exit status. */
#ifndef FAIL_H
#define FAIL_H

#include "config.h"

#include <stdarg.h>
#include <stdio.h>

#ifdef __GNUC__
__attribute__((format(printf, 1, 2)))
#endif
static inline const char *
fail(const char *format, ...)
{
    static __thread char line[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    return line;
}

#endif
