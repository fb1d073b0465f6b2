// Formats durations, latencies and counts.

/** Returns `48s`, `5m 03s`, `3h 12m` or `4d 02h`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const steps = [
    { unit: 'd', size: 86_400, next: 'h', nextSize: 3_600 },
    { unit: 'h', size: 3_600, next: 'm', nextSize: 60 },
    { unit: 'm', size: 60, next: 's', nextSize: 1 },
  ];
  const step = steps.find(({ size }) => whole >= size);
  if (step === undefined) return `${whole}s`;
  const rest = Math.floor((whole % step.size) / step.nextSize);
  return `${Math.floor(whole / step.size)}${step.unit} ${String(rest).padStart(2, '0')}${step.next}`;
}

/** Returns `0.45ms`, `5.6ms`, `120ms` or `2.1s`; `-` for null. */
export function latency(ms: number | null): string {
  if (ms === null) return '-';
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)}s`;
  return `${ms.toFixed(ms < 1 ? 2 : ms < 10 ? 1 : 0)}ms`;
}

/** Returns `1 server` or `2 servers`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
