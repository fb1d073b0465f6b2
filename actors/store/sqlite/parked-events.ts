// Checkpoints, parked events and wakers (the events that wake them) in SQLite: saved state, awaited name, and
// last waker. mailboxes/parked-events.ts decides which event is woken. `waits_for`, the awaited name, is set
// exactly in state `waiting`.

import { stateCodes } from '../delivery-states.ts';
import { type ParkedHolders, type ParkedUsage, targetText } from '../parked-shares.ts';
import {
  copyWaker,
  type Extras,
  type ExtrasRow,
  extrasOf,
  firstWaker,
  noteCheckpoint,
  parkEvent,
  removeWaker,
  runTarget,
  selectExtras,
  setState,
} from '../progress-row.ts';
import { NOTE_LENGTH, toStorableText, truncateText } from '../record-texts.ts';
import type { RunNote } from '../run.ts';
import type { TurnResult } from '../store.ts';
import type { SqliteConnection, SqliteStatement } from './connection.ts';
import { ParkedCounts } from './parked-counts.ts';

export interface WaitingEvent {
  readonly seq: number;
  readonly id: string;
  readonly holdsKey: boolean;
}

export interface ParkedRecord {
  readonly seq: number;
  readonly name: string;
  readonly holdsKey: boolean;
  readonly trigger: string | undefined;
  readonly target: string | null;
  readonly note: string | undefined;
}

type Nothing = readonly [];
type HoldersRow = readonly [key: string, trigger: string | null, target: string | null];

const returningHolders = 'RETURNING key, trigger, target';

export class SqliteParkedEvents {
  readonly counts: ParkedCounts;
  readonly #extras: SqliteStatement<ExtrasRow>;
  readonly #stateOf: SqliteStatement<readonly [string | null]>;
  readonly #keep: SqliteStatement<Nothing>;
  readonly #removeWaker: SqliteStatement<Nothing>;
  readonly #deleteProgress: SqliteStatement<Nothing>;
  readonly #checkpoint: SqliteStatement<readonly [number]>;
  readonly #park: SqliteStatement<HoldersRow>;
  readonly #runTarget: SqliteStatement<readonly [RunNote['kind'], string]>;
  readonly #setWakeTime: SqliteStatement<Nothing>;
  readonly #firstWaiting: SqliteStatement<readonly [number, string, number | null]>;
  readonly #waker: SqliteStatement<readonly [number]>;
  readonly #nameToWake: SqliteStatement<readonly [string | null]>;
  readonly #awaitedName: SqliteStatement<readonly [string | null]>;
  readonly #copyWaker: SqliteStatement<Nothing>;
  readonly #wake: SqliteStatement<HoldersRow>;
  readonly #clearWait: SqliteStatement<HoldersRow>;
  readonly #blockedKeys: SqliteStatement<readonly [string]>;
  readonly #isBlocked: SqliteStatement<readonly [number]>;

  constructor(connection: SqliteConnection) {
    this.counts = new ParkedCounts(connection);
    this.#extras = connection.prepare(`${selectExtras} = ?1`);
    this.#stateOf = connection.prepare('SELECT state FROM progress WHERE seq = ?');
    this.#keep = connection.prepare(setState);
    this.#removeWaker = connection.prepare(removeWaker);
    this.#deleteProgress = connection.prepare('DELETE FROM progress WHERE seq = ?');
    this.#checkpoint = connection.prepare(noteCheckpoint);
    this.#park = connection.prepare(`${parkEvent} ${returningHolders}`);
    this.#runTarget = connection.prepare(runTarget);
    this.#setWakeTime = connection.prepare('UPDATE delivery SET retry_at = ? WHERE seq = ?');
    this.#firstWaiting = connection.prepare(
      'SELECT seq, id, holds_key FROM delivery WHERE key = ? AND waits_for = ? ORDER BY seq LIMIT 1',
    );
    this.#waker = connection.prepare(firstWaker);
    this.#nameToWake = connection.prepare('SELECT wakes FROM delivery WHERE seq = ?');
    this.#awaitedName = connection.prepare('SELECT waits_for FROM delivery WHERE seq = ?');
    this.#copyWaker = connection.prepare(copyWaker);
    this.#wake = connection.prepare(
      `UPDATE delivery SET state = ${stateCodes.queued}, waits_for = NULL, holds_key = NULL, retry_at = NULL, note = NULL
       WHERE seq = ? ${returningHolders}`,
    );
    this.#clearWait = connection.prepare(
      `UPDATE delivery SET waits_for = NULL, holds_key = NULL WHERE seq = ? ${returningHolders}`,
    );
    this.#blockedKeys = connection.prepare(
      'SELECT DISTINCT key FROM delivery WHERE waits_for IS NOT NULL AND holds_key = 1',
    );
    this.#isBlocked = connection.prepare(
      'SELECT 1 FROM delivery WHERE key = ? AND waits_for IS NOT NULL AND holds_key = 1 LIMIT 1',
    );
  }

  extras(seq: number): Extras {
    const row = this.#extras.get([seq]);
    return row === undefined ? {} : extrasOf(row);
  }

  /**
   * Writes a checkpoint, and returns the attempt number from now on. A changed state or new journal steps
   * reset it.
   */
  checkpoint({ seq, state, trigger, note, steps = [] }: TurnResult): number {
    const isProgress = this.#saveState(seq, state) || steps.length > 0;
    const texts = [truncateText(trigger, NOTE_LENGTH), truncateText(note, NOTE_LENGTH)];
    const row = this.#checkpoint.get([seq, isProgress ? 1 : 0, ...texts]);
    if (row === undefined) throw new Error('the event of a checkpoint is missing');
    return row[0];
  }

  recount(): void {
    this.counts.recount();
  }

  /** Number of parked events. */
  get parkedTotal(): number {
    return this.counts.total;
  }

  /** Returns the numbers of parked events with these holders. */
  usage(holders: ParkedHolders): ParkedUsage {
    return this.counts.usage(holders);
  }

  /** Returns the target of the event's run; null without a run. */
  targetOf(seq: number, run: RunNote | undefined): string | null {
    if (run !== undefined) return targetText(run);
    const row = this.#runTarget.get([seq]);
    return row === undefined ? null : targetText({ kind: row[0], name: row[1] });
  }

  park({ seq, name, holdsKey, trigger, target, note }: ParkedRecord, state: string | null | undefined): void {
    this.#saveState(seq, state);
    this.#removeWaker.run([seq]);
    const texts = [truncateText(trigger, NOTE_LENGTH), truncateText(note, NOTE_LENGTH)];
    this.#count(this.#park.get([seq, toStorableText(name), holdsKey ? 1 : null, ...texts, target]), 1);
  }

  setWakeTime(seq: number, until: number | null): void {
    this.#setWakeTime.run([until, seq]);
  }

  /** Returns the first event of the key that is waiting for the name. */
  firstWaiting(key: string, name: string): WaitingEvent | undefined {
    const row = this.#firstWaiting.get([key, toStorableText(name)]);
    return row === undefined ? undefined : { seq: row[0], id: row[1], holdsKey: row[2] === 1 };
  }

  /** Returns the awaited name of the event. */
  awaitedName(seq: number): string | undefined {
    return this.#awaitedName.get([seq])?.[0] ?? undefined;
  }

  /** Returns the first queued event of the key that wakes the name. */
  waker(key: string, name: string): number | undefined {
    return this.#waker.get([key, toStorableText(name)])?.[0];
  }

  nameToWake(seq: number): string | undefined {
    return this.#nameToWake.get([seq])?.[0] ?? undefined;
  }

  wake(seq: number, waker: number): void {
    this.#copyWaker.run([seq, waker]);
    this.#count(this.#wake.get([seq]), -1);
  }

  /** Clears the awaited name. */
  clearWait(seq: number): void {
    this.#count(this.#clearWait.get([seq]), -1);
  }

  /** Deletes the saved state when an event restarts. */
  deleteProgress(seq: number): void {
    this.#deleteProgress.run([seq]);
  }

  /** Returns the keys that parked events block. */
  blockedKeys(): readonly string[] {
    return this.#blockedKeys.all([]).map(([key]) => key);
  }

  isBlocked(key: string): boolean {
    return this.#isBlocked.get([key]) !== undefined;
  }

  #count(row: HoldersRow | undefined, count: 1 | -1): void {
    if (row === undefined) throw new Error('the parked event is missing');
    const [key, trigger, target] = row;
    this.counts.add({ key, trigger, target }, count);
  }

  /** Returns true for a changed state. */
  #saveState(seq: number, state: string | null | undefined): boolean {
    if (state === undefined) return false;
    const stored = state === null ? null : toStorableText(state);
    const before = this.#stateOf.get([seq]);
    if (before !== undefined && before[0] === stored) return false;
    this.#keep.run([seq, stored]);
    return stored !== (before?.[0] ?? null);
  }
}
