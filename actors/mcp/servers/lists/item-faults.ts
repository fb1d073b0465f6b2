// Faults of list items: how many items are repaired or omitted in merged lists (of all servers), and why. The
// first MAX_FAULTS are described, each limited in length; further ones are counted (A8, ARCHITECTURE.md).
// Texts quote the server, so control characters are escaped.

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
  /** Number of repaired items. */
  readonly repaired: number;
  /** Number of omitted items. */
  readonly omitted: number;
  /** The first faults, up to MAX_FAULTS. */
  readonly first: readonly ItemFault[];
}

const noFaults: ItemFaults = { repaired: 0, omitted: 0, first: [] };

export class FaultCollector implements ItemFaults {
  repaired = 0;
  omitted = 0;
  readonly first: ItemFault[] = [];

  /** Adds a fault. `reasons` is called only if the fault is described. */
  add(name: string, outcome: ItemFault['outcome'], reasons: () => readonly string[]): void {
    this[outcome] += 1;
    if (this.first.length === MAX_FAULTS) return;
    const reason = visible(reasons().join('; ').slice(0, MAX_REASON_CHARS));
    this.first.push({ name: visible(name.slice(0, MAX_NAME_CHARS)), outcome, reason });
  }
}

/** Combines the faults of two lists. */
export function joinFaults(some: ItemFaults = noFaults, others: ItemFaults = noFaults): ItemFaults {
  return {
    repaired: some.repaired + others.repaired,
    omitted: some.omitted + others.omitted,
    first: [...some.first, ...others.first].slice(0, MAX_FAULTS),
  };
}

/** Describes the faults in a sentence for the log; undefined without faults. */
export function faultSentence(method: string, { repaired, omitted, first }: ItemFaults): string | undefined {
  const count = repaired + omitted;
  if (count === 0) return undefined;
  const described = first
    .slice(0, MAX_LOGGED)
    .map(({ name, outcome, reason }) => `"${name}" ${outcome} (${reason})`);
  const more = count > described.length ? `; and ${count - described.length} more` : '';
  const counts = `${repaired} repaired and ${omitted} omitted in merged lists`;
  return `${method} returned invalid items, ${counts}: ${described.join('; ')}${more}; fix the server (all faults: GET /servers/:id)`;
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
