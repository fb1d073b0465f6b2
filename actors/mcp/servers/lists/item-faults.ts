// Faults of list items: the number of items that merged lists repair and omit, with the reasons for the first items. The
// texts quote the server, so they are shortened and control characters escaped.
//
// A8: the first MAX_FAULTS faults are described, in MAX_NAME_CHARS and MAX_REASON_CHARS each; further faults are counted.

export const MAX_FAULTS = 20;
const MAX_NAME_CHARS = 100;
const MAX_REASON_CHARS = 300;
const MAX_LOGGED = 5;

export interface ItemFault {
  readonly name: string;
  readonly outcome: 'repaired' | 'omitted';
  readonly reason: string;
}

export interface ItemFaults {
  readonly repaired: number;
  readonly omitted: number;
  readonly first: readonly ItemFault[];
}

const noFaults: ItemFaults = { repaired: 0, omitted: 0, first: [] };

/** Collects list faults. */
export class FaultCollector implements ItemFaults {
  repaired = 0;
  omitted = 0;
  readonly first: ItemFault[] = [];

  /** Adds a fault; calls `reasons` only for the first faults. */
  add(name: string, outcome: ItemFault['outcome'], reasons: () => readonly string[]): void {
    this[outcome] += 1;
    if (this.first.length === MAX_FAULTS) return;
    const reason = visible(reasons().join('; ').slice(0, MAX_REASON_CHARS));
    this.first.push({ name: visible(name.slice(0, MAX_NAME_CHARS)), outcome, reason });
  }
}

/** Adds up the faults of two lists. */
export function joinFaults(some: ItemFaults = noFaults, others: ItemFaults = noFaults): ItemFaults {
  return {
    repaired: some.repaired + others.repaired,
    omitted: some.omitted + others.omitted,
    first: [...some.first, ...others.first].slice(0, MAX_FAULTS),
  };
}

/** Describes the faults in a sentence for the log; returns undefined without faults. */
export function faultSentence(method: string, { repaired, omitted, first }: ItemFaults): string | undefined {
  const count = repaired + omitted;
  if (count === 0) return undefined;
  const named = first
    .slice(0, MAX_LOGGED)
    .map(({ name, outcome, reason }) => `"${name}" ${outcome} (${reason})`);
  const more = count > named.length ? `; and ${count - named.length} more` : '';
  const counts = `${repaired} repaired and ${omitted} omitted in merged lists`;
  return `${method} returned invalid items, ${counts}: ${named.join('; ')}${more}; fix the server (all faults: GET /servers/:id)`;
}

const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Escapes invisible characters and terminal control characters, in JSON syntax. */
function visible(text: string): string {
  return text.replace(HIDDEN, (character) =>
    Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
