// Path comparison and formatting. Messages and Node's API use paths as text. Security checks use paths as
// bytes, because two different names may become the same text if they are not UTF-8.

import { isUtf8 } from 'node:buffer';

/** Path from the system, one character per byte (Latin-1). */
export type PathBytes = string;

/** True if `path` is `folder` or is below it. Both are absolute and normalised. */
export function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? folder : `${folder}/`);
}

/** Decodes `bytes`; undefined if they are not UTF-8, because no text denotes such a path. */
export function textOf(bytes: PathBytes): string | undefined {
  const buffer = Buffer.from(bytes, 'latin1');
  return isUtf8(buffer) ? buffer.toString('utf8') : undefined;
}

/** Encodes `path` as the system stores it. */
export function bytesOf(path: string): PathBytes {
  return Buffer.from(path, 'utf8').toString('latin1');
}

/** Quotes `path` for a sentence, with escaped line breaks. */
export function quote(path: string): string {
  return JSON.stringify(path).replace(LINE_BREAKING, escapeCharacter);
}

/** Formats `path` as a line in a list: quoted only if it contains line breaks or control characters. */
export function toOneLine(path: string): string {
  return path.search(LINE_BREAKING) < 0 ? path : quote(path);
}

/** Control characters, and two separators that some readers treat as line breaks. */
const LINE_BREAKING = /[\p{Cc}\u2028\u2029]/gu;

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
