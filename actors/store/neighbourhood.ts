// Which mailboxes are near each other: those that one cause may end the process with.

/** What the keys of an HTTP trigger, a repository or a platform have in common: the first three words. */
export function neighbourhoodOf(key: string): string {
  return key.split('/', 3).join('/');
}
