// Texts in store records, for both engines: maximum lengths, fixed notes, and the accepted characters
// (well-formed Unicode without the character 0). Longer texts of handlers are truncated.

import { InternalError } from '../base/errors/errors.ts';

const MAX_ROWS = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;
/** Maximum bytes of rows per call; a single row may be larger. */
export const MAX_READ_BYTES = 8 * 1024 * 1024;

/** Throws InternalError if a journal is too large. Writers are expected to stop earlier. */
export function checkJournal(rows: number, bytes: number): void {
  if (rows > MAX_ROWS || bytes > MAX_BYTES)
    throw new InternalError(
      `journal too large: ${rows} rows and ${bytes} bytes, at most ${MAX_ROWS} rows and ${MAX_BYTES} bytes`,
    );
}

export const NOTE_LENGTH = 2_000;
export const ANSWER_LENGTH = 65_536;
/** Maximum length of trigger names, receipts and agent names. */
export const NAME_LENGTH = 256;
/** Number of stored failures per event; older ones are dropped. */
export const FAILURES_KEPT = 50;

export const LEASE_ENDED = 'the attempt ended without a result: its claim expired';
export const PROCESS_ENDED = 'the attempt ended without a result: the gateway ended';

export function crashNote(crashes: number): string {
  return `the gateway ended ${crashes} times while it was handled`;
}

/** Truncates the text to `length` with an ellipsis; returns null for undefined. */
export function truncateText(text: string | undefined, length: number): string | null {
  if (text === undefined) return null;
  return toStorableText(text.length > length ? `${text.slice(0, length - 1)}…` : text);
}

/** Replaces lone surrogates and the character 0. */
export function toStorableText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '\ufffd') : whole;
}
