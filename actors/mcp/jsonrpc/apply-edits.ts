// Sorts, checks and applies edits: replacements of byte ranges in a message (span.ts). This is the only file
// that applies edits: several parts of the gateway create them independently, and overlapping edits would
// corrupt the message. A conflict throws before the first byte is written. The order of the list does not
// matter.

import { EditConflictError } from '../../base/errors/errors.ts';
import type { Envelope } from './envelope.ts';
import {
  type Edit,
  isInPieces,
  type Message,
  PIECES_FROM,
  replaceSpan,
  sizeOf,
  sliceMessage,
  toBuffer,
} from './span.ts';

/**
 * Returns the edited message; a large one in pieces, without copying. Throws EditConflictError for edits that
 * overlap, start at the same byte, or exceed the message.
 */
export function applyEdits(message: Message, edits: readonly Edit[]): Message {
  const ordered = sortEdits(edits);
  checkEdits(ordered, sizeOf(message));
  if (!isInPieces(message) && message.length < PIECES_FROM) return splice(message, ordered);
  const pieces: Buffer[] = [];
  let readPos = 0;
  for (const { start, end, text } of ordered) {
    // Edit text has one character per byte (span.ts), so it is encoded as latin1.
    pieces.push(...sliceMessage(message, readPos, start), Buffer.from(text, 'latin1'));
    readPos = end;
  }
  // Infinity: up to the end of the message.
  pieces.push(...sliceMessage(message, readPos, Number.POSITIVE_INFINITY));
  return joinSmallPieces(pieces);
}

/**
 * Applies the edits and replaces the request id and the progress token by `rawId`. Throws EditConflictError.
 */
export function renumber(
  { bytes, id, progressToken }: Envelope,
  rawId: string,
  edits?: readonly Edit[],
): Buffer {
  // Most clients write the id before `params`, so the edits are already sorted in this order.
  const all = id === undefined ? [] : [replaceSpan(id, rawId)];
  if (edits !== undefined) all.push(...edits);
  if (progressToken !== undefined) all.push(replaceSpan(progressToken, rawId));
  return toBuffer(applyEdits(bytes, all));
}

/** Returns the edits sorted by position; a sorted list is returned unchanged. */
function sortEdits(edits: readonly Edit[]): readonly Edit[] {
  let before = 0;
  for (const { start } of edits) {
    if (start < before) return [...edits].sort((a, b) => a.start - b.start);
    before = start;
  }
  return edits;
}

/**
 * Throws EditConflictError for overlaps, and for equal starts, where the order would matter. Adjacent edits
 * are valid.
 */
function checkEdits(ordered: readonly Edit[], size: number): void {
  let before: Edit | undefined;
  for (const edit of ordered) {
    const { start, end } = edit;
    if (!(start >= 0 && end >= start && end <= size))
      throw new EditConflictError(`bytes ${start} to ${end} are outside a message of ${size} bytes`);
    if (before !== undefined && (start < before.end || start === before.start))
      throw new EditConflictError(
        `bytes ${before.start} to ${before.end} and bytes ${start} to ${end} overlap`,
      );
    before = edit;
  }
}

/** Concatenates small adjacent pieces. */
function joinSmallPieces(pieces: readonly Buffer[]): Buffer[] {
  const runs: Buffer[][] = [];
  // The first piece must start a run.
  let runBytes = PIECES_FROM;
  for (const piece of pieces) {
    runBytes += piece.length;
    const run = runs.at(-1);
    if (run !== undefined && runBytes < PIECES_FROM) run.push(piece);
    else if (piece.length > 0) {
      runs.push([piece]);
      runBytes = piece.length;
    }
  }
  return runs.map((run) => (run.length === 1 && run[0] !== undefined ? run[0] : Buffer.concat(run)));
}

/** Returns an edited copy of `bytes`. The edits must be sorted and checked. */
function splice(bytes: Buffer, edits: readonly Edit[]): Buffer {
  let size = bytes.length;
  for (const edit of edits) size += edit.text.length - (edit.end - edit.start);
  const out = Buffer.allocUnsafe(size);
  let readPos = 0;
  let writePos = 0;
  for (const { start, end, text } of edits) {
    copyBytes(bytes, readPos, start, out, writePos);
    writePos += start - readPos;
    if (text.length > FEW_CHARS) writePos += out.write(text, writePos, 'latin1');
    else for (let at = 0; at < text.length; at += 1) out[writePos++] = text.charCodeAt(at);
    readPos = end;
  }
  copyBytes(bytes, readPos, bytes.length, out, writePos);
  return out;
}

/** Maximum sizes that are copied in a loop. For larger ones a call into the runtime is faster. */
const FEW_BYTES = 256;
const FEW_CHARS = 64;

function copyBytes(from: Buffer, start: number, end: number, to: Buffer, at: number): void {
  if (end - start > FEW_BYTES) from.copy(to, at, start, end);
  else
    for (let readPos = start; readPos < end; readPos += 1) to[at + readPos - start] = from[readPos] as number;
}
