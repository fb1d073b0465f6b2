// Handler context of one attempt, and outcomes of handlers that park (parked.ts).

import { randomUUID } from 'node:crypto';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { RunApprovals } from '../../agents/approvals/run-approvals.ts';
import type { HandlerContext, RunClock, RunMessages } from '../../agents/handlers/handler-context.ts';
import type { Parked } from '../../agents/handlers/parked.ts';
import { parseStoredRow, type StoredRow, type StoredRows } from '../../agents/runs/stored-rows.ts';
import type { Audit } from '../../audit/audit-part.ts';
import type { Log } from '../../base/errors/log.ts';
import type { Assignment, Effects, WorkOutcome } from '../../events/inbox/work.ts';
import type { InProcessClient } from '../../mcp/clients/in-process-client.ts';
import type { NewEvent, StoredEvent, Waker } from '../../store/event.ts';

/** Shared by all handlers. */
export interface HandlerServices {
  readonly log: Log;
  /** Redacts secrets in a text. */
  redact(text: string): string;
  readonly tools: InProcessClient;
  /** Undefined without an audit. */
  readonly audit?: Pick<Audit, 'record' | 'refusal'> | undefined;
}

interface RunContextRecords {
  readonly rows: StoredRows;
  readonly clock: RunClock;
}

export class RunContext implements HandlerContext {
  readonly signal: AbortSignal;
  readonly approvals: RunApprovals;
  readonly messages: RunMessages;
  readonly clock: RunClock;
  readonly #assignment: Assignment;
  readonly #services: HandlerServices;
  readonly #endsAt: number;
  readonly #show: ((text: string) => void) | undefined;
  readonly #onRows: RunLimits['onRows'];
  readonly #onRetry: RunLimits['onRetry'];
  readonly #rows: StoredRows;
  /** Rows of this attempt. */
  readonly #steps: string[] = [];

  constructor(
    assignment: Assignment,
    services: HandlerServices,
    { signal, limitMs, show, onRows, onRetry }: RunLimits,
    { rows, clock }: RunContextRecords,
    { approvals, messages }: RunPeople,
  ) {
    this.signal = signal;
    this.approvals = approvals;
    this.messages = messages;
    this.#assignment = assignment;
    this.#rows = rows;
    this.clock = clock;
    this.#services = services;
    this.#endsAt = performance.now() + limitMs;
    this.#show = show;
    this.#onRows = onRows;
    this.#onRetry = onRetry;
  }

  get remainingMs(): number {
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

  get waker(): Waker | undefined {
    return this.#assignment.event.woken;
  }

  async steps(): Promise<readonly StoredRow[]> {
    const { id, steps = 0 } = this.#assignment.event;
    return [...(await this.#rows.of(id, steps)), ...this.#steps.map(parseStoredRow)];
  }

  async checkpoint(state: string | null | undefined, effects?: Effects): Promise<void> {
    await this.#assignment.checkpoint(state, effects);
    const { steps: rows = [] } = effects ?? {};
    if (rows.length === 0) return;
    const first = (this.#assignment.event.steps ?? 0) + this.#steps.length + 1;
    this.#steps.push(...rows);
    this.#onRows?.(first, rows);
  }

  progress(text: string): void {
    this.#show?.(text);
  }

  reportRetry(reason: string, inMs: number): void {
    this.#onRetry?.(this.#services.redact(reason), inMs);
  }
}

/** Services for communication with people. */
export interface RunPeople {
  readonly approvals: RunApprovals;
  readonly messages: RunMessages;
}

export interface RunLimits {
  readonly signal: AbortSignal;
  readonly limitMs: number;
  /** Shows the answer so far; undefined without a watcher or draft. */
  readonly show?: ((text: string) => void) | undefined;
  /** Called with durable journal rows; `first` is the number of the first one. */
  readonly onRows?: ((first: number, rows: readonly string[]) => void) | undefined;
  readonly onRetry?: ((reason: string, inMs: number) => void) | undefined;
}

/** Returns the outcome for a parked event; `mostMs` limits its wait. */
export function parkedOutcome(
  event: StoredEvent,
  { name }: Trigger,
  parked: Parked,
  mostMs = Number.POSITIVE_INFINITY,
): WorkOutcome {
  const { parkedOn, holdsConversation: holdsKey, state, effects, note } = parked;
  const inMs = Math.min(parked.wakeInMs ?? mostMs, mostMs);
  const wakeInMs = Number.isFinite(inMs) ? inMs : undefined;
  const timers =
    wakeInMs === undefined
      ? []
      : [{ id: timerOf(event), inMs: wakeInMs, event: timerEvent(event, parkedOn) }];
  return { ...effects, kind: 'parked', trigger: name, parkedOn, holdsKey, state, note, timers };
}

/** Returns the timer id. The event id makes it unique, because an event waits for one wake-up at a time. */
const timerOf = ({ id }: StoredEvent) => `wake ${id}`;

function timerEvent({ key, trace }: StoredEvent, wakes: string): NewEvent {
  // A later park of the same event needs a new id, even for the same name.
  return { id: `timer:${randomUUID()}`, key, kind: 'timer', wakes, meta: '', body: new Uint8Array(), trace };
}
