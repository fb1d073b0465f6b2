// States of runs and fleet members in views. A run's state follows from the state of the delivery.

import type { Delivery, DeliveryState } from '../../store/delivery.ts';

export type RunState = 'queued' | 'running' | 'waiting' | 'done' | 'failed' | 'cancelled';

/** State of a fleet member. */
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

/** States of deliveries that are that state of a run. */
export const deliveryStatesOf = (state: RunState): readonly DeliveryState[] =>
  (Object.keys(byDelivery) as DeliveryState[]).filter((each) => byDelivery[each] === state);

export const hasEnded = (state: RunState): boolean =>
  state === 'done' || state === 'failed' || state === 'cancelled';

/** What all approvals of a run park it under begins so. */
const APPROVAL = 'approval ';

/** What one that waits is waiting for; undefined for any other. */
export function waitsFor({
  state,
  waitingFor,
}: Pick<Delivery, 'state' | 'waitingFor'>): 'approval' | 'timer' | undefined {
  if (state !== 'waiting') return undefined;
  return waitingFor?.startsWith(APPROVAL) === true ? 'approval' : 'timer';
}
