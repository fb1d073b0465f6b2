// Collects the values that must never be shown (A9): what came from the environment, and every value of `env`,
// `headers` and `api_key`. Shorter values than six characters are left out: to strike them from each log line
// would hide half of the log and protect little.

const minLength = 6;

export class SecretValues {
  readonly #values = new Set<string>();
  /** By the scalars of parsed files. */
  readonly #places = new WeakMap<object, boolean>();

  add(value: string): void {
    this.#add(value);
    // Logs and error output come in lines, so a value of several lines (a key file) is looked for by line.
    if (value.includes('\n')) for (const line of value.split('\n')) this.#add(line.trim());
  }

  /** What the schema says of a scalar of a parsed file, whatever its value is. */
  addPlace(scalar: object, isSecret: boolean): void {
    this.#places.set(scalar, isSecret || this.#places.get(scalar) === true);
  }

  /** Undefined where no schema has been asked. */
  readonly isPlace = (scalar: object): boolean | undefined => this.#places.get(scalar);

  #add(value: string): void {
    if (value.length >= minLength) this.#values.add(value);
  }

  /** Each value once, the longest first, so that a value which holds another one is struck as a whole. */
  list(): string[] {
    return [...this.#values].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
  }
}
