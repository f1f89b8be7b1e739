/* cudaMemcpy, cudaMemset and their many forms, all of them an op; see guest.h. */
#include "guest.h"

static cudaError_t copy_rows(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height,
			     enum cudaMemcpyKind kind, cudaStream_t stream, bool wait)
{
	cudaError_t e = guest_ready();
	if (e)
		return e;
	if ((unsigned)kind > cudaMemcpyDefault)
		return guest_explain(cudaErrorInvalidMemcpyDirection, "a copy of direction %d", (int)kind);
	if (!width || !height)
		return cudaSuccess;
	if (!dst || !src)
		return guest_explain(cudaErrorInvalidValue, "a copy of %zu bytes: the %s is a null pointer", width * height,
				     dst ? "source" : "destination");
	if (height > 1 && (dst_pitch < width || src_pitch < width))
		return guest_explain(cudaErrorInvalidPitchValue, "a copy of rows of %zu bytes that are %zu bytes apart", width,
				     dst_pitch < width ? dst_pitch : src_pitch);
	struct op op = {.kind = OP_COPY, .dst = (uint64_t)dst, .dst_pitch = dst_pitch, .src = (uint64_t)src,
			.src_pitch = src_pitch, .width = width, .height = height, .direction = kind};
	e = wait ? guest_not_in_capture() : cudaSuccess;
	if (!e)
		e = guest_submit(stream, &op);
	return !e && wait && guest.busy ? guest_sync() : e;
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t size, enum cudaMemcpyKind kind)
{
	return copy_rows(dst, size, src, size, size, 1, kind, NULL, true);
}
ALSO_PTDS(cudaMemcpy);

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy_rows(dst, size, src, size, size, 1, kind, stream, false);
}
ALSO_PTSZ(cudaMemcpyAsync);

cudaError_t cudaMemcpyPeer(void *dst, int to, const void *src, int from, size_t size)
{
	if (to || from)
		return guest_local(cudaErrorInvalidDevice);
	return copy_rows(dst, size, src, size, size, 1, cudaMemcpyDefault, NULL, true);
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int to, const void *src, int from, size_t size, cudaStream_t stream)
{
	if (to || from)
		return guest_local(cudaErrorInvalidDevice);
	return copy_rows(dst, size, src, size, size, 1, cudaMemcpyDefault, stream, false);
}

cudaError_t cudaMemcpy2D(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height,
			 enum cudaMemcpyKind kind)
{
	return copy_rows(dst, dst_pitch, src, src_pitch, width, height, kind, NULL, true);
}
ALSO_PTDS(cudaMemcpy2D);

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height,
			      enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy_rows(dst, dst_pitch, src, src_pitch, width, height, kind, stream, false);
}
ALSO_PTSZ(cudaMemcpy2DAsync);

/* A box is a number of planes. */
static cudaError_t copy_box(const struct cudaMemcpy3DParms *p, cudaStream_t stream, bool wait)
{
	if (!p || p->srcArray || p->dstArray || (!p->srcPtr.ptr && p->extent.width) || !p->dstPtr.ptr)
		return guest_local(cudaErrorInvalidValue);
	for (size_t z = 0; z < p->extent.depth; z++) {
		const struct cudaPitchedPtr *s = &p->srcPtr, *d = &p->dstPtr;
		const char *src = (const char *)s->ptr + ((p->srcPos.z + z) * s->ysize + p->srcPos.y) * s->pitch + p->srcPos.x;
		char *dst = (char *)d->ptr + ((p->dstPos.z + z) * d->ysize + p->dstPos.y) * d->pitch + p->dstPos.x;
		cudaError_t e = copy_rows(dst, d->pitch, src, s->pitch, p->extent.width, p->extent.height, p->kind, stream, wait);
		if (e)
			return e;
	}
	return cudaSuccess;
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
	return copy_box(p, NULL, true);
}
ALSO_PTDS(cudaMemcpy3D);

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
	return copy_box(p, stream, false);
}
ALSO_PTSZ(cudaMemcpy3DAsync);

/* ---- symbols ---- */

static cudaError_t inside_symbol(const void *symbol, size_t offset, size_t size, char **p)
{
	uint64_t addr, whole, end;
	cudaError_t e = guest_ready();
	if (!e)
		e = guest_symbol(symbol, &addr, &whole);
	if (e)
		return e;
	if (__builtin_add_overflow(offset, size, &end) || end > whole)
		return guest_explain(cudaErrorInvalidValue, "a copy of %zu bytes at byte %zu of a symbol of %llu bytes", size, offset,
				     (unsigned long long)whole);
	*p = (char *)addr + offset;
	return cudaSuccess;
}

static cudaError_t to_symbol(const void *symbol, const void *src, size_t size, size_t offset, enum cudaMemcpyKind kind,
			     cudaStream_t stream, bool wait)
{
	char *dst = NULL;
	cudaError_t e = inside_symbol(symbol, offset, size, &dst);
	return e ? e : copy_rows(dst, size, src, size, size, 1, kind, stream, wait);
}

static cudaError_t from_symbol(void *dst, const void *symbol, size_t size, size_t offset, enum cudaMemcpyKind kind,
			       cudaStream_t stream, bool wait)
{
	char *src = NULL;
	cudaError_t e = inside_symbol(symbol, offset, size, &src);
	return e ? e : copy_rows(dst, size, src, size, size, 1, kind, stream, wait);
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t size, size_t offset, enum cudaMemcpyKind kind)
{
	return to_symbol(symbol, src, size, offset, kind, NULL, true);
}
ALSO_PTDS(cudaMemcpyToSymbol);

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t size, size_t offset,
				    enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return to_symbol(symbol, src, size, offset, kind, stream, false);
}
ALSO_PTSZ(cudaMemcpyToSymbolAsync);

cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t size, size_t offset, enum cudaMemcpyKind kind)
{
	return from_symbol(dst, symbol, size, offset, kind, NULL, true);
}
ALSO_PTDS(cudaMemcpyFromSymbol);

cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t size, size_t offset, enum cudaMemcpyKind kind,
				      cudaStream_t stream)
{
	return from_symbol(dst, symbol, size, offset, kind, stream, false);
}
ALSO_PTSZ(cudaMemcpyFromSymbolAsync);

/* ---- memset ---- */

static cudaError_t fill_rows(void *dst, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
	cudaError_t e = guest_ready();
	if (e)
		return e;
	if (!width || !height)
		return cudaSuccess;
	if (!guest_on_device((uint64_t)dst) && !guest_mirror((uint64_t)dst))
		return guest_explain(cudaErrorInvalidValue, "cudaMemset of %zu bytes: %p is no device memory", width * height, dst);
	if (height > 1 && pitch < width)
		return guest_explain(cudaErrorInvalidPitchValue, "cudaMemset of rows of %zu bytes that are %zu bytes apart", width, pitch);
	struct op op = {.kind = OP_FILL, .dst = (uint64_t)dst, .dst_pitch = pitch, .unit = 1, .value = (unsigned char)value,
			.width = width, .height = height};
	return guest_submit(stream, &op);
}

cudaError_t cudaMemset(void *dst, int value, size_t size)
{
	return fill_rows(dst, size, value, size, 1, NULL);
}
ALSO_PTDS(cudaMemset);

cudaError_t cudaMemsetAsync(void *dst, int value, size_t size, cudaStream_t stream)
{
	return fill_rows(dst, size, value, size, 1, stream);
}
ALSO_PTSZ(cudaMemsetAsync);

cudaError_t cudaMemset2D(void *dst, size_t pitch, int value, size_t width, size_t height)
{
	return fill_rows(dst, pitch, value, width, height, NULL);
}
ALSO_PTDS(cudaMemset2D);

cudaError_t cudaMemset2DAsync(void *dst, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
	return fill_rows(dst, pitch, value, width, height, stream);
}
ALSO_PTSZ(cudaMemset2DAsync);

static cudaError_t fill_box(struct cudaPitchedPtr p, int value, struct cudaExtent extent, cudaStream_t stream)
{
	cudaError_t e = cudaSuccess;
	for (size_t z = 0; z < extent.depth && !e; z++)
		e = fill_rows((char *)p.ptr + z * p.ysize * p.pitch, p.pitch, value, extent.width, extent.height, stream);
	return e;
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr p, int value, struct cudaExtent extent)
{
	return fill_box(p, value, extent, NULL);
}
ALSO_PTDS(cudaMemset3D);

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr p, int value, struct cudaExtent extent, cudaStream_t stream)
{
	return fill_box(p, value, extent, stream);
}
ALSO_PTSZ(cudaMemset3DAsync);
