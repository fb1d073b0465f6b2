// Collects the credentials in a file by field path, for redaction. The schema, the field's name and the value
// decide if a value is a credential; see config/credentials.

import { isCredentialName } from '../credentials/credential-names.ts';
import { type CredentialOrigin, credentialsIn } from '../credentials/credential-values.ts';
import { MIN_CREDENTIAL_LENGTH } from '../credentials/plain-values.ts';
import { fieldName, pathsAround } from './field-path.ts';
import type { SchemaNode } from './schema-descriptions.ts';
import type { SecretValues } from './secret-values.ts';

export class FieldCredentials {
  readonly #secrets: SecretValues;
  /** Credentials by field path; each credential is also listed under every enclosing path. */
  readonly #byPath = new Map<string, string[]>();

  constructor(secrets: SecretValues) {
    this.#secrets = secrets;
  }

  /** Returns the distinct credentials at or below a path. */
  below(path: string): readonly string[] {
    return [...new Set(this.#byPath.get(path))];
  }

  add(path: string, value: string, origin: CredentialOrigin): void {
    for (const credential of this.#secrets.add(value, origin))
      for (const each of [path, ...pathsAround(path)]) {
        const pathCredentials = this.#byPath.get(each);
        if (pathCredentials === undefined) this.#byPath.set(each, [credential]);
        else pathCredentials.push(credential);
      }
  }
}

/**
 * Returns the origin of a field's text, which decides the search for credentials in it. Undefined if the text
 * is not searched: only the values of `${VAR}` references in it may be credentials.
 */
export function originOf({ writeOnly, secretBy }: SchemaNode, path: string): CredentialOrigin | undefined {
  if (secretBy === undefined) return writeOnly === true ? 'named' : undefined;
  if (isCredentialName(fieldName(path))) return 'named';
  // `name`: a value without a credential name is ordinary text. `value`: any opaque value is a credential.
  return secretBy === 'name' ? 'literal' : 'supplied';
}

/**
 * Returns a warning for a secret that cannot be redacted; completes "FIELD …". A scheme such as `Bearer` is
 * not part of the secret.
 */
export function redactionFault(value: string): string | undefined {
  const secret = value.trim().replace(/^(?:Bearer|Basic|Token)\s+/i, '');
  if (secret === '' || credentialsIn(secret, 'named').length > 0) return undefined;
  return `is ${formOf(secret)} and cannot be redacted in logs and errors`;
}

function formOf(secret: string): string {
  if (secret.length < MIN_CREDENTIAL_LENGTH) return `shorter than ${MIN_CREDENTIAL_LENGTH} characters`;
  return secret.includes('://') ? 'a URL without an opaque part' : 'a plain word, number or path';
}
