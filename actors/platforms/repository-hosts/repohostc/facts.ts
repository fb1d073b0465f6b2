// Facts of this host's events. The header of a request contains the key of the event, such as
// `pullrequest:created`: the subject (`event` in the facts) and the action. The payload contains the object
// that the subject names, and further objects.

import { repoHostCEventNames } from '../../../../config/resources/repository-hosts/repohostc-events.ts';
import { memberOf, numberMember, textMember } from '../../payloads/payload-member.ts';
import { type RepoEvents, type RepoFacts, type RepoItem, writtenText } from '../facts.ts';

type Subject = 'pullrequest' | 'repo' | 'issue';

const subjects: ReadonlySet<string> = new Set<Subject>(['pullrequest', 'repo', 'issue']);

/** Full repository name. It becomes part of API paths, so `.` and `..` are excluded. */
const fullName = /^(?!\.{1,2}\/)[\w.-]+\/(?!\.{1,2}$)[\w.-]+$/;

/** Paths of new or edited texts, by event. Other events repeat a text that was already handled. */
const textPaths: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'pullrequest:created': [['pullrequest.title'], ['pullrequest.description', 'pullrequest.summary.raw']],
  'pullrequest:updated': [['pullrequest.title'], ['pullrequest.description', 'pullrequest.summary.raw']],
  'pullrequest:comment_created': [['comment.content.raw']],
  'pullrequest:comment_updated': [['comment.content.raw']],
  'issue:created': [['issue.title'], ['issue.content.raw']],
  'issue:updated': [['issue.title'], ['issue.content.raw']],
  'issue:comment_created': [['comment.content.raw']],
  'repo:commit_comment_created': [['comment.content.raw']],
};

class RepoHostCFacts implements RepoFacts {
  readonly event: Subject;
  readonly action: string | undefined;
  readonly repository: string;
  readonly payload: unknown;

  constructor([event, action]: readonly [Subject, string | undefined], repository: string, payload: unknown) {
    this.event = event;
    this.action = action;
    this.repository = repository;
    this.payload = payload;
  }

  get names(): readonly string[] {
    const { event, action } = this;
    return action === undefined ? [event] : [`${event}:${action}`, `${event}.${action}`, event];
  }

  get sender(): string | undefined {
    return nameOf(this.payload, 'actor');
  }

  get senderId(): string | undefined {
    return textMember(this.payload, 'actor.uuid', 'actor.account_id');
  }

  get item(): RepoItem | undefined {
    if (this.event === 'repo') return undefined;
    const number = numberMember(this.payload, `${this.event}.id`);
    return number === undefined ? undefined : { sign: this.event === 'issue' ? '#' : '!', number };
  }

  get pull(): RepoFacts['pull'] {
    if (this.event !== 'pullrequest' || this.item === undefined) return undefined;
    return {
      title: textMember(this.payload, 'pullrequest.title'),
      author: nameOf(this.payload, 'pullrequest.author'),
    };
  }

  get sha(): string | undefined {
    const [change] = this.#changes;
    if (change !== undefined) return textMember(change, 'new.target.hash');
    return textMember(this.payload, ...shaPaths);
  }

  get ref(): string | undefined {
    const [change] = this.#changes;
    if (change !== undefined) return refOf(change);
    const branch = textMember(this.payload, ...branchPaths);
    return branch === undefined ? undefined : `refs/heads/${branch}`;
  }

  get sourceRepository(): string | undefined {
    if (this.event !== 'pullrequest') return undefined;
    const source = memberOf(this.payload, 'pullrequest.source');
    if (source === undefined || source === null) return undefined;
    const name = textMember(source, 'repository.full_name') ?? '';
    if (name.toLowerCase() === this.repository.toLowerCase()) return undefined;
    return fullName.test(name) ? name : 'unknown';
  }

  get branches(): readonly string[] | undefined {
    const { payload, event, action = '' } = this;
    if (event === 'pullrequest') return listOf(textMember(payload, 'pullrequest.destination.branch.name'));
    if (event !== 'repo') return undefined;
    if (action === 'push') return this.#changes.flatMap((change) => listOf(branchOfChange(change)));
    return /^commit_status_/.test(action) ? listOf(textMember(payload, ...branchPaths)) : undefined;
  }

  get text(): string | undefined {
    const paths = textPaths[`${this.event}:${this.action}`] ?? [];
    return writtenText(paths.flatMap((each) => listOf(textMember(this.payload, ...each))));
  }

  get comment(): RepoFacts['comment'] {
    const [, verb] = /^(?:commit_)?comment_(\w+)$/.exec(this.action ?? '') ?? [];
    if (verb === undefined) return undefined;
    return verb === 'created' ? 'written' : 'changed';
  }

  get mayBeOwnComment(): boolean {
    return this.event === 'pullrequest' && this.comment !== undefined;
  }

  get #changes(): readonly unknown[] {
    const changes = memberOf(this.payload, 'push.changes');
    return this.action === 'push' && Array.isArray(changes) ? changes : [];
  }
}

/** Each event contains one of these paths, if any. */
const shaPaths = ['pullrequest.source.commit.hash', 'commit_status.commit.hash', 'commit.hash'];
const branchPaths = ['pullrequest.source.branch.name', 'commit_status.refname'];

const namesIn = (who: string) => [`${who}.nickname`, `${who}.username`, `${who}.display_name`];

const paths: readonly string[] = [
  'repository.full_name',
  ...namesIn('actor'),
  'actor.uuid',
  'actor.account_id',
  'pullrequest.id',
  'issue.id',
  ...namesIn('pullrequest.author'),
  ...shaPaths,
  ...branchPaths,
  'pullrequest.source.repository.full_name',
  'pullrequest.destination.branch.name',
  'push.changes',
  ...Object.values(textPaths).flat(2),
];

export const repoHostCEvents: RepoEvents = {
  platform: 'repohostc',
  isKnown: (key) => subjects.has(partsOf(key)[0]),
  facts(key, payload) {
    const parts = partsOf(key);
    const repository = textMember(payload, 'repository.full_name');
    // A key that this version of the gateway does not know may concern no repository.
    if (repository === undefined && repoHostCEventNames.faultOf(key) !== undefined) return 'unhandled';
    if (!subjects.has(parts[0]) || repository === undefined || !fullName.test(repository)) return undefined;
    return new RepoHostCFacts(parts as [Subject, string | undefined], repository, payload);
  },
  paths: () => paths,
};

function partsOf(key: string): readonly [string, string | undefined] {
  const colon = key.indexOf(':');
  return colon === -1 ? [key, undefined] : [key.slice(0, colon), key.slice(colon + 1)];
}

/** Returns the nickname; for apps, which lack it, the display name. */
function nameOf(payload: unknown, who: string): string | undefined {
  return textMember(payload, ...namesIn(who));
}

function listOf(name: string | undefined): readonly string[] {
  return name === undefined ? [] : [name];
}

/** Returns the change's branch; undefined for a tag. */
function branchOfChange(change: unknown): string | undefined {
  return isTag(change) ? undefined : textMember(change, 'new.name', 'old.name');
}

/** Returns the change's ref. A deleted ref has only an old name. */
function refOf(change: unknown): string | undefined {
  const name = textMember(change, 'new.name', 'old.name');
  if (name === undefined) return undefined;
  return `refs/${isTag(change) ? 'tags' : 'heads'}/${name}`;
}

function isTag(change: unknown): boolean {
  return textMember(change, 'new.type', 'old.type')?.endsWith('tag') === true;
}
