/* Programs whose I/O is known exactly, for logs of Darshan: known_io MODE DIRECTORY. With MPI where -DMPI is given.
 *
 * own     each rank r: a file of its own, 4 (r + 1) writes of 256 KiB and an fsync; after a barrier it is read in 64 KiB
 * shared  one file: each rank 8 writes of 1 MiB into its own part; after a barrier 32 reads of 4 KiB of the next rank's,
 *         each before the one before it
 * turns   each rank r begins r / 2 s later: a file of its own, 4 writes of 1 MiB with 20 ms between
 * bursts  3 times 8 writes of 1 MiB to one file with 400 ms between; 20 files of 512 bytes, each looked at; 100 lines of
 *         1000 bytes through stdio
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
    else return 2;
#ifdef MPI
    MPI_Finalize();
#endif
    return 0;
}
