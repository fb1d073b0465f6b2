// Tables that exports contain. All engines have them, with the same names and columns. Reading, writing and
// checking an export use this list. Leases, memberships and claims are not exported, since they belong to
// running nodes; mailboxes are derived from the events. Access keys stay with the gateway that created them.
// A test compares these lists with the schemas: each table is exported or excluded.

import { approvalStates } from '../approval-row.ts';
import type { Failure } from '../delivery.ts';
import { stateCodes } from '../delivery-states.ts';

/** Value as the engine stores it; a state is its number. */
export type Value = string | number | boolean | Uint8Array | readonly Failure[] | null;

/** Values by column name. */
export type ExportRow = Readonly<Record<string, Value>>;

interface PlainColumn {
  readonly type: 'text' | 'count' | 'time' | 'flag' | 'bytes' | 'failures';
}

interface EnumColumn {
  /** State: a number in the engine, a name in the file. */
  readonly type: 'word';
  readonly names: readonly string[];
}

interface DueColumn {
  /** Future time, epoch milliseconds. The file contains the remaining duration. */
  readonly type: 'due';
  readonly remaining: string;
  /** Returns false if the date has passed; the file then contains the date unchanged. */
  readonly isComing?: (row: ExportRow) => boolean;
}

export type ExportColumn = (PlainColumn | EnumColumn | DueColumn) & {
  readonly name: string;
  readonly isOptional: boolean;
};

export interface ExportTable {
  readonly name: TableName;
  /** Order of exported rows. */
  readonly key: readonly string[];
  readonly columns: readonly ExportColumn[];
  /** Returns true if the row has expired; it is then not exported. */
  readonly isExpired?: (row: ExportRow, now: number) => boolean;
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

/** Tables of the stores that exports do not contain. */
export const excludedTables: readonly string[] = [
  'access_key',
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
  (type: PlainColumn['type']) =>
  (name: string): ExportColumn => ({ name, type, isOptional: false });
const text = plain('text');
const count = plain('count');
const time = plain('time');
const flag = plain('flag');
const bytes = plain('bytes');
const optional = (column: ExportColumn): ExportColumn => ({ ...column, isOptional: true });
const enumeration = (name: string, names: readonly string[]): ExportColumn => ({
  name,
  type: 'word',
  names,
  isOptional: false,
});
const due = (name: string, remaining: string, isComing?: (row: ExportRow) => boolean): ExportColumn => ({
  name,
  type: 'due',
  remaining,
  isOptional: false,
  ...(isComing && { isComing }),
});

const namesByCode = (codes: Readonly<Record<string, number>>) =>
  Object.keys(codes).sort((one, other) => (codes[one] ?? 0) - (codes[other] ?? 0));

const PENDING = approvalStates.pending;

const definitions: Readonly<Record<TableName, Omit<ExportTable, 'name'>>> = {
  delivery: {
    key: ['seq'],
    columns: [
      count('seq'),
      text('id'),
      text('key'),
      text('trace'),
      enumeration('state', namesByCode(stateCodes)),
      count('attempts'),
      count('crashes'),
      count('deferrals'),
      time('at'),
      optional(time('started')),
      optional(time('ended')),
      optional(due('retry_at', 'retry_in_ms')),
      optional(text('held_by')),
      optional(text('trigger')),
      optional(text('note')),
      optional(text('answer')),
      optional(text('receipt')),
      optional({ name: 'failures', type: 'failures', isOptional: true }),
      optional(text('kind')),
      optional(text('wakes')),
      optional(text('waits_for')),
      optional(text('target')),
      flag('holds_key'),
      flag('has_progress'),
    ],
  },
  body: { key: ['seq'], columns: [count('seq'), text('meta'), bytes('body')] },
  progress: {
    key: ['seq'],
    columns: [
      count('seq'),
      optional(text('state')),
      optional(text('woken_id')),
      optional(text('woken_kind')),
      optional(text('woken_meta')),
      optional(bytes('woken_body')),
    ],
  },
  run: { key: ['seq'], columns: [count('seq'), text('kind'), text('name'), text('figures')] },
  step: { key: ['seq', 'n'], columns: [count('seq'), count('n'), time('at'), count('total'), text('text')] },
  approval: {
    key: ['id'],
    columns: [
      text('id'),
      count('seq'),
      enumeration('state', namesByCode(approvalStates)),
      time('asked'),
      optional(due('expires', 'expires_in_ms', ({ state }) => state === PENDING)),
      optional(time('decided')),
      text('body'),
      optional(text('decision')),
      optional(text('on_cancel')),
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
      optional(text('kind')),
      optional(text('wakes')),
    ],
  },
  tick: { key: ['name', 'at'], columns: [text('name'), time('at')] },
  kv: {
    key: ['space', 'key'],
    columns: [text('space'), text('key'), text('value'), count('version'), optional(due('until', 'ttl_ms'))],
    isExpired: ({ until }, now) => typeof until === 'number' && until <= now,
  },
};

/** Tables in the order of the export. */
export const exportedTables: readonly ExportTable[] = tableNames.map((name) => ({
  name,
  ...definitions[name],
}));
