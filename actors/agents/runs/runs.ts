// The runs for an operator, and agents, fleets and flows that are asked without a trigger of a file. The API and the commands go through here.
//
// A run is a delivery with a journal; what an agent was asked here is shown like one even where it has none.

import { randomUUID } from 'node:crypto';
import type { Flow } from '../../../config/resources/flows/flow.ts';
import { type Target, targetText } from '../../../config/resources/triggers/target.ts';
import type { ManualTrigger } from '../../../config/resources/triggers/trigger.ts';
import { ConflictError, InvalidQueryError, NotFoundError } from '../../base/errors/errors.ts';
import type { Redactor } from '../../base/errors/redact.ts';
import { redactedJson } from '../../base/errors/redacted-json.ts';
import type { DeliveryControl } from '../../events/inbox/delivery-control.ts';
import type { Principal } from '../../identity/principal.ts';
import { manualEvent } from '../../platforms/manual/event.ts';
import { INBOUND, type NewEvent } from '../../store/event.ts';
import type { RunFilter, Step } from '../../store/run.ts';
import type { Store } from '../../store/store.ts';
import { PartsOfRun, type RunParts } from './parts-of-run.ts';
import { conversationOf } from './run-conversation.ts';
import type { LiveReply, RunFeed, RunNews } from './run-feed.ts';
import { checkParameters } from './run-parameters.ts';
import type { RunRequest, StepsQuery } from './run-query.ts';
import { hasEnded, waitsFor } from './run-state.ts';
import { type RunReader, RunWatch } from './run-watch.ts';
import { type RunAnswer, type ShownRun, shownRun, withoutJournal } from './shown-run.ts';
import { rowOf, ShownSteps } from './shown-step.ts';
import type { ShownStep } from './step-for-people.ts';

/** The targets in use. */
interface TargetLookup {
  readonly loaded: { readonly flows: readonly Flow[] };
  /** Returns the trigger that every target has; undefined for an unknown target. */
  triggerOf(target: Target): ManualTrigger | undefined;
}

export interface RunsHost {
  readonly store: Pick<Store, 'delivery' | 'run' | 'runs' | 'steps' | 'approvals'>;
  readonly deliveries: Pick<DeliveryControl, 'accept' | 'cancel' | 'discard' | 'requeue'>;
  readonly feed: RunFeed;
  readonly targets: TargetLookup;
  readonly gateway: { readonly redactor: Redactor };
}

export interface StepPage {
  readonly steps: readonly (ShownStep | RawStep)[];
  /** Where to go on; undefined at the end. */
  readonly nextAfter: number | undefined;
}

/** A row as it is stored, without secrets. */
export interface RawStep {
  readonly n: number;
  readonly at: number;
  readonly row: unknown;
}

export interface RunOrigin {
  readonly trace: string;
  readonly principal: Principal;
  /** Who asks again under it is told of the same run. */
  readonly idempotencyKey?: string | undefined;
}

const MAX_STEPS = 500;
/** Of rows as they are stored, in UTF-16 units; one may go beyond. */
const MAX_RAW = 4 * 1024 * 1024;
const CANCELLED = 'cancelled by an operator';

export class Runs {
  readonly #host: RunsHost;

  constructor(host: RunsHost) {
    this.#host = host;
  }

  async list(
    filter: RunFilter,
  ): Promise<{ readonly runs: readonly ShownRun[]; readonly beforeSeq: number | undefined }> {
    const { runs, beforeSeq } = await this.#host.store.runs(filter);
    return { runs: runs.map(shownRun), beforeSeq };
  }

  /** Rejects with NotFoundError for what is no run. */
  async run(id: string): Promise<ShownRun> {
    const { store } = this.#host;
    const run = await store.run(id);
    if (run !== undefined) return shownRun(run);
    const delivery = await store.delivery(id);
    const asked = delivery && conversationOf(delivery.key);
    if (asked !== undefined && delivery?.kind === INBOUND) return withoutJournal(delivery, asked.target);
    const shown = JSON.stringify(id.slice(0, 200));
    throw new NotFoundError(
      delivery === undefined
        ? `there is no run ${shown}; GET /runs lists them, and their records end with the retention time`
        : `${shown} is a delivery without a journal, so no run; GET /deliveries has it`,
    );
  }

  /** Returns true if the delivery has a journal. */
  async hasJournal(id: string): Promise<boolean> {
    return (await this.#host.store.run(id)) !== undefined;
  }

  async answer(id: string): Promise<RunAnswer> {
    return this.#answered(await this.run(id));
  }

  async steps(id: string, { isRaw, after }: StepsQuery): Promise<StepPage> {
    const { store, gateway } = this.#host;
    const readable = new ShownSteps((text, most) => gateway.redactor.excerpt(text, most));
    const steps: (ShownStep | RawStep)[] = [];
    let room = MAX_RAW;
    // What a call was stands in an earlier row.
    let read = isRaw ? after : 0;
    for (;;) {
      const page = await store.steps(id, read);
      if (page.length === 0) return { steps, nextAfter: undefined };
      for (const step of page) {
        if (steps.length >= MAX_STEPS || room <= 0) return { steps, nextAfter: read };
        read = step.n;
        const shown = isRaw ? rawStep(step, gateway.redactor) : readable.next(step);
        if (step.n <= after) continue;
        steps.push(shown);
        if (isRaw) room -= step.text.length;
      }
    }
  }

  /** How far the nodes of a flow have come, or the members of a fleet; empty for any other run. */
  async parts({ delivery: { id }, kind, state }: ShownRun): Promise<RunParts> {
    if (kind !== 'flow' && kind !== 'fleet') return {};
    const { store, gateway } = this.#host;
    const parts = new PartsOfRun((text, most) => gateway.redactor.excerpt(text, most));
    for (let read = 0; ; ) {
      const page = await store.steps(id, read);
      for (const step of page) parts.add(step);
      const last = page.at(-1);
      if (last === undefined) return parts.list(hasEnded(state));
      read = last.n;
    }
  }

  /** Rejects with ConflictError for one that has ended. */
  async cancel(id: string): Promise<ShownRun> {
    const { deliveries } = this.#host;
    const { state } = await this.run(id);
    const isDone =
      !hasEnded(state) &&
      ((await deliveries.cancel(id, CANCELLED)) || (await deliveries.discard(id, CANCELLED)));
    if (!isDone)
      throw new ConflictError(`the run is ${(await this.run(id)).state}; there is nothing to cancel`);
    return this.run(id);
  }

  /** Has one that failed, or was cancelled, go on where it was. Rejects with ConflictError for any other. */
  async retry(id: string): Promise<ShownRun> {
    const { state } = await this.run(id);
    const mayGoOn = state === 'failed' || state === 'cancelled';
    if (!mayGoOn || !(await this.#host.deliveries.requeue(id, { keepsJournal: true })))
      throw new ConflictError(
        `the run is ${state}; one that failed or was cancelled goes on, and "deliveries replay" begins another`,
      );
    return this.run(id);
  }

  /** Has somebody answer, and tells how far it has come, at the latest after `waitSeconds`. */
  async ask(target: Target, request: RunRequest, origin: RunOrigin): Promise<RunAnswer> {
    const event = this.#eventFor(target, request, origin);
    const { waitSeconds } = request;
    if (waitSeconds === 0) {
      await this.#accept(event);
      return this.answer(event.id);
    }
    const waiting = new AbortController();
    const endsAt = performance.now() + waitSeconds * 1000;
    const leftMs = () => Math.max(0, endsAt - performance.now());
    const next = () => this.#settled(event.id, targetText(target), leftMs(), waiting.signal);
    let settled = next();
    try {
      const isNew = await this.#accept(event);
      for (let isAwaited = isNew; ; isAwaited = !isAwaited) {
        const reply = isAwaited ? await settled : undefined;
        const now = await this.answer(event.id);
        // The record has no more than the beginning of a long answer, and nothing that came beside it.
        if (now.state === 'done' && reply !== undefined)
          return { ...now, answer: reply.text, data: reply.data ?? now.data };
        if (hasEnded(now.state) || leftMs() === 0 || !goesOnWithin(now, leftMs())) return now;
        // It is looked at once more before that is waited for: it may have gone on meanwhile.
        if (isAwaited) settled = next();
      }
    } finally {
      waiting.abort();
    }
  }

  /** The same, told to `reader` as it happens. Whoever goes away leaves the run as it is. */
  async askAndWatch(
    target: Target,
    request: RunRequest,
    origin: RunOrigin,
    begin: () => RunReader,
  ): Promise<RunWatch> {
    const event = this.#eventFor(target, request, origin);
    const watch = new RunWatch(this.#watchHost(), event.id, targetText(target));
    try {
      await this.#accept(event);
      await watch.begin(await this.run(event.id), begin);
      return watch;
    } catch (error) {
      watch.close();
      throw error;
    }
  }

  /** What there is of a run, and what happens in it from then on. */
  async watch(id: string, begin: () => RunReader): Promise<RunWatch> {
    const run = await this.run(id);
    const watch = new RunWatch(this.#watchHost(), id, `${run.kind} ${run.name}`);
    try {
      await watch.begin(await this.run(id), begin);
      return watch;
    } catch (error) {
      watch.close();
      throw error;
    }
  }

  /** Throws NotFoundError for somebody who is not there, and InvalidQueryError for parameters that the flow does not take. */
  #eventFor(target: Target, request: RunRequest, { trace, principal, idempotencyKey }: RunOrigin): NewEvent {
    const { targets } = this.#host;
    const trigger = targets.triggerOf(target);
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
    const { input: text, parameters: input, user, session = randomUUID() } = request;
    const run = { command: '', input, text, isConfirmed: true, user };
    const event = manualEvent(trigger, run, { id, trace, principal, session });
    // What has failed is told of as it is; "runs retry" has it go on.
    return { ...event, isOnce: true };
  }

  /** False where it had been accepted before. Rejects with ConflictError where that was something else. */
  async #accept(event: NewEvent): Promise<boolean> {
    // It is empty for us afterwards where it is large.
    const body = Buffer.from(event.body);
    const { outcome } = await this.#host.deliveries.accept(event);
    if (outcome !== 'duplicate') return true;
    const before = await this.#host.store.delivery(event.id);
    if (before !== undefined && !body.equals(before.body))
      throw new ConflictError('something else was asked under this Idempotency-Key; give each its own');
    return false;
  }

  /** Resolves when that run has ended or parks, or after the time. Throws OverloadedError when too many wait. */
  #settled(
    id: string,
    whom: string,
    timeoutMs: number,
    givenUp: AbortSignal,
  ): Promise<LiveReply | undefined> {
    let end: (reply?: LiveReply) => void = () => {};
    const settled = new Promise<LiveReply | undefined>((resolve) => {
      end = resolve;
    });
    const stop = this.#host.feed.watch(id, whom, (news: RunNews) => {
      if (news.kind === 'settled') end(news.reply);
      else if (news.kind === 'closed') end();
    });
    const timer = setTimeout(end, timeoutMs);
    givenUp.addEventListener('abort', () => end(), { once: true });
    return settled.finally(() => {
      clearTimeout(timer);
      stop();
    });
  }

  async #answered(run: ShownRun): Promise<RunAnswer> {
    const { id, answer } = run.delivery;
    const end = run.state === 'done' && run.stepCount > 0 ? await this.#end(id, run.stepCount) : undefined;
    return { ...run, answer: end?.text ?? answer, data: end?.data };
  }

  /** The last row of a journal that has come to its end. */
  async #end(id: string, count: number) {
    const [step] = await this.#host.store.steps(id, count - 1);
    const row = step && rowOf(step);
    return row?.kind === 'ended' ? row : undefined;
  }

  #watchHost() {
    const { store, feed, gateway } = this.#host;
    return { store, feed, redactor: gateway.redactor, answer: (id: string) => this.answer(id) };
  }
}

/** What waits for people, or for longer, is told of at once. */
function goesOnWithin({ state, delivery }: ShownRun, ms: number): boolean {
  if (state !== 'waiting') return true;
  return waitsFor(delivery) === 'timer' && (delivery.until ?? Number.POSITIVE_INFINITY) - Date.now() < ms;
}

function rawStep({ n, at, text }: Step, redactor: Redactor): RawStep {
  try {
    return { n, at, row: redactedJson<unknown>(JSON.parse(text), (each) => redactor.redact(each)) };
  } catch {
    return { n, at, row: redactor.redact(text) };
  }
}
