/* The CUDA driver and NVML, opened at run time: see driver.h. */
#include "driver.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME2(name) #name
#define NAME(name) NAME2(name)		/* as the header maps it: cuMemAlloc is cuMemAlloc_v2 */

bool device_gpu_find(char *path, size_t size)
{
	struct link_map *map;
	char *real = NULL;
	void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
	if (!library)
		return false;
	if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
		real = realpath(map->l_name, NULL);
	bool fits = real && strlen(real) < size;
	if (fits)
		strcpy(path, real);
	free(real);
	dlclose(library);
	return fits;
}

int driver_open(struct driver *d, const char *path, struct err *e)
{
	const char *missing = NULL;
	memset(d, 0, sizeof *d);
	d->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!d->library)
		return err_input(e, "cannot open the CUDA driver: %s", dlerror());
#define X(name)                                                                      \
	d->name = (__typeof__(d->name))dlsym(d->library, NAME(name));                \
	if (!d->name && !missing)                                                    \
		missing = NAME(name);
	DRIVER_ENTRIES(X)
#undef X
	d->elapsed = (CUresult (*)(float *, CUevent, CUevent))dlsym(d->library, "cuEventElapsedTime");
	if (!d->elapsed && !missing)
		missing = "cuEventElapsedTime";
	if (missing)
		return err_input(e, "the CUDA driver is too old: it lacks %s (driver 550 or newer is needed)", missing);
	return 0;
}

const char *driver_error(const struct driver *d, CUresult r)
{
	const char *name = NULL;
	return d->cuGetErrorName(r, &name) == CUDA_SUCCESS && name ? name : "an error without a name";
}

void driver_uuid(const struct driver *d, CUdevice id, char *out, size_t size)
{
	CUuuid u;
	size_t n = (size_t)snprintf(out, size, "GPU-");
	if (d->cuDeviceGetUuid(&u, id) != CUDA_SUCCESS)
		return;
	for (unsigned i = 0; i < sizeof u.bytes && n < size; i++) {
		bool dash = i == 4 || i == 6 || i == 8 || i == 10;
		n += (size_t)snprintf(out + n, size - n, "%s%02x", dash ? "-" : "", (unsigned char)u.bytes[i]);
	}
}

/* ---- NVML ---- */

struct nvml {
	void *handle;			/* of the device */
	int (*clock)(void *device, int which, unsigned *mhz);
	int (*temperature)(void *device, int which, unsigned *celsius);
	int (*power)(void *device, unsigned *milliwatts);
	int (*reasons)(void *device, unsigned long long *mask);
	char driver[80];		/* its version; empty: not told */
};

enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };
/* Reasons that say the GPU runs slower than it could: power cap, hardware and software slow-downs, thermal limits, power brake.
 * The others (idle, application clocks, display) are no disturbance. */
enum { THROTTLE = 0x4 | 0x8 | 0x20 | 0x40 | 0x80 };

struct nvml *nvml_open(const char *uuid)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return NULL;
	int (*init)(void) = (int (*)(void))dlsym(library, "nvmlInit_v2");
	int (*find)(const char *, void **) = (int (*)(const char *, void **))dlsym(library, "nvmlDeviceGetHandleByUUID");
	int (*version)(char *, unsigned) = (int (*)(char *, unsigned))dlsym(library, "nvmlSystemGetDriverVersion");
	struct nvml *n = calloc(1, sizeof *n);
	if (!n)
		BUG("out of memory");
	n->clock = (int (*)(void *, int, unsigned *))dlsym(library, "nvmlDeviceGetClockInfo");
	n->temperature = (int (*)(void *, int, unsigned *))dlsym(library, "nvmlDeviceGetTemperature");
	n->power = (int (*)(void *, unsigned *))dlsym(library, "nvmlDeviceGetPowerUsage");
	n->reasons = (int (*)(void *, unsigned long long *))dlsym(library, "nvmlDeviceGetCurrentClocksThrottleReasons");
	if (init && find && n->clock && init() == 0 && find(uuid, &n->handle) == 0) {
		if (!version || version(n->driver, sizeof n->driver) != 0)
			*n->driver = 0;
		return n;
	}
	free(n);
	return NULL;
}

void driver_version(const struct driver *d, const struct nvml *n, char *out, size_t size)
{
	int version = 0;
	if (n && *n->driver) {
		snprintf(out, size, "%s", n->driver);
		return;
	}
	d->cuDriverGetVersion(&version);
	snprintf(out, size, "of CUDA %d.%d", version / 1000, version % 1000 / 10);
}

void nvml_clocks(struct nvml *n, struct device_clocks *out)
{
	unsigned long long reasons = 0;
	memset(out, 0, sizeof *out);
	if (!n)
		return;
	n->clock(n->handle, NVML_CLOCK_SM, &out->sm_mhz);
	n->clock(n->handle, NVML_CLOCK_MEM, &out->memory_mhz);
	if (n->temperature)
		n->temperature(n->handle, 0, &out->temperature);
	if (n->power)
		n->power(n->handle, &out->milliwatts);
	if (n->reasons && n->reasons(n->handle, &reasons) == 0)
		out->throttle = reasons & THROTTLE;
}
