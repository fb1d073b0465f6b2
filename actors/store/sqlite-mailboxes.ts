// Mailboxes: which keys have something to do, who holds the claim on one, and which event is next. A key has a row only
// while it has unfinished events, so that the keys of the past, however many, cost nothing here.
//
// SB1  a row is claimed exactly while it has a fence; that fence was given out once, and what comes with another one
//      changes nothing (S3).
// SB2  an unclaimed row stands ready at the time at which the first unfinished event of its key may begin; never
//      while that event is held.
// SB3  at most one event of a key runs, the one the claim was given with, or the first one after it (S4).

import { firstSettled, stateCodes } from './delivery-states.ts';
import type { SqliteConnection, Statement } from './sqlite-connection.ts';
import { storable } from './sqlite-connection.ts';
import type { SqliteCounter } from './sqlite-counter.ts';
import type { FirstOfKey, SqliteDeliveries, WholeFirst } from './sqlite-deliveries.ts';
import type { StoredEvent, Turn, TurnRef, TurnResult } from './store.ts';

const LEASE_ENDED = 'the attempt ended without a result: its claim ran out';
const PROCESS_ENDED = 'the attempt ended without a result: the gateway ended';

type Nothing = readonly [];
type ReadyRow = readonly [key: string, running: number | null, snapshot: string | null];

export interface ClaimWish {
  readonly max: number;
  /** No more mailboxes once their bodies and snapshots together exceed this. */
  readonly maxBytes: number;
  readonly keyPrefix: string;
  readonly leaseMs: number;
}

export class SqliteMailboxes {
  readonly #deliveries: SqliteDeliveries;
  readonly #counter: SqliteCounter;
  readonly #add: Statement<Nothing>;
  readonly #get: Statement<readonly [number | null, number | null, number | null]>;
  readonly #ready: Statement<ReadyRow>;
  readonly #readyOfKind: Statement<ReadyRow>;
  readonly #claim: Statement<Nothing>;
  readonly #goOn: Statement<Nothing>;
  readonly #renew: Statement<Nothing>;
  readonly #free: Statement<Nothing>;
  readonly #remove: Statement<Nothing>;
  readonly #running: Statement<readonly [string, number]>;
  readonly #release: Statement<Nothing>;
  readonly #recall: Statement<Nothing>;
  readonly #next: Statement<readonly [number]>;
  #hasNews = false;

  constructor(connection: SqliteConnection, deliveries: SqliteDeliveries, counter: SqliteCounter) {
    this.#deliveries = deliveries;
    this.#counter = counter;
    this.#add = connection.prepare(
      'INSERT INTO mailbox (key, ready_at) VALUES (?, ?) ON CONFLICT (key) DO NOTHING',
    );
    this.#get = connection.prepare('SELECT fence, running, lease_ms FROM mailbox WHERE key = ?');
    const ready = `SELECT mailbox.key, running, value FROM mailbox LEFT JOIN snapshot ON snapshot.key = mailbox.key
       WHERE ready_at <= ? AND substr(mailbox.key, 1, length(?)) = ?`;
    this.#ready = connection.prepare(`${ready} ORDER BY ready_at LIMIT ?`);
    this.#readyOfKind = connection.prepare(
      `${ready} AND substr(mailbox.key, 1, instr(mailbox.key, '/')) = ? ORDER BY ready_at LIMIT ?`,
    );
    this.#claim = connection.prepare(
      'UPDATE mailbox SET ready_at = ?, fence = ?, running = ?, lease_ms = ? WHERE key = ?',
    );
    this.#goOn = connection.prepare('UPDATE mailbox SET ready_at = ?, running = ? WHERE key = ?');
    this.#renew = connection.prepare(
      'UPDATE mailbox SET ready_at = ?, lease_ms = ? WHERE key = ? AND fence = ?',
    );
    this.#free = connection.prepare(
      'UPDATE mailbox SET ready_at = ?, fence = NULL, running = NULL, lease_ms = NULL WHERE key = ?',
    );
    this.#remove = connection.prepare('DELETE FROM mailbox WHERE key = ?');
    this.#running = connection.prepare('SELECT key, running FROM mailbox WHERE running IS NOT NULL');
    this.#release = connection.prepare(
      `UPDATE mailbox SET ready_at = ? WHERE fence IS NULL AND key IN (SELECT key FROM delivery WHERE held_by = ?)`,
    );
    this.#recall = connection.prepare(
      `UPDATE mailbox SET ready_at = ? WHERE fence IS NULL AND ready_at > ? AND NOT EXISTS (SELECT 1 FROM delivery
         WHERE delivery.key = mailbox.key AND state < ${firstSettled} AND state = ${stateCodes.retrying})`,
    );
    this.#next = connection.prepare(
      'SELECT ready_at FROM mailbox WHERE ready_at > ? ORDER BY ready_at LIMIT 1',
    );
  }

  /** Whether something has become claimable since this was last asked. */
  takeNews(): boolean {
    const hadNews = this.#hasNews;
    this.#hasNews = false;
    return hadNews;
  }

  /** There is more to claim than was given. */
  notice(): void {
    this.#hasNews = true;
  }

  /** The key has a new event at its end. */
  open(key: string, now: number): void {
    if (this.#add.run([key, now]).changes > 0) this.#hasNews = true;
  }

  /** An event of the key has come back or gone by another way than a turn: who is first may have changed. */
  reconsider(key: string, now: number): void {
    const row = this.#get.get([key]);
    if (row === undefined) this.open(key, now);
    // Whoever holds the claim looks for the first one after its own event anyway.
    if (row?.[0] == null) this.#settle(key, this.#deliveries.first(key), now);
  }

  /** Claims what is ready, longest ready first; what turns out to have to wait is put where it belongs. */
  claim({ max, maxBytes, keyPrefix, leaseMs }: ClaimWish, now: number): readonly Turn[] {
    const turns: Turn[] = [];
    let bytes = 0;
    const rows = this.#readyRows(max, keyPrefix, now);
    let fence = rows.length === 0 ? 0 : this.#counter.draw(rows.length);
    for (const [key, running, snapshot] of rows) {
      if (bytes > maxBytes) break;
      if (running !== null) this.#deliveries.breakOff(running, LEASE_ENDED, now);
      const first = this.#deliveries.wholeFirst(key);
      if (!canBegin(first, now)) {
        this.#settle(key, first, now);
        continue;
      }
      const { event } = first;
      this.#deliveries.begin(event, now);
      this.#claim.run([now + leaseMs, fence, event.seq, leaseMs, key]);
      turns.push({ key, fence, event, snapshot: snapshot ?? undefined });
      fence += 1;
      bytes += event.body.byteLength + (snapshot?.length ?? 0);
    }
    // There may be more behind those that were not given.
    if (turns.length < rows.length) this.#hasNews = true;
    return turns;
  }

  renew(turns: readonly TurnRef[], leaseMs: number, now: number): readonly TurnRef[] {
    return turns.filter(
      ({ key, fence }) => this.#renew.run([now + leaseMs, leaseMs, storable(key), fence]).changes > 0,
    );
  }

  /**
   * The length of the claim under which that event was given; undefined when it is another's by now. Its time may be over:
   * then nobody else has it yet.
   */
  leaseOf(key: string, fence: number, seq: number): number | undefined {
    const row = this.#get.get([key]);
    return row !== undefined && row[0] === fence && row[1] === seq ? (row[2] ?? 0) : undefined;
  }

  /** After a turn: the next event under the same claim, prolonged by its length, or the end of the claim. */
  advance(key: string, result: TurnResult, leaseMs: number, now: number): StoredEvent | undefined {
    const isOver = staysFirst(result.outcome) || result.isLast === true;
    const first = isOver ? undefined : this.#deliveries.wholeFirst(key);
    if (!canBegin(first, now)) {
      this.#settle(key, isOver ? this.#deliveries.first(key) : first, now);
      return undefined;
    }
    const { event } = first;
    this.#deliveries.begin(event, now);
    this.#goOn.run([now + leaseMs, event.seq, key]);
    return event;
  }

  /** Lets go on what was held by that name; gives how many mailboxes. */
  release(heldBy: string, now: number): number {
    const name = storable(heldBy);
    const { changes } = this.#release.run([now, name]);
    this.#deliveries.release(name);
    if (changes > 0) this.#hasNews = true;
    return changes;
  }

  /**
   * The clock was set back, perhaps: what stands ready would wait until the time at which it became so comes again. What has
   * to wait for a retry keeps its time.
   */
  onSetBack(now: number): void {
    if (this.#recall.run([now, now]).changes > 0) this.#hasNews = true;
  }

  /** Ends all claims: those who held them are gone. */
  takeBackAll(now: number): void {
    for (const [key, running] of this.#running.all([])) {
      this.#deliveries.breakOff(running, PROCESS_ENDED, now);
      this.#settle(key, this.#deliveries.first(key), now);
    }
  }

  /** When the next one after that time may be claimed, or a claim ends. */
  nextAfter(time: number): number | undefined {
    return this.#next.get([time])?.[0];
  }

  #readyRows(max: number, keyPrefix: string, now: number): readonly ReadyRow[] {
    const kind = keyPrefix.slice(0, keyPrefix.indexOf('/') + 1);
    return kind === ''
      ? this.#ready.all([now, keyPrefix, keyPrefix, max])
      : this.#readyOfKind.all([now, keyPrefix, keyPrefix, kind, max]);
  }

  /** The mailbox is unclaimed from now on; SB2. */
  #settle(key: string, first: FirstOfKey | undefined, now: number): void {
    if (first === undefined) {
      this.#remove.run([key]);
      return;
    }
    const readyAt = first.state === 'held' ? null : (first.retryAt ?? now);
    this.#free.run([readyAt, key]);
    if (readyAt !== null && readyAt <= now) this.#hasNews = true;
  }
}

/** Whether the event stays first in its mailbox. */
function staysFirst(outcome: TurnResult['outcome']): boolean {
  return outcome === 'retrying' || outcome === 'held' || outcome === 'queued';
}

function canBegin(first: WholeFirst | undefined, now: number): first is WholeFirst {
  return first !== undefined && first.state !== 'held' && (first.retryAt ?? 0) <= now;
}
