/* corpus.c: stands in for libFuzzer where there is none. Gives every file of the directories named on the
 * command line to the fuzz target that this is linked with; what crashes it crashes this. */
#define _DEFAULT_SOURCE
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One input: the file's bytes in a block of exactly their size, so that ASan sees a read past the end. */
static int
run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data;
    long size;

    if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET)) {
        perror(path);
        exit(1);
    }
    data = (uint8_t *)malloc((size_t)size);
    if (size && (!data || fread(data, 1, (size_t)size, file) != (size_t)size)) {
        perror(path);
        exit(1);
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return 1;
}

int
main(int argc, char **argv)
{
    int inputs = 0;

    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        struct dirent *entry;
        char path[4096];

        if (!dir) {
            perror(argv[i]);
            return 1;
        }
        while ((entry = readdir(dir))) {
            if (entry->d_name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            inputs += run_file(path);
        }
        closedir(dir);
    }
    printf("%d inputs\n", inputs);
    return inputs == 0; /* an empty corpus tests nothing */
}
