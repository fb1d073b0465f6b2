// Whether a path is a folder or lies below it, and the two ways in which a path is held as a string: as text, for people
// and for Node, and as bytes. Proofs compare bytes: two names that are no UTF-8 look the same as text.

import { isUtf8 } from 'node:buffer';

/** A path as the system gave it, one character per byte (Latin-1). */
export type PathBytes = string;

/** Whether `path` is `folder` or lies below it; both absolute and without `.`, `..` and doubled slashes. */
export function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? folder : `${folder}/`);
}

/** `bytes` as text; undefined when they are no UTF-8, so that no text leads there. */
export function textOf(bytes: PathBytes): string | undefined {
  const buffer = Buffer.from(bytes, 'latin1');
  return isUtf8(buffer) ? buffer.toString('utf8') : undefined;
}

/** The bytes by which the system knows `path`. */
export function bytesOf(path: string): PathBytes {
  return Buffer.from(path, 'utf8').toString('latin1');
}

/** `path` as it stands in a sentence: with its ends in sight, and line ends as `\\n`. */
export function quoted(path: string): string {
  return JSON.stringify(path).replace(UNSEEN, escaped);
}

/** `path` as it stands in a list of one line each: quoted when it could be taken for more than one line. */
export function onOneLine(path: string): string {
  return path.search(UNSEEN) < 0 ? path : quoted(path);
}

/** Control characters and the two separators that some readers take for line ends. */
const UNSEEN = /[\p{Cc}\u2028\u2029]/gu;

function escaped(sign: string): string {
  return `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
