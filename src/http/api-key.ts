// The API key: in `Authorization: Bearer` or in `X-API-Key`, never in a query string (contract, "Authentication").

import { hash, timingSafeEqual } from 'node:crypto';
import type { ExchangeContext } from './mcp/exchange-context.ts';

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
    const given = keysIn(context.request.headers);
    if (given.some((key) => this.isRight(key))) return true;
    if (given.length === 0) {
      context.json(401, { error: 'Unauthorized', message: 'API key required' }, [
        ['www-authenticate', 'Bearer'],
      ]);
    } else context.json(403, { error: 'Forbidden', message: 'Invalid API key' });
    return false;
  }

  /** Whether these headers hold the key, or none is needed. */
  isGivenBy(headers: Readonly<Record<string, string>>): boolean {
    return this.#digest === undefined || keysIn(headers).some((key) => this.isRight(key));
  }

  /** Digests have one length, so that the time taken tells nothing about the key. */
  isRight(given: string): boolean {
    return this.#digest !== undefined && timingSafeEqual(digest(given), this.#digest);
  }
}

function keysIn({
  authorization,
  'x-api-key': header,
}: Readonly<Record<string, string | undefined>>): string[] {
  const bearer = /^Bearer +(.+)$/i.exec(authorization ?? '')?.[1];
  return [bearer, header].flatMap((key) => (key === undefined || key === '' ? [] : [key]));
}
