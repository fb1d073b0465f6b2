// Texts in store records, for both engines: limits, the store's notes, and the accepted characters (well-formed Unicode without
// the character 0). No handler can exceed these limits.

import { InternalError } from '../base/errors/errors.ts';

const MAX_ROWS = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;
/** Maximum bytes of the rows per call; a single row may be larger. */
export const READ_AT_ONCE = 8 * 1024 * 1024;

/** Throws InternalError if a journal exceeds its limit; writers end before. */
export function checkJournal(rows: number, bytes: number): void {
  if (rows > MAX_ROWS || bytes > MAX_BYTES)
    throw new InternalError(
      `a journal has at most ${MAX_ROWS} rows and ${MAX_BYTES} bytes, and this one would have ${rows} and ${bytes}`,
    );
}

export const NOTE_LENGTH = 2_000;
export const ANSWER_LENGTH = 65_536;
/** Of a trigger, a receipt, an agent. */
export const NAME_LENGTH = 256;
/** The last failures that are kept of one event. */
export const FAILURES_KEPT = 50;

export const LEASE_ENDED = 'the attempt ended without a result: its claim ran out';
export const PROCESS_ENDED = 'the attempt ended without a result: the gateway ended';

export function endsTheProcess(crashes: number): string {
  return `the gateway ended ${crashes} times while it was handled`;
}

/** Cuts the text to `length` with an ellipsis; returns null for undefined. */
export function bounded(text: string | undefined, length: number): string | null {
  if (text === undefined) return null;
  return storable(text.length > length ? `${text.slice(0, length - 1)}…` : text);
}

/** Returns the text with half surrogate pairs and the character 0 replaced. */
export function storable(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '\ufffd') : whole;
}
