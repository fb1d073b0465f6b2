// Limit of parked events and its shares, for all engines. A parked event does not count as a waiting event
// (`maxWaiting`), because it can wait for days. Parked events have a separate limit. Each belongs to three
// holders: its trigger, its target and its conversation. A trigger or target may hold as many as remain
// free, so one alone gets half (base/bounds/budget.ts). The conversation counts twice: one alone gets a
// third, and other conversations of the trigger have capacity left.

import { type LimitUsage, largestHolders } from '../base/bounds/limit-usage.ts';
import type { HolderCounts } from './holder-counts.ts';
import { NAME_LENGTH, toStorableText } from './record-texts.ts';
import type { RunNote } from './run.ts';

/** Holders of a parked event. */
export interface ParkedHolders {
  readonly key: string;
  readonly trigger: string | null;
  /** Kind and name; null without a run. */
  readonly target: string | null;
}

/** Numbers of parked events: all, and by holder. */
export interface ParkedUsage {
  readonly total: number;
  readonly trigger: number;
  readonly target: number;
  readonly conversation: number;
}

/** Returns true if one more event may be parked. */
export function canPark({ total, trigger, target, conversation }: ParkedUsage, maxParked: number): boolean {
  return Math.max(trigger, target) + conversation < maxParked - total;
}

/** Returns true if one more event may be parked, even if all parked events have the same holders. */
export function canParkAny(total: number, maxParked: number): boolean {
  return canPark({ total, trigger: total, target: total, conversation: total }, maxParked);
}

/** Returns the usage of the limit, with the largest triggers and targets. */
export function parkedUsage(
  used: number,
  max: number,
  byTrigger: HolderCounts,
  byTarget: HolderCounts,
): LimitUsage {
  const triggers = [...byTrigger].map(([name, count]) => [`trigger ${name}`, count] as const);
  return { used, max, holders: largestHolders([...triggers, ...byTarget]) };
}

/** Returns the stored form of a run's target. */
export function targetText({ kind, name }: Pick<RunNote, 'kind' | 'name'>): string {
  return toStorableText(`${kind} ${name.slice(0, NAME_LENGTH)}`);
}

/** Returns the reason why an event is not parked. */
export function parkRefusal(maxParked: number): string {
  return `too many runs of its trigger, agent or conversation wait (deliveries.max_parked: ${maxParked})`;
}
