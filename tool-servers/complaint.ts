// What a tool server says on stderr, which most clients leave to their own terminal: what a page, the name of a file or the
// client has written is seen there, and not obeyed.

import { format } from 'node:util';

/** Control characters and those that turn the direction of a text; line breaks and tabs are harmless. */
const obeyed = /[^\P{Cc}\n\t]|(?![\u200c\u200d])\p{Cf}/gu;

/** Takes what console.error takes. */
export function complain(...what: readonly unknown[]): void {
  console.error(format(...what).replace(obeyed, (found) => `\\u${hex(found)}`));
}

function hex(character: string): string {
  const code = character.codePointAt(0) as number;
  return code > 0xffff ? `{${code.toString(16)}}` : code.toString(16).padStart(4, '0');
}
