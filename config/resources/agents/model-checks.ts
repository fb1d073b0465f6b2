// What an agent with a model needs of the gateway: a provider that can be asked, servers of its catalog, prices for what it may
// cost. And somebody who can decide about what it has to ask.

import type { Prices, WrittenProviders } from '../../gateway-file/provider-schema.ts';
import { findProvider } from '../../gateway-file/providers.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import type { Environment } from '../../reader/substitute.ts';
import { suggest } from '../../reader/suggest.ts';
import type { PlacedServer, ReadResource } from '../resource-context.ts';
import type { ModelRuntime } from './model-runtime.ts';

/** Undefined is unknown. */
export interface GivenToAgents {
  readonly providers?: WrittenProviders | undefined;
  readonly prices?: Prices | undefined;
  /** Ids of the servers of the catalog. */
  readonly servers?: readonly string[] | undefined;
}

interface Context extends GivenToAgents {
  readonly env: Environment;
  /** The files are used elsewhere, with other variables and perhaps another gateway file. */
  readonly isLenient: boolean;
}

/** Reports to the readers of the agents. */
export function checkModels(resources: readonly ReadResource[], context: Context): void {
  for (const { reader, agent, servers = [] } of resources) {
    if (agent?.runtime.kind !== 'model') continue;
    checkProviders(reader, agent.runtime, context);
    checkServers(reader, agent.runtime, servers, context);
    checkPrices(reader, agent.runtime, context);
  }
}

function checkProviders(
  reader: SchemaReader,
  { models }: ModelRuntime,
  { providers = {}, env, isLenient }: Context,
): void {
  for (const [index, { provider }] of models.entries()) {
    if (provider === '') continue;
    const found = findProvider(provider, providers, env);
    if (!('fault' in found)) continue;
    const path = index === 0 ? 'spec.model' : `spec.fallback[${index - 1}]`;
    reader.report(path, found.fault, isLenient ? 'warning' : 'error');
  }
}

function checkServers(
  reader: SchemaReader,
  { servers }: ModelRuntime,
  places: readonly PlacedServer[],
  { servers: known }: Context,
): void {
  if (known === undefined) return;
  for (const { name, entry } of servers) {
    if (entry !== undefined || known.includes(name)) continue;
    const near = suggest(name, known);
    const advice = near === undefined ? '' : `; did you mean ${near}?`;
    const path = places.find((place) => place.name === name)?.path ?? 'spec.mcp_servers';
    reader.report(path, `there is no server ${name} in the catalog${advice}`);
  }
}

/** A bound that nobody can count towards would be none. */
function checkPrices(reader: SchemaReader, { models, budget }: ModelRuntime, { prices }: Context): void {
  if (budget.cost === undefined || prices === undefined) return;
  const without = models
    .map(({ provider, model }) => `${provider}:${model}`)
    .filter((name) => !Object.hasOwn(prices, name));
  if (without.length > 0)
    reader.report('spec.budget.cost', `needs prices of ${without.join(', ')} in the gateway file`);
}
