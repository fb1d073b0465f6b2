// Keeps web pages out. A page on any site can make a browser send requests to a loopback address, by DNS rebinding
// even read the answers; it can forge neither `Origin` nor `Host` (MCP transports, "Security Warning").
//
// OG1  where `Host` is not checked, an `Origin` equal to the address of the request proves nothing, since DNS rebinding gives
//      every site such an origin. The request passes only when `vouchesFor` finds a proof that such a page cannot have.

import { isLoopback, loopbackNames } from '../../config/gateway-file/listen-addr.ts';
import type { HeaderList } from './listener/seam.ts';
import type { ExchangeContext } from './mcp/exchange-context.ts';

export interface OriginGuardOptions {
  readonly host: string;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /**
   * Tests if a same-origin request comes from a page of the gateway. Called after the check of Host. @default returns false
   */
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
  /** Nearly all requests name the same. */
  #lastKnownHost: string | undefined;

  constructor({ host, allowedHosts, allowedOrigins, vouchesFor }: OriginGuardOptions) {
    this.#ownHost = host.includes(':') ? `[${host}]` : host.toLowerCase();
    this.#allowedHosts = new Set(allowedHosts);
    this.#allowedOrigins = new Set(allowedOrigins);
    this.#checksHost = isLoopback(this.#ownHost) || allowedHosts.length > 0;
    this.#vouchesFor = vouchesFor ?? (() => false);
  }

  /** True when the request may go on; otherwise it has been refused with 403. Allowed origins get CORS headers. */
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

  /** Answers a browser's question whether it may send a request. */
  preflight(context: ExchangeContext): void {
    const { 'access-control-request-headers': asked = '' } = context.request.headers;
    context.empty(204, [
      ['access-control-allow-methods', 'GET, POST, DELETE, OPTIONS'],
      ['access-control-allow-headers', [allowedHeaders, ...paramHeadersIn(asked)].join(', ')],
      ['access-control-max-age', '600'],
    ]);
  }

  #isKnownHost(host: string): boolean {
    if (host === this.#lastKnownHost) return true;
    const isKnown = this.#isAllowedHost(host);
    if (isKnown) this.#lastKnownHost = host;
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

  /** Own pages are those of this very listener: another port of the same machine is another program's. */
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
 * Whether the page has the origin that its request was sent to. The scheme is known as far as the browser tells: a gateway
 * behind TLS hears plain HTTP, and browsers name the relation to https and loopback addresses only (Fetch Metadata).
 */
function isSameOrigin(origin: string, headers: Readonly<Record<string, string>>): boolean {
  const { host = '', 'sec-fetch-site': site = 'same-origin' } = headers;
  const [, scheme, authority] = /^(https?):\/\/([^/]+)$/.exec(origin.toLowerCase()) ?? [];
  // Browsers leave the scheme's own port out of both; a proxy may put it into Host.
  const target = host.toLowerCase().replace(scheme === 'https' ? /:443$/ : /:80$/, '');
  return authority !== undefined && authority === target && site === 'same-origin';
}

/** A tool's arguments come in headers of the tool's own choice (2026-07-28, "Custom Headers from Tool Parameters"). */
function paramHeadersIn(asked: string): string[] {
  const names = asked.split(',').map((name) => name.trim().toLowerCase());
  return names.filter((name) => /^mcp-param-[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(name));
}

function corsHeaders(origin: string): HeaderList {
  return [
    ['access-control-allow-origin', origin],
    ['access-control-expose-headers', 'mcp-session-id, x-request-id, retry-after'],
    ['vary', 'Origin'],
  ];
}
