// The configuration of the automation, and its part in the life of the gateway: booted before the front, so that no webhook
// arrives before its trigger is loaded, and drained after it.
//
// AU2  events accepted while the gateway stops are kept for the next start: the store is closed after this part (STP2).

import type { CallGuard } from '../../config/resources/call-guards.ts';
import type { LoadedResources } from '../../config/resources/load-resources.ts';
import type { Part, RootRef } from '../base/supervision/part.ts';
import { ResourcesInUse } from './resources-in-use.ts';
import { type AutomationServices, RunningAutomation } from './running-automation.ts';
import { Pauses } from './triggers/pauses.ts';

export interface AutomationOptions extends AutomationServices {
  /** Resources of the start. */
  readonly resources: LoadedResources;
}

export class Automation implements Part {
  readonly name = 'automation';
  /** Resolves with the running automation at the end of the boot. */
  readonly running: Promise<RunningAutomation>;
  readonly #options: AutomationOptions;
  readonly #resources: ResourcesInUse;
  #onRunning: (running: RunningAutomation) => void = () => {};

  constructor(options: AutomationOptions) {
    this.#options = options;
    const { redactor, node } = options.gateway;
    this.#resources = new ResourcesInUse(options.resources, { redactor, configHash: node.configHash });
    this.running = new Promise((resolve) => {
      this.#onRunning = resolve;
    });
  }

  /** First guard in the files in use, if any. */
  get callGuard(): CallGuard | undefined {
    return this.#resources.callGuard;
  }

  /** Opens the store, and starts the triggers and the dispatcher. */
  async boot(root: RootRef): Promise<void> {
    const pauses = new Pauses();
    const store = await this.#options.gateway.store.open({
      prepare: (opened) => pauses.load(opened),
      onThereLate: () => void this.running.then((running) => running.markPaused()),
    });
    const { cluster } = store;
    const clusterModule = cluster && (await import('./cluster-side.ts'));
    const resources = this.#resources;
    const running = new RunningAutomation({
      ...this.#options,
      ...{ root, store, pauses, resources },
      makeClusterSide: clusterModule && ((options) => new clusterModule.ClusterSide(cluster, options)),
    });
    this.#onRunning(running);
  }

  /** Called only after the boot. */
  async drain(graceMs: number): Promise<void> {
    await (await this.running).drain(graceMs);
  }
}
