// Runs for operators, and manual requests to agents, fleets and flows; used by the API and the CLI. A run is
// a delivery with a journal. Manual requests to agents that write no journal are also shown as runs.

import { randomUUID } from 'node:crypto';
import type { Flow } from '../../../config/resources/flows/flow.ts';
import { type Target, targetText } from '../../../config/resources/triggers/target.ts';
import type { ManualTrigger } from '../../../config/resources/triggers/trigger.ts';
import { ConflictError, InvalidQueryError, NotFoundError } from '../../base/errors/errors.ts';
import type { Redactor } from '../../base/errors/redact.ts';
import { redactJson } from '../../base/errors/redacted-json.ts';
import type { DeliveryControl } from '../../events/inbox/delivery-control.ts';
import type { Principal } from '../../identity/principal.ts';
import { manualEvent } from '../../platforms/manual/event.ts';
import { INBOUND, type NewEvent } from '../../store/event.ts';
import type { RunFilter, Step } from '../../store/run.ts';
import type { Store } from '../../store/store.ts';
import { checkParameters } from './check-parameters.ts';
import { conversationOf } from './conversation-key.ts';
import type { LiveReply, RunFeed, RunNews, WatchHolders } from './feed.ts';
import { JournalViews } from './journal-views.ts';
import type { RunParts } from './part-progress.ts';
import type { RunRequest, StepsQuery } from './query.ts';
import { type RunAnswer, type RunView, runView, viewWithoutJournal } from './run-view.ts';
import { hasEnded, waitsFor } from './state.ts';
import type { StepView } from './step-shape.ts';
import { rowOf } from './step-view.ts';
import { type RunReader, RunWatch } from './watch.ts';

/** Targets in use. */
interface TargetLookup {
  readonly loaded: { readonly flows: readonly Flow[] };
  /** Returns a target's built-in manual trigger; undefined for unknown targets. */
  builtInTriggerOf(target: Target): ManualTrigger | undefined;
}

export interface RunsHost {
  readonly store: Pick<Store, 'delivery' | 'run' | 'runs' | 'steps' | 'approvals' | 'now'>;
  readonly deliveries: Pick<DeliveryControl, 'accept' | 'cancel' | 'discard' | 'requeue'>;
  readonly feed: RunFeed;
  readonly targets: TargetLookup;
  readonly gateway: { readonly redactor: Redactor };
}

export interface StepPage {
  readonly steps: readonly (StepView | RawStep)[];
  /** Start of the next page; undefined for the last page. */
  readonly nextAfter: number | undefined;
}

/** Journal row as stored, redacted. */
export interface RawStep {
  readonly n: number;
  readonly at: number;
  readonly row: unknown;
}

export interface RunOrigin {
  readonly trace: string;
  readonly principal: Principal;
  /** A repeated request with this key returns the same run. */
  readonly idempotencyKey?: string | undefined;
}

/** Limit of steps per page. */
const MAX_STEPS = 500;
/** Size limit for a page of raw rows, in UTF-16 units; the last row may exceed it. */
const MAX_RAW_CHARS = 1024 * 1024;
const CANCEL_NOTE = 'cancelled by an operator';

export class Runs {
  readonly #host: RunsHost;
  readonly #views: JournalViews;

  constructor(host: RunsHost) {
    this.#host = host;
    this.#views = new JournalViews(host.store, host.gateway.redactor);
  }

  async list(
    filter: RunFilter,
  ): Promise<{ readonly runs: readonly RunView[]; readonly beforeSeq: number | undefined }> {
    const { runs, beforeSeq } = await this.#host.store.runs(filter);
    return { runs: runs.map(runView), beforeSeq };
  }

  /** Rejects with NotFoundError for unknown ids. */
  async run(id: string): Promise<RunView> {
    const { store } = this.#host;
    const run = await store.run(id);
    if (run !== undefined) return runView(run);
    const delivery = await store.delivery(id);
    const conversation = delivery && conversationOf(delivery.key);
    if (conversation !== undefined && delivery?.kind === INBOUND)
      return viewWithoutJournal(delivery, conversation.target);
    const quotedId = JSON.stringify(id.slice(0, 200));
    throw new NotFoundError(
      delivery === undefined
        ? `there is no run ${quotedId}; GET /runs lists the runs within the retention time`
        : `${quotedId} is a delivery without a journal, not a run; see GET /deliveries`,
    );
  }

  /** Returns true if the delivery has a journal. */
  async hasJournal(id: string): Promise<boolean> {
    return (await this.#host.store.run(id)) !== undefined;
  }

  async answer(id: string): Promise<RunAnswer> {
    return this.#withAnswer(await this.run(id));
  }

  async steps(id: string, { isRaw, after }: StepsQuery): Promise<StepPage> {
    if (isRaw) return this.#rawSteps(id, after);
    const { steps } = await this.#views.of(id);
    // Row numbers have no gaps.
    const page = steps.slice(after, after + MAX_STEPS);
    const hasMore = steps.length > after + page.length;
    return { steps: page, nextAfter: hasMore ? after + page.length : undefined };
  }

  async #rawSteps(id: string, after: number): Promise<StepPage> {
    const { store, gateway } = this.#host;
    const steps: RawStep[] = [];
    let remainingChars = MAX_RAW_CHARS;
    let lastRead = after;
    for (;;) {
      const page = await store.steps(id, lastRead);
      if (page.length === 0) return { steps, nextAfter: undefined };
      for (const step of page) {
        if (steps.length >= MAX_STEPS || remainingChars <= 0) return { steps, nextAfter: lastRead };
        lastRead = step.n;
        steps.push(rawStep(step, gateway.redactor));
        remainingChars -= step.text.length;
      }
    }
  }

  /** Returns the progress of nodes or members; empty unless the run is a flow or fleet. */
  async parts({ delivery: { id }, kind, state }: RunView): Promise<RunParts> {
    if (kind !== 'flow' && kind !== 'fleet') return {};
    const { parts } = await this.#views.of(id);
    return parts.list(hasEnded(state));
  }

  /** Rejects with ConflictError for a run that has finished. */
  async cancel(id: string): Promise<RunView> {
    const { deliveries } = this.#host;
    const { state } = await this.run(id);
    const isCancelled =
      !hasEnded(state) &&
      ((await deliveries.cancel(id, CANCEL_NOTE)) || (await deliveries.discard(id, CANCEL_NOTE)));
    if (!isCancelled)
      throw new ConflictError(`the run is ${(await this.run(id)).state}; it cannot be cancelled`);
    return this.run(id);
  }

  /** Resumes a failed or cancelled run. Rejects with ConflictError for other states. */
  async retry(id: string): Promise<RunView> {
    const { state } = await this.run(id);
    const canResume = state === 'failed' || state === 'cancelled';
    if (!canResume || !(await this.#host.deliveries.requeue(id, { keepsJournal: true })))
      throw new ConflictError(
        `the run is ${state}; only a failed or cancelled run can be resumed; "deliveries replay" starts a new one`,
      );
    return this.run(id);
  }

  /** Starts a run, and returns its result or, after `waitSeconds`, the answer so far. */
  async start(target: Target, request: RunRequest, origin: RunOrigin): Promise<RunAnswer> {
    const event = this.#eventFor(target, request, origin);
    const { waitSeconds } = request;
    if (waitSeconds === 0) {
      await this.#accept(event);
      return this.answer(event.id);
    }
    const waiting = new AbortController();
    const endsAt = performance.now() + waitSeconds * 1000;
    const remainingMs = () => Math.max(0, endsAt - performance.now());
    const holders = { trigger: targetText(target), principal: origin.principal };
    const next = () => this.#waitForEnd(event.id, holders, remainingMs(), waiting.signal);
    let outcome = next();
    try {
      const isNew = await this.#accept(event);
      // Each wait is registered before the state is checked, so that no change is missed. A repeated request
      // starts with the check, because its run may have finished.
      for (let isWaiting = isNew; ; isWaiting = !isWaiting) {
        const reply = isWaiting ? await outcome : undefined;
        const current = await this.answer(event.id);
        // The record contains only the beginning of long answers, and no data.
        if (current.state === 'done' && reply !== undefined)
          return { ...current, answer: reply.text, data: reply.data ?? current.data };
        if (hasEnded(current.state) || remainingMs() === 0) return current;
        if (!mayFinishBy(current, this.#host.store.now() + remainingMs())) return current;
        if (isWaiting) outcome = next();
      }
    } finally {
      waiting.abort();
    }
  }

  /** Starts a run and streams the events to a reader. The run continues if the reader disconnects. */
  async startAndWatch(
    target: Target,
    request: RunRequest,
    origin: RunOrigin,
    begin: () => RunReader,
  ): Promise<RunWatch> {
    const event = this.#eventFor(target, request, origin);
    const holders = { trigger: targetText(target), principal: origin.principal };
    const watch = new RunWatch(this.#watchHost(), event.id, holders);
    try {
      await this.#accept(event);
      await watch.begin(await this.run(event.id), begin);
      return watch;
    } catch (error) {
      watch.close();
      throw error;
    }
  }

  /** Streams a run's past and future events to a reader. */
  async watch(id: string, principal: Principal, begin: () => RunReader): Promise<RunWatch> {
    const run = await this.run(id);
    const watch = new RunWatch(this.#watchHost(), id, { trigger: `${run.kind} ${run.name}`, principal });
    try {
      await watch.begin(await this.run(id), begin);
      return watch;
    } catch (error) {
      watch.close();
      throw error;
    }
  }

  /** Throws NotFoundError for unknown targets, and InvalidQueryError for invalid parameters. */
  #eventFor(target: Target, request: RunRequest, { trace, principal, idempotencyKey }: RunOrigin): NewEvent {
    const { targets } = this.#host;
    const trigger = targets.builtInTriggerOf(target);
    if (trigger === undefined)
      throw new NotFoundError(
        `there is no ${target.kind} ${JSON.stringify(target.name.slice(0, 64))}; GET /${target.kind}s lists them`,
      );
    const flow =
      target.kind === 'flow' ? targets.loaded.flows.find(({ name }) => name === target.name) : undefined;
    if (flow !== undefined) checkParameters(flow, request.parameters);
    if (idempotencyKey !== undefined && !/^[\x20-\x7e]{1,255}$/.test(idempotencyKey))
      throw new InvalidQueryError('Idempotency-Key should be 1 to 255 printable characters');
    const id = idempotencyKey === undefined ? randomUUID() : `${trigger.name}/${idempotencyKey}`;
    const { user, session = randomUUID() } = request;
    const run = { command: '', input: request.parameters, text: request.input, isConfirmed: true, user };
    const event = manualEvent(trigger, run, { id, trace, principal, session });
    // A repeated request does not restart a failed run; "runs retry" does.
    return { ...event, isOnce: true };
  }

  /** Returns false for duplicates. Rejects with ConflictError if the contents differ. */
  async #accept(event: NewEvent): Promise<boolean> {
    // Accepting a large event transfers its buffer, so a copy is compared.
    const body = Buffer.from(event.body);
    const { outcome } = await this.#host.deliveries.accept(event);
    if (outcome !== 'duplicate') return true;
    const before = await this.#host.store.delivery(event.id);
    if (before !== undefined && !body.equals(before.body))
      throw new ConflictError('this Idempotency-Key was used for a different request; use a new key');
    return false;
  }

  /**
   * Resolves when the run has finished or is parked, or after the timeout. Throws OverloadedError if there
   * are too many watchers.
   */
  #waitForEnd(
    id: string,
    holders: WatchHolders,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<LiveReply | undefined> {
    let end: (reply?: LiveReply) => void = () => {};
    const outcome = new Promise<LiveReply | undefined>((resolve) => {
      end = resolve;
    });
    const stop = this.#host.feed.watch(id, holders, (news: RunNews) => {
      if (news.kind === 'settled') end(news.reply);
      else if (news.kind === 'closed') end();
    });
    const timer = setTimeout(end, timeoutMs);
    signal.addEventListener('abort', () => end(), { once: true });
    return outcome.finally(() => {
      clearTimeout(timer);
      stop();
    });
  }

  async #withAnswer(run: RunView): Promise<RunAnswer> {
    const { id, answer } = run.delivery;
    const endRow =
      run.state === 'done' && run.stepCount > 0 ? await this.#endRow(id, run.stepCount) : undefined;
    return { ...run, answer: endRow?.text ?? answer, data: endRow?.data };
  }

  /** Returns a finished journal's last row. */
  async #endRow(id: string, count: number) {
    const [step] = await this.#host.store.steps(id, count - 1);
    const row = step && rowOf(step);
    return row?.kind === 'ended' ? row : undefined;
  }

  #watchHost() {
    const { store, feed, gateway } = this.#host;
    return { store, feed, redactor: gateway.redactor, answer: (id: string) => this.answer(id) };
  }
}

/** Returns false if the run needs an approval, or resumes only after `endsAt` (epoch ms). */
function mayFinishBy({ state, delivery }: RunView, endsAt: number): boolean {
  if (state !== 'waiting') return true;
  return waitsFor(delivery) === 'timer' && (delivery.until ?? Number.POSITIVE_INFINITY) < endsAt;
}

function rawStep({ n, at, text }: Step, redactor: Redactor): RawStep {
  try {
    return { n, at, row: redactJson<unknown>(JSON.parse(text), (each) => redactor.redact(each)) };
  } catch {
    return { n, at, row: redactor.redact(text) };
  }
}
