// Formats times and numbers.

/** 14:03:07.123 in local time. `at`: epoch milliseconds or ISO 8601. */
export function clock(at: number | string): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  const ms = String(date.getMilliseconds()).padStart(3, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${ms}`;
}

/** 2026-11-30 14:03:07 in local time. `at`: epoch milliseconds or ISO 8601. */
export function dateAndTime(at: number | string): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** `3 s`, `2 min`, `5 h`, `4 d`. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 100) return `${seconds} s`;
  if (seconds < 100 * 60) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** Returns the time since `at` (ISO 8601). */
export const timeSince = (at: string, now: number): string => span(now - Date.parse(at));

/** Returns the time until `until` (ISO 8601). */
export const timeUntil = (until: string, now: number): string => span(Date.parse(until) - now);

export function count(value: number): string {
  if (value < 10_000) return String(value);
  return value < 1_000_000 ? `${Math.round(value / 1000)} k` : `${(value / 1_000_000).toFixed(1)} M`;
}

/** `1 server`, `2 servers`; `1 delivery`, `2 deliveries`. */
export function pluralize(value: number, noun: string, plural = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : plural}`;
}

/** `3 of 7 actors`, `1 of 1 actor`. */
export function pluralizeOf(part: number, value: number, noun: string): string {
  return `${part} of ${value} ${value === 1 ? noun : `${noun}s`}`;
}

export function ms(value: number | null): string {
  if (value === null) return '–';
  return value < 10 ? `${value.toFixed(1)} ms` : value < 10_000 ? `${Math.round(value)} ms` : span(value);
}
