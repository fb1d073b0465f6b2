// Decides who may use the inspector. The operator authenticates with the API key (or the operator token, if
// no key is configured), in a header or by a cookie. The key form and one-time links set the cookie. Without
// a configured key, any sender may watch: read, but not send commands.
//
// IA1  The cookie is not the key: it is valid for the inspector only, and expires after 12 hours or when the
//      key changes. It is derived from the key and the time of expiry, so that it survives a restart and
//      nothing is stored.
// IA2  The cookie has no path attribute, so browsers use the folder of the request: /inspector, or with the
//      prefix of a proxy. Only paths such as /inspector/session may set or delete it.
//
// Only pages of this listener can use the cookie: it is HttpOnly and SameSite=Strict, and all changes are
// POST requests with a checked Origin (origin-guard.ts). After DNS rebinding a browser does not send the
// cookie, because it belongs to another host name.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { ApiKey } from '../http/identification.ts';
import type { ExchangeContext } from '../http/mcp/exchange-context.ts';

const COOKIE_NAME = 'actor_gateway_inspector';
const MAX_AGE_SECONDS = 12 * 3600;
const PATH = '/inspector';
/** Target of the key form. */
export const FORM_PATH = `${PATH}/session`;

/** Returns true for a path of the inspector. */
export function isInspector(path: string): boolean {
  return path === PATH || path.startsWith(`${PATH}/`);
}

export interface InspectorAccessOptions {
  /** API key or operator token; '' if both are missing. */
  readonly secret: string;
  /** True if any sender may read. */
  readonly isOpen: boolean;
  /** Returns epoch milliseconds. */
  readonly now?: () => number;
}

export class InspectorAccess {
  readonly #key: ApiKey;
  readonly #secret: string;
  readonly #isOpen: boolean;
  readonly #now: () => number;

  constructor({ secret, isOpen, now = Date.now }: InspectorAccessOptions) {
    this.#key = new ApiKey(secret);
    this.#secret = secret;
    this.#isOpen = isOpen;
    this.#now = now;
  }

  /** Returns true if the sender of the request may read. */
  isAdmitted(context: ExchangeContext): boolean {
    return this.#isOpen || this.isOperator(context);
  }

  /** Returns true if the operator sent the request. */
  isOperator({ request: { headers } }: ExchangeContext): boolean {
    return this.#key.isIn(headers) || this.#isValid(readCookie(headers.cookie));
  }

  /**
   * Returns true if the request comes from a page of the inspector, which its cookie proves. The key form is
   * submitted without a cookie, so its request is accepted anyway.
   */
  isPageRequest({ request }: ExchangeContext): boolean {
    const { method, path, headers } = request;
    if (this.#secret === '' || !isInspector(path)) return false;
    return (method === 'POST' && path === FORM_PATH) || this.#isValid(readCookie(headers.cookie));
  }

  /** Returns the Set-Cookie value for the correct key, otherwise undefined. */
  cookieFor(key: string): string | undefined {
    return this.#key.isEqual(key) ? this.operatorCookie() : undefined;
  }

  /** Returns the Set-Cookie value for the operator. */
  operatorCookie(): string {
    const expiresAt = Math.floor(this.#now() / 1000) + MAX_AGE_SECONDS;
    return `${COOKIE_NAME}=${expiresAt}.${this.#sign(expiresAt)}; ${attributes(MAX_AGE_SECONDS)}`;
  }

  /** Set-Cookie value that deletes the cookie. */
  get noCookie(): string {
    return `${COOKIE_NAME}=; ${attributes(0)}`;
  }

  #isValid(cookie: string | undefined): boolean {
    const [, digits, signature] = /^(\d{1,12})\.([\w-]{43})$/.exec(cookie ?? '') ?? [];
    if (digits === undefined || signature === undefined || this.#secret === '') return false;
    const expiresAt = Number(digits);
    return (
      expiresAt * 1000 > this.#now() &&
      timingSafeEqual(Buffer.from(signature), Buffer.from(this.#sign(expiresAt)))
    );
  }

  #sign(expiresAt: number): string {
    return createHmac('sha256', this.#secret).update(`inspector until ${expiresAt}`).digest('base64url');
  }
}

function attributes(maxAgeSeconds: number): string {
  return `Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`;
}

function readCookie(header: string | undefined): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const [name, value] = pair.trim().split('=', 2);
    if (name === COOKIE_NAME) return value;
  }
  return undefined;
}
