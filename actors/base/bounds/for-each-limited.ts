// Loop with limited concurrency.

/** Handles all items in order, `count` at a time. Rejects with the first rejection. */
export async function forEachLimited<T>(
  count: number,
  all: readonly T[],
  handle: (item: T) => Promise<void>,
): Promise<void> {
  const queue = all[Symbol.iterator]();
  const worker = async () => {
    for (const item of queue) await handle(item);
  };
  await Promise.all(Array.from({ length: Math.min(count, all.length) }, worker));
}
