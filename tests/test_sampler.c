/* test_sampler.c: what sampler.h promises. Run from tests/; reads data/sampler_goldens.txt, which
 * make_sampler_goldens.py made with Hugging Face's logits processors. */
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../sampler.h"
#include "test.h"

static Sampler
sampler(float temperature, int top_k, float top_p, uint64_t seed)
{
    Sampler s;

    s.temperature = temperature;
    s.top_k = top_k;
    s.top_p = top_p;
    sampler_seed(&s, seed);
    return s;
}

/* sampler_keep, with probabilities in place of the weights. */
static int
keep(const Sampler *s, Candidate *c, int n)
{
    double before[SAMPLER_GROUPS], sum;
    int kept = sampler_keep(s, c, n, before, &sum);

    for (int i = 0; i < kept; i++)
        c[i].logit = (float)(c[i].logit / sum);
    return kept;
}

/* NaN is the least of all. */
static int
best_first(const void *left, const void *right)
{
    const Candidate *a = left, *b = right;
    int order = (a->logit < b->logit) - (a->logit > b->logit) + !!isnan(a->logit) - !!isnan(b->logit);

    return order ? order : (a->id > b->id) - (a->id < b->id);
}

/* n candidates with normal-looking logits of the given spread, sorted as an engine hands them over. */
static void
random_candidates(Candidate *c, int n, float spread, uint64_t seed)
{
    Sampler s = sampler(1, 0, 1, seed);

    for (int i = 0; i < n; i++) {
        float sum = -6; /* of twelve uniform numbers: mean 0, variance 1 */

        for (int k = 0; k < 12; k++)
            sum += (float)(sampler_random(&s) >> 40) * 0x1p-24f;
        c[i].id = i;
        c[i].logit = sum * spread;
    }
    qsort(c, (size_t)n, sizeof *c, best_first);
}

/* ---- the kept tokens and their probabilities are those of Hugging Face ---- */

static void
test_goldens(void)
{
    enum { MOST = 1000 };
    static Candidate all[MOST], c[MOST];
    FILE *file = fopen("data/sampler_goldens.txt", "r");
    char word[16];
    int n = 0, cases = 0;

    CHECK(file != NULL);
    if (file == NULL)
        return;
    while (fscanf(file, "%15s", word) == 1) {
        float temperature, top_p;
        int top_k, expected, differences = 0, count;
        Sampler s;

        if (word[0] == '#') {
            while ((count = fgetc(file)) != '\n' && count != EOF)
                continue;
        } else if (strcmp(word, "logits") == 0) {
            CHECK(fscanf(file, "%d", &n) == 1 && n > 0 && n <= MOST);
            for (int i = 0; i < n; i++) {
                all[i].id = i;
                CHECK(fscanf(file, "%f", &all[i].logit) == 1);
            }
            qsort(all, (size_t)n, sizeof *all, best_first);
        } else {
            CHECK(strcmp(word, "case") == 0);
            CHECK(fscanf(file, "%f %d %f %d", &temperature, &top_k, &top_p, &expected) == 4);
            s = sampler(temperature, top_k, top_p, 1);
            memcpy(c, all, sizeof c);
            if (sampler_wants(&s) > 0 && sampler_wants(&s) < n)
                count = keep(&s, c, sampler_wants(&s)); /* what the engine would hand over */
            else
                count = keep(&s, c, n);
            CHECK(count == expected);
            for (int i = 0; i < expected; i++) { /* the file has them by id, we by probability */
                double probability;
                int id, k = 0;

                CHECK(fscanf(file, "%d %lf", &id, &probability) == 2);
                while (k < count && c[k].id != id)
                    k++;
                differences += k == count || fabs(c[k].logit - probability) > 2e-6 * probability;
            }
            CHECK(differences == 0);
            cases++;
        }
    }
    CHECK(cases == 30);
    fclose(file);
}

/* ---- the edges of each setting ---- */

static void
test_wants_only_what_it_uses(void)
{
    Sampler s = sampler(0.6f, 20, 0.95f, 1);

    CHECK(sampler_wants(&s) == 20);
    s.top_k = VOCAB - 1;
    CHECK(sampler_wants(&s) == VOCAB - 1);
    s.top_k = VOCAB;
    CHECK(sampler_wants(&s) == 0);
    s.top_k = 0;
    CHECK(sampler_wants(&s) == 0);
    s.temperature = 0;
    CHECK(sampler_wants(&s) == 1);
    s = sampler(0.6f, 20, 0, 1);
    CHECK(sampler_wants(&s) == 1);
}

static void
test_temperature_zero_is_greedy(void)
{
    Candidate c[3] = {{7, 1.5f}, {2, 1.5f}, {9, 1}};
    Sampler s = sampler(0, 20, 0.95f, 1);

    CHECK(sampler_pick(&s, c, 3) == 7);
    CHECK(s.state == 1); /* and draws no number */
}

static void
test_top_k_keeps_exactly_k_of_equals(void)
{
    for (int n = 3; n <= 5; n++) {
        Candidate c[5] = {{1, 2}, {3, 2}, {5, 2}, {6, 2}, {8, 2}};
        Sampler s = sampler(1, 3, 1, 1);

        CHECK(keep(&s, c, n) == 3);
        CHECK(c[0].id == 1 && c[1].id == 3 && c[2].id == 5);
        CHECK(fabsf(c[2].logit - 1 / 3.0f) < 1e-6f);
    }
}

static void
test_the_token_that_crosses_p_is_kept(void)
{
    static const struct {
        float top_p;
        int kept;
    } cases[] = {{0, 1},     {0.24f, 1}, {0.25f, 1}, {0.26f, 2}, {0.5f, 2},
                 {0.51f, 3}, {0.75f, 3}, {0.76f, 4}, {1, 4}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Candidate c[4] = {{0, 2}, {1, 2}, {2, 2}, {3, 2}}; /* each exactly 1/4 */
        Sampler s = sampler(1, 0, cases[i].top_p, 1);
        int kept = keep(&s, c, 4);

        CHECK(kept == cases[i].kept);
        CHECK(fabsf(c[kept - 1].logit - 1.0f / (float)kept) < 1e-6f);
    }
}

static void
test_top_p_one_keeps_even_the_impossible(void)
{
    Candidate c[2] = {{0, 0}, {1, -1000}};
    Sampler s = sampler(1, 0, 1, 1);

    CHECK(keep(&s, c, 2) == 2);
    CHECK(c[0].logit == 1 && c[1].logit == 0);
}

static void
test_extreme_temperatures_give_probabilities(void)
{
    static const float temperatures[] = {1e-45f, 1e-30f, 1e-3f, 1e3f, 3e38f, INFINITY};

    for (size_t i = 0; i < sizeof temperatures / sizeof *temperatures; i++) {
        Candidate c[4] = {{0, 300}, {1, 299.9f}, {2, -300}, {3, -3e30f}};
        Sampler s = sampler(temperatures[i], 0, 1, 1);
        double sum = 0;

        CHECK(keep(&s, c, 4) == 4);
        for (int k = 0; k < 4; k++) {
            CHECK(c[k].logit >= 0 && c[k].logit <= 1);
            sum += c[k].logit;
        }
        CHECK(fabs(sum - 1) < 1e-6);
        if (temperatures[i] < 1e-3f)
            CHECK(c[0].logit == 1);
        if (temperatures[i] > 1e38f)
            CHECK(fabsf(c[1].logit - 0.25f) < 1e-3f);
    }
}

static void
test_logits_that_are_no_numbers_do_no_harm(void)
{
    static const float values[] = {NAN, INFINITY, -INFINITY, 1, 0};

    for (int i = 0; i < 5 * 5 * 5; i++) { /* every triple of them, in any order */
        Candidate c[3] = {{0, values[i % 5]}, {1, values[i / 5 % 5]}, {2, values[i / 25]}};
        Sampler s = sampler(0.6f, 0, 0.95f, (uint64_t)i);
        Candidate kept[3];
        double sum = 0;
        int n, id;

        memcpy(kept, c, sizeof c);
        n = keep(&s, kept, 3);
        CHECK(n >= 1 && n <= 3);
        for (int k = 0; k < n; k++)
            sum += kept[k].logit;
        CHECK(fabs(sum - 1) < 1e-6);
        id = sampler_pick(&s, c, 3);
        CHECK(id >= 0 && id < 3);
    }
    {
        Candidate c[3] = {{4, INFINITY}, {5, 3}, {6, NAN}};
        Sampler s = sampler(1, 0, 1, 1);

        CHECK(sampler_pick(&s, c, 3) == 4);
    }
}

/* ---- the k best ---- */

/* Of all the same, many ties, nearly none; and of those with a NaN here and there, at the front or nowhere
 * else. */
static void
test_the_k_best_are_the_first_k_of_a_full_sort(void)
{
    enum { NO_NAN, SOME_NAN, FIRST_NAN, ALL_NAN, NAN_KINDS };
    static const int many[] = {1, 2, 3, 20, 1000, VOCAB - 1, VOCAB};
    static Candidate sorted[VOCAB], best[VOCAB];
    static float logits[VOCAB];
    Sampler s = sampler(1, 0, 1, 7);

    for (int levels = 1; levels <= 1 << 20; levels *= 32 * 32)
        for (int kind = 0; kind < NAN_KINDS; kind++) {
            for (int i = 0; i < VOCAB; i++) {
                int is_nan = kind == ALL_NAN || (kind == FIRST_NAN && i < 1500) ||
                             (kind == SOME_NAN && sampler_random(&s) % 8 == 0);

                logits[i] = (float)(sampler_random(&s) % (uint64_t)levels) - (float)(levels / 2);
                if (logits[i] == 0 && i % 2)
                    logits[i] = -0.0f; /* equals 0 */
                if (i % 5 == 0)
                    logits[i] = i % 2 ? INFINITY : -INFINITY;
                if (is_nan)
                    logits[i] = i % 2 ? NAN : -NAN;
                sorted[i].id = i;
                sorted[i].logit = logits[i];
            }
            qsort(sorted, VOCAB, sizeof *sorted, best_first);
            for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
                int k = many[i], same = 1;

                memset(best, 0xff, sizeof best);
                sampler_best(logits, k, best);
                for (int j = 0; j < k; j++)
                    same &= best[j].id == sorted[j].id && !best_first(&best[j], &sorted[j]);
                CHECK(same);
                CHECK(k == VOCAB || best[k].id == -1); /* and nothing behind them was written */
            }
        }
}

/* ---- the exponential ---- */

static void
test_the_exponential_is_right_to_the_last_place(void)
{
    double worst = 0;

    CHECK(sampler_exp(0) == 1 && sampler_exp(-0.0f) == 1 && sampler_exp(-88) == 0);
    for (float x = -87.3f; x < -1e-9f; x *= 0.99999f) {
        double e = exp(x), error = fabs(sampler_exp(x) - e) / (e * FLT_EPSILON);

        worst = error > worst ? error : worst;
    }
    printf("the worst exponential is %.2f units of the last place off\n", worst);
    CHECK(worst < 1);
}

static void
test_weights_are_the_same_on_every_machine(void)
{
    Candidate c[SAMPLER_GROUP] = {{0, 0}}, any[SAMPLER_GROUP];
    double sum;

    for (int i = 0; i < 1000; i++) {
        int n = i % SAMPLER_GROUP + 1;

        random_candidates(c, n, (float)i / 20, (uint64_t)i);
        if (i % 3 == 0)
            c[n - 1].logit = i % 2 ? NAN : -INFINITY;
        memcpy(any, c, sizeof c);
        sum = sampler_weigh(c, n, c[0].logit, 0.6f);
        CHECK(sampler_weigh_any(any, n, any[0].logit, 0.6f) == sum);
        CHECK(memcmp(c, any, (size_t)n * sizeof *any) == 0);
        CHECK(i % 3 > 0 || c[n - 1].logit == 0);
    }
}

/* ---- the draws ---- */

static void
test_generator_is_splitmix64(void)
{
    /* java.util.SplittableRandom(1234567).nextLong(), an implementation by one of the paper's authors. */
    static const uint64_t expected[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                        4593380528125082431u, 16408922859458223821u};
    Sampler s = sampler(1, 0, 1, 1234567);

    for (int i = 0; i < 5; i++)
        CHECK(sampler_random(&s) == expected[i]);
}

static void
test_same_seed_same_tokens(void)
{
    Candidate all[50], c[50];
    Sampler a = sampler(1, 0, 0.95f, 42), b = sampler(1, 0, 0.95f, 42), other = sampler(1, 0, 0.95f, 43);
    int same = 0, unlike = 0;

    random_candidates(all, 50, 1, 5);
    for (int i = 0; i < 100; i++) {
        int token;

        memcpy(c, all, sizeof c);
        token = sampler_pick(&a, c, 50);
        memcpy(c, all, sizeof c);
        same += sampler_pick(&b, c, 50) == token;
        memcpy(c, all, sizeof c);
        unlike += sampler_pick(&other, c, 50) != token;
    }
    CHECK(same == 100);
    CHECK(unlike > 50);
}

/* What a chi-square variable of so many degrees of freedom exceeds at most once in a million times: the
 * formula of Wilson and Hilferty (1931), which errs upward, by 7 % at 3 degrees and 1 % at 19. */
static double
chi_square_limit(int freedom)
{
    double v = 2.0 / (9 * freedom);

    return freedom * pow(1 - v + 4.753424 * sqrt(v), 3);
}

enum { VARIED_STATE, VARIED_SEED };

/* Pearson's chi-square of many draws against the exact probabilities at `exact_temperature`, divided by the
 * limit: above 1 a right sampler would be once in a million times. Draws come from one generator, or each
 * from the first number of the next seed. */
static double
chi_square(int how, float temperature, int top_k, float top_p, double exact_temperature)
{
    enum { N = 40, DRAWS = 100000 };
    Candidate all[N], c[N];
    Sampler s = sampler(temperature, top_k, top_p, 600);
    double weight[N], total = 0, head = 0, sum = 0;
    int counts[N] = {0}, n = top_k ? top_k : N, kept = 0, place[N];

    random_candidates(all, N, 1.5f, 17);
    for (int i = 0; i < n; i++)
        total += weight[i] = exp((all[i].logit - (double)all[0].logit) / exact_temperature);
    while (kept < n && head < top_p * total)
        head += weight[kept++];
    for (int i = 0; i < N; i++)
        place[all[i].id] = i;
    for (int i = 0; i < DRAWS; i++) {
        if (how == VARIED_SEED)
            sampler_seed(&s, (uint64_t)i);
        memcpy(c, all, sizeof c);
        counts[place[sampler_pick(&s, c, n)]]++;
    }
    for (int i = 0; i < N; i++) {
        double expected = DRAWS * weight[i] / head;

        if (i >= kept) {
            if (counts[i] > 0)
                return INFINITY; /* drew what cannot be drawn */
            continue;
        }
        if (expected < 5) /* too rare for the statistic: the settings below avoid that */
            return INFINITY;
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    return sum / chi_square_limit(kept - 1);
}

/* The seeds are fixed, so these results never change. Of all right samplers, four in a million would fail
 * here. */
static void
test_draws_follow_the_probabilities(void)
{
    CHECK(chi_square(VARIED_STATE, 0.6f, 20, 0.95f, 0.6f) < 1);
    CHECK(chi_square(VARIED_STATE, 0.7f, 20, 0.8f, 0.7f) < 1);
    CHECK(chi_square(VARIED_STATE, 1.5f, 0, 1, 1.5f) < 1);
    CHECK(chi_square(VARIED_SEED, 0.6f, 20, 0.95f, 0.6f) < 1);
    /* and the test sees a temperature that is 2 % off */
    CHECK(chi_square(VARIED_STATE, 0.6f, 20, 1, 0.612f) > 1);
}

static double
seconds_now(void)
{
    struct timespec now;

    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Without top-k every token of the vocabulary is a candidate; to draw from all of them must cost little more
 * than their exponentials do. (On one core of an EPYC: 0.15 ms; the limit is a ratio so that it holds
 * under valgrind too.) */
static void
test_whole_vocabulary_is_fast(void)
{
    enum { DRAWS = 10 };
    static Candidate all[VOCAB], c[VOCAB];
    Sampler s = sampler(0.6f, 0, 0.95f, 1);
    double draw = 1e9, exponentials = 1e9;
    float sum = 0;

    set_threads(1);
    random_candidates(all, VOCAB, 2.5f, 3);
    for (int i = 0; i < DRAWS; i++) {
        double start, middle, stop;

        memcpy(c, all, sizeof c);
        start = seconds_now();
        sampler_pick(&s, c, VOCAB);
        middle = seconds_now();
        for (int k = 0; k < VOCAB; k++)
            sum += expf(all[k].logit);
        stop = seconds_now();
        draw = middle - start < draw ? middle - start : draw;
        exponentials = stop - middle < exponentials ? stop - middle : exponentials;
    }
    CHECK(sum > 0);
    printf("one draw from %d candidates: %.2f ms; their exponentials: %.2f ms\n", VOCAB, 1e3 * draw,
           1e3 * exponentials);
    CHECK(draw < 5 * exponentials);
}

/* What sampler_keep says of logits whose best is 0, without leaving anything out: sums by groups, and in a
 * group by every fourth. */
static int
keep_all(const Sampler *s, Candidate *c, int n)
{
    static double before[VOCAB / SAMPLER_GROUP + 2];
    double total = 0, head = 0;
    int kept = 0;

    for (int i = 0; i < n;) {
        double four[4] = {0};
        before[i / SAMPLER_GROUP] = total;
        do
            four[i % 4] += c[i].logit = sampler_exp(fmaxf(c[i].logit / s->temperature, -88));
        while (++i % SAMPLER_GROUP && i < n);
        total += (four[0] + four[1]) + (four[2] + four[3]);
    }
    for (; kept < n; kept++) {
        if (kept % SAMPLER_GROUP == 0)
            head = before[kept / SAMPLER_GROUP];
        if (s->top_p < 1 && head >= s->top_p * total)
            break;
        head += c[kept].logit;
    }
    for (int i = 0; i < kept; i++)
        c[i].logit = (float)(c[i].logit / head);
    return kept;
}

/* From distributions that a few tokens have to themselves to such that need all, with many equal ones. */
static void
test_what_is_not_looked_at_changes_nothing(void)
{
    static const float spreads[] = {0.01f, 0.3f, 0.64f, 1, 2, 5, 20},
                       ps[] = {0.01f, 0.5f, 0.8f, 0.95f, 0.999f, 1};
    static Candidate all[VOCAB], c[VOCAB], expected[VOCAB];
    int least = VOCAB, most = 0;

    for (int i = 0; i < 7; i++) {
        random_candidates(all, VOCAB, spreads[i], (uint64_t)i);
        for (int equal = 0; equal < 2; equal++)
            for (int j = 0; j < 6; j++) {
                Sampler s = sampler(0.6f, 0, ps[j], 1);
                int kept, as_before;

                for (int k = 0; k < VOCAB; k++)
                    if (equal)
                        all[k].logit = roundf(all[k].logit * 4) / 4;
                memcpy(c, all, sizeof c);
                memcpy(expected, all, sizeof c);
                for (int k = 0; k < VOCAB;
                     k++) /* the best one is at 0, so that no difference is rounded twice */
                    expected[k].logit = all[k].logit - all[0].logit;
                kept = keep(&s, c, VOCAB);
                as_before = keep_all(&s, expected, VOCAB);
                CHECK(kept == as_before);
                CHECK(memcmp(c, expected, (size_t)kept * sizeof *c) == 0);
                least = kept < least ? kept : least;
                most = kept > most ? kept : most;
            }
    }
    CHECK(least < 3 && most == VOCAB);
}

/* Ids and logits come together, and are weighed, in pieces that end at odd places. */
static void
test_the_number_of_threads_changes_nothing(void)
{
    static const int ns[] = {1, 65, SAMPLER_WORTH, SAMPLER_WORTH + 1, 4096 + SAMPLER_WORTH + 63, VOCAB};
    static Candidate all[VOCAB], c[VOCAB], expected[VOCAB];
    static int id[VOCAB];
    static float logit[VOCAB];
    float best;

    random_candidates(all, VOCAB, 0.6f, 4);
    best = all[0].logit;
    for (int i = 0; i < VOCAB; i++) {
        id[i] = all[i].id;
        logit[i] = all[i].logit -= best;
    }
    for (int i = 0; i < 6; i++) {
        Sampler s = sampler(0.6f, 0, 0.95f, 1);
        int n = ns[i], kept;

        memcpy(expected, all, sizeof all);
        kept = keep_all(&s, expected, n);
        for (int threads = 1; threads <= 8; threads++) {
            set_threads(threads);
            memset(c, 0xff, sizeof c);
            sampler_pair(c, id, logit, n);
            CHECK(memcmp(c, all, (size_t)n * sizeof *c) == 0);
            CHECK(n == VOCAB || c[n].id == -1); /* nothing beyond the n */
            CHECK(keep(&s, c, n) == kept);
            CHECK(memcmp(c, expected, (size_t)kept * sizeof *c) == 0);
        }
    }
}

int
main(void)
{
    test_goldens();
    test_wants_only_what_it_uses();
    test_temperature_zero_is_greedy();
    test_top_k_keeps_exactly_k_of_equals();
    test_the_token_that_crosses_p_is_kept();
    test_top_p_one_keeps_even_the_impossible();
    test_extreme_temperatures_give_probabilities();
    test_logits_that_are_no_numbers_do_no_harm();
    test_the_k_best_are_the_first_k_of_a_full_sort();
    test_the_exponential_is_right_to_the_last_place();
    test_weights_are_the_same_on_every_machine();
    test_generator_is_splitmix64();
    test_same_seed_same_tokens();
    test_draws_follow_the_probabilities();
    test_what_is_not_looked_at_changes_nothing();
    test_whole_vocabulary_is_fast();
    test_the_number_of_threads_changes_nothing();
    return test_result();
}
