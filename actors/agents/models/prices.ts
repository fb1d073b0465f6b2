// What an answer costs, by the prices that the operator wrote. None are built in: they change, and differ by contract.

import type { Prices } from '../../../config/gateway-file/provider-schema.ts';
import type { Usage } from '../../../machines/agent-run/journal.ts';

/** In the unit of the prices; undefined where there is no price, or the provider did not count. */
export function costOf(
  name: string,
  { input, output, cached = 0 }: Usage,
  prices: Prices,
): number | undefined {
  const price = Object.hasOwn(prices, name) ? prices[name] : undefined;
  if (price === undefined || input === undefined || output === undefined) return undefined;
  const fromCache = Math.min(cached, input);
  const of = (input - fromCache) * price.input + fromCache * (price.cached_input ?? price.input);
  return (of + output * price.output) / 1_000_000;
}
