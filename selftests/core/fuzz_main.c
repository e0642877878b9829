// SPDX-License-Identifier: GPL-2.0
/*
 * Drives a fuzz target where libFuzzer is not to be had: every file of the
 * directories given, then mutations of them and noise, all from one seed.
 * Takes libFuzzer's -runs=, -seed=, -max_total_time= and -artifact_prefix=. An
 * input that takes longer than INPUT_SECS of processor time, or aborts, is
 * written to a file.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MAX_LEN	2048
#define MAX_SEEDS 4096
#define INPUT_SECS 30

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t len);

static struct { unsigned char *p; size_t len; } seeds[MAX_SEEDS];
static int nr_seeds;
static unsigned long long state = 1;

static const unsigned char *input;
static size_t input_len;
static char artifact[4096] = "crash";

/* Only what a signal handler may do */
static void keep_input(int sig)
{
	static const char slow[] = "input took too long\n";
	int fd = open(artifact, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd >= 0) {
		if (write(fd, input, input_len) < 0)
			_exit(2);
		close(fd);
	}
	if (sig == SIGVTALRM && write(2, slow, sizeof(slow) - 1) < 0)
		_exit(2);
	_exit(1);
}

/* Of this process, whatever else the machine does; 0: no more */
static void limit_time(int secs)
{
	struct itimerval t = { .it_value.tv_sec = secs };

	setitimer(ITIMER_VIRTUAL, &t, NULL);
}

static unsigned long long rnd(void)
{
	unsigned long long z = state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static void load_file(const char *name)
{
	FILE *f = fopen(name, "rb");
	unsigned char buf[MAX_LEN];
	size_t n;

	if (!f)
		return;
	n = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	if (nr_seeds == MAX_SEEDS)
		return;
	seeds[nr_seeds].p = malloc(n + 1);
	memcpy(seeds[nr_seeds].p, buf, n);
	seeds[nr_seeds++].len = n;
}

static void load_dir(const char *name)
{
	DIR *d = opendir(name);
	struct dirent *e;
	char path[4096];

	if (!d)
		return;
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", name, e->d_name);
		load_file(path);
	}
	closedir(d);
}

static size_t mutate(unsigned char *buf)
{
	size_t len = rnd() % 256, i;
	int n, s;

	if (nr_seeds && rnd() % 16) {
		s = (int)(rnd() % (unsigned int)nr_seeds);
		len = seeds[s].len;
		memcpy(buf, seeds[s].p, len);
	} else {
		for (i = 0; i < len; i++)
			buf[i] = (unsigned char)rnd();
	}
	for (n = (int)(rnd() % 5); n > 0 && len; n--) {
		i = rnd() % len;
		switch (rnd() % 5) {
		case 0:
			buf[i] ^= 1 << rnd() % 8;
			break;
		case 1:
			buf[i] = (unsigned char)rnd();
			break;
		case 2:
			buf[i] = rnd() & 1 ? 0 : 0xff;
			break;
		case 3:
			len = i;
			break;
		case 4:
			while (len < MAX_LEN && rnd() % 8)
				buf[len++] = (unsigned char)rnd();
			break;
		}
	}
	return len;
}

int main(int argc, char **argv)
{
	static unsigned char buf[MAX_LEN];
	unsigned char *copy;
	long runs = 10000, secs = 0, r;
	time_t start = time(NULL);
	size_t len;
	int i;

	for (i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "-runs=", 6))
			runs = atol(argv[i] + 6);
		else if (!strncmp(argv[i], "-seed=", 6))
			state = strtoull(argv[i] + 6, NULL, 0);
		else if (!strncmp(argv[i], "-max_total_time=", 16))
			secs = atol(argv[i] + 16);
		else if (!strncmp(argv[i], "-artifact_prefix=", 17))
			snprintf(artifact, sizeof(artifact), "%sinput",
				 argv[i] + 17);
		else if (argv[i][0] != '-')
			load_dir(argv[i]);
	}
	signal(SIGVTALRM, keep_input);
	signal(SIGABRT, keep_input);
	for (r = 0; r < runs + nr_seeds; r++) {
		if (r < nr_seeds) {
			len = seeds[r].len;
			memcpy(buf, seeds[r].p, len);
		} else {
			len = mutate(buf);
		}
		/* On the heap, of exactly this size: overreads are found */
		copy = malloc(len ? len : 1);
		memcpy(copy, buf, len);
		input = copy;
		input_len = len;
		limit_time(INPUT_SECS);
		LLVMFuzzerTestOneInput(copy, len);
		limit_time(0);
		free(copy);
		if (secs && time(NULL) - start >= secs)
			break;
	}
	for (i = 0; i < nr_seeds; i++)
		free(seeds[i].p);
	printf("%ld runs, %d seeds\n", r, nr_seeds);
	return 0;
}
