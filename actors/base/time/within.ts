// Limits the time of a wait. The awaited operation continues after the limit.

/**
 * Resolves or rejects like `result`. After `ms` milliseconds it resolves with the value of `onLate`, or
 * rejects with the error that `onLate` throws.
 */
export async function within<T, Late = undefined>(
  ms: number,
  result: Promise<T>,
  onLate: () => Late = () => undefined as Late,
): Promise<T | Late> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    return await Promise.race([result, late.then(onLate)]);
  } finally {
    clearTimeout(timer);
  }
}
