// Known events of IssueTracker triggers. Their names are the keys in `spec.commands` of such a trigger, where
// each selects the handler of its event. The names are neutral: `tracker:` replaces the vendor's prefix.

import { suggest } from '../../reader/suggest.ts';

export const trackerEvents = [
  'tracker:issue_created',
  'tracker:issue_updated',
  'tracker:issue_deleted',
  'comment_created',
  'sprint_started',
  'sprint_closed',
] as const;

export type TrackerEvent = (typeof trackerEvents)[number];

/** Vendor prefix of issue events. */
const VENDOR_PREFIX = 'jira:';
const NEUTRAL_PREFIX = 'tracker:';

/** Returns the neutral name of an event, if known. `writtenName` has the neutral prefix or the vendor's. */
export function trackerEventOf(writtenName: string): TrackerEvent | undefined {
  const name = writtenName.startsWith(VENDOR_PREFIX)
    ? NEUTRAL_PREFIX + writtenName.slice(VENDOR_PREFIX.length)
    : writtenName;
  return trackerEvents.find((event) => event === name);
}

/** Returns the error message if the name is not the neutral name of a known event. */
export function trackerEventFault(name: string): string | undefined {
  if (trackerEvents.some((event) => event === name)) return undefined;
  const plainName = name.replace(/^\/?(?:jira:|tracker:)?/, '');
  const match = trackerEvents.find((event) => event === plainName || event === NEUTRAL_PREFIX + plainName);
  if (match !== undefined) return `there is no event ${name}; write ${match}`;
  const near = suggest(plainName, trackerEvents) ?? suggest(NEUTRAL_PREFIX + plainName, trackerEvents);
  if (near !== undefined) return `there is no event ${name}; did you mean ${near}?`;
  return `there is no event ${name}; events are ${trackerEvents.join(', ')}`;
}
