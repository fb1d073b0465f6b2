// Destination of the HTTP connections to one remote server: host, port, TLS settings and proxy.

import type { ConnectionOptions } from 'node:tls';
import { withoutBrackets } from '../../../../libs/rest/host.ts';

interface Settings {
  readonly connectTimeoutMs: number;
  /** Client keys and certificates for servers with client authentication. */
  readonly tls?: ConnectionOptions | undefined;
  /** Forward proxy. */
  readonly proxy?: URL | undefined;
}

export interface HttpDestination extends Settings {
  readonly isTls: boolean;
  /** Host name or IP address, without brackets. */
  readonly host: string;
  readonly port: number;
  /** Host name in the server certificate. */
  readonly serverName: string;
}

/** Returns the URL's destination. `authority`: host name in the certificate, with an optional port. */
export function destinationOf(url: URL, settings: Settings, authority: string = url.host): HttpDestination {
  const isTls = url.protocol === 'https:';
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port);
  const serverName = withoutBrackets(authority.replace(/:\d*$/, ''));
  return { ...settings, isTls, host: withoutBrackets(url.hostname), port, serverName };
}
