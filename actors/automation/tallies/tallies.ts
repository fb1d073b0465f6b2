// Converts a node's counters for triggers, agents, fleets and flows into the form that it publishes to other
// nodes, and adds the counters of several nodes. The published size is bounded: recently active triggers take
// precedence. Values of other versions are read as far as possible.

import type { AgentCounts } from '../../agents/runs/agent-counters.ts';
import type { ProofFault } from '../../platforms/webhooks/refused-proofs.ts';
import type { TriggerCounts } from '../triggers/counters.ts';

export interface Tallies {
  /** By name. */
  readonly triggers: ReadonlyMap<string, TriggerCounts>;
  /** By target, e.g. `agent reviewer`. */
  readonly targets: ReadonlyMap<string, AgentCounts>;
}

export const noTallies: Tallies = { triggers: new Map(), targets: new Map() };

/** JSON form. */
export interface PublishedTallies {
  readonly triggers: Readonly<Record<string, readonly unknown[]>>;
  readonly targets: Readonly<Record<string, readonly unknown[]>>;
}

const MAX_TRIGGER_BYTES = 24_576;
const MAX_TARGET_BYTES = 8_192;

/** The order is part of the published format. */
const figures: readonly (keyof AgentCounts)[] = [
  'runs',
  'failed',
  'running',
  'iterations',
  'toolCalls',
  'inputTokens',
  'outputTokens',
  'cost',
];

/** Valid values of `refused.reason`; other versions may publish further ones. */
const faults: readonly string[] = ['missing', 'wrong', 'forbidden', 'unavailable'] satisfies ProofFault[];

export function sumOf(all: readonly Tallies[]): Tallies {
  const triggers = new Map<string, TriggerCounts>();
  const targets = new Map<string, AgentCounts>();
  for (const tallies of all) {
    for (const [name, counts] of tallies.triggers)
      triggers.set(name, sumOfTrigger(triggers.get(name), counts));
    for (const [name, counts] of tallies.targets) targets.set(name, sumOfTarget(targets.get(name), counts));
  }
  return { triggers, targets };
}

export function sumOfTrigger(one: TriggerCounts | undefined, other: TriggerCounts): TriggerCounts {
  if (one === undefined) return other;
  const lastAt = Math.max(one.lastAt ?? 0, other.lastAt ?? 0);
  return {
    handled: one.handled + other.handled,
    failed: one.failed + other.failed,
    lastAt: lastAt === 0 ? undefined : lastAt,
    refused: sumOfNoted(one.refused, other.refused),
    duplicates: sumOfNoted(one.duplicates, other.duplicates),
  };
}

export function sumOfTarget(one: AgentCounts | undefined, other: AgentCounts): AgentCounts {
  if (one === undefined) return other;
  return Object.fromEntries(figures.map((name) => [name, one[name] + other[name]])) as unknown as AgentCounts;
}

/** Adds the counts, and keeps the details of the last request. */
function sumOfNoted<Noted extends { readonly count: number; readonly at: number }>(
  one: Noted | undefined,
  other: Noted | undefined,
): Noted | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return { ...(one.at > other.at ? one : other), count: one.count + other.count };
}

/** Returns the counters for publication. `redact` removes secrets from refusal texts. */
export function publishTallies(
  { triggers, targets }: Tallies,
  redact: (text: string) => string,
): PublishedTallies {
  const recentFirst = [...triggers].sort(([, a], [, b]) => lastOf(b) - lastOf(a));
  return {
    triggers: limitRows(
      recentFirst.map(([name, { handled, failed, lastAt = 0, refused, duplicates }]) => {
        const row: unknown[] = [handled, failed, lastAt];
        if (refused !== undefined) row.push(refused.count, refused.at, refused.reason, redact(refused.text));
        else if (duplicates !== undefined) row.push(0, 0, '', '');
        if (duplicates !== undefined) row.push(duplicates.count, duplicates.at, duplicates.id);
        return [name, row];
      }),
      MAX_TRIGGER_BYTES,
    ),
    targets: limitRows(
      [...targets].map(([name, counts]) => [name, figures.map((figure) => counts[figure])]),
      MAX_TARGET_BYTES,
    ),
  };
}

const lastOf = ({ lastAt = 0, refused, duplicates }: TriggerCounts) =>
  Math.max(lastAt, refused?.at ?? 0, duplicates?.at ?? 0);

function limitRows(
  rows: readonly (readonly [string, readonly unknown[]])[],
  maxBytes: number,
): Record<string, readonly unknown[]> {
  let bytes = 0;
  const fitting = rows.filter((row) => {
    bytes += Buffer.byteLength(JSON.stringify(row));
    return bytes <= maxBytes;
  });
  return Object.fromEntries(fitting);
}

export function readTallies(value: unknown): Tallies {
  const { triggers, targets } = (value ?? {}) as Partial<PublishedTallies>;
  return { triggers: readRows(triggers, readTrigger), targets: readRows(targets, readTarget) };
}

function readRows<Counts>(rows: unknown, parse: (row: readonly unknown[]) => Counts): Map<string, Counts> {
  if (typeof rows !== 'object' || rows === null) return new Map();
  return new Map(
    Object.entries(rows).flatMap(([name, row]) => (Array.isArray(row) ? [[name, parse(row)] as const] : [])),
  );
}

function readTrigger(row: readonly unknown[]): TriggerCounts {
  const [handled, failed, lastAt, count, at, reason, text, ...duplicates] = row;
  const isFault = typeof reason === 'string' && faults.includes(reason);
  return {
    handled: numberIn(handled),
    failed: numberIn(failed),
    lastAt: numberIn(lastAt) || undefined,
    refused: isFault
      ? {
          count: numberIn(count),
          at: numberIn(at),
          reason: reason as ProofFault,
          text: typeof text === 'string' ? text : '',
        }
      : undefined,
    duplicates: readDuplicates(duplicates),
  };
}

function readDuplicates([count, at, id]: readonly unknown[]): TriggerCounts['duplicates'] {
  return typeof id === 'string' ? { count: numberIn(count), at: numberIn(at), id } : undefined;
}

function readTarget(row: readonly unknown[]): AgentCounts {
  return Object.fromEntries(figures.map((name, at) => [name, numberIn(row[at])])) as unknown as AgentCounts;
}

const numberIn = (value: unknown) => (typeof value === 'number' && Number.isFinite(value) ? value : 0);
