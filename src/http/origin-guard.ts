// Protects against requests from foreign web pages. Each page can make the browser send requests to a
// loopback address, and with DNS rebinding also read the responses. But it cannot forge the headers `Origin`
// and `Host` (MCP transports, "Security Warning").
//
// On a public address without allowed_hosts, `Host` is not checked. There, an `Origin` equal to the address
// of the request proves nothing: with DNS rebinding, any site can have such an origin. The request passes
// only if `vouchesFor` finds a proof that a foreign page cannot have, such as a cookie.

import { isLoopback, loopbackNames } from '../../config/gateway-file/listen-addr.ts';
import type { HeaderList } from './listener/seam.ts';
import type { ExchangeContext } from './mcp/exchange-context.ts';

export interface OriginGuardOptions {
  readonly host: string;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** Returns true if a same-origin request certainly comes from a page of the gateway. */
  readonly vouchesFor?: ((context: ExchangeContext) => boolean) | undefined;
}

const allowedHeaders =
  'authorization, content-type, accept, x-api-key, x-mcp-server, mcp-session-id, mcp-protocol-version, ' +
  'mcp-method, mcp-name, last-event-id, x-request-id, traceparent';

export class OriginGuard {
  readonly #allowedHosts: ReadonlySet<string>;
  readonly #allowedOrigins: ReadonlySet<string>;
  readonly #ownHost: string;
  readonly #checksHost: boolean;
  readonly #vouchesFor: (context: ExchangeContext) => boolean;
  /** Cache: nearly all requests have the same Host. */
  #lastAllowedHost: string | undefined;

  constructor({ host, allowedHosts, allowedOrigins, vouchesFor }: OriginGuardOptions) {
    this.#ownHost = host.includes(':') ? `[${host}]` : host.toLowerCase();
    this.#allowedHosts = new Set(allowedHosts);
    this.#allowedOrigins = new Set(allowedOrigins);
    this.#checksHost = isLoopback(this.#ownHost) || allowedHosts.length > 0;
    this.#vouchesFor = vouchesFor ?? (() => false);
  }

  /**
   * Returns true if the request is allowed; otherwise responds with 403. Adds CORS headers for allowed
   * origins.
   */
  admits(context: ExchangeContext, isHostExempt: boolean): boolean {
    const { headers, localPort } = context.request;
    const { host = '', origin } = headers;
    if (this.#checksHost && !isHostExempt && !this.#isKnownHost(host)) {
      context.error(
        403,
        `the Host header ${JSON.stringify(host.slice(0, 200))} is not allowed; add it to allowed_hosts`,
      );
      return false;
    }
    if (origin === undefined) return true;
    if (!this.#isKnownOrigin(origin, localPort)) {
      if (isSameOrigin(origin, headers) && this.#vouchesFor(context)) return true;
      context.error(
        403,
        `the Origin ${JSON.stringify(origin.slice(0, 200))} is not allowed; add it to allowed_origins`,
      );
      return false;
    }
    context.extraHeaders = corsHeaders(origin);
    return true;
  }

  /** Responds to a CORS preflight. */
  preflight(context: ExchangeContext): void {
    const { 'access-control-request-headers': requestedHeaders = '' } = context.request.headers;
    context.empty(204, [
      ['access-control-allow-methods', 'GET, POST, DELETE, OPTIONS'],
      ['access-control-allow-headers', [allowedHeaders, ...paramHeadersIn(requestedHeaders)].join(', ')],
      ['access-control-max-age', '600'],
    ]);
  }

  #isKnownHost(host: string): boolean {
    if (host === this.#lastAllowedHost) return true;
    const isKnown = this.#isAllowedHost(host);
    if (isKnown) this.#lastAllowedHost = host;
    return isKnown;
  }

  #isAllowedHost(host: string): boolean {
    const lower = host.toLowerCase();
    const name = lower.replace(/:\d{1,5}$/, '');
    return (
      loopbackNames.has(name) ||
      name === this.#ownHost ||
      this.#allowedHosts.has(lower) ||
      this.#allowedHosts.has(name)
    );
  }

  /** Allows configured origins, and pages of this listener. Other ports belong to other programs. */
  #isKnownOrigin(origin: string, ownPort: number): boolean {
    const lower = origin.toLowerCase();
    if (this.#allowedOrigins.has(lower)) return true;
    const match = /^https?:\/\/([^/]+)$/.exec(lower);
    return match?.[1] !== undefined && this.#checksHost && this.#isOwnPage(match[1], ownPort);
  }

  #isOwnPage(authority: string, ownPort: number): boolean {
    const port = /:(\d{1,5})$/.exec(authority)?.[1];
    return port === String(ownPort) && this.#isKnownHost(authority);
  }
}

/**
 * Returns true if the origin of the page is the address of the request. Does not compare the scheme, because
 * a gateway behind a TLS proxy receives plain HTTP. The header Sec-Fetch-Site contains the browser's
 * comparison with the scheme. Browsers send this header to https and loopback addresses (Fetch Metadata).
 */
function isSameOrigin(origin: string, headers: Readonly<Record<string, string>>): boolean {
  const { host = '', 'sec-fetch-site': site = 'same-origin' } = headers;
  const [, scheme, authority] = /^(https?):\/\/([^/]+)$/.exec(origin.toLowerCase()) ?? [];
  // Browsers omit the default port in both headers; a proxy may add it to Host.
  const target = host.toLowerCase().replace(scheme === 'https' ? /:443$/ : /:80$/, '');
  return authority !== undefined && authority === target && site === 'same-origin';
}

/**
 * Returns the requested headers that carry tool arguments (2026-07-28, "Custom Headers from Tool
 * Parameters").
 */
function paramHeadersIn(requestedHeaders: string): string[] {
  const names = requestedHeaders.split(',').map((name) => name.trim().toLowerCase());
  return names.filter((name) => /^mcp-param-[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(name));
}

function corsHeaders(origin: string): HeaderList {
  return [
    ['access-control-allow-origin', origin],
    ['access-control-expose-headers', 'mcp-session-id, x-request-id, retry-after'],
    ['vary', 'Origin'],
  ];
}
