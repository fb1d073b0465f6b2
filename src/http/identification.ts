// Identifies who sends a request to the gateway's own routes: by the API key in one of two headers, never
// in the query string, or by a JSON Web Token, if an issuer is configured (docs/http-api.md). If no
// API key is configured, the operator token identifies the operator, and all other senders are anonymous.
// Access keys (access-key-door.ts) identify their holders in both cases.

import { hash, timingSafeEqual } from 'node:crypto';
import { INVALID_KEY } from '../../actors/identity/access-keys/key-refusals.ts';
import { isKeyText } from '../../actors/identity/access-keys/key-text.ts';
import { bearerToken } from '../../actors/identity/jwt/bearer-token.ts';
import type { JwtVerifier } from '../../actors/identity/jwt/jwt-verifier.ts';
import {
  API_KEY_NAME,
  anonymous,
  operator,
  type Principal,
  type Refusal,
  roleOf,
  type VerificationResult,
} from '../../actors/identity/principal.ts';
import { includesRole, type Role } from '../../actors/identity/roles.ts';
import { errorMessage } from '../../actors/mcp/jsonrpc/compose.ts';
import type { CallGuard } from '../../config/resources/call-guards.ts';
import type { AccessKeyDoor } from './access-key-door.ts';
import type { HeaderList } from './listener/seam.ts';
import type { ExchangeContext } from './mcp/exchange-context.ts';
import { reasonPhrase, refusalCode, statusOfRefusal } from './status.ts';

const digest = (text: string) => hash('sha256', text, 'buffer');

export class ApiKey {
  readonly #digest: Buffer | undefined;
  /** True if the key looks like an access key. */
  readonly hasKeyForm: boolean;

  /** An empty key disables authentication. */
  constructor(key: string) {
    this.#digest = key === '' ? undefined : digest(key);
    this.hasKeyForm = isKeyText(key);
  }

  get isNeeded(): boolean {
    return this.#digest !== undefined;
  }

  /** Returns true if these headers contain the key. */
  isIn(headers: Readonly<Record<string, string>>): boolean {
    if (headers.authorization === undefined && headers['x-api-key'] === undefined) return false;
    return credentialsIn(headers).some((key) => this.isEqual(key));
  }

  /** Compares digests of equal length, so that the duration does not reveal the key. */
  isEqual(key: string): boolean {
    return this.#digest !== undefined && timingSafeEqual(digest(key), this.#digest);
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

/** Text for error messages: both ways to authenticate as the operator. */
export const OPERATOR_PROOF =
  'send the operator token (the file operator-token in state_dir) as Authorization: Bearer TOKEN, or set api_key in the gateway file';

/** Returns the access required for a request: `declared` by the route, else depending on the method. */
export function accessOf(method: string, declared?: RouteAccess): RouteAccess {
  return declared ?? (method === 'GET' || method === 'HEAD' ? 'read' : 'operator');
}

/**
 * Returns undefined if the sender has the access, else the refusal. `guard` is the first guard of tool calls,
 * if any: it makes anonymous calls impossible.
 */
export function refusalOf(
  { kind }: Principal,
  access: RouteAccess,
  guard: CallGuard | undefined,
): Refusal | undefined {
  if (kind !== 'anonymous' || access === 'read') return undefined;
  if (access === 'operator') return operatorRequired('operator access required');
  return (
    guard &&
    operatorRequired(`${guard.kind} ${guard.name} guards calls (${guard.rule}), so clients must authenticate`)
  );
}

/** Returns the role required for a request: `declared` by the route, else depending on the method. */
export function requiredRole(method: string, declared?: Role): Role {
  return declared ?? (method === 'GET' || method === 'HEAD' ? 'viewer' : 'operator');
}

/** Returns undefined if the sender has the role or is anonymous, else the refusal. */
export function roleRefusal(principal: Principal, role: Role): Refusal | undefined {
  const own = roleOf(principal);
  if (own === undefined || includesRole(own, role)) return undefined;
  return { kind: 'forbidden', reason: `this needs the role ${role}` };
}

const operatorRequired = (reason: string): Refusal => ({
  kind: 'missing',
  reason: `${reason}: ${OPERATOR_PROOF}`,
});

/** A sender with the API key. */
export const holderOfKey: Principal = { kind: 'key', name: API_KEY_NAME };

const NO_KEY: Refusal = { kind: 'missing', reason: 'API key required' };

export interface IdentificationOptions {
  readonly key: ApiKey;
  readonly tokens?: JwtVerifier | undefined;
  /** Ignored if an API key is set. */
  readonly operatorToken?: ApiKey;
  readonly accessKeys?: Pick<AccessKeyDoor, 'principalOf'>;
}

export class Identification {
  readonly #key: ApiKey;
  readonly #tokens: JwtVerifier | undefined;
  readonly #operatorToken: ApiKey;
  readonly #accessKeys: IdentificationOptions['accessKeys'];

  constructor({ key, tokens, operatorToken = new ApiKey(''), accessKeys }: IdentificationOptions) {
    this.#key = key;
    this.#tokens = tokens;
    this.#operatorToken = operatorToken;
    this.#accessKeys = accessKeys;
  }

  /**
   * Identifies the sender. Returns a promise only if a JSON Web Token must be verified, or an access key must
   * be looked up.
   */
  of(headers: Readonly<Record<string, string>>): VerificationResult | Promise<VerificationResult> {
    const { isNeeded } = this.#key;
    if (headers.authorization === undefined && headers['x-api-key'] === undefined)
      return isNeeded ? NO_KEY : anonymous;
    const credentials = credentialsIn(headers);
    const configured = isNeeded ? this.#key : this.#operatorToken;
    const accessKey = this.#accessKeys && credentials.find(isKeyText);
    // Saves a digest: most holders of access keys send no other credential.
    const isOnlyAccessKey = accessKey !== undefined && credentials.length === 1 && !configured.hasKeyForm;
    if (!isOnlyAccessKey && credentials.some((key) => configured.isEqual(key)))
      return isNeeded ? holderOfKey : operator;
    if (this.#accessKeys !== undefined && accessKey !== undefined)
      return this.#accessKeys.principalOf(accessKey);
    if (!isNeeded) return anonymous;
    const token = this.#tokens && bearerToken(headers);
    if (this.#tokens === undefined || token === undefined)
      return credentials.length === 0 ? NO_KEY : INVALID_KEY;
    return this.#tokens.principalOf(token);
  }
}

/**
 * Responds to a refused sender: with a JSON-RPC error on MCP routes, otherwise with `{error, message}`.
 * `rawId`: id of the JSON-RPC request, if its body was read.
 */
export function refuse(context: ExchangeContext, refusal: Refusal, rawId?: string): void {
  const { kind, reason: message, retryAfterSeconds = 1 } = refusal;
  const status = statusOfRefusal(kind);
  const headers = headersOf(kind, retryAfterSeconds);
  if (context.isMcp) context.message(status, errorMessage(rawId, refusalCode(status), message), headers);
  else context.json(status, { error: reasonPhrase(status), message }, headers);
}

function headersOf(kind: Refusal['kind'], retryAfterSeconds: number): HeaderList {
  if (kind === 'missing') return [['www-authenticate', 'Bearer']];
  // RFC 6750, section 3: the client should request another token.
  if (kind === 'wrong') return [['www-authenticate', 'Bearer error="invalid_token"']];
  return kind === 'unavailable' ? [['retry-after', String(retryAfterSeconds)]] : [];
}
