// Identifies the sender of a request to the gateway's own routes: by the API key, in one of two headers and never in a query
// string (contract, "Authentication"), or by a bearer JSON Web Token, where the configuration names an issuer. Without a key
// the operator token identifies the operator, and the remaining senders are anonymous.

import { hash, timingSafeEqual } from 'node:crypto';
import { bearerToken } from '../../actors/identity/jwt/bearer-token.ts';
import type { JwtVerifier } from '../../actors/identity/jwt/jwt-verifier.ts';
import {
  anonymous,
  operator,
  type Principal,
  type Refusal,
  type Verdict,
} from '../../actors/identity/principal.ts';
import type { CallGuard } from '../../config/resources/call-guards.ts';
import type { HeaderList } from './listener/seam.ts';
import type { ExchangeContext } from './mcp/exchange-context.ts';
import { reasonPhrase, statusOfRefusal } from './status.ts';

const digest = (text: string) => hash('sha256', text, 'buffer');

export class ApiKey {
  readonly #digest: Buffer | undefined;

  /** An empty key switches authentication off. */
  constructor(key: string) {
    this.#digest = key === '' ? undefined : digest(key);
  }

  get isNeeded(): boolean {
    return this.#digest !== undefined;
  }

  /** Returns true if these headers contain the key. */
  isIn(headers: Readonly<Record<string, string>>): boolean {
    if (headers.authorization === undefined && headers['x-api-key'] === undefined) return false;
    return credentialsIn(headers).some((key) => this.isRight(key));
  }

  /** Digests have one length, so that the time taken tells nothing about the key. */
  isRight(given: string): boolean {
    return this.#digest !== undefined && timingSafeEqual(digest(given), this.#digest);
  }
}

/** Returns the credentials in the headers, the bearer token first. */
export function credentialsIn({
  authorization,
  'x-api-key': header,
}: Readonly<Record<string, string | undefined>>): string[] {
  const bearer = /^Bearer +(.+)$/i.exec(authorization ?? '')?.[1];
  return [bearer, header].flatMap((key) => (key === undefined || key === '' ? [] : [key]));
}

/** `read`: state of the gateway; `client`: servers, as an MCP client; `operator`: everything else. */
export type RouteAccess = 'read' | 'client' | 'operator';

/** Both ways to authenticate as the operator. */
export const OPERATOR_PROOF =
  'send the operator token (the file operator-token in state_dir) as Authorization: Bearer TOKEN, or set api_key in the gateway file';

/** Returns the access required by a method; `declared` is the route table entry. */
export function accessOf(method: string, declared?: RouteAccess): RouteAccess {
  return declared ?? (method === 'GET' || method === 'HEAD' ? 'read' : 'operator');
}

/** Returns why a sender is refused, or undefined if it is admitted. `guard` is the one in the loaded files. */
export function refusalOf(
  { kind }: Principal,
  access: RouteAccess,
  guard: CallGuard | undefined,
): Refusal | undefined {
  if (kind !== 'anonymous' || access === 'read') return undefined;
  if (access === 'operator') return missing('this needs the operator');
  return (
    guard && missing(`${guard.kind} ${guard.name} guards calls (${guard.rule}), so clients must authenticate`)
  );
}

const missing = (what: string): Refusal => ({ refused: 'missing', why: `${what}: ${OPERATOR_PROOF}` });

export const holderOfKey: Principal = { kind: 'key', name: 'api_key' };

const NO_KEY: Refusal = { refused: 'missing', why: 'API key required' };
const WRONG_KEY: Refusal = { refused: 'forbidden', why: 'Invalid API key' };

export class Identification {
  readonly #key: ApiKey;
  readonly #tokens: JwtVerifier | undefined;
  readonly #operatorToken: ApiKey;

  /** `operatorToken` is used only if there is no API key. */
  constructor(key: ApiKey, tokens: JwtVerifier | undefined, operatorToken = new ApiKey('')) {
    this.#key = key;
    this.#tokens = tokens;
    this.#operatorToken = operatorToken;
  }

  /** A promise only for a token that has to be looked at. */
  of(headers: Readonly<Record<string, string>>): Verdict | Promise<Verdict> {
    if (!this.#key.isNeeded) return this.#operatorToken.isIn(headers) ? operator : anonymous;
    const given = credentialsIn(headers);
    if (given.some((key) => this.#key.isRight(key))) return holderOfKey;
    const token = this.#tokens && bearerToken(headers);
    if (this.#tokens === undefined || token === undefined) return given.length === 0 ? NO_KEY : WRONG_KEY;
    return this.#tokens.principalOf(token);
  }
}

/** Refuses a sender: a JSON-RPC error on MCP routes, otherwise the body of the contract ("Authentication"). */
export function refuse(context: ExchangeContext, refusal: Refusal): void {
  const { refused, why: message, retryAfterSeconds = 1 } = refusal;
  const status = statusOfRefusal(refused);
  const headers = headersOf(refused, retryAfterSeconds);
  if (context.isMcp) context.error(status, message, headers);
  else context.json(status, { error: reasonPhrase(status), message }, headers);
}

function headersOf(refused: Refusal['refused'], retryAfterSeconds: number): HeaderList {
  if (refused === 'missing') return [['www-authenticate', 'Bearer']];
  // RFC 6750, section 3: a client that hears this asks for another token.
  if (refused === 'wrong') return [['www-authenticate', 'Bearer error="invalid_token"']];
  return refused === 'unavailable' ? [['retry-after', String(retryAfterSeconds)]] : [];
}
