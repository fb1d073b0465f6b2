// What a handler has beside its job: what was kept of the event, and what it may do while it runs.

import type { Log } from '../../base/errors/log.ts';
import type { Effects } from '../../events/inbox/work.ts';
import type { InProcessClient } from '../../mcp/clients/in-process-client.ts';
import type { NewEvent, Waker } from '../../store/event.ts';
import type { RunApprovals } from '../approvals/run-approvals.ts';
import type { RunTools } from '../model-agent/tool-box.ts';

export interface HandlerContext {
  /** Aborted at the deadline, when the gateway stops, and when the claim was lost. */
  readonly signal: AbortSignal;
  /** How long the attempt may take from now on, in milliseconds; never below 0. */
  readonly leftMs: number;
  readonly log: Log;
  /** What the handler kept of this event last; the history of the conversation is another thing. */
  readonly state: string | undefined;
  /** The rows of its journal, in order; none before it has written one. Rejects as the store does. */
  steps(): Promise<readonly string[]>;
  /** What woke the event last; the same for each attempt, until it is parked again. */
  readonly woken: Waker | undefined;
  /** The gateway's own servers, called in this process. */
  readonly tools: InProcessClient;
  /** Of a run that offers some to this agent: the manager of a fleet has its members as tools. */
  readonly runTools?: RunTools | undefined;
  /** What of the budget of the run around it is used up, in words; `moreCalls` are to be made now. Undefined: nothing. */
  usedUp?(moreCalls: number): string | undefined;
  /** People who are asked before anything is done. Where no platform reaches them operators decide; undefined: not even they. */
  readonly approvals?: RunApprovals | undefined;
  /** Undefined where nothing can be said but the answer. */
  readonly says?: Sayings | undefined;
  /**
   * Keeps a state for the attempts after this one; the run goes on once that is durable. Rejects when it could not be kept, or
   * the event is not handled here any more: the run is to end then.
   */
  checkpoint(state: string | null | undefined, effects?: Effects): Promise<void>;
  /** Shows what there is of the answer, where the platform can; the newest text counts, and none of them may come. */
  progress(text: string): void;
  /** Tells whoever watches why the answer takes its time: what it needs has failed, and is asked again after so many milliseconds. */
  retrying(reason: string, inMs: number): void;
}

/** What is said beside the answer, while the run goes on. */
export interface Sayings {
  /** Whether there is somewhere to say it where the event came from; else all that is said stands in the answer. */
  readonly isHeard: boolean;
  /**
   * Rows that say it, to be committed with the step of the run that `step` names: whatever attempt says it, it is said once. `channel`
   * is elsewhere. Rejects with a HandlerError for a channel that cannot be reached, and with UnrenderableError.
   */
  rows(text: string, step: string, channel?: string): Promise<readonly NewEvent[]>;
}
