/* Streams and events: names for an order that is one and the same; see guest.h. */
#include "guest.h"

#include <stdlib.h>

enum { STREAM_MAGIC = 0x5354524d, EVENT_MAGIC = 0x45564e54, PRIORITY_LOW = 0, PRIORITY_HIGH = -5 };

static struct CUstream_st legacy = {.magic = STREAM_MAGIC, .id = 1}, per_thread = {.magic = STREAM_MAGIC, .id = 2};
static struct CUstream_st *streams;
static unsigned long long last_id = 2;

struct CUstream_st *guest_streams(void)
{
	return streams;
}

struct CUstream_st *guest_stream(cudaStream_t s, bool *ok)
{
	*ok = true;
	if (!s || s == cudaStreamLegacy)
		return &legacy;
	if (s == cudaStreamPerThread)
		return &per_thread;
	for (struct CUstream_st *i = streams; i; i = i->next)
		if (i == s)
			return i;
	*ok = false;
	return NULL;
}

/* The stream's object after the usual checks; NULL and *e otherwise. */
static struct CUstream_st *find(cudaStream_t s, cudaError_t *e)
{
	bool ok;
	*e = guest_ready();
	struct CUstream_st *found = *e ? NULL : guest_stream(s, &ok);
	if (!*e && !found)
		*e = guest_local(cudaErrorInvalidResourceHandle);
	return found;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority)
{
	cudaError_t e = guest_ready();
	if (e)
		return e;
	if (!out || flags & ~(unsigned)cudaStreamNonBlocking)
		return guest_local(cudaErrorInvalidValue);
	struct CUstream_st *s = guest_alloc(sizeof *s);
	s->magic = STREAM_MAGIC;
	s->flags = flags;
	s->priority = priority > PRIORITY_LOW ? PRIORITY_LOW : priority < PRIORITY_HIGH ? PRIORITY_HIGH : priority;
	s->id = ++last_id;
	s->next = streams;
	streams = s;
	*out = s;
	return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
	return cudaStreamCreateWithPriority(out, flags, PRIORITY_LOW);
}

cudaError_t cudaStreamCreate(cudaStream_t *out)
{
	return cudaStreamCreateWithPriority(out, cudaStreamDefault, PRIORITY_LOW);
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
	cudaError_t e;
	struct CUstream_st *found = find(s, &e);
	if (!found || found == &legacy || found == &per_thread)
		return found ? guest_local(cudaErrorInvalidResourceHandle) : e;
	struct CUstream_st **at = &streams;
	while (*at != found)
		at = &(*at)->next;
	*at = found->next;
	free(found);
	return cudaSuccess;
}

/* Waiting and asking do not go with a capture. */
static cudaError_t wait(cudaStream_t s)
{
	cudaError_t e;
	struct CUstream_st *found = find(s, &e);
	if (found && found->capture)
		e = guest_spoil(found->capture);
	return e ? e : guest_sync();
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
	return wait(s);
}
ALSO_PTSZ(cudaStreamSynchronize);

cudaError_t cudaStreamQuery(cudaStream_t s)
{
	return wait(s);
}
ALSO_PTSZ(cudaStreamQuery);

cudaError_t cudaStreamGetFlags(cudaStream_t s, unsigned *flags)
{
	cudaError_t e;
	struct CUstream_st *found = find(s, &e);
	if (found)
		*flags = found->flags;
	return e;
}
ALSO_PTSZ(cudaStreamGetFlags);

cudaError_t cudaStreamGetPriority(cudaStream_t s, int *priority)
{
	cudaError_t e;
	struct CUstream_st *found = find(s, &e);
	if (found)
		*priority = found->priority;
	return e;
}
ALSO_PTSZ(cudaStreamGetPriority);

cudaError_t cudaStreamGetId(cudaStream_t s, unsigned long long *id)
{
	cudaError_t e;
	struct CUstream_st *found = find(s, &e);
	if (found)
		*id = found->id;
	return e;
}
ALSO_PTSZ(cudaStreamGetId);

cudaError_t cudaStreamGetDevice(cudaStream_t s, int *device)
{
	cudaError_t e;
	if (find(s, &e))
		*device = 0;
	return e;
}
ALSO_PTSZ(cudaStreamGetDevice);

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	if (least)
		*least = PRIORITY_LOW;
	if (greatest)
		*greatest = PRIORITY_HIGH;
	return guest_ready();
}

/* Attributes are hints (cache windows, priorities) that order does not depend on. */
cudaError_t cudaStreamSetAttribute(cudaStream_t s, cudaStreamAttrID attribute, const cudaStreamAttrValue *value)
{
	cudaError_t e;
	(void)attribute, (void)value;
	find(s, &e);
	return e;
}
ALSO_PTSZ(cudaStreamSetAttribute);

cudaError_t cudaStreamGetAttribute(cudaStream_t s, cudaStreamAttrID attribute, cudaStreamAttrValue *value)
{
	cudaError_t e;
	const struct CUstream_st *found = find(s, &e);
	if (!found)
		return e;
	if (attribute != cudaStreamAttributePriority)
		return guest_local(cudaErrorNotSupported);
	value->priority = found->priority;
	return cudaSuccess;
}
ALSO_PTSZ(cudaStreamGetAttribute);

cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from)
{
	cudaError_t e;
	if (find(to, &e))
		find(from, &e);
	return e;
}
ALSO_PTSZ(cudaStreamCopyAttributes);

cudaError_t cudaCtxResetPersistingL2Cache(void)
{
	return guest_ready();
}

/* ---- host functions ---- */

cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t function, void *user)
{
	struct op op = {.kind = OP_HOST, .host = function, .user = user};
	if (!function)
		return guest_local(cudaErrorInvalidValue);
	return guest_submit(s, &op);
}
ALSO_PTSZ(cudaLaunchHostFunc);

cudaError_t cudaStreamAddCallback(cudaStream_t s, cudaStreamCallback_t callback, void *user, unsigned flags)
{
	if (!callback || flags)
		return guest_local(cudaErrorInvalidValue);
	cudaError_t e = wait(s);
	if (!e)
		callback(s, cudaSuccess, user);
	return e;
}
ALSO_PTSZ(cudaStreamAddCallback);

/* ---- events ---- */

static bool is_event(cudaEvent_t v)
{
	return v && v->magic == EVENT_MAGIC;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
	cudaError_t e = guest_ready();
	if (e)
		return e;
	if (!out || flags & ~(unsigned)(cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess))
		return guest_local(cudaErrorInvalidValue);
	*out = guest_alloc(sizeof **out);
	(*out)->magic = EVENT_MAGIC;
	(*out)->flags = flags;
	return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *out)
{
	return cudaEventCreateWithFlags(out, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t v)
{
	cudaError_t e = guest_ready();
	if (e)
		return e;
	if (!is_event(v))
		return guest_local(cudaErrorInvalidResourceHandle);
	v->magic = 0;
	free(v);
	return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t v, cudaStream_t s)
{
	struct op op = {.kind = OP_RECORD, .event = v};
	if (!is_event(v))
		return guest_local(cudaErrorInvalidResourceHandle);
	return guest_submit(s, &op);
}
ALSO_PTSZ(cudaEventRecord);

cudaError_t cudaEventRecordWithFlags(cudaEvent_t v, cudaStream_t s, unsigned flags)
{
	(void)flags;
	return cudaEventRecord(v, s);
}
ALSO_PTSZ(cudaEventRecordWithFlags);

cudaError_t cudaEventSynchronize(cudaEvent_t v)
{
	cudaError_t e = guest_ready();
	if (e)
		return e;
	if (!is_event(v))
		return guest_local(cudaErrorInvalidResourceHandle);
	if (v->capture)
		return guest_local(cudaErrorCapturedEvent);
	return v->recorded ? guest_sync() : cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t v)
{
	return cudaEventSynchronize(v);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	cudaError_t e = guest_ready();
	if (e)
		return e;
	if (!is_event(start) || !is_event(end) || !start->recorded || !end->recorded ||
	    ((start->flags | end->flags) & cudaEventDisableTiming))
		return guest_local(cudaErrorInvalidResourceHandle);
	if (!ms)
		return guest_local(cudaErrorInvalidValue);
	*ms = (float)((double)(int64_t)(end->ns - start->ns) / 1e6);
	return cudaSuccess;
}

/* A stream that waits for an event of a capture joins that capture. */
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t v, unsigned flags)
{
	cudaError_t e;
	struct CUstream_st *found = find(s, &e);
	if (!found)
		return e;
	if (!is_event(v) || flags & ~(unsigned)cudaEventWaitExternal)
		return guest_local(is_event(v) ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
	if (v->capture && found->capture && found->capture != v->capture)
		return guest_local(cudaErrorStreamCaptureMerge);
	if (v->capture)
		found->capture = v->capture;
	return cudaSuccess;
}
ALSO_PTSZ(cudaStreamWaitEvent);
