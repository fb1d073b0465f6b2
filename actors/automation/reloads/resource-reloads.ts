// Reloads the files of triggers and agents, one reload at a time. A requested reload is applied completely or
// not at all. When a file has changed, valid files are applied, and invalid files keep their previous
// resources.

import { ConfigError, hasError, type Problem } from '../../../config/reader/problem.ts';
import type { LoadedResources } from '../../../config/resources/load-resources.ts';
import type { Audit } from '../../audit/audit-part.ts';
import type { Log } from '../../base/errors/log.ts';
import type { TriggerDifference } from '../triggers/registry.ts';
import { lastGoodResources } from './last-good-resources.ts';

export interface ResourceReloadsOptions {
  readonly log: Log;
  /** Reads the files after folder changes; errors are in the problems. */
  load(): Promise<LoadedResources>;
  /** Returns the resources in use. */
  current(): LoadedResources;
  apply(resources: LoadedResources): TriggerDifference;
  /** Called with the problems of changed files. */
  readonly onProblems?: ((problems: readonly Problem[]) => void) | undefined;
  /** Undefined without an audit. */
  readonly audit?: Pick<Audit, 'record'> | undefined;
}

export class ResourceReloads {
  readonly #options: ResourceReloadsOptions;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ResourceReloadsOptions) {
    this.#options = options;
  }

  /**
   * Applies the files that `load` reads, then calls `afterApply` with the changed triggers and returns its
   * result. Folder changes are processed afterwards. If `reload` rejects with ConfigError, nothing has
   * changed.
   */
  reload<T>(
    load: () => Promise<LoadedResources>,
    afterApply: (difference: TriggerDifference) => Promise<T>,
  ): Promise<T> {
    return this.#enqueue(async () => {
      const resources = await load();
      if (hasError(resources.problems)) throw new ConfigError(resources.problems);
      return afterApply(this.#options.apply(resources));
    });
  }

  /** Reloads when files have changed. Never rejects. */
  async onChanged(): Promise<void> {
    const { load, current, apply, onProblems, log, audit } = this.#options;
    let outcome = 'refused';
    try {
      await this.#enqueue(async () => {
        const resources = await load();
        if (!hasError(resources.problems)) {
          outcome = 'ok';
          return apply(resources);
        }
        const { lines } = new ConfigError(resources.problems);
        log.error({ problems: lines }, 'changed files have errors; keeping the previous versions');
        onProblems?.(resources.problems);
        return apply(lastGoodResources(resources, current()));
      });
    } catch (error) {
      outcome = 'internal';
      log.error({ problems: [String(error)] }, 'changed files have errors; keeping the previous versions');
    }
    audit?.record({ principal: 'gateway', action: 'admin/reload', target: 'watch', outcome });
  }

  #enqueue<T>(act: () => Promise<T>): Promise<T> {
    const result = this.#last.catch(() => {}).then(act);
    this.#last = result;
    return result;
  }
}
