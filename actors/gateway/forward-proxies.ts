// Directs `fetch` to the forward proxies of the environment. The code of the proxies is loaded only if a
// variable names one.

import { hasProxy } from '../../libs/rest/proxy.ts';

/** Call it before the first request. Rejects with ProxyError for an unusable variable. */
export async function useForwardProxies(): Promise<void> {
  if (hasProxy()) (await import('../../libs/rest/proxy-fetch.ts')).useProxies();
}
