// Checks the names of IANA time zones in schedules. Node provides the list of zones.

import { suggest } from '../../reader/suggest.ts';

/** Returns the error message if the zone is unknown. */
export function zoneFault(name: string): string | undefined {
  if (isZone(name)) return undefined;
  const near = suggest(name, Intl.supportedValuesOf('timeZone'));
  return `is not a known time zone${near === undefined ? '; use a name such as Europe/Berlin or UTC' : `; did you mean ${near}?`}`;
}

function isZone(name: string): boolean {
  // Excludes offsets such as +02:00, which Node accepts, because they ignore daylight saving time.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}
