// Collects configured credentials (A9) for redaction in logs, errors and records.

import { credentialsIn, type Origin } from '../credentials/credential-values.ts';

export class SecretValues {
  readonly #values = new Set<string>();
  /** By the scalars of parsed files. */
  readonly #places = new WeakMap<object, boolean>();

  /** Adds a value's credentials and returns them. */
  add(value: string, origin: Origin = 'named'): readonly string[] {
    const credentials = credentialsIn(value, origin);
    for (const each of credentials) this.#values.add(each);
    return credentials;
  }

  /** What the schema says of a scalar of a parsed file, whatever its value is. */
  addPlace(scalar: object, isSecret: boolean): void {
    this.#places.set(scalar, isSecret || this.#places.get(scalar) === true);
  }

  /** Undefined where no schema has been asked. */
  readonly isPlace = (scalar: object): boolean | undefined => this.#places.get(scalar);

  /** Each value once, the longest first, so that a value which holds another one is struck as a whole. */
  list(): string[] {
    return [...this.#values].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
  }
}
