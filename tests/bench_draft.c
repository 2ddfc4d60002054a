/* Replays a text, its token ids on standard input, as if a model had said it: how many tokens are guessed,
 * how many of them right, how much faster or slower that makes it where a further row costs so many passes,
 * and what the guessing itself takes.
 *
 *     build/tests/tokenize MODEL_DIR < text | build/tests/bench_draft [tokens that are the prompt] */
#include "../draft.h"
#include "../numbers.h"

#include <stdio.h>

enum { MOST = 7, ROOM = 1 << 20 };
static int ids[ROOM + MOST];

int
main(int argc, char **argv)
{
    const double costs[] = {0, 0.05, 0.115, 0.3, 1};
    int n = 0, prompt = argc > 1 ? atoi(argv[1]) : 0;

    while (n < ROOM && scanf("%d", ids + n) == 1)
        n++;
    printf("%d tokens, %d of them the prompt\n cost   passes   guessed      kept      time   ns/token\n", n,
           prompt);
    for (int c = 0; c < 5; c++) {
        int passes = 0, guessed = 0, kept = 0;
        double time = 0, start;
        Draft d;

        if (draft_open(&d, n))
            return 1;
        draft_follow(&d, ids, prompt);
        start = seconds_now();
        for (int at = prompt; at < n; passes++) {
            int guess[MOST], most = n - at - 1 < MOST ? n - at - 1 : MOST, i = 0;
            int rows = 1 + (passes ? draft_guess(&d, guess, most) : 0);
            double seconds = 1 + costs[c] * (rows - 1);

            draft_took(&d, rows, seconds);
            draft_add(&d, ids[at++]);
            for (; i < rows - 1 && guess[i] == ids[at - 1]; i++)
                draft_add(&d, ids[at++]);
            guessed += rows - 1;
            kept += i;
            time += seconds;
        }
        double each = (seconds_now() - start) / (n - prompt);
        printf("%5g %8d %9d %9d %8.3f %10.0f\n", costs[c], passes, guessed, kept, time / (n - prompt),
               1e9 * each);
        draft_close(&d);
    }
    return 0;
}
