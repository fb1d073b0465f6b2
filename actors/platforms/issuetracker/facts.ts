// What an event of an issue tracker says: of which issue, comment or sprint it is, who has caused it, what was written, and what
// an agent is told of all that. Where no value is the context has no name.
//
// TF1  a body without `webhookEvent` is what a rule of the tracker sends: the issue as such, or an object with the issue in it. It is an
//      event of the name that its address gives, or one without a name, which a default agent takes.
// TF2  the key of an issue becomes a part of addresses and of names of conversations, so that what does not read like one is none.

import { type TrackerEvent, trackerEventOf } from '../../../config/resources/fields/tracker-events.ts';
import { knownContext, memberOf, textMember } from '../payloads/payload-member.ts';
import { changesIn } from './changes.ts';
import { textOfDocument } from './document-text.ts';

const ISSUE_KEY = /^([A-Z][A-Z0-9_]{0,254})-\d{1,18}$/;
/** Numbers, at the vendor's. */
const ID = /^[\w-]{1,64}$/;

/** Of what a rule sends without a name; no command can be called so. */
export const UNNAMED = 'tracker:issue';

export interface TrackerIssue {
  readonly key: string;
  /** By which the tracker is asked of it. */
  readonly id: string | undefined;
  /** Its key. */
  readonly project: string;
  readonly type: string | undefined;
}

export interface TrackerSender {
  /** Of the account; the name of the user at a tracker without such ids. */
  readonly id: string | undefined;
  readonly name: string | undefined;
}

export interface TrackerFacts {
  readonly event: TrackerEvent | typeof UNNAMED;
  readonly issue: TrackerIssue | undefined;
  readonly sprint: string | undefined;
  readonly comment: { readonly id: string | undefined; readonly author: TrackerSender } | undefined;
  /** Whoever wrote the comment, or else did what the event is of. */
  readonly sender: TrackerSender;
  readonly text: string | undefined;
  readonly context: Readonly<Record<string, unknown>>;
}

/** `ignored`: authentic, and of nothing that anybody here could take. Undefined for what is no event of a tracker. */
export function trackerFacts(
  payload: unknown,
  named: string | undefined,
): TrackerFacts | 'ignored' | undefined {
  const said = memberOf(payload, 'webhookEvent');
  if (said !== undefined && typeof said !== 'string') return undefined;
  const event = eventOf(said, named);
  if (event === undefined) return 'ignored';
  if (event.startsWith('sprint_')) return sprintFacts(event, payload);
  const at = memberOf(payload, 'issue') === undefined && said === undefined ? '' : 'issue.';
  const issue = issueAt(payload, at);
  if (issue === undefined) return undefined;
  const hasComment = memberOf(payload, 'comment') !== undefined && at !== '';
  if (event === 'comment_created' && !hasComment) return undefined;
  const comment = hasComment
    ? { id: idAt(payload, 'comment.id'), author: senderAt(payload, 'comment.author') }
    : undefined;
  const user = senderAt(payload, 'user');
  const sender = comment === undefined || user.id !== undefined ? user : comment.author;
  const facts = { event, issue, sprint: undefined, comment, sender };
  return {
    ...facts,
    text: event === 'tracker:issue_deleted' ? undefined : wordsOf(payload, at, facts),
    context: issueContext(payload, at, facts),
  };
}

/** Undefined for one that is not known. */
function eventOf(said: string | undefined, named = ''): TrackerFacts['event'] | undefined {
  return said === undefined ? (trackerEventOf(named) ?? UNNAMED) : trackerEventOf(said);
}

/** Every path at which facts are read. */
export const trackerPaths: readonly string[] = [
  'timestamp',
  'webhookEvent',
  'changelog.items',
  'sprint',
  'user',
  'comment.id',
  'comment.self',
  'comment.author',
  'comment.body',
  ...['', 'issue.'].flatMap((at) =>
    ['id', 'key', 'self']
      .map((name) => at + name)
      .concat(
        [
          'summary',
          'description',
          'issuetype',
          'status',
          'priority',
          'project',
          'assignee',
          'reporter',
          'labels',
        ].map((name) => `${at}fields.${name}`),
      ),
  ),
];

/** The address of the tracker by which its events name what is in them; undefined where they do not say. */
export function trackerOf(payload: unknown): string | undefined {
  const self = textMember(payload, 'issue.self', 'sprint.self', 'comment.self', 'self') ?? '';
  return URL.canParse(self) ? new URL(self).host : undefined;
}

function sprintFacts(event: TrackerFacts['event'], payload: unknown): TrackerFacts | undefined {
  const sprint = idAt(payload, 'sprint.id');
  if (sprint === undefined) return undefined;
  const sender = senderAt(payload, 'user');
  const context = knownContext({
    'tracker.event': event,
    'sprint.id': sprint,
    'sprint.name': textMember(payload, 'sprint.name'),
    'sprint.state': textMember(payload, 'sprint.state'),
    'sprint.goal': wordsAt(payload, 'sprint.goal'),
    'sprint.start': textMember(payload, 'sprint.startDate'),
    'sprint.end': textMember(payload, 'sprint.endDate'),
    'tracker.sender.id': sender.id,
    'tracker.sender.name': sender.name,
  });
  return { event, issue: undefined, sprint, comment: undefined, sender, text: undefined, context };
}

function issueAt(payload: unknown, at: string): TrackerIssue | undefined {
  const key = textMember(payload, `${at}key`) ?? '';
  const project = ISSUE_KEY.exec(key)?.[1];
  if (project === undefined) return undefined;
  return {
    key,
    id: idAt(payload, `${at}id`),
    project: textMember(payload, `${at}fields.project.key`) ?? project,
    type: textMember(payload, `${at}fields.issuetype.name`),
  };
}

/** Written as a number or as a text. */
function idAt(payload: unknown, path: string): string | undefined {
  const id = memberOf(payload, path);
  const text = typeof id === 'number' || typeof id === 'string' ? String(id) : '';
  return ID.test(text) ? text : undefined;
}

function senderAt(payload: unknown, path: string): TrackerSender {
  return {
    id: textMember(payload, `${path}.accountId`, `${path}.name`),
    name: textMember(payload, `${path}.displayName`, `${path}.name`),
  };
}

type Said = Pick<TrackerFacts, 'event' | 'comment' | 'sender'> & { readonly issue: TrackerIssue };

/** What a person has just written: at other changes old words would be answered once more. */
function wordsOf(payload: unknown, at: string, { event, comment }: Said): string | undefined {
  if (comment !== undefined) return wordsAt(payload, 'comment.body');
  if (event === 'tracker:issue_updated') return undefined;
  const words = [wordsAt(payload, `${at}fields.summary`), wordsAt(payload, `${at}fields.description`)];
  const text = words.filter((each) => each !== undefined).join('\n\n');
  return text === '' ? undefined : text;
}

/** Text as it is, whatever its markup; of a document what it says. */
function wordsAt(payload: unknown, path: string): string | undefined {
  const value = memberOf(payload, path);
  const text = (typeof value === 'string' ? value : textOfDocument(value)).trim();
  return text === '' ? undefined : text;
}

function issueContext(payload: unknown, at: string, { event, issue, comment, sender }: Said) {
  const field = (name: string) => textMember(payload, `${at}fields.${name}`);
  const labels = memberOf(payload, `${at}fields.labels`);
  return knownContext({
    'tracker.event': event === UNNAMED ? undefined : event,
    'issue.key': issue.key,
    'issue.id': issue.id,
    'issue.summary': field('summary'),
    'issue.type': issue.type,
    'issue.status': field('status.name'),
    'issue.priority': field('priority.name'),
    'issue.project': issue.project,
    'issue.assignee': field('assignee.displayName'),
    'issue.reporter': field('reporter.displayName'),
    'issue.labels': Array.isArray(labels) && labels.length > 0 ? labels : undefined,
    'issue.url': urlOf(textMember(payload, `${at}self`), issue.key),
    'issue.changed': event === 'tracker:issue_updated' ? changesIn(payload) : undefined,
    'comment.id': comment?.id,
    'comment.author': comment?.author.name,
    'tracker.sender.id': sender.id,
    'tracker.sender.name': sender.name,
  });
}

/** For people: the tracker names the issue by the address of its API. */
function urlOf(self: string | undefined, key: string): string | undefined {
  const base = /^(https?:\/\/[^?#]+?)\/rest\/api\//.exec(self ?? '')?.[1];
  return base === undefined ? undefined : `${base}/browse/${key}`;
}
