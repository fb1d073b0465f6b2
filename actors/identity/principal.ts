// Verified principal (client or person) of requests, MCP sessions and events. A verifier returns a principal
// or a refusal, as a promise only if it must fetch keys first.

import type { Role } from './roles.ts';

export interface Principal {
  /** Type of the proof. `anonymous`: no proof was required. */
  readonly kind: 'anonymous' | 'key' | 'operator' | 'signature' | 'token' | 'node';
  /** Name for people, logs and records; not a secret. Unique together with `kind`. */
  readonly name: string;
  /** Claims of the verified token. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Role of an access key. Other credentials permit everything, see `roleOf`. */
  readonly role?: Role;
  /** Id of the access key. A rotation changes it, but not the name. */
  readonly keyId?: string;
}

/** Reason for rejecting a request. */
export interface Refusal {
  /**
   * `missing`: no credentials in the request. `wrong`: other credentials may succeed. `forbidden`: no
   * credentials will. `unavailable`: verification is not possible now.
   */
  readonly kind: 'missing' | 'wrong' | 'forbidden' | 'unavailable';
  /** Message for the sender, without secrets and without data of the request. */
  readonly reason: string;
  /** Set for `unavailable`. */
  readonly retryAfterSeconds?: number;
}

export type VerificationResult = Principal | Refusal;

export const anonymous: Principal = { kind: 'anonymous', name: 'anonymous' };

/**
 * Client that proves itself with the operator token. The gateway creates this token in its state folder if it
 * has no API key.
 */
export const operator: Principal = { kind: 'operator', name: 'token' };

export function isRefusal<T extends object>(verdict: T | Refusal): verdict is Refusal {
  return 'reason' in verdict;
}

/** Returns the role; undefined for anonymous senders, which the access of each route limits. */
export function roleOf({ kind, role }: Principal): Role | undefined {
  return role ?? (kind === 'anonymous' ? undefined : 'admin');
}

/** Returns true for the same principal. A principal cannot see the data of another. */
export function isSamePrincipal(one: Principal, other: Principal): boolean {
  return one.kind === other.kind && one.name === other.name;
}

/** Name of the principal with the API key. No access key has it. */
export const API_KEY_NAME = 'api_key';

/** Returns true if the credential belongs to one client. The API key may belong to any number of them. */
export function isIndividual({ kind, name }: Principal): boolean {
  return kind === 'token' || (kind === 'key' && name !== API_KEY_NAME);
}

/** Returns the text for logs and records: `token:alice`, `key:api_key`. */
export function principalText({ kind, name }: Principal): string {
  return kind === 'anonymous' ? name : `${kind}:${name}`;
}
