// Checks the names in agents with a model. The model providers, and prices for a cost limit, must be in the
// gateway file (gateway.yaml); the tool servers must be in the catalog.

import type { Prices, WrittenProviders } from '../../gateway-file/provider-schema.ts';
import { findProvider } from '../../gateway-file/providers.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import type { Environment } from '../../reader/substitute.ts';
import { suggest } from '../../reader/suggest.ts';
import type { ReadResource, ServerPosition } from '../resource-context.ts';
import type { ModelRuntime } from './model-runtime.ts';

/** Providers, servers and prices that agents may name. Names of an undefined member are not checked. */
export interface AgentContext {
  readonly providers?: WrittenProviders | undefined;
  readonly prices?: Prices | undefined;
  /** Ids of the catalog's servers. */
  readonly servers?: readonly string[] | undefined;
}

interface Context extends AgentContext {
  readonly env: Environment;
  /** True if the files are for a different machine, whose variables and gateway file may differ. */
  readonly isLenient: boolean;
}

/** Adds problems to the readers of the agents, which know the positions of the fields. */
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
    // An empty provider is the placeholder of a model with an error, which was reported.
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
  positions: readonly ServerPosition[],
  { servers: catalogIds }: Context,
): void {
  if (catalogIds === undefined) return;
  for (const { name, entry } of servers) {
    // A server with an entry is defined in the agent's file.
    if (entry !== undefined || catalogIds.includes(name)) continue;
    const near = suggest(name, catalogIds);
    const advice = near === undefined ? '' : `; did you mean ${near}?`;
    const path = positions.find((position) => position.name === name)?.path ?? 'spec.mcp_servers';
    reader.report(path, `the catalog has no server ${name}${advice}`);
  }
}

/** Reports missing prices: without prices, a cost limit would have no effect. */
function checkPrices(reader: SchemaReader, { models, budget }: ModelRuntime, { prices }: Context): void {
  if (budget.cost === undefined || prices === undefined) return;
  const unpricedModels = models
    .map(({ provider, model }) => `${provider}:${model}`)
    .filter((name) => !Object.hasOwn(prices, name));
  if (unpricedModels.length > 0)
    reader.report('spec.budget.cost', `needs prices of ${unpricedModels.join(', ')} in the gateway file`);
}
