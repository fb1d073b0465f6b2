// What this page may do. Where commands are allowed the gateway marks the page that it serves to a watcher: it would refuse
// every command without the operator's cookie, so that none is offered.

import type { Totals } from '../wire/feed-wire.ts';

/** The command whose link brings the operator's cookie. */
export const ENTRY_COMMAND = 'actor-gateway inspector';

/** Whether the operator could act where this page cannot. */
export const isWatching = (): boolean => document.body.dataset.access === 'watch';

/** Whether the page offers commands. */
export const mayAct = (totals: Totals | null): boolean => totals?.commands === true && !isWatching();

/** What has to be done before one can `act` here: `decide`. */
export function howToAct(act: string): string {
  const step = isWatching()
    ? `open the link that ${ENTRY_COMMAND} prints`
    : 'set inspector.commands: true in the gateway file';
  return `To ${act} here, ${step}`;
}
