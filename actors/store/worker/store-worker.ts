// The worker thread of the embedded store: a write that is synced to disk blocks its thread, which must not be the one
// with the connections. Everything that has arrived when it looks is one transaction; while that commits the next group
// gathers.
//
// SW1  answers go out after the commit that makes them true (GC1), in the order of the calls.
// SW2  one timer, for the next thing that will be due; none while nothing will.

import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { GatewayError, StoreFullError } from '../../base/errors/errors.ts';
import type { LedgerCall } from '../ledger.ts';
import { NOTED_EVERY_MS } from '../sqlite/clock.ts';
import { SqliteEngine } from '../sqlite/engine.ts';
import { keptDamage } from '../sqlite/kept-log.ts';
import { commitTogether } from './group-commit.ts';
import { movableIn } from './message-transfer.ts';
import type { CallsMessage, SentError, SentResult, WorkerMessage, WorkerSettings } from './store-messages.ts';

/** Calls in one transaction: beyond that the first of them would wait too long. */
const CALLS_TOGETHER = 2_000;
/** While something waits for its time: also how soon a jump of the clock is noticed. */
const LONGEST_TIMER_MS = NOTED_EVERY_MS;

if (parentPort === null) throw new Error('the worker of the store was started by itself');
const port = parentPort;

let timer: NodeJS.Timeout | undefined;
/** What fell due until then was told. */
let toldUntil = 0;

const foundAtOpening: string[] = [];
/** That the file is open is said first. */
let tellDamage = (what: string): void => void foundAtOpening.push(what);

const damage = keptDamage((workerData as WorkerSettings).file);
const engine = open(workerData as WorkerSettings);
if (engine !== undefined) {
  port.on('message', (message: CallsMessage) => work(engine, message));
  post({ kind: 'opened', damage });
  tellDamage = (what) => post({ kind: 'damaged', what });
  foundAtOpening.forEach(tellDamage);
  onTimer(engine);
}

function open(settings: WorkerSettings): SqliteEngine | undefined {
  try {
    return new SqliteEngine({
      ...settings,
      now: Date.now,
      uptime: () => performance.now(),
      onDamage: (what) => tellDamage(what),
    });
  } catch (error) {
    post({ kind: 'refused', error: sentError(error) });
    return undefined;
  }
}

function work(ledger: SqliteEngine, first: CallsMessage): void {
  const calls = [...first.calls];
  let isLast = first.close;
  while (!isLast && calls.length < CALLS_TOGETHER) {
    const more: CallsMessage | undefined = receiveMessageOnPort(port)?.message;
    if (more === undefined) break;
    for (const call of more.calls) calls.push(call);
    isLast = more.close;
  }
  if (calls.length > 0) answer(ledger, calls);
  if (!isLast) return;
  clearTimeout(timer);
  ledger.close();
  port.close();
}

function answer(ledger: SqliteEngine, calls: readonly LedgerCall[]): void {
  const moved: ArrayBuffer[] = [];
  const answers = commitTogether(ledger, calls).map((given, index): SentResult => {
    if ('error' in given) return { error: sentError(given.error) };
    const { operation } = calls[index] as LedgerCall;
    for (const memory of movableIn(operation, given.result)) moved.push(memory);
    return given;
  });
  const hasFallenDue = isDue(ledger);
  post({ kind: 'answers', answers, isNews: ledger.takeWake() || hasFallenDue }, moved);
}

function onTimer(ledger: SqliteEngine): void {
  // What the jump of a clock has made ready was not awaited.
  const hasFallenDue = isDue(ledger);
  if (ledger.takeWake() || hasFallenDue) post({ kind: 'wake' });
}

/** Whether something has fallen due since this was last asked; sets the timer for the next thing that will. */
function isDue(ledger: SqliteEngine): boolean {
  clearTimeout(timer);
  keepTime(ledger);
  const now = Date.now();
  // The clock may have been set back meanwhile.
  const since = Math.min(toldUntil, now);
  toldUntil = now;
  const due = nextDue(ledger, since);
  const hasFallenDue = due <= now;
  const next = hasFallenDue ? nextDue(ledger, now) : due;
  if (next !== Number.POSITIVE_INFINITY)
    timer = setTimeout(onTimer, Math.max(1, Math.min(LONGEST_TIMER_MS, next - now)), ledger);
  return hasFallenDue;
}

function keepTime(ledger: SqliteEngine): void {
  try {
    ledger.keepTime();
  } catch {
    // The file cannot be written now; the next transaction notices as well.
  }
}

/** Epoch ms; infinity when nothing will be due. */
function nextDue(ledger: SqliteEngine, after: number): number {
  try {
    return ledger.nextDueAfter(after) ?? Number.POSITIVE_INFINITY;
  } catch {
    // The file cannot be read now. Whoever calls is told why; a hint must not end the thread.
    return after + LONGEST_TIMER_MS;
  }
}

function sentError(error: unknown): SentError {
  if (error instanceof GatewayError)
    return { code: error.code, message: error.message, isFull: error instanceof StoreFullError };
  const name = error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.name) : typeof error;
  return { code: 'ERR_INTERNAL', message: `the store could not be opened: ${name}` };
}

function post(message: WorkerMessage, moved: readonly ArrayBuffer[] = []): void {
  port.postMessage(message, moved);
}
