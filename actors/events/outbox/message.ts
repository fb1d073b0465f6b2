// Outbound message in a form that is independent of the platform: a text for a target, and an optional card.
// Adapters render it for their platform (outbound.ts).

import type { TextFormat } from '../../../config/resources/agents/text-format.ts';

/** Message destination, with ids of the platform as text. */
export interface OutboundTarget {
  /** Chat, channel, person or issue. */
  readonly place: string;
  /** Thread or topic in the place. */
  readonly thread?: string | undefined;
  /** Message to reply to. */
  readonly repliesTo?: string | undefined;
  /** Base URL for requests about the place, if the platform has several. */
  readonly serviceUrl?: string | undefined;
  /** Messages with the same name here are sent in order. @default the place */
  readonly orderedWith?: string | undefined;
}

export interface CardAction {
  /** The platform returns this id when a person clicks the button. */
  readonly id: string;
  readonly title: string;
  readonly style?: 'primary' | 'danger' | undefined;
  readonly description?: string | undefined;
  /** Page that the button opens. A click on it causes no event. */
  readonly url?: string | undefined;
}

export interface CardField {
  readonly name: string;
  readonly value: string;
}

export interface CardInput {
  readonly id: string;
  readonly label: string;
  readonly isMultiline?: boolean | undefined;
  readonly placeholder?: string | undefined;
}

/** Structured part of the message. An adapter renders unsupported parts as text, or omits them. */
export interface MessageCard {
  readonly title?: string | undefined;
  readonly fields?: readonly CardField[] | undefined;
  /** Buttons, or list rows if the number is too high. */
  readonly actions?: readonly CardAction[] | undefined;
  readonly inputs?: readonly CardInput[] | undefined;
}

export type OutboundAction =
  | { readonly do: 'post' }
  /**
   * Edits the message that was sent for the outbox row with the id `of`. If the message or its receipt no
   * longer exists, the text is posted instead; with `orElse: 'nothing'` it is dropped.
   */
  | { readonly do: 'edit'; readonly of: string; readonly orElse?: 'post' | 'nothing' | undefined }
  /**
   * Answers a button press privately; `press` is its id (`Outbound.pressOf`). If the platform no longer
   * accepts the answer, the text is posted instead; with `orElse: 'nothing'` it is dropped.
   */
  | { readonly do: 'tell'; readonly press: string; readonly orElse: 'post' | 'nothing' }
  /** Reacts to a message; `to` is its id on the platform. */
  | { readonly do: 'react'; readonly to: string; readonly emoji: string };

export interface OutboundMessage {
  readonly target: OutboundTarget;
  readonly action: OutboundAction;
  readonly text: string;
  /** Form of the text. @default 'markdown' */
  readonly format?: TextFormat | undefined;
  /** Shown as a mark before the text, on platforms that support it. @default 'success' */
  readonly status?: 'success' | 'warning' | undefined;
  readonly card?: MessageCard | undefined;
  /** Expiry time, epoch ms. */
  readonly expiresAt?: number | undefined;
  /** Permits mentions in the text (mentions.ts). @default 'none' */
  readonly mentions?: 'none' | 'allow' | undefined;
  /** True for growing answers; later messages replace these. @default false */
  readonly isPreview?: boolean | undefined;
  /** True for messages besides the answer: they never replace the preview of the answer. @default false */
  readonly isSideMessage?: boolean | undefined;
}
