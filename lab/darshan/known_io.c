/* Programs whose I/O is known exactly, for logs of Darshan: known_io MODE DIRECTORY. With MPI where -DMPI is given.
 *
 * own     each rank r: a file of its own, 4 (r + 1) writes of 256 KiB and an fsync; after a barrier it is read in 64 KiB
 * shared  one file: each rank 8 writes of 1 MiB into its own part; after a barrier 32 reads of 4 KiB of the next rank's,
 *         each before the one before it
 * turns   each rank r begins r / 2 s later: a file of its own, 4 writes of 1 MiB with 20 ms between
 * bursts  3 times 8 writes of 1 MiB to one file with 400 ms between; 20 files of 512 bytes, each looked at; 100 lines of
 *         1000 bytes through stdio
 * orders  four files of 64 times 4 KiB, read in 4 KiB: towards the beginning, each fourth call, at places that jump about, and at
 *         the same place 64 times
 * slow    64 KiB from a pipe with a name, which come half a second after the call began; two writes of 64 KiB
 * mixed   one file of 32 times 64 KiB: each part is written and then read, 2 ms between
 * stdio   100 lines of 1000 bytes written through stdio, and read back
 * nothing no file at all
 * mounts  a write of 1 MiB here, and two of 1 MiB to DIRECTORY/../other, where another file system is
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#ifdef MPI
#include <mpi.h>
#else
#define MPI_Barrier(all) (void)0
#endif

static char data[1 << 20];
static int rank, ranks = 1;

static void need(int holds, const char *what) {
    if (!holds) {
        perror(what);
        exit(1);
    }
}

static int opened(const char *directory, const char *name, int flags) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int file = open(path, flags, 0644);
    need(file >= 0, path);
    return file;
}

static void writes(int file, int count, size_t size, int gap_us) {
    for (int at = 0; at < count; at++) {
        need(write(file, data, size) == (ssize_t)size, "write");
        if (gap_us) usleep(gap_us);
    }
}

static void own(const char *directory) {
    char name[64];
    snprintf(name, sizeof name, "own.%d", rank);
    int file = opened(directory, name, O_CREAT | O_WRONLY);
    writes(file, 4 * (rank + 1), 256 << 10, 0);
    need(fsync(file) == 0, "fsync");
    close(file);
    MPI_Barrier(MPI_COMM_WORLD);
    file = opened(directory, name, O_RDONLY);
    while (read(file, data, 64 << 10) > 0) {
    }
    close(file);
}

static void shared(const char *directory) {
    int file = opened(directory, "shared", O_CREAT | O_RDWR);
    off_t part = 8 << 20;
    for (int at = 0; at < 8; at++)
        need(pwrite(file, data, 1 << 20, rank * part + ((off_t)at << 20)) == 1 << 20, "pwrite");
    need(fsync(file) == 0, "fsync");
    MPI_Barrier(MPI_COMM_WORLD);
    off_t next = (rank + 1) % ranks * part;
    for (int at = 32; at > 0; at--) need(pread(file, data, 4096, next + at * 8192) == 4096, "pread");
    close(file);
}

static void turns(const char *directory) {
    char name[64];
    snprintf(name, sizeof name, "turn.%d", rank);
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(rank * 500000);
    int file = opened(directory, name, O_CREAT | O_WRONLY);
    writes(file, 4, 1 << 20, 20000);
    close(file);
}

static void bursts(const char *directory) {
    char name[64], path[4096];
    int file = opened(directory, "burst", O_CREAT | O_WRONLY);
    for (int burst = 0; burst < 3; burst++) {
        if (burst) usleep(400000);
        writes(file, 8, 1 << 20, 0);
    }
    close(file);
    for (int at = 0; at < 20; at++) {
        struct stat found;
        snprintf(name, sizeof name, "small.%d", at);
        file = opened(directory, name, O_CREAT | O_WRONLY);
        writes(file, 1, 512, 0);
        close(file);
        snprintf(path, sizeof path, "%s/%s", directory, name);
        need(stat(path, &found) == 0, path);
    }
    snprintf(path, sizeof path, "%s/lines", directory);
    FILE *lines = fopen(path, "w");
    need(lines != NULL, path);
    for (int at = 0; at < 100; at++) need(fwrite(data, 1, 1000, lines) == 1000, "fwrite");
    fclose(lines);
}

static void orders(const char *directory) {
    static const char *names[] = {"backward", "strided", "random", "again"};
    for (int at = 0; at < 4; at++) {
        int file = opened(directory, names[at], O_CREAT | O_RDWR);
        writes(file, 64, 4096, 0);
        for (int call = 0; call < 64; call++) {
            int places[] = {63 - call, call * 4 % 64 + call / 16, call * 29 % 64, 5};
            need(pread(file, data, 4096, 4096L * places[at]) == 4096, "pread");
        }
        close(file);
    }
}

static int the_pipe;

/* Past Darshan, which would count it. */
static void fill(int signal) {
    (void)signal;
    syscall(SYS_write, the_pipe, data, 64 << 10);
}

static void slow(const char *directory) {
    char path[4096];
    snprintf(path, sizeof path, "%s/pipe", directory);
    need(mkfifo(path, 0644) == 0, path);
    int file = the_pipe = opened(directory, "pipe", O_RDWR);
    struct sigaction action = {.sa_handler = fill, .sa_flags = SA_RESTART};
    struct itimerval later = {.it_value = {.tv_usec = 500000}};
    need(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &later, NULL) == 0, "setitimer");
    need(read(file, data, 64 << 10) == 64 << 10, "read");
    close(file);
    file = opened(directory, "slow", O_CREAT | O_WRONLY);
    writes(file, 2, 64 << 10, 0);
    close(file);
}

static void mixed(const char *directory) {
    int file = opened(directory, "mixed", O_CREAT | O_RDWR);
    for (off_t at = 0; at < 32; at++) {
        need(pwrite(file, data, 64 << 10, at << 16) == 64 << 10, "pwrite");
        need(pread(file, data, 64 << 10, at << 16) == 64 << 10, "pread");
        usleep(2000);
    }
    close(file);
}

static void stdio(const char *directory) {
    char path[4096];
    snprintf(path, sizeof path, "%s/lines", directory);
    for (int reading = 0; reading < 2; reading++) {
        FILE *lines = fopen(path, reading ? "r" : "w");
        need(lines != NULL, path);
        for (int at = 0; at < 100; at++)
            need((reading ? fread(data, 1, 1000, lines) : fwrite(data, 1, 1000, lines)) == 1000, "stdio");
        fclose(lines);
    }
}

static void mounts(const char *directory) {
    int file = opened(directory, "here", O_CREAT | O_WRONLY);
    writes(file, 1, 1 << 20, 0);
    close(file);
    file = opened(directory, "../other/there", O_CREAT | O_WRONLY);
    writes(file, 2, 1 << 20, 0);
    close(file);
}

int main(int count, char **words) {
#ifdef MPI
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#endif
    if (count != 3) return 2;
    memset(data, 'x', sizeof data);
    if (!strcmp(words[1], "own")) own(words[2]);
    else if (!strcmp(words[1], "shared")) shared(words[2]);
    else if (!strcmp(words[1], "turns")) turns(words[2]);
    else if (!strcmp(words[1], "bursts")) bursts(words[2]);
    else if (!strcmp(words[1], "orders")) orders(words[2]);
    else if (!strcmp(words[1], "slow")) slow(words[2]);
    else if (!strcmp(words[1], "mixed")) mixed(words[2]);
    else if (!strcmp(words[1], "stdio")) stdio(words[2]);
    else if (!strcmp(words[1], "mounts")) mounts(words[2]);
    else if (strcmp(words[1], "nothing")) return 2;
#ifdef MPI
    MPI_Finalize();
#endif
    return 0;
}
