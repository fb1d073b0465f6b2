// Reads the files of triggers and agents again, one time after the other: the later has read the later files. What somebody
// asked for is applied whole or not at all; after a change that was only noticed, what is good is applied, and of what is bad
// what was there before stays.

import { ConfigError, hasError } from '../../../config/reader/problem.ts';
import type { LoadedResources } from '../../../config/resources/load-resources.ts';
import type { Log } from '../../base/errors/log.ts';
import type { TriggerDifference } from '../triggers/trigger-registry.ts';
import { lastGoodResources } from './last-good-resources.ts';

export interface ResourceReloadsOptions {
  readonly log: Log;
  /** Reads the files after a folder has changed; errors are in the problems. */
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

  /**
   * Applies the files that `load` reads, and returns the result of `applyRest`; folder changes are read after that. Throws
   * ConfigError, and then nothing has changed.
   */
  reload<T>(
    load: () => Promise<LoadedResources>,
    applyRest: (difference: TriggerDifference) => Promise<T>,
  ): Promise<T> {
    return this.#inTurn(async () => {
      const resources = await load();
      if (hasError(resources.problems)) throw new ConfigError(resources.problems);
      return applyRest(this.#options.apply(resources));
    });
  }

  /** Somebody has changed a file. Never rejects. */
  async onChanged(): Promise<void> {
    const { load, current, apply, log } = this.#options;
    try {
      await this.#inTurn(async () => {
        const resources = await load();
        if (!hasError(resources.problems)) return apply(resources);
        const { lines } = new ConfigError(resources.problems);
        log.error({ problems: lines }, 'the changed triggers have errors; those before them stay');
        return apply(lastGoodResources(resources, current()));
      });
    } catch (error) {
      log.error({ problems: [String(error)] }, 'the changed triggers have errors; those before them stay');
    }
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#last.catch(() => {}).then(act);
    this.#last = turn;
    return turn;
  }
}
