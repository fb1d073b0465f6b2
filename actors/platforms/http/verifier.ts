// Creates the verifier of an HTTP trigger: a signature with a shared secret (two schemes) or a token of an
// issuer, and required headers. A trigger with none of these must allow unverified requests, and accepts them
// only from this machine.
//
// Header values and signatures are compared in constant time. The signature covers the raw body; for a GET
// with an empty body it covers the raw query.

import { createHash, timingSafeEqual } from 'node:crypto';
import type { HttpConfig } from '../../../config/resources/platforms/http.ts';
import type { HttpTrigger } from '../../../config/resources/triggers/trigger.ts';
import { bearerToken } from '../../identity/jwt/bearer-token.ts';
import type { JwtVerifier } from '../../identity/jwt/jwt-verifier.ts';
import type { Principal } from '../../identity/principal.ts';
import { isHubShaped, isHubSigned } from '../webhooks/hub-signature.ts';
import { standardVerifier } from '../webhooks/standard-verifier.ts';
import { loopbackOnly, signer, unproven, type Verifier } from '../webhooks/verified-subscribers.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';

type Headers = WebhookRequest['headers'];

export interface HttpVerifier extends Verifier {
  /** True if the proof covers the body, as a signature does. */
  readonly isSigned: boolean;
}

/**
 * Proof of a request, apart from the required headers. `hasProof` checks the form of the headers before the
 * body is read; `verify` checks the proof itself.
 */
interface Proof extends Pick<HttpVerifier, 'isOpen' | 'isSigned' | 'hasProof' | 'verify'> {}

/**
 * Throws if a secret is malformed, or if there is no proof and the trigger does not allow unverified
 * requests. `tokens` verifies the tokens of scheme jwt.
 */
export function httpVerifier({ config }: HttpTrigger, tokens?: JwtVerifier): HttpVerifier {
  const { required_headers } = config;
  const hasHeaders = headerCheck(required_headers);
  const proof = proofOf(config, tokens);
  return {
    isOpen: proof.isOpen,
    isSigned: proof.isSigned,
    identity: verifierIdentity(config),
    hasProof: (request) => hasHeaders(request.headers) && proof.hasProof(request),
    verify: (request, body) => (hasHeaders(request.headers) ? proof.verify(request, body) : unproven),
  };
}

/** Returns the settings with the secrets, to recognise verifiers that accept the same requests. */
function verifierIdentity(config: HttpConfig): string {
  const { scheme, signature_header, replay_window_seconds, required_headers, jwt } = config;
  const secrets = secretsOf(config);
  return JSON.stringify([scheme, signature_header, secrets, replay_window_seconds, required_headers, jwt]);
}

function secretsOf({ webhook_secret, webhook_secret_previous }: HttpConfig): readonly string[] {
  return [webhook_secret, webhook_secret_previous].filter((each) => each !== undefined);
}

function proofOf(config: HttpConfig, tokens: JwtVerifier | undefined): Proof {
  const values = Object.values(config.required_headers);
  if (values.some((value) => value.trim() === '')) throw new Error('a value of required_headers is empty');
  if (config.scheme === 'jwt') return proofByToken(tokens);
  const secrets = secretsOf(config);
  if (secrets.includes('')) throw new Error('webhook_secret is empty');
  if (secrets.length > 0) return proofBySignature(config, secrets);
  if (values.some((value) => value !== '*')) return proofByHeader;
  if (config.insecure_allow_unverified) return noProof;
  throw new Error('requests cannot be verified: set webhook_secret or a required header with a value');
}

function proofBySignature(config: HttpConfig, secrets: readonly string[]): Proof {
  const { scheme, signature_header, replay_window_seconds } = config;
  const verdict = (isSigned: boolean) => (isSigned ? signer : unproven);
  const common = { isOpen: false, isSigned: true };
  if (scheme === 'hub')
    return {
      ...common,
      hasProof: ({ headers }) => isHubShaped(headers[signature_header]),
      verify: (request, body) =>
        verdict(isHubSigned(request.headers[signature_header], secrets, signedBytes(request, body))),
    };
  return { ...common, ...standardVerifier({ secrets, windowSeconds: replay_window_seconds, signedBytes }) };
}

/** Tokens do not protect the body: anyone with a token can send any body until the token expires. */
function proofByToken(tokens: JwtVerifier | undefined): Proof {
  if (tokens === undefined) throw new Error('the token verifier is missing');
  return {
    isOpen: false,
    isSigned: false,
    hasProof: ({ headers }) => bearerToken(headers) !== undefined,
    verify: ({ headers }) => tokens.principalOf(bearerToken(headers) ?? ''),
  };
}

const headerHolder: Principal = { kind: 'key', name: 'required_headers' };
const proofByHeader: Proof = {
  isOpen: false,
  isSigned: false,
  hasProof: () => true,
  verify: () => headerHolder,
};
const noProof: Proof = { ...loopbackOnly, isSigned: false };

function signedBytes({ method, query }: WebhookRequest, body: Buffer): Buffer {
  return method === 'GET' && body.length === 0 ? Buffer.from(query, 'latin1') : body;
}

/** Returns a check for the required headers and their values (`*`: any). */
function headerCheck(required: Readonly<Record<string, string>>): (headers: Headers) => boolean {
  const checks = Object.entries(required).map(
    ([name, value]) => [name, value === '*' ? undefined : digest(value)] as const,
  );
  return (headers) =>
    checks.every(([name, expected]) => {
      const value = headers[name];
      return value !== undefined && (expected === undefined || timingSafeEqual(digest(value), expected));
    });
}

/** Hashes to equal length, because comparing raw texts would reveal the expected length. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
