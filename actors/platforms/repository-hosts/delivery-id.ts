// Converts the delivery id in a host's header into a part of the event id.

import { createHash } from 'node:crypto';

/**
 * Returns a short, plain id unchanged; hashes other ids. Undefined if the header is missing. The request is
 * already verified.
 */
export function deliveryIdOf(header: string | undefined): string | undefined {
  if (header === undefined || header === '') return undefined;
  return /^[\w.:{}-]{1,128}$/.test(header) ? header : createHash('sha256').update(header).digest('hex');
}
