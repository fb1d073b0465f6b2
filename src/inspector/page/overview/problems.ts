// Finds the problems for the overview. Alarms, servers and triggers come from the feed; deliveries, runs and
// approvals are polled. Each kind lists the first MAX_PROBLEMS problems and counts further ones. Parked
// servers (stopped after too many failures) come first.

import type { AlarmRecord } from '../../../http/api/alarm-shapes.ts';
import type { ApprovalList } from '../../../http/api/approval-shapes.ts';
import type { DeliveryList, DeliveryRecord } from '../../../http/api/delivery-shapes.ts';
import type { RunList, RunRecord } from '../../../http/api/run-shapes.ts';
import type { TriggerState } from '../../../http/api/trigger-shapes.ts';
import {
  addressOf,
  baseName,
  deliveriesView,
  type PageView,
  ROOT,
  runView,
  sectionView,
  serverAddress,
  triggerAddress,
} from '../address.ts';
import type { PageState, ServerView } from '../feed/page-state.ts';
import { pluralize, timeSince, timeUntil } from '../format.ts';
import { stateText } from '../state-text.ts';

/** Polled records, which the feed does not contain. */
export interface PolledRecords {
  readonly runs: RunList;
  /** Failed runs. */
  readonly failed: RunList;
  /** Pending approvals. */
  readonly approvals: ApprovalList;
  /** Dead deliveries: events that failed every attempt. */
  readonly dead: DeliveryList;
}

export interface OverviewProblem {
  readonly key: string;
  readonly name: string;
  readonly state: string;
  readonly reason: string;
  /** View of the server, trigger, delivery, run or approval. */
  readonly to: PageView;
}

export interface ProblemGroup {
  readonly singular: string;
  readonly plural: string;
  readonly problems: readonly OverviewProblem[];
  /** Number of unlisted problems of this kind; `Infinity` if unknown. */
  readonly more: number;
  /** View that lists all problems of this kind. */
  readonly all: PageView;
}

/** Maximum number of listed problems per kind, and limit of the requests. */
export const MAX_PROBLEMS = 20;

/**
 * Returns the problems, without empty groups. `records` is undefined without automation, or before the first
 * response.
 */
export function findProblems(state: PageState, records: PolledRecords | undefined): readonly ProblemGroup[] {
  const root: PageView = { actor: ROOT, tab: 'log' };
  const groups = [
    group('gateway', 'alarms of the gateway', alarmProblems(state), root),
    // Approvals come before failures: persons wait for them.
    group('approval', 'approvals', approvalProblems(records, state.at), sectionView('approvals'), {
      isBounded: true,
    }),
    group('server', 'servers', [...serverProblems(state), ...agentServerProblems(state)], root),
    group('trigger', 'triggers', triggerProblems(state), root),
    deliveryGroup(state, records),
    group('failed run', 'failed runs', records?.failed.runs.map(runProblem) ?? [], sectionView('runs'), {
      isBounded: records !== undefined && records.failed.next_before !== null,
    }),
  ];
  return groups.filter(({ problems, more }) => problems.length > 0 || more > 0);
}

/**
 * Groups the problems of one kind. `isBounded`: the request returned at most MAX_PROBLEMS problems, so the
 * number of further ones is unknown.
 */
function group(
  singular: string,
  plural: string,
  problems: readonly OverviewProblem[],
  all: PageView,
  { isBounded = false } = {},
): ProblemGroup {
  const hiddenCount = Math.max(0, problems.length - MAX_PROBLEMS);
  const more = isBounded && problems.length >= MAX_PROBLEMS ? Number.POSITIVE_INFINITY : hiddenCount;
  return { singular, plural, problems: problems.slice(0, MAX_PROBLEMS), more, all };
}

function alarmProblems({ totals, at }: PageState): OverviewProblem[] {
  return (totals?.alarms ?? []).map((alarm) => ({
    key: `alarm ${alarm.code}`,
    name: alarm.code,
    state: alarm.severity,
    reason: `${alarm.message} (${alarmTimes(alarm, at)})`,
    to: { actor: ROOT, tab: 'details' },
  }));
}

function alarmTimes({ since, count }: AlarmRecord, now: number): string {
  const duration = `for ${timeSince(since, now)}`;
  return count === null ? duration : `${pluralize(count, 'time')}, ${duration}`;
}

function serverProblems({ servers, at }: PageState): OverviewProblem[] {
  const failedServers = [...servers.values()].filter((server) => server.is_parked || isFailed(server.state));
  const parkedFirst = failedServers.sort(
    (a, b) => Number(b.is_parked) - Number(a.is_parked) || (a.id < b.id ? -1 : 1),
  );
  return parkedFirst.map((server) => ({
    key: `server ${server.id}`,
    name: server.id,
    state: server.is_parked ? 'parked' : server.state,
    reason: [server.last_error?.message ?? 'no error message', retryText(server, at)].join('; '),
    to: { actor: serverAddress(server.id), tab: 'stderr' },
  }));
}

const isFailed = (state: string) => /^failed\b/.test(state);

function retryText({ is_parked, next_retry_at }: ServerView, now: number): string {
  const isDue = next_retry_at === null || Date.parse(next_retry_at) <= now;
  const inTime = isDue ? undefined : timeUntil(next_retry_at, now);
  if (is_parked) return `parked${inTime === undefined ? '' : ` for ${inTime}`} after too many failures`;
  return inTime === undefined ? 'the next request restarts it' : `next restart in ${inTime}`;
}

/** Finds failed servers of agents. They are only in the actor tree; the numbers contain catalog servers. */
function agentServerProblems({ actors, servers }: PageState): OverviewProblem[] {
  const failedActors = [...actors.values()].filter(
    ({ machine, name, state }) =>
      machine === 'server' && !servers.has(baseName(name)) && isFailed(stateText(state)),
  );
  return failedActors.map((actor) => ({
    key: `actor ${actor.id}`,
    name: baseName(actor.name),
    state: stateText(actor.state),
    reason: 'server of an agent',
    to: { actor: addressOf(actor, actors), tab: 'log' },
  }));
}

function triggerProblems({ triggers, at }: PageState): OverviewProblem[] {
  const found = [...triggers.values()].flatMap((trigger) => {
    const problem = triggerProblem(trigger, at);
    return problem === undefined ? [] : [{ trigger, ...problem }];
  });
  const rank = (trigger: TriggerState) => (hasFailed(trigger) ? 0 : trigger.circuit === null ? 2 : 1);
  found.sort((a, b) => rank(a.trigger) - rank(b.trigger) || (a.trigger.name < b.trigger.name ? -1 : 1));
  return found.map(({ trigger: { name }, state, reason }) => ({
    key: `trigger ${name}`,
    name,
    state,
    reason,
    to: { actor: triggerAddress(name), tab: 'details' },
  }));
}

const hasFailed = ({ state }: TriggerState) => state === 'failed';

function triggerProblem(
  trigger: TriggerState,
  now: number,
): Pick<OverviewProblem, 'state' | 'reason'> | undefined {
  const { state, last_error, next_retry_at, circuit, paused } = trigger;
  if (hasFailed(trigger)) {
    const retry =
      next_retry_at !== null && Date.parse(next_retry_at) > now
        ? `; retry in ${timeUntil(next_retry_at, now)}`
        : '';
    return { state, reason: `${last_error ?? 'could not be opened'}${retry}` };
  }
  if (circuit !== null)
    return { state: 'unreachable', reason: `no response from the platform: ${circuit.last_error}` };
  return paused ? { state: 'paused', reason: 'new events wait until it is resumed' } : undefined;
}

function deliveryGroup(state: PageState, records: PolledRecords | undefined): ProblemGroup {
  const automation = state.totals?.automation;
  const runs = new Set(records?.failed.runs.map(({ id }) => id));
  const deadDeliveries = records?.dead.deliveries ?? [];
  // A failed run is also a dead delivery; it is listed as a run.
  const problems = deadDeliveries.filter(({ id }) => !runs.has(id)).map(deliveryProblem);
  const listed = problems.slice(0, MAX_PROBLEMS);
  // The feed counts all dead deliveries. Deliveries that are listed as runs are subtracted.
  const total =
    Math.max(automation?.deliveries?.dead ?? 0, deadDeliveries.length) -
    (deadDeliveries.length - problems.length);
  const dead = {
    singular: 'dead delivery',
    plural: 'dead deliveries',
    all: deliveriesView('state=dead'),
    more: Math.max(0, total - listed.length),
  };
  const isStoreUnreachable = automation != null && automation.deliveries === null;
  return { ...dead, problems: isStoreUnreachable ? [storeProblem, ...listed] : listed };
}

const storeProblem: OverviewProblem = {
  key: 'store',
  name: 'store',
  state: 'unreachable',
  reason: 'no response; deliveries and runs are unknown',
  to: { actor: ROOT, tab: 'details' },
};

function deliveryProblem({ id, trigger, note }: DeliveryRecord): OverviewProblem {
  return {
    key: `delivery ${id}`,
    name: id,
    state: 'dead',
    reason: `${trigger === null ? '' : `trigger ${trigger}: `}${note ?? 'no more attempts'}`,
    to: deliveriesView('state=dead', id),
  };
}

function runProblem({ id, name, note }: RunRecord): OverviewProblem {
  return { key: `run ${id}`, name, state: 'failed', reason: note ?? 'no error message', to: runView(id) };
}

function approvalProblems(records: PolledRecords | undefined, now: number): OverviewProblem[] {
  if (records === undefined) return [];
  return records.approvals.approvals.map(({ id, title, requested_at, requested_by }) => ({
    key: `approval ${id}`,
    name: title,
    state: 'pending',
    to: sectionView('approvals'),
    reason: `requested ${timeSince(requested_at, now)} ago${requested_by === null ? '' : ` by ${requested_by.user}`}`,
  }));
}
