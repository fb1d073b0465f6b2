// What stands in the records of the store for people, in either engine: how long it may be, and the words of the store itself. A record
// does not grow beyond these lengths, whatever a handler says.

import { storable } from './storable.ts';

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

/** As it is kept: what is longer is cut, and says so. */
export function bounded(text: string | undefined, length: number): string | null {
  if (text === undefined) return null;
  return storable(text.length > length ? `${text.slice(0, length - 1)}…` : text);
}
