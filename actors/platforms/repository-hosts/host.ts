// Interface of a repository host: the parts that differ from host to host. `adapter.ts` creates an adapter
// from a RepoHost (`repohost/adapter.ts` and its siblings); all other files in this folder serve every host.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { MentionRule } from '../../events/outbox/mentions.ts';
import type { OutboundMessage } from '../../events/outbox/message.ts';
import type { ResendMarks } from '../../events/outbox/resend-mark.ts';
import type { OwnAccount } from '../accounts/own-account.ts';
import type { TriggerHost } from '../adapter.ts';
import type { Diagnostics } from '../diagnostics.ts';
import type { Verifier } from '../webhooks/verified-subscribers.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';
import type { RepoEvents, RepoItem } from './facts.ts';

export type RepoTrigger = Extract<Trigger, { readonly type: `RepoHost${string}` }>;

/** An issue or pull request in a repository. */
export interface RepoItemRef extends RepoItem {
  readonly repository: string;
}

/** Search for a comment that an earlier attempt may have written. */
export interface CommentSearch {
  /** Unique text in the comment. */
  readonly mark: string;
  /** Earliest possible creation time of the comment, epoch ms by the gateway's clock. */
  readonly madeAt: number;
  readonly signal: AbortSignal;
}

/** Message author. */
export interface RepoSender {
  /** Name, as used in triggers' files. */
  readonly name: string;
  /** Id in the host's API; equal to the name if the API uses names. */
  readonly id: string;
}

/** Review decision, as agents name it. */
export type ReviewVerdict = 'approve' | 'request_changes';

/**
 * Reviews of pull requests by a token's user. All methods reject with a DeliveryError that contains no
 * secret.
 */
export interface RepoReviews {
  /**
   * Posts a review and returns its id; undefined if the host refuses it because the token's user opened the
   * pull request. `body` is '' on hosts with reviews that contain no text.
   */
  post(
    place: RepoItemRef,
    verdict: ReviewVerdict,
    body: string,
    signal: AbortSignal,
  ): Promise<string | undefined>;
  /**
   * Returns the id of the review with the mark or, if reviews contain no text, of the token user's review
   * with this verdict; undefined if not found. Reads a limited number of pages.
   */
  find(place: RepoItemRef, verdict: ReviewVerdict, search: CommentSearch): Promise<string | undefined>;
}

/** The host's API with one token. All methods reject with a DeliveryError that contains no secret. */
export interface RepoApi {
  /** Account of the token's user, identified by the sender's name in events or, with `ownBy`, by its id. */
  readonly own: OwnAccount;
  /** Posts a comment and returns its id. */
  postComment(place: RepoItemRef, body: string, signal: AbortSignal): Promise<string>;
  /** Edits a comment. Rejects with `isTargetMissing` if it no longer exists. */
  changeComment(place: RepoItemRef, id: string, body: string, signal: AbortSignal): Promise<void>;
  /** Returns the id of the comment with the mark; undefined if not found. Reads a limited number of pages. */
  findComment(place: RepoItemRef, search: CommentSearch): Promise<string | undefined>;
  /**
   * Returns true if the user may write to the repository; false if not, or if the host does not know the user
   * there. Rejects with a final error if the token may not read permissions; its message names the missing
   * right.
   */
  mayWrite(repository: string, sender: RepoSender, signal: AbortSignal): Promise<boolean>;
  /** Set on hosts with `reviews`. */
  readonly reviews?: RepoReviews;
}

/** A delivery, as its headers describe it. */
export type HookDelivery =
  | {
      /** Event name at the host. */
      readonly event: string;
      /** Delivery id, equal in each redelivery; undefined if the host omits it. */
      readonly id: string | undefined;
    }
  | 'ping'
  | { readonly fault: string };

/** Context for requesting the deliveries that failed while the gateway was down. */
export interface Recovery<T extends RepoTrigger, Api> {
  readonly trigger: T;
  readonly api: Api;
  readonly host: TriggerHost;
  /** Trigger name in event ids: the first trigger with the same path and verifier. */
  readonly verifiedFor: string;
  /** Names of all triggers with the same path and verifier, including this one. */
  readonly sharedWith: readonly string[];
  readonly diagnostics: Diagnostics;
  readonly signal: AbortSignal;
}

export interface RepoHost<T extends RepoTrigger, Api extends RepoApi> {
  readonly type: T['type'];
  readonly events: RepoEvents;
  /** Creates the verifier. Throws if the secret is missing, unless the trigger allows unverified requests. */
  verifier(trigger: T): Verifier;
  /** Text of 401 responses: the header that is missing or wrong. */
  readonly unauthorised: string;
  /** Reads the headers. The body is verified, but not parsed yet. */
  delivery(request: WebhookRequest): HookDelivery;
  /**
   * Returns the body's signature if it does not cover the delivery id; '' otherwise. Within the replay
   * window, the same signature with another id means the same event.
   */
  signature(request: WebhookRequest): string;
  /** Fact that identifies the account of the token. Names may be ambiguous. @default the sender */
  readonly ownBy?: 'sender' | 'senderId';
  /** Creates the API client for a token. */
  api(trigger: T, token: string): Api;
  /** Maximum comment length, in UTF-16 units. */
  readonly maxComment: number;
  /** Invisible marks that precede the text of each comment. */
  readonly marks: ResendMarks;
  /** Escapes text that the host would run as a command or render as markup. @default the text */
  escapeCommands?(text: string): string;
  readonly mentions: MentionRule;
  /** True if the item accepts comments. @default every item */
  hasComments?(item: RepoItem): boolean;
  /**
   * Verdicts that the host supports; `haveText` is true if a review can contain a text. Otherwise the text is
   * posted as a comment before the review.
   */
  readonly reviews?: { readonly verdicts: readonly ReviewVerdict[]; readonly haveText: boolean };
  /** Notes an accepted delivery, for example the hook that sent it. Does not block on the store. */
  noteDelivery?(host: TriggerHost, verifiedFor: string, request: WebhookRequest, repository: string): void;
  /** Requests failed deliveries in the background, once a trigger with a token is open. Never rejects. */
  recover?(recovery: Recovery<T, Api>): Promise<void>;
}

/** Parses the place in an outbox row: `owner/repo#7`, `owner/repo!7`. Throws if it does not match. */
export function parseItemRef({ target: { place } }: Pick<OutboundMessage, 'target'>): RepoItemRef {
  const [, repository = '', sign, number = ''] = /^(.+)([#!])(\d+)$/.exec(place) ?? [];
  if (sign !== '#' && sign !== '!')
    throw new Error(`the target ${place} of a comment is neither an issue nor a pull request`);
  return { repository, sign, number: Number(number) };
}

/** Formats a place as `parseItemRef` parses it. */
export const nameOf = ({ repository, sign, number }: RepoItemRef): string => `${repository}${sign}${number}`;
