// Queries for lists, shared by SQLite and PostgreSQL. Each query reads a part of the list (list-parts.ts): it
// scans up to SCAN_LIMIT records, newest first. Unfinished, waiting and dead events are read from partial
// indexes, without scanning finished events. The texts are SQL for SQLite, with numbered placeholders and
// explicit indexes (INDEXED BY), since its planner would not choose them. `postgresText` converts them for
// PostgreSQL.

import type { ApprovalFilter } from './approval.ts';
import { approvalColumns, approvalStates } from './approval-row.ts';
import type { DeliveryFilter, DeliveryState } from './delivery.ts';
import { comparedColumns, listedColumns } from './delivery-row.ts';
import { firstNonBlocking, stateCodes } from './delivery-states.ts';
import { APPROVAL_BYTES, boundedLimit, SCAN_LIMIT } from './list-parts.ts';
import { toStorableText } from './record-texts.ts';
import type { RunFilter } from './run.ts';
import { runColumns } from './run-row.ts';

export interface Query {
  readonly text: string;
  readonly values: readonly (string | number)[];
}

/** Queries for a part. */
export interface PartQuery {
  /** Rows, newest first; column 0 is the sequence number. */
  readonly rows: Query;
  /** Maximum number of rows. */
  readonly limit: number;
  /** Query for a summary of the scanned records, for `nextPart`. */
  readonly end: Query;
  /** The list has records from this time on. */
  readonly since: number;
}

export type EndRow = readonly [oldest: number | null, count: number, newestAt: number | null];

/** Converts a query text for PostgreSQL. */
export function postgresText(text: string): string {
  const joins = text.replaceAll('CROSS JOIN', 'JOIN').replace(/ INDEXED BY \w+/g, '');
  return joins.replace(/\?(?=\d)/g, '$');
}

/** Builds the queries for a part of the deliveries. */
export function deliveriesPart(filter: DeliveryFilter): PartQuery {
  const { states = [], trigger, idPrefix, keyPrefix, since = 0 } = filter;
  const limit = boundedLimit(filter);
  const values = valuesOf(filter.beforeSeq ?? Number.MAX_SAFE_INTEGER);
  const sources = indexedSources(states) ?? ['delivery WHERE true'];
  const parts = conditionOn('state', states);
  if (trigger !== undefined) parts.push(`trigger = ${values.add(toStorableText(trigger))}`);
  if (idPrefix !== undefined) parts.push(startsWith('id', values.add(toStorableText(idPrefix))));
  if (keyPrefix !== undefined) parts.push(startsWith('key', values.add(toStorableText(keyPrefix))));
  if (since > 0) parts.push(`at >= ${values.add(since)}`);
  // Notes may be long; the outer query reads them only for listed rows.
  const text = `SELECT ${listedColumns} FROM delivery WHERE seq IN
    (SELECT seq FROM (${newestOf(comparedColumns, sources)}) AS looked
     WHERE ${parts.join(' AND ')} ORDER BY seq DESC LIMIT ${limit}) ORDER BY seq DESC`;
  const end = endOf(newestOf('seq, at', sources), 'max(at)', values.all);
  return { rows: { text, values: values.all }, limit, end, since };
}

/** Builds the queries for a part of the runs, by a state index or the name index. */
export function runsPart(filter: RunFilter): PartQuery {
  const { states = [], kind, name } = filter;
  const limit = boundedLimit(filter);
  const values = valuesOf(filter.beforeSeq ?? Number.MAX_SAFE_INTEGER);
  const parts = conditionOn('delivery.state', states);
  const ofName = name === undefined ? undefined : `name = ${values.add(toStorableText(name))}`;
  if (ofName !== undefined) parts.push(`run.${ofName}`);
  if (kind !== undefined) parts.push(`run.kind = ${values.add(kind)}`);
  const byName = ofName === undefined ? 'run WHERE true' : `run INDEXED BY run_name WHERE ${ofName}`;
  const scanned = newestOf('seq', indexedSources(states) ?? [byName]);
  // CROSS JOIN preserves the inner order in SQLite, which lets LIMIT stop the scan early.
  const text = `SELECT ${runColumns} FROM run CROSS JOIN delivery ON delivery.seq = run.seq
    WHERE run.seq IN (${scanned}) AND ${parts.join(' AND ')} ORDER BY run.seq DESC LIMIT ${limit}`;
  return { rows: { text, values: values.all }, limit, end: endOf(scanned, 'NULL', values.all), since: 0 };
}

/**
 * Builds the query for approvals, newest first. SQLite uses the index only for a single state. The page ends
 * with the record that reaches APPROVAL_BYTES; `octet_length` does not read the texts of further records.
 */
export function approvalsQuery({ states = [], run, before, limit }: ApprovalFilter): Query {
  const values = valuesOf();
  const parts = ['true'];
  const codes = [...new Set(states)].map((state) => approvalStates[state]);
  if (codes.length > 0) parts.push(`state IN (${codes.join(', ')})`);
  if (run !== undefined)
    parts.push(`seq = (SELECT seq FROM delivery WHERE id = ${values.add(toStorableText(run))})`);
  if (before !== undefined)
    parts.push(`(asked, id) < (${values.add(before.askedAt)}, ${values.add(toStorableText(before.id))})`);
  const index = run !== undefined ? 'seq' : codes.length === 0 ? 'asked' : 'state';
  const listed = `SELECT id, asked, octet_length(body) AS bytes FROM approval INDEXED BY approval_${index}
    WHERE ${parts.join(' AND ')} ORDER BY asked DESC, id DESC LIMIT ${boundedLimit({ limit })}`;
  const text = `SELECT ${approvalColumns} FROM (SELECT id AS listed_id, sum(bytes) OVER (ORDER BY asked DESC, id DESC
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before FROM (${listed}) AS listed) AS sized
    CROSS JOIN approval ON approval.id = listed_id CROSS JOIN delivery ON delivery.seq = approval.seq
    WHERE coalesce(bytes_before, 0) < ${APPROVAL_BYTES} ORDER BY asked DESC, approval.id DESC`;
  return { text, values: values.all };
}

/** Returns the sequence number at which the next part starts; undefined for the last part. */
export function nextPart({ since }: PartQuery, end: EndRow | undefined): number | undefined {
  const [oldest, count, newestAt] = end ?? [null, 0, null];
  // The part is the last one if the scan reached the end, or only found deliveries older than `since`.
  return count < SCAN_LIMIT || (newestAt ?? 0) < since ? undefined : (oldest ?? undefined);
}

function endOf(scanned: string, newestAt: string, values: readonly (string | number)[]): Query {
  const text = `SELECT min(seq), count(*), ${newestAt} FROM (${scanned}) AS looked`;
  return { text, values: values.slice(0, scanned.includes('?2') ? 2 : 1) };
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

/** Builds a query for the newest records of several sources (table and condition). */
function newestOf(columns: string, sources: readonly string[]): string {
  const newest = (from: string) => `SELECT ${columns} FROM ${from} ORDER BY seq DESC LIMIT ${SCAN_LIMIT}`;
  const parts = sources.map((source) => newest(`${source} AND seq < ?1`));
  if (parts.length === 1) return parts[0] ?? '';
  // Without a LIMIT per source, PostgreSQL sorts all matching records.
  return newest(`(${parts.map((part) => `SELECT * FROM (${part}) AS part`).join(' UNION ALL ')}) AS parts`);
}

/** Returns the indexed sources; undefined without states, or if any state has no index. */
function indexedSources(states: readonly DeliveryState[]): readonly string[] | undefined {
  const sources = states.map((state) => indexed[state]);
  const found = sources.filter((source) => source !== undefined);
  return found.length === 0 || found.length < sources.length ? undefined : [...new Set(found)];
}

const unfinished = `delivery INDEXED BY delivery_unfinished WHERE state < ${firstNonBlocking}`;

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
