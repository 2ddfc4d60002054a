/* draft.h: the tokens so far -> a guess at the next ones.
 *
 * Text repeats itself: names, code, quotations. Where the last tokens stood together before, what followed
 * them then may follow now, and an engine runs several tokens in one pass for little more than the price of
 * one. A draft looks up the longest such place, the latest of equals, and says how many tokens from there are
 * worth their rows. It knows neither the model nor text. What it says changes the speed, never the reply.
 *
 *     draft_open      room for a sequence
 *     draft_follow    which begins like this: the prompt
 *     draft_guess     tokens that may come next
 *     draft_took      how long the engine took for them
 *     draft_add       the token that did come
 *     draft_close
 *
 * The idea is prompt lookup decoding (A. Saxena, 2023). */
#ifndef DRAFT_H
#define DRAFT_H

#include "fail.h"

#include <stdlib.h>
#include <string.h>

enum {
    DRAFT_TRIES = 64,   /* places that are looked at, and */
    DRAFT_LONGEST = 16, /* tokens compared at each: so a guess takes a microsecond at most, in any text */
    DRAFT_BITS = 15     /* of a hash */
};
#define DRAFT_ROW 0.1 /* what a further row is thought to cost until one was timed */

typedef struct {
    int *id;     /* (capacity) the sequence, the first n in use */
    int *before; /* (capacity) for each position the last one before it whose token hashes alike, or -1 */
    int *latest; /* (1 << DRAFT_BITS) the last position of a hash, or -1 */
    int n, capacity;
    int length, from; /* so many tokens at the end are also those before id[from]; 0 = none */

    double right[DRAFT_LONGEST + 1]; /* how often the next token was the one at `from`, by length */
    double pass, row; /* seconds of a pass of one row; what a further row costs, in such passes */
} Draft;

/* Room for so many tokens. */
static inline const char *
draft_open(Draft *d, int capacity)
{
    size_t hashes = (size_t)1 << DRAFT_BITS;

    memset(d, 0, sizeof *d);
    d->id = (int *)malloc((2 * (size_t)capacity + hashes) * sizeof *d->id);
    if (!d->id)
        return fail("out of memory to guess tokens in a context of %d: -g 0 needs none", capacity);
    d->before = d->id + capacity;
    d->latest = d->before + capacity;
    memset(d->latest, -1, hashes * sizeof *d->latest);
    d->capacity = capacity;
    for (int length = 1; length <= DRAFT_LONGEST; length++)
        d->right[length] = (length - 1) / (length + 3.0); /* until it is known better */
    d->row = DRAFT_ROW;
    return NULL;
}

static inline void
draft_close(Draft *d)
{
    free(d->id);
    memset(d, 0, sizeof *d);
}

static inline int *
draft_latest(const Draft *d, int id)
{
    return d->latest + ((unsigned)id * 0x9e3779b1u >> (32 - DRAFT_BITS));
}

static inline void
draft_push(Draft *d, int id)
{
    int pos = d->n++, *latest = draft_latest(d, id);

    d->id[pos] = id;
    d->before[pos] = *latest;
    *latest = pos;
}

static inline void
draft_search(Draft *d)
{
    int last = d->n - 1, at = last < 0 ? -1 : d->before[last];

    d->length = 0;
    for (int i = 0; i < DRAFT_TRIES && at >= 0 && d->length < DRAFT_LONGEST; i++, at = d->before[at]) {
        int same = 0;
        while (same < DRAFT_LONGEST && same <= at && d->id[at - same] == d->id[last - same])
            same++;
        if (same > d->length) {
            d->length = same;
            d->from = at + 1;
        }
    }
}

/* The sequence is now ids[0..n), n <= capacity. What it has in common with the last one stays indexed. */
static inline void
draft_follow(Draft *d, const int *ids, int n)
{
    int common = 0;

    while (common < n && common < d->n && ids[common] == d->id[common])
        common++;
    while (d->n > common) {
        d->n--;
        *draft_latest(d, d->id[d->n]) = d->before[d->n];
    }
    for (int i = common; i < n; i++)
        draft_push(d, ids[i]);
    draft_search(d);
}

/* The next token is this one. If a guess would have been right is seen here without a row at risk, so to
 * learn when to guess costs nothing. A match that goes on is still the longest. */
static inline void
draft_add(Draft *d, int id)
{
    int right = d->length > 0 && d->id[d->from] == id;

    d->right[d->length] += (right - d->right[d->length]) / 32;
    draft_push(d, id);
    if (right) {
        d->from++;
        d->length += d->length < DRAFT_LONGEST;
    } else {
        draft_search(d);
    }
}

/* Up to `most` tokens that may come next, as many as promise the most tokens for the time: how many. */
static inline int
draft_guess(const Draft *d, int *guess, int most)
{
    double chance = 1, tokens = 1, best = 1;
    int n = 0;

    for (int i = 0; i < most && d->length > 0; i++) {
        int length = d->length + i < DRAFT_LONGEST ? d->length + i : DRAFT_LONGEST, at = d->from + i;
        /* "ha ha ha": what follows is the guess itself */
        guess[i] = at < d->n ? d->id[at] : guess[at - d->n];
        chance *= d->right[length];
        tokens += chance;
        if (tokens / (1 + (i + 1) * d->row) > best) {
            best = tokens / (1 + (i + 1) * d->row);
            n = i + 1;
        }
    }
    return n;
}

/* A pass of so many rows took so long: on a small card more rows are nearly free, on a processor they need
 * not be. A pass that something else held up counts for little, and a price that keeps rows from being tried
 * wears off. */
static inline void
draft_took(Draft *d, int rows, double seconds)
{
    if (rows > 1) {
        double row = (seconds / d->pass - 1) / (rows - 1);
        d->row += ((row > 1 ? 1 : row > 0 ? row : 0) - d->row) / 4;
        return;
    }
    if (d->pass > 0 && seconds > 2 * d->pass)
        seconds = 2 * d->pass;
    d->pass += (seconds - d->pass) / (d->pass > 0 ? 4 : 1);
    if (d->row > DRAFT_ROW)
        d->row -= (d->row - DRAFT_ROW) / 1024;
}

#endif
