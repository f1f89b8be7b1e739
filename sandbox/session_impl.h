/* The inside of a session, shared by session.c (the device process and its requests) and session_run.c (guests). */
#ifndef SANDBOX_SESSION_IMPL_H
#define SANDBOX_SESSION_IMPL_H

#include "session.h"
#include "wire.h"


struct session {
	struct session_options options;
	char device[16], profile_id[32];
	unsigned ordinal;		/* of a GPU */
	char library[256];		/* where its driver lies */
	/* environment of its process: where libraries lie beside the system's, and the folders mounted for that */
	char search[1024], folder_names[4][256];
	char home[300];
	const char *environment[4];
	struct jail_mount folders[4];
	unsigned n_folders;
	char executable[512];		/* this program, for a tool to run */
	const char *tool[48];
	struct profile profile;
	struct device_properties properties;
	struct jail *jail;
	int control;			/* -1: no process */
	bool dead;			/* it crashed; the session is of no more use */
	bool exhausted;			/* of its memory limit */
	bool killed;			/* from outside */
	char source[64];		/* of the image, as the user knows it */
	char *image;			/* kept, for a fresh process after one that had to be stopped */
	uint64_t image_size;
	struct device_resources *resources;
	uint32_t n_resources;
	uint32_t n_kernels;
	uint64_t tensors[CONTROL_TENSORS_MAX];	/* sizes */
	uint32_t n_tensors;
};

enum { SESSION_PATIENCE_MS = 120000 };	/* for an answer to anything but a run */

/* Is there something to read, or the other end gone, within this time (-1: no limit)?  Signals do not cut it short. */
bool session_ready(int fd, int patience_ms);
/* Send a request (and a descriptor unless -1). */
int session_send(struct session *s, const void *message, size_t size, int fd, struct err *e);
/* Receive its reply and what follows it in the packet, exactly `want` bytes of `data`.  -1: the device said no (e has its
 * words), or it is dead. */
int session_reply(struct session *s, uint32_t kind, struct wire_reply *r, void *data, size_t want, int patience_ms,
		  struct err *e);
int session_take(struct session *s, void *data, size_t size, struct err *e);	/* a stream that the device sends */
/* The device process broke off or does not answer: end it, say how it went. */
int session_lost(struct session *s, const char *how, struct err *e);
/* Terminated strings, fit for a terminal. */
void session_tame_fault(struct fault *f);
/* Stop the process, which may be in the middle of something, and have a fresh one with the same image. */
void session_stop(struct session *s);
int session_restart(struct session *s, struct err *e);

#endif
