// `triggers show`: one trigger for whoever wants to know how it does. What is wrong comes before what is set.

import type { TriggerDetails } from '../../http/api/trigger-shapes.ts';
import type { Paint } from '../../terminal/paint.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { stateText, triggerStyle } from './automation-views.ts';
import { counted } from './figures.ts';

type Entry = readonly [name: string, text: string];

const NAME_WIDTH = 13;

export function triggerPage(trigger: TriggerDetails, paint: Paint): string[] {
  const { menu, maturity, default_agent } = trigger;
  const entries: readonly Entry[] = [
    ['trigger', trigger.name],
    ['type', maturity === null ? trigger.type : `${trigger.type} (${maturity})`],
    ['state', paint(triggerStyle(trigger.state), stateText(trigger))],
    ...some('last error', trigger.last_error),
    ...some('next try', trigger.next_retry_at),
    ...connectionEntries(trigger, paint),
    ...circuitEntries(trigger, paint),
    ['handled', `${trigger.handled}, ${trigger.failed} failed attempts`],
    ['last event', eventText(trigger.last_event)],
    ...requestEntries(trigger, paint),
    ['last refusal', refusalText(trigger.last_refusal, paint)],
    ...(trigger.remarks.length === 0
      ? []
      : list(
          'remarks',
          trigger.remarks.map(({ at, text }) => `${at}  ${printable(text)}`),
        )),
    ...some('way in', trigger.way_in === '' ? null : trigger.way_in),
    ['agent', default_agent ?? '-'],
    ...some('welcome', trigger.welcome),
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

function connectionEntries({ connection }: TriggerDetails, paint: Paint): readonly Entry[] {
  if (connection === null) return [];
  const { platform, account, state, since, held_by, last_error, next_retry_at } = connection;
  const style = state === 'connected' || state === 'standby' ? 'good' : state === 'failed' ? 'bad' : 'busy';
  return [
    ['connection', `${paint(style, state)} to ${printable(`${platform}/${account}`)} since ${since}`],
    ...(state === 'standby' ? [heldElsewhere(held_by)] : []),
    ...some('  error', last_error),
    ...some('  next try', next_retry_at),
  ];
}

function heldElsewhere(node: string | null): Entry {
  return ['  held', node === null ? 'by another node' : `by node ${printable(node)}`];
}

function circuitEntries({ circuit }: TriggerDetails, paint: Paint): readonly Entry[] {
  if (circuit === null) return [];
  const { state, since, last_error, next_retry_at } = circuit;
  const how =
    state === 'open' ? paint('bad', 'held back') : paint('busy', 'tried again with the next message');
  return [
    ['sending', `${how}; the platform does not answer since ${since}`],
    ...some('  error', last_error),
    ...some('  next try', next_retry_at),
  ];
}

function eventText(event: TriggerDetails['last_event']): string {
  return event === null ? '-' : `${event.received_at}  ${event.state}  ${printable(event.id)}`;
}

function requestEntries({ refused_requests: refused }: TriggerDetails, paint: Paint): readonly Entry[] {
  if (refused === null) return [];
  const { count, last_at, reason, text } = refused;
  return [
    [
      'refused',
      `${counted(count, 'request')} without a proof, the last ${last_at}  ${paint('busy', reason)}  ${printable(text)}`,
    ],
  ];
}

function refusalText(refusal: TriggerDetails['last_refusal'], paint: Paint): string {
  if (refusal === null) return '-';
  const { id, state, at, note } = refusal;
  const style = state === 'dead' ? 'bad' : 'busy';
  return `${at ?? '-'}  ${paint(style, state)}  ${printable(note ?? '')}  (${printable(id)})`;
}

function limitEntries({ limits }: TriggerDetails, paint: Paint): readonly Entry[] {
  if (limits === null) return [];
  const { text, buttons, rates, held } = limits;
  const unit = text.unit === 'utf8' ? 'bytes' : 'characters';
  const shown = [
    `${text.most} ${unit} in a message${buttons === null ? '' : `, ${buttons} buttons`}`,
    ...rates.map(({ of, most, per_seconds, at_once }) => {
      const span = per_seconds === 1 ? 'a second' : `in ${per_seconds} s`;
      const together = at_once > most ? `, ${at_once} at once` : '';
      return `${of}: ${round(most)} ${span}${together}`;
    }),
  ];
  const waits = held.map(({ of, until }) => `${printable(of)} until ${until}`);
  return [
    ...list('limits', shown),
    ...list('held back', waits.length === 0 ? ['nothing'] : waits.map((each) => paint('busy', each))),
  ];
}

const round = (count: number) => String(Math.round(count * 10) / 10);

const line = (command: string, description: string | undefined) =>
  description === undefined || description === command
    ? printable(command)
    : `${printable(command)}  ${printable(description)}`;

const some = (name: string, text: string | null): readonly Entry[] =>
  text === null ? [] : [[name, printable(text)]];

/** The name stands beside the first of them. */
function list(name: string, lines: readonly string[]): readonly Entry[] {
  if (lines.length === 0) return [[name, '-']];
  return lines.map((text, index) => [index === 0 ? name : '', text]);
}
