// Worker thread of the embedded store. A write that is synced to disk blocks its thread, so the main thread,
// which serves connections, must not write. All calls that have arrived run as one transaction; calls that
// arrive meanwhile form the next one. Results are posted after the commit, in call order.

import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { GatewayError, StoreFullError, StoreRecordError } from '../../base/errors/errors.ts';
import { RECORD_EVERY_MS } from '../sqlite/clock.ts';
import { copyDamagedLog } from '../sqlite/damaged-log-copy.ts';
import { SqliteEngine } from '../sqlite/engine.ts';
import type { StoreCall } from '../sync-store.ts';
import { commitGroup } from './group-commit.ts';
import { movableBuffers } from './message-transfer.ts';
import type { CallsMessage, SentError, SentResult, WorkerMessage, WorkerSettings } from './store-messages.ts';

/** Maximum number of calls per transaction, to limit the latency of the first. */
const MAX_GROUP_CALLS = 2_000;
/** Maximum timer duration if any event has a due date. Also limits how late a clock step is noticed. */
const MAX_TIMER_MS = RECORD_EVERY_MS;

if (parentPort === null) throw new Error('the store worker was started without a parent thread');
const port = parentPort;

let timer: NodeJS.Timeout | undefined;
/** Time of the last report of due events. */
let reportedUntil = 0;

const earlyReports: string[] = [];
/** Collects damage reports until the `opened` message was posted. */
let reportDamage = (what: string): void => void earlyReports.push(what);

const damage = copyDamagedLog((workerData as WorkerSettings).file);
const engine = open(workerData as WorkerSettings);
if (engine !== undefined) {
  port.on('message', (message: CallsMessage) => work(engine, message));
  post({ kind: 'opened', damage, migration: engine.migration, clockShiftMs: engine.clockShiftMs });
  reportDamage = (what) => post({ kind: 'damaged', what });
  earlyReports.forEach(reportDamage);
  onTimer(engine);
}

function open(settings: WorkerSettings): SqliteEngine | undefined {
  try {
    return new SqliteEngine({
      ...settings,
      now: Date.now,
      uptime: () => performance.now(),
      onDamage: (what) => reportDamage(what),
    });
  } catch (error) {
    post({ kind: 'refused', error: sentError(error) });
    return undefined;
  }
}

function work(engine: SqliteEngine, first: CallsMessage): void {
  const calls = [...first.calls];
  let isLast = first.close;
  while (!isLast && calls.length < MAX_GROUP_CALLS) {
    const more: CallsMessage | undefined = receiveMessageOnPort(port)?.message;
    if (more === undefined) break;
    for (const call of more.calls) calls.push(call);
    isLast = more.close;
  }
  if (calls.length > 0) runCalls(engine, calls);
  if (!isLast) return;
  clearTimeout(timer);
  engine.close();
  port.close();
}

function runCalls(engine: SqliteEngine, calls: readonly StoreCall[]): void {
  const moved: ArrayBuffer[] = [];
  const answers = commitGroup(engine, calls).map((callResult, index): SentResult => {
    if ('error' in callResult) return { error: sentError(callResult.error) };
    const { operation } = calls[index] as StoreCall;
    for (const memory of movableBuffers(operation, callResult.result)) moved.push(memory);
    return callResult;
  });
  const isDue = checkDue(engine);
  post({ kind: 'answers', answers, isWakeDue: engine.takeWake() || isDue }, moved);
}

function onTimer(engine: SqliteEngine): void {
  // A clock step makes events ready without a timer.
  const isDue = checkDue(engine);
  if (engine.takeWake() || isDue) post({ kind: 'wake' });
}

/** Returns true if any event became due since the last call. Sets the timer for the next due event. */
function checkDue(engine: SqliteEngine): boolean {
  clearTimeout(timer);
  followClock(engine);
  const now = Date.now();
  // The clock may have moved backwards meanwhile.
  const since = Math.min(reportedUntil, now);
  reportedUntil = now;
  const due = nextDue(engine, since);
  const isDue = due <= now;
  const next = isDue ? nextDue(engine, now) : due;
  if (next !== Number.POSITIVE_INFINITY)
    timer = setTimeout(onTimer, Math.max(1, Math.min(MAX_TIMER_MS, next - now)), engine);
  return isDue;
}

function followClock(engine: SqliteEngine): void {
  try {
    engine.followClock();
  } catch {
    // The file is not writable now. The next transaction reports the error.
  }
}

/** Returns the next due time, epoch milliseconds; Infinity if there is none. */
function nextDue(engine: SqliteEngine, after: number): number {
  try {
    return engine.nextDueAfter(after) ?? Number.POSITIVE_INFINITY;
  } catch {
    // The file is not readable now. Store calls report the error; this check must not end the thread.
    return after + MAX_TIMER_MS;
  }
}

function sentError(error: unknown): SentError {
  if (error instanceof GatewayError) return { code: error.code, message: error.message, kind: kindOf(error) };
  const name = error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.name) : typeof error;
  return { code: 'ERR_INTERNAL', message: `the store could not be opened: ${name}` };
}

function kindOf(error: GatewayError): SentError['kind'] {
  if (error instanceof StoreFullError) return 'full';
  return error instanceof StoreRecordError ? 'record' : undefined;
}

function post(message: WorkerMessage, moved: readonly ArrayBuffer[] = []): void {
  port.postMessage(message, moved);
}
