// Context of one handler attempt: stored state, deadline, tools, approvals and messages.

import type { Log } from '../../base/errors/log.ts';
import type { Effects } from '../../events/inbox/work.ts';
import type { InProcessClient } from '../../mcp/clients/in-process-client.ts';
import type { NewEvent, Waker } from '../../store/event.ts';
import type { Store } from '../../store/store.ts';
import type { RunApprovals } from '../approvals/run-approvals.ts';
import type { RunTools } from '../model-agent/tool-box.ts';
import type { StoredRow } from '../runs/stored-rows.ts';

/** The store's clock. */
export type RunClock = Pick<Store, 'now' | 'steady'>;

export interface HandlerContext {
  /** Aborted at the deadline, when the gateway stops, and when the claim is lost. */
  readonly signal: AbortSignal;
  /** The attempt's remaining milliseconds, at least 0. */
  readonly remainingMs: number;
  readonly log: Log;
  readonly clock: RunClock;
  /** Last state that the handler stored for this event. The history of the conversation is separate. */
  readonly state: string | undefined;
  /** Returns the run's journal rows in order. Rejects with the store's error. */
  steps(): Promise<readonly StoredRow[]>;
  /** Cause of the last wake-up for a parked event; constant until it parks again. */
  readonly waker: Waker | undefined;
  /** MCP client in this process, for the gateway's servers. */
  readonly tools: InProcessClient;
  /**
   * Tools that the surrounding run offers to this agent. Example: a fleet's manager calls members as tools.
   */
  readonly runTools?: RunTools | undefined;
  /**
   * Returns the exceeded limit of the surrounding run's budget as text, undefined within the budget.
   * `moreCalls` is the number of pending calls.
   */
  exceededLimit?(moreCalls: number): string | undefined;
  /**
   * Requests approvals. Operators decide if no chat platform can reach an approver; undefined if approvals
   * are impossible.
   */
  readonly approvals?: RunApprovals | undefined;
  /** Sends messages besides the answer; undefined if the run has no channel for them. */
  readonly messages?: RunMessages | undefined;
  /**
   * Stores a state for later attempts and resolves when it is durable. Null removes the stored state;
   * undefined keeps it. Rejects if the state cannot be stored, or if this node no longer handles the event;
   * the attempt must stop then.
   */
  checkpoint(state: string | null | undefined, effects?: Effects): Promise<void>;
  /**
   * Shows the answer so far, if the platform supports it. A newer text replaces it; any text may be dropped.
   */
  progress(text: string): void;
  /**
   * Notifies the API clients that watch the run about a failed request, which is repeated in `inMs` ms, or
   * about a step that waits for a slot for up to `inMs` ms.
   */
  reportRetry(reason: string, inMs: number): void;
}

/** Messages besides the answer. */
export interface RunMessages {
  /** False if the origin of the event cannot receive messages; all texts are then part of the answer. */
  readonly canSend: boolean;
  /**
   * Returns a message's rows, to be committed with the step of the run that `step` names. The step name makes
   * the message unique across attempts. `channel` selects another channel. Rejects with UnrenderableError;
   * with a HandlerError for unreachable channels.
   */
  rows(text: string, step: string, channel?: string): Promise<readonly NewEvent[]>;
}
