// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's tracepoints as text: a buffer of our own in tracefs, and its lines.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool.h"
#include "trace.h"

#define TRACEFS	"/sys/kernel/tracing"

/* Of each processor. A packet takes 200 bytes; 10 Gbit/s fill it in half a second */
#define BUFFER_KB	"16384"

static const char *const events[] = { "open", "send", "left", "complete", "read" };

int event_parse(struct event *e, char *line)
{
	char *name = strstr(line, ": dlcp_"), *end, *stamp;

	if (!name)
		return -1;
	*name = '\0';
	stamp = strrchr(line, ' ');
	end = strchr(name + 2, ':');
	if (!stamp || !end)
		return -1;
	*end = '\0';
	e->ns = (uint64_t)(strtod(stamp + 1, NULL) * 1e6 + 0.5) * 1000;
	e->name = name + strlen(": dlcp_");
	e->fields = end + 1;
	return 0;
}

const char *event_field(const struct event *e, const char *name)
{
	size_t len = strlen(name);
	const char *p;

	for (p = e->fields; p; p = strchr(p, ' ')) {
		p += strspn(p, " ");
		if (!strncmp(p, name, len) && p[len] == '=')
			return p + len + 1;
	}
	return NULL;
}

uint64_t event_u64(const struct event *e, const char *name)
{
	const char *value = event_field(e, name);

	return value ? strtoull(value, NULL, 0) : 0;
}

uint64_t event_lost(const char *line)
{
	const char *p = strstr(line, "[LOST ");

	return p && !strncmp(line, "CPU:", 4) ? strtoull(p + strlen("[LOST "), NULL, 10) : 0;
}

static int tracer_set(const struct tracer *t, const char *file, const char *value)
{
	char path[200];
	int fd, err;

	snprintf(path, sizeof(path), "%s/%s", t->dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	err = write(fd, value, strlen(value)) < 0 ? errno : 0;
	close(fd);
	return err;
}

static int say_untraceable(int err)
{
	if (err == EACCES || err == EPERM)
		return say_error("not permitted to trace: run it as root (sudo)");
	if (access("/sys/kernel/tracing/events", F_OK))
		return say_error("tracefs is not mounted: `mount -t tracefs tracefs /sys/kernel/tracing`; or this kernel has no tracing (CONFIG_EVENT_TRACING)");
	if (access("/sys/kernel/tracing/events/dlcp", F_OK))
		return say_error("the module dlcp is not loaded, so it has no tracepoints: run `modprobe dlcp` as root");
	if (err == ENOENT)
		return say_error("the module loaded lacks tracepoints that this dlcp needs: `dlcp --version` has both versions");
	return say_error("tracefs: %s", strerror(err));
}

void tracer_close(struct tracer *t)
{
	tracer_set(t, "events/dlcp/enable", "0");
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	rmdir(t->dir);
}

/* One that was killed left its buffer behind, and the kernel goes on filling it */
static void remove_stale(void)
{
	struct dirent *d;
	struct tracer t;
	DIR *dir = opendir(TRACEFS "/instances");
	int pid;

	while (dir && (d = readdir(dir))) {
		if (sscanf(d->d_name, "dlcp-trace-%d", &pid) != 1 || !kill(pid, 0) || errno != ESRCH)
			continue;
		t.fd = -1;
		snprintf(t.dir, sizeof(t.dir), TRACEFS "/instances/dlcp-trace-%d", pid);
		tracer_close(&t);
	}
	if (dir)
		closedir(dir);
}

int tracer_open(struct tracer *t)
{
	char file[60];
	size_t i;
	int err;

	t->fd = -1;
	t->held = 0;
	remove_stale();
	snprintf(t->dir, sizeof(t->dir), TRACEFS "/instances/dlcp-trace-%d", (int)getpid());
	if (mkdir(t->dir, 0700) && errno != EEXIST)
		return say_untraceable(errno);
	err = tracer_set(t, "buffer_size_kb", BUFFER_KB);
	if (!err)
		err = tracer_set(t, "trace_clock", "mono");
	for (i = 0; !err && i < sizeof(events) / sizeof(*events); i++) {
		snprintf(file, sizeof(file), "events/dlcp/dlcp_%s/enable", events[i]);
		err = tracer_set(t, file, "1");
	}
	if (!err) {
		snprintf(t->line, sizeof(t->line), "%s/trace_pipe", t->dir);
		t->fd = open(t->line, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		err = t->fd < 0 ? errno : 0;
	}
	if (!err)
		return 0;
	tracer_close(t);
	return say_untraceable(err);
}

int tracer_read(struct tracer *t, void (*take)(void *arg, char *line), void *arg)
{
	char *line, *end;
	int nr = 0;
	ssize_t n;

	for (;;) {
		n = read(t->fd, t->line + t->held, sizeof(t->line) - 1 - t->held);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return nr;
		if (n < 0) {
			say_error("trace_pipe: %s", strerror(errno));
			return -1;
		}
		if (!n)
			return nr;
		t->held += (size_t)n;
		t->line[t->held] = '\0';
		for (line = t->line; (end = strchr(line, '\n')); line = end + 1, nr++) {
			*end = '\0';
			take(arg, line);
		}
		t->held -= (size_t)(line - t->line);
		memmove(t->line, line, t->held + 1);
		if (t->held == sizeof(t->line) - 1)
			t->held = 0;
	}
}
