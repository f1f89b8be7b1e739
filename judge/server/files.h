/* The pages: files of one folder.  What is served is looked up in a list that was made by walking the folder, so that no path
 * leads out of it.  Addresses of pages get index.html. */
#ifndef SERVER_FILES_H
#define SERVER_FILES_H

#include "request.h"

struct files;

struct files *files_open(const char *folder);		/* the folder need not be there yet */
void files_close(struct files *f);
void files_answer(struct files *f, struct request *r);

#endif
