// Makes a model answer's tool calls concurrently. Each result is journaled immediately and durable soon
// after, so that a hanging call does not lose the other results. A durable row `called` precedes each call; a
// repetition uses the same key. If the attempt stops, calls without that row are left to the next attempt.
// Each call finishes once (A2, ARCHITECTURE.md): with an answer, at the deadline, or unfinished when the
// attempt stops.

import type { JournalRow } from '../../../machines/agent-run/journal.ts';
import type { PlannedCall } from '../../../machines/agent-run/plan.ts';
import { DeadlineError, GatewayError } from '../../base/errors/errors.ts';
import { RpcFault } from '../../mcp/jsonrpc/rpc-fault.ts';
import { isParked, type Parked } from '../handlers/parked.ts';
import type { ProgressText } from './progress-text.ts';
import type { RunJournal } from './run-journal.ts';
import type { AllTools } from './tool-box.ts';
import { limitText } from './tool-result.ts';

export interface CallsHost {
  readonly journal: RunJournal;
  readonly tools: AllTools;
  readonly progress: ProgressText;
  /** Aborted with the attempt. */
  readonly signal: AbortSignal;
  readonly trace: string;
  /** Returns the attempt's remaining milliseconds. */
  remainingMs(): number;
  keyOf(call: string): string;
}

type ResultRow = Extract<JournalRow, { readonly kind: 'result' }>;
type CallResult = Pick<ResultRow, 'text' | 'isError' | 'how' | 'images'>;

/** Limit of concurrent calls. */
const MAX_CONCURRENT = 8;
/** How long a result may be only in memory, while other calls run. */
const FLUSH_MS = 1_000;
/** Time reserved for later steps: a share of the remaining time, up to MAX_RESERVED_MS. */
const RESERVED_SHARE = 0.1;
const MAX_RESERVED_MS = 2_000;

/**
 * Makes all calls and journals their results. Returns the parked calls, which have no result yet. When the
 * attempt stops or the journal cannot be written, rejects after all calls have stopped.
 */
export async function makeCalls(calls: readonly PlannedCall[], host: CallsHost): Promise<readonly Parked[]> {
  const { journal, signal } = host;
  const waiting = calls.slice(MAX_CONCURRENT);
  const first = calls.slice(0, MAX_CONCURRENT);
  await writeCalledRows(first, journal);
  const flushing = new Flushing(journal);
  const waits: Parked[] = [];
  const work = async (firstCall: PlannedCall) => {
    for (let call: PlannedCall | undefined = firstCall; call !== undefined && !signal.aborted; ) {
      const row = await resultOf(call, host);
      if (row === undefined) return;
      if ('parkedOn' in row) waits.push(row);
      else {
        journal.add(row);
        flushing.soon();
      }
      call = waiting.shift();
      if (call !== undefined && !signal.aborted) await writeCalledRows([call], journal);
    }
  };
  const ends = await Promise.allSettled(first.map(work));
  await flushing.end(signal.aborted);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  signal.throwIfAborted();
  return waits;
}

/** Writes the rows `called`. Calls without this row were certainly not sent. */
function writeCalledRows(calls: readonly PlannedCall[], journal: RunJournal): Promise<void> {
  const row = ({ id, isRepeated }: PlannedCall): JournalRow =>
    isRepeated ? { kind: 'called', id, isRepeated } : { kind: 'called', id };
  // A tool with `goesOn` continues an interrupted call instead of starting it again, so one row is
  // sufficient.
  const newCalls = calls.filter(({ isRepeated, tool }) => !isRepeated || tool.hints.goesOn !== true);
  journal.add(...newCalls.map(row));
  return journal.flush();
}

/** Returns undefined if the attempt stopped and the outcome is unknown. */
async function resultOf(call: PlannedCall, host: CallsHost): Promise<ResultRow | Parked | undefined> {
  const { signal, progress, tools, trace } = host;
  const { id, tool, args } = call;
  const name = `${tool.server}/${tool.tool}`;
  const remaining = host.remainingMs();
  const reservedMs = Math.min(remaining * RESERVED_SHARE, MAX_RESERVED_MS);
  const timeoutMs = Math.max(1, Math.floor(remaining - reservedMs));
  const startedAt = performance.now();
  progress.beginCall(id, name);
  const onProgress = (message: string) => progress.reportCall(id, name, message);
  let result: CallResult | undefined;
  try {
    const answer = await unlessAborted(
      tools.call(tool, args, { key: host.keyOf(id), signal, timeoutMs, trace, onProgress }),
      signal,
    );
    if (isParked(answer)) return answer;
    const { text, isError, images } = answer;
    result = { text, isError, how: 'called', ...(images === undefined ? {} : { images }) };
  } catch (error) {
    if (!signal.aborted) result = boundResult(errorResult(error, timeoutMs));
  } finally {
    progress.endCall(id);
  }
  if (result === undefined) return undefined;
  const tookMs = Math.round(performance.now() - startedAt);
  return host.journal.withoutLargeImages({ kind: 'result', id, ...result, tookMs });
}

/** Rejects at the abort, because a server may ignore the cancellation. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/** Returns the result that the model gets for an unanswered call. */
function errorResult(error: unknown, timeoutMs: number): CallResult {
  if (error instanceof RpcFault)
    return { text: `The call failed: ${error.message}`, isError: true, how: 'called' };
  if (error instanceof GatewayError && error.isUnsent)
    return { text: `Not called: ${error.message}`, isError: true, how: 'refused' };
  const message = error instanceof Error ? error.message : String(error);
  const why = error instanceof DeadlineError ? `no answer within ${timeoutMs} ms` : message;
  return {
    text: `Outcome unknown: ${why}. The call may have happened.`,
    isError: true,
    how: 'interrupted',
  };
}

/** Limits the text, because servers can write it. */
const boundResult = (result: CallResult): CallResult => ({ ...result, text: limitText(result.text) });

/** Flushes the journal with a short delay, so that one write contains several results. */
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

  /**
   * Rejects if rows could not be written. `isNow`: the attempt finishes, so the last rows are written
   * immediately.
   */
  async end(isNow: boolean): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#failure !== undefined) throw this.#failure.error;
    if (isNow) await this.#journal.flush();
  }
}
