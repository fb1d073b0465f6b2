// What several open triggers of one adapter make of one path. The gateway knows one webhook per path; who is behind it is
// read anew for each request, so that triggers come and go while requests run.
//
// WT1  a path has one webhook, however many triggers are open on it; a request that is under way keeps those it found.
// WT2  a path whose last trigger was closed answers 503 with Retry-After for LINGER_MS, and only then goes away: a sender
//      that saw 404 while a trigger is started again or exchanged would give up. A trigger that comes back takes it over,
//      and so does one of another type: whose table that is, this one does not know, and it forgets the path.
// WT3  a listener of its own closes with its last trigger: a refused connection is tried again, too. While it has requests
//      under way whoever is connected to it still finds its webhooks, and hears 503.

import type { Trigger } from '../../config/resources/triggers/trigger.ts';
import type { SourceHost } from './adapter.ts';
import type { Webhook, WebhookReply, WebhookRequest } from './webhook.ts';

export const LINGER_MS = 30_000;
const RETRY_AFTER_SECONDS = 5;

/** One open trigger on a path, with what its adapter has made ready for it. */
export interface WebhookSubscriber {
  readonly trigger: Trigger;
  readonly host: SourceHost;
  /** In capitals. */
  readonly methods: readonly string[];
}

/** Their names, each once: while a trigger is exchanged it is there twice. */
export function namesOf(subscribers: readonly WebhookSubscriber[]): readonly string[] {
  return [...new Set(subscribers.map(({ trigger }) => trigger.name))];
}

/**
 * What an adapter does with the requests to a path. `members` are at least one, in the order of their names; of two with
 * the same name, while one takes the place of the other, the newer first.
 */
export interface PathUse<M extends WebhookSubscriber> {
  readonly maxBodyBytes: number;
  admit(members: readonly M[], request: WebhookRequest): WebhookReply | undefined;
  receive(members: readonly M[], request: WebhookRequest, body: Buffer): Promise<WebhookReply>;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

export class WebhookTable<M extends WebhookSubscriber> {
  readonly #use: PathUse<M>;
  readonly #lingerMs: number;
  readonly #paths = new Map<string, SharedPath<M>>();

  constructor(use: PathUse<M>, lingerMs = LINGER_MS) {
    this.#use = use;
    this.#lingerMs = lingerMs;
  }

  /** Puts a trigger on a path; gives the way to take it away. Rejects when nothing can listen there. */
  async add(member: M, path: string, address?: Address): Promise<() => Promise<void>> {
    const name = address === undefined ? path : `${address.host}:${address.port}${path}`;
    for (let before = this.#paths.get(name); before?.ending !== undefined; before = this.#paths.get(name))
      await before.ending;
    let shared = this.#paths.get(name);
    if (shared === undefined) {
      shared = new SharedPath(this.#use, path);
      shared.opened = member.host.listen(shared, address);
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
  membersOf(path: string): readonly M[] {
    return this.#paths.get(path)?.members ?? [];
  }

  async #leave(name: string, shared: SharedPath<M>, member: M, lingerMs: number): Promise<void> {
    if (!shared.leave(member) || shared.members.length > 0) return;
    const end = (): Promise<void> => {
      shared.ending = shared.stopListening(member.host).finally(() => {
        this.#paths.delete(name);
        shared.ending = undefined;
      });
      return shared.ending;
    };
    if (lingerMs === 0) await end();
    else shared.linger(end, lingerMs, () => this.#paths.delete(name));
  }
}

class SharedPath<M extends WebhookSubscriber> implements Webhook {
  readonly path: string;
  readonly #use: PathUse<M>;
  #members: readonly M[] = [];
  #methods: ReadonlySet<string> = new Set();
  #timer: NodeJS.Timeout | undefined;
  #forget = (): void => {};
  /** Resolves with the way to stop listening. */
  opened: Promise<() => Promise<void>> = Promise.resolve(async () => {});
  /** Set while it is being taken away; never rejects. */
  ending: Promise<void> | undefined;

  constructor(use: PathUse<M>, path: string) {
    this.#use = use;
    this.path = path;
  }

  get members(): readonly M[] {
    return this.#members;
  }

  get maxBodyBytes(): number {
    return this.#use.maxBodyBytes;
  }

  /** Of all members; while there is none, of the last: a sender is asked to come again, not told that it is wrong. */
  get methods(): ReadonlySet<string> {
    return this.#methods;
  }

  join(member: M): void {
    clearTimeout(this.#timer);
    this.#set([member, ...this.#members].sort(byName));
  }

  /** False when it had left before. */
  leave(member: M): boolean {
    if (!this.#members.includes(member)) return false;
    this.#set(this.#members.filter((each) => each !== member));
    return true;
  }

  linger(end: () => Promise<void>, ms: number, forget: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(end, ms).unref();
    this.#forget = forget;
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
    return this.#members.length === 0 ? comeAgain : this.#use.admit(this.#members, request);
  }

  async receive(request: WebhookRequest, body: Buffer): Promise<WebhookReply> {
    return this.#members.length === 0 ? comeAgain : this.#use.receive(this.#members, request, body);
  }

  #set(members: readonly M[]): void {
    this.#members = members;
    if (members.length > 0) this.#methods = new Set(members.flatMap((member) => member.methods));
  }
}

function byName(a: WebhookSubscriber, b: WebhookSubscriber): number {
  if (a.trigger.name === b.trigger.name) return 0;
  return a.trigger.name < b.trigger.name ? -1 : 1;
}

const comeAgain: WebhookReply = {
  status: 503,
  headers: [['retry-after', String(RETRY_AFTER_SECONDS)]],
  body: 'the trigger of this path is being started or stopped; try again',
};
