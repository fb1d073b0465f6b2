// Usage of a shared limit, for operators: how much is used, and by which holders. Contains names only, and a
// bounded number of them.

/** Largest holders per limit. */
const MAX_HOLDERS = 5;
const NAME_LENGTH = 100;

export interface LimitUsage {
  readonly used: number;
  readonly max: number;
  /** The largest holders, such as triggers and agents, in descending order. */
  readonly holders: readonly HolderUsage[];
}

export interface HolderUsage {
  readonly name: string;
  readonly used: number;
}

/** Returns the largest of the holders. */
export function largestHolders(
  usages: Iterable<readonly [name: string, used: number]>,
): readonly HolderUsage[] {
  const largest: HolderUsage[] = [];
  for (const [name, used] of usages) {
    const last = largest.at(MAX_HOLDERS - 1);
    if (used === 0 || (last !== undefined && used <= last.used)) continue;
    if (last !== undefined) largest.pop();
    const at = largest.findIndex((each) => each.used < used);
    largest.splice(at === -1 ? largest.length : at, 0, { name: name.slice(0, NAME_LENGTH), used });
  }
  return largest;
}
