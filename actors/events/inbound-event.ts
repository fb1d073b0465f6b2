// Inbound event in a form that is independent of the platform. Adapters create it from the platform's payload
// (`Adapter.read`).

import type { DecisionInbound } from './decision-inbound.ts';
import type { QuotedMessage } from './message-origin.ts';

export interface InboundEvent {
  /** Name of the platform in ids, keys and paths, such as `repohost`. */
  readonly platform: string;
  /**
   * Account that received the event; only its triggers may accept the event. Undefined if any trigger may.
   */
  readonly account?: string | undefined;
  /** Names of the triggers whose signature check the event passed. The router ignores removed triggers. */
  readonly triggers: readonly string[];
  /**
   * Names that the `command` fields of triggers are compared with, most specific first. In chats the command
   * of the message (`deploy`), on repository hosts the event name (`pull_request.opened`, `pull_request`).
   */
  readonly names: readonly string[];
  /**
   * Command that a person wrote in a comment, with slash: `/deploy`. Only on platforms whose `names` contain
   * the event name instead of a command. The arguments are in `text`.
   */
  readonly typedCommand?: string | undefined;
  /** Private data of the adapter, for its `accepts` and `outbound`. Handlers receive `context` instead. */
  readonly facts?: unknown;
  /**
   * Results of conditions that only the platform can decide. The adapter's `addLookups` sets them, and its
   * `accepts` reads them.
   */
  readonly checks?: Readonly<Record<string, boolean>> | undefined;
  /** Text by a person; undefined for events without text. */
  readonly text: string | undefined;
  /** True for a button, menu or form: `text` is its value, and the trigger's `patterns` do not apply. */
  readonly isChoice?: boolean | undefined;
  /** An approval decision; never routed as a command. The approval checks whether the sender may decide. */
  readonly decision?: DecisionInbound | undefined;
  /** The same text as `text`, as JSON in UTF-8. Only for large texts, which are then not encoded again. */
  readonly textJson?: Uint8Array | undefined;
  /**
   * Reason why the gateway cannot handle the event. Such an event is ignored with this note, before any
   * filter.
   */
  readonly unsupported?: string | undefined;
  /**
   * True if a person sent the bot an unsupported message, such as a picture. The gateway then asks the sender
   * for text.
   */
  readonly isWordless?: boolean | undefined;
  readonly channel: string | undefined;
  /** Other names of the channel for filters, such as earlier ids of a chat. */
  readonly channelAliases?: readonly string[] | undefined;
  readonly user: string | undefined;
  /** True if `user` is a chat or channel, and the person is unknown. */
  readonly isUserShared?: boolean | undefined;
  /** Other names of the user for filters, such as a name in addition to an id. */
  readonly userAliases?: readonly string[] | undefined;
  /** Displayed names for handlers. People choose them, so they are not unique. */
  readonly senderName?: string | undefined;
  readonly channelName?: string | undefined;
  /** True if a program wrote the message. */
  readonly isByBot?: boolean | undefined;
  /** Messages that the message answers, quotes or forwards. */
  readonly quoted?: readonly QuotedMessage[] | undefined;
  /** Values about the event for handlers, by name, such as `http.method`. */
  readonly context: Readonly<Record<string, unknown>>;
  /** Payload of the platform. If it is large, only the members that the gateway reads. */
  readonly payload: unknown;
  /** A large payload in full, as JSON. */
  readonly payloadJson?: Uint8Array | undefined;
  /**
   * Command arguments, on platforms that send them separately from the text. Parameters are then read from
   * these arguments only.
   */
  readonly commandRest?: string | undefined;
  /** Parameter values from a manual run or from form fields of the platform. */
  readonly parameters: Readonly<Record<string, string>>;
  /**
   * True if the sender expects an answer, for example in a direct message: without an answer, the sender gets
   * a notice.
   */
  readonly isAwaited?: boolean | undefined;
  /** Reply deadline of the platform, epoch ms. The gateway stops handling the event shortly before. */
  readonly answerBy?: number | undefined;
  /** The bot joined the conversation: the gateway sends the trigger's `welcome` and calls no handler. */
  readonly isArrival?: boolean | undefined;
  /**
   * The sender pressed the platform's start button. The gateway sends the welcome and calls no handler,
   * unless the trigger has a command of this name.
   */
  readonly isStart?: boolean | undefined;
}
