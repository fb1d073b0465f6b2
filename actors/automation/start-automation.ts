// Starts the automation: opens the store, and loads the coordination with other nodes (cluster-side.ts) if
// the store is shared. The automation starts before the HTTP front end, so that triggers are loaded when
// webhooks arrive, and is drained after it. Events accepted during shutdown remain in the store for the next
// start: the store closes after this part (store/store-part.ts).

import { preloadTargets } from './preload-targets.ts';
import type { ResourcesInUse } from './resources-in-use.ts';
import { type AutomationServices, RunningAutomation } from './running-automation.ts';
import { Pauses } from './triggers/pauses.ts';

/** Rejects with StoreUnavailableError. */
export async function startAutomation(
  services: AutomationServices,
  resources: ResourcesInUse,
): Promise<RunningAutomation> {
  const pauses = new Pauses();
  const store = await services.gateway.store.open((openStore) => pauses.load(openStore));
  const { cluster } = store;
  const clusterModule = cluster && (await import('./cluster-side.ts'));
  await preloadTargets(resources.current, services.modelServices, services.gateway.log);
  return new RunningAutomation({
    ...services,
    store,
    pauses,
    resources,
    makeClusterSide: clusterModule && ((options) => new clusterModule.ClusterSide(cluster, options)),
  });
}
