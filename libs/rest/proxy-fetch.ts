// Directs `fetch` to the proxies of the environment (proxy.ts). Node 20 has no option for it, so undici's
// dispatchers replace the one of Node. Loaded only if a proxy is configured.

import { Agent, Dispatcher, ProxyAgent, setGlobalDispatcher } from 'undici';
import { proxyCredentials, proxyFor } from './proxy.ts';

/** Connects directly or through a proxy, depending on the origin of the request. */
class ProxyDispatcher extends Dispatcher {
  readonly #options: Agent.Options;
  readonly #direct: Agent;
  /** Dispatchers by proxy URL. */
  readonly #proxied = new Map<string, ProxyAgent>();

  constructor(options: Agent.Options = {}) {
    super();
    this.#options = options;
    this.#direct = new Agent(options);
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const proxy = proxyFor(new URL(String(options.origin)));
    return (proxy === undefined ? this.#direct : this.#agentOf(proxy)).dispatch(options, handler);
  }

  #agentOf(proxy: URL): ProxyAgent {
    const existing = this.#proxied.get(proxy.href);
    if (existing !== undefined) return existing;
    const token = proxyCredentials(proxy);
    const agent = new ProxyAgent({
      ...this.#options,
      uri: proxy.href,
      // Most proxies permit tunnels to HTTPS ports only.
      proxyTunnel: false,
      ...(token === undefined ? {} : { token }),
    });
    this.#proxied.set(proxy.href, agent);
    return agent;
  }
}

/** Directs every later `fetch` of this process to the proxies of the environment. */
export function useProxies(): void {
  setGlobalDispatcher(new ProxyDispatcher());
}
