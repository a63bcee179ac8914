/* An application as most are: computes, then writes a checkpoint, again and again. bench/stage_interference.py asks how much
 * a mover beside it slows its steps.
 *
 *   checkpoint DIRECTORY --steps N --passes N --threads N --mib N [--keep N]
 *
 * A step is `passes` passes over an array of 8 MiB a thread (fixed work: a disturbed step takes longer), then a checkpoint of
 * `mib` MiB written in 1 MiB calls, fsynced and renamed, under one of `keep` names in turn. Prints one line of JSON a step:
 * nanoseconds of the computation and of the checkpoint. With --steps 0: nanoseconds of a pass, the fastest of some.
 * Build: cc -O2 -pthread checkpoint.c -o checkpoint
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ARRAY_BYTES = 8 << 20, WRITE_BYTES = 1 << 20, MAX_THREADS = 1024, TRIES = 20 };

static struct {
    const char *directory;
    unsigned steps, passes, threads, mib, keep;
} want = {.passes = 1, .threads = 1, .mib = 64, .keep = 4};

static pthread_barrier_t begin, end;
static unsigned char *buffer;
static volatile double sink;

static void fail(const char *what)
{
    fprintf(stderr, "checkpoint: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static double pass(double *array)
{
    double sum = 0;
    for (size_t i = 0; i < ARRAY_BYTES / sizeof *array; i++) {
        array[i] = array[i] * 0.999 + 1.0;
        sum += array[i];
    }
    return sum;
}

static double *new_array(void)
{
    double *array = aligned_alloc(4096, ARRAY_BYTES);
    if (array == NULL)
        fail("memory");
    memset(array, 0, ARRAY_BYTES);
    return array;
}

static void *thread(void *unused)
{
    double *array = new_array();
    for (unsigned step = 0; step < want.steps; step++) {
        pthread_barrier_wait(&begin);
        for (unsigned i = 0; i < want.passes; i++)
            sink = pass(array);
        pthread_barrier_wait(&end);
    }
    free(array);
    return unused;
}

static void checkpoint(unsigned step)
{
    char path[4096], final[4096];
    snprintf(path, sizeof path, "%s/.checkpoint.tmp", want.directory);
    snprintf(final, sizeof final, "%s/checkpoint.%u", want.directory, step % want.keep);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        fail(path);
    for (unsigned i = 0; i < want.mib; i++) {
        memcpy(buffer, &(uint64_t){(uint64_t)step << 32 | i}, sizeof(uint64_t));
        if (write(file, buffer, WRITE_BYTES) != WRITE_BYTES)
            fail("write");
    }
    if (fsync(file) != 0 || close(file) != 0 || rename(path, final) != 0)
        fail(final);
}

static void calibrate(void)
{
    double *array = new_array();
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t from = now_ns();
        sink = pass(array);
        uint64_t took = now_ns() - from;
        best = took < best ? took : best;
    }
    free(array);
    printf("%" PRIu64 "\n", best);
}

static void ask(int count, char **words)
{
    static const struct option options[] = {
        {"steps", required_argument, NULL, 's'}, {"passes", required_argument, NULL, 'p'},
        {"threads", required_argument, NULL, 't'}, {"mib", required_argument, NULL, 'm'},
        {"keep", required_argument, NULL, 'k'}, {NULL, 0, NULL, 0},
    };
    for (int option; (option = getopt_long(count, words, "", options, NULL)) != -1;) {
        unsigned number = optarg ? (unsigned)strtoul(optarg, NULL, 10) : 0;
        switch (option) {
        case 's': want.steps = number; break;
        case 'p': want.passes = number; break;
        case 't': want.threads = number; break;
        case 'm': want.mib = number; break;
        case 'k': want.keep = number; break;
        default: exit(2);
        }
    }
    if (optind != count - 1 || want.threads < 1 || want.threads > MAX_THREADS || want.keep < 1)
        exit(2);
    want.directory = words[optind];
}

int main(int count, char **words)
{
    ask(count, words);
    if (want.steps == 0) {
        calibrate();
        return 0;
    }
    pthread_t threads[MAX_THREADS];
    buffer = aligned_alloc(4096, WRITE_BYTES);
    if (buffer == NULL)
        fail("memory");
    for (unsigned i = 0; i < WRITE_BYTES; i++)
        buffer[i] = (unsigned char)(i * 2654435761u >> 13);
    pthread_barrier_init(&begin, NULL, want.threads + 1);
    pthread_barrier_init(&end, NULL, want.threads + 1);
    for (unsigned i = 0; i < want.threads; i++)
        if (pthread_create(&threads[i], NULL, thread, NULL) != 0)
            fail("thread");
    for (unsigned step = 0; step < want.steps; step++) {
        uint64_t from = now_ns();
        pthread_barrier_wait(&begin);
        pthread_barrier_wait(&end);
        uint64_t computed = now_ns();
        checkpoint(step);
        printf("{\"compute_ns\": %" PRIu64 ", \"checkpoint_ns\": %" PRIu64 "}\n", computed - from, now_ns() - computed);
        fflush(stdout);
    }
    for (unsigned i = 0; i < want.threads; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
