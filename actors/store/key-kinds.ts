// The kinds of mailboxes, by the beginnings of their keys: a claim for one kind does not go through a backlog of the others.

/** Of all platforms together. */
const OUTBOX = 'outbox/';

/** The first word; of the outbox the first two, since each platform has a queue of its own. */
export function kindOf(key: string): string {
  const end = key.indexOf('/') + 1;
  return key.slice(0, key.startsWith(OUTBOX) ? key.indexOf('/', end) + 1 || end : end);
}

/** Whether all keys that begin so, and no others, are of one kind. */
export function isKind(keyPrefix: string): boolean {
  return keyPrefix !== '' && keyPrefix !== OUTBOX && kindOf(keyPrefix) === keyPrefix;
}
