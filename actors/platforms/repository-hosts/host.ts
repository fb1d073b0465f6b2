// What one host of repositories has of its own. Everything else is the same for all of them, and stands in this folder: a host is an
// object of this shape (`repohost/adapter.ts` and its siblings), and `adapter.ts` makes an adapter of it.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { MentionRule } from '../../events/outbox/mentions.ts';
import type { OutboundMessage } from '../../events/outbox/outbound-message.ts';
import type { ResendMarks } from '../../events/outbox/resend-mark.ts';
import type { OwnAccount } from '../accounts/own-account.ts';
import type { SourceHost } from '../adapter.ts';
import type { Remarks } from '../remarks.ts';
import type { Verifier } from '../webhooks/verified-subscribers.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';
import type { RepoEvents, RepoItem } from './facts.ts';

export type RepoTrigger = Extract<Trigger, { readonly type: `RepoHost${string}` }>;

/** An issue or a request of a repository, where comments are written. */
export interface RepoPlace extends RepoItem {
  readonly repository: string;
}

/** Where to look for a comment that may have been written before. */
export interface CommentSearch {
  /** Stands in the comment, and in no other. */
  readonly mark: string;
  /** It is no older than this, epoch ms by our clock. */
  readonly madeAt: number;
  readonly signal: AbortSignal;
}

/** Whoever has written something. */
export interface RepoSender {
  /** By the name that files and people know. */
  readonly name: string;
  /** By the id that the host's API asks for: the name, where it asks for that. */
  readonly id: string;
}

/** What a review says of a request, as agents name it. */
export type Verdict = 'approve' | 'request_changes';

/** Reviews of requests, under one token. All reject with a DeliveryError, in which no secret stands. */
export interface RepoReviews {
  /**
   * Gives the host's id of it, undefined where the host takes none from whose token it is: of a request of their own. `body` is ''
   * where verdicts have no words.
   */
  post(place: RepoPlace, verdict: Verdict, body: string, signal: AbortSignal): Promise<string | undefined>;
  /**
   * The id of the review with the mark; of verdicts without words, of one by whose token it is that says the same. Undefined where
   * there is none. Bounded in what it reads.
   */
  find(place: RepoPlace, verdict: Verdict, search: CommentSearch): Promise<string | undefined>;
}

/** The host's API under one token. All reject with a DeliveryError, in which no secret stands. */
export interface RepoApi {
  /** By the name that events have for their sender, or by its id where the host says so. */
  readonly own: OwnAccount;
  /** Gives the host's id of it. */
  postComment(place: RepoPlace, body: string, signal: AbortSignal): Promise<string>;
  /** Rejects with `isTargetGone` where it is not there any more. */
  changeComment(place: RepoPlace, id: string, body: string, signal: AbortSignal): Promise<void>;
  /** The id of the comment with the mark; undefined where there is none. Bounded in what it reads. */
  findComment(place: RepoPlace, search: CommentSearch): Promise<string | undefined>;
  /**
   * Whether they may write to the repository; false for whom the host does not know there. Rejects finally where the token may not
   * ask: the message says which right it lacks.
   */
  mayWrite(repository: string, sender: RepoSender, signal: AbortSignal): Promise<boolean>;
  /** Of a host that has `reviews`. */
  readonly reviews?: RepoReviews;
}

/** What a host's headers say of a delivery. */
export type Delivery =
  | {
      /** By the name under which the host sends it. */
      readonly event: string;
      /** The same at each redelivery; undefined where the host names none. */
      readonly id: string | undefined;
    }
  | 'ping'
  | { readonly fault: string };

/** Asking the host for what failed while nobody was here. */
export interface Recovery<T extends RepoTrigger, Api> {
  readonly trigger: T;
  readonly api: Api;
  readonly host: SourceHost;
  /** By whose name the store knows its events: the trigger's, or that of another with the same path and proof. */
  readonly verifiedFor: string;
  /** All that take the same proofs on its path, itself among them. */
  readonly alike: readonly string[];
  readonly remarks: Remarks;
  readonly signal: AbortSignal;
}

export interface RepoHost<T extends RepoTrigger, Api extends RepoApi> {
  readonly type: T['type'];
  readonly events: RepoEvents;
  /** Throws where nothing would prove who sends, unless that was asked for. */
  verifier(trigger: T): Verifier;
  /** For whoever sends what no verifier accepts: which header is missing, or fits no secret. */
  readonly unauthorised: string;
  /** By headers alone: the body is verified, and not read yet. */
  delivery(request: WebhookRequest): Delivery;
  /**
   * What is signed with the body but not with its id, as it came; '' where the id is signed as well, or nothing is. The same under
   * another id is the same event for a while.
   */
  signature(request: WebhookRequest): string;
  /** By which of the two the API knows its own account: names may be those of several. @default the sender */
  readonly ownBy?: 'sender' | 'senderId';
  /** The API for a trigger that has a token. */
  api(trigger: T, token: string): Api;
  /** What a comment holds, in UTF-16 units. */
  readonly maxComment: number;
  /** What nobody sees, and stands before each comment. */
  readonly marks: ResendMarks;
  /** What the host would take for its own commands or for markup is made harmless. @default the text */
  harmless?(text: string): string;
  readonly mentions: MentionRule;
  /** Whether an answer can be written there. @default wherever there is an item */
  hasComments?(item: RepoItem): boolean;
  /** What its reviews can say, and whether with words: else those are a comment that goes before. Undefined where it has none. */
  readonly reviews?: { readonly verdicts: readonly Verdict[]; readonly haveWords: boolean };
  /** Of what was authentic and taken: from which hook it came, say. Returns at once. */
  noteDelivery?(host: SourceHost, verifiedFor: string, request: WebhookRequest, repository: string): void;
  /** Runs in the background after a trigger with a token has opened. Never rejects; ends early when the signal is aborted. */
  recover?(recovery: Recovery<T, Api>): Promise<void>;
}

/** `owner/repo#7`, `owner/repo!7`: what stands in rows as the place of an answer. Throws for anything else. */
export function repoPlaceIn({ target: { place } }: Pick<OutboundMessage, 'target'>): RepoPlace {
  const [, repository = '', sign, number = ''] = /^(.+)([#!])(\d+)$/.exec(place) ?? [];
  if (sign !== '#' && sign !== '!') throw new Error('the place of a comment is no issue and no request');
  return { repository, sign, number: Number(number) };
}

/** As `repoPlaceIn` reads it, for people and for rows. */
export const nameOf = ({ repository, sign, number }: RepoPlace): string => `${repository}${sign}${number}`;
