// Facts of tracker events: the issue, comment or sprint, the sender, the text, and the context for agents.
// The context omits missing values.
//
// A body that lacks `webhookEvent` comes from an automation rule, and contains an issue, or an object with an
// issue. The webhook's URL should contain the event name; otherwise only a default agent accepts the event.
// Issue keys are part of API paths and conversation names, so a key in another format is rejected.

import { type TrackerEvent, trackerEventOf } from '../../../config/resources/fields/tracker-events.ts';
import { definedContext, memberOf, textMember } from '../payloads/payload-member.ts';
import { changesIn } from './changes.ts';
import { textOfDocument } from './document-text.ts';

const ISSUE_KEY = /^([A-Z][A-Z0-9_]{0,254})-\d{1,18}$/;
/** Ids; numeric at the vendor. */
const ID = /^[\w-]{1,64}$/;

/** Event of an automation rule whose address names no event. No command can have this name. */
export const UNNAMED = 'tracker:issue';
export const COMMENT_CREATED = 'comment_created';
export const ISSUE_UPDATED = 'tracker:issue_updated';

export interface TrackerIssue {
  readonly key: string;
  /** Id in the tracker's API. */
  readonly id: string | undefined;
  /** Project key. */
  readonly project: string;
  readonly type: string | undefined;
}

export interface TrackerSender {
  /** Account id; the user name on trackers without account ids. */
  readonly id: string | undefined;
  readonly name: string | undefined;
}

export interface TrackerFacts {
  readonly event: TrackerEvent | typeof UNNAMED;
  readonly issue: TrackerIssue | undefined;
  readonly sprint: string | undefined;
  readonly comment: { readonly id: string | undefined; readonly author: TrackerSender } | undefined;
  /** Author of the comment, or the user who caused the event. */
  readonly sender: TrackerSender;
  readonly text: string | undefined;
  /** New comment id. Trackers may send two events per comment. */
  readonly newComment: string | undefined;
  readonly context: Readonly<Record<string, unknown>>;
}

/**
 * Parses a payload. `nameInUrl` is the event name from the webhook's URL. Returns `ignored` for unhandled
 * events; undefined if the payload is not an event of the tracker.
 */
export function trackerFacts(
  payload: unknown,
  nameInUrl: string | undefined,
): TrackerFacts | 'ignored' | undefined {
  const webhookEvent = memberOf(payload, 'webhookEvent');
  if (webhookEvent !== undefined && typeof webhookEvent !== 'string') return undefined;
  const event = eventOf(webhookEvent, nameInUrl);
  if (event === undefined) return 'ignored';
  if (event.startsWith('sprint_')) return sprintFacts(event, payload);
  const prefix = memberOf(payload, 'issue') === undefined && webhookEvent === undefined ? '' : 'issue.';
  const issue = issueAt(payload, prefix);
  if (issue === undefined) return undefined;
  const hasComment = memberOf(payload, 'comment') !== undefined && prefix !== '';
  if (event === COMMENT_CREATED && !hasComment) return undefined;
  const comment = hasComment
    ? { id: idAt(payload, 'comment.id'), author: senderAt(payload, 'comment.author') }
    : undefined;
  const user = senderAt(payload, 'user');
  const sender = comment === undefined || user.id !== undefined ? user : comment.author;
  const newComment = isNewComment(event, payload) ? comment?.id : undefined;
  const facts = { event, issue, sprint: undefined, comment, sender, newComment };
  return {
    ...facts,
    text: event === 'tracker:issue_deleted' ? undefined : newText(payload, prefix, facts),
    context: issueContext(payload, prefix, facts),
  };
}

/** Type of an issue update that contains only a new comment. */
const COMMENTED = 'issue_commented';

function isNewComment(event: TrackerFacts['event'], payload: unknown): boolean {
  if (event === COMMENT_CREATED) return true;
  return event === ISSUE_UPDATED && textMember(payload, 'issue_event_type_name') === COMMENTED;
}

/** Returns the event name; undefined for unknown events. */
function eventOf(webhookEvent: string | undefined, nameInUrl = ''): TrackerFacts['event'] | undefined {
  return webhookEvent === undefined ? (trackerEventOf(nameInUrl) ?? UNNAMED) : trackerEventOf(webhookEvent);
}

/** Payload paths that the facts use. */
export const trackerPaths: readonly string[] = [
  'timestamp',
  'webhookEvent',
  'issue_event_type_name',
  'changelog.items',
  'sprint',
  'user',
  'comment.id',
  'comment.self',
  'comment.author',
  'comment.body',
  ...['', 'issue.'].flatMap((prefix) =>
    ['id', 'key', 'self']
      .map((name) => prefix + name)
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
        ].map((name) => `${prefix}fields.${name}`),
      ),
  ),
];

/** Returns the tracker's host and port from an address in the payload, if any. */
export function trackerOf(payload: unknown): string | undefined {
  const self = textMember(payload, 'issue.self', 'sprint.self', 'comment.self', 'self') ?? '';
  return URL.canParse(self) ? new URL(self).host : undefined;
}

function sprintFacts(event: TrackerFacts['event'], payload: unknown): TrackerFacts | undefined {
  const sprint = idAt(payload, 'sprint.id');
  if (sprint === undefined) return undefined;
  const sender = senderAt(payload, 'user');
  const context = definedContext({
    'tracker.event': event,
    'sprint.id': sprint,
    'sprint.name': textMember(payload, 'sprint.name'),
    'sprint.state': textMember(payload, 'sprint.state'),
    'sprint.goal': textAt(payload, 'sprint.goal'),
    'sprint.start': textMember(payload, 'sprint.startDate'),
    'sprint.end': textMember(payload, 'sprint.endDate'),
    'tracker.sender.id': sender.id,
    'tracker.sender.name': sender.name,
  });
  const none = { issue: undefined, comment: undefined, text: undefined, newComment: undefined };
  return { event, sprint, sender, context, ...none };
}

function issueAt(payload: unknown, prefix: string): TrackerIssue | undefined {
  const key = textMember(payload, `${prefix}key`) ?? '';
  const project = ISSUE_KEY.exec(key)?.[1];
  if (project === undefined) return undefined;
  return {
    key,
    id: idAt(payload, `${prefix}id`),
    project: textMember(payload, `${prefix}fields.project.key`) ?? project,
    type: textMember(payload, `${prefix}fields.issuetype.name`),
  };
}

/** Returns an id, which may be a number or a string; undefined if invalid. */
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

type IssueFacts = Pick<TrackerFacts, 'event' | 'comment' | 'sender' | 'newComment'> & {
  readonly issue: TrackerIssue;
};

/**
 * Returns true if an update with other changes repeats a comment. Trackers with account ids also send such
 * comments separately.
 */
function isRepeatedComment(payload: unknown, { event, comment, newComment }: IssueFacts): boolean {
  if (event !== ISSUE_UPDATED || comment === undefined || newComment !== undefined) return false;
  const hasAccountId = textMember(payload, 'comment.author.accountId') !== undefined;
  return hasAccountId && changesIn(payload) !== undefined;
}

/** Returns text that is new with this event. Updates repeat old text that was already handled. */
function newText(payload: unknown, prefix: string, facts: IssueFacts): string | undefined {
  const { event, comment } = facts;
  if (isRepeatedComment(payload, facts)) return undefined;
  if (comment !== undefined) return textAt(payload, 'comment.body');
  if (event === ISSUE_UPDATED) return undefined;
  const texts = [textAt(payload, `${prefix}fields.summary`), textAt(payload, `${prefix}fields.description`)];
  const text = texts.filter((each) => each !== undefined).join('\n\n');
  return text === '' ? undefined : text;
}

/** Returns a text. Strings keep their markup; documents are converted. */
function textAt(payload: unknown, path: string): string | undefined {
  const value = memberOf(payload, path);
  const text = (typeof value === 'string' ? value : textOfDocument(value)).trim();
  return text === '' ? undefined : text;
}

function issueContext(payload: unknown, prefix: string, { event, issue, comment, sender }: IssueFacts) {
  const field = (name: string) => textMember(payload, `${prefix}fields.${name}`);
  const labels = memberOf(payload, `${prefix}fields.labels`);
  return definedContext({
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
    'issue.url': urlOf(textMember(payload, `${prefix}self`), issue.key),
    'issue.changed': event === ISSUE_UPDATED ? changesIn(payload) : undefined,
    'comment.id': comment?.id,
    'comment.author': comment?.author.name,
    'tracker.sender.id': sender.id,
    'tracker.sender.name': sender.name,
  });
}

/** Derives the page address from the API address in `self`. */
function urlOf(self: string | undefined, key: string): string | undefined {
  const base = /^(https?:\/\/[^?#]+?)\/rest\/api\//.exec(self ?? '')?.[1];
  return base === undefined ? undefined : `${base}/browse/${key}`;
}
