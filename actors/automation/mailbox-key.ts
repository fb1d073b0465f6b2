// The first words of keys of mailboxes. They stand apart from the works on them, so that whoever only parses a query does
// not load those.

/** None of them is the word of a platform. */
const keyWords: ReadonlySet<string> = new Set(['conversation', 'outbox']);

/** Whether a text is the key of a mailbox, or its beginning, and no conversation's word alone. */
export function isMailboxKey(text: string): boolean {
  const end = text.indexOf('/');
  return end > 0 && keyWords.has(text.slice(0, end));
}
