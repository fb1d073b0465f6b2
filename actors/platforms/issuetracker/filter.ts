// Which triggers take an event of an issue tracker: by the project and the type of its issue, and by who has caused it.
//
// ITF1  a sprint has neither a project nor a type of issues: it passes both filters, and the query, which is about issues.
// ITF2  an issue whose type is not told passes no filter of types.

import type { IssueTrackerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';

interface Filter {
  readonly projects: ReadonlySet<string>;
  readonly types: ReadonlySet<string>;
  readonly ignored: ReadonlySet<string>;
}

const filters = new WeakMap<IssueTrackerTrigger, Filter>();

/** By what the event itself says; what only the tracker knows comes on top of it. */
export function takesTrackerEvent(trigger: IssueTrackerTrigger, inbound: InboundEvent): boolean {
  const { projects, types, ignored } = filterOf(trigger);
  const { channel: project, context, user, userAliases = [] } = inbound;
  if ([user, ...userAliases].some((name) => name !== undefined && ignored.has(name.toLowerCase())))
    return false;
  if (project === undefined) return true;
  if (projects.size > 0 && !projects.has(project)) return false;
  const type = context['issue.type'];
  return types.size === 0 || (typeof type === 'string' && types.has(type.toLowerCase()));
}

function filterOf(trigger: IssueTrackerTrigger): Filter {
  const before = filters.get(trigger);
  if (before !== undefined) return before;
  const { projects, issue_types, ignore_senders } = trigger.config;
  const filter: Filter = {
    // Keys are in capitals; names of types are the same in any case, as in the tracker's queries.
    projects: new Set(projects),
    types: new Set(issue_types.map((type) => type.toLowerCase())),
    ignored: new Set(ignore_senders.map((sender) => sender.toLowerCase())),
  };
  filters.set(trigger, filter);
  return filter;
}
