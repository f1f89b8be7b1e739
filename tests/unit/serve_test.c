/* judge serve, its parts without a network: judge.conf, CSV, Markdown. */
#include "../../judge/server/conf.h"
#include "../../judge/server/csv.h"
#include "../../judge/server/markup.h"
#include "test.h"

#include <string.h>

static const char *wrong(const char *text, struct err *e)
{
	struct conf c;
	conf_standard(&c);
	return conf_parse(&c, text, "judge.conf", e) < 0 ? e->text : "taken";
}

TEST(standard)
{
	struct conf c, d;
	struct err e = {0};
	conf_standard(&c);
	conf_standard(&d);
	CHECK_EQ(c.port, 8080u);
	CHECK_STR(c.listen, "127.0.0.1");
	CHECK(conf_read(&d, "judge/server/examples/judge.conf", &e) == 0);
	CHECK(!memcmp(&c, &d, sizeof c));
}

/* Every key with its standard value, but without the sign of a comment, is the standard. */
TEST(printed)
{
	struct buf b = {0};
	struct conf c, d;
	struct err e = {0};
	conf_print(&b);
	for (char *at = b.data; (at = strchr(at, '#')); at++)
		if (at[1] != ' ')
			*at = ' ';
	conf_standard(&c);
	conf_standard(&d);
	CHECK(conf_parse(&d, buf_str(&b), "printed", &e) == 0);
	CHECK(!memcmp(&c, &d, sizeof c));
	CHECK(strstr(buf_str(&b), "port = 8080"));
	buf_free(&b);
}

TEST(taken)
{
	struct conf c;
	struct err e = {0};
	conf_standard(&c);
	CHECK(conf_parse(&c, "# x\n\n port=9 # y\nname = A judge\nregistration = invite\npublic_metrics = yes\nproxies = ::1\nsign_in_header = X-User",
			 "judge.conf", &e) == 0);
	CHECK_EQ(c.port, 9u);
	CHECK_STR(c.name, "A judge");
	CHECK_STR(c.registration, "invite");
	CHECK(c.public_metrics);
}

TEST(refused)
{
	struct err e = {0};
	CHECK_STR(wrong("\nport = 70000", &e), "judge.conf: line 2: port = 70000: write a whole number from 0 to 65535");
	CHECK_STR(wrong("prot = 1", &e), "judge.conf: line 1: no key \"prot\": did you mean port?");
	CHECK_STR(wrong("port = 1\nport = 2", &e), "judge.conf: line 2: port is given twice");
	CHECK_STR(wrong("port", &e), "judge.conf: line 1: \"port\" is not `key = value`");
	CHECK_STR(wrong("registration = maybe", &e), "judge.conf: line 1: registration = maybe: write one of: open invite closed");
	CHECK(strstr(wrong("registration = open invite", &e), "write one of"));
	CHECK(strstr(wrong("tls_key = x", &e), "belong together"));
	CHECK(strstr(wrong("sign_in_header = X-User", &e), "wants proxies"));
}

TEST(formulas)
{
	struct buf b = {0};
	csv_text(&b, "=1+1", true);
	csv_text(&b, "a\"b", false);
	csv_text(&b, "-2", false);
	csv_number(&b, -2, false);
	CHECK_STR(buf_str(&b), "\"'=1+1\",\"a\"\"b\",\"'-2\",-2");
	buf_free(&b);
}

TEST(links)
{
	static const struct {
		const char *text, *html;
	} rows[] = {
		{"[x](javascript:alert)", "<p>x</p>\n"},
		{"[x](JAVASCRIPT:alert)", "<p>x</p>\n"},
		{"[x](&#106;avascript:alert)", "<p>x</p>\n"},
		{"[x](/problems/a)", "<p><a href=\"/problems/a\" rel=\"noopener noreferrer nofollow\">x</a></p>\n"},
		{"[x](//evil)", "<p>x</p>\n"},
		{"[x](/\\evil)", "<p>x</p>\n"},
		{"![alt *t*](http://a/b.png)", "<p>alt t</p>\n"},
		{"<b onclick=x>", "<p>&lt;b onclick=x&gt;</p>\n"},
		{"$a<b$", "<p><span class=\"math inline\">a&lt;b</span></p>\n"},
		{"```c\" onclick=\"x\ny\n```", "<pre><code class=\"language-c&quot;\">y\n</code></pre>\n"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct buf b = {0};
		markup_html(rows[i].text, strlen(rows[i].text), &b);
		CHECK_STR(buf_str(&b), rows[i].html);
		buf_free(&b);
	}
}
