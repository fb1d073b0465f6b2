// Texts and colours of states and events.

import type { StateValue } from '../wire/feed.ts';

/** Returns `failed.parked`; states of parallel regions are separated by spaces. */
export function stateText(value: StateValue): string {
  if (typeof value === 'string') return value;
  return Object.entries(value)
    .map(([key, inner]) => (inner === undefined || isEmpty(inner) ? key : `${key}.${stateText(inner)}`))
    .join(' ');
}

/** Returns all active states by path, outermost first. */
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
  blocked: 'bad',
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
  // Problems in the overview.
  warning: 'warn',
  parked: 'bad',
  unreachable: 'bad',
  // Results of calls; `refused` is listed above, `cancelled` below.
  ok: 'good',
  tool: 'bad',
  protocol: 'bad',
  timeout: 'bad',
  overload: 'bad',
  start: 'bad',
  lost: 'bad',
  unavailable: 'bad',
  internal: 'bad',
  // Runs, tool calls, approvals. `running` is listed above.
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

/** Returns the colour of a state. It is always shown with the state's name. */
export function toneOf(value: StateValue): Tone {
  const text = stateText(value);
  const [outermost = ''] = text.split(/[. ]/, 1);
  return tones[text] ?? tones[outermost] ?? 'off';
}

/** Returns a readable text for XState's internal events. */
export function eventText(type: string): string {
  const [, kind, source] = /^xstate\.(done|error|snapshot)\.(?:actor|state)\.(.*)$/.exec(type) ?? [];
  if (kind !== undefined) {
    const subject =
      source === undefined || /^\d+\./.test(source) ? 'part' : source === '*' ? 'child' : source;
    return `${subject} ${kind === 'snapshot' ? 'changed' : kind === 'done' ? 'done' : 'failed'}`;
  }
  return type.replace(/^xstate\.after\.([^.]+)\..*$/, 'after $1').replace(/^xstate\.(init|stop)$/, '$1');
}

function isEmpty(value: StateValue): boolean {
  return typeof value !== 'string' && Object.keys(value).length === 0;
}
