// The API key: in `Authorization: Bearer` or in `X-API-Key`, never in a query string (contract, "Authentication").

import { hash, timingSafeEqual } from 'node:crypto';
import type { ExchangeContext } from './exchange-context.ts';

const digest = (text: string) => hash('sha256', text, 'buffer');

export class ApiKey {
  readonly #digest: Buffer | undefined;

  /** An empty key switches authentication off. */
  constructor(key: string) {
    this.#digest = key === '' ? undefined : digest(key);
  }

  /** True when the request may go on; otherwise it has been answered, word for word as the contract has it. */
  admits(context: ExchangeContext): boolean {
    if (this.#digest === undefined) return true;
    const { authorization, 'x-api-key': header } = context.request.headers;
    const bearer = /^Bearer +(.+)$/i.exec(authorization ?? '')?.[1];
    const given = [bearer, header].filter((key) => key !== undefined && key !== '');
    if (given.length === 0) {
      context.json(401, { error: 'Unauthorized', message: 'API key required' }, [
        ['www-authenticate', 'Bearer'],
      ]);
      return false;
    }
    if (given.some((key) => this.#matches(key))) return true;
    context.json(403, { error: 'Forbidden', message: 'Invalid API key' });
    return false;
  }

  /** Digests have one length, so that the time taken tells nothing about the key. */
  #matches(given: string | undefined): boolean {
    return this.#digest !== undefined && given !== undefined && timingSafeEqual(digest(given), this.#digest);
  }
}
