// Facts of this host's events, as a table of payload paths: the item, branches, commit and texts. The
// remaining code only reads the table.
//
// `object_kind` in the payload names the event; system hooks of older versions contain only `event_name`.
// Events that concern no repository (members, groups, epics) are ignored silently.

import { memberOf, numberMember, textMember } from '../../payloads/payload-member.ts';
import { branchOf, type RepoEvents, type RepoFacts, type RepoItem, writtenText } from '../facts.ts';

/** Placeholder for the event name, until the payload is parsed. */
export const HOOK = 'hook';

/** Payload paths of the facts. */
interface PayloadShape {
  readonly action?: string;
  /** Candidates for the merge request or issue; the first one with a number is used. */
  readonly requests?: readonly string[];
  readonly issues?: readonly string[];
  readonly ref?: string;
  /** Path to a flag that is true if the ref is a tag. */
  readonly isTag?: string;
  /** Path of the tag, in an event that never has a branch. Branch filters accept the event. */
  readonly tag?: string;
  /** True if the branch is optional. Branch filters accept an event that lacks it. */
  readonly mayLackBranch?: boolean;
  /** Path of the id of the merge request's source repository. */
  readonly sourceId?: string;
  readonly sha?: readonly string[];
  readonly sender?: string;
  readonly senderId?: string;
  /** Paths of texts by a person, in order. */
  readonly texts?: readonly string[];
  /** True if groups also send such events, which then concern no repository. */
  readonly isAlsoOfGroups?: boolean;
}

const ACTION = 'object_attributes.action';
const titleAndText = ['object_attributes.title', 'object_attributes.description'];
const pushShape: PayloadShape = {
  ref: 'ref',
  sha: ['after'],
  sender: 'user_username',
  senderId: 'user_id',
};
const itemShape: PayloadShape = {
  action: ACTION,
  issues: ['object_attributes'],
  texts: titleAndText,
  isAlsoOfGroups: true,
};
const commentShape: PayloadShape = {
  action: ACTION,
  requests: ['merge_request'],
  issues: ['issue', 'work_item'],
  isAlsoOfGroups: true,
};

const shapes: Readonly<Record<string, PayloadShape>> = {
  merge_request: { action: ACTION, requests: ['object_attributes'], texts: titleAndText },
  issue: itemShape,
  work_item: itemShape,
  note: { ...commentShape, sha: ['commit.id'], texts: ['object_attributes.note'] },
  emoji: commentShape,
  push: pushShape,
  tag_push: pushShape,
  pipeline: {
    action: 'object_attributes.status',
    ref: 'object_attributes.ref',
    isTag: 'object_attributes.tag',
    sourceId: 'merge_request.source_project_id',
    sha: ['object_attributes.sha'],
  },
  build: { action: 'build_status', ref: 'ref', isTag: 'tag', sha: ['sha'] },
  deployment: { action: 'status', ref: 'ref', mayLackBranch: true },
  release: { action: 'action', tag: 'tag', sha: ['commit.id'] },
  wiki_page: { action: ACTION, isAlsoOfGroups: true },
  milestone: { action: 'action', isAlsoOfGroups: true },
  feature_flag: {},
};

/** Actions of new or edited texts. Events with other actions repeat a text that was already handled. */
const textActions: ReadonlySet<string> = new Set(['open', 'create', 'update']);

/** Full repository name with its groups. It becomes part of API paths, so `.` and `..` are excluded. */
const fullName = /^(?!\.{1,2}\/)[\w.-]+(?:\/(?!\.{1,2}(?:\/|$))[\w.-]+)+$/;

class RepoHostBFacts implements RepoFacts {
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

  /**
   * Returns the item. A note is internal if it is confidential and its item is not: all notes of a
   * confidential issue are visible to everyone with access to the issue.
   */
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
    // The payload contains only the author's id.
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

  get sourceRepository(): string | undefined {
    const { sourceId } = this.#shape;
    const source = sourceId === undefined ? undefined : numberMember(this.payload, sourceId);
    // Pipelines of a fork's merge request run here too; the payload does not contain the fork's name.
    return source === undefined || source === numberMember(this.payload, 'project.id')
      ? undefined
      : 'unknown';
  }

  get branches(): readonly string[] | undefined {
    const { ref, mayLackBranch } = this.#shape;
    const at = this.#request;
    if (at !== undefined) return listOf(textMember(this.payload, `${at}.target_branch`));
    if (ref === undefined || (mayLackBranch && this.ref === undefined)) return undefined;
    return listOf(this.sourceRepository === undefined ? branchOf(this) : undefined);
  }

  get text(): string | undefined {
    const { action } = this;
    if (this.#isOfSystem || (action !== undefined && !textActions.has(action))) return undefined;
    if (action === 'update' && this.event !== 'note' && !this.#areTextsChanged) return undefined;
    return writtenText((this.#shape.texts ?? []).flatMap((path) => textMember(this.payload, path) ?? []));
  }

  get comment(): RepoFacts['comment'] {
    if (this.event !== 'note' || this.#isOfSystem) return undefined;
    // Versions that report only new notes send no action.
    return (this.action ?? 'create') === 'create' ? 'written' : 'changed';
  }

  get mayBeOwnComment(): boolean {
    return this.event === 'note';
  }

  /** Path of the event's merge request. */
  get #request(): string | undefined {
    return this.#shape.requests?.find((each) => numberMember(this.payload, `${each}.iid`) !== undefined);
  }

  /** True for a system note, which the host wrote, not a person. */
  get #isOfSystem(): boolean {
    return memberOf(this.payload, 'object_attributes.system') === true;
  }

  /** True if an update changed the title or description. */
  get #areTextsChanged(): boolean {
    return ['changes.title', 'changes.description'].some(
      (path) => memberOf(this.payload, path) !== undefined,
    );
  }
}

export const repoHostBEvents: RepoEvents = {
  platform: 'repohostb',
  // Only the payload identifies the event.
  isKnown: () => true,
  facts(_, payload) {
    const event = textMember(payload, 'object_kind', 'event_name');
    if (event === undefined) return undefined;
    const shape = Object.hasOwn(shapes, event) ? shapes[event] : undefined;
    if (shape === undefined) return 'unhandled';
    const repository = textMember(payload, 'project.path_with_namespace');
    if (repository === undefined && shape.isAlsoOfGroups) return 'unhandled';
    if (repository === undefined || !fullName.test(repository)) return undefined;
    return new RepoHostBFacts(event, repository, shape, payload);
  },
  paths: () => allPaths,
};

function listOf(name: string | undefined): readonly string[] {
  return name === undefined ? [] : [name];
}

function textAt(payload: unknown, path: string | undefined): string | undefined {
  return path === undefined ? undefined : textMember(payload, path);
}

/** Returns the commit; undefined for the all-zero commit (40 or 64 digits) that deletes a branch. */
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

function pathsOf({
  requests = [],
  issues = [],
  sha = [],
  texts = [],
  ...shape
}: PayloadShape): readonly string[] {
  const { action, ref, isTag, tag, sourceId, sender, senderId } = shape;
  const ofRequests = requests.flatMap((at) =>
    ['iid', 'title', 'source_branch', 'target_branch', 'last_commit.id'].map((name) => `${at}.${name}`),
  );
  const own = [action, ref, isTag, tag, sourceId, sender, senderId];
  return [
    ...ofRequests,
    ...issues.flatMap((at) => [`${at}.iid`, `${at}.confidential`]),
    ...sha,
    ...texts,
    ...own.filter((path) => path !== undefined),
  ];
}
