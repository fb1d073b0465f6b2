// Refuses a trigger that does not verify the senders of its requests, unless the file allows it explicitly
// and the listener is on loopback.

import * as Type from 'typebox';
import { isLoopback } from '../../gateway-file/listen-addr.ts';
import type { Fields } from './trigger-type.ts';

/** Schema of the field that allows a trigger without verification. */
export const insecureAllowUnverified = Type.Boolean({
  description: 'Accept unverified requests (loopback only).',
  default: false,
});

/**
 * Reports a trigger without verification. `isAllowed` is true if the file allows it; `setting` is the missing
 * setting; `host` is the listener's host, undefined if unknown.
 */
export function checkUnverified(
  fields: Fields,
  isAllowed: boolean,
  setting: string,
  host: string | undefined,
): void {
  if (!isAllowed) {
    fields.report(
      '',
      `senders are not verified: set ${setting}, or insecure_allow_unverified: true (loopback only)`,
    );
  } else if (host !== undefined && !isLoopback(host)) {
    fields.report(
      'insecure_allow_unverified',
      `is for loopback only, but the listener is on ${host}; set ${setting}`,
    );
  } else {
    fields.report(
      'insecure_allow_unverified',
      'EVENTS ARE NOT VERIFIED: any program on this machine can send them',
      'warning',
    );
  }
}
