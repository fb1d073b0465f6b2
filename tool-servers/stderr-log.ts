// Tool server log on stderr. Most clients show stderr in their own terminal, and the text may contain data
// from web pages or file names. Control characters are therefore escaped.

import { format } from 'node:util';

/** Control characters and bidirectional overrides, except line breaks and tabs. */
const CONTROL_CHARACTERS = /[^\P{Cc}\n\t]|(?![\u200c\u200d])\p{Cf}/gu;

/** Accepts the arguments of console.error. */
export function logError(...values: readonly unknown[]): void {
  console.error(format(...values).replace(CONTROL_CHARACTERS, (found) => `\\u${hexOf(found)}`));
}

function hexOf(character: string): string {
  const code = character.codePointAt(0) as number;
  return code > 0xffff ? `{${code.toString(16)}}` : code.toString(16).padStart(4, '0');
}
