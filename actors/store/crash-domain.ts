// Crash domain: a group of mailboxes whose events may crash the process for the same reason
// (machines/crashes.ts).

/** Returns the first three segments of the key: the trigger, repository or platform. */
export function crashDomainOf(key: string): string {
  return key.split('/', 3).join('/');
}
