// Collects configured credentials, which are redacted in logs, errors and records (invariant A9,
// ARCHITECTURE.md).

import { type CredentialOrigin, credentialsIn } from '../credentials/credential-values.ts';

export class SecretValues {
  readonly #values = new Set<string>();
  /** Secrecy by scalar: true if a schema marks the scalar as secret. */
  readonly #secrecy = new WeakMap<object, boolean>();

  /**
   * Adds a value's credentials and returns them. The default origin `named` means that the field is secret by
   * its schema, or has the name of a credential.
   */
  add(value: string, origin: CredentialOrigin = 'named'): readonly string[] {
    const credentials = credentialsIn(value, origin);
    for (const each of credentials) this.#values.add(each);
    return credentials;
  }

  /** Adds the credentials of another list. */
  addAll(credentials: readonly string[]): void {
    for (const each of credentials) this.#values.add(each);
  }

  /**
   * Records if the schema marks the scalar as secret. The hash of the configuration, which is displayed and
   * compared between cluster nodes, omits all secrets.
   */
  recordSecrecy(scalar: object, isSecret: boolean): void {
    this.#secrecy.set(scalar, isSecret || this.#secrecy.get(scalar) === true);
  }

  /** Returns true for secret scalars; undefined if no schema covers the scalar. */
  readonly isSecretScalar = (scalar: object): boolean | undefined => this.#secrecy.get(scalar);

  /** Returns distinct values, longest first: a value that contains another value is redacted completely. */
  list(): string[] {
    return [...this.#values].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
  }
}
