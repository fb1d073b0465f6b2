// Common model of the events of repository hosts, for filters, conversations, answers and agents. Each host
// converts its payloads into it (`repohost/facts.ts` and its siblings); other files here read no payload.

import { definedContext } from '../payloads/payload-member.ts';

/** An issue, or a pull (merge) request. */
export interface RepoItem {
  /** `!` for a pull request, on hosts that number them separately; `#` otherwise. */
  readonly sign: '#' | '!';
  readonly number: number;
  /**
   * True for internal comments, which only members of the repository see. Only some hosts have such comments.
   */
  readonly isInternal?: boolean;
}

/** Event facts. Members are getters that read the payload on access, because most events need only a few. */
export interface RepoFacts {
  /** Value of `repo.event`. */
  readonly event: string;
  readonly action: string | undefined;
  /** Command names that match the event, most specific first. */
  readonly names: readonly string[];
  /** Full name with the owner: `owner/repo`. */
  readonly repository: string;
  /** Name of the sender, as used in triggers' files. */
  readonly sender: string | undefined;
  /** Id of the sender in the host's API, if that is not the name. */
  readonly senderId: string | undefined;
  readonly item: RepoItem | undefined;
  /** Set for pull requests only. */
  readonly pull: { readonly title: string | undefined; readonly author: string | undefined } | undefined;
  readonly sha: string | undefined;
  /** Full ref: `refs/heads/main`. */
  readonly ref: string | undefined;
  /** Repository of the ref, if that is a fork: its name, or `unknown` if the fork was deleted. */
  readonly sourceRepository: string | undefined;
  /** Branches of the repository that filters match; undefined for events that never have a branch. */
  readonly branches: readonly string[] | undefined;
  /** Text written by a person. */
  readonly text: string | undefined;
  /** `written`: a new comment with this text. `changed`: another comment event. Undefined: no comment. */
  readonly comment: 'written' | 'changed' | undefined;
  /** True if the gateway's own comments also cause events of this kind. */
  readonly mayBeOwnComment: boolean;
  /** Author of the review that contains the event's text. */
  readonly reviewer?: string | undefined;
  readonly payload: unknown;
}

/** Event parser for a host. */
export interface RepoEvents {
  /** Platform name in ids and keys: `repohost`. */
  readonly platform: string;
  /** True if the gateway handles the event with this name. */
  isKnown(event: string): boolean;
  /**
   * Returns the payload's facts; undefined if the payload does not match the event. `unhandled`: the gateway
   * does not handle the event, or it concerns no repository.
   */
  facts(event: string, payload: unknown): RepoFacts | 'unhandled' | undefined;
  /** Returns the payload paths that the facts use. */
  paths(event: string): readonly string[];
}

/** Returns the branch name; undefined for other refs. */
export function branchOf({ ref }: Pick<RepoFacts, 'ref'>): string | undefined {
  return ref?.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : undefined;
}

/**
 * Returns the context that handlers get, with documented names (`repo.pr.number`) and no undefined values.
 */
export function repoContext(facts: RepoFacts): Readonly<Record<string, unknown>> {
  const { item, pull } = facts;
  return definedContext({
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
 * Returns the conversation: `owner/repo#7`, `owner/repo!7`, `owner/repo@refs/heads/main`, `owner/repo`. The
 * branch of a fork contains the fork's name, to distinguish it from the repository's own branches:
 * `owner/repo@stranger/repo:refs/heads/main`.
 */
export function conversationOf({ repository, item, ref, sourceRepository }: RepoFacts): string {
  if (item !== undefined) return `${repository}${item.sign}${item.number}`;
  if (ref === undefined) return repository;
  return sourceRepository === undefined ? `${repository}@${ref}` : `${repository}@${sourceRepository}:${ref}`;
}

/**
 * Joins texts; undefined if all are empty. Keeps the indentation of the first line, because four spaces mean
 * code.
 */
export function writtenText(texts: readonly string[]): string | undefined {
  const text = texts
    .join('\n\n')
    .replace(/^(?:[^\S\n]*\n)+/, '')
    .trimEnd();
  return text === '' ? undefined : text;
}

/** Invisible characters may precede the command. */
const COMMAND = /^(?:[^\S\n]*\n)* {0,3}\p{Default_Ignorable_Code_Point}*(\/[A-Za-z][\w-]{0,63})(?!\S)/u;

/**
 * Returns the command (`/deploy`) at the start of new comments. Edited comments, quotations and code (lines
 * indented by four spaces) contain no command.
 */
export function commandIn({ comment, text }: Pick<RepoFacts, 'comment' | 'text'>): string | undefined {
  if (comment !== 'written') return undefined;
  return COMMAND.exec(text ?? '')?.[1];
}
