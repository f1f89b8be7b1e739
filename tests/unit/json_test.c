/* Strict JSON: what is refused, and that each message names file, place, fault and mend. */
#include "test.h"

#include "sandbox/base/json.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/nearest.h"

#include <string.h>

static const char *refused(const char *text, size_t size)
{
	static struct err e;
	memset(&e, 0, sizeof e);
	struct json *j = json_parse(text, size, "t.json", &e);
	if (j) {
		json_free(j);
		return "accepted";
	}
	CHECK_EQ(e.kind, ERR_INPUT);
	return e.text;
}

static const char *refusal(const char *text)
{
	return refused(text, strlen(text));
}

#define REFUSED(text, message) CHECK_STR(refusal(text), "t.json: " message)

TEST(syntax)
{
	REFUSED("", "line 1, column 1: the file is empty");
	REFUSED("{\n\t\"a\": 1,\n}", "line 3, column 1: a comma before }: remove it");
	REFUSED("[1,]", "line 1, column 4: a comma before ]: remove it");
	REFUSED("{\"a\" 1}", "line 1, column 6: \":\" is missing after the key");
	REFUSED("{a: 1}", "line 1, column 2: a key in double quotes is missing here");
	REFUSED("[1 2]", "line 1, column 4: \",\" or \"]\" is missing here");
	REFUSED("[1", "line 1, column 3: the text ends before its \"]\"");
	REFUSED("{} {}", "line 1, column 4: text after the end of the JSON value");
	REFUSED("'a'", "line 1, column 1: this is no JSON value (a string wants double quotes; comments are not allowed)");
	REFUSED("\"ab", "line 1, column 1: this string has no closing quote");
	REFUSED("\"a\nb\"", "line 1, column 3: a string ends at the end of its line: write \\n inside it");
	REFUSED("\"a\tb\"", "line 1, column 3: control character 0x09 in a string: write it as \\u0009");
}

TEST(numbers)
{
	REFUSED("01", "line 1, column 1: not a JSON number");
	REFUSED("1.", "line 1, column 1: not a JSON number");
	REFUSED("-", "line 1, column 1: not a JSON number");
	REFUSED("1e", "line 1, column 1: not a JSON number");
	REFUSED("1e999", "line 1, column 1: this number is too large");
	CHECK_STR(refusal("-0.5e-3"), "accepted");
	CHECK_STR(refusal("0"), "accepted");
}

TEST(strings)
{
	REFUSED("\"\\x\"", "line 1, column 2: no such escape: JSON has \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX");
	REFUSED("\"\\u12g4\"", "line 1, column 2: \\u wants four hexadecimal digits");
	REFUSED("\"\\u0000\"", "line 1, column 2: \\u0000 is not allowed in a string");
	REFUSED("\"\\ud800\"", "line 1, column 2: half of a surrogate pair");
	REFUSED("\"\\udc00\"", "line 1, column 2: half of a surrogate pair");
	CHECK_STR(refusal("\"\\ud83d\\ude00\""), "accepted");
	CHECK_STR(refusal("\"\xe4\xb8\xad\""), "accepted");
	REFUSED("\"\xff\"", "line 1, column 2: byte 0xff is not UTF-8: save the file as UTF-8");
	REFUSED("\"\xc0\xaf\"", "line 1, column 2: byte 0xc0 is not UTF-8: save the file as UTF-8");
	REFUSED("\"\xed\xa0\x80\"", "line 1, column 2: byte 0xed is not UTF-8: save the file as UTF-8");
	CHECK_STR(refused("\"\0\"", 3), "t.json: line 1, column 2: control character 0x00 in a string: write it as \\u0000");
}

TEST(limits)
{
	char deep[200];
	memset(deep, '[', 100);
	deep[100] = 0;
	REFUSED(deep, "line 1, column 34: nested deeper than 32 levels");
	static char big[JSON_MAX_BYTES + 2];
	memset(big, ' ', sizeof big);
	CHECK_STR(refused(big, JSON_MAX_BYTES + 1), "t.json: 1048577 bytes; at most 1048576 are read");
}

TEST(duplicate_keys)
{
	REFUSED("{\"a\": {\"b\": 1, \"c\": 2, \"b\": 3}}", "a.b: this key is there twice: remove one");
}

TEST(getters)
{
	struct err e = {0};
	const char *text = "{\"list\": [{\"n\": 2.5, \"s\": 7, \"t\": \"x\", \"nil\": null}]}";
	CLEANUP(json_freep) struct json *j = json_parse(text, strlen(text), "p.json", &e);
	CHECK(j);
	const struct cJSON *list, *o;
	CHECK_EQ(json_array(j, json_root(j), "list", "an array", &list, &e), 0);
	o = json_first(list);
	int64_t n = -7;
	double d;
	const char *s = "untouched";
	CHECK_EQ(json_integer(j, o, "n", 1, 9, &n, &e), -1);
	CHECK_STR(e.text, "p.json: list[0].n: 2.5 is not right: write a whole number from 1 to 9");
	CHECK_EQ(n, -7);
	CHECK_EQ(json_number(j, o, "n", 3, 4, &d, &e), -1);
	CHECK_STR(e.text, "p.json: list[0].n: 2.5 is out of range: write a number from 3 to 4");
	CHECK_EQ(json_string(j, o, "s", "a string, e.g. \"x\"", &s, &e), -1);
	CHECK_STR(e.text, "p.json: field list[0].s is 7: write a string, e.g. \"x\"");
	CHECK_STR(s, "untouched");
	CHECK_EQ(json_string(j, o, "nil", "a string", &s, &e), -1);
	CHECK_STR(e.text, "p.json: field list[0].nil is missing: write a string");
	CHECK_EQ(json_string(j, o, "t", "a string", &s, &e), 0);
	CHECK_STR(s, "x");
	CHECK_EQ(json_only(j, o, (const char *const[]){"num", "s", "t", "nil", NULL}, &e), -1);
	CHECK_STR(e.text, "p.json: list[0].n: no such field; known here: num, s, t, nil");
	CHECK_EQ(json_only(j, json_root(j), (const char *const[]){"lists", NULL}, &e), -1);
	CHECK_STR(e.text, "p.json: list: no such field: did you mean \"lists\"?");
}

TEST(nearest)
{
	const char *const names[] = {"int4-gemv", "w8a16-gemv", "w4a16-gemm"};
	CHECK_STR(nearest_name("int4-gmev", names, 3), "int4-gemv");
	CHECK_STR(nearest_name("INT4_GEMV", names, 3), "int4-gemv");
	CHECK_STR(nearest_name("w4a16", names, 3), "w4a16-gemm");
	CHECK(!nearest_name("zzz", names, 3));
}
