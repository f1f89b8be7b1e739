/* Graphs: lists of work, by stream capture or node by node.
 *
 * Nodes are kept in the order in which they were added, and executed in it.  A node can only depend on nodes that are
 * there when it is added, so that order is one that the dependencies allow.
 */
#include "guest.h"

#include <stdlib.h>

enum { GRAPH_MAGIC = 0x47524150, EXEC_MAGIC = 0x45584543, NODE_MAGIC = 0x4e4f4445 };

/* A node is an op with a name; `next` of the op leads to the next node's. */
struct CUgraphNode_st {
	uint32_t magic;
	struct op *op;
	struct CUgraph_st *graph;
	struct CUgraphNode_st *next;
	size_t index;
};

struct CUgraph_st {
	uint32_t magic;
	struct CUgraphNode_st *first, **last;
	size_t n;
	bool relaxed, spoiled;		/* as a capture: its mode; whether it can still end well */
};

struct CUgraphExec_st {
	uint32_t magic;
	struct op **ops;
	size_t n;
};

static struct CUgraph_st *new_graph(void)
{
	struct CUgraph_st *g = guest_alloc(sizeof *g);
	g->magic = GRAPH_MAGIC;
	g->last = &g->first;
	return g;
}

static struct CUgraphNode_st *append(struct CUgraph_st *g, const struct op *op)
{
	struct CUgraphNode_st *n = guest_alloc(sizeof *n);
	*n = (struct CUgraphNode_st){NODE_MAGIC, guest_op_copy(op), g, NULL, g->n++};
	*g->last = n;
	g->last = &n->next;
	return n;
}

void guest_graph_append(struct CUgraph_st *g, const struct op *op)
{
	append(g, op);
}

static bool is_graph(cudaGraph_t g)
{
	return g && g->magic == GRAPH_MAGIC;
}

/* ---- capture ---- */

cudaError_t guest_spoil(struct CUgraph_st *g)
{
	g->spoiled = true;
	return guest_local(cudaErrorStreamCaptureUnsupported);
}

cudaError_t guest_not_in_capture(void)
{
	for (struct CUstream_st *s = guest_streams(); s; s = s->next)
		if (s->capture && !s->capture->relaxed)
			return guest_spoil(s->capture);
	return cudaSuccess;
}

static struct CUstream_st *capturable(cudaStream_t stream, cudaError_t *e)
{
	bool ok;
	*e = guest_ready();
	struct CUstream_st *s = *e ? NULL : guest_stream(stream, &ok);
	if (!*e && !s)
		*e = guest_local(cudaErrorInvalidResourceHandle);
	return s;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	cudaError_t e;
	struct CUstream_st *s = capturable(stream, &e);
	if (!s)
		return e;
	if (s->id == 1)			/* the legacy stream */
		return guest_local(cudaErrorStreamCaptureUnsupported);
	if (s->capture)
		return guest_local(cudaErrorIllegalState);
	s->capture = new_graph();
	s->capture->relaxed = mode == cudaStreamCaptureModeRelaxed;
	s->origin = true;
	return cudaSuccess;
}
ALSO_PTSZ(cudaStreamBeginCapture);

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out)
{
	cudaError_t e;
	struct CUstream_st *s = capturable(stream, &e);
	if (!s)
		return e;
	if (!s->capture)
		return guest_local(cudaErrorIllegalState);
	if (!s->origin)
		return guest_local(cudaErrorStreamCaptureUnmatched);
	struct CUgraph_st *g = s->capture;
	s->capture = NULL;
	s->origin = false;
	for (struct CUstream_st *i = guest_streams(); i; i = i->next)	/* those that joined by an event */
		if (i->capture == g)
			i->capture = NULL;
	*out = NULL;
	if (g->spoiled) {
		cudaGraphDestroy(g);
		return guest_local(cudaErrorStreamCaptureInvalidated);
	}
	*out = g;
	return cudaSuccess;
}
ALSO_PTSZ(cudaStreamEndCapture);

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
	cudaError_t e;
	struct CUstream_st *s = capturable(stream, &e);
	if (s)
		*status = s->capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
	return e;
}
ALSO_PTSZ(cudaStreamIsCapturing);

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
				     cudaGraph_t *graph, const cudaGraphNode_t **dependencies, const cudaGraphEdgeData **edges,
				     size_t *n)
{
	cudaError_t e;
	struct CUstream_st *s = capturable(stream, &e);
	if (!s)
		return e;
	if (dependencies || edges || n)
		return guest_local(cudaErrorNotSupported);
	*status = s->capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
	if (id)
		*id = (unsigned long long)s->capture;
	if (graph)
		*graph = s->capture;
	return cudaSuccess;
}
ALSO_PTSZ(cudaStreamGetCaptureInfo);

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	static enum cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
	enum cudaStreamCaptureMode old = current;
	current = *mode;
	*mode = old;
	return guest_ready();
}

/* ---- node by node ---- */

cudaError_t cudaGraphCreate(cudaGraph_t *out, unsigned flags)
{
	cudaError_t e = guest_ready();
	if (e)
		return e;
	if (!out || flags)
		return guest_local(cudaErrorInvalidValue);
	*out = new_graph();
	return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t g)
{
	if (!is_graph(g))
		return guest_local(cudaErrorInvalidValue);
	for (struct CUgraphNode_st *n = g->first, *next; n; n = next) {
		next = n->next;
		guest_op_free(n->op);
		n->magic = 0;
		free(n);
	}
	g->magic = 0;
	free(g);
	return cudaSuccess;
}

/* Dependencies must be nodes of the same graph, which are older than the new one. */
static cudaError_t add(cudaGraphNode_t *out, cudaGraph_t g, const cudaGraphNode_t *dependencies, size_t n, const struct op *op)
{
	cudaError_t e = guest_ready();
	if (e)
		return e;
	if (!out || !is_graph(g) || (n && !dependencies))
		return guest_local(cudaErrorInvalidValue);
	for (size_t i = 0; i < n; i++)
		if (!dependencies[i] || dependencies[i]->magic != NODE_MAGIC || dependencies[i]->graph != g)
			return guest_local(cudaErrorInvalidValue);
	*out = append(g, op);
	return cudaSuccess;
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *out, cudaGraph_t g, const cudaGraphNode_t *dependencies, size_t n)
{
	return add(out, g, dependencies, n, &(struct op){.kind = OP_EMPTY});
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *out, cudaGraph_t g, const cudaGraphNode_t *dependencies, size_t n,
				 const struct cudaHostNodeParams *p)
{
	if (!p || !p->fn)
		return guest_local(cudaErrorInvalidValue);
	return add(out, g, dependencies, n, &(struct op){.kind = OP_HOST, .host = p->fn, .user = p->userData});
}

static cudaError_t kernel_op(const struct cudaKernelNodeParams *p, struct op *op)
{
	if (!p || p->extra)
		return guest_local(p ? cudaErrorNotSupported : cudaErrorInvalidValue);
	return guest_launch_op(p->func, p->gridDim, p->blockDim, p->kernelParams, p->sharedMemBytes, false, op);
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *out, cudaGraph_t g, const cudaGraphNode_t *dependencies, size_t n,
				   const struct cudaKernelNodeParams *p)
{
	struct op op;
	cudaError_t e = kernel_op(p, &op);
	if (e)
		return e;
	e = add(out, g, dependencies, n, &op);
	free(op.params);
	return e;
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *out, cudaGraph_t g, const cudaGraphNode_t *dependencies, size_t n,
				     void *dst, const void *src, size_t size, enum cudaMemcpyKind kind)
{
	struct op op = {.kind = OP_COPY, .dst = (uint64_t)dst, .dst_pitch = size, .src = (uint64_t)src, .src_pitch = size,
			.width = size, .height = 1, .direction = kind};
	return add(out, g, dependencies, n, &op);
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *out, cudaGraph_t g, const cudaGraphNode_t *dependencies, size_t n,
				   const struct cudaMemcpy3DParms *p)
{
	if (!p || p->srcArray || p->dstArray)
		return guest_local(cudaErrorInvalidValue);
	if (p->extent.depth > 1)
		return guest_local(cudaErrorNotSupported);
	const char *src = (const char *)p->srcPtr.ptr + p->srcPos.y * p->srcPtr.pitch + p->srcPos.x;
	char *dst = (char *)p->dstPtr.ptr + p->dstPos.y * p->dstPtr.pitch + p->dstPos.x;
	struct op op = {.kind = OP_COPY, .dst = (uint64_t)dst, .dst_pitch = p->dstPtr.pitch, .src = (uint64_t)src,
			.src_pitch = p->srcPtr.pitch, .width = p->extent.width, .height = p->extent.height,
			.direction = p->kind};
	return add(out, g, dependencies, n, &op);
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *out, cudaGraph_t g, const cudaGraphNode_t *dependencies, size_t n,
				   const struct cudaMemsetParams *p)
{
	if (!p || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4))
		return guest_local(cudaErrorInvalidValue);
	struct op op = {.kind = OP_FILL, .dst = (uint64_t)p->dst, .dst_pitch = p->pitch, .unit = p->elementSize,
			.value = p->value, .width = p->width, .height = p->height};
	return add(out, g, dependencies, n, &op);
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *out, cudaGraph_t g, const cudaGraphNode_t *dependencies, size_t n,
				       cudaGraph_t child)
{
	if (!is_graph(child) || child == g)
		return guest_local(cudaErrorInvalidValue);
	cudaError_t e = add(out, g, dependencies, n, &(struct op){.kind = OP_EMPTY});
	for (struct CUgraphNode_st *i = child->first; i && !e; i = i->next)
		*out = append(g, i->op);
	return e;
}

cudaError_t cudaGraphClone(cudaGraph_t *out, cudaGraph_t g)
{
	if (!out || !is_graph(g))
		return guest_local(cudaErrorInvalidValue);
	*out = new_graph();
	for (struct CUgraphNode_st *i = g->first; i; i = i->next)
		append(*out, i->op);
	return cudaSuccess;
}

/* More dependencies may be told later; those that the order keeps already need nothing. */
cudaError_t cudaGraphAddDependencies(cudaGraph_t g, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
				     const cudaGraphEdgeData *data, size_t n)
{
	(void)data;
	for (size_t i = 0; i < n; i++) {
		if (!is_graph(g) || !from[i] || !to[i] || from[i]->graph != g || to[i]->graph != g || from[i] == to[i])
			return guest_local(cudaErrorInvalidValue);
		if (from[i]->index > to[i]->index)
			return guest_local(cudaErrorNotSupported);
	}
	return guest_ready();
}

cudaError_t cudaGraphGetNodes(cudaGraph_t g, cudaGraphNode_t *nodes, size_t *n)
{
	size_t i = 0;
	if (!is_graph(g) || !n)
		return guest_local(cudaErrorInvalidValue);
	if (!nodes) {
		*n = g->n;
		return cudaSuccess;
	}
	for (struct CUgraphNode_st *at = g->first; at && i < *n; at = at->next)
		nodes[i++] = at;
	for (; i < *n; i++)
		nodes[i] = NULL;
	*n = g->n < *n ? g->n : *n;
	return cudaSuccess;
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t n, enum cudaGraphNodeType *type)
{
	static const enum cudaGraphNodeType types[] = {
		[OP_LAUNCH] = cudaGraphNodeTypeKernel, [OP_COPY] = cudaGraphNodeTypeMemcpy,
		[OP_FILL] = cudaGraphNodeTypeMemset, [OP_HOST] = cudaGraphNodeTypeHost,
		[OP_RECORD] = cudaGraphNodeTypeEventRecord, [OP_EMPTY] = cudaGraphNodeTypeEmpty,
	};
	if (!n || n->magic != NODE_MAGIC || !type)
		return guest_local(cudaErrorInvalidValue);
	*type = types[n->op->kind];
	return cudaSuccess;
}

/* ---- execution ---- */

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t g, unsigned long long flags)
{
	(void)flags;
	if (!out || !is_graph(g))
		return guest_local(cudaErrorInvalidValue);
	struct CUgraphExec_st *x = guest_alloc(sizeof *x);
	x->magic = EXEC_MAGIC;
	x->ops = guest_alloc((g->n + 1) * sizeof(struct op *));
	for (struct CUgraphNode_st *n = g->first; n; n = n->next)
		x->ops[x->n++] = guest_op_copy(n->op);
	*out = x;
	return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t g, unsigned long long flags)
{
	return cudaGraphInstantiate(out, g, flags);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t x, cudaStream_t stream)
{
	(void)stream;
	return x && x->magic == EXEC_MAGIC ? guest_ready() : guest_local(cudaErrorInvalidValue);
}
ALSO_PTSZ(cudaGraphUpload);

cudaError_t cudaGraphLaunch(cudaGraphExec_t x, cudaStream_t stream)
{
	cudaError_t e = guest_ready();
	if (e)
		return e;
	if (!x || x->magic != EXEC_MAGIC)
		return guest_local(cudaErrorInvalidValue);
	for (size_t i = 0; i < x->n && !e; i++)
		e = guest_submit(stream, x->ops[i]);
	return e;
}
ALSO_PTSZ(cudaGraphLaunch);

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t x)
{
	if (!x || x->magic != EXEC_MAGIC)
		return guest_local(cudaErrorInvalidValue);
	for (size_t i = 0; i < x->n; i++)
		guest_op_free(x->ops[i]);
	free(x->ops);
	x->magic = 0;
	free(x);
	return cudaSuccess;
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t x, cudaGraphNode_t n, const struct cudaKernelNodeParams *p)
{
	struct op op;
	if (!x || x->magic != EXEC_MAGIC || !n || n->magic != NODE_MAGIC || n->index >= x->n || n->op->kind != OP_LAUNCH)
		return guest_local(cudaErrorInvalidValue);
	cudaError_t e = kernel_op(p, &op);
	if (e)
		return e;
	guest_op_free(x->ops[n->index]);
	x->ops[n->index] = guest_op_copy(&op);
	free(op.params);
	return cudaSuccess;
}

/* The same shape with other parameters takes the place of the old work; another shape is refused. */
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t x, cudaGraph_t g, cudaGraphExecUpdateResultInfo *info)
{
	if (!x || x->magic != EXEC_MAGIC || !is_graph(g) || !info)
		return guest_local(cudaErrorInvalidValue);
	*info = (cudaGraphExecUpdateResultInfo){.result = cudaGraphExecUpdateSuccess};
	size_t i = 0;
	bool same = x->n == g->n;
	for (struct CUgraphNode_st *n = g->first; n && same; n = n->next, i++)
		same = n->op->kind == x->ops[i]->kind;
	if (!same) {
		info->result = cudaGraphExecUpdateErrorTopologyChanged;
		return guest_local(cudaErrorGraphExecUpdateFailure);
	}
	i = 0;
	for (struct CUgraphNode_st *n = g->first; n; n = n->next, i++) {
		guest_op_free(x->ops[i]);
		x->ops[i] = guest_op_copy(n->op);
	}
	return cudaSuccess;
}
