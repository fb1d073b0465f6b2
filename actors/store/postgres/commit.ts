// Takes the results of turns, many at once: what each says of its event, its snapshot, timers, journal and what it emits, together or
// not at all; then gives the next event of each key under the same claim, or ends the claim.
//
// A result whose claim has been lost changes nothing (S3).
// Of one key there is one result at most: the second one knows of the first.

import type { StoredEvent } from '../event.ts';
import { storable } from '../record-texts.ts';
import type { Committed, TurnResult } from '../store.ts';
import { appendEmitted } from './append.ts';
import { ask, cancelAsked } from './approvals.ts';
import { type Statements, statement, type Transaction } from './database.ts';
import { begin, canBegin, firstOf } from './first-events.ts';
import { lockMailboxes, type Mailbox, settle } from './mailboxes.ts';
import { holdAndSettleOutcomes, isOver, type Settled } from './outcomes.ts';
import { keepRun } from './runs.ts';
import { keepSnapshot } from './shelves.ts';
import { cancelTimer, setTimer } from './timers.ts';
import { checkpoint, park } from './waits.ts';

const close = statement('DELETE FROM mailbox WHERE key = ANY ($1)');
const goOnAll = statement(
  `UPDATE mailbox SET ready_at = $2::bigint + lease_ms, running = next.seq, crashes = next.crashes
   FROM json_to_recordset($1::json) AS next (key text, seq bigint, crashes int)
   WHERE mailbox.key = next.key AND mailbox.key = ANY ($3)`,
);
const prolong = statement('UPDATE mailbox SET ready_at = $2::bigint + lease_ms WHERE key = $1');
const readySuspects = statement<readonly [number]>(
  'SELECT 1 FROM mailbox WHERE crashes > 0 AND fence IS NULL AND ready_at <= $1 LIMIT 1',
);

interface Turn {
  readonly result: TurnResult;
  readonly key: string;
  readonly mailbox: Mailbox;
}

/** Holds the mailboxes of the results and those of what they emit, in one order, and writes the outcomes. */
export function holdAndSettle(statements: Statements, results: readonly TurnResult[]): Promise<Settled> {
  const emitted = results.flatMap(({ emit = [] }) => emit.map(({ key }) => storable(key)));
  return holdAndSettleOutcomes(
    statements,
    [...results.map(({ key }) => storable(key)), ...emitted],
    results.filter(({ outcome }) => isOutcome(outcome)),
  );
}

/** Gives what became of each, in their order. `maxBytes`: bodies that are given out together; one may go beyond. */
export async function commit(
  transaction: Transaction,
  results: readonly TurnResult[],
  { mailboxes, withProgress }: Settled,
  maxBytes: number,
): Promise<readonly Committed[]> {
  const keys = results.map(({ key }) => storable(key));
  const turns: Turn[] = results.flatMap((result, index) => {
    const key = keys[index] ?? '';
    const mailbox = mailboxes.get(key);
    const isCurrent = mailbox?.fence === result.fence && (mailbox.running ?? result.seq) === result.seq;
    return isCurrent ? [{ result, key, mailbox }] : [];
  });
  // Only what has got on has asked anybody.
  const over = turns.filter(({ result, key }) => isOver(result.outcome) && withProgress.has(key));
  await cancelAsked(
    transaction,
    over.map(({ result }) => result.seq),
  );
  const attempts = await keepAllBeside(transaction, turns);
  const hasChanged = transaction.emitted.length > 0 || turns.some(({ result }) => !isOutcome(result.outcome));
  await appendEmitted(transaction);
  const ended = turns.filter(({ result }) => result.outcome !== 'checkpoint');
  const nexts = await goOn(transaction, hasChanged ? await asTheyAre(transaction, ended) : ended, maxBytes);
  await wakeSuspects(transaction, turns);
  const current = new Set(turns.map(({ result }) => result));
  return results.map((result, index) => {
    if (!current.has(result)) return { isCurrent: false, next: undefined };
    const attempt = attempts.get(result);
    if (attempt !== undefined) return { isCurrent: true, next: undefined, attempt };
    return { isCurrent: true, next: nexts.get(keys[index] ?? '') };
  });
}

/** What turns say beside the outcomes of their events. Gives as which attempts those go on that got on. */
async function keepAllBeside(
  transaction: Transaction,
  turns: readonly Turn[],
): Promise<ReadonlyMap<TurnResult, number>> {
  const attempts = new Map<TurnResult, number>();
  for (const turn of turns) {
    const { result, key } = turn;
    if (result.outcome === 'checkpoint') attempts.set(result, await checkpoint(transaction, result));
    await keepBeside(transaction, turn);
    if (result.outcome === 'parked') {
      await appendEmitted(transaction);
      await park(transaction, result, key);
    } else if (result.outcome === 'checkpoint') await transaction.run(prolong, [key, transaction.now]);
  }
  return attempts;
}

/** What this transaction has appended, or parked, is to be seen. */
async function asTheyAre(transaction: Transaction, turns: readonly Turn[]): Promise<readonly Turn[]> {
  const mailboxes = await lockMailboxes(
    transaction,
    turns.map(({ key }) => key),
  );
  return turns.map((turn) => ({ ...turn, mailbox: mailboxes.get(turn.key) ?? turn.mailbox }));
}

/** What a turn says beside the outcome of its event. */
async function keepBeside(transaction: Transaction, { result, key }: Turn): Promise<void> {
  await keepRun(transaction, result);
  if (result.outcome === 'checkpoint' || result.outcome === 'parked')
    for (const asked of result.asks ?? []) await ask(transaction, result.seq, asked);
  await keepSnapshot(transaction, key, result.snapshot);
  for (const name of result.cancelTimers ?? []) await cancelTimer(transaction, key, name);
  for (const timer of result.timers ?? []) await setTimer(transaction, key, timer);
  transaction.emitted.push(...(result.emit ?? []));
}

/** After their turns: the next events under the same claims, prolonged by their length, or the end of the claims. */
async function goOn(
  transaction: Transaction,
  turns: readonly Turn[],
  maxBytes: number,
): Promise<ReadonlyMap<string, StoredEvent>> {
  if (turns.length === 0) return new Map();
  const empty: string[] = [];
  const over: string[] = [];
  const asked: string[] = [];
  for (const { result, key, mailbox } of turns) {
    const staysFirst = isUnfinished(result.outcome) || mailbox.isLocked;
    if (!staysFirst && !mailbox.hasMore) empty.push(key);
    else if (staysFirst || result.isLast === true) over.push(key);
    else asked.push(key);
  }
  const firsts = await firstOf(transaction, asked);
  const next: { key: string; seq: number; crashes: number }[] = [];
  let bytes = 0;
  for (const key of asked) {
    const first = firsts.get(key);
    // A suspect begins by a claim: then it is known what else runs. And what is more than one call may bring waits for one.
    if (!canBegin(first, transaction.now) || first.crashes > 0 || bytes > maxBytes) over.push(key);
    else {
      next.push({ key, seq: first.seq, crashes: first.crashes });
      bytes += first.bytes;
    }
  }
  if (empty.length > 0) transaction.runLast(close, [empty]);
  await settle(transaction, over);
  if (next.length === 0) return new Map();
  await transaction.run(goOnAll, [JSON.stringify(next), transaction.now, next.map(({ key }) => key)]);
  return begin(
    transaction,
    next.map(({ seq }) => seq),
  );
}

/** Others may have waited for a suspect to come to an end. */
async function wakeSuspects(transaction: Transaction, turns: readonly Turn[]): Promise<void> {
  if (turns.every(({ mailbox }) => mailbox.crashes === 0)) return;
  if ((await transaction.rows(readySuspects, [transaction.now])).length > 0) transaction.isWakeDue = true;
}

/** Whether the turn ends with it. */
function isOutcome(outcome: TurnResult['outcome']): boolean {
  return outcome !== 'checkpoint' && outcome !== 'parked';
}

function isUnfinished(outcome: TurnResult['outcome']): boolean {
  return outcome === 'retrying' || outcome === 'deferred' || outcome === 'held' || outcome === 'queued';
}
