// Text from outside, as a terminal may have it: answers of agents, errors and stderr of servers, names and bodies of events. A
// terminal obeys control characters (its title, the clipboard, the cursor), and bidi controls show another order than is there.
//
// Whatever the text, the time taken grows with its length only.
//
// TT1  whatever is printed for people goes through `forTerminal` last of all (output.ts, screen.ts, log.ts): of control
//      characters only line breaks, tabs and our own colours leave it.
// TT2  JSON stays the same JSON: what a terminal would obey is written as JSON escapes it.

import { withoutSequences } from '../../actors/base/errors/control-sequences.ts';
import { ownColours } from './paint.ts';

/** Joiners are in many scripts and emoji, and do no harm. */
const obeyed = /[^\P{Cc}\n\t]|(?![\u200c\u200d])\p{Cf}/gu;
const obeyedInJson = /[^\P{Cc}\n]|\p{Cf}/gu;

/** One line of foreign text. */
export function printable(text: string): string {
  return withoutSequences(text).replace(/\s+/g, ' ').replace(obeyed, '?');
}

/** Foreign text of several lines. */
export function printableLines(text: string): string {
  return withoutSequences(text.replaceAll('\r\n', '\n')).replace(obeyed, '');
}

/** Text that may have our own colours in it, and nothing else that a terminal would obey. */
export function forTerminal(text: string): string {
  // What stands between two of our own is at the even places.
  return text
    .split(ownColours)
    .map((part, at) => (at % 2 === 0 ? printableLines(part) : part))
    .join('');
}

/** The same JSON, of which a terminal obeys nothing. */
export function jsonForTerminal(json: string): string {
  return json.replace(obeyedInJson, (character) =>
    Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
