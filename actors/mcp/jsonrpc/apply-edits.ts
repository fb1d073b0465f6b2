// Sorts, checks and applies message edits; no other module does. Several modules create edits (routing, era bridge,
// connection), and overlapping edits would corrupt the message.
//
// - conflicting edits throw before the first byte is written.
// - the result is independent of the order of the list.

import { EditConflictError } from '../../base/errors/errors.ts';
import type { Envelope } from './envelope.ts';
import {
  between,
  type Edit,
  isInPieces,
  type Message,
  PIECES_FROM,
  replacing,
  sizeOf,
  whole,
} from './span.ts';

/**
 * Returns the edited message. Large messages are returned in pieces and not copied. Throws EditConflictError for edits that
 * overlap, start at the same byte, or exceed the message.
 */
export function applyEdits(message: Message, edits: readonly Edit[]): Message {
  const ordered = inOrder(edits);
  checkEdits(ordered, sizeOf(message));
  if (!isInPieces(message) && message.length < PIECES_FROM) return splice(message, ordered);
  const pieces: Buffer[] = [];
  let read = 0;
  for (const { start, end, text } of ordered) {
    pieces.push(...between(message, read, start), Buffer.from(text, 'latin1'));
    read = end;
  }
  pieces.push(...between(message, read, Number.POSITIVE_INFINITY));
  return gathered(pieces);
}

/** Applies these edits and a new id, which is also the progress token. Throws EditConflictError. */
export function renumbered(
  { bytes, id, askedToken }: Envelope,
  rawId: string,
  edits?: readonly Edit[],
): Buffer {
  // Most clients write the id before `params`: in this order the edits need no sorting.
  const all = id === undefined ? [] : [replacing(id, rawId)];
  if (edits !== undefined) all.push(...edits);
  if (askedToken !== undefined) all.push(replacing(askedToken, rawId));
  return whole(applyEdits(bytes, all));
}

/** Returns the edits sorted by position; a sorted list is returned unchanged. */
function inOrder(edits: readonly Edit[]): readonly Edit[] {
  let before = 0;
  for (const { start } of edits) {
    if (start < before) return [...edits].sort((a, b) => a.start - b.start);
    before = start;
  }
  return edits;
}

/** Adjacent edits are valid. Edits with the same start are not, because the result would depend on their order. */
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

/** The same pieces, with small neighbours put together. */
function gathered(pieces: readonly Buffer[]): Buffer[] {
  const runs: Buffer[][] = [];
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

/** A copy of `bytes` with the edits applied; they are sorted and checked. */
function splice(bytes: Buffer, edits: readonly Edit[]): Buffer {
  let size = bytes.length;
  for (const edit of edits) size += edit.text.length - (edit.end - edit.start);
  const out = Buffer.allocUnsafe(size);
  let read = 0;
  let written = 0;
  for (const { start, end, text } of edits) {
    copyBytes(bytes, read, start, out, written);
    written += start - read;
    if (text.length > FEW_CHARS) written += out.write(text, written, 'latin1');
    else for (let at = 0; at < text.length; at += 1) out[written++] = text.charCodeAt(at);
    read = end;
  }
  copyBytes(bytes, read, bytes.length, out, written);
  return out;
}

/** A loop over so few bytes costs less than a call into the runtime. */
const FEW_BYTES = 256;
const FEW_CHARS = 64;

function copyBytes(from: Buffer, start: number, end: number, to: Buffer, at: number): void {
  if (end - start > FEW_BYTES) from.copy(to, at, start, end);
  else for (let read = start; read < end; read += 1) to[at + read - start] = from[read] as number;
}
