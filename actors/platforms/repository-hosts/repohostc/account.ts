// How the host's API knows an account: names are chosen by people, and two may choose the same.

import { textMember } from '../../payloads/payload-member.ts';

/** Undefined for what is none. */
export function accountOf(user: unknown): string | undefined {
  return textMember(user, 'uuid', 'account_id');
}
