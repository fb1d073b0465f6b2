// Who may send to a trigger of type HTTP: its secret in one of two schemes, and its required headers. A trigger has one of
// the two at least, or says that it wants neither and is then open to this machine only.
//
// -    values of headers and signatures are compared in constant time.
// HV2  what is signed is the raw body; of a GET, which has none, the raw query, since that is what it says.

import { createHash, timingSafeEqual } from 'node:crypto';
import type { HttpTrigger } from '../../../config/resources/trigger.ts';
import { isHubShaped, isHubSigned } from '../hub-signature.ts';
import { loopbackOnly, type Verifier } from '../verified-subscribers.ts';
import type { WebhookRequest } from '../webhook.ts';
import {
  isStandardShaped,
  isStandardSigned,
  type StandardHeaders,
  standardKey,
} from './standard-signature.ts';

type Headers = WebhookRequest['headers'];

export interface HttpVerifier extends Verifier {
  readonly isOpen: boolean;
  /** Whether what fits proves its body as well. */
  readonly isSigned: boolean;
  /** Whether the headers that must be there are there and the signature is one: all that can be told before the body is in. */
  mayFit(request: WebhookRequest): boolean;
}

const STANDARD_SIGNATURE = 'webhook-signature';
const NO_BODY = Buffer.alloc(0);

/** Throws for a secret that is none in its scheme, and where nothing would prove who sends unless that was asked for. */
export function httpVerifier({ config }: HttpTrigger): HttpVerifier {
  const { scheme, signature_header, replay_window_seconds, required_headers } = config;
  const secrets = [config.webhook_secret, config.webhook_secret_previous].filter(
    (each) => each !== undefined,
  );
  if (secrets.includes('')) throw new Error('webhook_secret is empty');
  const values = Object.values(required_headers);
  if (values.some((value) => value.trim() === '')) throw new Error('a value of required_headers is empty');
  const hasHeaders = headerCheck(required_headers);
  const isSecretHeader = values.some((value) => value !== '*');
  const isOpen = secrets.length === 0 && !isSecretHeader;
  if (isOpen && !config.insecure_allow_unverified)
    throw new Error(
      'nothing proves who sends: there is no webhook_secret, and no required header with a value',
    );
  const keys = scheme === 'standard' ? secrets.map(standardKey) : [];
  const signature =
    secrets.length === 0 ? undefined : scheme === 'hub' ? signature_header : STANDARD_SIGNATURE;
  return {
    isOpen,
    isSigned: signature !== undefined,
    identity: JSON.stringify([scheme, signature_header, secrets, replay_window_seconds, required_headers]),
    mayFit(request) {
      const { headers } = request;
      if (!hasHeaders(headers)) return false;
      if (isOpen) return loopbackOnly.fits(request, NO_BODY);
      if (signature === undefined) return true;
      return scheme === 'hub' ? isHubShaped(headers[signature]) : isStandardShaped(partsOf(headers));
    },
    fits(request, body) {
      const { headers } = request;
      if (!hasHeaders(headers)) return false;
      if (isOpen) return loopbackOnly.fits(request, body);
      if (signature === undefined) return true;
      const bytes = signedBytes(request, body);
      if (scheme === 'hub') return isHubSigned(headers[signature], secrets, bytes);
      return isStandardSigned(partsOf(headers), keys, bytes, replay_window_seconds, Date.now());
    },
  };
}

function partsOf(headers: Headers): StandardHeaders {
  return {
    id: headers['webhook-id'],
    timestamp: headers['webhook-timestamp'],
    signatures: headers[STANDARD_SIGNATURE],
  };
}

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
