// A handler answers events: this is the seam behind which agents (and later fleets and flows) are. A handler is called
// once per attempt; all attempts carry the same key, so that it can tell a repetition (`Idempotency-Key`).

import type { Effects } from '../../events/inbox/work.ts';
import type { HandlerContext } from './handler-context.ts';
import type { Parked } from './parked.ts';

export interface HistoryMessage {
  readonly role: 'user' | 'assistant';
  readonly text: string;
}

export interface Job {
  /** What the person wrote, or the event in words where nobody wrote anything. */
  readonly input: string;
  /** In its place where it is large: the same as JSON, in UTF-8. */
  readonly inputJson?: Uint8Array | undefined;
  readonly command: string | undefined;
  readonly parameters: Readonly<Record<string, string>>;
  readonly event: {
    readonly id: string;
    /** The type of its trigger: `RepoHost`. */
    readonly type: string;
    /** `pull_request.opened`; a command; nothing for a plain message. */
    readonly name: string | undefined;
    /** ISO 8601. */
    readonly received_at: string;
    /** Names with dots as the contract has them: `repo.pr.number`. */
    readonly context: Readonly<Record<string, unknown>>;
    readonly payload: unknown;
    /** In its place where it is large: the same as JSON, in UTF-8. */
    readonly payloadJson?: Uint8Array | undefined;
  };
  readonly trigger: string;
  /** Who sent it, as its platform calls them; undefined where nobody did, or nobody can say. */
  readonly requester: string | undefined;
  readonly agent: string;
  /** Key of the conversation, without the prefix of the mailbox. */
  readonly conversation: string;
  /** The oldest first. */
  readonly history: readonly HistoryMessage[];
  readonly idempotencyKey: string;
  /** Counted from 1. */
  readonly attempt: number;
  readonly trace: string;
}

export interface AgentReply {
  /** Empty: nothing is to be sent. */
  readonly text: string;
  /** What a runtime gave beside the text. */
  readonly data?: unknown;
  /** The end of its journal: committed with the answer. */
  readonly effects?: Pick<Effects, 'steps' | 'run'> | undefined;
}

/** A handler could not answer; `message` may be shown and carries no secret. */
export class HandlerError extends Error {
  readonly code = 'ERR_HANDLER';
  /** Trying again cannot help. */
  readonly isFinal: boolean;
  readonly retryAfterMs: number | undefined;
  /** Nothing was done, and nothing is wrong but the time: the other side takes no more for now. */
  readonly isTooSoon: boolean;
  constructor(
    message: string,
    options: ErrorOptions & {
      readonly isFinal?: boolean;
      readonly isTooSoon?: boolean;
      readonly retryAfterMs?: number | undefined;
    } = {},
  ) {
    super(message, options);
    this.isFinal = options.isFinal ?? false;
    this.isTooSoon = options.isTooSoon ?? false;
    this.retryAfterMs = options.retryAfterMs;
  }
  override get name(): string {
    return 'HandlerError';
  }
}

export interface Handler {
  /** Rejects with a HandlerError. Who parks the event is asked again when it is woken, with what was kept. */
  run(job: Job, context: HandlerContext): Promise<AgentReply | Parked>;
}
