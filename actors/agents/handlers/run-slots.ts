// Slots for the model calls and flow nodes of all runs (base/bounds/slot-queue.ts). A step waits a short time
// for its slot, because its run uses a conversation slot meanwhile. Then an agent's event is deferred in the
// store, and a part of a run parks. A model provider has a share too: if it hangs, the agents that use it
// cannot take the slots of agents with other providers.

import type { LimitUsage } from '../../base/bounds/limit-usage.ts';
import { type ReleaseSlot, SlotQueue } from '../../base/bounds/slot-queue.ts';
import { WorkTurns } from '../../base/time/work-turns.ts';
import { HandlerError, type Job } from './handler.ts';
import type { HandlerContext } from './handler-context.ts';
import type { Parked } from './parked.ts';

/** Maximum number of steps that wait for a slot in memory, per kind. */
const MAX_WAITING_STEPS = 4_096;
/** Maximum time in the queue. */
const MAX_WAIT_MS = 30_000;
/**
 * Maximum time in the queue if the provider has no slot. Short, because the provider possibly hangs, and all
 * waiting runs together could use the conversation slots of others.
 */
const MAX_PROVIDER_WAIT_MS = 1_000;
const REPORT_EVERY_MS = 2_000;
/** Pause before the next try. */
const PAUSE_MS = 5_000;

/** Turns of the event loop in which steps begin. */
const turns = new WorkTurns();

/** Slots by kind of step. */
export interface RunSlots {
  readonly modelCalls: SlotQueue;
  readonly flowNodes: SlotQueue;
  /**
   * Returns the holder of a provider's share; undefined if all agents use a single provider, which may then
   * use all slots.
   */
  providerHolder(provider: string): string | undefined;
}

/** Creates the slots of a gateway with the `limits` of its file. */
export function runSlots(
  limits: { readonly model_calls: number; readonly flow_nodes: number },
  hasSeveralProviders: () => boolean = () => true,
): RunSlots {
  return {
    providerHolder: (provider) => (hasSeveralProviders() ? `provider ${provider}` : undefined),
    modelCalls: new SlotQueue(limits.model_calls, MAX_WAITING_STEPS),
    flowNodes: new SlotQueue(limits.flow_nodes, MAX_WAITING_STEPS),
  };
}

type SlotKind = 'modelCalls' | 'flowNodes';

interface KindOfStep {
  readonly name: string;
  readonly setting: string;
}

const kinds: Readonly<Record<SlotKind, KindOfStep>> = {
  modelCalls: { name: 'model call', setting: 'limits.model_calls' },
  flowNodes: { name: 'flow node', setting: 'limits.flow_nodes' },
};

/** No slot was free in time. The step has not begun. */
export class NoSlotError extends HandlerError {
  constructor(kind: SlotKind, { used, max, holders: [largest] }: LimitUsage) {
    const { name, setting } = kinds[kind];
    const holder = largest === undefined ? '' : `, ${largest.used} by ${largest.name}`;
    super(`no slot was free for a ${name}: ${used} of ${max} are in use${holder} (${setting})`, {
      isRateLimited: true,
      retryAfterMs: PAUSE_MS * (1 + Math.random()),
    });
  }
  override get name(): string {
    return 'NoSlotError';
  }
}

/** Holders of the slot for a step. */
export interface StepHolders extends Pick<Job, 'trigger' | 'agent'> {
  /** Provider of a model call. */
  readonly provider?: string | undefined;
}

/** Acquires a slot for a step of the job. Rejects with NoSlotError, or with the reason of the signal. */
export async function acquireSlot(
  slots: RunSlots,
  kind: SlotKind,
  { trigger, agent, provider }: StepHolders,
  context: Pick<HandlerContext, 'signal' | 'remainingMs' | 'reportRetry'>,
): Promise<ReleaseSlot> {
  const { name, setting } = kinds[kind];
  const providerHolder = provider === undefined ? undefined : slots.providerHolder(provider);
  const isProviderBusy = providerHolder !== undefined && !slots[kind].hasSlot(providerHolder);
  const maxWaitMs = isProviderBusy ? MAX_PROVIDER_WAIT_MS : MAX_WAIT_MS;
  const waitMs = Math.min(maxWaitMs, context.remainingMs / 2);
  const endAt = performance.now() + waitMs;
  const report = () => {
    const remainingMs = Math.max(0, Math.round(endAt - performance.now()));
    context.reportRetry(`a ${name} waits for a slot (${setting})`, remainingMs);
  };
  let reports: NodeJS.Timeout | undefined;
  try {
    const slot = await slots[kind].acquire({
      holders: [
        `trigger ${trigger}`,
        `target ${agent}`,
        ...(providerHolder === undefined ? [] : [providerHolder]),
      ],
      signal: context.signal,
      waitMs,
      onWait: () => {
        report();
        // For clients that watch the run later.
        reports = setInterval(report, REPORT_EVERY_MS);
      },
    });
    if (slot === undefined) throw new NoSlotError(kind, slots[kind].usage);
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
