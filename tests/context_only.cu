/* context_only: creates a CUDA context and ends. What a program that uses a card takes at least. */
#include <cuda_runtime.h>

int
main(void)
{
    return cudaFree(NULL);
}
