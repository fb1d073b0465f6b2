// Interface of everything that answers events: agents, fleets and flows. A handler is called once per
// attempt. All attempts have the same `idempotencyKey`, so that repetitions can be detected.

import type { TextFormat } from '../../../config/resources/agents/text-format.ts';
import type { Effects } from '../../events/inbox/work.ts';
import type { MessageOrigin } from '../../events/message-origin.ts';
import type { HandlerContext } from './handler-context.ts';
import type { Parked } from './parked.ts';

export interface HistoryMessage {
  readonly role: 'user' | 'assistant';
  readonly text: string;
  /** Origin of a user's message; undefined if unknown. */
  readonly message?: MessageOrigin | undefined;
}

export interface Job {
  /** Message text, or a textual form of the payload. */
  readonly input: string;
  /** Replaces `input` if it is large: the same text as JSON, in UTF-8. */
  readonly inputJson?: Uint8Array | undefined;
  readonly command: string | undefined;
  readonly parameters: Readonly<Record<string, string>>;
  readonly event: {
    readonly id: string;
    /** Type of the trigger, e.g. `RepoHost`. */
    readonly type: string;
    /** `pull_request.opened`, a command, or undefined for a plain message. */
    readonly name: string | undefined;
    /** ISO 8601. */
    readonly received_at: string;
    /** Values under their dotted names, e.g. `repo.pr.number`. */
    readonly context: Readonly<Record<string, unknown>>;
    readonly payload: unknown;
    /** Replaces `payload` if it is large: the same value as JSON, in UTF-8. */
    readonly payloadJson?: Uint8Array | undefined;
  };
  /** Sender, chat and quoted messages; undefined if the sender is unknown. */
  readonly message?: MessageOrigin | undefined;
  readonly trigger: string;
  /** Name of the sender on the platform; undefined if unknown. */
  readonly requester: string | undefined;
  readonly agent: string;
  /** Key of the conversation without the mailbox prefix. */
  readonly conversation: string;
  /** Oldest message first. */
  readonly history: readonly HistoryMessage[];
  readonly idempotencyKey: string;
  /** Counted from 1. */
  readonly attempt: number;
  readonly trace: string;
}

export interface AgentReply {
  /** Empty text: no message is sent. */
  readonly text: string;
  /** Structured data that a runtime returned in addition to the text. */
  readonly data?: unknown;
  /** Unwritten rows of the journal, committed with the answer. */
  readonly effects?: Pick<Effects, 'steps' | 'run'> | undefined;
}

/**
 * An agent, fleet or flow failed.
 *
 * The message may be shown to users and contains no secret.
 *
 * @remedy Remove the cause stated in the note of the delivery, then replay the event, or retry the run to
 * continue at its last step.
 */
export class HandlerError extends Error {
  readonly code = 'ERR_HANDLER';
  /** A retry cannot succeed. */
  readonly isFinal: boolean;
  readonly retryAfterMs: number | undefined;
  /** Rate limited: the peer currently accepts no requests. Not counted as a failure. */
  readonly isRateLimited: boolean;
  constructor(
    message: string,
    options: ErrorOptions & {
      readonly isFinal?: boolean;
      readonly isRateLimited?: boolean;
      readonly retryAfterMs?: number | undefined;
    } = {},
  ) {
    super(message, options);
    this.isFinal = options.isFinal ?? false;
    this.isRateLimited = options.isRateLimited ?? false;
    this.retryAfterMs = options.retryAfterMs;
  }
  override get name(): string {
    return 'HandlerError';
  }
}

export interface Handler {
  /** Form of the answers' texts. @default 'markdown' */
  readonly format?: TextFormat | undefined;
  /** Rejects with a HandlerError. A woken event is passed to `run` with the stored state. */
  run(job: Job, context: HandlerContext): Promise<AgentReply | Parked>;
}
