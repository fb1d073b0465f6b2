// Names in the aggregate: `id__name`, at most 64 characters of [A-Za-z0-9_-], since model APIs refuse anything else
// and one bad name breaks a client's whole list. What does not fit is shortened with a hash of the full name, so that
// the same server and tool always get the same name. The way back is a map: a name is never split.

import { createHash } from 'node:crypto';

export const MAX_NAME_LENGTH = 64;
const HASH_LENGTH = 8;
const fits = /^[A-Za-z0-9_-]{1,64}$/;

/** The name a server's tool or prompt has in the aggregate. */
export function exposedName(server: string, name: string): string {
  const full = `${server}__${name}`;
  return fits.test(full) ? full : hashedName(server, name);
}

/** The same, made unlike any other by a hash; used where two plain names would be equal. */
export function hashedName(server: string, name: string): string {
  const clean = `${server}__${name}`
    .replace(/[^A-Za-z0-9_-]/g, '_')
    .slice(0, MAX_NAME_LENGTH - HASH_LENGTH - 1);
  const hash = createHash('sha256').update(`${server}\0${name}`).digest('hex').slice(0, HASH_LENGTH);
  return `${clean}_${hash}`;
}
