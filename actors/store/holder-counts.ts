// Numbers of events by holder: a trigger, agent or conversation. Holders without events have no entry.

export type HolderCounts = ReadonlyMap<string, number>;

/** Adds `by` to the count of the holder. */
export function addCount(counts: Map<string, number>, name: string, by: number): void {
  const count = (counts.get(name) ?? 0) + by;
  if (count > 0) counts.set(name, count);
  else counts.delete(name);
}
