// Mailbox kinds, derived from the prefix of the key. Engines index mailboxes by kind, so that a claim for a
// kind does not scan other mailboxes.

/** Common prefix of the platform outboxes. */
const OUTBOX = 'outbox/';

/**
 * Returns the first path segment of the key; for the outbox the first two, because platforms have separate
 * queues.
 */
export function kindOf(key: string): string {
  const end = key.indexOf('/') + 1;
  return key.slice(0, key.startsWith(OUTBOX) ? key.indexOf('/', end) + 1 || end : end);
}

/** Returns true if the prefix selects exactly one kind. */
export function isKind(keyPrefix: string): boolean {
  return keyPrefix !== '' && keyPrefix !== OUTBOX && kindOf(keyPrefix) === keyPrefix;
}

const CONTROL = '/commands';

/** Returns the mailbox key for decisions and control calls in the conversation. */
export const controlKeyOf = (conversationKey: string): string => conversationKey + CONTROL;

/** Returns the conversation key, also for the key of a control call. */
export const conversationKeyOf = (key: string): string =>
  isControlKey(key) ? key.slice(0, -CONTROL.length) : key;

/** Returns true for the key of a mailbox for decisions and control calls. */
export function isControlKey(key: string): boolean {
  return key.endsWith(CONTROL);
}
