// What several open triggers of one adapter make of one path. The gateway knows one webhook per path; who is behind it is
// read anew for each request, so that triggers come and go while requests run.
//
// WT1  a path has one webhook, however many triggers are open on it; a request that is under way keeps those it found.
// WT2  a path whose last trigger was closed answers 503 with Retry-After for LINGER_MS, and only then goes away: a sender
//      that saw 404 while a trigger is started again or exchanged would give up. A trigger that comes back takes it over,
//      and so does one of another type: whose table that is, this one does not know, and it forgets the path.
// WT3  a listener of its own closes with its last trigger: a refused connection is tried again, too. While it has requests
//      under way whoever is connected to it still finds its webhooks, and hears 503.
// WT4  an adapter sees a body only when a verifier of one of its triggers has accepted it, and with it the triggers of those that did.
// WT5  whoever is behind a path hears of each request that proved nothing, of which it keeps a count and the last.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { isRefusal } from '../../identity/principal.ts';
import type { SourceHost } from '../adapter.ts';
import type { ProofFault } from './refused-proofs.ts';
import {
  admitted,
  refusal,
  type Verified,
  type Verifier,
  verifiedSubscribers,
} from './verified-subscribers.ts';
import type { Webhook, WebhookReply, WebhookRequest } from './webhook.ts';

export const LINGER_MS = 30_000;
const RETRY_AFTER_SECONDS = 5;

/** One open trigger on a path, with what proves its requests. An adapter adds what it has made ready for it. */
export interface WebhookSubscriber<T extends Trigger = Trigger> {
  readonly trigger: T;
  readonly host: SourceHost;
  /** In capitals. */
  readonly methods: readonly string[];
  readonly verifier: Verifier;
}

/** Their names, each once: while a trigger is exchanged it is there twice. */
export function namesOf(subscribers: readonly WebhookSubscriber[]): readonly string[] {
  return [...new Set(subscribers.map(({ trigger }) => trigger.name))];
}

/**
 * What an adapter does with the requests to a path. Subscribers are at least one, in the order of their names, and take the
 * method of the request; of two with the same name, while one takes the place of the other, the newer first.
 */
export interface PathUse<S extends WebhookSubscriber> {
  readonly maxBodyBytes: number;
  /** For whoever sends what no verifier accepts: which header is missing, or fits no secret. */
  readonly unauthorised: string;
  /** Answers what needs neither a body nor the proof of one: a question whose path this is. Undefined for everything else. */
  answer?(subscribers: readonly S[], request: WebhookRequest): WebhookReply | undefined;
  /** What is verified. Rejects as the store does. */
  receive(verified: Verified<S>, request: WebhookRequest, body: Buffer): Promise<WebhookReply>;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

export class WebhookTable<S extends WebhookSubscriber> {
  readonly #use: PathUse<S>;
  readonly #lingerMs: number;
  readonly #paths = new Map<string, SharedPath<S>>();

  constructor(use: PathUse<S>, lingerMs = LINGER_MS) {
    this.#use = use;
    this.#lingerMs = lingerMs;
  }

  /** Puts a trigger on a path; gives the way to take it away. Rejects when nothing can listen there. */
  async add(member: S, path: string, address?: Address): Promise<() => Promise<void>> {
    if (member.verifier.isOpen)
      member.host.log.warn({ trigger: member.trigger.name, path }, 'trigger takes what nobody has signed');
    const name = address === undefined ? path : `${address.host}:${address.port}${path}`;
    for (let before = this.#paths.get(name); before?.ending !== undefined; before = this.#paths.get(name))
      await before.ending;
    let shared = this.#paths.get(name);
    if (shared === undefined) {
      const listen = (webhook: Webhook) => member.host.listen(webhook, address);
      shared = new SharedPath(this.#use, path, listen, () => this.#paths.delete(name));
      this.#paths.set(name, shared);
    }
    const joined = shared;
    joined.join(member);
    try {
      await joined.opened;
    } catch (error) {
      if (this.#paths.get(name) === joined) this.#paths.delete(name);
      throw error;
    }
    const lingerMs = address === undefined ? this.#lingerMs : 0;
    return () => this.#leave(name, joined, member, lingerMs);
  }

  /** Those on a path of the gateway's own listener, in the order that PathUse has them. */
  membersOf(path: string): readonly S[] {
    return this.#paths.get(path)?.members ?? [];
  }

  async #leave(name: string, shared: SharedPath<S>, member: S, lingerMs: number): Promise<void> {
    if (!shared.leave(member) || shared.members.length > 0) return;
    const end = (): Promise<void> => {
      shared.ending = shared.stopListening(member.host).finally(() => {
        this.#paths.delete(name);
        shared.ending = undefined;
      });
      return shared.ending;
    };
    if (lingerMs === 0) await end();
    else shared.linger(end, lingerMs);
  }
}

class SharedPath<S extends WebhookSubscriber> implements Webhook {
  readonly path: string;
  readonly #use: PathUse<S>;
  #members: readonly S[] = [];
  /** By method; a method that none of them takes is refused before, but for one that the last to leave has taken. */
  #able: ReadonlyMap<string, readonly S[]> = new Map();
  #methods: ReadonlySet<string> = new Set();
  #timer: NodeJS.Timeout | undefined;
  readonly #forget: () => void;
  /** Resolves with the way to stop listening. */
  readonly opened: Promise<() => Promise<void>>;
  /** Set while it is being taken away; never rejects. */
  ending: Promise<void> | undefined;

  /** Listens. `forget` removes it from the table. */
  constructor(
    use: PathUse<S>,
    path: string,
    listen: (webhook: Webhook) => Promise<() => Promise<void>>,
    forget: () => void,
  ) {
    this.#use = use;
    this.path = path;
    this.#forget = forget;
    this.opened = listen(this);
  }

  get members(): readonly S[] {
    return this.#members;
  }

  get maxBodyBytes(): number {
    return this.#use.maxBodyBytes;
  }

  /** Of all members; while there is none, of the last: a sender is asked to come again, not told that it is wrong. */
  get methods(): ReadonlySet<string> {
    return this.#methods;
  }

  join(member: S): void {
    clearTimeout(this.#timer);
    this.#set([member, ...this.#members].sort(byName));
  }

  /** False when it had left before. */
  leave(member: S): boolean {
    if (!this.#members.includes(member)) return false;
    this.#set(this.#members.filter((each) => each !== member));
    return true;
  }

  linger(end: () => Promise<void>, ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(end, ms).unref();
  }

  /** Not while it is being opened or taken away, which ends by itself. */
  yieldPath(): boolean {
    if (this.#members.length > 0 || this.ending !== undefined) return false;
    clearTimeout(this.#timer);
    this.#forget();
    return true;
  }

  async stopListening(host: SourceHost): Promise<void> {
    try {
      await (await this.opened)();
    } catch (error) {
      host.log.warn({ err: error, path: this.path }, 'webhook could not be taken away');
    }
  }

  admit(request: WebhookRequest): WebhookReply | undefined {
    const able = this.#able.get(request.method);
    if (able === undefined) return comeAgain;
    const reply = this.#use.answer?.(able, request) ?? admitted(able, request, this.#use.unauthorised);
    if (reply !== undefined && isRefused(reply)) this.#tell(able, reply, 'missing');
    return reply;
  }

  async receive(request: WebhookRequest, body: Buffer): Promise<WebhookReply> {
    const able = this.#able.get(request.method);
    if (able === undefined) return comeAgain;
    const verdict = verifiedSubscribers(able, request, body);
    const verified = verdict instanceof Promise ? await verdict : verdict;
    const reply = isRefusal(verified)
      ? refusal(request, this.#use.unauthorised, verified)
      : await this.#use.receive(verified, request, body);
    if (isRefusal(verified) || isRefused(reply))
      this.#tell(
        able,
        reply,
        isRefusal(verified) && verified.refused === 'unavailable' ? 'unavailable' : 'wrong',
      );
    return reply;
  }

  #tell(able: readonly S[], { status, body }: WebhookReply, reason: ProofFault): void {
    const refused = {
      reason: status === 403 ? 'forbidden' : reason,
      text: typeof body === 'string' ? body : '',
    } as const;
    for (const name of namesOf(able)) able[0]?.host.onProofRefused?.(name, refused);
  }

  #set(members: readonly S[]): void {
    this.#members = members;
    const methods = new Set(members.flatMap((member) => member.methods));
    if (members.length > 0) this.#methods = methods;
    this.#able = new Map(
      [...methods].map((method) => [method, members.filter((each) => each.methods.includes(method))]),
    );
  }
}

function byName(a: WebhookSubscriber, b: WebhookSubscriber): number {
  if (a.trigger.name === b.trigger.name) return 0;
  return a.trigger.name < b.trigger.name ? -1 : 1;
}

const isRefused = ({ status }: WebhookReply): boolean => status === 401 || status === 403;

const comeAgain: WebhookReply = {
  status: 503,
  headers: [['retry-after', String(RETRY_AFTER_SECONDS)]],
  body: 'the trigger of this path is being started or stopped; try again',
};
