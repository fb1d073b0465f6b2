// Formats the figures of triggers and of the two kinds of work as table rows. Work of the kind `conversation`
// handles events by agents; work of the kind `outbox` sends messages to platforms.

import type { CircuitRecord, ConnectionRecord, TriggerState } from '../../http/api/trigger-shapes.ts';
import type { AutomationTotals, WorkNumbers } from '../wire/feed.ts';
import { workAddress } from './address.ts';
import { clock, count, ms, timeSince, timeUntil } from './format.ts';

type Figures = [string, string][];

export function triggerFigures(trigger: TriggerState, now: number): Figures {
  const { handled, failed, paused, blocked_by, last_event_at, next_retry_at, connection, circuit } = trigger;
  const isWaiting = next_retry_at !== null && Date.parse(next_retry_at) > now;
  return [
    ['handled', count(handled)],
    ['failed attempts', count(failed)],
    ['last attempt', last_event_at === null ? '–' : clock(last_event_at).slice(0, 8)],
    ['paused', paused ? 'yes' : 'no'],
    ...(blocked_by === null ? [] : [['refuses events', blocked_by] as [string, string]]),
    ['next retry', isWaiting ? `in ${timeUntil(next_retry_at, now)}` : '–'],
    ...(connection === null ? [] : connectionFigures(connection, now)),
    ...(circuit === null ? [] : circuitFigures(circuit, now)),
  ];
}

/** Formats the state of the connection, with its own last error. */
function connectionFigures(connection: ConnectionRecord, now: number): Figures {
  const { platform, account, state, since, held_by, last_error } = connection;
  const holder = held_by === null ? 'another node is connected' : `held by node ${held_by}`;
  const label = state === 'standby' ? `standby (${holder})` : state;
  const text = `${label} for ${timeSince(since, now)}`;
  return [[`connection ${platform}/${account}`, last_error === null ? text : `${text}: ${last_error}`]];
}

function circuitFigures({ since, last_error }: CircuitRecord, now: number): Figures {
  return [['platform', `no response for ${timeSince(since, now)}: ${last_error}`]];
}

/** Returns the kind of work at an address; undefined for other addresses. */
export function workAt(
  totals: AutomationTotals | null | undefined,
  address: string,
): WorkNumbers | undefined {
  return totals?.works.find(({ name }) => workAddress(name) === address);
}

/**
 * Formats the figures of one kind of work. `places`: maximum number of concurrent runs. `resting`: idle
 * mailboxes (queues of one conversation) in memory. `overruns`: aborted runs that still execute.
 */
export function workFigures({ deliveries }: AutomationTotals, work: WorkNumbers): Figures {
  const { active, places, resting, overruns, handled, failed, dead, duration_ms } = work;
  return [
    ['active', `${count(active)} of ${count(places)}`],
    ['resting', count(resting)],
    ['overruns', count(overruns)],
    ['handled', count(handled)],
    ['failed attempts', count(failed)],
    ['dead', count(dead)],
    ['p50', ms(duration_ms.p50)],
    ['p95', ms(duration_ms.p95)],
    ...deliveryFigures(deliveries),
  ];
}

/** Formats the delivery counts, which the store has only for all kinds of work together. */
export function deliveryFigures(deliveries: AutomationTotals['deliveries']): Figures {
  if (deliveries === null) return [['deliveries', 'the store does not respond']];
  const states = ['queued', 'running', 'retrying', 'held', 'waiting', 'dead'] as const;
  return states.map((state) => [`deliveries ${state}`, count(deliveries[state])]);
}
