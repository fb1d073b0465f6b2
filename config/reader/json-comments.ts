// Handles JSON with // and /* */ comments, used for editor settings. Comments are replaced with spaces of the
// same length, so offsets stay valid. The YAML parser accepts the rest, including trailing commas.

import type { SourceFile } from './source-file.ts';

export interface Uncommented {
  /** Text without comments, with the same length and lines as the input. */
  readonly text: string;
  /** Start of the unclosed comment, if any. */
  readonly openAt: number | undefined;
}

/** A string, or a comment. */
const piece = /"(?:[^"\\\n]|\\.)*"?|\/\/[^\r\n]*|\/\*[\s\S]*?(?:\*\/|$)/g;

/** Blanks comments in JSON files. Returns other files unchanged, unless they begin with a JSON comment. */
export function withoutComments(source: SourceFile): Uncommented {
  const { comments, openAt } = commentsIn(source);
  return { text: replaceComments(source.text, comments, blank), openAt };
}

/**
 * Converts a comment to YAML comments, one per line, if white space precedes it and nothing follows on its
 * last line. Converts other comments to spaces. The text keeps its length. `comments` contains the positions.
 */
export function withYamlComments(
  source: SourceFile,
): Uncommented & { readonly comments: readonly CommentSpan[] } {
  const { text } = source;
  const { comments, openAt } = commentsIn(source);
  const inYaml = (comment: string, { start, end }: CommentSpan) => {
    // In YAML, a comment needs white space before it, and extends to the end of the line.
    const isApart = start === 0 || /\s/.test(text[start - 1] ?? '');
    const isLast = /^[ \t]*(?:\r?\n|$)/.test(text.slice(end));
    if (!isApart || !isLast) return blank(comment);
    // Each line needs a `#`. It replaces the comment sign, or the first characters of a line without a sign.
    return comment.replace(/^([ \t]*)(\S\S?)/gm, (_, indent, signs) => indent + '#'.repeat(signs.length));
  };
  return { text: replaceComments(text, comments, inYaml), openAt, comments };
}

export interface CommentSpan {
  readonly start: number;
  readonly end: number;
}

function commentsIn({ path, text }: SourceFile): { comments: CommentSpan[]; openAt: number | undefined } {
  const comments: CommentSpan[] = [];
  let openAt: number | undefined;
  // A file that begins with `//` or `/*` is JSON, regardless of its name: no valid YAML file begins so.
  if (!isJsonPath(path) && !/^\s*\/[/*]/.test(text)) return { comments, openAt };
  for (const { 0: found, index: start } of text.matchAll(piece)) {
    // `//` in an unquoted URL does not start a comment. After the quote and colon of a key it does:
    // `"key"://comment`.
    const isAddress = found.startsWith('//') && text[start - 1] === ':' && text[start - 2] !== '"';
    if (found.startsWith('"') || isAddress) continue;
    if (found.startsWith('/*') && !/^\/\*[\s\S]*\*\/$/.test(found)) openAt = start;
    comments.push({ start, end: start + found.length });
  }
  return { comments, openAt };
}

/** Replaces each comment with text of the same length. */
function replaceComments(
  text: string,
  comments: readonly CommentSpan[],
  change: (comment: string, span: CommentSpan) => string,
): string {
  let result = '';
  let done = 0;
  for (const span of comments) {
    result += text.slice(done, span.start) + change(text.slice(span.start, span.end), span);
    done = span.end;
  }
  return result + text.slice(done);
}

const blank = (comment: string): string => comment.replace(/[^\r\n]/g, ' ');

/** Returns true for JSON file names. */
export function isJsonPath(path: string): boolean {
  return /\.jsonc?$/i.test(path);
}
