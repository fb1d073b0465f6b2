// Slots for the model calls and flow nodes of all runs (base/bounds/slot-queue.ts). A step waits a short time
// for its slot, because its run uses a conversation slot meanwhile. Then an agent's event is deferred in the
// store, and a part of a run parks.

import { type ReleaseSlot, type SlotFigures, SlotQueue } from '../../base/bounds/slot-queue.ts';
import { WorkTurns } from '../../base/time/work-turns.ts';
import { HandlerError, type Job } from './handler.ts';
import type { HandlerContext } from './handler-context.ts';
import type { Parked } from './parked.ts';

/** Maximum number of steps that wait for a slot in memory, per kind. */
const MAX_WAITING_STEPS = 4_096;
/** Maximum time in the queue. */
const MAX_WAIT_MS = 30_000;
const REPORT_EVERY_MS = 2_000;
/** Pause before the next try. */
const PAUSE_MS = 5_000;

/** Turns of the event loop in which steps begin. */
const turns = new WorkTurns();

/** Slots by kind of step. */
export interface RunSlots {
  readonly modelCalls: SlotQueue;
  readonly flowNodes: SlotQueue;
}

/** Creates the slots of a gateway with the `limits` of its file. */
export function runSlots(limits: { readonly model_calls: number; readonly flow_nodes: number }): RunSlots {
  return {
    modelCalls: new SlotQueue(limits.model_calls, MAX_WAITING_STEPS),
    flowNodes: new SlotQueue(limits.flow_nodes, MAX_WAITING_STEPS),
  };
}

interface KindOfStep {
  readonly name: string;
  readonly setting: string;
}

const kinds: Readonly<Record<keyof RunSlots, KindOfStep>> = {
  modelCalls: { name: 'model call', setting: 'limits.model_calls' },
  flowNodes: { name: 'flow node', setting: 'limits.flow_nodes' },
};

/** No slot was free in time. The step has not begun. */
export class NoSlotError extends HandlerError {
  constructor(kind: keyof RunSlots, { in_flight, limit }: SlotFigures) {
    const { name, setting } = kinds[kind];
    super(`no slot was free for a ${name}: ${in_flight} of ${limit} are in use (${setting})`, {
      isRateLimited: true,
      retryAfterMs: PAUSE_MS * (1 + Math.random()),
    });
  }
  override get name(): string {
    return 'NoSlotError';
  }
}

/** Acquires a slot for a step of the job. Rejects with NoSlotError, or with the reason of the signal. */
export async function acquireSlot(
  slots: RunSlots,
  kind: keyof RunSlots,
  { trigger, agent }: Pick<Job, 'trigger' | 'agent'>,
  context: Pick<HandlerContext, 'signal' | 'remainingMs' | 'reportRetry'>,
): Promise<ReleaseSlot> {
  const { name, setting } = kinds[kind];
  const waitMs = Math.min(MAX_WAIT_MS, context.remainingMs / 2);
  const endAt = performance.now() + waitMs;
  const report = () => {
    const remainingMs = Math.max(0, Math.round(endAt - performance.now()));
    context.reportRetry(`a ${name} waits for a slot (${setting})`, remainingMs);
  };
  let reports: NodeJS.Timeout | undefined;
  try {
    const slot = await slots[kind].acquire({
      holders: [`trigger ${trigger}`, `target ${agent}`],
      signal: context.signal,
      waitMs,
      onWait: () => {
        report();
        // For clients that watch the run later.
        reports = setInterval(report, REPORT_EVERY_MS);
      },
    });
    if (slot === undefined) throw new NoSlotError(kind, slots[kind].figures);
    await turns.run(() => {});
    return slot;
  } finally {
    clearInterval(reports);
  }
}

/** Parks a part of a run until the next try. */
export const parkForSlot = ({ retryAfterMs, message }: NoSlotError): Parked => ({
  parkedOn: 'a slot',
  wakeInMs: retryAfterMs,
  isForSlot: true,
  note: message,
});
