// The events of a repository host that are known, and their actions. A name is `event`, or `event.action`.

import { suggest } from '../../reader/suggest.ts';

/** An event without actions has an empty list. */
export const repoEvents: Readonly<Record<string, readonly string[]>> = {
  pull_request: [
    'opened',
    'synchronize',
    'closed',
    'reopened',
    'edited',
    'assigned',
    'labeled',
    'ready_for_review',
  ],
  pull_request_review: ['submitted', 'edited', 'dismissed'],
  pull_request_review_comment: ['created', 'edited', 'deleted'],
  push: [],
  issues: ['opened', 'edited', 'closed', 'reopened', 'assigned', 'labeled', 'transferred'],
  issue_comment: ['created', 'edited', 'deleted'],
  workflow_run: ['requested', 'in_progress', 'completed'],
  workflow_job: ['queued', 'in_progress', 'completed'],
  check_run: ['created', 'completed', 'rerequested'],
  check_suite: ['completed', 'requested', 'rerequested'],
  release: ['published', 'created', 'edited', 'deleted', 'released'],
  deployment: ['created'],
  deployment_status: ['created'],
  status: [],
  create: [],
  delete: [],
};

/**
 * Events that triggers for different branches may both take: the first three have no branch, and the commit of a `status`
 * may be on several.
 */
export const eventsOfAnyBranch: readonly string[] = ['issues', 'issue_comment', 'release', 'status'];

/** What is wrong with the name of an event, or undefined. */
export function repoEventFault(name: string): string | undefined {
  const dot = name.indexOf('.');
  const event = dot === -1 ? name : name.slice(0, dot);
  const actions = Object.hasOwn(repoEvents, event) ? repoEvents[event] : undefined;
  if (actions === undefined) {
    const near = suggest(event, Object.keys(repoEvents));
    if (near !== undefined) return `there is no event ${event}; did you mean ${near}?`;
    return `there is no event ${event}; events are ${Object.keys(repoEvents).join(', ')}`;
  }
  if (dot === -1) return undefined;
  const action = name.slice(dot + 1);
  if (actions.includes(action)) return undefined;
  if (actions.length === 0) return `${event} has no actions; write ${event}`;
  const near = suggest(action, actions);
  if (near !== undefined) return `${event} has no action ${action}; did you mean ${event}.${near}?`;
  return `${event} has no action ${action}; its actions are ${actions.join(', ')}`;
}

/** Whether there is an event that each of the lists takes. */
export function haveEventInCommon(lists: readonly (readonly string[])[]): boolean {
  const [first = [], ...others] = lists.filter((list) => list.length > 0);
  if (others.length === 0) return true;
  // Of two that meet one is the other, or an action of it: what both stand for is the longer one.
  const [second = [], ...rest] = others;
  const common = first.flatMap((each) =>
    second.filter((other) => doEventsMeet(each, other)).map((other) => longer(each, other)),
  );
  return common.length > 0 && haveEventInCommon([common, ...rest]);
}

const longer = (one: string, other: string) => (one.length < other.length ? other : one);

/** `pull_request` stands for all of its actions. */
function doEventsMeet(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}.`) || b.startsWith(`${a}.`);
}
