// The id that a host's header gives to a delivery, as a part of an event's id.

import { createHash } from 'node:crypto';

/** What has another form, or is longer, is told by its digest: whoever sends it is authentic. Undefined for none. */
export function deliveryIdOf(header: string | undefined): string | undefined {
  if (header === undefined || header === '') return undefined;
  return /^[\w.:{}-]{1,128}$/.test(header) ? header : createHash('sha256').update(header).digest('hex');
}
