// Who may send to a trigger of type HTTP: its secret in one of two schemes, or the tokens of an issuer, and its required headers.
// A trigger has one of them at least, or says that it wants none and is then open to this machine only.
//
// Values of headers and signatures are compared in constant time.
//
// HV2  what is signed is the raw body; of a GET, which has none, the raw query, since that is what it says.

import { createHash, timingSafeEqual } from 'node:crypto';
import type { HttpConfig } from '../../../config/resources/platforms/http.ts';
import type { HttpTrigger } from '../../../config/resources/triggers/trigger.ts';
import { bearerToken } from '../../identity/jwt/bearer-token.ts';
import type { JwtVerifier } from '../../identity/jwt/jwt-verifier.ts';
import type { Principal } from '../../identity/principal.ts';
import { isHubShaped, isHubSigned } from '../webhooks/hub-signature.ts';
import { standardVerifier } from '../webhooks/standard-verifier.ts';
import { loopbackOnly, notProven, signer, type Verifier } from '../webhooks/verified-subscribers.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';

type Headers = WebhookRequest['headers'];

export interface HttpVerifier extends Verifier {
  /** Whether what fits proves its body as well. */
  readonly isSigned: boolean;
}

/** What proves a request, besides its required headers. */
interface Proof extends Pick<HttpVerifier, 'isOpen' | 'isSigned' | 'mayFit' | 'verify'> {}

/**
 * Throws for a secret that is none in its scheme, and where nothing would prove who sends unless that was asked for. `tokens`
 * verifies those of scheme jwt.
 */
export function httpVerifier({ config }: HttpTrigger, tokens?: JwtVerifier): HttpVerifier {
  const { required_headers } = config;
  const hasHeaders = headerCheck(required_headers);
  const proof = proofOf(config, tokens);
  return {
    isOpen: proof.isOpen,
    isSigned: proof.isSigned,
    identity: identityOf(config),
    mayFit: (request) => hasHeaders(request.headers) && proof.mayFit(request),
    verify: (request, body) => (hasHeaders(request.headers) ? proof.verify(request, body) : notProven),
  };
}

function identityOf(config: HttpConfig): string {
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
  throw new Error(
    'nothing proves who sends: there is no webhook_secret, and no required header with a value',
  );
}

function proofBySignature(config: HttpConfig, secrets: readonly string[]): Proof {
  const { scheme, signature_header, replay_window_seconds } = config;
  const verdict = (isSigned: boolean) => (isSigned ? signer : notProven);
  const common = { isOpen: false, isSigned: true };
  if (scheme === 'hub')
    return {
      ...common,
      mayFit: ({ headers }) => isHubShaped(headers[signature_header]),
      verify: (request, body) =>
        verdict(isHubSigned(request.headers[signature_header], secrets, signedBytes(request, body))),
    };
  return { ...common, ...standardVerifier({ secrets, windowSeconds: replay_window_seconds, signedBytes }) };
}

/** The body is not signed with it: whoever has seen a token can send anything until it has expired. */
function proofByToken(tokens: JwtVerifier | undefined): Proof {
  if (tokens === undefined) throw new Error('nothing verifies tokens');
  return {
    isOpen: false,
    isSigned: false,
    mayFit: ({ headers }) => bearerToken(headers) !== undefined,
    verify: ({ headers }) => tokens.principalOf(bearerToken(headers) ?? ''),
  };
}

const knowsHeader: Principal = { kind: 'key', name: 'required_headers' };
const proofByHeader: Proof = {
  isOpen: false,
  isSigned: false,
  mayFit: () => true,
  verify: () => knowsHeader,
};
const noProof: Proof = { ...loopbackOnly, isSigned: false };

function signedBytes({ method, query }: WebhookRequest, body: Buffer): Buffer {
  return method === 'GET' && body.length === 0 ? Buffer.from(query, 'latin1') : body;
}

/** Whether the headers an operator requires are there, with their values (`*`: any). */
function headerCheck(required: Readonly<Record<string, string>>): (headers: Headers) => boolean {
  const wanted = Object.entries(required).map(
    ([name, value]) => [name, value === '*' ? undefined : digest(value)] as const,
  );
  return (headers) =>
    wanted.every(([name, expected]) => {
      const given = headers[name];
      return given !== undefined && (expected === undefined || timingSafeEqual(digest(given), expected));
    });
}

/** Of equal length whatever the text: to compare texts as they are would tell how long the right one is. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
