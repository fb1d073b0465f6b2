// Starts the automation: opens the store, and loads the cluster side of a shared store. It starts before the front, so
// that triggers are loaded when webhooks arrive; the front is drained first.
//
// AU2  events accepted while the gateway stops are kept for the next start: the store is closed after this part (STP2).

import type { ResourcesInUse } from './resources-in-use.ts';
import { type AutomationServices, RunningAutomation } from './running-automation.ts';
import { Pauses } from './triggers/pauses.ts';

/** Rejects with StoreUnavailableError. */
export async function startAutomation(
  services: AutomationServices,
  resources: ResourcesInUse,
): Promise<RunningAutomation> {
  const pauses = new Pauses();
  const store = await services.gateway.store.open((opened) => pauses.load(opened));
  const { cluster } = store;
  const clusterModule = cluster && (await import('./cluster-side.ts'));
  return new RunningAutomation({
    ...services,
    ...{ store, pauses, resources },
    makeClusterSide: clusterModule && ((options) => new clusterModule.ClusterSide(cluster, options)),
  });
}
