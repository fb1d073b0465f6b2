// States of runs and fleet members in views. Run states follow from delivery states.

import type { Delivery, DeliveryState } from '../../store/delivery.ts';

export type RunState = 'queued' | 'running' | 'waiting' | 'done' | 'failed' | 'cancelled';

/** State of fleet members. */
export type MemberState = 'idle' | 'working' | 'waiting' | 'done' | 'failed' | 'dropped';

const byDelivery: Readonly<Record<DeliveryState, RunState>> = {
  queued: 'queued',
  held: 'queued',
  running: 'running',
  retrying: 'running',
  waiting: 'waiting',
  done: 'done',
  dead: 'failed',
  ignored: 'cancelled',
};

export const runStates: readonly RunState[] = [...new Set(Object.values(byDelivery))];

export const runStateOf = (state: DeliveryState): RunState => byDelivery[state];

/** Returns the delivery states that correspond to a run state. */
export const deliveryStatesOf = (state: RunState): readonly DeliveryState[] =>
  (Object.keys(byDelivery) as DeliveryState[]).filter((each) => byDelivery[each] === state);

export const hasEnded = (state: RunState): boolean =>
  state === 'done' || state === 'failed' || state === 'cancelled';

/** Prefix of wake-up names for approvals. */
const APPROVAL = 'approval ';

/** Returns the cause that will resume a waiting run; undefined if the run does not wait. */
export function waitsFor({
  state,
  waitingFor,
}: Pick<Delivery, 'state' | 'waitingFor'>): 'approval' | 'timer' | undefined {
  if (state !== 'waiting') return undefined;
  return waitingFor?.startsWith(APPROVAL) === true ? 'approval' : 'timer';
}
