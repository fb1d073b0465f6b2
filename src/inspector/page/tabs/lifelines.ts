// The log as a conversation: one line per actor, and an arrow for each event from whoever sent it to whoever took it.

import type { StateValue } from '../../wire/feed-wire.ts';
import { baseName, shownName } from '../address.ts';
import type { LogEntry } from '../feed/store.ts';

export interface Arrow {
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
  readonly arrows: readonly Arrow[];
}

export const MAX_LANES = 7;
export const MAX_ARROWS = 60;
/** Where timers, requests and operators come from. */
export const OUTSIDE = 'outside';
const OTHERS = 'others';

/**
 * The latest arrows to and from these actors (all without a list), oldest first. Beyond `most` lines, whoever spoke
 * least lately shares one.
 */
export function lifelines(
  log: readonly LogEntry[],
  names?: ReadonlySet<string>,
  most: number = MAX_LANES,
): Lifelines {
  const chosen: LogEntry[] = [];
  for (let index = log.length - 1; index >= 0 && chosen.length < MAX_ARROWS; index -= 1) {
    const entry = log[index];
    if (entry === undefined) break;
    const isOne = names === undefined || names.has(entry.name) || names.has(entry.sourceName ?? '');
    if (isOne) chosen.unshift(entry);
  }
  const lanes: string[] = [];
  for (const entry of [...chosen].reverse())
    for (const name of [entry.name, sourceOf(entry)])
      if (!lanes.includes(name) && lanes.length < most) lanes.push(name);
  lanes.sort((a, b) => rank(a, chosen) - rank(b, chosen));
  const everybody = new Set(chosen.flatMap((entry) => [entry.name, sourceOf(entry)]));
  if (everybody.size > lanes.length) lanes.push(OTHERS);
  const laneOf = (name: string) => (lanes.includes(name) ? lanes.indexOf(name) : lanes.length - 1);
  return {
    lanes,
    arrows: chosen.map((entry) => ({
      n: entry.n,
      event: entry.event,
      at: entry.at,
      from: laneOf(sourceOf(entry)),
      to: laneOf(entry.name),
      state: entry.state,
    })),
  };
}

/** The outside first, then in the order in which they began to speak. */
function rank(lane: string, chosen: readonly LogEntry[]): number {
  if (lane === OUTSIDE) return -1;
  return chosen.findIndex((entry) => entry.name === lane || sourceOf(entry) === lane);
}

function sourceOf({ sourceName }: LogEntry): string {
  return sourceName ?? OUTSIDE;
}

/** As many lines as may stand beside each other, the shared one among them. */
export function fittingLifelines(
  log: readonly LogEntry[],
  names: ReadonlySet<string> | undefined,
  room: number,
): Lifelines {
  const found = lifelines(log, names, Math.min(room, MAX_LANES));
  return found.lanes.length <= room ? found : lifelines(log, names, room - 1);
}

/** Names as a lane shows them. */
export function laneLabel(lane: string, most = 16): string {
  const base = shownName(lane);
  if (base.length <= most) return base;
  // Of a key the end tells it from others.
  return baseName(lane).includes('/') ? `…${base.slice(1 - most)}` : `${base.slice(0, most - 1)}…`;
}
