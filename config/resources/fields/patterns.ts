// Regular expressions that operators write, matched against what strangers say: RE2's syntax and its promise, time that
// is linear in the length of the text. Flags may stand at the beginning, `(?i)help`.
//
// RX1  a pattern never throws while it is matched.

import { RE2JS, RE2JSSyntaxException } from 're2js';

const MAX_PATTERN = 1000;
/** What stands further on in a text is not looked at. */
const MAX_TEXT = 16_384;

export type Pattern = (text: string) => boolean;

/** A pattern made ready, or what is wrong with it. */
export function compilePattern(source: string): Pattern | { readonly fault: string } {
  if (source.length > MAX_PATTERN) return { fault: `must not be longer than ${MAX_PATTERN} characters` };
  try {
    const compiled = RE2JS.compile(source);
    return (text) => compiled.matcher(text.slice(0, MAX_TEXT)).find();
  } catch (error) {
    // Its message repeats the pattern, which may come from a variable.
    const why = error instanceof RE2JSSyntaxException ? error.getDescription() : 'it cannot be compiled';
    return { fault: `is no regular expression (RE2 syntax): ${why}` };
  }
}
