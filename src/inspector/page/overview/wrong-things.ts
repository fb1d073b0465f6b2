// What is wrong, as the overview tells it: of the servers and triggers from the feed, of deliveries, runs and approvals from what was
// asked for. No browser in here, so that it can be tested as a table.
//
// OVW1  whatever is wrong is in the list, or counted as more of its kind; what is in order never is.
// OVW2  the kinds come in one order: servers, triggers, deliveries, runs, approvals; within servers the parked ones first.

import type { ApprovalList } from '../../../http/api/approval-shapes.ts';
import type { DeliveryList, DeliveryRecord } from '../../../http/api/delivery-shapes.ts';
import type { RunList, RunRecord } from '../../../http/api/run-shapes.ts';
import type { TriggerState } from '../../../http/api/trigger-shapes.ts';
import {
  addressOf,
  baseName,
  deliveriesView,
  ROOT,
  runView,
  sectionView,
  serverAddress,
  triggerAddress,
  type View,
} from '../address.ts';
import type { PageState, ServerView } from '../feed/store.ts';
import { stateText } from '../state-words.ts';
import { ago, left } from '../words.ts';

/** What the feed does not carry; asked for again and again. */
export interface AskedWork {
  readonly runs: RunList;
  readonly failed: RunList;
  /** Pending approvals. */
  readonly approvals: ApprovalList;
  readonly dead: DeliveryList;
}

export interface WrongThing {
  readonly key: string;
  readonly name: string;
  readonly state: string;
  readonly reason: string;
  /** Where it is shown. */
  readonly to: View;
}

export interface WrongGroup {
  readonly word: string;
  readonly plural: string;
  readonly things: readonly WrongThing[];
  /** Of its kind, beyond these; `Infinity` where nobody has counted them. */
  readonly more: number;
  /** Where all of them are. */
  readonly all: View;
}

/** Shown of one kind; as many are asked for. */
export const MOST = 20;

/** What is wrong, the kinds that have nothing left out. `asked` is undefined where there is no automation, or no answer yet. */
export function wrongThings(state: PageState, asked: AskedWork | undefined): readonly WrongGroup[] {
  const root: View = { actor: ROOT, tab: 'log' };
  const groups = [
    group('server', 'servers', [...wrongServers(state), ...wrongActors(state)], root),
    group('trigger', 'triggers', wrongTriggers(state), root),
    deliveryGroup(state, asked),
    group('failed run', 'failed runs', asked?.failed.runs.map(runThing) ?? [], sectionView('runs'), {
      isBounded: asked !== undefined && asked.failed.next_before !== null,
    }),
    group('approval', 'approvals', approvalThings(asked, state.at), sectionView('approvals'), {
      isBounded: true,
    }),
  ];
  return groups.filter(({ things, more }) => things.length > 0 || more > 0);
}

function group(
  word: string,
  plural: string,
  things: readonly WrongThing[],
  all: View,
  { isBounded = false } = {},
): WrongGroup {
  const left = Math.max(0, things.length - MOST);
  const more = isBounded && things.length >= MOST ? Number.POSITIVE_INFINITY : left;
  return { word, plural, things: things.slice(0, MOST), more, all };
}

function wrongServers({ servers, at }: PageState): WrongThing[] {
  const wrong = [...servers.values()].filter((server) => server.is_parked || isFailed(server.state));
  const parkedFirst = wrong.sort(
    (a, b) => Number(b.is_parked) - Number(a.is_parked) || (a.id < b.id ? -1 : 1),
  );
  return parkedFirst.map((server) => ({
    key: `server ${server.id}`,
    name: server.id,
    state: server.is_parked ? 'parked' : server.state,
    reason: [server.last_error?.message ?? 'it did not say why', againText(server, at)].join('; '),
    to: { actor: serverAddress(server.id), tab: 'stderr' },
  }));
}

const isFailed = (state: string) => /^failed\b/.test(state);

function againText({ is_parked, next_retry_at }: ServerView, now: number): string {
  const isDue = next_retry_at === null || Date.parse(next_retry_at) <= now;
  const inTime = isDue ? undefined : left(next_retry_at, now);
  if (is_parked)
    return `after too many failures it is left alone${inTime === undefined ? '' : ` for ${inTime}`}`;
  return inTime === undefined ? 'the next request starts it again' : `it may start again in ${inTime}`;
}

/** Servers that agents bring along have no numbers of their own. */
function wrongActors({ actors, servers }: PageState): WrongThing[] {
  const own = [...actors.values()].filter(
    ({ machine, name, state }) =>
      machine === 'server' && !servers.has(baseName(name)) && isFailed(stateText(state)),
  );
  return own.map((actor) => ({
    key: `actor ${actor.id}`,
    name: baseName(actor.name),
    state: stateText(actor.state),
    reason: 'a server that an agent brings along',
    to: { actor: addressOf(actor, actors), tab: 'log' },
  }));
}

function wrongTriggers({ triggers, at }: PageState): WrongThing[] {
  const wrong = [...triggers.values()].flatMap((trigger) => {
    const told = triggerWrong(trigger, at);
    return told === undefined ? [] : [{ trigger, ...told }];
  });
  const rank = (trigger: TriggerState) => (hasFailed(trigger) ? 0 : trigger.circuit === null ? 2 : 1);
  wrong.sort((a, b) => rank(a.trigger) - rank(b.trigger) || (a.trigger.name < b.trigger.name ? -1 : 1));
  return wrong.map(({ trigger: { name }, state, reason }) => ({
    ...{ key: `trigger ${name}`, name, state, reason },
    to: { actor: triggerAddress(name), tab: 'details' },
  }));
}

const hasFailed = ({ state }: TriggerState) => state === 'failed';

function triggerWrong(trigger: TriggerState, now: number): Pick<WrongThing, 'state' | 'reason'> | undefined {
  const { state, last_error, next_retry_at, circuit, paused } = trigger;
  if (hasFailed(trigger)) {
    const again =
      next_retry_at !== null && Date.parse(next_retry_at) > now
        ? `; again in ${left(next_retry_at, now)}`
        : '';
    return { state, reason: `${last_error ?? 'it could not be opened'}${again}` };
  }
  if (circuit !== null)
    return { state: 'unreachable', reason: `its platform does not answer: ${circuit.last_error}` };
  return paused ? { state: 'paused', reason: 'what comes for it waits until it is resumed' } : undefined;
}

function deliveryGroup(state: PageState, asked: AskedWork | undefined): WrongGroup {
  const automation = state.totals?.automation;
  const runs = new Set(asked?.failed.runs.map(({ id }) => id));
  const known = asked?.dead.deliveries ?? [];
  // A run that has failed is a dead delivery: it stands among the runs.
  const things = known.filter(({ id }) => !runs.has(id)).map(deliveryThing);
  const shown = things.slice(0, MOST);
  const counted = Math.max(automation?.deliveries?.dead ?? 0, known.length) - (known.length - things.length);
  const dead = {
    ...{ word: 'dead delivery', plural: 'dead deliveries', all: deliveriesView('state=dead') },
    more: Math.max(0, counted - shown.length),
  };
  const isSilent = automation != null && automation.deliveries === null;
  return { ...dead, things: isSilent ? [silence, ...shown] : shown };
}

const silence: WrongThing = {
  ...{ key: 'store', name: 'the store', state: 'unreachable' },
  reason: 'it does not answer, so nothing is known of deliveries and runs',
  to: { actor: ROOT, tab: 'details' },
};

function deliveryThing({ id, trigger, note }: DeliveryRecord): WrongThing {
  return {
    ...{ key: `delivery ${id}`, name: id, state: 'dead' },
    reason: `${trigger === null ? '' : `of ${trigger}: `}${note ?? 'given up'}`,
    to: deliveriesView('state=dead', id),
  };
}

function runThing({ id, name, note }: RunRecord): WrongThing {
  return { key: `run ${id}`, name, state: 'failed', reason: note ?? 'it did not say why', to: runView(id) };
}

function approvalThings(asked: AskedWork | undefined, now: number): WrongThing[] {
  if (asked === undefined) return [];
  return asked.approvals.approvals.map(({ id, title, requested_at, requested_by }) => ({
    ...{ key: `approval ${id}`, name: title, state: 'pending', to: sectionView('approvals') },
    reason: `asked ${ago(requested_at, now)} ago${requested_by === null ? '' : ` by ${requested_by.user}`}`,
  }));
}
