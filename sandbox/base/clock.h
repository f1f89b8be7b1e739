/* Time that only goes forward. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

double clock_seconds(void);		/* since some moment of this machine */

#endif
