/* context_only: creates a CUDA context, prints the anonymous memory that it takes (a line of
 * /proc/self/status) and ends: what a program that uses a card takes at least. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

int
main(void)
{
    char line[256];
    FILE *status;

    if (cudaFree(NULL) != cudaSuccess || !(status = fopen("/proc/self/status", "r")))
        return 1;
    while (fgets(line, sizeof line, status))
        if (!strncmp(line, "RssAnon:", 8))
            fputs(line, stdout);
    fclose(status);
    return 0;
}
