// Mailbox state machine (mailbox.ts), as a pure table: phase and event → next state and commands. Each turn
// handles an event: the handler runs, then the result is committed.
//
//   resting ─ turn → running ─ ended → committing ─ turn → running …, or ─ over → resting
//   with an actor:       running ─ ended → ended ─ settle → committing
//   at a drain timeout:  running, ended ─ surrender → surrendered ─ over → resting
//
// A lost claim replaces every other abort reason, and the run commits nothing. The actor
// (machines/conversation.ts) follows only long and aborted runs. If it crashes, the mailbox stays busy until
// the aborted run finishes, and then commits a fault. `surrender` rejects the pending checkpoint and commits
// the release of the claim; the mailbox commits nothing after that.

import type { ConversationEvent } from '../../../machines/conversation.ts';

/** Reason for aborting a run. */
export type AbortReason = 'deadline' | 'stopped' | 'cancelled' | 'fault' | 'lost';
type Phase = 'resting' | 'running' | 'ended' | 'committing' | 'surrendered';

export interface MailboxLife {
  readonly phase: Phase;
  /** Undefined unless the run is aborted. The first reason, or 'lost' if the claim was lost later. */
  readonly abortReason?: AbortReason | undefined;
  /** Cancellation note. */
  readonly note?: string | undefined;
  /**
   * Decides when a finished run is committed: the mailbox itself, immediately; the actor, for a run that it
   * follows; `crash` after a fault of the actor, where the mailbox commits the fault.
   */
  readonly settler: 'mailbox' | 'actor' | 'crash';
}

export type MailboxEvent =
  /** Starts a run. With an abort reason the run starts aborted, and the handler is not called. */
  | { readonly type: 'turn'; readonly abortReason: AbortReason | undefined }
  /** Aborts the run. */
  | { readonly type: 'abort'; readonly reason: AbortReason; readonly note?: string }
  /** The run is long enough for the actor to follow it. */
  | { readonly type: 'moment.over' }
  /** An aborted run is still executing after `patienceMs`. */
  | { readonly type: 'patience.over' }
  /** The actor follows the run: from now on it decides when the run is settled. */
  | { readonly type: 'followed' }
  /** The run finished. */
  | { readonly type: 'ended' }
  /** The actor has received `run.ended`. */
  | { readonly type: 'settle' }
  /** The actor failed. */
  | { readonly type: 'crash' }
  /** The actor stopped, possibly while the run was still executing; the run is then aborted. */
  | { readonly type: 'abandon' }
  /** The drain timed out. */
  | { readonly type: 'surrender' }
  /** The result is committed, and the store returned no further event. */
  | { readonly type: 'over' };

export type MailboxCommand =
  | { readonly do: 'start' | 'abort' | 'rejectCheckpoint' }
  /** Frees the slot of an aborted run that still executes; it becomes a zombie run. */
  | { readonly do: 'yieldSlot' }
  /** Counts the lost claim in the metrics. */
  | { readonly do: 'noteLoss' }
  /** Starts the run of a queued claim, if any; otherwise keeps the idle mailbox and its actor for reuse. */
  | { readonly do: 'rest' }
  /** Removes the mailbox from its queue, without stopping its actor. */
  | { readonly do: 'forget' }
  /** Sends an event to the actor. */
  | { readonly do: 'tell'; readonly type: ConversationEvent['type'] }
  | { readonly do: 'commit'; readonly end: TurnEnd };

/** Content of the commit: the `outcome` of the run, a `fault` of the actor, or the `return` of the claim. */
export type TurnEnd = 'outcome' | 'fault' | 'return';

type LifeStep = readonly [life: MailboxLife, ...commands: MailboxCommand[]];

type EventOf<Type> = Extract<MailboxEvent, { type: Type }>;
type Rules = { readonly [T in MailboxEvent['type']]?: (life: MailboxLife, event: EventOf<T>) => LifeStep };

export const resting: MailboxLife = { phase: 'resting', settler: 'mailbox' };

const begin = (_: MailboxLife, { abortReason }: EventOf<'turn'>): LifeStep => [
  { phase: 'running', abortReason, settler: 'mailbox' },
  { do: 'start' },
];
const forget = (): LifeStep => [resting, { do: 'forget' }];

const table: Readonly<Record<Phase, Rules>> = {
  resting: { turn: begin, crash: forget },
  running: {
    abort,
    'moment.over': (life) => [life, ...tell(life)],
    // The actor frees the slot, unless it has crashed.
    'patience.over': (life) =>
      life.settler === 'crash' ? [life, { do: 'yieldSlot' }] : [life, ...tell(life, 'patience.over')],
    followed: (life) => [{ ...life, settler: 'actor' }],
    ended: (life) =>
      life.settler === 'actor' ? [{ ...life, phase: 'ended' }, ...tell(life, 'run.ended')] : settle(life),
    crash: (life) => [
      { ...life, abortReason: life.abortReason ?? 'fault', settler: 'crash' },
      { do: 'abort' },
    ],
    abandon: (life) => [{ ...life, abortReason: life.abortReason ?? 'fault' }, { do: 'abort' }],
    surrender,
  },
  ended: { settle, crash: (life) => settle({ ...life, settler: 'crash' }), surrender },
  committing: { turn: begin, over: () => [resting, { do: 'rest' }] },
  // The claim is released, so an event that the store returns with the commit is not handled either.
  surrendered: { turn: forget, over: forget },
};

/** Returns the next state, followed by the commands. An event that has no rule in the phase is ignored. */
export function transition(life: MailboxLife, event: MailboxEvent): LifeStep {
  const rule = table[life.phase][event.type] as
    | ((life: MailboxLife, event: MailboxEvent) => LifeStep)
    | undefined;
  return rule === undefined ? [life] : rule(life, event);
}

function abort(life: MailboxLife, { reason, note }: EventOf<'abort'>): LifeStep {
  const { abortReason } = life;
  // The first reason counts; only a lost claim replaces it.
  if (abortReason === 'lost' || (abortReason !== undefined && reason !== 'lost')) return [life];
  const next = { ...life, abortReason: reason, note };
  // The actor aborts the run, possibly later. A lost claim must abort the run synchronously.
  if (reason !== 'lost') return [next, ...tell(life, reason === 'deadline' ? 'deadline' : 'stop')];
  return [next, { do: 'noteLoss' }, ...tell(life, 'claim.lost'), { do: 'abort' }];
}

/**
 * Returns the commands that send the events to the actor. If the actor does not follow the run yet, the first
 * event is `lasting`, which makes it follow the run.
 */
function tell({ settler }: MailboxLife, ...types: ConversationEvent['type'][]): MailboxCommand[] {
  // The mailbox has no actor after a crash.
  if (settler === 'crash') return [];
  const all = settler === 'mailbox' ? (['lasting', ...types] as const) : types;
  return all.map((type) => ({ do: 'tell', type }) as const);
}

function settle(life: MailboxLife): LifeStep {
  if (life.abortReason === 'lost') return [resting, { do: 'rest' }];
  const end = life.settler === 'crash' ? 'fault' : 'outcome';
  return [
    { ...life, phase: 'committing' },
    { do: 'commit', end },
  ];
}

function surrender(life: MailboxLife): LifeStep {
  const next: MailboxLife = { ...life, phase: 'surrendered' };
  return [next, { do: 'rejectCheckpoint' }, { do: 'commit', end: 'return' }];
}
