// Quotes command line arguments that users copy into a shell.

/** Quotes the argument for a POSIX shell, if necessary. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
