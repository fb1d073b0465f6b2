// Quotes words of command lines that users copy into a shell. Outputs for terminals remove control sequences,
// also within quotation marks, so hidden characters are written as escapes (`$'\033'` in bash and zsh).

import { replaceHidden } from '../../../actors/base/errors/hidden-characters.ts';

/** Quotes a word for a POSIX shell, if necessary. The result is on one line. */
export function shellWord(word: string): string {
  if (/^[\w@%+:,./-][\w@%+=:,./-]*$/.test(word)) return word;
  const escaped = replaceHidden(word.replace(/[\\']/g, '\\$&'), octal).replace(/[\n\t]/g, octal);
  if (escaped.length > word.replace(/[\\']/g, '\\$&').length) return `$'${escaped}'`;
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** Returns the escapes of the character's bytes, which old shells read, too. */
function octal(character: string): string {
  return Array.from(Buffer.from(character), (byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}
