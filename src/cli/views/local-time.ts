// Formats times for people: ISO 8601 in the time zone of this process, with the offset. JSON output stays in
// UTC.

const SECONDS_LENGTH = 'YYYY-MM-DDThh:mm:ss'.length;
const DATE_LENGTH = 'YYYY-MM-DDT'.length;

/** Returns `2026-11-21T11:57:03.906+01:00`, or the same text for UTC and for an invalid time. */
export function localTime(time: string): string {
  const at = new Date(time);
  const offset = -at.getTimezoneOffset();
  if (offset === 0 || Number.isNaN(offset)) return time;
  const zone = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60];
  const wallClock = new Date(at.getTime() + offset * 60_000).toISOString();
  const end = time.includes('.') ? wallClock.length - 1 : SECONDS_LENGTH;
  const sign = offset < 0 ? '-' : '+';
  return `${wallClock.slice(0, end)}${sign}${zone.map((each) => String(each).padStart(2, '0')).join(':')}`;
}

/** Returns the local time, or `without` for null. */
export const optionalTime = (time: string | null, without = '-'): string =>
  time === null ? without : localTime(time);

/** Returns the local time in whole seconds. */
export const localSeconds = (time: string): string => localTime(`${time.slice(0, SECONDS_LENGTH)}Z`);

/** Returns the time of day: `11:57:03.906+01:00`. */
export const localClock = (time: string): string => localTime(time).slice(DATE_LENGTH);
