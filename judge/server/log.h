/* The server's log: standard error, a line an entry, harmless for terminals. */
#ifndef SERVER_LOG_H
#define SERVER_LOG_H

void log_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
