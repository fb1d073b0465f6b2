// Converts the log to a sequence diagram: one lane per actor, one arrow per event from sender to receiver.

import type { StateValue } from '../../wire/feed.ts';
import { baseName, displayName } from '../address.ts';
import type { LogEntry } from '../feed/page-state.ts';

export interface SequenceArrow {
  readonly n: number;
  readonly event: string;
  readonly at: number;
  /** Indexes into `lanes`. */
  readonly from: number;
  readonly to: number;
  readonly state: StateValue | null;
}

export interface Lifelines {
  readonly lanes: readonly string[];
  readonly arrows: readonly SequenceArrow[];
}

export const MAX_LANES = 7;
export const MAX_ARROWS = 60;
/** Lane for events from outside the tree: timers, requests, operators. */
export const OUTSIDE = 'outside';
const OTHERS = 'others';

/**
 * Returns the latest arrows to and from these actors, oldest first. Without `names`, all actors are included.
 * Beyond `maxLanes`, the least recently active actors share a lane.
 */
export function lifelines(
  log: readonly LogEntry[],
  names?: ReadonlySet<string>,
  maxLanes: number = MAX_LANES,
): Lifelines {
  const entries: LogEntry[] = [];
  for (let index = log.length - 1; index >= 0 && entries.length < MAX_ARROWS; index -= 1) {
    const entry = log[index];
    if (entry === undefined) break;
    const isMatch = names === undefined || names.has(entry.name) || names.has(entry.sourceName ?? '');
    if (isMatch) entries.unshift(entry);
  }
  const lanes: string[] = [];
  for (const entry of [...entries].reverse())
    for (const name of [entry.name, sourceOf(entry)])
      if (!lanes.includes(name) && lanes.length < maxLanes) lanes.push(name);
  lanes.sort((a, b) => rank(a, entries) - rank(b, entries));
  const participants = new Set(entries.flatMap((entry) => [entry.name, sourceOf(entry)]));
  if (participants.size > lanes.length) lanes.push(OTHERS);
  const laneOf = (name: string) => (lanes.includes(name) ? lanes.indexOf(name) : lanes.length - 1);
  return {
    lanes,
    arrows: entries.map((entry) => ({
      n: entry.n,
      event: entry.event,
      at: entry.at,
      from: laneOf(sourceOf(entry)),
      to: laneOf(entry.name),
      state: entry.state,
    })),
  };
}

/** Returns the position of a lane: OUTSIDE first, then by the first event. */
function rank(lane: string, entries: readonly LogEntry[]): number {
  if (lane === OUTSIDE) return -1;
  return entries.findIndex((entry) => entry.name === lane || sourceOf(entry) === lane);
}

function sourceOf({ sourceName }: LogEntry): string {
  return sourceName ?? OUTSIDE;
}

/** Same as `lifelines`, but `maxLanes` includes the shared lane. */
export function lifelinesWithin(
  log: readonly LogEntry[],
  names: ReadonlySet<string> | undefined,
  maxLanes: number,
): Lifelines {
  const result = lifelines(log, names, Math.min(maxLanes, MAX_LANES));
  return result.lanes.length <= maxLanes ? result : lifelines(log, names, maxLanes - 1);
}

/** Returns the truncated name. */
export function laneLabel(lane: string, maxChars = 16): string {
  const base = displayName(lane);
  if (base.length <= maxChars) return base;
  // A lane is named like its actor. Only the actor of a mailbox (queue of a conversation) has a name with a
  // slash: its key. Keys differ at the end, so their beginning is removed.
  return baseName(lane).includes('/') ? `…${base.slice(1 - maxChars)}` : `${base.slice(0, maxChars - 1)}…`;
}
