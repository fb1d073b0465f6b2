// Time zones by their IANA names, as far as this Node knows them.

import { suggest } from '../../reader/suggest.ts';

/** What is wrong with the name of a zone, or undefined. */
export function zoneFault(name: string): string | undefined {
  if (isZone(name)) return undefined;
  const near = suggest(name, Intl.supportedValuesOf('timeZone'));
  return `is no time zone known here${near === undefined ? '; use a name such as Europe/Berlin or UTC' : `; did you mean ${near}?`}`;
}

function isZone(name: string): boolean {
  // A name, and no offset such as +02:00: an offset knows no daylight saving.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}
