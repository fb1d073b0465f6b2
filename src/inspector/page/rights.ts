// Rights of this page. If commands are allowed, the gateway marks a watcher's page: it would refuse every command
// without the operator's cookie, so the page has no buttons.

import type { Totals } from '../wire/feed-wire.ts';

/** Prints a link with the operator's cookie. */
export const ENTRY_COMMAND = 'actor-gateway inspector';

/** True if the page lacks the operator's cookie. */
export const isWatching = (): boolean => document.body.dataset.access === 'watch';

/** True if the page offers commands. */
export const mayAct = (totals: Totals | null): boolean => totals?.commands === true && !isWatching();

/** Returns the step that enables an action such as `decide`. */
export function howToAct(act: string): string {
  const step = isWatching()
    ? `open the link that ${ENTRY_COMMAND} prints`
    : 'set inspector.commands: true in the gateway file';
  return `To ${act} here, ${step}`;
}
