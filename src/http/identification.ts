// Identifies the sender of a request to the gateway's own routes: by the API key, in one of two headers and never in a query
// string (contract, "Authentication"), or by a bearer JSON Web Token, where the configuration names an issuer. Without a key
// the operator token identifies the operator, and the remaining senders are anonymous.

import { bearerToken } from '../../actors/identity/jwt/bearer-token.ts';
import type { JwtVerifier } from '../../actors/identity/jwt/jwt-verifier.ts';
import {
  anonymous,
  operator,
  type Principal,
  type Refusal,
  type Verdict,
} from '../../actors/identity/principal.ts';
import { ApiKey, credentialsIn } from './api-key.ts';
import type { HeaderList } from './listener/seam.ts';
import type { ExchangeContext } from './mcp/exchange-context.ts';
import { reasonPhrase, statusOfRefusal } from './status.ts';

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
