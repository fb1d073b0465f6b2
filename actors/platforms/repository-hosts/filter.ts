// Filters of repository triggers: event name, repository, branch, sender, and the author's write access.
//
// - With `branches`, a trigger accepts events that never have a branch, and rejects events whose branch is
//   missing (a pushed tag).
// - Messages of the gateway are never accepted, to prevent loops. Each has an invisible mark. In comments the
//   mark suffices. A review decides a merge, so its mark counts only if the reviewer is the user of a token
//   with which this gateway writes reviews, or if the user of such a token is still unknown. In other texts
//   the mark is ignored, because anyone could hide an event with it.
// - The author of a command in a comment needs write access, unless the trigger allows everyone. While the
//   access is unknown, no trigger accepts the command.

import { compileGlobs } from '../../../libs/globs/glob.ts';
import { bindingNamed } from '../../../machines/matching.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import type { ResendMarks } from '../../events/outbox/resend-mark.ts';
import { factsOf } from './event.ts';
import type { RepoFacts } from './facts.ts';
import type { RepoTrigger } from './host.ts';

/** Name of the check (`InboundEvent.checks`) for the author's write access at the trigger's host. */
export const mayWriteAt = ({ config }: RepoTrigger): string => `may write at ${config.api_url}`;

/** Returns true if a review of this user may be the gateway's own. */
export type IsOurs = (trigger: RepoTrigger, name: string) => boolean;

interface Filter {
  readonly hasRepository: (name: string) => boolean;
  readonly hasBranch: (name: string) => boolean;
  readonly events: ReadonlySet<string>;
  readonly ignoredSenders: ReadonlySet<string>;
}

const filters = new WeakMap<RepoTrigger, Filter>();

/**
 * Returns true if the trigger accepts the event. Otherwise returns false if a filter in the trigger's file
 * excludes it, or the reason if the author's write access is missing.
 */
export function acceptsRepoEvent(
  marks: ResendMarks,
  trigger: RepoTrigger,
  inbound: InboundEvent,
  isOurs?: IsOurs,
): boolean | string {
  if (!isOfInterest(marks, trigger, inbound, isOurs)) return false;
  if (!needsWriter(trigger, inbound)) return true;
  const mayWrite = inbound.checks?.[mayWriteAt(trigger)];
  if (mayWrite === true) return true;
  const { user = 'the author', channel = 'the repository', typedCommand } = inbound;
  if (mayWrite === false) return `${user} has no write access to ${channel}; ${typedCommand} was not run`;
  if (trigger.config.token === undefined)
    return `cannot check write access to ${channel}; ${typedCommand} was not run: commands_from: writers needs a token`;
  return `the write access of ${user} to ${channel} is unknown; ${typedCommand} was not run`;
}

/** Applies all filters except the write access of the author. */
export function isOfInterest(
  marks: ResendMarks,
  trigger: RepoTrigger,
  inbound: InboundEvent,
  isOurs: IsOurs = () => false,
): boolean {
  const filter = filterOf(trigger);
  const { names, channel = '', user = '', text = '' } = inbound;
  const facts = factsOf(inbound);
  if (filter.events.size > 0 && !names.some((name) => filter.events.has(name))) return false;
  if (!filter.hasRepository(channel)) return false;
  if (filter.ignoredSenders.has(user.toLowerCase())) return false;
  if (marks.isMarked(text) && isOwnMessage(facts, (name) => isOurs(trigger, name))) return false;
  if (trigger.config.branches.length === 0) return true;
  const { branches } = facts;
  return branches === undefined || branches.some(filter.hasBranch);
}

/** Returns true for a message of the gateway. Its text must contain a mark. */
function isOwnMessage({ mayBeOwnComment, reviewer }: RepoFacts, isOurs: (name: string) => boolean): boolean {
  return mayBeOwnComment || (reviewer !== undefined && isOurs(reviewer));
}

/** Returns true if the event is a command of the trigger for users with write access. */
export function needsWriter(trigger: RepoTrigger, { typedCommand }: InboundEvent): boolean {
  if (typedCommand === undefined || trigger.config.commands_from === 'everyone') return false;
  return bindingNamed(trigger, typedCommand) !== undefined;
}

/** Returns true if the trigger's filters include the repository. */
export function handlesRepository(trigger: RepoTrigger, repository: string): boolean {
  return filterOf(trigger).hasRepository(repository);
}

function filterOf(trigger: RepoTrigger): Filter {
  const cached = filters.get(trigger);
  if (cached !== undefined) return cached;
  const { repositories, branches, repo_events, ignore_senders } = trigger.config;
  // The pattern `*` alone means all repositories, although a star does not match a slash in other patterns.
  const names = repositories.map((pattern) => (pattern === '*' ? '**' : pattern));
  const filter: Filter = {
    // Repository names are case-insensitive at the hosts; branch names are case-sensitive.
    hasRepository: names.length === 0 ? () => true : compileGlobs(names, { kind: 'ref', isCaseless: true }),
    hasBranch: branches.length === 0 ? () => true : compileGlobs(branches, { kind: 'ref' }),
    events: new Set(repo_events),
    ignoredSenders: new Set(ignore_senders.map((login) => login.toLowerCase())),
  };
  filters.set(trigger, filter);
  return filter;
}
