// Loads the code of the targets before the gateway accepts requests, because loading blocks the event loop
// for 100 ms. During the first run it delays all calls.

import { inlineAgents } from '../../config/resources/inline-agents.ts';
import type { Log } from '../base/errors/log.ts';
import type { LoadedTargets } from './conversations/handlers.ts';
import type { LoadModelServices } from './target-registry.ts';

/** Never rejects. Code that cannot be loaded fails the first run. */
export async function preloadTargets(
  loaded: LoadedTargets,
  modelServices: LoadModelServices,
  log: Log,
): Promise<void> {
  const models = [...loaded.agents, ...inlineAgents(loaded)].flatMap(({ runtime }) =>
    runtime.kind === 'model' ? runtime.models : [],
  );
  const preloadModels = async () => {
    await import('../agents/model-agent/model-agent.ts');
    await (await modelServices(log)).models.prepare(models);
  };
  await Promise.allSettled([
    models.length > 0 && preloadModels(),
    loaded.fleets.length > 0 && import('../agents/fleets/handler.ts'),
    loaded.flows.length > 0 && import('../agents/flows/handler.ts'),
  ]);
}
