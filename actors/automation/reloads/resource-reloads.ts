// Reads the files of triggers and agents again, one time after the other: the later has read the later files. What somebody
// asked for is applied whole or not at all; after a change that was only noticed, what is good is applied, and of what is bad
// what was there before stays.

import { ConfigError, hasError } from '../../../config/reader/problem.ts';
import type { LoadedResources } from '../../../config/resources/load-resources.ts';
import type { Log } from '../../base/errors/log.ts';
import type { TriggerDifference } from '../triggers/trigger-registry.ts';
import { lastGoodResources } from './last-good-resources.ts';

export interface ResourceReloadsOptions {
  readonly log: () => Log;
  /** Reads the files; what is wrong with them stands in the problems. */
  load(): Promise<LoadedResources>;
  current(): LoadedResources;
  apply(resources: LoadedResources): TriggerDifference;
}

export class ResourceReloads {
  readonly #options: ResourceReloadsOptions;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ResourceReloadsOptions) {
    this.#options = options;
  }

  /** Throws ConfigError, and then nothing has changed. */
  reload(): Promise<TriggerDifference> {
    return this.#inTurn((resources) => {
      if (hasError(resources.problems)) throw new ConfigError(resources.problems);
      return resources;
    });
  }

  /** Somebody has changed a file. Never rejects. */
  async onChanged(): Promise<void> {
    const log = this.#options.log();
    try {
      await this.#inTurn((resources) => {
        if (!hasError(resources.problems)) return resources;
        const { lines } = new ConfigError(resources.problems);
        log.error({ problems: lines }, 'the changed triggers have errors; those before them stay');
        return lastGoodResources(resources, this.#options.current());
      });
    } catch (error) {
      log.error({ problems: [String(error)] }, 'the changed triggers have errors; those before them stay');
    }
  }

  #inTurn(choose: (resources: LoadedResources) => LoadedResources): Promise<TriggerDifference> {
    const { load, apply } = this.#options;
    const reloading = this.#last.catch(() => {}).then(async () => apply(choose(await load())));
    this.#last = reloading;
    return reloading;
  }
}
