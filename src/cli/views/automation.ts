// Formats triggers, agents and deliveries as tables, pages and lines.

import { relative } from 'node:path';
import type { DeliveryState } from '../../../actors/store/delivery.ts';
import type { DeliveryDetails, DeliveryList, DeliveryRecord } from '../../http/api/delivery-shapes.ts';
import type { Stats, TriggerStats } from '../../http/api/stats-shapes.ts';
import type { AgentRecord } from '../../http/api/target-shapes.ts';
import type { TriggerRecord } from '../../http/api/trigger-shapes.ts';
import type { Paint, Style } from '../../terminal/paint.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { type DeadLettersByTrigger, deadCount } from '../api/dead-letters.ts';
import { mayHaveApprovals, type PendingApprovals } from '../api/pending-approvals.ts';
import type { AgentInFile, TriggerInFile } from '../commands/resource-files.ts';
import { counted, latency } from './figures.ts';
import { localTime, optionalTime } from './local-time.ts';
import { type Column, table } from './table.ts';

const deliveryStyle: Readonly<Record<DeliveryState, Style>> = {
  queued: 'busy',
  running: 'busy',
  retrying: 'busy',
  held: 'busy',
  waiting: 'busy',
  done: 'good',
  ignored: 'faint',
  dead: 'bad',
};

export const triggerStyle = (state: string, isBlockedByAlarm = false): Style =>
  state === 'failed' || isBlockedByAlarm ? 'bad' : state === 'open' ? 'good' : 'busy';

export const stateColumn = (paint: Paint): Column<TriggerStates> => ({
  title: 'STATE',
  text: stateText,
  paint: (trigger, text) => paint(triggerStyle(trigger.state, isBlocked(trigger)), text),
});

export function triggerTable(
  rows: readonly TriggerRecord[],
  letters: DeadLettersByTrigger | undefined,
  paint: Paint,
  width?: number,
): string[] {
  const columns: Column<TriggerRecord>[] = [
    { title: 'TRIGGER', text: ({ name }) => name },
    { title: 'TYPE', text: ({ type }) => type },
    { title: 'MATURITY', text: ({ maturity }) => maturity ?? '-' },
    stateColumn(paint),
    { title: 'HANDLED', isNumber: true, text: ({ handled }) => String(handled) },
    { title: 'FAILED', isNumber: true, text: ({ failed }) => String(failed) },
    {
      title: 'DEAD',
      isNumber: true,
      text: ({ name }) => deadCount(name, letters),
      paint: ({ name }, text) => (letters?.byTrigger.has(name) === true ? paint('bad', text) : text),
    },
    { title: 'COMMANDS', text: commandWords },
    { title: 'AGENT', text: ({ default_agent }) => default_agent ?? '-' },
    {
      title: 'LAST ERROR',
      text: (trigger) => {
        const { name, last_error, connection, circuit } = trigger;
        return (
          blockedText(trigger) ??
          last_error ??
          connection?.last_error ??
          circuit?.last_error ??
          letters?.byTrigger.get(name)?.newest.note ??
          '-'
        );
      },
    },
  ];
  return rows.length === 0 ? ['no triggers'] : table(columns, rows, width);
}

const fileText = ({ file }: { readonly file: string }) => relative(process.cwd(), file);

const commandWords = ({ commands }: Pick<TriggerRecord, 'commands'>) =>
  commands.map(({ command }) => command).join(' ') || '-';

export function triggerFileTable(rows: readonly TriggerInFile[], width?: number): string[] {
  const columns: Column<TriggerInFile>[] = [
    { title: 'TRIGGER', text: ({ name }) => name },
    { title: 'TYPE', text: ({ type }) => type },
    { title: 'MATURITY', text: ({ maturity }) => maturity ?? '-' },
    { title: 'ENABLED', text: ({ enabled }) => (enabled ? 'yes' : 'no') },
    { title: 'COMMANDS', text: commandWords },
    { title: 'AGENT', text: ({ default_agent }) => default_agent ?? '-' },
    { title: 'FILE', text: fileText },
  ];
  return rows.length === 0 ? ['no triggers'] : table(columns, rows, width);
}

export function agentFileTable(rows: readonly AgentInFile[], width?: number): string[] {
  const columns: Column<AgentInFile>[] = [...agentColumns, { title: 'FILE', text: fileText }];
  return rows.length === 0 ? ['no agents'] : table(columns, rows, width);
}

type TriggerStates = Pick<TriggerRecord, 'state' | 'paused' | 'blocked_by'>;

/** Returns the state, such as `open`, `failed, paused` or `open, blocked`. */
export const stateText = (trigger: TriggerStates) =>
  [
    trigger.state,
    ...(trigger.paused && trigger.state !== 'paused' ? ['paused'] : []),
    ...(isBlocked(trigger) ? ['blocked'] : []),
  ].join(', ');

/** Returns true if an alarm prevents new events. */
export const isBlocked = ({ blocked_by }: Pick<TriggerStates, 'blocked_by'>) => blocked_by != null;

/** Returns the alarm that prevents new events; null if none. */
export const blockedText = (trigger: Pick<TriggerStates, 'blocked_by'>) =>
  isBlocked(trigger) ? `refuses events: ${trigger.blocked_by}; "stats" shows the alarm` : null;

export function triggerLine(trigger: TriggerRecord): string {
  return `${trigger.name} is ${stateText(trigger)}`;
}

type AgentLine = Pick<AgentRecord, 'name' | 'runtime' | 'model' | 'description'>;

const agentColumns: readonly Column<AgentLine>[] = [
  { title: 'AGENT', text: ({ name }) => name },
  { title: 'RUNTIME', text: ({ runtime }) => runtime ?? 'none' },
  { title: 'MODEL', text: ({ model }) => model ?? '-' },
  { title: 'DESCRIPTION', text: ({ description }) => description || '-' },
];

export function agentTable(rows: readonly AgentRecord[], width?: number): string[] {
  return rows.length === 0 ? ['no agents'] : table(agentColumns, rows, width);
}

export function deliveryTable(
  { deliveries, next_before }: DeliveryList,
  approvals: PendingApprovals,
  paint: Paint,
  width?: number,
): string[] {
  if (deliveries.length === 0) return ['no deliveries'];
  const columns: Column<DeliveryRecord>[] = [
    { title: 'RECEIVED', text: ({ received_at }) => localTime(received_at) },
    {
      title: 'STATE',
      text: ({ state }) => state,
      paint: ({ state }, text) => paint(deliveryStyle[state], text),
    },
    { title: 'TRIES', isNumber: true, text: tries },
    { title: 'TOOK', isNumber: true, text: took },
    { title: 'TRIGGER', text: ({ trigger }) => trigger ?? '-' },
    { title: 'ID', text: ({ id }) => id },
    { title: 'NOTE', text: (delivery) => noteText(delivery, approvals) },
  ];
  const more = next_before === null ? [] : [paint('faint', `more: --before ${next_before}`)];
  return [...table(columns, deliveries, width), ...more];
}

/** Returns `4`, or `4 (2 crashed)` if the gateway crashed during two of the attempts. */
const tries = ({ attempts, crashes }: DeliveryRecord) =>
  crashes === 0 ? String(attempts) : `${attempts} (${crashes} crashed)`;

/**
 * Returns the pending approvals or the name of the signal that a delivery in the state `waiting` waits for,
 * and its time limit.
 */
export const waitText = (delivery: WaitingDelivery, approvals: PendingApprovals) =>
  `${waitReason(delivery, approvals)}${delivery.until === null ? '' : `, until ${localTime(delivery.until)}`}`;

type WaitingDelivery = Pick<DeliveryRecord, 'id' | 'waiting_for' | 'until'>;

function waitReason(delivery: WaitingDelivery, approvals: PendingApprovals): string {
  const ids = approvals.get(delivery.id) ?? [];
  if (ids.length > 0) return `approval ${ids.map(printable).join(', ')}`;
  return mayHaveApprovals(delivery) ? 'an approval or a time' : printable(delivery.waiting_for ?? '');
}

/** Returns the signal that the delivery waits for, and its note. */
const noteText = (delivery: DeliveryRecord, approvals: PendingApprovals) =>
  [
    ...(delivery.waiting_for === null ? [] : [`waits for ${waitText(delivery, approvals)}`]),
    ...(delivery.note === null ? [] : [delivery.note]),
  ].join(': ');

const took = ({ duration_seconds }: DeliveryRecord) =>
  latency(duration_seconds === null ? null : duration_seconds * 1000);

export function deliveryLine({ id, state }: Pick<DeliveryRecord, 'id' | 'state'>): string {
  return `${printable(id)} is ${state}`;
}

export function deliveryPage(delivery: DeliveryDetails, approvals: PendingApprovals, paint: Paint): string[] {
  const { body, failures, answer, receipt } = delivery;
  const entries: readonly (readonly [string, string])[] = [
    ['delivery', printable(delivery.id)],
    ['state', paint(deliveryStyle[delivery.state], delivery.state)],
    ['trigger', delivery.trigger ?? '-'],
    ...(delivery.principal === null ? [] : [['by', printable(delivery.principal)] as const]),
    ['conversation', printable(delivery.conversation)],
    ['received', localTime(delivery.received_at)],
    ['ended', optionalTime(delivery.ended_at)],
    ['took', took(delivery)],
    ['attempts', String(delivery.attempts)],
    ...(delivery.crashes === 0
      ? []
      : [['crashes', `${delivery.crashes} of them ended with a crash of the gateway`] as const]),
    ...(delivery.deferrals === 0
      ? []
      : [['deferred', `${delivery.deferrals} times, because of rate limits`] as const]),
    ...(delivery.next_attempt_at === null
      ? []
      : [['next attempt', localTime(delivery.next_attempt_at)] as const]),
    ...(delivery.waiting_for === null ? [] : [['waiting for', waitText(delivery, approvals)] as const]),
    ...(delivery.note === null ? [] : [['note', printable(delivery.note)] as const]),
    ['trace', delivery.trace],
    ...failures.map(
      ({ attempt, at, note }) => [`attempt ${attempt}`, `${localTime(at)} ${printable(note)}`] as const,
    ),
    ...(receipt === null ? [] : [['receipt', printable(receipt)] as const]),
    ...(answer === null ? [] : [['answer', printable(answer)] as const]),
    ['body', `${body.bytes} bytes`],
  ];
  const lines = entries.map(([name, text]) => `${name.padEnd(12)}  ${text}`);
  return body.text === undefined
    ? lines
    : [...lines, ...body.text.split('\n').map((line) => `  ${printable(line)}`)];
}

/**
 * Returns `3 triggers: 1 failed, 1 paused, 1 open, 1 not connected; 40 handled, 2 failed attempts`; problems
 * come first.
 */
export function triggerCounts(triggers: readonly TriggerStats[], paint: Paint): string {
  const all = counted(triggers.length, 'trigger');
  if (triggers.length === 0) return all;
  const states = ['failed', 'paused', 'opening', 'open', 'closing', 'ended', 'off'] as const;
  const parts = states.flatMap((state) => {
    const count = triggers.filter((trigger) => trigger.state === state).length;
    if (count === 0) return [];
    const text = `${count} ${state}`;
    return [state === 'failed' || state === 'paused' ? paint(triggerStyle(state), text) : text];
  });
  // A trigger whose connection was rejected is already counted as failed.
  const isLost = ({ state, connection }: TriggerStats) =>
    state !== 'failed' && typeof connection === 'string' && !['connected', 'standby'].includes(connection);
  const lost = triggers.filter(isLost).length;
  if (lost > 0) parts.push(paint('busy', `${lost} not connected`));
  const blocked = triggers.filter(isBlocked).length;
  if (blocked > 0) parts.push(paint('bad', `${blocked} blocked`));
  // The statistics have the state of a circuit, or null if the platform responds.
  const unanswered = triggers.filter(({ circuit }) => typeof circuit === 'string').length;
  if (unanswered > 0) parts.push(paint('busy', `${unanswered} with an unresponsive platform`));
  const sum = (of: 'handled' | 'failed') => triggers.reduce((total, trigger) => total + trigger[of], 0);
  return `${all}: ${parts.join(', ')}; ${sum('handled')} handled, ${counted(sum('failed'), 'failed attempt')}`;
}

/** Returns `2 dead, 1 retrying, 7 queued`. Omits successful deliveries. */
export function deliveryCounts(counts: Stats['deliveries'] | null, paint: Paint): string {
  if (counts === null || counts === undefined) return paint('bad', 'the store does not respond');
  const states = ['dead', 'retrying', 'held', 'waiting', 'running', 'queued'] as const;
  const parts = states.flatMap((state) => {
    if (counts[state] === 0) return [];
    const text = `${counts[state]} ${state}`;
    return [state === 'dead' ? paint('bad', text) : text];
  });
  return parts.join(', ') || 'none waiting, none dead';
}

/** Returns the counts for a kind of work, such as conversations. */
export function workCounts(work: NonNullable<Stats['conversations']>): string {
  const { active, resting, handled, duration_ms } = work;
  const took =
    duration_ms.p50 === null ? '' : `, p50 ${latency(duration_ms.p50)}, p95 ${latency(duration_ms.p95)}`;
  return `${active} active, ${resting} resting; ${handled} handled${took}`;
}
