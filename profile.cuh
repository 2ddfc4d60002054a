/* profile.cuh: where the time of a token goes in the kernel of decode, by readings of the clock inside it. */
#ifndef PROFILE_CUH
#define PROFILE_CUH

#include "decode.cuh"

/* Milliseconds of a token at position pos: with the launches queued (kernels about 3 us apart), with the host
 * waiting for each, and of the kernel that reads the clock, whose readings go to stamps as Decode has them.
 * event and *device (the readings on the card), where not NULL, are the caller's to free.
 */
static inline const char *
profile_clock(Decode *d, int pos, int rows, cudaStream_t stream, cudaEvent_t event[2], long long **device,
              long long *stamps, float *queued, float *waited, float *stamped)
{
    enum { TIMES = 20 };
    const size_t bytes = (size_t)d->blocks * (LAYERS + 1) * STAMPS * sizeof *stamps;
    const int tokens[MAX_ROWS] = {};

    TRY(cudaEventCreate(&event[0]));
    TRY(cudaEventCreate(&event[1]));
    TRY(cudaMalloc((void **)device, bytes));
    for (int wait = 0; wait < 2; wait++) {
        float *ms = wait ? waited : queued;

        /* keeps the card busy until the others queue */
        TRY(decode_launch(d, tokens, rows, pos, DEFAULT_TOP_K, stream));
        TRY(cudaEventRecord(event[0], stream));
        for (int i = 0; i < TIMES; i++) {
            TRY(decode_launch(d, tokens, rows, pos, DEFAULT_TOP_K, stream));
            if (wait)
                TRY(cudaStreamSynchronize(stream));
        }
        TRY(cudaEventRecord(event[1], stream));
        TRY(cudaEventSynchronize(event[1]));
        TRY(cudaEventElapsedTime(ms, event[0], event[1]));
        *ms /= TIMES;
    }
    d->stamps = *device;
    for (int i = 0; i < 2; i++) { /* the first loads the kernel */
        TRY(decode_launch(d, tokens, rows, pos, DEFAULT_TOP_K, stream));
        TRY(cudaEventRecord(event[i], stream));
    }
    TRY(cudaEventSynchronize(event[1]));
    TRY(cudaEventElapsedTime(stamped, event[0], event[1]));
    TRY(cudaMemcpy(stamps, *device, bytes, cudaMemcpyDeviceToHost));
    return NULL;
}

/* The clock's ticks between two neighbouring stamps, summed over layers first..last-1, the mean over the
 * blocks. */
static inline double
profile_ticks(const Decode *d, const long long *stamps, int stamp, int first, int last)
{
    double sum = 0;

    for (int b = 0; b < d->blocks; b++)
        for (int l = first; l < last; l++) {
            const long long *at = stamps + ((size_t)b * (LAYERS + 1) + l) * STAMPS + stamp;
            sum += (double)(at[1] - at[0]);
        }
    return sum / d->blocks;
}

/* Prints where the time of a pass of so many rows at position pos goes: milliseconds of all layers,
 * microseconds of one, both the mean over the blocks. A wait is for other blocks' words, but also for the
 * weights that come first.
 */
static inline const char *
decode_profile(Decode *d, int pos, int rows, cudaStream_t stream)
{
    static const char *const phase_name[STAMPS - 1] = {
        "q, k, v: wait",  "q, k, v: multiply",  "attention",  "o: wait",       "o: multiply",
        "gate, up: wait", "gate, up: multiply", "down: wait", "down: multiply"};
    static const char *const last_name[] = {"head: wait", "head: multiply", "k best"};
    const size_t block_stamps = (LAYERS + 1) * STAMPS;
    long long *stamps = (long long *)calloc(d->blocks * block_stamps, sizeof *stamps), longest = 1;
    float queued = 0, waited = 0, ms = 0;
    long long *device = NULL;
    cudaEvent_t event[2] = {};
    const char *error;

    if (stamps == NULL)
        return fail("profiling: no memory for the clock readings of %d blocks", d->blocks);
    error = profile_clock(d, pos, rows, stream, event, &device, stamps, &queued, &waited, &ms);
    d->stamps = NULL;
    cudaFree(device);
    for (int i = 0; i < 2; i++)
        if (event[i])
            cudaEventDestroy(event[i]);
    if (error) {
        free(stamps);
        return error;
    }
    for (int b = 0; b < d->blocks; b++) {
        const long long *at = stamps + b * block_stamps;
        if (at[LAYERS * STAMPS + 3] - at[0] > longest)
            longest = at[LAYERS * STAMPS + 3] - at[0];
    }
    printf("%-22s %9s %9s\n", "phase", "ms", "us/layer");
    for (int i = 0; i < STAMPS - 1; i++) {
        double each = profile_ticks(d, stamps, i, 0, LAYERS) * ms / longest;
        printf("%-22s %9.4f %9.2f\n", phase_name[i], each, each * 1e3 / LAYERS);
    }
    for (int i = 0; i < 3; i++)
        printf("%-22s %9.4f %9s\n", last_name[i],
               profile_ticks(d, stamps, i, LAYERS, LAYERS + 1) * ms / longest, "-");
    printf("%-22s %9.4f %9s\n", "kernel", queued, "-");
    printf("%-22s %9.4f %9s\n", "host, between kernels", waited - queued, "-");
    free(stamps);
    return NULL;
}

#endif
