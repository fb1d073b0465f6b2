// Filters of issue tracker triggers: project, issue type and sender.
//
// Sprints have no project and no type, so these filters and the query do not apply to them. An issue whose
// type is unknown does not match a type filter.

import type { IssueTrackerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';

interface Filter {
  readonly projects: ReadonlySet<string>;
  readonly types: ReadonlySet<string>;
  readonly ignoredSenders: ReadonlySet<string>;
}

const filters = new WeakMap<IssueTrackerTrigger, Filter>();

/** Applies the filters that need only the event. The tracker's checks follow (checks.ts). */
export function passesOwnFilters(trigger: IssueTrackerTrigger, inbound: InboundEvent): boolean {
  const { projects, types, ignoredSenders } = filterOf(trigger);
  const { channel: project, context, user, userAliases = [] } = inbound;
  if ([user, ...userAliases].some((name) => name !== undefined && ignoredSenders.has(name.toLowerCase())))
    return false;
  if (project === undefined) return true;
  if (projects.size > 0 && !projects.has(project)) return false;
  const type = context['issue.type'];
  return types.size === 0 || (typeof type === 'string' && types.has(type.toLowerCase()));
}

function filterOf(trigger: IssueTrackerTrigger): Filter {
  const cached = filters.get(trigger);
  if (cached !== undefined) return cached;
  const { projects, issue_types, ignore_senders } = trigger.config;
  const filter: Filter = {
    // Keys are upper case; type names are case-insensitive, as in the tracker's queries.
    projects: new Set(projects),
    types: new Set(issue_types.map((type) => type.toLowerCase())),
    ignoredSenders: new Set(ignore_senders.map((sender) => sender.toLowerCase())),
  };
  filters.set(trigger, filter);
  return filter;
}
