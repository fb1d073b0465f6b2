// Output of `triggers show`: a trigger, with problems before settings.

import type { TriggerDetailsRecord } from '../../http/api/trigger-shapes.ts';
import type { Paint } from '../../terminal/paint.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { type DeadLettersByTrigger, deadCount } from '../api/dead-letters.ts';
import { blockedText, isBlocked, stateText, triggerStyle } from './automation.ts';
import { counted } from './figures.ts';
import { localTime, optionalTime } from './local-time.ts';

type PageEntry = readonly [name: string, text: string];

const NAME_WIDTH = 13;

export function triggerPage(
  trigger: TriggerDetailsRecord,
  letters: DeadLettersByTrigger | undefined,
  paint: Paint,
): string[] {
  const { menu, maturity, default_agent } = trigger;
  const entries: readonly PageEntry[] = [
    ['trigger', trigger.name],
    ['type', maturity === null ? trigger.type : `${trigger.type} (${maturity})`],
    ['state', paint(triggerStyle(trigger.state, isBlocked(trigger)), stateText(trigger))],
    ...optionalEntry('blocked', blockedText(trigger)),
    ...optionalEntry('last error', trigger.last_error),
    ...timeEntry('next try', trigger.next_retry_at),
    ...connectionEntries(trigger, paint),
    ...circuitEntries(trigger, paint),
    ['handled', `${trigger.handled}, ${trigger.failed} failed attempts`],
    ['last event', eventText(trigger.last_event)],
    ...requestEntries(trigger, paint),
    ...duplicateEntries(trigger),
    ['last refusal', refusalText(trigger.last_refusal, paint)],
    ['dead letters', deadText(trigger.name, letters, paint)],
    ...(trigger.remarks.length === 0
      ? []
      : list(
          'remarks',
          trigger.remarks.map(({ at, text }) => `${localTime(at)}  ${printable(text)}`),
        )),
    ...optionalEntry('way in', trigger.way_in === '' ? null : trigger.way_in),
    ['agent', default_agent ?? '-'],
    ...optionalEntry('welcome', trigger.welcome),
    ...(menu === null
      ? list(
          'commands',
          trigger.commands.map(({ command, description }) => line(command, description)),
        )
      : list(
          'menu',
          menu.map(({ command, description }) => line(command, description)),
        )),
    ...limitEntries(trigger, paint),
  ];
  return entries.map(([name, text]) => `${name.padEnd(NAME_WIDTH)} ${text}`.trimEnd());
}

function connectionEntries({ connection }: TriggerDetailsRecord, paint: Paint): readonly PageEntry[] {
  if (connection === null) return [];
  const { platform, account, state, since, held_by, last_error, next_retry_at } = connection;
  const style = state === 'connected' || state === 'standby' ? 'good' : state === 'failed' ? 'bad' : 'busy';
  return [
    [
      'connection',
      `${paint(style, state)} to ${printable(`${platform}/${account}`)} since ${localTime(since)}`,
    ],
    ...(state === 'standby' ? [holderEntry(held_by)] : []),
    ...optionalEntry('  error', last_error),
    ...timeEntry('  next try', next_retry_at),
  ];
}

function holderEntry(node: string | null): PageEntry {
  return ['  held', node === null ? 'by another node' : `by node ${printable(node)}`];
}

function circuitEntries({ circuit }: TriggerDetailsRecord, paint: Paint): readonly PageEntry[] {
  if (circuit === null) return [];
  const { state, since, last_error, next_retry_at } = circuit;
  const how = state === 'open' ? paint('bad', 'held back') : paint('busy', 'retrying with the next message');
  return [
    ['sending', `${how}; the platform has not responded since ${localTime(since)}`],
    ...optionalEntry('  error', last_error),
    ...timeEntry('  next try', next_retry_at),
  ];
}

function eventText(event: TriggerDetailsRecord['last_event']): string {
  return event === null ? '-' : `${localTime(event.received_at)}  ${event.state}  ${printable(event.id)}`;
}

function requestEntries(
  { refused_requests: refused }: TriggerDetailsRecord,
  paint: Paint,
): readonly PageEntry[] {
  if (refused === null) return [];
  const { count, last_at, reason, text } = refused;
  return [
    [
      'refused',
      `${counted(count, 'request')} unverified, last at ${localTime(last_at)}  ${paint('busy', reason)}  ${printable(text)}`,
    ],
  ];
}

function duplicateEntries({ duplicate_events: duplicates }: TriggerDetailsRecord): readonly PageEntry[] {
  if (duplicates === null) return [];
  const { count, last_at, last_id } = duplicates;
  return [
    ['duplicates', `${counted(count, 'event')}, last at ${localTime(last_at)}  (${printable(last_id)})`],
  ];
}

function refusalText(refusal: TriggerDetailsRecord['last_refusal'], paint: Paint): string {
  if (refusal === null) return '-';
  const { id, state, at, note } = refusal;
  const style = state === 'dead' ? 'bad' : 'busy';
  return `${optionalTime(at)}  ${paint(style, state)}  ${printable(note ?? '')}  (${printable(id)})`;
}

function deadText(name: string, letters: DeadLettersByTrigger | undefined, paint: Paint): string {
  const newest = letters?.byTrigger.get(name)?.newest;
  if (newest === undefined) return deadCount(name, letters);
  const { id, ended_at, note } = newest;
  const count = paint('bad', deadCount(name, letters));
  return `${count}, last at ${optionalTime(ended_at)}  ${printable(note ?? '')}  (${printable(id)})`;
}

function limitEntries({ limits }: TriggerDetailsRecord, paint: Paint): readonly PageEntry[] {
  if (limits === null) return [];
  const { text, buttons, rates, held } = limits;
  const unit = text.unit === 'utf8' ? 'bytes' : 'characters';
  const limitLines = [
    `${text.most} ${unit} in a message${buttons === null ? '' : `, ${buttons} buttons`}`,
    ...rates.map(({ of, most, per_seconds, at_once }) => {
      const span = per_seconds === 1 ? 'a second' : `in ${per_seconds} s`;
      const together = at_once > most ? `, burst ${at_once}` : '';
      return `${of}: ${round(most)} ${span}${together}`;
    }),
  ];
  const waits = held.map(({ of, until }) => `${printable(of)} until ${localTime(until)}`);
  return [
    ...list('limits', limitLines),
    ...list('held back', waits.length === 0 ? ['nothing'] : waits.map((each) => paint('busy', each))),
  ];
}

const round = (count: number) => String(Math.round(count * 10) / 10);

const line = (command: string, description: string | undefined) =>
  description === undefined || description === command
    ? printable(command)
    : `${printable(command)}  ${printable(description)}`;

const timeEntry = (name: string, time: string | null): readonly PageEntry[] =>
  time === null ? [] : [[name, localTime(time)]];

const optionalEntry = (name: string, text: string | null): readonly PageEntry[] =>
  text === null ? [] : [[name, printable(text)]];

/** Returns an entry per line. Only the first entry has the name. */
function list(name: string, lines: readonly string[]): readonly PageEntry[] {
  if (lines.length === 0) return [[name, '-']];
  return lines.map((text, index) => [index === 0 ? name : '', text]);
}
