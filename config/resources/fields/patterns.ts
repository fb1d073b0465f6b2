// Compiles regular expressions from files, which are matched against texts of any sender. RE2 matches in time
// linear in the length of the text and never throws. Flags are supported at the beginning: `(?i)help`.

import { RE2JS, RE2JSSyntaxException } from 're2js';

const MAX_PATTERN = 1000;
/** Number of characters of a text that are searched; the rest is ignored. */
const MAX_TEXT = 16_384;

/** Returns true if a part of the text matches. */
export type Pattern = (text: string) => boolean;

/** Returns the compiled pattern, or an error message. */
export function compilePattern(source: string): Pattern | { readonly fault: string } {
  if (source.length > MAX_PATTERN) return { fault: `must not be longer than ${MAX_PATTERN} characters` };
  try {
    const compiled = RE2JS.compile(source);
    return (text) => compiled.matcher(text.slice(0, MAX_TEXT)).find();
  } catch (error) {
    // The library's message repeats the pattern, which may be the value of a variable.
    const why = error instanceof RE2JSSyntaxException ? error.getDescription() : 'it cannot be compiled';
    return { fault: `is not a regular expression (RE2 syntax): ${why}` };
  }
}
