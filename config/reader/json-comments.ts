// JSON as editors keep their settings in it: with // and /* */ comments. They are blanked, so that what is left stands where
// it stood and is read as YAML, to which trailing commas are nothing new.

import type { SourceFile } from './source-file.ts';

export interface Uncommented {
  /** As long as the text that was given, with the same lines. */
  readonly text: string;
  /** Where a comment begins that has no end. */
  readonly openAt: number | undefined;
}

/** A string, or a comment. */
const piece = /"(?:[^"\\\n]|\\.)*"?|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g;

/** The text of a JSON file without its comments; of any other file as it is. */
export function withoutComments({ path, text }: SourceFile): Uncommented {
  // Neither sign begins a YAML file that means something.
  if (!isJsonPath(path) && !/^\s*\/[/*]/.test(text)) return { text, openAt: undefined };
  let openAt: number | undefined;
  const blanked = text.replace(piece, (found, offset: number) => {
    // An address without quotes, as YAML would have it, begins no comment.
    const isAddress = found.startsWith('//') && text[offset - 1] === ':' && text[offset - 2] !== '"';
    if (found.startsWith('"') || isAddress) return found;
    if (found.startsWith('/*') && !/^\/\*[\s\S]*\*\/$/.test(found)) openAt = offset;
    return found.replace(/[^\r\n]/g, ' ');
  });
  return { text: blanked, openAt };
}

/** Whether a file is JSON by its name. */
export function isJsonPath(path: string): boolean {
  return /\.jsonc?$/i.test(path);
}
