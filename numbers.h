/* numbers.h: bf16 and half precision, the angles of RoPE, and the clock. */
#ifndef NUMBERS_H
#define NUMBERS_H

#include "config.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

/* Seconds since some moment, on a clock that nobody sets. */
static inline double
seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The float that a bf16, its upper half, stands for. */
static inline float
bf16_widen(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The nearest bf16, ties to even; a NaN stays one. */
static inline uint16_t
bf16_round(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* The float that equals a half-precision number. */
static inline float
half_widen(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
    uint32_t bits = sign | (exponent + 127 - 15) << 23 | fraction << 13;
    float value;

    if (exponent == 0x1f) /* infinity, NaN */
        bits = sign | 0x7f800000 | fraction << 13;
    if (exponent == 0) { /* zero, or a subnormal number: fraction * 2^-24 */
        value = (float)fraction * 0x1p-24f;
        return sign ? -value : value;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* At position pos, dimension i < head_dim / 2 is turned with dimension i + head_dim / 2 by the angle
 * pos * theta^(-2i / head_dim) (RoFormer, arXiv 2104.09864, with the pairing of GPT-NeoX): its cosine and
 * sine, from double precision, rounded once. */
static inline void
rope_angle(int pos, int i, float *cosine, float *sine)
{
    double angle = pos * pow(ROPE_THETA, -2.0 * i / HEAD_DIM);

    *cosine = (float)cos(angle);
    *sine = (float)sin(angle);
}

#endif
