// Webhook paths of an adapter. The open triggers of a path are its subscribers and share one webhook, which
// the gateway registers. The subscribers are read per request, because triggers open and close at any time; a
// running request keeps its subscribers.
//
// - When its last trigger closes, a path responds 503 with Retry-After for LINGER_MS before it is removed,
//   because senders may give up at a 404. A trigger that reopens reuses the path; a trigger of another type
//   takes the path over by `releasePath`.
// - A separate listener closes immediately with its last trigger, because senders retry refused connections.
//   Requests on open connections get 503.
// - The adapter receives only bodies that a verifier accepted, with all triggers whose verifiers accepted it,
//   and decoded (body-encoding.ts).
// - Subscribers are notified of each request that fails verification.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { isRefusal } from '../../identity/principal.ts';
import type { TriggerHost } from '../adapter.ts';
import { decodeBody, refuseEncoding } from './body-encoding.ts';
import type { ProofFault } from './refused-proofs.ts';
import {
  refusalReply,
  refuseUnproven,
  type VerifiedRequest,
  type Verifier,
  verifiedSubscribers,
} from './verified-subscribers.ts';
import type { Webhook, WebhookReply, WebhookRequest } from './webhook.ts';

export const LINGER_MS = 30_000;
const RETRY_AFTER_SECONDS = 5;

/** An open trigger on a path, with its verifier. Adapters may add further fields. */
export interface WebhookSubscriber<T extends Trigger = Trigger> {
  readonly trigger: T;
  readonly host: TriggerHost;
  /** Methods in upper case. */
  readonly methods: readonly string[];
  readonly verifier: Verifier;
}

/** Returns the names without duplicates: a replaced trigger briefly occurs twice. */
export function namesOf(subscribers: readonly WebhookSubscriber[]): readonly string[] {
  return [...new Set(subscribers.map(({ trigger }) => trigger.name))];
}

/**
 * The adapter's part in handling a path. Lists of subscribers are never empty. All subscribers in a list
 * accept the request's method; they are sorted by name. While a trigger is replaced, two have the same name,
 * the newer one first.
 */
export interface PathHandler<S extends WebhookSubscriber> {
  readonly maxBodyBytes: number;
  /** Text of 401 responses: the header that is missing or wrong. */
  readonly unauthorisedText: string;
  /**
   * Responds to a request that needs neither body nor proof, such as a platform's challenge. Returns
   * undefined for other requests.
   */
  answer?(subscribers: readonly S[], request: WebhookRequest): WebhookReply | undefined;
  /** Handles a verified request. Rejects if the store fails. */
  receive(verified: VerifiedRequest<S>, request: WebhookRequest, body: Buffer): Promise<WebhookReply>;
}

export interface PathAddress {
  readonly host: string;
  readonly port: number;
}

export class WebhookTable<S extends WebhookSubscriber> {
  readonly #handler: PathHandler<S>;
  readonly #lingerMs: number;
  readonly #paths = new Map<string, SharedPath<S>>();

  constructor(handler: PathHandler<S>, lingerMs = LINGER_MS) {
    this.#handler = handler;
    this.#lingerMs = lingerMs;
  }

  /** Adds a trigger to a path and returns a function that removes it. Rejects if the listener cannot open. */
  async add(subscriber: S, path: string, address?: PathAddress): Promise<() => Promise<void>> {
    if (subscriber.verifier.isOpen)
      subscriber.host.log.warn(
        { trigger: subscriber.trigger.name, path },
        'trigger accepts unsigned webhooks',
      );
    const name = address === undefined ? path : `${address.host}:${address.port}${path}`;
    // Waits until a removal of the same path has completed.
    for (let shared = this.#paths.get(name); shared?.removal !== undefined; shared = this.#paths.get(name))
      await shared.removal;
    let shared = this.#paths.get(name);
    if (shared === undefined) {
      const listen = (webhook: Webhook) => subscriber.host.listen(webhook, address);
      shared = new SharedPath(this.#handler, path, listen, () => this.#paths.delete(name));
      this.#paths.set(name, shared);
    }
    const current = shared;
    current.join(subscriber);
    try {
      await current.opened;
    } catch (error) {
      if (this.#paths.get(name) === current) this.#paths.delete(name);
      throw error;
    }
    // A separate listener closes immediately.
    const lingerMs = address === undefined ? this.#lingerMs : 0;
    return () => this.#leave(name, current, subscriber, lingerMs);
  }

  /** Returns a path's subscribers on the gateway's own listener, in the order of PathHandler. */
  subscribersOf(path: string): readonly S[] {
    return this.#paths.get(path)?.subscribers ?? [];
  }

  async #leave(name: string, shared: SharedPath<S>, subscriber: S, lingerMs: number): Promise<void> {
    if (!shared.leave(subscriber) || shared.subscribers.length > 0) return;
    const remove = (): Promise<void> => {
      shared.removal = shared.stopListening(subscriber.host).finally(() => {
        this.#paths.delete(name);
        shared.removal = undefined;
      });
      return shared.removal;
    };
    if (lingerMs === 0) await remove();
    else shared.removeLater(remove, lingerMs);
  }
}

class SharedPath<S extends WebhookSubscriber> implements Webhook {
  readonly path: string;
  readonly #handler: PathHandler<S>;
  #subscribers: readonly S[] = [];
  /** Subscribers by method. Empty after the last subscriber has left, although `methods` is not. */
  #byMethod: ReadonlyMap<string, readonly S[]> = new Map();
  #methods: ReadonlySet<string> = new Set();
  #timer: NodeJS.Timeout | undefined;
  readonly #forget: () => void;
  /** Resolves with the function that stops listening. */
  readonly opened: Promise<() => Promise<void>>;
  /** Set during the path's removal. Never rejects. */
  removal: Promise<void> | undefined;

  /** Starts to listen with `listen`. `forget` removes the path from the table. */
  constructor(
    handler: PathHandler<S>,
    path: string,
    listen: (webhook: Webhook) => Promise<() => Promise<void>>,
    forget: () => void,
  ) {
    this.#handler = handler;
    this.path = path;
    this.#forget = forget;
    this.opened = listen(this);
  }

  get subscribers(): readonly S[] {
    return this.#subscribers;
  }

  get maxBodyBytes(): number {
    return this.#handler.maxBodyBytes;
  }

  /**
   * Methods of all subscribers. If there are none, the methods of the last subscriber, because senders must
   * get 503 instead of 405.
   */
  get methods(): ReadonlySet<string> {
    return this.#methods;
  }

  join(subscriber: S): void {
    clearTimeout(this.#timer);
    this.#set([subscriber, ...this.#subscribers].sort(byName));
  }

  /** Returns false if the subscriber has already left. */
  leave(subscriber: S): boolean {
    if (!this.#subscribers.includes(subscriber)) return false;
    this.#set(this.#subscribers.filter((each) => each !== subscriber));
    return true;
  }

  removeLater(remove: () => Promise<void>, ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(remove, ms).unref();
  }

  /** Returns false while the path is in use or already being removed. */
  releasePath(): boolean {
    if (this.#subscribers.length > 0 || this.removal !== undefined) return false;
    clearTimeout(this.#timer);
    this.#forget();
    return true;
  }

  async stopListening(host: TriggerHost): Promise<void> {
    try {
      await (await this.opened)();
    } catch (error) {
      host.log.warn({ err: error, path: this.path }, 'could not close webhook listener');
    }
  }

  admit(request: WebhookRequest): WebhookReply | undefined {
    const subscribers = this.#byMethod.get(request.method);
    if (subscribers === undefined) return retryLater;
    const reply =
      this.#handler.answer?.(subscribers, request) ??
      refuseUnproven(subscribers, request, this.#handler.unauthorisedText) ??
      refuseEncoding(request.headers);
    if (reply !== undefined && isRefused(reply)) this.#notifyRefused(subscribers, reply, 'missing');
    return reply;
  }

  async receive(request: WebhookRequest, body: Buffer): Promise<WebhookReply> {
    const subscribers = this.#byMethod.get(request.method);
    if (subscribers === undefined) return retryLater;
    const verdict = verifiedSubscribers(subscribers, request, body);
    const verified = verdict instanceof Promise ? await verdict : verdict;
    const reply = isRefusal(verified)
      ? refusalReply(request, this.#handler.unauthorisedText, verified)
      : await this.#receiveVerified(verified, request, body);
    if (isRefusal(verified) || isRefused(reply))
      this.#notifyRefused(
        subscribers,
        reply,
        isRefusal(verified) && verified.kind === 'unavailable' ? 'unavailable' : 'wrong',
      );
    return reply;
  }

  async #receiveVerified(
    verified: VerifiedRequest<S>,
    request: WebhookRequest,
    body: Buffer,
  ): Promise<WebhookReply> {
    const decoding = decodeBody(request.headers, body, this.maxBodyBytes);
    const decoded = decoding instanceof Promise ? await decoding : decoding;
    return Buffer.isBuffer(decoded) ? this.#handler.receive(verified, request, decoded) : decoded;
  }

  #notifyRefused(subscribers: readonly S[], { status, body }: WebhookReply, reason: ProofFault): void {
    const refused = {
      reason: status === 403 ? 'forbidden' : reason,
      text: typeof body === 'string' ? body : '',
    } as const;
    // Any host can notify all triggers by name.
    for (const name of namesOf(subscribers)) subscribers[0]?.host.onProofRefused?.(name, refused);
  }

  #set(subscribers: readonly S[]): void {
    this.#subscribers = subscribers;
    const methods = new Set(subscribers.flatMap((subscriber) => subscriber.methods));
    if (subscribers.length > 0) this.#methods = methods;
    this.#byMethod = new Map(
      [...methods].map((method) => [method, subscribers.filter((each) => each.methods.includes(method))]),
    );
  }
}

function byName(a: WebhookSubscriber, b: WebhookSubscriber): number {
  if (a.trigger.name === b.trigger.name) return 0;
  return a.trigger.name < b.trigger.name ? -1 : 1;
}

const isRefused = ({ status }: WebhookReply): boolean => status === 401 || status === 403;

const retryLater: WebhookReply = {
  status: 503,
  headers: [['retry-after', String(RETRY_AFTER_SECONDS)]],
  body: 'the trigger of this path is starting or stopping; retry',
};
