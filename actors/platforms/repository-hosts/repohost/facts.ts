// Facts of this host's events, as a table of payload paths: the item's number, branches, commit and texts.
// The remaining code only reads the table.

import { memberOf, numberMember, textMember } from '../../payloads/payload-member.ts';
import { branchOf, type RepoEvents, type RepoFacts, type RepoItem, writtenText } from '../facts.ts';

/** Payload paths of the facts. */
interface PayloadShape {
  readonly number?: string;
  /** Item with title and author. With `pullMark`, it is a pull request only if that member is present. */
  readonly pull?: string;
  readonly pullMark?: string;
  readonly branch?: string;
  /**
   * Repository of the branch, for events whose branch may be in a fork. Forks choose their branch names
   * freely.
   */
  readonly branchHome?: string;
  /** Target branch of the pull request. Filters match only this branch, as the platform's workflows do. */
  readonly target?: string;
  readonly tag?: string;
  /** True if the members `ref` and `ref_type` contain the ref. */
  readonly hasRef?: boolean;
  readonly sha?: string;
  /** Paths of texts by a person, in order. */
  readonly texts?: readonly string[];
  /** Author of the review. */
  readonly reviewer?: string;
}

const pullRequest: PayloadShape = {
  number: 'pull_request.number',
  pull: 'pull_request',
  branch: 'pull_request.head.ref',
  target: 'pull_request.base.ref',
  sha: 'pull_request.head.sha',
};

const shapes: Readonly<Record<string, PayloadShape>> = {
  pull_request: { ...pullRequest, texts: ['pull_request.title', 'pull_request.body'] },
  pull_request_review: { ...pullRequest, texts: ['review.body'], reviewer: 'review.user.login' },
  pull_request_review_comment: { ...pullRequest, texts: ['comment.body'] },
  push: { hasRef: true, sha: 'after' },
  issues: { number: 'issue.number', texts: ['issue.title', 'issue.body'] },
  issue_comment: {
    number: 'issue.number',
    pull: 'issue',
    pullMark: 'issue.pull_request',
    texts: ['comment.body'],
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

/** Actions of new or edited texts. Events with other actions repeat a text that was already handled. */
const textActions: ReadonlySet<string> = new Set(['opened', 'created', 'edited', 'submitted']);

/** Full repository name. It becomes part of API paths, so `.` and `..` are excluded. */
const fullName = /^(?!\.{1,2}\/)[\w.-]+\/(?!\.{1,2}$)[\w.-]+$/;

class RepoHostFacts implements RepoFacts {
  readonly event: string;
  readonly repository: string;
  readonly payload: unknown;
  readonly #shape: PayloadShape;

  constructor(event: string, repository: string, shape: PayloadShape, payload: unknown) {
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
    return commitOf(textAt(this.payload, this.#shape.sha));
  }

  get ref(): string | undefined {
    return refOf(this.#shape, this.payload, this.sha);
  }

  get sourceRepository(): string | undefined {
    return homeOf(this.#shape, this.payload, this.repository);
  }

  get branches(): readonly string[] | undefined {
    return branchesOf(
      this.#shape,
      this.payload,
      this.sourceRepository === undefined ? branchOf(this) : undefined,
    );
  }

  get text(): string | undefined {
    const { action } = this;
    return action === undefined || textActions.has(action) ? textsOf(this.#shape, this.payload) : undefined;
  }

  get comment(): RepoFacts['comment'] {
    const newAction = comments[this.event];
    if (newAction === undefined) return undefined;
    return this.action === newAction ? 'written' : 'changed';
  }

  get mayBeOwnComment(): boolean {
    return this.event === 'issue_comment';
  }

  get reviewer(): string | undefined {
    return textAt(this.payload, this.#shape.reviewer);
  }
}

/** Comment events, with the action for new comments. */
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
    return new RepoHostFacts(event, repository, shape, payload);
  },
  paths: repoPaths,
} satisfies RepoEvents;

/** Returns the payload paths that the facts use. */
function repoPaths(event: string): readonly string[] {
  const { number, pull, pullMark, branch, branchHome, target, tag, sha, texts, reviewer } =
    shapes[event] ?? {};
  const ofPull = pull === undefined ? [] : [`${pull}.title`, `${pull}.user.login`];
  const home = branchHome === undefined ? [] : [`${branchHome}.full_name`];
  const own = [number, pullMark, branch, target, tag, sha, reviewer, ...(texts ?? []), ...ofPull, ...home];
  return [...commonPaths, ...own.filter((path) => path !== undefined)];
}

const commonPaths = ['action', 'repository.full_name', 'sender.login', 'ref', 'ref_type', 'branches'];

function textAt(payload: unknown, path: string | undefined): string | undefined {
  return path === undefined ? undefined : textMember(payload, path);
}

/** Returns the commit; undefined for the all-zero commit that deletes a branch. */
function commitOf(sha: string | undefined): string | undefined {
  return sha === undefined || /^0*$/.test(sha) ? undefined : sha;
}

function refOf(shape: PayloadShape, payload: unknown, sha: string | undefined): string | undefined {
  const tag = textAt(payload, shape.tag);
  if (tag !== undefined) return `refs/tags/${tag}`;
  const name = shape.hasRef ? textMember(payload, 'ref') : textAt(payload, shape.branch);
  // Deployments of plain commits have no branch.
  if (name === undefined || name === '' || name === sha) return undefined;
  if (name.startsWith('refs/')) return name;
  return memberOf(payload, 'ref_type') === 'tag' ? `refs/tags/${name}` : `refs/heads/${name}`;
}

function branchesOf(
  shape: PayloadShape,
  payload: unknown,
  own: string | undefined,
): readonly string[] | undefined {
  if (shape.branch === undefined && shape.hasRef !== true) return undefined;
  const more = memberOf(payload, 'branches');
  const names = Array.isArray(more) ? more.map((each) => textMember(each, 'name')) : [];
  const first = shape.target === undefined ? own : textAt(payload, shape.target);
  return [first, ...names].filter((name) => name !== undefined);
}

function homeOf({ branchHome }: PayloadShape, payload: unknown, repository: string): string | undefined {
  const home = branchHome === undefined ? undefined : memberOf(payload, branchHome);
  if (home === undefined) return undefined;
  const name = textMember(home, 'full_name') ?? '';
  if (name === repository) return undefined;
  return fullName.test(name) ? name : 'unknown';
}

function textsOf(shape: PayloadShape, payload: unknown): string | undefined {
  return writtenText((shape.texts ?? []).flatMap((path) => textMember(payload, path) ?? []));
}
