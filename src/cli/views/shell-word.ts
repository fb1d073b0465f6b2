// Quotes words of a command line that users copy into a shell.

/** Returns the word as a POSIX shell reads it back: quoted if necessary. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
