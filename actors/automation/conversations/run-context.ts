// What a handler is given for one attempt, and what becomes of an event that it parks.

import { randomUUID } from 'node:crypto';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { InProcessClient } from '../../client/in-process-client.ts';
import type { HandlerContext, Parked } from '../../handlers/handler-context.ts';
import type { Assignment, Effects, Outcome } from '../../inbox/work.ts';
import type { Log } from '../../log.ts';
import type { NewEvent, StoredEvent, Waker } from '../../store/store.ts';

/** The same for all handlers. */
export interface HandlerServices {
  readonly log: Log;
  readonly tools: InProcessClient;
}

export class RunContext implements HandlerContext {
  readonly signal: AbortSignal;
  readonly #assignment: Assignment;
  readonly #services: HandlerServices;
  readonly #endsAt: number;
  readonly #show: ((text: string) => void) | undefined;

  constructor(assignment: Assignment, services: HandlerServices, { signal, limitMs, show }: RunLimits) {
    this.signal = signal;
    this.#assignment = assignment;
    this.#services = services;
    this.#endsAt = performance.now() + limitMs;
    this.#show = show;
  }

  get leftMs(): number {
    return Math.max(0, this.#endsAt - performance.now());
  }

  get log(): Log {
    return this.#services.log;
  }

  get tools(): InProcessClient {
    return this.#services.tools;
  }

  get state(): string | undefined {
    return this.#assignment.event.state;
  }

  get woken(): Waker | undefined {
    return this.#assignment.event.woken;
  }

  checkpoint(state: string | null | undefined, effects?: Effects): Promise<void> {
    return this.#assignment.checkpoint(state, effects);
  }

  progress(text: string): void {
    this.#show?.(text);
  }
}

export interface RunLimits {
  readonly signal: AbortSignal;
  readonly limitMs: number;
  /** Undefined where the platform has nothing of that kind. */
  readonly show?: ((text: string) => void) | undefined;
}

/** The outcome of an attempt whose handler has parked the event, for `mostMs` at most. */
export function parkedOutcome(
  event: StoredEvent,
  { name }: Trigger,
  parked: Parked,
  mostMs = Number.POSITIVE_INFINITY,
): Outcome {
  const { parkedOn, holdsConversation: holdsKey, state, emit, note } = parked;
  const inMs = Math.min(parked.wakeInMs ?? mostMs, mostMs);
  const wakeInMs = Number.isFinite(inMs) ? inMs : undefined;
  const timers =
    wakeInMs === undefined ? [] : [{ id: timerOf(event), inMs: wakeInMs, event: alarm(event, parkedOn) }];
  return { kind: 'parked', trigger: name, parkedOn, holdsKey, state, emit, note, timers };
}

/** An event is parked once at a time. */
const timerOf = ({ id }: StoredEvent) => `wake ${id}`;

function alarm({ key, trace }: StoredEvent, wakes: string): NewEvent {
  // A later park of the same event needs another id, though it may be for the same name.
  return { id: `timer:${randomUUID()}`, key, kind: 'timer', wakes, meta: '', body: new Uint8Array(), trace };
}
