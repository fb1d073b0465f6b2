// The API key: in `Authorization: Bearer` or in `X-API-Key`, never in a query string (contract, "Authentication").

import { hash, timingSafeEqual } from 'node:crypto';

const digest = (text: string) => hash('sha256', text, 'buffer');

export class ApiKey {
  readonly #digest: Buffer | undefined;

  /** An empty key switches authentication off. */
  constructor(key: string) {
    this.#digest = key === '' ? undefined : digest(key);
  }

  get isNeeded(): boolean {
    return this.#digest !== undefined;
  }

  /** Returns true if these headers contain the key. */
  isIn(headers: Readonly<Record<string, string>>): boolean {
    if (headers.authorization === undefined && headers['x-api-key'] === undefined) return false;
    return credentialsIn(headers).some((key) => this.isRight(key));
  }

  /** Digests have one length, so that the time taken tells nothing about the key. */
  isRight(given: string): boolean {
    return this.#digest !== undefined && timingSafeEqual(digest(given), this.#digest);
  }
}

/** What the headers bring to show who it is: the bearer's first. */
export function credentialsIn({
  authorization,
  'x-api-key': header,
}: Readonly<Record<string, string | undefined>>): string[] {
  const bearer = /^Bearer +(.+)$/i.exec(authorization ?? '')?.[1];
  return [bearer, header].flatMap((key) => (key === undefined || key === '' ? [] : [key]));
}
