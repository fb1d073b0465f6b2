// States and events in words and colours, and what is active within a nested state.

import type { StateValue } from '../wire/feed-wire.ts';

/** `failed.parked`; regions of a parallel state side by side. */
export function stateText(value: StateValue): string {
  if (typeof value === 'string') return value;
  return Object.entries(value)
    .map(([key, inner]) => (inner === undefined || isEmpty(inner) ? key : `${key}.${stateText(inner)}`))
    .join(' ');
}

/** The paths of all states that are active, from the outermost in. */
export function activePaths(value: StateValue, prefix = ''): string[] {
  if (typeof value === 'string') return [prefix + value];
  return Object.entries(value).flatMap(([key, inner]) => [
    prefix + key,
    ...(inner === undefined ? [] : activePaths(inner, `${prefix}${key}.`)),
  ]);
}

export type Tone = 'good' | 'calm' | 'busy' | 'warn' | 'bad' | 'off';

const tones: Readonly<Record<string, Tone>> = {
  running: 'good',
  serving: 'good',
  supervising: 'good',
  active: 'good',
  idle: 'calm',
  listening: 'good',
  starting: 'busy',
  calling: 'busy',
  booting: 'busy',
  stopping: 'warn',
  draining: 'warn',
  failed: 'bad',
  error: 'bad',
  // Triggers.
  open: 'good',
  opening: 'busy',
  paused: 'warn',
  closing: 'warn',
  refused: 'bad',
  // Connections.
  connected: 'good',
  connecting: 'busy',
  backingOff: 'warn',
  // Conversations.
  busy: 'busy',
  'busy.aborting': 'warn',
  'busy.overrun': 'bad',
  'busy.leaving': 'warn',
  ready: 'calm',
  // Nodes of flows, members of fleets.
  working: 'busy',
  skipped: 'off',
  dropped: 'off',
  // Deliveries.
  retrying: 'warn',
  held: 'warn',
  dead: 'bad',
  ignored: 'off',
  // What is wrong, in the overview.
  parked: 'bad',
  unreachable: 'bad',
  // Runs, calls of tools, approvals. One that is running is told by the colour of servers.
  queued: 'calm',
  waiting: 'warn',
  done: 'good',
  cancelled: 'off',
  called: 'busy',
  interrupted: 'bad',
  pending: 'warn',
  approved: 'good',
  denied: 'bad',
  expired: 'off',
};

/** Which colour a state has. The colour is never all: the word stands beside it. */
export function toneOf(value: StateValue): Tone {
  const text = stateText(value);
  const [outermost = ''] = text.split(/[. ]/, 1);
  return tones[text] ?? tones[outermost] ?? 'off';
}

/** XState's own events in plain words. */
export function eventText(type: string): string {
  const [, what, of] = /^xstate\.(done|error|snapshot)\.(?:actor|state)\.(.*)$/.exec(type) ?? [];
  if (what !== undefined) {
    const who = of === undefined || /^\d+\./.test(of) ? 'part' : of === '*' ? 'child' : of;
    return `${who} ${what === 'snapshot' ? 'changed' : what === 'done' ? 'done' : 'failed'}`;
  }
  return type.replace(/^xstate\.after\.([^.]+)\..*$/, 'after $1').replace(/^xstate\.(init|stop)$/, '$1');
}

function isEmpty(value: StateValue): boolean {
  return typeof value !== 'string' && Object.keys(value).length === 0;
}
