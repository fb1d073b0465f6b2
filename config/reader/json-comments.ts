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
const piece = /"(?:[^"\\\n]|\\.)*"?|\/\/[^\r\n]*|\/\*[\s\S]*?(?:\*\/|$)/g;

/** The text of a JSON file without its comments; of any other file as it is. */
export function withoutComments(source: SourceFile): Uncommented {
  const { comments, openAt } = commentsIn(source);
  return { text: replaced(source.text, comments, blank), openAt };
}

/**
 * The text with those comments written as YAML writes them, so far as that can be said without moving anything; the others are blanked.
 * `comments` are where they stand.
 */
export function withYamlComments(source: SourceFile): Uncommented & { readonly comments: readonly Span[] } {
  const { text } = source;
  const { comments, openAt } = commentsIn(source);
  const inYaml = (comment: string, { start, end }: Span) => {
    const isApart = start === 0 || /\s/.test(text[start - 1] ?? '');
    const isLast = /^[ \t]*(?:\r?\n|$)/.test(text.slice(end));
    if (!isApart || !isLast) return blank(comment);
    return comment.replace(/^([ \t]*)(\S\S?)/gm, (_, indent, signs) => indent + '#'.repeat(signs.length));
  };
  return { text: replaced(text, comments, inYaml), openAt, comments };
}

export interface Span {
  readonly start: number;
  readonly end: number;
}

function commentsIn({ path, text }: SourceFile): { comments: Span[]; openAt: number | undefined } {
  const comments: Span[] = [];
  let openAt: number | undefined;
  // Neither sign begins a YAML file that means something.
  if (!isJsonPath(path) && !/^\s*\/[/*]/.test(text)) return { comments, openAt };
  for (const { 0: found, index: start } of text.matchAll(piece)) {
    // An address without quotes, as YAML would have it, begins no comment.
    const isAddress = found.startsWith('//') && text[start - 1] === ':' && text[start - 2] !== '"';
    if (found.startsWith('"') || isAddress) continue;
    if (found.startsWith('/*') && !/^\/\*[\s\S]*\*\/$/.test(found)) openAt = start;
    comments.push({ start, end: start + found.length });
  }
  return { comments, openAt };
}

/** As long as it was, each comment by what stands for it. */
function replaced(
  text: string,
  comments: readonly Span[],
  change: (comment: string, at: Span) => string,
): string {
  let result = '';
  let done = 0;
  for (const at of comments) {
    result += text.slice(done, at.start) + change(text.slice(at.start, at.end), at);
    done = at.end;
  }
  return result + text.slice(done);
}

const blank = (comment: string): string => comment.replace(/[^\r\n]/g, ' ');

/** Whether a file is JSON by its name. */
export function isJsonPath(path: string): boolean {
  return /\.jsonc?$/i.test(path);
}
