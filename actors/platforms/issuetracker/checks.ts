// Checks that only the tracker can make: does an issue match a trigger's query (`jql_filter`), and is a
// comment the gateway's own. The event stores the results; a trigger never accepts an event that lacks a
// check.
//
// - Only triggers whose other filters accept the event are checked.
// - After temporary failures the event is retried. After final failures only the trigger with that check is
//   excluded; if no other trigger accepts the event, it is dead with the tracker's reason.
// - A deleted issue cannot be checked, so no query matches it.
// - Changes by the token's own account are ignored, to prevent loops. own-comments.ts decides about comments.

import type { IssueTrackerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { within } from '../../base/time/within.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import type { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import type { TrackerAccess } from './access.ts';
import { trackerAccount } from './event.ts';
import { passesOwnFilters } from './filter.ts';
import type { RefusedQueries } from './refused-queries.ts';

type AccessOf = (trigger: IssueTrackerTrigger) => TrackerAccess | undefined;

/** Maximum time to wait for the token's account. If it is still unknown, the event is accepted. */
const OWN_ACCOUNT_MS = 3_000;
/**
 * Maximum age for recent events, by both clocks. The vendor's search lags by seconds, under load by minutes.
 */
const FRESH_MS = 120_000;
/** Name of the check for own comments. */
const OURS = 'comment:ours';

/**
 * Returns true if the trigger accepts the event. Otherwise false, or the reason if the trigger's file does
 * not show it.
 */
export function acceptsEvent(
  accessOf: AccessOf,
  trigger: IssueTrackerTrigger,
  event: InboundEvent,
): boolean | string {
  if (!passesOwnFilters(trigger, event)) return false;
  const access = accessOf(trigger);
  if (event.checks?.[OURS] === true) return 'the comment is our own';
  if (access !== undefined && isOfOwnAccount(access, event))
    return "the change was made by the token's account";
  const { jql_filter: query } = trigger.config;
  if (query === undefined || event.channel === undefined) return true;
  const fault = uncheckableReason(event);
  if (fault !== undefined) return fault;
  const isMatch = event.checks?.[checkOf(trigger, query)];
  if (isMatch === undefined) return 'could not determine whether the issue matches jql_filter';
  return isMatch || 'the issue does not match jql_filter';
}

/** Adds the checks that these triggers need; undefined if no check is needed. */
export function addChecks(
  accessOf: AccessOf,
  refused: RefusedQueries,
  event: InboundEvent,
  triggers: readonly IssueTrackerTrigger[],
): Promise<InboundEvent> | undefined {
  const candidates = triggers.filter((trigger) => passesOwnFilters(trigger, event));
  const hasAccess = candidates.some((trigger) => accessOf(trigger) !== undefined);
  return hasAccess && event.channel !== undefined
    ? runChecks(accessOf, refused, event, candidates)
    : undefined;
}

async function runChecks(
  accessOf: AccessOf,
  refused: RefusedQueries,
  event: InboundEvent,
  triggers: readonly IssueTrackerTrigger[],
): Promise<InboundEvent> {
  const checks: Record<string, boolean> = {};
  const faults: DeliveryError[] = [];
  for (const access of new Set(triggers.map(accessOf))) {
    if (access === undefined) continue;
    const ofAccount = triggers.filter((trigger) => accessOf(trigger) === access);
    if (!access.own.isKnown) await within(OWN_ACCOUNT_MS, access.own.whenLearned());
    if (await isOurComment(access, event)) return { ...event, checks: { [OURS]: true } };
    if (uncheckableReason(event) !== undefined || isOfOwnAccount(access, event)) continue;
    const queries = new Set(ofAccount.flatMap(({ config: { jql_filter } }) => jql_filter ?? []));
    const verdicts = await access.matches.verdicts(issueOf(event), [...queries]);
    for (const trigger of ofAccount) {
      const { jql_filter: query } = trigger.config;
      const verdict = query === undefined ? undefined : verdicts.get(query);
      if (typeof verdict === 'boolean') checks[checkOf(trigger, query ?? '')] = verdict;
      else if (verdict !== undefined) {
        faults.push(verdict);
        refused.report(trigger.name, verdict);
      }
    }
  }
  const complete = { ...event, checks };
  const [fault] = faults;
  const isAccepted = () => triggers.some((trigger) => acceptsEvent(accessOf, trigger, complete) === true);
  if (fault === undefined || isAccepted()) return complete;
  throw fault;
}

async function isOurComment(access: TrackerAccess, event: InboundEvent): Promise<boolean> {
  const { 'issue.key': issue, 'comment.id': id } = event.context;
  if (typeof issue !== 'string' || typeof id !== 'string') return false;
  const author = textMember(event.payload, 'comment.author.accountId', 'comment.author.name');
  const isOwnAccount = access.own.isKnown ? access.own.isName(author) : undefined;
  return access.comments.isOurs({ issue, id, isOwnAccount });
}

function isOfOwnAccount(access: TrackerAccess, { context, user }: InboundEvent): boolean {
  return context['comment.id'] === undefined && access.own.isName(user);
}

/** Returns a query check's name. Includes the account, because accounts may see different issues. */
function checkOf(trigger: IssueTrackerTrigger, query: string): string {
  return JSON.stringify(['jql', trackerAccount(trigger), trigger.config.email, query]);
}

/** Returns the reason why the issue cannot be checked; undefined if it can. */
function uncheckableReason({ names, context }: InboundEvent): string | undefined {
  if (names.includes('tracker:issue_deleted')) return 'the issue is deleted; jql_filter cannot be checked';
  if (context['issue.id'] === undefined)
    return 'the event contains no issue id; jql_filter cannot be checked';
  return undefined;
}

function issueOf({ payload, context, names }: InboundEvent) {
  const timestamp = memberOf(payload, 'timestamp');
  const event = typeof timestamp === 'number' ? `${names[0]} ${timestamp}` : undefined;
  const isFresh = typeof timestamp === 'number' && Math.abs(Date.now() - timestamp) < FRESH_MS;
  return { id: String(context['issue.id']), key: String(context['issue.key']), event, isFresh };
}
