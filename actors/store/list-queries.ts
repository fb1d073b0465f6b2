// Queries of the lists, one text for both engines. A list is read in parts: each part looks at a bounded number of the newest
// records, and compares only those.
//
// The texts have the form of SQLite, with numbered values and a fixed index for each source: SQLite would not choose the
// index by itself. `postgresText` converts a text.
//
// SQN1  unfinished, waiting and dead events are found among their like, however many events have ended otherwise.

import type { ApprovalFilter } from './approval.ts';
import { approvalColumns, approvalStates } from './approval-row.ts';
import type { DeliveryFilter, DeliveryState } from './delivery.ts';
import { comparedColumns, deliveryColumns } from './delivery-row.ts';
import { firstSettled, stateCodes } from './delivery-states.ts';
import { LOOKED_AT, limitOfPart } from './list-parts.ts';
import type { RunFilter } from './run.ts';
import { runColumns } from './run-row.ts';
import { storable } from './storable.ts';

export interface Query {
  readonly text: string;
  readonly values: readonly (string | number)[];
}

/** One part of a list. */
export interface PartQuery {
  /** The rows, newest first; the first column is the sequence number. */
  readonly rows: Query;
  /** Number of rows of a full part. */
  readonly limit: number;
  /** One row about all records of the part, for `nextPart`. */
  readonly end: Query;
  /** Records before this time are not listed. */
  readonly since: number;
}

export type EndRow = readonly [oldest: number | null, count: number, newestAt: number | null];

/** Returns a text for PostgreSQL. */
export function postgresText(text: string): string {
  const joins = text.replaceAll('CROSS JOIN', 'JOIN').replace(/ INDEXED BY \w+/g, '');
  return joins.replace(/\?(?=\d)/g, '$');
}

/** Returns the query for one part of the deliveries. */
export function deliveriesPart(filter: DeliveryFilter): PartQuery {
  const { states = [], trigger, idPrefix, keyPrefix, since = 0 } = filter;
  const limit = limitOfPart(filter);
  const values = valuesOf(filter.beforeSeq ?? Number.MAX_SAFE_INTEGER);
  const sources = indexedSources(states) ?? ['delivery WHERE true'];
  const parts = conditionOn('state', states);
  if (trigger !== undefined) parts.push(`trigger = ${values.add(storable(trigger))}`);
  if (idPrefix !== undefined) parts.push(startsWith('id', values.add(storable(idPrefix))));
  if (keyPrefix !== undefined) parts.push(startsWith('key', values.add(storable(keyPrefix))));
  if (since > 0) parts.push(`at >= ${values.add(since)}`);
  // Answers and notes, which may be long, are read only for the rows of the part.
  const text = `SELECT ${deliveryColumns} FROM delivery WHERE seq IN
    (SELECT seq FROM (${newestOf(comparedColumns, sources)}) AS looked
     WHERE ${parts.join(' AND ')} ORDER BY seq DESC LIMIT ${limit}) ORDER BY seq DESC`;
  const end = endOf(newestOf('seq, at', sources), 'max(at)', values.all);
  return { rows: { text, values: values.all }, limit, end, since };
}

/** Returns the query for one part of the runs: by an index of the states, else by the index of the name. */
export function runsPart(filter: RunFilter): PartQuery {
  const { states = [], kind, name } = filter;
  const limit = limitOfPart(filter);
  const values = valuesOf(filter.beforeSeq ?? Number.MAX_SAFE_INTEGER);
  const parts = conditionOn('delivery.state', states);
  const ofName = name === undefined ? undefined : `name = ${values.add(storable(name))}`;
  if (ofName !== undefined) parts.push(`run.${ofName}`);
  if (kind !== undefined) parts.push(`run.kind = ${values.add(kind)}`);
  const byName = ofName === undefined ? 'run WHERE true' : `run INDEXED BY run_name WHERE ${ofName}`;
  const looked = newestOf('seq', indexedSources(states) ?? [byName]);
  // In the order of the inner query, so that no more is read than the part has room for.
  const text = `SELECT ${runColumns} FROM run CROSS JOIN delivery ON delivery.seq = run.seq
    WHERE run.seq IN (${looked}) AND ${parts.join(' AND ')} ORDER BY run.seq DESC LIMIT ${limit}`;
  return { rows: { text, values: values.all }, limit, end: endOf(looked, 'NULL', values.all), since: 0 };
}

/** Returns the query for approvals, newest first. SQLite reads one state at a time by an index. */
export function approvalsQuery({ states = [], run, before, limit }: ApprovalFilter): Query {
  const values = valuesOf();
  const parts = ['true'];
  const codes = [...new Set(states)].map((state) => approvalStates[state]);
  if (codes.length > 0) parts.push(`approval.state IN (${codes.join(', ')})`);
  if (run !== undefined)
    parts.push(`approval.seq = (SELECT seq FROM delivery WHERE id = ${values.add(storable(run))})`);
  if (before !== undefined)
    parts.push(`(asked, approval.id) < (${values.add(before.askedAt)}, ${values.add(storable(before.id))})`);
  const index = run !== undefined ? 'seq' : codes.length === 0 ? 'asked' : 'state';
  const text = `SELECT ${approvalColumns} FROM approval INDEXED BY approval_${index}
    CROSS JOIN delivery ON delivery.seq = approval.seq WHERE ${parts.join(' AND ')}
    ORDER BY asked DESC, approval.id DESC LIMIT ${limitOfPart({ limit })}`;
  return { text, values: values.all };
}

/** Returns the sequence number at which the next part begins; undefined at the end of the list. */
export function nextPart({ since }: PartQuery, end: EndRow | undefined): number | undefined {
  const [oldest, count, newestAt] = end ?? [null, 0, null];
  return count < LOOKED_AT || (newestAt ?? 0) < since ? undefined : (oldest ?? undefined);
}

function endOf(looked: string, newestAt: string, values: readonly (string | number)[]): Query {
  const text = `SELECT min(seq), count(*), ${newestAt} FROM (${looked}) AS looked`;
  return { text, values: values.slice(0, looked.includes('?2') ? 2 : 1) };
}

function valuesOf(...all: (string | number)[]) {
  return { all, add: (value: string | number) => `?${all.push(value)}` };
}

function conditionOn(column: string, states: readonly DeliveryState[]): string[] {
  return states.length === 0
    ? ['true']
    : [`${column} IN (${states.map((state) => stateCodes[state]).join(', ')})`];
}

const startsWith = (column: string, prefix: string) => `substr(${column}, 1, length(${prefix})) = ${prefix}`;

/** Returns a query for the newest records of the sources, each a table with a condition. */
function newestOf(columns: string, sources: readonly string[]): string {
  const newest = (from: string) => `SELECT ${columns} FROM ${from} ORDER BY seq DESC LIMIT ${LOOKED_AT}`;
  const parts = sources.map((source) => newest(`${source} AND seq < ?1`));
  if (parts.length === 1) return parts[0] ?? '';
  // Each part has its own bound: PostgreSQL would sort all records of a state without it.
  return newest(`(${parts.map((part) => `SELECT * FROM (${part}) AS part`).join(' UNION ALL ')}) AS parts`);
}

/** Returns one source per index; undefined without states, or for a state without an index. */
function indexedSources(states: readonly DeliveryState[]): readonly string[] | undefined {
  const sources = states.map((state) => indexed[state]);
  const known = sources.filter((source) => source !== undefined);
  return known.length === 0 || known.length < sources.length ? undefined : [...new Set(known)];
}

const unfinished = `delivery INDEXED BY delivery_unfinished WHERE state < ${firstSettled}`;

const indexed: Readonly<Record<DeliveryState, string | undefined>> = {
  queued: unfinished,
  running: unfinished,
  retrying: unfinished,
  held: unfinished,
  dead: `delivery INDEXED BY delivery_dead WHERE state = ${stateCodes.dead}`,
  waiting: 'delivery INDEXED BY delivery_waiting WHERE waits_for IS NOT NULL',
  done: undefined,
  ignored: undefined,
};
