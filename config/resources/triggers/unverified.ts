// A source that cannot prove who sends is refused, unless the operator asks for it in so many words, and even then only
// where nobody but this machine can reach the listener.

import * as Type from 'typebox';
import { isLoopback } from '../../gateway-file/listen-addr.ts';
import type { Fields } from './trigger-type.ts';

export const insecureAllowUnverified = Type.Boolean({
  description: 'Accept what nothing proves; on loopback only.',
  default: false,
});

/**
 * Reports a source without verification. `what` says what would verify it; `host` is where its listener is, undefined
 * when that is not known.
 */
export function checkUnverified(
  fields: Fields,
  isAllowed: boolean,
  what: string,
  host: string | undefined,
): void {
  if (!isAllowed) {
    fields.report(
      '',
      `nothing proves who sends: give it ${what}, or say insecure_allow_unverified: true (on loopback only)`,
    );
  } else if (host !== undefined && !isLoopback(host)) {
    fields.report(
      'insecure_allow_unverified',
      `is for loopback only, and this listener is on ${host}; give it ${what}`,
    );
  } else {
    fields.report(
      'insecure_allow_unverified',
      'EVENTS ARE NOT VERIFIED: every program on this machine can send them',
      'warning',
    );
  }
}
