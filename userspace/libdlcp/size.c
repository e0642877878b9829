// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Structs that the caller allocates begin with their size, and later versions
 * have more members. What both sides know is used, and what only we know is 0.
 * What only the caller knows must be 0 (compare copy_struct_from_user()).
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

/* No struct will ever be longer, so that a size that nobody set is noticed */
#define SIZE_MOST	4096

int dlcp__check_size(size_t size, size_t first, const char *what)
{
	if (!size || (size >= first && size <= SIZE_MOST))
		return 0;
	return dlcp__fail(EINVAL, "struct %s has size %zu, and has at least %zu (set it to sizeof the struct, or 0)",
			  what, size, first);
}

int dlcp__take(void *to, size_t known, size_t first, const void *from,
	       const char *what)
{
	const unsigned char *bytes = from;
	size_t size, i;

	memcpy(&size, from, sizeof(size));
	if (dlcp__check_size(size, first, what))
		return -1;
	size = size ? size : first;
	for (i = known; i < size; i++)
		if (bytes[i])
			return dlcp__fail(E2BIG, "libdlcp %d.%d is too old for a member of struct %s that is set: install the one the program was built with",
					  LIBDLCP_VERSION_MAJOR,
					  LIBDLCP_VERSION_MINOR, what);
	memset(to, 0, known);
	memcpy(to, from, size < known ? size : known);
	memcpy(to, &known, sizeof(known));	/* of the copy */
	return 0;
}

void dlcp__clear(void *what, size_t known)
{
	size_t size;

	memcpy(&size, what, sizeof(size));
	memset(what, 0, size && size < known ? size : known);
	memcpy(what, &size, sizeof(size));
}
