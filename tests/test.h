/* test.h: the smallest test harness that is still pleasant. CHECK(condition) reports and counts; a test
 * program ends with `return test_result();`. Exit status 77 means skipped, and CTest shows it as such. */
#ifndef TEST_H
#define TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

static int test_checks, test_failures;

#define CHECK(condition)                                                            \
    do {                                                                            \
        test_checks++;                                                              \
        if (!(condition)) {                                                         \
            test_failures++;                                                        \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
        }                                                                           \
    } while (0)

/* Valgrind takes up to a hundred times as long: where rounds only look for more of the same, a few do. */
static inline int
under_valgrind(void)
{
    const char *preloaded = getenv("LD_PRELOAD");

    return preloaded != NULL && strstr(preloaded, "vgpreload") != NULL;
}

static inline void
set_threads(int n)
{
#ifdef _OPENMP
    omp_set_num_threads(n);
#endif
    (void)n;
}

static inline int
test_result(void)
{
    printf("%d checks, %d failed\n", test_checks, test_failures);
    return test_failures != 0;
}

#endif
