// Rights of this page. Without the operator's cookie the gateway refuses commands, and marks the page as
// read-only (`data-access="watch"`). A read-only page shows no buttons.

import type { Totals } from '../wire/feed.ts';

/** CLI command that prints a link to the page; the link sets the operator's cookie. */
export const ENTRY_COMMAND = 'actor-gateway inspector';

/** True if the page lacks the operator's cookie. */
export const isWatching = (): boolean => document.body.dataset.access === 'watch';

/** True if the page offers commands. */
export const mayAct = (totals: Totals | null): boolean => totals?.commands === true && !isWatching();

/** Returns a text with the step that enables an action such as `decide`. */
export function actionHint(act: string): string {
  const step = isWatching()
    ? `open the link that ${ENTRY_COMMAND} prints`
    : 'set inspector.commands: true in the gateway file';
  return `To ${act} here, ${step}`;
}
