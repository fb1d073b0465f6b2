// A loop with limited concurrency, so that nobody else waits behind all of its work.

/** Handles all of them, `count` at a time, in order of their beginning. Rejects with the first rejection. */
export async function forEachLimited<T>(
  count: number,
  all: readonly T[],
  handle: (one: T) => Promise<void>,
): Promise<void> {
  const queue = all[Symbol.iterator]();
  const worker = async () => {
    for (const one of queue) await handle(one);
  };
  await Promise.all(Array.from({ length: Math.min(count, all.length) }, worker));
}
