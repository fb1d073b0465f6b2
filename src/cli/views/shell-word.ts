// Words of a command line, for people who copy it into a shell.

/** Returns the word as a POSIX shell reads it back: in quotes where it has to be. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
