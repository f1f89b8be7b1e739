/* What is said over the two sockets of a device process: with a guest (wire_*), with the judge (control_*).
 *
 * Both are SOCK_SEQPACKET socket pairs: one packet is one message, at most WIRE_PACKET bytes.  Requests start with a
 * kind, replies with struct wire_reply.  The receiver believes nothing: the kind must be in the table, the size must
 * fit it, the phase must allow it, and each field is checked where it is used.  Work is done in order; a launch and
 * all pieces of an upload but the last have no reply, so that a guest need not wait for the device.
 *
 * This header serves the guest runtime too, and so needs nothing beyond the C library.
 */
#ifndef SANDBOX_WIRE_H
#define SANDBOX_WIRE_H

#include "device/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WIRE_FD = 3,			/* the socket in the guest and, of the control connection, in the device process */
	WIRE_VERSION = 1,
	WIRE_PIECE = 64 << 10,		/* bulk data travels in pieces of this size */
	WIRE_PARAMS = 32764,		/* kernel parameters: the limit of sm_70 and later */
	WIRE_NAME = DEVICE_NAME - 1,
	WIRE_ARGUMENTS = 24,
	WIRE_TEXT = 199,
	WIRE_PACKET = WIRE_PIECE + 256
};

/* Where a run stands. */
enum wire_state {
	WIRE_FRESH = 1,			/* nothing was said yet */
	WIRE_READY = 2,			/* constructors of the submission run */
	WIRE_PREPARE = 4,
	WIRE_SOLVE = 8,
	WIRE_PROGRAM = 16,		/* a program with its own main(): no phases */
	WIRE_OVER = 32,			/* DONE was said: nothing may follow */
	WIRE_ANY = WIRE_READY | WIRE_PREPARE | WIRE_SOLVE | WIRE_PROGRAM
};

enum wire_kind {
	WIRE_NONE,
#define WIRE(id, type, least, most, phases) WIRE_##id,
#include "wire.def"
#undef WIRE
	WIRE_KINDS
};

enum control_kind {
	CONTROL_NONE,
#define CONTROL(id, type, least, most) CONTROL_##id,
#include "wire.def"
#undef CONTROL
	CONTROL_KINDS
};

struct wire_reply {
	uint32_t kind;			/* of the request */
	int32_t error;			/* guest: a cudaError; judge: enum err_kind, and the text follows */
	uint64_t a, b;
};

/* ---- from a guest ---- */

struct wire_hello { uint32_t kind, version; };
struct wire_device {			/* what the guest is told at first */
	struct device_properties properties;
	uint64_t base, size;		/* range of device addresses; size 0: not known */
	uint32_t program;
	uint32_t prepare;		/* the problem has a prepare() */
};
struct wire_find { uint32_t kind, pad; /* char name[] */ };
struct wire_alloc { uint32_t kind, pad; uint64_t size; };
struct wire_release { uint32_t kind, pad; uint64_t addr; };
struct wire_upload { uint32_t kind, last; uint64_t addr; /* data[] */ };
/* Rows: `height` of them, `width` bytes each, `pitch` bytes apart. */
struct wire_download { uint32_t kind, pad; uint64_t addr, pitch, width, height; };
struct wire_copy { uint32_t kind, pad; uint64_t dst, dst_pitch, src, src_pitch, width, height; };
struct wire_fill { uint32_t kind, unit, value, pad; uint64_t addr, pitch, width /* in units */, height; };
struct wire_launch { uint32_t kind, kernel, grid[3], block[3], shared, cooperative, cluster[3], pad; /* params[] */ };
struct wire_tensor_map { uint32_t kind, pad; struct device_tensor_map map; };
struct wire_plain { uint32_t kind, pad; };
struct wire_done { uint32_t kind; int32_t last; /* cudaError that the program neither asked for nor cleared */ };
struct wire_occupancy { uint32_t kind, kernel, threads, shared; };
struct wire_note { uint32_t kind; int32_t error; /* char text[] */ };
struct wire_crash { uint32_t kind, pad; uint64_t addr; };
struct wire_phase { uint32_t kind, phase /* WIRE_PREPARE or WIRE_SOLVE */, has_prepare, pad; };
struct wire_argument {
	uint32_t real, pad;		/* real: f is the value, in the low 4 bytes if it is a float; else i */
	uint64_t size;			/* of the tensor behind i; 0: no pointer */
	int64_t i;
	uint64_t f;
};

/* ---- from the judge ---- */

struct control_open {
	uint32_t kind, threads;
	uint64_t memory, budget;
	uint32_t checks, ordinal;
	char device[16], library[256];	/* library: where libcuda lies */
	struct profile profile;
};
enum { CONTROL_IMAGE_MAX = 256 << 20, CONTROL_RESOURCES_MAX = 4096, CONTROL_TENSORS_MAX = 256 };
struct control_load { uint32_t kind, n_resources; uint64_t size; };
struct control_bare { uint32_t kind, pad; };
struct control_tensor { uint32_t kind, role; uint64_t size; char name[32]; };
struct control_id { uint32_t kind, id; };
struct control_patch { uint32_t kind, id; uint64_t offset, size; };	/* size: at most CONTROL_PATCH_MAX */
enum { CONTROL_PATCH_MAX = 16 << 20 };
struct control_replayed { struct device_replay replay; struct fault fault; };
struct control_argument { uint32_t kind /* as struct session_argument */, tensor; int64_t i; double f; };
struct control_run {
	uint32_t kind, program, has_prepare, profile, tape, again, n_solve, n_prepare;
	struct control_argument solve[WIRE_ARGUMENTS], prepare[WIRE_ARGUMENTS];
};

/* The end of a run, to the judge; then streams of launches, text, lines, traffic, in this order. */
enum { CONTROL_LAUNCHES_MAX = 1 << 16, CONTROL_LINES_MAX = 1 << 14, CONTROL_TEXT_MAX = 1 << 20, CONTROL_TRAFFIC_MAX = 256 };
struct control_report {
	uint32_t done, has_prepare, protocol_error, cuda_error, unhandled;
	uint32_t crash, pad;		/* enum session_crash */
	uint64_t crash_addr;
	char crash_tensor[32];
	uint32_t broken;		/* the device can do no more: a fresh process is needed */
	struct fault fault;
	char protocol_text[200], cuda_detail[WIRE_TEXT + 1];
	uint64_t host_copies, host_copy_bytes, allocations, allocated_bytes, syncs;
	double copies_us;		/* of copies and fills, prepare() aside; 0 on a GPU */
	uint32_t n_launches, n_lines, n_traffic, text_size;
};

/* One launch as it travels to the judge: struct session_launch without pointers. */
struct control_launch {
	uint32_t kernel, grid[3], block[3], shared_dynamic, prepare, limiter;
	double time_us, launch_us, dram_us, l2_us, l1_us, shared_us, issue_us, pipe_us, latency_us, tail, occupancy;
	uint32_t blocks_per_sm, warps_per_sm, shared_per_block, l1_bytes_per_block;
	char limit[32];
	struct counters counters;
};

/* ---- both ends, outside the guest ---- */

/* A connected pair, closed on exec, with room for a few packets on their way.  0, or -1 with errno. */
int wire_pair(int pair[2]);
/* Send one packet, in up to two parts, and a descriptor unless pass is -1.  0, or -1 with errno. */
int wire_send(int fd, const void *head, size_t head_size, const void *tail, size_t tail_size, int pass);
/* Receive one packet.  1; 0: the other end is gone; -1: errno (EMSGSIZE: larger than room).  *passed (may be NULL): a
 * descriptor that came along, or -1; any that is not wanted is closed. */
int wire_recv(int fd, void *packet, size_t room, size_t *size, int *passed);
/* A stream of `size` bytes in pieces of WIRE_PIECE. */
int wire_send_stream(int fd, const void *data, size_t size);
int wire_recv_stream(int fd, void *data, size_t size);

/* Is this packet of a known kind, of a size that fits it, in a phase that allows it?  NULL if so, else what is wrong. */
const char *wire_check(const void *packet, size_t size, unsigned phase, char *why, size_t room);
const char *control_check(const void *packet, size_t size, char *why, size_t room);
size_t wire_fixed_size(uint32_t kind);	/* of the struct of a guest's message */
const char *wire_name(uint32_t kind);
const char *cuda_error_name(uint32_t code);	/* "cudaErrorInvalidValue", "" for cudaSuccess */

#endif
