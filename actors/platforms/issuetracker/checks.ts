// What filters ask and only the tracker knows: whether an issue matches a trigger's query, and whether a comment is one of our own.
// The answers stand in the event as checks; a trigger takes nothing of which a check is missing.
//
// TC1  only triggers are asked for that would take the event by what it says itself.
// TC2  what cannot be found out now rejects, and the event is tried again. What never can be shuts out the trigger that asks it: where
//      another takes the event it does, else the event is dead with the tracker's reason.
// TC3  of an issue that was deleted nothing can be asked: no query takes it, and the record says so.
// TC4  what our own account does is not answered, so that an agent that changes issues under it is not asked about its own changes; of
//      comments that depends on who wrote them (own-comments.ts).

import { setTimeout as pause } from 'node:timers/promises';
import type { IssueTrackerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import type { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import type { TrackerAccess } from './access.ts';
import { trackerAccount } from './event.ts';
import { takesTrackerEvent } from './filter.ts';
import type { RefusedQueries } from './refused-queries.ts';

type AccessOf = (trigger: IssueTrackerTrigger) => TrackerAccess | undefined;

/** For so long an event waits to learn whose token it is; where that is not known by then it is taken. */
const OWN_ACCOUNT_MS = 3_000;
/** By the clocks of both sides. The vendor speaks of seconds, and of minutes where much is changed at once. */
const FRESH_MS = 120_000;
const OURS = 'comment:ours';

/** Whether it takes the event, or why not. */
export function takesChecked(
  accessOf: AccessOf,
  trigger: IssueTrackerTrigger,
  event: InboundEvent,
): boolean | string {
  if (!takesTrackerEvent(trigger, event)) return false;
  const access = accessOf(trigger);
  if (event.checks?.[OURS] === true) return 'the comment is one of our own';
  if (access !== undefined && isOfOwnAccount(access, event))
    return 'it was done under the account of the token';
  const { jql_filter: query } = trigger.config;
  if (query === undefined || event.channel === undefined) return true;
  const fault = unaskable(event);
  if (fault !== undefined) return fault;
  const isMatch = event.checks?.[checkOf(trigger, query)];
  if (isMatch === undefined) return 'the tracker did not say whether the issue matches jql_filter';
  return isMatch || 'the issue does not match jql_filter';
}

/** The event with the checks that these triggers need; undefined where they need none. */
export function completed(
  accessOf: AccessOf,
  refused: RefusedQueries,
  event: InboundEvent,
  triggers: readonly IssueTrackerTrigger[],
): Promise<InboundEvent> | undefined {
  const asking = triggers.filter((trigger) => takesTrackerEvent(trigger, event));
  const hasAccess = asking.some((trigger) => accessOf(trigger) !== undefined);
  return hasAccess && event.channel !== undefined ? checked(accessOf, refused, event, asking) : undefined;
}

async function checked(
  accessOf: AccessOf,
  refused: RefusedQueries,
  event: InboundEvent,
  triggers: readonly IssueTrackerTrigger[],
): Promise<InboundEvent> {
  const checks: Record<string, boolean> = {};
  const faults: DeliveryError[] = [];
  for (const access of new Set(triggers.map(accessOf))) {
    if (access === undefined) continue;
    const own = triggers.filter((trigger) => accessOf(trigger) === access);
    if (!access.own.isKnown)
      await Promise.race([access.own.asked(), pause(OWN_ACCOUNT_MS, undefined, { ref: false })]);
    if (await isOurComment(access, event)) return { ...event, checks: { [OURS]: true } };
    if (unaskable(event) !== undefined || isOfOwnAccount(access, event)) continue;
    const queries = new Set(own.flatMap(({ config: { jql_filter } }) => jql_filter ?? []));
    const verdicts = await access.matches.verdicts(issueOf(event), [...queries]);
    for (const trigger of own) {
      const { jql_filter: query } = trigger.config;
      const verdict = query === undefined ? undefined : verdicts.get(query);
      if (typeof verdict === 'boolean') checks[checkOf(trigger, query ?? '')] = verdict;
      else if (verdict !== undefined) {
        faults.push(verdict);
        refused.note(trigger.name, verdict);
      }
    }
  }
  const complete = { ...event, checks };
  const [fault] = faults;
  const isTaken = () => triggers.some((trigger) => takesChecked(accessOf, trigger, complete) === true);
  if (fault === undefined || isTaken()) return complete;
  throw fault;
}

async function isOurComment(access: TrackerAccess, event: InboundEvent): Promise<boolean> {
  const { 'issue.key': issue, 'comment.id': id } = event.context;
  if (typeof issue !== 'string' || typeof id !== 'string') return false;
  const author = textMember(event.payload, 'comment.author.accountId', 'comment.author.name');
  const isOwnAccount = access.own.isKnown ? access.own.is(author) : undefined;
  return access.comments.isOurs({ issue, id, isOwnAccount });
}

function isOfOwnAccount(access: TrackerAccess, { context, user }: InboundEvent): boolean {
  return context['comment.id'] === undefined && access.own.is(user);
}

/** Two accounts may see different issues. */
function checkOf(trigger: IssueTrackerTrigger, query: string): string {
  return JSON.stringify(['jql', trackerAccount(trigger), trigger.config.email, query]);
}

/** Why the tracker cannot be asked about the issue. */
function unaskable({ names, context }: InboundEvent): string | undefined {
  if (names.includes('tracker:issue_deleted'))
    return 'the issue is deleted, and the tracker can say no more whether it matched jql_filter';
  if (context['issue.id'] === undefined)
    return 'the event has no id of its issue, by which the tracker is asked for jql_filter';
  return undefined;
}

function issueOf({ payload, context, names }: InboundEvent) {
  const timestamp = memberOf(payload, 'timestamp');
  const event = typeof timestamp === 'number' ? `${names[0]} ${timestamp}` : undefined;
  const isFresh = typeof timestamp === 'number' && Math.abs(Date.now() - timestamp) < FRESH_MS;
  return { id: String(context['issue.id']), key: String(context['issue.key']), event, isFresh };
}
