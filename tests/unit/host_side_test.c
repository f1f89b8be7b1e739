/* Programs that differ in device code alone share a guest; others do not. */
#include "judge/author/host_side.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char head[] = "#include <cstdint>\n// a comment\n__global__ void k(const float *x, float *y, int n)\n{\n\tif (threadIdx.x < n) { y[0] = x[0]; }\n}\n";
static const char host[] = "extern \"C\" void solve(const float *x, float *y, int n)\n{\n\tk<<<n / 4, 128>>>(x, y, n);\n}\n";

static const char *text_of(struct arena *a, const char *one, const char *two)
{
	char *all = arena_printf(a, "%s%s", one, two);
	return host_side_text(all, strlen(all), a);
}

static bool alike(const char *one, const char *two)
{
	struct arena *a = arena_new();
	const char *first = text_of(a, head, host), *second = text_of(a, one, two);
	bool same = first && second && !strcmp(first, second);
	arena_free(a);
	return same;
}

TEST(bodies_of_kernels_do_not_count)
{
	CHECK(alike(head, host));
	CHECK(alike("#include <cstdint>\n__global__ void k(const float *x, float *y, int n)\n{\n}\n", host));
	CHECK(alike("#include <cstdint>\n\n\n__global__   void k(const float *x,float *y,int n) { while (n) { n--; } }", host));
}

TEST(nor_does_how_their_loops_are_unrolled)
{
	static const char unrolled[] = "#include <cstdint>\n__global__ void k(const float *x, float *y, int n)\n{\n#pragma unroll 4\n\twhile (n) n--;\n# pragma unroll\n\twhile (n) n++;\n}\n";
	struct arena *a = arena_new();
	CHECK(alike(unrolled, host));
	CHECK(!text_of(a, "__global__ void k()\n{\n#pragma nv_diag_suppress 177\n}\n", host));
	CHECK(!text_of(a, "__global__ void k()\n{\n#ifdef N\n}\n", host));
	arena_free(a);
}

TEST(all_else_does)
{
	CHECK(!alike("#include <cstddef>\n__global__ void k(const float *x, float *y, int n)\n{\n}\n", host));
	CHECK(!alike("#include <cstdint>\n__global__ void k(const float *x, float *y, long n)\n{\n}\n", host));
	CHECK(!alike("#include <cstdint>\n__device__ int g;\n__global__ void k(const float *x, float *y, int n)\n{\n}\n", host));
	CHECK(!alike("#include <cstdint>\n__host__ __device__ int f() { return 1; }\n__global__ void k(const float *x, float *y, int n)\n{\n}\n", host));
	CHECK(!alike(head, "extern \"C\" void solve(const float *x, float *y, int n)\n{\n\tk<<<n / 8, 128>>>(x, y, n);\n}\n"));
	CHECK(!alike(head, "void other() {}\nextern \"C\" void solve(const float *x, float *y, int n)\n{\n\tk<<<n / 4, 128>>>(x, y, n);\n}\n"));
}

/* Bodies that the host compiler sees as well. */
TEST(what_the_host_compiles_too_counts)
{
	static const char *const kinds[] = {"__host__ __device__ int f(int n)", "constexpr __device__ int f(int n)", "inline int f(int n)"};
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct arena *a = arena_new();
		const char *one = text_of(a, arena_printf(a, "%s { return n + 1; }\n", kinds[i]), host);
		const char *two = text_of(a, arena_printf(a, "%s { return n + 2; }\n", kinds[i]), host);
		CHECK_MSG(one && two && strcmp(one, two), "%s", kinds[i]);
		arena_free(a);
	}
}

TEST(what_hangs_on_its_place_is_shared_with_nobody)
{
	struct arena *a = arena_new();
	CHECK(!text_of(a, head, "void f() { g(__LINE__); }\n"));
	CHECK(!text_of(a, "#include <cassert>\n", host));
	CHECK(!text_of(a, "#define CHECK(x) if (x) fail(__LINE__)\n", host));
	CHECK(!text_of(a, "__global__ void k()\n{\n#define N 4\n}\n", host));
	arena_free(a);
}

TEST(guests_are_found_by_text)
{
	struct host_sides s = HOST_SIDES_NONE;
	int fd = open("/dev/null", O_RDONLY), found;
	CHECK(fd >= 0);
	CHECK_EQ(host_sides_find(&s, "a"), -1);
	host_sides_keep(&s, "a", fd);
	close(fd);
	CHECK_EQ(host_sides_find(&s, "b"), -1);
	found = host_sides_find(&s, "a");
	CHECK(found >= 0 && fcntl(found, F_GETFD) == FD_CLOEXEC);
	close(found);
	host_sides_free(&s);
	CHECK_EQ(host_sides_find(&s, "a"), -1);
}
