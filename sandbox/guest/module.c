/* What nvcc's host stubs register at start: kernels and device variables, looked up in the device image at first use. */
#include "guest.h"

#include <stdlib.h>
#include <string.h>

struct variable {
	const void *host;
	const char *name;
	size_t size;
	void **managed;			/* where the host keeps its pointer; NULL: not managed */
	bool found;
	uint64_t addr;
	struct variable *next;
};

static struct kernel *kernels;
static struct variable *variables;
static bool managed_ready;

/* The compiler's interface, as crt/host_runtime.h declares it. */
void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int threads, uint3 *tid,
			    uint3 *bid, dim3 *block, dim3 *grid, int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext, size_t size, int constant,
		       int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext, size_t size,
			      int constant, int global);
char __cudaInitModule(void **handle);
cudaError_t __cudaGetKernel(cudaKernel_t *out, const void *func);

void **__cudaRegisterFatBinary(void *binary)
{
	static void *handle;
	handle = binary;		/* its code is in the device process already */
	return &handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
	(void)handle;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int threads, uint3 *tid,
			    uint3 *bid, dim3 *block, dim3 *grid, int *warp)
{
	(void)handle, (void)device, (void)threads, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
	struct kernel *k = guest_alloc(sizeof *k);
	k->host = host;
	k->name = name;
	k->max_dynamic = -1;
	k->carveout = -1;
	k->next = kernels;
	kernels = k;
}

static struct variable *add_variable(const void *host, const char *name, size_t size)
{
	struct variable *v = guest_alloc(sizeof *v);
	v->host = host;
	v->name = name;
	v->size = size;
	v->next = variables;
	variables = v;
	return v;
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext, size_t size, int constant,
		       int global)
{
	(void)handle, (void)device, (void)ext, (void)constant, (void)global;
	add_variable(host, name, size);
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext, size_t size,
			      int constant, int global)
{
	(void)handle, (void)device, (void)ext, (void)constant, (void)global;
	add_variable(host, name, size)->managed = host;
	managed_ready = false;
}

static cudaError_t find_variable(struct variable *v)
{
	struct wire_find m = {WIRE_SYMBOL, 0};
	struct wire_reply r;
	if (v->found)
		return cudaSuccess;
	cudaError_t e = guest_ready();
	if (!e)
		e = guest_ask(&m, sizeof m, v->name, strlen(v->name), &r, NULL, 0, NULL);
	if (e)
		return e;
	v->addr = r.a;
	v->size = r.b;
	v->found = true;
	guest_know(v->addr, v->size);
	return cudaSuccess;
}

/* Managed variables get their host pages before anyone touches them: at the first host access, or before the first
 * kernel runs. */
static void init_managed(void)
{
	if (managed_ready)
		return;
	managed_ready = true;
	for (struct variable *v = variables; v; v = v->next)
		if (v->managed && find_variable(v) == cudaSuccess &&
		    guest_mirror_variable(v->addr, v->size, v->managed) != cudaSuccess)
			guest_panic("cannot map a managed variable");
}

char __cudaInitModule(void **handle)
{
	(void)handle;
	init_managed();
	return 1;
}

cudaError_t guest_symbol(const void *symbol, uint64_t *addr, uint64_t *size)
{
	for (struct variable *v = variables; v; v = v->next) {
		if (v->host != symbol && (const void *)v->managed != symbol)
			continue;
		cudaError_t e = find_variable(v);
		if (v->managed)
			init_managed();
		*addr = v->addr;
		*size = v->size;
		return e;
	}
	return guest_local(cudaErrorInvalidSymbol);
}

void guest_forget_variables(void)
{
	for (struct variable *v = variables; v; v = v->next)
		v->found = false;
	managed_ready = false;
}

static struct kernel *registered(const void *func)
{
	for (struct kernel *k = kernels; k; k = k->next)
		if (k->host == func || k == func)
			return k;
	return NULL;
}

struct kernel *guest_kernel(const void *func, cudaError_t *e)
{
	struct wire_find m = {WIRE_KERNEL, 0};
	struct wire_reply r;
	struct kernel *k = registered(func);
	*e = guest_ready();
	if (*e)
		return NULL;
	if (!k || strlen(k->name) > WIRE_NAME) {
		*e = guest_local(cudaErrorInvalidDeviceFunction);
		return NULL;
	}
	init_managed();
	if (!k->found) {
		*e = guest_ask(&m, sizeof m, k->name, strlen(k->name), &r, &k->info, sizeof k->info, NULL);
		if (*e)
			return NULL;
		k->index = (uint32_t)r.a;
		k->found = true;
	}
	return k;
}

cudaError_t __cudaGetKernel(cudaKernel_t *out, const void *func)
{
	*out = (cudaKernel_t)registered(func);
	return *out ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t cudaGetKernel(cudaKernel_t *out, const void *func)
{
	cudaError_t e = guest_ready();
	return e ? e : guest_local(__cudaGetKernel(out, func));
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *out, const void *func)
{
	cudaError_t e;
	*out = (cudaFunction_t)guest_kernel(func, &e);
	return e;
}

cudaError_t cudaGetSymbolAddress(void **out, const void *symbol)
{
	uint64_t addr = 0, size;
	cudaError_t e = guest_symbol(symbol, &addr, &size);
	*out = (void *)addr;
	return e;
}

cudaError_t cudaGetSymbolSize(size_t *out, const void *symbol)
{
	uint64_t addr, size = 0;
	cudaError_t e = guest_symbol(symbol, &addr, &size);
	*out = size;
	return e;
}
