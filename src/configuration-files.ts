// The gateway file, the catalog and `.env` of a running gateway. `read` has no effect: a reload that is refused leaves no
// trace. The values in use change with `commit`, after both halves of a reload were applied (RL2).

import type { Loaded } from '../config/load-config.ts';

/** Catalog and variables that the files of triggers and agents are read with. */
export type ValuesInUse = Pick<Loaded, 'catalog' | 'environment'>;

export class ConfigurationFiles {
  /** Reads the files. Throws ConfigError. */
  readonly read: () => Promise<Loaded>;
  #inUse: ValuesInUse;

  constructor(inUse: ValuesInUse, read: () => Promise<Loaded>) {
    this.read = read;
    this.#inUse = inUse;
  }

  get inUse(): ValuesInUse {
    return this.#inUse;
  }

  /** Puts the values into use. */
  commit({ catalog, environment }: ValuesInUse): void {
    this.#inUse = { catalog, environment };
  }
}
