// Account ids of the host's API. People choose the names, which are not unique.

import { textMember } from '../../payloads/payload-member.ts';

/** Returns the account id; undefined if the value is not a user. */
export function accountOf(user: unknown): string | undefined {
  return textMember(user, 'uuid', 'account_id');
}
