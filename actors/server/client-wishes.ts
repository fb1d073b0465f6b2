// What client sessions have asked of a server that outlasts a request: log levels and subscriptions. A shared server
// is told the lowest level, and of a resource once; a new connection is told everything again.

import type { Known } from './known.ts';
import type { Member } from './member.ts';
import type { Owner } from './owner.ts';
import type { Pool } from './pool.ts';
import { type LogLevel, Subscriptions } from './subscriptions.ts';

const REPLAY_TIMEOUT_MS = 5000;

export interface ClientWishesOptions {
  readonly isShared: boolean;
  readonly known: Known;
  readonly pool: () => Pool;
  /** Those of a predecessor. */
  readonly subscriptions: Subscriptions | undefined;
}

export class ClientWishes {
  readonly subscriptions: Subscriptions;
  readonly #options: ClientWishesOptions;

  constructor(options: ClientWishesOptions) {
    this.#options = options;
    this.subscriptions = options.subscriptions ?? new Subscriptions();
  }

  /** Notes the log level a session asks for, and tells whoever of the server is awake. */
  setLevel(owner: Owner, level: LogLevel): void {
    const before = this.subscriptions.lowestLevel(undefined);
    this.subscriptions.setLevel(owner, level);
    if (this.#options.isShared) {
      this.#tellLevel(before);
      return;
    }
    const member = this.#options.pool().memberOf(owner);
    if (member?.isOpen === true && this.#isLogging) this.#tell(member, 'logging/setLevel', { level });
  }

  /** A client session is over. */
  release(owner: Owner): void {
    const before = this.subscriptions.lowestLevel(undefined);
    const orphaned = this.subscriptions.release(owner);
    if (!this.#options.isShared) return;
    for (const uri of orphaned) this.#tellAll('resources/unsubscribe', { uri });
    this.#tellLevel(before);
  }

  /** Asks a new connection for what was asked of earlier ones; a server that refuses is heard without it. */
  async replay({ connection, owner }: Member, leftMs: number): Promise<void> {
    if (!this.#options.isShared && owner === undefined) return;
    const whose = this.#options.isShared ? undefined : owner;
    const level = this.subscriptions.lowestLevel(whose);
    const timeoutMs = Math.min(leftMs, REPLAY_TIMEOUT_MS);
    const replayed = this.subscriptions
      .uris(whose)
      .map((uri) => connection.request('resources/subscribe', { uri }, timeoutMs));
    if (level !== undefined) replayed.push(connection.request('logging/setLevel', { level }, timeoutMs));
    await Promise.allSettled(replayed);
  }

  get #isLogging(): boolean {
    return this.#options.known.advert?.capabilities.logging !== undefined;
  }

  /** The lowest level when that has changed; when nobody has a wish any more the server stays as it is. */
  #tellLevel(before: LogLevel | undefined): void {
    const level = this.subscriptions.lowestLevel(undefined);
    if (level !== undefined && level !== before && this.#isLogging)
      this.#tellAll('logging/setLevel', { level });
  }

  #tellAll(method: string, params: unknown): void {
    for (const member of this.#options.pool().members) if (member.isOpen) this.#tell(member, method, params);
  }

  /** Whether the server agrees changes nothing. */
  #tell(member: Member, method: string, params: unknown): void {
    member.connection.request(method, params, REPLAY_TIMEOUT_MS).catch(() => {});
  }
}
