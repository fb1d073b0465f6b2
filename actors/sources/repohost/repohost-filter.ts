// Which triggers take an event: by its name, its repository, its branch and its sender.
//
// HF1  an event that has nothing to do with branches is not held back by `branches`; one that should have a branch and
//      has none (a pushed tag) is.
// HF2  what this gateway wrote itself is never taken, or its answers would be answered. It writes comments only: a mark
//      in the words of an issue or a pull request is a stranger's, who would like not to be seen.

import type { RepoHostTrigger } from '../../../config/resources/triggers/trigger.ts';
import { compileGlobs } from '../../../globs/glob.ts';
import { isMarked } from '../../outbound/resend-mark.ts';
import type { InboundEvent } from '../adapter.ts';
import { repoFacts } from './context.ts';

interface Filter {
  readonly hasRepository: (name: string) => boolean;
  readonly hasBranch: (name: string) => boolean;
  readonly events: ReadonlySet<string>;
  readonly ignored: ReadonlySet<string>;
}

/** The event of the comments that are our answers. */
const COMMENT = 'issue_comment';

const filters = new WeakMap<RepoHostTrigger, Filter>();

/** Whether the trigger's filters take an event of a repository host. */
export function takesRepoEvent(trigger: RepoHostTrigger, inbound: InboundEvent): boolean {
  const filter = filterOf(trigger);
  const { names, channel = '', user = '', text = '' } = inbound;
  if (filter.events.size > 0 && !names.some((name) => filter.events.has(name))) return false;
  if (!filter.hasRepository(channel)) return false;
  if (filter.ignored.has(user.toLowerCase())) return false;
  if (names.at(-1) === COMMENT && isMarked(text)) return false;
  if (trigger.config.branches.length === 0) return true;
  const branches = repoFacts(names.at(-1) ?? '', inbound.payload)?.branches;
  return branches === undefined || branches.some(filter.hasBranch);
}

/** Whether it takes events of that repository at all. */
export function handlesRepository(trigger: RepoHostTrigger, repository: string): boolean {
  return filterOf(trigger).hasRepository(repository);
}

function filterOf(trigger: RepoHostTrigger): Filter {
  const before = filters.get(trigger);
  if (before !== undefined) return before;
  const { repositories, branches, repo_events, ignore_senders } = trigger.config;
  // A lone star means all repositories, although a star does not cross a slash.
  const names = repositories.map((pattern) => (pattern === '*' ? '**' : pattern));
  const filter: Filter = {
    // The host does not tell names of repositories apart by case; branches it does.
    hasRepository: names.length === 0 ? () => true : compileGlobs(names, { kind: 'ref', isCaseless: true }),
    hasBranch: branches.length === 0 ? () => true : compileGlobs(branches, { kind: 'ref' }),
    events: new Set(repo_events),
    ignored: new Set(ignore_senders.map((login) => login.toLowerCase())),
  };
  filters.set(trigger, filter);
  return filter;
}
