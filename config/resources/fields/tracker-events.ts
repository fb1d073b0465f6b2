// The events of an issue tracker that are known, by the names that commands have for them, and what else people write.

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

/** Events of issues, as the tracker itself writes them, begin with its own word. */
const VENDOR = 'jira:';
const NEUTRAL = 'tracker:';

/** The name of an event as commands have it, of one that is known; `said` is how the tracker writes it, or a person. */
export function trackerEventOf(said: string): TrackerEvent | undefined {
  const name = said.startsWith(VENDOR) ? NEUTRAL + said.slice(VENDOR.length) : said;
  return trackerEvents.find((event) => event === name);
}

/** What is wrong with the name of a command, or undefined. */
export function trackerEventFault(name: string): string | undefined {
  if (trackerEvents.some((event) => event === name)) return undefined;
  const bare = name.replace(/^\/?(?:jira:|tracker:)?/, '');
  const meant = trackerEvents.find((event) => event === bare || event === NEUTRAL + bare);
  if (meant !== undefined) return `there is no event ${name}; write ${meant}`;
  const near = suggest(bare, trackerEvents) ?? suggest(NEUTRAL + bare, trackerEvents);
  if (near !== undefined) return `there is no event ${name}; did you mean ${near}?`;
  return `there is no event ${name}; events are ${trackerEvents.join(', ')}`;
}
