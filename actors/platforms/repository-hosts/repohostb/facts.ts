// What the events of the second repository host say, as one table: where in the payload of each kind its issue or merge request
// stands, its branches, its commit, its words. Everything else here only reads the table.
//
// `object_kind` of the payload decides which event it is; system hooks of older versions have an `event_name` alone.
// What is authentic and no event of a repository (members, groups, epics) is for nobody here, and no mistake.

import { memberOf, numberMember, textMember } from '../../payloads/payload-member.ts';
import { branchOf, type RepoEvents, type RepoFacts, type RepoItem, writtenText } from '../facts.ts';

/** What a delivery is called before its payload is read. */
export const HOOK = 'hook';

/** Paths into the payload. */
interface Shape {
  readonly action?: string;
  /** Where its merge request or issue stands: the first that has a number. */
  readonly requests?: readonly string[];
  readonly issues?: readonly string[];
  readonly ref?: string;
  /** The ref is the name of a branch, or with this of a tag. */
  readonly isTag?: string;
  /** Of what never has a branch, but a tag: triggers for branches take it. */
  readonly tag?: string;
  /** There may be none, and then branches have nothing to do with it. */
  readonly hasBranchAtMost?: boolean;
  /** The repository from which a merge request comes, by its id. */
  readonly sourceId?: string;
  readonly sha?: readonly string[];
  readonly sender?: string;
  readonly senderId?: string;
  /** What a person wrote, put together of these. */
  readonly words?: readonly string[];
  /** Groups have such events as well, which are none of a repository. */
  readonly isOfGroupsToo?: boolean;
}

const ACTION = 'object_attributes.action';
const titled = ['object_attributes.title', 'object_attributes.description'];
const pushed: Shape = {
  ref: 'ref',
  sha: ['after'],
  sender: 'user_username',
  senderId: 'user_id',
};
const written: Shape = {
  action: ACTION,
  issues: ['object_attributes'],
  words: titled,
  isOfGroupsToo: true,
};
const remarked: Shape = {
  action: ACTION,
  requests: ['merge_request'],
  issues: ['issue', 'work_item'],
  isOfGroupsToo: true,
};

const shapes: Readonly<Record<string, Shape>> = {
  merge_request: { action: ACTION, requests: ['object_attributes'], words: titled },
  issue: written,
  work_item: written,
  note: { ...remarked, sha: ['commit.id'], words: ['object_attributes.note'] },
  emoji: remarked,
  push: pushed,
  tag_push: pushed,
  pipeline: {
    action: 'object_attributes.status',
    ref: 'object_attributes.ref',
    isTag: 'object_attributes.tag',
    sourceId: 'merge_request.source_project_id',
    sha: ['object_attributes.sha'],
  },
  build: { action: 'build_status', ref: 'ref', isTag: 'tag', sha: ['sha'] },
  deployment: { action: 'status', ref: 'ref', hasBranchAtMost: true },
  release: { action: 'action', tag: 'tag', sha: ['commit.id'] },
  wiki_page: { action: ACTION, isOfGroupsToo: true },
  milestone: { action: 'action', isOfGroupsToo: true },
  feature_flag: {},
};

/** Actions with which somebody may just have written something; at the others old words would be answered once more. */
const writing: ReadonlySet<string> = new Set(['open', 'create', 'update']);

/** Of a repository, with the groups that it is in. It becomes a part of addresses, in which `..` would lead elsewhere. */
const fullName = /^(?!\.{1,2}\/)[\w.-]+(?:\/(?!\.{1,2}(?:\/|$))[\w.-]+)+$/;

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
    return textAt(this.payload, this.#shape.action);
  }

  get names(): readonly string[] {
    const { action, event } = this;
    return action === undefined ? [event] : [`${event}.${action}`, event];
  }

  get sender(): string | undefined {
    return textMember(this.payload, this.#shape.sender ?? 'user.username');
  }

  get senderId(): string | undefined {
    const id = numberMember(this.payload, this.#shape.senderId ?? 'user.id');
    return id === undefined ? undefined : String(id);
  }

  get item(): RepoItem | undefined {
    const { issues = [] } = this.#shape;
    const request = this.#request;
    if (request !== undefined) return this.#itemAt(request, '!');
    const at = issues.find((each) => numberMember(this.payload, `${each}.iid`) !== undefined);
    return at === undefined ? undefined : this.#itemAt(at, '#');
  }

  /** An internal note of what others see as well; whoever may see a confidential issue sees all that is said there. */
  #itemAt(path: string, sign: RepoItem['sign']): RepoItem | undefined {
    const number = numberMember(this.payload, `${path}.iid`);
    if (number === undefined) return undefined;
    const isInternal =
      textMember(this.payload, 'event_type') === 'confidential_note' &&
      memberOf(this.payload, `${path}.confidential`) !== true;
    return { sign, number, ...(isInternal && { isInternal }) };
  }

  get pull(): RepoFacts['pull'] {
    const at = this.#request;
    // Of its author the payload has the id alone.
    return at === undefined
      ? undefined
      : { title: textMember(this.payload, `${at}.title`), author: undefined };
  }

  get sha(): string | undefined {
    const at = this.#request;
    const paths = at === undefined ? (this.#shape.sha ?? []) : [`${at}.last_commit.id`];
    return commitOf(textMember(this.payload, ...paths));
  }

  get ref(): string | undefined {
    const { tag, isTag, ref } = this.#shape;
    const at = this.#request;
    const tagged = textAt(this.payload, tag);
    if (tagged !== undefined) return `refs/tags/${tagged}`;
    const name = textAt(this.payload, at === undefined ? ref : `${at}.source_branch`);
    if (name === undefined || name === '') return undefined;
    if (name.startsWith('refs/')) return name;
    const isOfTag = isTag !== undefined && memberOf(this.payload, isTag) === true;
    return isOfTag ? `refs/tags/${name}` : `refs/heads/${name}`;
  }

  get home(): string | undefined {
    const { sourceId } = this.#shape;
    const source = sourceId === undefined ? undefined : numberMember(this.payload, sourceId);
    // A merge request of a fork runs here as well; what the fork is called is not said.
    return source === undefined || source === numberMember(this.payload, 'project.id')
      ? undefined
      : 'unknown';
  }

  get branches(): readonly string[] | undefined {
    const { ref, hasBranchAtMost } = this.#shape;
    const at = this.#request;
    if (at !== undefined) return listed(textMember(this.payload, `${at}.target_branch`));
    if (ref === undefined || (hasBranchAtMost && this.ref === undefined)) return undefined;
    return listed(this.home === undefined ? branchOf(this) : undefined);
  }

  get text(): string | undefined {
    const { action } = this;
    if (this.#isOfSystem || (action !== undefined && !writing.has(action))) return undefined;
    if (action === 'update' && this.event !== 'note' && !this.#areWordsChanged) return undefined;
    return writtenText((this.#shape.words ?? []).flatMap((path) => textMember(this.payload, path) ?? []));
  }

  get comment(): RepoFacts['comment'] {
    if (this.event !== 'note' || this.#isOfSystem) return undefined;
    // Versions that tell of new ones alone name no action.
    return (this.action ?? 'create') === 'create' ? 'written' : 'changed';
  }

  get isOfAnswers(): boolean {
    return this.event === 'note';
  }

  /** Where its merge request stands. */
  get #request(): string | undefined {
    return this.#shape.requests?.find((each) => numberMember(this.payload, `${each}.iid`) !== undefined);
  }

  /** What the host writes of what somebody did is no word of theirs. */
  get #isOfSystem(): boolean {
    return memberOf(this.payload, 'object_attributes.system') === true;
  }

  /** At an update the words may be the old ones. */
  get #areWordsChanged(): boolean {
    return ['changes.title', 'changes.description'].some(
      (path) => memberOf(this.payload, path) !== undefined,
    );
  }
}

export const repoHostBEvents: RepoEvents = {
  platform: 'repohostb',
  // Which event it is stands in the payload.
  isKnown: () => true,
  facts(_, payload) {
    const event = textMember(payload, 'object_kind', 'event_name');
    if (event === undefined) return undefined;
    const shape = Object.hasOwn(shapes, event) ? shapes[event] : undefined;
    if (shape === undefined) return 'for nobody';
    const repository = textMember(payload, 'project.path_with_namespace');
    if (repository === undefined && shape.isOfGroupsToo) return 'for nobody';
    if (repository === undefined || !fullName.test(repository)) return undefined;
    return new Facts(event, repository, shape, payload);
  },
  paths: () => allPaths,
};

function listed(name: string | undefined): readonly string[] {
  return name === undefined ? [] : [name];
}

function textAt(payload: unknown, path: string | undefined): string | undefined {
  return path === undefined ? undefined : textMember(payload, path);
}

/** A branch that was deleted is pushed as the commit of forty zeros, or sixty-four. */
function commitOf(sha: string | undefined): string | undefined {
  return sha === undefined || /^0*$/.test(sha) ? undefined : sha;
}

const allPaths: readonly string[] = [
  ...new Set([
    ...[
      'object_kind',
      'event_name',
      'event_type',
      'project.path_with_namespace',
      'project.id',
      'user.username',
      'user.id',
    ],
    ...['object_attributes.system', 'changes.title', 'changes.description'],
    ...Object.values(shapes).flatMap(pathsOf),
  ]),
];

function pathsOf({ requests = [], issues = [], sha = [], words = [], ...shape }: Shape): readonly string[] {
  const { action, ref, isTag, tag, sourceId, sender, senderId } = shape;
  const ofRequests = requests.flatMap((at) =>
    ['iid', 'title', 'source_branch', 'target_branch', 'last_commit.id'].map((name) => `${at}.${name}`),
  );
  const own = [action, ref, isTag, tag, sourceId, sender, senderId];
  return [
    ...ofRequests,
    ...issues.flatMap((at) => [`${at}.iid`, `${at}.confidential`]),
    ...sha,
    ...words,
    ...own.filter((path) => path !== undefined),
  ];
}
