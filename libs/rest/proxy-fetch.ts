// Directs `fetch` to the proxies of the environment (proxy.ts). Node 20 has no option for it, so undici's
// dispatchers replace the one of Node. undici's own proxy client is not used: its errors do not name the
// proxy. Loaded only if a proxy is configured.

import type { Socket } from 'node:net';
import { Agent, buildConnector, DecoratorHandler, Dispatcher, setGlobalDispatcher } from 'undici';
import { connectToProxy, openTunnel, proxyFailure, proxyRefusal, timeoutError } from './forward-proxy.ts';
import { withoutBrackets } from './host.ts';
import { proxyCredentials, proxyFor } from './proxy.ts';

const CONNECT_TIMEOUT_MS = 10_000;

/** Connects directly or through a proxy, depending on the origin of the request. */
class ProxyDispatcher extends Dispatcher {
  readonly #options: Agent.Options;
  readonly #direct: Agent;
  /** Agents by proxy URL. */
  readonly #proxied = new Map<string, Agent>();

  constructor(options: Agent.Options = {}) {
    super();
    this.#options = options;
    this.#direct = new Agent(options);
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const origin = String(options.origin);
    const proxy = proxyFor(new URL(origin));
    if (proxy === undefined) return this.#direct.dispatch(options, handler);
    const agent = this.#agentOf(proxy);
    // Most proxies permit tunnels to HTTPS ports only.
    return origin.startsWith('https:')
      ? agent.dispatch(options, handler)
      : agent.dispatch(throughProxy(options, proxy), new RefusalHandler(handler, proxy));
  }

  #agentOf(proxy: URL): Agent {
    const existing = this.#proxied.get(proxy.href);
    if (existing !== undefined) return existing;
    const agent = new Agent({ ...this.#options, connect: connectorOf(proxy) });
    this.#proxied.set(proxy.href, agent);
    return agent;
  }
}

/** undici's types omit the methods of the class. */
const Decorator = DecoratorHandler as new (
  handler: Dispatcher.DispatchHandler,
) => { onResponseStart(...response: ResponseStart): void };

type ResponseStart = Parameters<Required<Dispatcher.DispatchHandler>['onResponseStart']>;

/** Fails a request that the proxy refuses to forward, instead of returning the response of the proxy. */
class RefusalHandler extends Decorator {
  readonly #proxy: URL;

  constructor(handler: Dispatcher.DispatchHandler, proxy: URL) {
    super(handler);
    this.#proxy = proxy;
  }

  override onResponseStart(...response: ResponseStart): void {
    const [controller, status] = response;
    if (status === 407) controller.abort(proxyRefusal(this.#proxy, status, 'HTTP_PROXY'));
    else super.onResponseStart(...response);
  }
}

/** Adds the whole address and the proxy credentials to a request without TLS. */
function throughProxy(options: Dispatcher.DispatchOptions, proxy: URL): Dispatcher.DispatchOptions {
  const path = `${new URL(String(options.origin)).origin}${options.path}`;
  const credentials = proxyCredentials(proxy);
  if (credentials === undefined) return { ...options, path };
  const headers = (options.headers ?? {}) as Record<string, string> | string[];
  const own = ['proxy-authorization', credentials] as const;
  return {
    ...options,
    path,
    headers: Array.isArray(headers) ? [...headers, ...own] : { ...headers, [own[0]]: own[1] },
  };
}

function connectorOf(proxy: URL): buildConnector.connector {
  const startTls = buildConnector({});
  return (target, callback) => {
    const fail = (error: Error) => callback(error, null);
    if (target.protocol !== 'https:') {
      connectPlain(proxy, (socket) => callback(null, socket), fail);
      return;
    }
    const destination = { host: withoutBrackets(target.hostname), port: Number(target.port || 443) };
    const onOpen = (socket: Socket) => startTls({ ...target, httpSocket: socket }, callback);
    openTunnel(proxy, destination, onOpen, fail);
  };
}

function connectPlain(proxy: URL, onOpen: (socket: Socket) => void, onFailure: (error: Error) => void): void {
  const socket = connectToProxy(proxy);
  const timer = setTimeout(() => socket.destroy(timeoutError()), CONNECT_TIMEOUT_MS);
  const fail = (error: Error) => {
    clearTimeout(timer);
    onFailure(proxyFailure(proxy, error, 'HTTP_PROXY'));
  };
  socket.once('error', fail);
  socket.once(proxy.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
    clearTimeout(timer);
    socket.off('error', fail);
    onOpen(socket);
  });
}

/** Directs every later `fetch` of this process to the proxies of the environment. */
export function useProxies(): void {
  setGlobalDispatcher(new ProxyDispatcher());
}
