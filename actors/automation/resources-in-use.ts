// The triggers, agents, fleets and flows in use. Each reload replaces the whole set. Created before the
// automation starts.

import { type ConfigDigests, resourcesDigest } from '../../config/config-hash.ts';
import { type CallGuard, findCallGuard } from '../../config/resources/call-guards.ts';
import type { LoadedResources } from '../../config/resources/load-resources.ts';
import type { Redactor } from '../base/errors/redact.ts';

interface ResourceHost {
  readonly redactor: Redactor;
  readonly node: { use(digests: Partial<ConfigDigests>): void };
}

export class ResourcesInUse {
  readonly #host: ResourceHost;
  #current: LoadedResources;
  #callGuard: CallGuard | undefined;

  /** `host` is the gateway. */
  constructor(resources: LoadedResources, host: ResourceHost) {
    this.#host = host;
    this.#current = resources;
    this.replace(resources);
  }

  get current(): LoadedResources {
    return this.#current;
  }

  /** First guard in the resources, if any. */
  get callGuard(): CallGuard | undefined {
    return this.#callGuard;
  }

  /** Replaces the resources, and first adds their credentials to the redactor. */
  replace(resources: LoadedResources): void {
    const { redactor, node } = this.#host;
    redactor.add(...resources.secrets);
    this.#current = resources;
    this.#callGuard = findCallGuard(resources);
    node.use({ resources: resourcesDigest(resources.digests) });
  }
}
