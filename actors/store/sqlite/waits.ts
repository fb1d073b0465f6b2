// The checkpoints, parks and wakers in the file: the state that an event has kept, the name it waits for, and the event that has
// woken it. Which event is woken when is decided in mailboxes/waits.ts.
//
// SQW1  `waits_for` is there exactly while the state is `waiting`.

import { stateCodes } from '../delivery-states.ts';
import {
  copyWaker,
  type Extras,
  type ExtrasRow,
  extrasOf,
  firstWaker,
  noteCheckpoint,
  parkEvent,
  removeWaker,
  selectExtras,
  setState,
} from '../progress-row.ts';
import { bounded, NOTE_LENGTH, storable } from '../record-texts.ts';
import type { TurnResult } from '../store.ts';
import type { SqliteConnection, Statement } from './connection.ts';

export interface WaitingEvent {
  readonly seq: number;
  readonly id: string;
  readonly holdsKey: boolean;
}

export interface Wait {
  readonly seq: number;
  readonly name: string;
  readonly holdsKey: boolean;
  readonly trigger: string | undefined;
  readonly note: string | undefined;
}

type Nothing = readonly [];

export class SqliteWaits {
  readonly #extras: Statement<ExtrasRow>;
  readonly #stateOf: Statement<readonly [string | null]>;
  readonly #keep: Statement<Nothing>;
  readonly #forgetWaker: Statement<Nothing>;
  readonly #drop: Statement<Nothing>;
  readonly #checkpoint: Statement<readonly [number]>;
  readonly #park: Statement<Nothing>;
  readonly #noteUntil: Statement<Nothing>;
  readonly #waiting: Statement<readonly [number, string, number | null]>;
  readonly #waker: Statement<readonly [number]>;
  readonly #wakes: Statement<readonly [string | null]>;
  readonly #waitsFor: Statement<readonly [string | null]>;
  readonly #copyWaker: Statement<Nothing>;
  readonly #wake: Statement<Nothing>;
  readonly #end: Statement<Nothing>;
  readonly #heldKeys: Statement<readonly [string]>;
  readonly #isHeld: Statement<readonly [number]>;

  constructor(connection: SqliteConnection) {
    this.#extras = connection.prepare(`${selectExtras} = ?1`);
    this.#stateOf = connection.prepare('SELECT state FROM progress WHERE seq = ?');
    this.#keep = connection.prepare(setState);
    this.#forgetWaker = connection.prepare(removeWaker);
    this.#drop = connection.prepare('DELETE FROM progress WHERE seq = ?');
    this.#checkpoint = connection.prepare(noteCheckpoint);
    this.#park = connection.prepare(parkEvent);
    this.#noteUntil = connection.prepare('UPDATE delivery SET retry_at = ? WHERE seq = ?');
    this.#waiting = connection.prepare(
      'SELECT seq, id, holds_key FROM delivery WHERE key = ? AND waits_for = ? ORDER BY seq LIMIT 1',
    );
    this.#waker = connection.prepare(firstWaker);
    this.#wakes = connection.prepare('SELECT wakes FROM delivery WHERE seq = ?');
    this.#waitsFor = connection.prepare('SELECT waits_for FROM delivery WHERE seq = ?');
    this.#copyWaker = connection.prepare(copyWaker);
    this.#wake = connection.prepare(
      `UPDATE delivery SET state = ${stateCodes.queued}, waits_for = NULL, holds_key = NULL, retry_at = NULL, note = NULL
       WHERE seq = ?`,
    );
    this.#end = connection.prepare('UPDATE delivery SET waits_for = NULL, holds_key = NULL WHERE seq = ?');
    this.#heldKeys = connection.prepare(
      'SELECT DISTINCT key FROM delivery WHERE waits_for IS NOT NULL AND holds_key = 1',
    );
    this.#isHeld = connection.prepare(
      'SELECT 1 FROM delivery WHERE key = ? AND waits_for IS NOT NULL AND holds_key = 1 LIMIT 1',
    );
  }

  extras(seq: number): Extras {
    const row = this.#extras.get([seq]);
    return row === undefined ? {} : extrasOf(row);
  }

  /** Returns the attempt number for the rest of the turn. New journal rows count as progress, like a changed state. */
  checkpoint({ seq, state, trigger, note, steps = [] }: TurnResult): number {
    const isProgress = this.#keepState(seq, state) || steps.length > 0;
    const texts = [bounded(trigger, NOTE_LENGTH), bounded(note, NOTE_LENGTH)];
    const row = this.#checkpoint.get([seq, isProgress ? 1 : 0, ...texts]);
    if (row === undefined) throw new Error('the event of a checkpoint is gone');
    return row[0];
  }

  park({ seq, name, holdsKey, trigger, note }: Wait, state: string | null | undefined): void {
    this.#keepState(seq, state);
    this.#forgetWaker.run([seq]);
    const texts = [bounded(trigger, NOTE_LENGTH), bounded(note, NOTE_LENGTH)];
    this.#park.run([seq, storable(name), holdsKey ? 1 : null, ...texts]);
  }

  noteUntil(seq: number, until: number | null): void {
    this.#noteUntil.run([until, seq]);
  }

  /** The first of those that wait in the key for that name. */
  waiting(key: string, name: string): WaitingEvent | undefined {
    const row = this.#waiting.get([key, storable(name)]);
    return row === undefined ? undefined : { seq: row[0], id: row[1], holdsKey: row[2] === 1 };
  }

  /** What it waits for. */
  waitsFor(seq: number): string | undefined {
    return this.#waitsFor.get([seq])?.[0] ?? undefined;
  }

  /** The first of those that wait in the key for their turn and wake that name. */
  waker(key: string, name: string): number | undefined {
    return this.#waker.get([key, storable(name)])?.[0];
  }

  wakesOf(seq: number): string | undefined {
    return this.#wakes.get([seq])?.[0] ?? undefined;
  }

  wake(seq: number, waker: number): void {
    this.#copyWaker.run([seq, waker]);
    this.#wake.run([seq]);
  }

  /** It waits no more, whatever becomes of it. */
  end(seq: number): void {
    this.#end.run([seq]);
  }

  /** What was kept of it is forgotten: it begins anew. */
  drop(seq: number): void {
    this.#drop.run([seq]);
  }

  /** The keys that are held. */
  heldKeys(): readonly string[] {
    return this.#heldKeys.all([]).map(([key]) => key);
  }

  isHeld(key: string): boolean {
    return this.#isHeld.get([key]) !== undefined;
  }

  /** Gives whether it was another one before. */
  #keepState(seq: number, state: string | null | undefined): boolean {
    if (state === undefined) return false;
    const kept = state === null ? null : storable(state);
    const before = this.#stateOf.get([seq]);
    if (before !== undefined && before[0] === kept) return false;
    this.#keep.run([seq, kept]);
    return kept !== (before?.[0] ?? null);
  }
}
