// What is remembered under a bound: beyond it what was put there first goes.

/** Until there are no more than `most`, in the order in which they were put there. */
export function forgetOldest<Key>(
  kept: { readonly size: number; keys(): Iterable<Key>; delete(key: Key): boolean },
  most: number,
): void {
  for (const oldest of kept.keys()) {
    if (kept.size <= most) return;
    kept.delete(oldest);
  }
}
