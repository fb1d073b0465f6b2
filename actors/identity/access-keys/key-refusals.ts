// Refusals of access keys. Wrong, unknown, revoked and expired keys get the refusal of a wrong API key.

import type { Refusal } from '../principal.ts';

export const INVALID_KEY: Refusal = { kind: 'forbidden', reason: 'Invalid API key' };

export const KEYS_UNAVAILABLE: Refusal = {
  kind: 'unavailable',
  reason: 'the store of the access keys is unavailable; retry shortly',
  retryAfterSeconds: 5,
};
