// An event of any platform in neutral form. An adapter reads it from a payload of the platform (`Adapter.read`).

import type { DecisionInbound } from './decision-inbound.ts';

export interface InboundEvent {
  /** Name of the platform in ids, keys and paths, such as `repohost`. */
  readonly platform: string;
  /** Account that received the event: only its triggers may accept it. Undefined if any trigger may. */
  readonly account?: string | undefined;
  /** Triggers that the event was verified for. The router chooses among those that still exist. */
  readonly triggers: readonly string[];
  /** Names of commands for the event, most specific first: `pull_request.opened`, `pull_request`. */
  readonly names: readonly string[];
  /** Command in a comment where commands are names of events, with its slash: `/deploy`. Its arguments are in `text`. */
  readonly spoken?: string | undefined;
  /** Further data for `takes` and `outbound` of the same adapter. */
  readonly facts?: unknown;
  /** Conditions that only the platform can decide, with the results: set by `complete`, read by `takes`. */
  readonly checks?: Readonly<Record<string, boolean>> | undefined;
  /** Text by a person; undefined for an event without text. */
  readonly text: string | undefined;
  /** True for a button, a menu or a form: `text` is its value, and `patterns` do not apply. */
  readonly isChoice?: boolean | undefined;
  /** An approval decision; never routed as a command. The approval checks whether the sender may decide. */
  readonly decision?: DecisionInbound | undefined;
  /** A large text as JSON. */
  readonly textJson?: Uint8Array | undefined;
  /** Reason why the event cannot be answered. It is ignored with this note, without regard to filters. */
  readonly unsupported?: string | undefined;
  readonly channel: string | undefined;
  /** Other names of the channel for filters, such as earlier ids of a chat. */
  readonly channelAliases?: readonly string[] | undefined;
  readonly user: string | undefined;
  /** Other names of the user for filters, such as a name in addition to an id. */
  readonly userAliases?: readonly string[] | undefined;
  readonly context: Readonly<Record<string, unknown>>;
  /** For a large payload only the members that the gateway reads. */
  readonly payload: unknown;
  /** A large payload in full, as JSON. */
  readonly payloadJson?: Uint8Array | undefined;
  /**
   * Arguments of a command that the platform sends apart from the text. Parameters are then read from here only. Undefined
   * if the command, if any, is in the text.
   */
  readonly commandRest?: string | undefined;
  /** Values in addition to the text: of a manual run, or of a platform with form fields. */
  readonly parameters: Readonly<Record<string, string>>;
  /** True if the sender expects an answer, or wrote to the bot alone: the sender is then notified if there is none. */
  readonly isAwaited?: boolean | undefined;
  /** Reply deadline of the platform, epoch ms. The gateway gives the event up shortly before. */
  readonly answerBy?: number | undefined;
  /** The bot joined the conversation: the gateway sends the trigger's `welcome` and calls no handler. */
  readonly isArrival?: boolean | undefined;
}
