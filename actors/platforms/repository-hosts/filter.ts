// Which triggers take an event: by its name, its repository, its branch and its sender.
//
// HF1  an event that has nothing to do with branches is not held back by `branches`; one that should have a branch and
//      has none (a pushed tag) is.
// HF2  what this gateway wrote itself is never taken, or its answers would be answered. It writes comments, which are known by their
//      mark alone; and reviews, which decide what is merged: the mark in one counts only where it is by whose token writes reviews
//      for a trigger here, or that is not known yet. A mark in any other words is a stranger's, who would like not to be seen.
// What a person commands in a comment is taken from those whom the host lets write to the repository, unless the trigger's
// file says otherwise; while nobody knows, from nobody.

import { compileGlobs } from '../../../libs/globs/glob.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import type { ResendMarks } from '../../events/outbox/resend-mark.ts';
import { factsOf } from './event.ts';
import type { RepoFacts } from './facts.ts';
import type { RepoTrigger } from './host.ts';

/** Among the checks of an event: whether who has written it may write to its repository, at the host of the trigger. */
export const mayWriteAt = ({ config }: RepoTrigger): string => `may write at ${config.api_url}`;

/** Whether reviews of that user, at the host of the trigger, may be ours. */
export type IsOurs = (trigger: RepoTrigger, name: string) => boolean;

interface Filter {
  readonly hasRepository: (name: string) => boolean;
  readonly hasBranch: (name: string) => boolean;
  readonly events: ReadonlySet<string>;
  readonly ignored: ReadonlySet<string>;
}

const filters = new WeakMap<RepoTrigger, Filter>();

/** Whether the trigger's filters take an event of a repository host; in words why not where the file does not show it. */
export function takesRepoEvent(
  marks: ResendMarks,
  trigger: RepoTrigger,
  inbound: InboundEvent,
  isOurs?: IsOurs,
): boolean | string {
  if (!isOfInterest(marks, trigger, inbound, isOurs)) return false;
  if (!needsWriter(trigger, inbound)) return true;
  const mayWrite = inbound.checks?.[mayWriteAt(trigger)];
  if (mayWrite === true) return true;
  const { user = 'whoever wrote it', channel = 'the repository', spoken } = inbound;
  if (mayWrite === false) return `${user} may not write to ${channel}, so ${spoken} is not carried out`;
  if (trigger.config.token === undefined)
    return `nobody can ask who may write to ${channel}, so ${spoken} is not carried out: commands_from: writers needs a token`;
  return `nobody knows whether ${user} may write to ${channel}, so ${spoken} is not carried out`;
}

/** Whether it may take the event, if who wrote it may command. */
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
  if (filter.ignored.has(user.toLowerCase())) return false;
  if (marks.areIn(text) && isOwnWord(facts, (name) => isOurs(trigger, name))) return false;
  if (trigger.config.branches.length === 0) return true;
  const { branches } = facts;
  return branches === undefined || branches.some(filter.hasBranch);
}

/** What was written with a mark. */
function isOwnWord({ isOfAnswers, reviewer }: RepoFacts, isOurs: (name: string) => boolean): boolean {
  return isOfAnswers || (reviewer !== undefined && isOurs(reviewer));
}

/** Whether the event is a command of the trigger that not everybody may give. */
export function needsWriter({ config, commands }: RepoTrigger, { spoken }: InboundEvent): boolean {
  if (spoken === undefined || config.commands_from === 'everyone') return false;
  return commands.some(({ command }) => command === spoken);
}

/** Whether it takes events of that repository at all. */
export function handlesRepository(trigger: RepoTrigger, repository: string): boolean {
  return filterOf(trigger).hasRepository(repository);
}

function filterOf(trigger: RepoTrigger): Filter {
  const before = filters.get(trigger);
  if (before !== undefined) return before;
  const { repositories, branches, repo_events, ignore_senders } = trigger.config;
  // A lone star means all repositories, although a star does not cross a slash.
  const names = repositories.map((pattern) => (pattern === '*' ? '**' : pattern));
  const filter: Filter = {
    // Hosts do not tell names of repositories apart by case; branches they do.
    hasRepository: names.length === 0 ? () => true : compileGlobs(names, { kind: 'ref', isCaseless: true }),
    hasBranch: branches.length === 0 ? () => true : compileGlobs(branches, { kind: 'ref' }),
    events: new Set(repo_events),
    ignored: new Set(ignore_senders.map((login) => login.toLowerCase())),
  };
  filters.set(trigger, filter);
  return filter;
}
