/* sampler.h: candidates -> one token. */
#ifndef SAMPLER_H
#define SAMPLER_H

/* One possible next token. */
typedef struct {
    int id;
    float logit;
} Candidate;

#endif
