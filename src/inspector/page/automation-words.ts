// The figures of triggers and of kinds of work (conversations, outbox) as lines of a table.

import type { CircuitRecord, ConnectionRecord, TriggerState } from '../../http/api/trigger-shapes.ts';
import type { AutomationTotals, WorkNumbers } from '../wire/feed-wire.ts';
import { workAddress } from './address.ts';
import { ago, clock, count, left, ms } from './words.ts';

type Figures = [string, string][];

export function triggerFigures(trigger: TriggerState, now: number): Figures {
  const { handled, failed, paused, last_event_at, next_retry_at, connection, circuit } = trigger;
  const isWaiting = next_retry_at !== null && Date.parse(next_retry_at) > now;
  return [
    ['handled', count(handled)],
    ['failed attempts', count(failed)],
    ['last attempt', last_event_at === null ? '–' : clock(last_event_at).slice(0, 8)],
    ['paused', paused ? 'yes' : 'no'],
    ['next retry', isWaiting ? `in ${left(next_retry_at, now)}` : '–'],
    ...(connection === null ? [] : connectionFigures(connection, now)),
    ...(circuit === null ? [] : circuitFigures(circuit, now)),
  ];
}

/** It may have no failure of its triggers' to show, and yet one. */
function connectionFigures(connection: ConnectionRecord, now: number): Figures {
  const { platform, account, state, since, held_by, last_error } = connection;
  const by = held_by === null ? 'another node is connected' : `held by node ${held_by}`;
  const what = state === 'standby' ? `standby (${by})` : state;
  const lasts = `${what} for ${ago(since, now)}`;
  return [[`connection ${platform}/${account}`, last_error === null ? lasts : `${lasts}: ${last_error}`]];
}

function circuitFigures({ since, last_error }: CircuitRecord, now: number): Figures {
  return [['platform', `does not answer for ${ago(since, now)}: ${last_error}`]];
}

/** The kind of work whose mailboxes stand at an address. */
export function workAt(
  totals: AutomationTotals | null | undefined,
  address: string,
): WorkNumbers | undefined {
  return totals?.works.find(({ name }) => workAddress(name) === address);
}

export function workFigures({ deliveries }: AutomationTotals, work: WorkNumbers): Figures {
  const { active, places, resting, overruns, handled, failed, dead, duration_ms } = work;
  return [
    ['at work', `${count(active)} of ${count(places)}`],
    ['resting', count(resting)],
    ['overruns', count(overruns)],
    ['handled', count(handled)],
    ['failed attempts', count(failed)],
    ['given up', count(dead)],
    ['p50', ms(duration_ms.p50)],
    ['p95', ms(duration_ms.p95)],
    ...deliveryFigures(deliveries),
  ];
}

/** Of all kinds together: the store counts them so. */
export function deliveryFigures(deliveries: AutomationTotals['deliveries']): Figures {
  if (deliveries === null) return [['deliveries', 'the store does not answer']];
  const states = ['queued', 'running', 'retrying', 'held', 'waiting', 'dead'] as const;
  return states.map((state) => [`deliveries ${state}`, count(deliveries[state])]);
}
