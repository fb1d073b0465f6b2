// Which triggers take an event: by its name, its repository, its branch and its sender.
//
// HF1  an event that has nothing to do with branches is not held back by `branches`; one that should have a branch and
//      has none (a pushed tag) is.
// HF2  what this gateway wrote itself is never taken, or its answers would be answered. It writes comments only: a mark
//      in the words of an issue or a request is a stranger's, who would like not to be seen.
// HF3  what a person commands in a comment is taken from those whom the host lets write to the repository, unless the trigger's
//      file says otherwise; while nobody knows, from nobody.

import { compileGlobs } from '../../../globs/glob.ts';
import type { ResendMarks } from '../../outbound/resend-mark.ts';
import type { InboundEvent } from '../adapter.ts';
import { factsOf } from './repo-event.ts';
import type { RepoTrigger } from './repo-host.ts';

/** Among the checks of an event. */
export const MAY_WRITE = 'may write';

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
): boolean | string {
  if (!isOfInterest(marks, trigger, inbound)) return false;
  if (!needsWriter(trigger, inbound) || inbound.checks?.[MAY_WRITE] === true) return true;
  const { user = 'whoever wrote it', channel = 'the repository', spoken } = inbound;
  return `${user} may not write to ${channel}, so ${spoken} is not carried out`;
}

/** Whether it may take the event, if who wrote it may command. */
export function isOfInterest(marks: ResendMarks, trigger: RepoTrigger, inbound: InboundEvent): boolean {
  const filter = filterOf(trigger);
  const { names, channel = '', user = '', text = '' } = inbound;
  const facts = factsOf(inbound);
  if (filter.events.size > 0 && !names.some((name) => filter.events.has(name))) return false;
  if (!filter.hasRepository(channel)) return false;
  if (filter.ignored.has(user.toLowerCase())) return false;
  if (facts.isOfAnswers && marks.areIn(text)) return false;
  if (trigger.config.branches.length === 0) return true;
  const { branches } = facts;
  return branches === undefined || branches.some(filter.hasBranch);
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
