// The calls of one answer, made side by side. Each result is in the journal as soon as it is there, and durable a moment later: what
// is known is not lost by another call that hangs.
//
// MK1  a call was `called` in the journal, durably, before it is made (R3 of the run: under the same key whenever it is repeated), and not
//      before it has its turn: what was never begun is made by the next attempt, whatever becomes of calls that may have happened.
// MK2 (A2)  each call ends once: by its answer, its deadline, or the end of the attempt; only the last leaves it without a result.

import type { JournalRow } from '../../../machines/agent-run/journal.ts';
import type { PlannedCall } from '../../../machines/agent-run/plan.ts';
import { DeadlineError, GatewayError } from '../../base/errors/errors.ts';
import { RpcFault } from '../../mcp/jsonrpc/rpc-fault.ts';
import { isParked, type Parked } from '../handlers/parked.ts';
import type { RunJournal } from './run-journal.ts';
import type { ShownProgress } from './shown-progress.ts';
import { boundedText } from './tool-answer.ts';
import type { AllTools } from './tool-box.ts';

export interface CallsHost {
  readonly journal: RunJournal;
  readonly tools: AllTools;
  readonly shown: ShownProgress;
  /** Aborted when the attempt is over. */
  readonly signal: AbortSignal;
  readonly trace: string;
  /** Until the end of the attempt, in milliseconds. */
  leftMs(): number;
  keyOf(call: string): string;
}

type Result = Pick<Extract<JournalRow, { readonly kind: 'result' }>, 'text' | 'isError' | 'how'>;

/** Under way at a time. */
const SIDE_BY_SIDE = 8;
/** For so long a result is in memory only, while others are under way. */
const FLUSH_MS = 1_000;
/** So much is left of an attempt for what is to be done when a call has taken all of its time: a part of it, and at most so much. */
const REST_PART = 0.1;
const MAX_REST_MS = 2_000;

/**
 * Gives those that wait, and have no result before they are made again. Rejects when the attempt is over, and where the journal cannot
 * be written; in both cases when no call is under way any more.
 */
export async function makeCalls(calls: readonly PlannedCall[], host: CallsHost): Promise<readonly Parked[]> {
  const { journal, signal } = host;
  const waiting = calls.slice(SIDE_BY_SIDE);
  const first = calls.slice(0, SIDE_BY_SIDE);
  await begin(first, journal);
  const flushing = new Flushing(journal);
  const parked: Parked[] = [];
  const work = async (one: PlannedCall) => {
    for (let call: PlannedCall | undefined = one; call !== undefined && !signal.aborted; ) {
      const row = await resultOf(call, host);
      if (row === undefined) return;
      if ('parkedOn' in row) parked.push(row);
      else {
        journal.add(row);
        flushing.soon();
      }
      call = waiting.shift();
      if (call !== undefined && !signal.aborted) await begin([call], journal);
    }
  };
  const ends = await Promise.allSettled(first.map(work));
  await flushing.end(signal.aborted);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  signal.throwIfAborted();
  return parked;
}

/** What waits for its turn is not begun: it has certainly not happened. */
function begin(calls: readonly PlannedCall[], journal: RunJournal): Promise<void> {
  const row = ({ id, isRepeated }: PlannedCall): JournalRow =>
    isRepeated ? { kind: 'called', id, isRepeated } : { kind: 'called', id };
  // What goes on where it was is begun once.
  const begun = calls.filter(({ isRepeated, tool }) => !isRepeated || tool.hints.goesOn !== true);
  journal.add(...begun.map(row));
  return journal.flush();
}

/** Undefined: the attempt has ended meanwhile, and nobody knows. */
async function resultOf(call: PlannedCall, host: CallsHost): Promise<JournalRow | Parked | undefined> {
  const { signal, shown, tools, trace } = host;
  const { id, tool, args } = call;
  const name = `${tool.server}/${tool.tool}`;
  const left = host.leftMs();
  const timeoutMs = Math.max(1, Math.floor(left - Math.min(left * REST_PART, MAX_REST_MS)));
  const startedAt = performance.now();
  shown.begun(id, name);
  const onProgress = (says: string) => shown.says(id, name, says);
  let result: Result | undefined;
  try {
    const answer = await unlessAborted(
      tools.call(tool, args, { key: host.keyOf(id), signal, timeoutMs, trace, onProgress }),
      signal,
    );
    if (isParked(answer)) return answer;
    result = { ...answer, how: 'called' };
  } catch (error) {
    if (!signal.aborted) result = bounded(failed(error, timeoutMs));
  } finally {
    shown.ended(id);
  }
  if (result === undefined) return undefined;
  const { text, isError, how } = result;
  return { kind: 'result', id, text, isError, how, tookMs: Math.round(performance.now() - startedAt) };
}

/** A program that does not hear of its end is not waited for. */
function unlessAborted<T>(made: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    made.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/** What the model is told of a call without an answer. */
function failed(error: unknown, timeoutMs: number): Result {
  if (error instanceof RpcFault)
    return { text: `The call failed: ${error.message}`, isError: true, how: 'called' };
  if (error instanceof GatewayError && error.isUnsent)
    return { text: `Not called: ${error.message}`, isError: true, how: 'refused' };
  const said = error instanceof Error ? error.message : String(error);
  const why = error instanceof DeadlineError ? `there was no answer within ${timeoutMs} ms` : said;
  return {
    text: `No result is known: ${why}. The call may have happened.`,
    isError: true,
    how: 'interrupted',
  };
}

/** The words may be those of a server. */
const bounded = (result: Result): Result => ({ ...result, text: boundedText(result.text) });

/** Writes results that have waited long enough for others. */
class Flushing {
  readonly #journal: RunJournal;
  #timer: NodeJS.Timeout | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(journal: RunJournal) {
    this.#journal = journal;
  }

  soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#journal.flush().catch((error: unknown) => {
        this.#failure ??= { error };
      });
    }, FLUSH_MS);
  }

  /** Rejects where rows could not be written. `isNow`: the attempt ends, and nobody writes the last of them later. */
  async end(isNow: boolean): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#failure !== undefined) throw this.#failure.error;
    if (isNow) await this.#journal.flush();
  }
}
