// Reads a text file, whole or in part, up to a limit. First lines, last lines and byte ranges read only the
// returned bytes, so reading the last lines of a large log is fast.
//
// 1. Text is returned unchanged, including line endings. Only a byte order mark is removed, with a note.
// 2. Parts stop at character boundaries; consecutive parts form the file.
// 3. Text in another encoding than UTF-8 is refused, never repaired.
// 4. `note` describes the omitted parts, and how to read them.

import type { FileHandle } from 'node:fs/promises';
import { ToolError } from '../../tool-error.ts';

const CHUNK_BYTES = 64 * 1_024;
/** Maximum number of continuation bytes per UTF-8 character. */
const MAX_CONTINUATION_BYTES = 3;
const LINE_FEED = 0x0a;

/** Requested part: `head`, `tail`, or a range. */
export interface RequestedPart {
  /** Number of first lines. */
  readonly head?: number | undefined;
  /** Number of last lines. */
  readonly tail?: number | undefined;
  /** Start in bytes. */
  readonly offset?: number | undefined;
  readonly length?: number | undefined;
}

export interface TextPart {
  readonly text: string;
  /** Number of bytes of the file that the text represents. */
  readonly bytes: number;
  readonly note?: string;
}

interface Readable {
  readonly path: string;
  readonly sizeBytes: number;
  readonly handle: Pick<FileHandle, 'read'>;
}

/**
 * Reads the requested part of `file`, up to `maxBytes`.
 * @throws ToolError if the file is not text, the offset exceeds its size, or `part` has two kinds of parts
 */
export async function readTextPart(file: Readable, part: RequestedPart, maxBytes: number): Promise<TextPart> {
  const { head, tail, offset, length } = part;
  const isRange = offset !== undefined || length !== undefined;
  if (Number(head !== undefined) + Number(tail !== undefined) + Number(isRange) > 1)
    throw new ToolError('Pass only one of these per call: head, tail, or offset and length.');
  if (tail !== undefined) return readLastLines(file, tail, maxBytes);
  if (head !== undefined) return readFirstLines(file, head, maxBytes);
  return readRange(file, offset ?? 0, Math.min(length ?? maxBytes, maxBytes));
}

async function readRange(file: Readable, offset: number, length: number): Promise<TextPart> {
  if (offset > file.sizeBytes)
    throw new ToolError(`Offset ${offset} is after the end: ${file.path} has ${file.sizeBytes} bytes.`);
  // A size of zero is ignored: the system reports it for generated files (/proc).
  const size = Math.min(length, Math.max(file.sizeBytes - offset, CHUNK_BYTES));
  const bytes = await readBytes(file.handle, offset, size + MAX_CONTINUATION_BYTES);
  const start = offset === 0 ? 0 : nextCharacter(bytes, 0);
  const end = Math.max(start, nextCharacter(bytes, Math.min(size, bytes.length)));
  return toPart(file, offset + start, bytes.subarray(start, end));
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
    const part = missing === 0 ? chunk.subarray(0, end) : chunk;
    chunks.push(part);
    bytes += part.length;
  }
  const rest = await readBytes(file.handle, bytes, MAX_CONTINUATION_BYTES);
  return toPart(file, 0, Buffer.concat([...chunks, rest.subarray(0, nextCharacter(rest, 0))]));
}

async function readLastLines(file: Readable, lines: number, maxBytes: number): Promise<TextPart> {
  const chunks: Buffer[] = [];
  let start = file.sizeBytes;
  const lowest = Math.max(0, file.sizeBytes - maxBytes);
  // A final line feed does not start a line.
  for (let missing = lines + 1, isEnd = true; missing > 0 && start > lowest; ) {
    const size = Math.min(CHUNK_BYTES, start - lowest);
    const chunk = await readBytes(file.handle, start - size, size);
    if (chunk.length < size)
      throw new ToolError(
        `${file.path} returned fewer bytes than its size of ${file.sizeBytes}: it was truncated, or the system generates its content. Retry, or read it without tail.`,
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
  const bytes = Buffer.concat(chunks);
  const cut = start === 0 || start > lowest ? 0 : nextCharacter(bytes, 0);
  return toPart(file, start + cut, bytes.subarray(cut));
}

function toPart(file: Readable, start: number, bytes: Buffer): TextPart {
  const { path } = file;
  const end = start + bytes.length;
  const sizeBytes = Math.max(file.sizeBytes, end);
  const decoded = decodeText(bytes);
  if (decoded === undefined) throw new ToolError(notTextMessage(path, bytes, sizeBytes));
  const hasMark = start === 0 && decoded.startsWith('\uFEFF');
  const notes: string[] = [];
  if (hasMark) notes.push('The file starts with a byte order mark, which is omitted here.');
  if (start > 0 || end < sizeBytes) {
    const range = `Bytes ${start} to ${end} of ${sizeBytes} of ${path}.`;
    notes.push(end < sizeBytes ? `${range} The next part starts at offset ${end}.` : range);
  }
  const text = hasMark ? decoded.slice(1) : decoded;
  return { text, bytes: bytes.length, ...(notes.length > 0 && { note: notes.join(' ') }) };
}

/** Decodes UTF-8, including a byte order mark; undefined for other encodings, or if the data contains NUL. */
export function decodeText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Returns the message for a file that is not text. */
export function notTextMessage(path: string, bytes: Uint8Array, sizeBytes: number): string {
  const [first, second] = bytes;
  const isWide = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  const problem = isWide ? 'is UTF-16 text, not UTF-8' : 'is not UTF-8 text';
  return `${path} ${problem} (${sizeBytes} bytes). Use read_media_file for images, audio and other bytes, or offset and length for a part that is text.`;
}

/** Returns the first character boundary at or after `at`. */
function nextCharacter(bytes: Uint8Array, at: number): number {
  let end = at;
  while (end < bytes.length && end < at + MAX_CONTINUATION_BYTES && ((bytes[end] ?? 0) & 0xc0) === 0x80)
    end++;
  return end;
}

/** Reads `length` bytes from `offset`; fewer if the file is shorter. */
export async function readBytes(
  handle: Pick<FileHandle, 'read'>,
  offset: number,
  length: number,
): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let filledBytes = 0;
  while (filledBytes < length) {
    const { bytesRead } = await handle.read(buffer, filledBytes, length - filledBytes, offset + filledBytes);
    if (bytesRead === 0) break;
    filledBytes += bytesRead;
  }
  return buffer.subarray(0, filledBytes);
}
