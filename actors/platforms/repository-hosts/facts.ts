// What an event of a repository host says, whichever host it is: the words in which filters, conversations, answers and agents
// know it. Each host reads its own payloads (`repohost/facts.ts` and its siblings); nothing else here looks into one.

import { knownContext } from '../payloads/payload-member.ts';

/** An issue, or a request to merge. */
export interface RepoItem {
  /** `!` where requests are numbered apart from issues; hosts that number both together have `#` for all. */
  readonly sign: '#' | '!';
  readonly number: number;
  /** What is said of it here is for those who work on the repository alone, on hosts that have such comments. */
  readonly isInternal?: boolean;
}

/** Each fact is read when it is asked for: at the door few are, and each event passes there. */
export interface RepoFacts {
  /** As the contract's `repo.event`. */
  readonly event: string;
  readonly action: string | undefined;
  /** Names of commands that it stands for, the most exact first. */
  readonly names: readonly string[];
  /** With the names of those that it belongs to: `owner/repo`. */
  readonly repository: string;
  /** By the name that files and people know. */
  readonly sender: string | undefined;
  /** By the id that the host's API asks for, where that is another. */
  readonly senderId: string | undefined;
  readonly item: RepoItem | undefined;
  /** Of a request alone. */
  readonly pull: { readonly title: string | undefined; readonly author: string | undefined } | undefined;
  readonly sha: string | undefined;
  /** In full: `refs/heads/main`. */
  readonly ref: string | undefined;
  /** Where the ref is one of another repository: its name, or `unknown` for one that is gone. */
  readonly home: string | undefined;
  /** Every branch of the repository by which a trigger may know it; undefined for events that have none. */
  readonly branches: readonly string[] | undefined;
  /** What a person wrote. */
  readonly text: string | undefined;
  /** `written`: somebody has just made a comment, whose text this is. `changed`: it is about one in any other way. */
  readonly comment: 'written' | 'changed' | undefined;
  /** Our own answers come back as such an event. */
  readonly isOfAnswers: boolean;
  /** Whose review with words it is about, where it is about one. */
  readonly reviewer?: string | undefined;
  readonly payload: unknown;
}

/** How the events of one host read. */
export interface RepoEvents {
  /** The platform's word in ids and keys: `repohost`. */
  readonly platform: string;
  /** Whether the gateway knows the event, by the name under which the host sends it. */
  isKnown(event: string): boolean;
  /**
   * What the payload of a known event says; undefined when it is none. `for nobody`: only the payload tells that the gateway
   * does not know the event, or that it is none of a repository.
   */
  facts(event: string, payload: unknown): RepoFacts | 'for nobody' | undefined;
  /** Every path at which the facts of an event are read. */
  paths(event: string): readonly string[];
}

/** The name of a branch; undefined for any other ref, and without one. */
export function branchOf({ ref }: Pick<RepoFacts, 'ref'>): string | undefined {
  return ref?.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : undefined;
}

/** As handlers are told it: the contract's names (`repo.pr.number`), without those that have no value. */
export function repoContext(facts: RepoFacts): Readonly<Record<string, unknown>> {
  const { item, pull } = facts;
  return knownContext({
    'repo.event': facts.event,
    'repo.repo': facts.repository,
    'repo.action': facts.action,
    'repo.branch': branchOf(facts),
    'repo.sender': facts.sender,
    'repo.ref': facts.ref,
    'repo.sha': facts.sha,
    'repo.pr.number': pull && item?.number,
    'repo.pr.title': pull?.title,
    'repo.pr.author': pull?.author,
  });
}

/**
 * What the conversation is about: `owner/repo#7`, `owner/repo!7`, `owner/repo@refs/heads/main`, `owner/repo`. A branch of a fork
 * is none of the repository, whatever a stranger calls it: `owner/repo@stranger/repo:refs/heads/main`.
 */
export function placeOf({ repository, item, ref, home }: RepoFacts): string {
  if (item !== undefined) return `${repository}${item.sign}${item.number}`;
  if (ref === undefined) return repository;
  return home === undefined ? `${repository}@${ref}` : `${repository}@${home}:${ref}`;
}

/** What was written, put together of these; undefined where nothing was. The first line keeps what stands before it: four spaces make it code. */
export function writtenText(words: readonly string[]): string | undefined {
  const text = words
    .join('\n\n')
    .replace(/^(?:[^\S\n]*\n)+/, '')
    .trimEnd();
  return text === '' ? undefined : text;
}

/**
 * `/deploy`, where somebody has just written a comment that begins with it; what is changed later, quoted, or code, as a line with
 * four spaces before it is, is no command.
 */
export function spokenIn({ comment, text }: Pick<RepoFacts, 'comment' | 'text'>): string | undefined {
  if (comment !== 'written') return undefined;
  return /^(?:[^\S\n]*\n)* {0,3}(\/[A-Za-z][\w-]{0,63})(?!\S)/.exec(text ?? '')?.[1];
}
