// What leaves the gateway for a platform, before any platform's words for it: a text, perhaps with a small card, to a
// place. Each adapter renders it within the limits of its platform (outbound.ts).

/** Where it goes, in the platform's own ids as text. */
export interface OutboundTarget {
  /** A chat, a channel, a person, an issue. */
  readonly place: string;
  /** A thread or a topic in that place. */
  readonly thread?: string | undefined;
  /** The message that it answers. */
  readonly repliesTo?: string | undefined;
  /** The base address that the platform serves that place under, where it has several. */
  readonly serviceUrl?: string | undefined;
  /** What goes to that place is sent in order with what names the same, and with nothing else. @default the place */
  readonly orderedWith?: string | undefined;
}

export interface CardAction {
  /** Comes back with the click. */
  readonly id: string;
  readonly title: string;
  readonly style?: 'primary' | 'danger' | undefined;
  readonly description?: string | undefined;
  /** Opens this instead of coming back. */
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

/** What may stand beside a text. What a platform has no form for arrives as text, or is left out by its adapter. */
export interface Card {
  readonly title?: string | undefined;
  readonly fields?: readonly CardField[] | undefined;
  /** Buttons, or the rows of a list where there are too many for buttons. */
  readonly actions?: readonly CardAction[] | undefined;
  readonly inputs?: readonly CardInput[] | undefined;
}

export type OutboundAction =
  | { readonly do: 'post' }
  /**
   * `of` is the id of the outbox row whose receipt names the message. Where there is none, or it is gone, the message is posted;
   * with `orElse: 'nothing'` nothing leaves.
   */
  | { readonly do: 'edit'; readonly of: string; readonly orElse?: 'post' | 'nothing' | undefined }
  /**
   * Answers a press, which `press` names as `Outbound.pressOf` gives it: whoever pressed reads it, alone. Where the platform takes no
   * answer to it any more the message is posted; with `orElse: 'nothing'` nothing leaves.
   */
  | { readonly do: 'tell'; readonly press: string; readonly orElse: 'post' | 'nothing' }
  /** `to` is the platform's id of a message. */
  | { readonly do: 'react'; readonly to: string; readonly emoji: string };

export interface OutboundMessage {
  readonly target: OutboundTarget;
  readonly action: OutboundAction;
  /** As whoever answers wrote it; Markdown, or plain. */
  readonly text: string;
  /** For a platform where a text begins with a mark. @default 'success' */
  readonly status?: 'success' | 'warning' | undefined;
  readonly card?: Card | undefined;
  /** Epoch ms. What has not left by then does not leave any more. */
  readonly expiresAt?: number | undefined;
  /** Whether what looks like a mention in the text may notify anybody (mentions.ts). @default 'none' */
  readonly mentions?: 'none' | 'allow' | undefined;
  /**
   * It is no answer, and stays beside the answer: a platform that has one place for whatever answers an event does not put it there.
   * @default false
   */
  readonly isApart?: boolean | undefined;
}
