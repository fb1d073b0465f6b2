// Numeric codes of delivery states, as stored on disk: add new codes, never change existing codes. States in
// which an event blocks the next event of the key have codes below `firstNonBlocking`, which simplifies SQL
// conditions. A parked event (`waiting`) does not block it.

import { DamagedRecordError } from './damaged-record.ts';
import type { DeliveryState } from './delivery.ts';

export const stateCodes = {
  queued: 0,
  running: 1,
  retrying: 2,
  held: 3,
  dead: 4,
  done: 5,
  ignored: 6,
  waiting: 7,
} as const satisfies Record<DeliveryState, number>;

/** Lowest code of a state in which an event does not block the next event of the key. */
export const firstNonBlocking = stateCodes.dead;

const names: readonly DeliveryState[] = [
  'queued',
  'running',
  'retrying',
  'held',
  'dead',
  'done',
  'ignored',
  'waiting',
];

/** Throws DamagedRecordError for unknown codes. */
export function stateOf(code: number): DeliveryState {
  const name = names[code];
  if (name === undefined) throw new DamagedRecordError('a delivery has an unknown state');
  return name;
}
