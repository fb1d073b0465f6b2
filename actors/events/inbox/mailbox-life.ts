// State machine of a mailbox, as a pure table: phase and event → next state and commands.
//
//   resting ─ turn → running ─ ended → committing ─ turn → running …, or ─ over → resting
//   with an actor:       running ─ ended → ended ─ settle → committing
//   at a drain timeout:  running, ended ─ surrender → surrendered ─ over → resting
//
// MBL1  a lost claim overrides any other cut, and its run commits nothing.
// MBL2  a crash of the actor aborts the run but keeps the mailbox busy; the run then commits a fault.
// MBL3  a surrender rejects a pending checkpoint, and is the last commit of the mailbox.

import type { ConversationEvent } from '../../../machines/conversation.ts';

/** Reason for aborting a run. */
export type Cut = 'deadline' | 'stopped' | 'cancelled' | 'fault' | 'lost';
type Phase = 'resting' | 'running' | 'ended' | 'committing' | 'surrendered';

export interface MailboxLife {
  readonly phase: Phase;
  /** First reason, or 'lost'. */
  readonly cut?: Cut | undefined;
  /** Cancellation note. */
  readonly note?: string | undefined;
  /** Settles the finished run: the mailbox, the actor of a long run, or the crash of that actor. */
  readonly settler: 'mailbox' | 'actor' | 'crash';
}

export type MailboxEvent =
  /** Starts a run; with a cut the work is not called. */
  | { readonly type: 'turn'; readonly cut: Cut | undefined }
  | { readonly type: 'cut'; readonly cut: Cut; readonly note?: string }
  /** Timers: the run becomes an actor; an aborted run keeps running. */
  | { readonly type: 'moment.over' | 'patience.over' }
  /** The actor follows the run; the run finished; the actor received `run.ended`. */
  | { readonly type: 'followed' | 'ended' | 'settle' }
  /** The actor failed, or stopped before the run. */
  | { readonly type: 'crash' | 'abandon' }
  /** The drain timed out; the store returned no further turn. */
  | { readonly type: 'surrender' | 'over' };

export type MailboxCommand =
  | { readonly do: 'start' | 'abort' | 'yieldPlace' | 'noteLoss' | 'rejectCheckpoint' | 'rest' | 'forget' }
  | { readonly do: 'tell'; readonly type: ConversationEvent['type'] }
  | { readonly do: 'commit'; readonly end: TurnEnd };

/** Commit of the outcome, of an actor fault, or of an unhandled event. */
export type TurnEnd = 'outcome' | 'fault' | 'return';

type Step = readonly [life: MailboxLife, ...commands: MailboxCommand[]];

type EventOf<Type> = Extract<MailboxEvent, { type: Type }>;
type Rules = { readonly [T in MailboxEvent['type']]?: (life: MailboxLife, event: EventOf<T>) => Step };

export const resting: MailboxLife = { phase: 'resting', settler: 'mailbox' };

const begin = (_: MailboxLife, { cut }: EventOf<'turn'>): Step => [
  { phase: 'running', cut, settler: 'mailbox' },
  { do: 'start' },
];
const forget = (): Step => [resting, { do: 'forget' }];

const table: Readonly<Record<Phase, Rules>> = {
  resting: { turn: begin, crash: forget },
  running: {
    cut: cutShort,
    'moment.over': (life) => [life, ...tell(life)],
    'patience.over': (life) =>
      life.settler === 'crash' ? [life, { do: 'yieldPlace' }] : [life, ...tell(life, 'patience.over')],
    followed: (life) => [{ ...life, settler: 'actor' }],
    ended: (life) =>
      life.settler === 'actor' ? [{ ...life, phase: 'ended' }, ...tell(life, 'run.ended')] : settle(life),
    crash: (life) => [{ ...life, cut: life.cut ?? 'fault', settler: 'crash' }, { do: 'abort' }],
    abandon: (life) => [{ ...life, cut: life.cut ?? 'fault' }, { do: 'abort' }],
    surrender,
  },
  ended: { settle, crash: (life) => settle({ ...life, settler: 'crash' }), surrender },
  committing: { turn: begin, over: () => [resting, { do: 'rest' }] },
  surrendered: { turn: forget, over: forget },
};

/** Returns the next state, followed by the commands. An event without a rule changes nothing. */
export function transition(life: MailboxLife, event: MailboxEvent): Step {
  const rule = table[life.phase][event.type] as
    | ((life: MailboxLife, event: MailboxEvent) => Step)
    | undefined;
  return rule === undefined ? [life] : rule(life, event);
}

function cutShort(life: MailboxLife, { cut, note }: EventOf<'cut'>): Step {
  if (life.cut === 'lost' || (life.cut !== undefined && cut !== 'lost')) return [life];
  const next = { ...life, cut, note };
  if (cut !== 'lost') return [next, ...tell(life, cut === 'deadline' ? 'deadline' : 'stop')];
  // The actor may process the event later; a lost claim aborts the run synchronously.
  return [next, { do: 'noteLoss' }, ...tell(life, 'claim.lost'), { do: 'abort' }];
}

/** Returns the events for the actor; `lasting` precedes them until the actor follows the run. */
function tell({ settler }: MailboxLife, ...types: ConversationEvent['type'][]): MailboxCommand[] {
  if (settler === 'crash') return [];
  const all = settler === 'mailbox' ? (['lasting', ...types] as const) : types;
  return all.map((type) => ({ do: 'tell', type }) as const);
}

function settle(life: MailboxLife): Step {
  if (life.cut === 'lost') return [resting, { do: 'rest' }];
  const end = life.settler === 'crash' ? 'fault' : 'outcome';
  return [
    { ...life, phase: 'committing' },
    { do: 'commit', end },
  ];
}

function surrender(life: MailboxLife): Step {
  const next: MailboxLife = { ...life, phase: 'surrendered' };
  return [next, { do: 'rejectCheckpoint' }, { do: 'commit', end: 'return' }];
}
