/* random_model DIR [SEED]: writes a model with random weights (see random_model.h) that both this program and
 * Hugging Face transformers can load. */
#include "random_model.h"

int
main(int argc, char **argv)
{
    const char *error;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: %s DIR [SEED]\n", argv[0]);
        return 2;
    }
    if ((error = random_model_write(argv[1], DTYPE_BF16, argc > 2 ? strtoull(argv[2], NULL, 10) : 1)) !=
        NULL) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    return 0;
}
