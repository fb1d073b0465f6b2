// Access to the inspector. The operator authenticates with the API key, or the operator token if no key is configured: in a header,
// or by a cookie from the key form or a link. If there is no key, other senders may watch.
//
// IA1  the cookie is no key: it is good for the inspector alone, until its time is up or the key is another. It is made of
//      both, so that it outlives a restart and nothing has to be kept.
// IA2  only pages of this listener can use it: it is HttpOnly and SameSite=Strict, and what changes anything is a POST, whose
//      Origin has been checked before (origin-guard.ts).
// IA3  a page is taken for one of ours when it was served from the address it posts to and shows the cookie, which a browser
//      gives to no other host name: a page that DNS rebinding has brought here has none. The form has none yet; it shows the key.
// IA4  watching is read-only; other requests require the operator.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { ApiKey } from '../http/identification.ts';
import type { ExchangeContext } from '../http/mcp/exchange-context.ts';

const NAME = 'actor_gateway_inspector';
const SECONDS = 12 * 3600;
const PATH = '/inspector';
/** Where the form posts the key to. */
export const FORM_PATH = `${PATH}/session`;

/** Whether a path is the inspector's. */
export function isInspector(path: string): boolean {
  return path === PATH || path.startsWith(`${PATH}/`);
}

export interface InspectorAccessOptions {
  /** The API key or the operator token; '' if both are missing. */
  readonly secret: string;
  /** True if every sender may watch. */
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

  /** Returns true if the request may watch. */
  isAdmitted(context: ExchangeContext): boolean {
    return this.#isOpen || this.isOperator(context);
  }

  /** Returns true if the operator sent the request. */
  isOperator({ request: { headers } }: ExchangeContext): boolean {
    return this.#key.isIn(headers) || this.#isValid(cookieIn(headers.cookie));
  }

  /** Whether a request of a page with the same origin as its target comes from a page of the inspector (IA3). */
  knowsPageOf({ request }: ExchangeContext): boolean {
    const { method, path, headers } = request;
    if (this.#secret === '' || !isInspector(path)) return false;
    return (method === 'POST' && path === FORM_PATH) || this.#isValid(cookieIn(headers.cookie));
  }

  /** The Set-Cookie value for the right key; undefined for a wrong one. */
  cookieFor(key: string): string | undefined {
    return this.#key.isRight(key) ? this.operatorCookie() : undefined;
  }

  /** The Set-Cookie value for the operator. */
  operatorCookie(): string {
    const until = Math.floor(this.#now() / 1000) + SECONDS;
    return `${NAME}=${until}.${this.#sealOf(until)}; ${attributes(SECONDS)}`;
  }

  /** The Set-Cookie value that takes the cookie away. */
  get noCookie(): string {
    return `${NAME}=; ${attributes(0)}`;
  }

  #isValid(cookie: string | undefined): boolean {
    const [, digits, seal] = /^(\d{1,12})\.([\w-]{43})$/.exec(cookie ?? '') ?? [];
    if (digits === undefined || seal === undefined || this.#secret === '') return false;
    const until = Number(digits);
    return until * 1000 > this.#now() && timingSafeEqual(Buffer.from(seal), Buffer.from(this.#sealOf(until)));
  }

  #sealOf(until: number): string {
    return createHmac('sha256', this.#secret).update(`inspector until ${until}`).digest('base64url');
  }
}

function attributes(maxAgeSeconds: number): string {
  return `Path=${PATH}; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`;
}

function cookieIn(header: string | undefined): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const [name, value] = pair.trim().split('=', 2);
    if (name === NAME) return value;
  }
  return undefined;
}
