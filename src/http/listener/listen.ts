// Opens an HTTP listener: on uWebSockets.js if its native addon can be loaded, otherwise on node:http. Errors
// are the same for both, and contain the address and the remedy.

import { createServer } from 'node:net';
import { AlreadyInUseError } from '../../../actors/base/errors/errors.ts';
import { listenNode } from './node-listener.ts';
import { portHolder } from './port-holder.ts';
import type { Listener, ListenerOptions } from './seam.ts';
import { listenUws, loadUws } from './uws-listener.ts';

export interface ListenOptions extends ListenerOptions {
  /** @default GATEWAY_HTTP ('node' or 'uws'), otherwise 'uws' */
  readonly prefer?: 'uws' | 'node';
  /** Setting that contains the address, for error messages. @default 'listen_addr' */
  readonly setting?: string;
}

/**
 * Opens `host:port`. Rejects with AlreadyInUseError if the address is in use, and with an Error that contains
 * the address if the system refuses it for another reason.
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const prefer = options.prefer ?? (process.env.GATEWAY_HTTP === 'node' ? 'node' : 'uws');
  if (prefer === 'node') return await openNode(options);
  let uws: Awaited<ReturnType<typeof loadUws>>;
  try {
    uws = await loadUws();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return await openNode(options, `uWebSockets.js does not load here: ${reason.split('\n')[0]}`);
  }
  const listener = listenUws(uws, options);
  if (listener !== undefined) return listener;
  throw listenError(options, await probe(options));
}

async function openNode(options: ListenOptions, fallbackReason?: string): Promise<Listener> {
  try {
    return await listenNode(options, fallbackReason);
  } catch (error) {
    throw listenError(options, error);
  }
}

/** Listens on an address to get the system's error, which uWebSockets.js does not report. */
function probe({ host, port }: ListenerOptions): Promise<unknown> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', resolve);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/** Returns an error that contains the reason and the setting to correct. */
export function listenError(
  { host, port, setting = 'listen_addr' }: Pick<ListenOptions, 'host' | 'port' | 'setting'>,
  cause: unknown,
): Error {
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
  switch (code) {
    case 'EADDRINUSE': {
      const pid = portHolder(port);
      const holder = pid === undefined ? 'another process' : `process ${pid}`;
      return new AlreadyInUseError(
        `the address ${address} is in use by ${holder}; stop it, or choose another ${setting}`,
        { cause },
      );
    }
    case 'EACCES':
      return new Error(
        `no permission to listen on ${address}; ports below 1024 need it, so choose a higher one`,
        {
          cause,
        },
      );
    case 'EADDRNOTAVAIL':
      return new Error(
        `no network interface of this machine has the address ${address}; correct ${setting}`,
        {
          cause,
        },
      );
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new Error(`the host of ${address} is not known; correct ${setting}`, { cause });
    default:
      return new Error(
        `the system refused to listen on ${address} (${code ?? 'no reason given'}); correct ${setting}`,
        {
          cause,
        },
      );
  }
}
