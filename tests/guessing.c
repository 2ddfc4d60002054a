/* The program, but it guesses as if further rows were free: at every token that stood somewhere before. So
 * most guesses are wrong, and test_guess.py sees what wrong ones leave behind, however fast this machine is.
 */
#include "../draft.h"

static inline void
guess_always(Draft *d)
{
    d->row = 0;
    for (int length = 1; length <= DRAFT_LONGEST; length++)
        d->right[length] = 1;
}

#define draft_took(d, rows, seconds) ((void)(rows), (void)(seconds), guess_always(d))
#include "../main.cu"
