// The states of a delivery as small numbers, since every event changes its state a few times and the indexes hold it.
// The numbers stand in files on disk: never change one, only add.
//
// Queued and running states are below `firstSettled`, so that "unfinished" is one comparison in SQL. A parked event does
// not hold up the next one of its key, and is therefore above.

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

/** The first state in which an event is out of the way of the next one. */
export const firstSettled = stateCodes.dead;

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

/** Throws for a number that no version wrote. */
export function stateOf(code: number): DeliveryState {
  const name = names[code];
  if (name === undefined) throw new DamagedRecordError('a delivery has an unknown state');
  return name;
}
