// Gateway file (settings), catalog (tool servers) and `.env` of a running gateway, for reloads. `read`
// changes nothing, because a reload may be refused. `commit` replaces the active values when all parts of the
// reload are applied.

import type { LoadedConfig } from '../config/load-config.ts';

/** Catalog and variables for reading the files of triggers and agents. */
export type ValuesInUse = Pick<LoadedConfig, 'catalog' | 'environment'>;

export class ConfigurationFiles {
  /** Reads the files. Throws ConfigError. */
  readonly read: () => Promise<LoadedConfig>;
  #inUse: ValuesInUse;

  constructor(inUse: ValuesInUse, read: () => Promise<LoadedConfig>) {
    this.read = read;
    this.#inUse = inUse;
  }

  get inUse(): ValuesInUse {
    return this.#inUse;
  }

  /** Activates the values. */
  commit({ catalog, environment }: ValuesInUse): void {
    this.#inUse = { catalog, environment };
  }
}
