// What the events of a repository host say, as one table: where in the payload of each event the number of its issue or
// pull request stands, its branches, its commit, its words. Everything else here only reads the table.

import { memberOf, numberMember, textMember } from '../../payloads/payload-member.ts';
import { branchOf, type RepoEvents, type RepoFacts, type RepoItem, writtenText } from '../facts.ts';

/** Paths into the payload. */
interface Shape {
  readonly number?: string;
  /** The issue or pull request the title and the author are read from, and what must be there for it to be the latter. */
  readonly pull?: string;
  readonly pullMark?: string;
  readonly branch?: string;
  /** The repository that has this branch, where it can be another one: a fork, whose owner names branches as they like. */
  readonly branchHome?: string;
  /** Where a pull request is to go: triggers know it by this branch alone, as the workflows of the platform do. */
  readonly target?: string;
  readonly tag?: string;
  /** `ref` and `ref_type` of the payload say what it is about. */
  readonly hasRef?: boolean;
  readonly sha?: string;
  /** What a person wrote, put together of these. */
  readonly words?: readonly string[];
  /** Who has written the review that it is about. */
  readonly reviewer?: string;
}

const pullRequest: Shape = {
  number: 'pull_request.number',
  pull: 'pull_request',
  branch: 'pull_request.head.ref',
  target: 'pull_request.base.ref',
  sha: 'pull_request.head.sha',
};

const shapes: Readonly<Record<string, Shape>> = {
  pull_request: { ...pullRequest, words: ['pull_request.title', 'pull_request.body'] },
  pull_request_review: { ...pullRequest, words: ['review.body'], reviewer: 'review.user.login' },
  pull_request_review_comment: { ...pullRequest, words: ['comment.body'] },
  push: { hasRef: true, sha: 'after' },
  issues: { number: 'issue.number', words: ['issue.title', 'issue.body'] },
  issue_comment: {
    number: 'issue.number',
    pull: 'issue',
    pullMark: 'issue.pull_request',
    words: ['comment.body'],
  },
  workflow_run: {
    branch: 'workflow_run.head_branch',
    branchHome: 'workflow_run.head_repository',
    sha: 'workflow_run.head_sha',
  },
  workflow_job: { branch: 'workflow_job.head_branch', sha: 'workflow_job.head_sha' },
  check_run: { branch: 'check_run.check_suite.head_branch', sha: 'check_run.head_sha' },
  check_suite: { branch: 'check_suite.head_branch', sha: 'check_suite.head_sha' },
  release: { tag: 'release.tag_name' },
  deployment: { branch: 'deployment.ref', sha: 'deployment.sha' },
  deployment_status: { branch: 'deployment.ref', sha: 'deployment.sha' },
  status: { branch: 'branches.0.name', sha: 'sha' },
  create: { hasRef: true },
  delete: { hasRef: true },
};

/** Actions with which somebody has just written something; at the others old words would be answered once more. */
const writing: ReadonlySet<string> = new Set(['opened', 'created', 'edited', 'submitted']);

/** Of a repository. It becomes a part of addresses, in which `..` would lead elsewhere. */
const fullName = /^(?!\.{1,2}\/)[\w.-]+\/(?!\.{1,2}$)[\w.-]+$/;

class Facts implements RepoFacts {
  readonly event: string;
  readonly repository: string;
  readonly payload: unknown;
  readonly #shape: Shape;

  constructor(event: string, repository: string, shape: Shape, payload: unknown) {
    this.event = event;
    this.repository = repository;
    this.#shape = shape;
    this.payload = payload;
  }

  get action(): string | undefined {
    return textMember(this.payload, 'action');
  }

  get names(): readonly string[] {
    const { action, event } = this;
    return action === undefined ? [event] : [`${event}.${action}`, event];
  }

  get sender(): string | undefined {
    return textMember(this.payload, 'sender.login');
  }

  get senderId(): string | undefined {
    return this.sender;
  }

  get item(): RepoItem | undefined {
    const { number: path } = this.#shape;
    const number = path === undefined ? undefined : numberMember(this.payload, path);
    return number === undefined ? undefined : { sign: '#', number };
  }

  get pull(): RepoFacts['pull'] {
    const { pull, pullMark } = this.#shape;
    if (pull === undefined || this.item === undefined) return undefined;
    if (pullMark !== undefined && memberOf(this.payload, pullMark) === undefined) return undefined;
    return {
      title: textMember(this.payload, `${pull}.title`),
      author: textMember(this.payload, `${pull}.user.login`),
    };
  }

  get sha(): string | undefined {
    return commitOf(at(this.payload, this.#shape.sha));
  }

  get ref(): string | undefined {
    return refOf(this.#shape, this.payload, this.sha);
  }

  get home(): string | undefined {
    return homeOf(this.#shape, this.payload, this.repository);
  }

  get branches(): readonly string[] | undefined {
    return branchesOf(this.#shape, this.payload, this.home === undefined ? branchOf(this) : undefined);
  }

  get text(): string | undefined {
    const { action } = this;
    return action === undefined || writing.has(action) ? wordsOf(this.#shape, this.payload) : undefined;
  }

  get comment(): RepoFacts['comment'] {
    const written = comments[this.event];
    if (written === undefined) return undefined;
    return this.action === written ? 'written' : 'changed';
  }

  get isOfAnswers(): boolean {
    return this.event === 'issue_comment';
  }

  get reviewer(): string | undefined {
    return at(this.payload, this.#shape.reviewer);
  }
}

/** What somebody says about an issue or a pull request, and the action with which it is new. */
const comments: Readonly<Record<string, string>> = {
  issue_comment: 'created',
  pull_request_review_comment: 'created',
  pull_request_review: 'submitted',
};

export const repoHostEvents = {
  platform: 'repohost',
  isKnown: (event) => Object.hasOwn(shapes, event),
  facts(event, payload): RepoFacts | undefined {
    const shape = Object.hasOwn(shapes, event) ? shapes[event] : undefined;
    const repository = textMember(payload, 'repository.full_name');
    if (shape === undefined || repository === undefined || !fullName.test(repository)) return undefined;
    return new Facts(event, repository, shape, payload);
  },
  paths: repoPaths,
} satisfies RepoEvents;

/** Every path at which the facts of an event are read. */
function repoPaths(event: string): readonly string[] {
  const { number, pull, pullMark, branch, branchHome, target, tag, sha, words, reviewer } =
    shapes[event] ?? {};
  const ofPull = pull === undefined ? [] : [`${pull}.title`, `${pull}.user.login`];
  const home = branchHome === undefined ? [] : [`${branchHome}.full_name`];
  const own = [number, pullMark, branch, target, tag, sha, reviewer, ...(words ?? []), ...ofPull, ...home];
  return [...commonPaths, ...own.filter((path) => path !== undefined)];
}

const commonPaths = ['action', 'repository.full_name', 'sender.login', 'ref', 'ref_type', 'branches'];

function at(payload: unknown, path: string | undefined): string | undefined {
  return path === undefined ? undefined : textMember(payload, path);
}

/** A branch that was deleted is pushed as the commit of forty zeros. */
function commitOf(sha: string | undefined): string | undefined {
  return sha === undefined || /^0*$/.test(sha) ? undefined : sha;
}

function refOf(shape: Shape, payload: unknown, sha: string | undefined): string | undefined {
  const tag = at(payload, shape.tag);
  if (tag !== undefined) return `refs/tags/${tag}`;
  const name = shape.hasRef ? textMember(payload, 'ref') : at(payload, shape.branch);
  // A commit can be deployed without a branch.
  if (name === undefined || name === '' || name === sha) return undefined;
  if (name.startsWith('refs/')) return name;
  return memberOf(payload, 'ref_type') === 'tag' ? `refs/tags/${name}` : `refs/heads/${name}`;
}

function branchesOf(shape: Shape, payload: unknown, own: string | undefined): readonly string[] | undefined {
  if (shape.branch === undefined && shape.hasRef !== true) return undefined;
  const more = memberOf(payload, 'branches');
  const names = Array.isArray(more) ? more.map((each) => textMember(each, 'name')) : [];
  const first = shape.target === undefined ? own : at(payload, shape.target);
  return [first, ...names].filter((name) => name !== undefined);
}

function homeOf({ branchHome }: Shape, payload: unknown, repository: string): string | undefined {
  const home = branchHome === undefined ? undefined : memberOf(payload, branchHome);
  if (home === undefined) return undefined;
  const name = textMember(home, 'full_name') ?? '';
  if (name === repository) return undefined;
  return fullName.test(name) ? name : 'unknown';
}

function wordsOf(shape: Shape, payload: unknown): string | undefined {
  return writtenText((shape.words ?? []).flatMap((path) => textMember(payload, path) ?? []));
}
