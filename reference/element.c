/* Elements of a tensor as doubles: see element.h. */
#include "element.h"

#include "f16.h"

#include <stdio.h>
#include <stdlib.h>

static _Noreturn void not_floating(const struct tensor *t)
{
	fprintf(stderr, "oracle: tensor %s is not of a floating type\n", t->name);
	exit(1);
}

void element_load(const struct tensor *t, size_t first, size_t count, double *out)
{
	for (size_t i = 0; i < count; i++)
		switch (t->type) {
		case TYPE_F16:
			out[i] = f16_to_double(((const uint16_t *)t->data)[first + i]);
			break;
		case TYPE_BF16:
			out[i] = bf16_to_double(((const uint16_t *)t->data)[first + i]);
			break;
		case TYPE_F32:
			out[i] = (double)((const float *)t->data)[first + i];
			break;
		case TYPE_F64:
			out[i] = ((const double *)t->data)[first + i];
			break;
		default:
			not_floating(t);
		}
}

void element_store(struct tensor *t, size_t first, size_t count, const double *values)
{
	for (size_t i = 0; i < count; i++)
		switch (t->type) {
		case TYPE_F16:
			((uint16_t *)t->data)[first + i] = f16_from_double(values[i]);
			break;
		case TYPE_BF16:
			((uint16_t *)t->data)[first + i] = bf16_from_double(values[i]);
			break;
		case TYPE_F32:
			((float *)t->data)[first + i] = (float)values[i];
			break;
		case TYPE_F64:
			((double *)t->data)[first + i] = values[i];
			break;
		default:
			not_floating(t);
		}
}

double element_round(enum element_type type, double value)
{
	switch (type) {
	case TYPE_F16:
		return f16_round(value);
	case TYPE_BF16:
		return bf16_round(value);
	case TYPE_F32:
		return (double)(float)value;
	default:
		return value;
	}
}
