// How large the journal of an event may become, and how much of it is read at once, in either engine: it is removed in one transaction,
// which others wait for.

import { InternalError } from '../base/errors/errors.ts';

const MAX_ROWS = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;
/** Bytes of the rows of one call; one alone may have more. */
export const READ_AT_ONCE = 8 * 1024 * 1024;

/** Throws InternalError where so much does not fit into a journal: whoever writes one ends before that. */
export function checkJournal(rows: number, bytes: number): void {
  if (rows > MAX_ROWS || bytes > MAX_BYTES)
    throw new InternalError(
      `a journal has at most ${MAX_ROWS} rows and ${MAX_BYTES} bytes, and this one would have ${rows} and ${bytes}`,
    );
}
