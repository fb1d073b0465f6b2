// Text out of a file, whole or in part, never more than a bound: the first or last lines and byte ranges read only what
// they give, so that the end of a log is as near as its beginning.
//
// 1. What is given stands in the file like that, line endings included; only a byte order mark is left out, and said.
// 2. A part ends where a character ends, so that parts taken one after the other make up the file.
// 3. What is not UTF-8 is refused, never repaired. 4. When something is left out, `note` says what, and how to get it.

import type { FileHandle } from 'node:fs/promises';
import { ToolError } from '../../tool-error.ts';

const CHUNK_BYTES = 64 * 1_024;
/** What may follow the first byte of a character in UTF-8. */
const MAX_CONTINUATION_BYTES = 3;
const LINE_FEED = 0x0a;

/** Which part of a file is wanted; at most one of the three. */
export interface WantedPart {
  /** Lines from the beginning. */
  readonly head?: number | undefined;
  /** Lines up to the end. */
  readonly tail?: number | undefined;
  /** In bytes. */
  readonly offset?: number | undefined;
  readonly length?: number | undefined;
}

export interface TextPart {
  readonly text: string;
  /** Bytes of the file that the text stands for. */
  readonly bytes: number;
  readonly note?: string;
}

interface Readable {
  readonly path: string;
  readonly sizeBytes: number;
  readonly handle: Pick<FileHandle, 'read'>;
}

/**
 * The wanted part of `file`, `maxBytes` at most.
 * @throws ToolError when it is no text, when the range begins behind the end, or when two kinds of parts are wanted
 */
export async function readTextPart(file: Readable, wanted: WantedPart, maxBytes: number): Promise<TextPart> {
  const { head, tail, offset, length } = wanted;
  const isRange = offset !== undefined || length !== undefined;
  if (Number(head !== undefined) + Number(tail !== undefined) + Number(isRange) > 1)
    throw new ToolError('Give head, or tail, or offset and length: only one of them in one call.');
  if (tail !== undefined) return readLastLines(file, tail, maxBytes);
  if (head !== undefined) return readFirstLines(file, head, maxBytes);
  return readRange(file, offset ?? 0, Math.min(length ?? maxBytes, maxBytes));
}

async function readRange(file: Readable, offset: number, length: number): Promise<TextPart> {
  if (offset > file.sizeBytes)
    throw new ToolError(`Offset ${offset} is behind the end: ${file.path} has ${file.sizeBytes} bytes.`);
  // A size of zero is not believed: the system says so of files that it makes up when they are read.
  const wanted = Math.min(length, Math.max(file.sizeBytes - offset, CHUNK_BYTES));
  const read = await readBytes(file.handle, offset, wanted + MAX_CONTINUATION_BYTES);
  const start = offset === 0 ? 0 : endOfCharacter(read, 0);
  const end = Math.max(start, endOfCharacter(read, Math.min(wanted, read.length)));
  return partOf(file, offset + start, read.subarray(start, end));
}

async function readFirstLines(file: Readable, lines: number, maxBytes: number): Promise<TextPart> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for (let missing = lines; missing > 0 && bytes < maxBytes; ) {
    const chunk = await readBytes(file.handle, bytes, Math.min(CHUNK_BYTES, maxBytes - bytes));
    if (chunk.length === 0) break;
    let end = 0;
    while (missing > 0) {
      const feed = chunk.indexOf(LINE_FEED, end);
      if (feed < 0) break;
      end = feed + 1;
      missing--;
    }
    const taken = missing === 0 ? chunk.subarray(0, end) : chunk;
    chunks.push(taken);
    bytes += taken.length;
  }
  const rest = await readBytes(file.handle, bytes, MAX_CONTINUATION_BYTES);
  return partOf(file, 0, Buffer.concat([...chunks, rest.subarray(0, endOfCharacter(rest, 0))]));
}

async function readLastLines(file: Readable, lines: number, maxBytes: number): Promise<TextPart> {
  const chunks: Buffer[] = [];
  let start = file.sizeBytes;
  const lowest = Math.max(0, file.sizeBytes - maxBytes);
  // A line feed that ends the file begins no line.
  for (let missing = lines + 1, isEnd = true; missing > 0 && start > lowest; ) {
    const size = Math.min(CHUNK_BYTES, start - lowest);
    const chunk = await readBytes(file.handle, start - size, size);
    if (chunk.length < size)
      throw new ToolError(
        `${file.path} gave fewer bytes than the ${file.sizeBytes} that the system says it has: it became shorter, or it is made up when it is read. Call again, or without tail.`,
      );
    if (isEnd && chunk.at(-1) !== LINE_FEED) missing--;
    isEnd = false;
    let begin = chunk.length;
    while (missing > 0) {
      const feed = begin === 0 ? -1 : chunk.lastIndexOf(LINE_FEED, begin - 1);
      if (feed < 0) break;
      begin = feed;
      missing--;
    }
    const from = missing === 0 ? begin + 1 : 0;
    chunks.unshift(chunk.subarray(from));
    start -= size - from;
  }
  const read = Buffer.concat(chunks);
  const cut = start === 0 || start > lowest ? 0 : endOfCharacter(read, 0);
  return partOf(file, start + cut, read.subarray(cut));
}

function partOf(file: Readable, start: number, bytes: Buffer): TextPart {
  const { path } = file;
  const end = start + bytes.length;
  const sizeBytes = Math.max(file.sizeBytes, end);
  const decoded = decodeText(bytes);
  if (decoded === undefined) throw new ToolError(notTextOf(path, bytes, sizeBytes));
  const hasMark = start === 0 && decoded.startsWith('\uFEFF');
  const notes: string[] = [];
  if (hasMark) notes.push('The file begins with a byte order mark, which is left out here.');
  if (start > 0 || end < sizeBytes) {
    const range = `These are the bytes from ${start} to ${end} of ${sizeBytes} of ${path}.`;
    notes.push(end < sizeBytes ? `${range} What follows begins at offset ${end}.` : range);
  }
  const text = hasMark ? decoded.slice(1) : decoded;
  return { text, bytes: bytes.length, ...(notes.length > 0 && { note: notes.join(' ') }) };
}

/** UTF-8 as text, a byte order mark included; undefined when it is none, or has a NUL as no text has. */
export function decodeText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** What to say of a file that is no text. */
export function notTextOf(path: string, bytes: Uint8Array, sizeBytes: number): string {
  const [first, second] = bytes;
  const isWide = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  const what = isWide ? 'is UTF-16 text, not UTF-8' : 'is not UTF-8 text';
  return `${path} ${what} (${sizeBytes} bytes). read_media_file gives images, sound and other bytes; offset and length here give a part that is text.`;
}

/** Where the character that `at` is in the middle of ends; `at` itself between two characters. */
function endOfCharacter(bytes: Uint8Array, at: number): number {
  let end = at;
  while (end < bytes.length && end < at + MAX_CONTINUATION_BYTES && ((bytes[end] ?? 0) & 0xc0) === 0x80)
    end++;
  return end;
}

/** Up to `length` bytes from `offset`; fewer only at the end of the file. */
export async function readBytes(
  handle: Pick<FileHandle, 'read'>,
  offset: number,
  length: number,
): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}
