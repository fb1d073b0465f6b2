// Derives keys from the cluster secret (`node.secret`), one for each purpose. No key reveals another key or
// the secret.

import { hkdfSync } from 'node:crypto';

const KEY_BYTES = 32;
const SALT = 'actor-gateway cluster';

export type Purpose = 'connections' | 'bearer' | 'instances';

export function derivedKey(secret: string, purpose: Purpose): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, SALT, purpose, KEY_BYTES));
}
