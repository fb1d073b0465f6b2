// Who asks: what verification makes of a request, an MCP session or an event. It gives a principal or a refusal; where keys
// have to be asked for first, a promise of one of them. Whoever decides at once gives no promise, and nothing is awaited.

export interface Principal {
  /** How it was proven. Nothing proves an `anonymous` one: no proof was asked for. */
  readonly kind: 'anonymous' | 'key' | 'operator' | 'signature' | 'token' | 'node';
  /** For people, logs and records; no secret. With `kind` it tells two apart. */
  readonly name: string;
  /** Of a token, as they were signed. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** Why nobody is let in. */
export interface Refusal {
  /** `wrong` may be right with other credentials, `forbidden` never; `unavailable`: it could not be found out now. */
  readonly refused: 'missing' | 'wrong' | 'forbidden' | 'unavailable';
  /** For whoever sent the request: no secret, and nothing of what was sent. */
  readonly why: string;
  /** With `unavailable`. */
  readonly retryAfterSeconds?: number;
}

export type Verdict = Principal | Refusal;

export const anonymous: Principal = { kind: 'anonymous', name: 'anonymous' };

/** The sender of the operator token, if the gateway has no API key. */
export const operator: Principal = { kind: 'operator', name: 'token' };

export function isRefusal<T extends object>(verdict: T | Refusal): verdict is Refusal {
  return 'refused' in verdict;
}

/** Whether both are the same one: what belongs to one principal is not shown to another. */
export function isSamePrincipal(one: Principal, other: Principal): boolean {
  return one.kind === other.kind && one.name === other.name;
}

/** As logs and records have it: `token:alice`, `key:api_key`. */
export function principalText({ kind, name }: Principal): string {
  return kind === 'anonymous' ? name : `${kind}:${name}`;
}
