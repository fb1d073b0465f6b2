// What is moved from one store to another: the tables that every engine has, by the same names and with the same columns. So there is
// one list for whoever reads them, writes them, and checks what stands in between.
//
// Leases, memberships and claims belong to processes and are left behind; mailboxes follow from the events.
//
// MVT1  every column of every table is moved, or is named here as one that is not: a test compares the lists with the schemas.

import { approvalStates } from '../approval-row.ts';
import type { Failure } from '../delivery.ts';
import { stateCodes } from '../delivery-states.ts';

/** As the engine has it; a state is its number. */
export type Value = string | number | boolean | Uint8Array | readonly Failure[] | null;

/** By the names of its columns. */
export type Row = Readonly<Record<string, Value>>;

interface Plain {
  readonly type: 'text' | 'count' | 'time' | 'flag' | 'bytes' | 'failures';
}

interface Word {
  /** A number of the engine, and its name in the file. */
  readonly type: 'word';
  readonly words: readonly string[];
}

interface Due {
  /** A time that is still to come, epoch ms; in the file what remains of it. */
  readonly type: 'due';
  readonly remaining: string;
  /** Where it says no, the time is over, and stands as it is. */
  readonly isComing?: (row: Row) => boolean;
}

export type Column = (Plain | Word | Due) & { readonly name: string; readonly isOptional: boolean };

export interface Table {
  readonly name: TableName;
  /** In this order it is moved. */
  readonly key: readonly string[];
  readonly columns: readonly Column[];
  /** It is over, and whoever asks does not find it. */
  readonly isGone?: (row: Row, now: number) => boolean;
}

export const tableNames = [
  'delivery',
  'body',
  'progress',
  'run',
  'step',
  'approval',
  'snapshot',
  'timer',
  'tick',
  'kv',
] as const;

export type TableName = (typeof tableNames)[number];

/** They are in the stores and not among those that are moved. */
export const leftBehind: readonly string[] = [
  'clock',
  'counter',
  'lease',
  'mailbox',
  'node',
  'node_lease',
  'schema_version',
  'sqlite_sequence',
];

const plain =
  (type: Plain['type']) =>
  (name: string): Column => ({ name, type, isOptional: false });
const text = plain('text');
const count = plain('count');
const time = plain('time');
const flag = plain('flag');
const bytes = plain('bytes');
const maybe = (column: Column): Column => ({ ...column, isOptional: true });
const word = (name: string, words: readonly string[]): Column => ({
  name,
  type: 'word',
  words,
  isOptional: false,
});
const due = (name: string, remaining: string, isComing?: (row: Row) => boolean): Column => ({
  name,
  type: 'due',
  remaining,
  isOptional: false,
  ...(isComing && { isComing }),
});

const byCode = (codes: Readonly<Record<string, number>>) =>
  Object.keys(codes).sort((one, other) => (codes[one] ?? 0) - (codes[other] ?? 0));

const PENDING = approvalStates.pending;

const definitions: Readonly<Record<TableName, Omit<Table, 'name'>>> = {
  delivery: {
    key: ['seq'],
    columns: [
      count('seq'),
      text('id'),
      text('key'),
      text('trace'),
      word('state', byCode(stateCodes)),
      count('attempts'),
      count('crashes'),
      count('deferrals'),
      time('at'),
      maybe(time('started')),
      maybe(time('ended')),
      maybe(due('retry_at', 'retry_in_ms')),
      maybe(text('held_by')),
      maybe(text('trigger')),
      maybe(text('note')),
      maybe(text('answer')),
      maybe(text('receipt')),
      maybe({ name: 'failures', type: 'failures', isOptional: true }),
      maybe(text('kind')),
      maybe(text('wakes')),
      maybe(text('waits_for')),
      flag('holds_key'),
      flag('has_progress'),
    ],
  },
  body: { key: ['seq'], columns: [count('seq'), text('meta'), bytes('body')] },
  progress: {
    key: ['seq'],
    columns: [
      count('seq'),
      maybe(text('state')),
      maybe(text('woken_id')),
      maybe(text('woken_kind')),
      maybe(text('woken_meta')),
      maybe(bytes('woken_body')),
    ],
  },
  run: { key: ['seq'], columns: [count('seq'), text('kind'), text('name'), text('figures')] },
  step: { key: ['seq', 'n'], columns: [count('seq'), count('n'), time('at'), count('total'), text('text')] },
  approval: {
    key: ['id'],
    columns: [
      text('id'),
      count('seq'),
      word('state', byCode(approvalStates)),
      time('asked'),
      maybe(due('expires', 'expires_in_ms', ({ state }) => state === PENDING)),
      maybe(time('decided')),
      text('body'),
      maybe(text('decision')),
      maybe(text('on_cancel')),
    ],
  },
  snapshot: { key: ['key'], columns: [text('key'), text('value'), time('at')] },
  timer: {
    key: ['owner', 'name'],
    columns: [
      text('owner'),
      text('name'),
      due('due', 'due_in_ms'),
      text('id'),
      text('key'),
      text('meta'),
      text('trace'),
      bytes('body'),
      maybe(text('kind')),
      maybe(text('wakes')),
    ],
  },
  tick: { key: ['name', 'at'], columns: [text('name'), time('at')] },
  kv: {
    key: ['space', 'key'],
    columns: [text('space'), text('key'), text('value'), count('version'), maybe(due('until', 'ttl_ms'))],
    isGone: ({ until }, now) => typeof until === 'number' && until <= now,
  },
};

/** In the order in which they are moved. */
export const movedTables: readonly Table[] = tableNames.map((name) => ({ name, ...definitions[name] }));
