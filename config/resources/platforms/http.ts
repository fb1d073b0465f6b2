// Schema and checks of HTTP triggers: requests from any program, verified by a signature, a token or a
// header.

import * as Type from 'typebox';
import { maxTimerSeconds, seconds } from '../../duration-schema.ts';
import { urlOf } from '../../gateway-file/listen-addr.ts';
import { jwtFault, jwtSchema } from '../../jwt-schema.ts';
import { headersByName, secret } from '../../text-schema.ts';
import type { Filled } from '../fields/with-defaults.ts';
import { commandsInCommon, haveSecretInCommon } from '../triggers/ambiguous-triggers.ts';
import type { Fields, TriggerType } from '../triggers/trigger-type.ts';
import { insecureAllowUnverified } from '../triggers/unverified.ts';
import { checkOwnPort, webhookPath } from '../triggers/webhook-path.ts';

const httpConfigSchema = Type.Object(
  {
    path: webhookPath('Path of the webhook.', '/'),
    methods: Type.Array(Type.Enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']), {
      description: 'Accepted HTTP methods.',
      default: ['POST'],
    }),
    webhook_secret: Type.Optional(secret('Secret for the signature (HMAC-SHA256).')),
    webhook_secret_previous: Type.Optional(secret('Previous secret, still accepted during a rotation.')),
    scheme: Type.Enum(['hub', 'standard', 'jwt'], {
      description:
        'Verification of requests: hub (HMAC of the body), standard (Standard Webhooks, with signed time and id) or jwt (bearer token, without a signed body).',
      default: 'hub',
    }),
    signature_header: Type.String({
      description: 'Header with the signature, for scheme hub.',
      default: 'x-hub-signature-256',
      pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
      patternErrorMessage: 'an HTTP header name',
    }),
    jwt: Type.Optional(jwtSchema('Accepted tokens, for scheme jwt.')),
    required_headers: headersByName('Required headers with their values; * = any value.'),
    port: Type.Optional(
      Type.Integer({
        description: "Separate listen port. Default: the gateway's listener.",
        minimum: 0,
        maximum: 65_535,
      }),
    ),
    host: Type.Optional(
      Type.String({
        description: 'Listen host, together with port. Default: 127.0.0.1.',
        pattern: '^([A-Za-z0-9._-]+|[0-9A-Fa-f:.]+)$',
        patternErrorMessage: 'a host name or an IP address',
      }),
    ),
    key: Type.Optional(
      Type.String({
        description:
          'Conversation key of an event: header:NAME, or body:MEMBER.MEMBER of a JSON body. Default: a single conversation per trigger.',
        pattern: "^(header:[!#$%&'*+.^_`|~0-9A-Za-z-]+|body:[^.\\s]+(\\.[^.\\s]+)*)$",
        patternErrorMessage: 'header:NAME or body:MEMBER.MEMBER',
      }),
    ),
    respond: Type.Enum(['async', 'sync'], {
      description: 'Response mode; sync returns the answer of the agent in the response.',
      default: 'async',
    }),
    respond_timeout_seconds: seconds('Maximum wait with respond sync, before status 202 is returned.', 30),
    replay_window_seconds: Type.Optional(
      Type.Number({
        description:
          'With scheme standard, the maximum difference to the signed time; default 300. With scheme hub, the time during which a repeated signed body is a duplicate, even with a different request id; default 0 = never.',
        minimum: 0,
        maximum: maxTimerSeconds,
      }),
    ),
    insecure_allow_unverified: insecureAllowUnverified,
  },
  { description: 'Requests from any program.' },
);

/** Default clock tolerance of scheme `standard`, as in the libraries of Standard Webhooks. */
const STANDARD_WINDOW_SECONDS = 300;

/**
 * Config with defaults; header names are in lower case. `host` is set if `port` is set; otherwise the trigger
 * uses the gateway's listener.
 */
export type HttpConfig = Omit<
  Filled<Type.Static<typeof httpConfigSchema>>,
  'methods' | 'replay_window_seconds'
> & {
  readonly methods: readonly string[];
  readonly replay_window_seconds: number;
};

export const httpType: TriggerType<HttpConfig> = {
  config: httpConfigSchema,
  maturity: 'Stable',
  webhook: {
    address: ({ host, port }) => (host === undefined || port === undefined ? undefined : { host, port }),
  },
  // The secret, the token or the header verifies the requests.
  proof: {
    setting: 'a webhook_secret, or required_headers with a value',
    isGiven: (config, fields) =>
      config.scheme === 'jwt' || fields.has('webhook_secret') || isVerifiedByHeader(config, fields),
  },
  isAmbiguous: (a, b) => doRequestsOverlap(a.config, b.config) && commandsInCommon(a, b).length > 0,
  describeSource({ config }, url) {
    const { methods, path, port, host = '127.0.0.1' } = config;
    const address = `${port === undefined ? url : urlOf({ host, port })}${path}`;
    // With port 0 the port is unknown until the start.
    const isOpen = isUnverifiedConfig(config) && port !== 0 && methods.includes('POST');
    return { text: `${methods.join(', ')} ${address}`, openUrl: isOpen ? address : undefined };
  },
  complete(config, fields, listen) {
    const { port, methods } = config;
    checkOwnPort(fields, config, listen);
    if (methods.length === 0) fields.report('methods', 'must contain at least one method');
    const host = port === undefined ? undefined : (config.host ?? '127.0.0.1');
    checkHeaderValues(config, fields);
    checkVerification(config, fields);
    if (config.scheme === 'standard') checkStandardSecrets(config, fields);
    return {
      ...config,
      methods: [...new Set(methods)],
      replay_window_seconds:
        config.replay_window_seconds ?? (config.scheme === 'standard' ? STANDARD_WINDOW_SECONDS : 0),
      signature_header: config.signature_header.toLowerCase(),
      required_headers: lowerCased(config.required_headers, fields),
      host,
    };
  },
};

function checkVerification(config: HttpConfig, fields: Fields): void {
  if (config.scheme === 'jwt') {
    checkTokens(config, fields);
    return;
  }
  if (fields.has('jwt')) fields.reportKey('jwt', 'has no effect without scheme: jwt');
  if (!fields.has('webhook_secret') && fields.has('webhook_secret_previous'))
    fields.reportKey('webhook_secret_previous', 'requires webhook_secret, which is missing');
  const isStandard = config.scheme === 'standard';
  if (isStandard && !fields.has('webhook_secret')) fields.report('scheme', 'needs a webhook_secret');
  if (isStandard && config.replay_window_seconds === 0)
    fields.report('replay_window_seconds', 'must be above 0 with scheme standard');
  if (!fields.has('webhook_secret') && fields.has('replay_window_seconds'))
    fields.reportKey('replay_window_seconds', 'has no effect: nothing is signed', 'warning');
}

function checkTokens({ jwt }: HttpConfig, fields: Fields): void {
  for (const key of ['webhook_secret', 'webhook_secret_previous', 'replay_window_seconds'] as const)
    if (fields.has(key))
      fields.reportKey(key, 'has no effect with scheme jwt, where only the token is signed');
  if (!fields.has('jwt')) fields.report('scheme', 'needs jwt, with the issuer of the tokens');
  const fault = jwt && jwtFault(jwt);
  if (fault !== undefined) fields.reportItem('jwt', fault.field, fault.message);
}

function isUnverifiedConfig({ webhook_secret, required_headers, scheme }: HttpConfig): boolean {
  return webhook_secret === undefined && scheme !== 'jwt' && Object.keys(required_headers).length === 0;
}

/**
 * Returns true if a required header verifies the sender. `*` accepts any value and verifies nothing. An
 * invalid value was reported, and counts as verification to avoid a second error.
 */
function isVerifiedByHeader({ required_headers }: HttpConfig, fields: Fields): boolean {
  const values = Object.values(required_headers);
  return values.some((value) => value !== '*') || !fields.isWhole('required_headers', required_headers);
}

/**
 * Reports header values that prove nothing, such as the empty value of an unset variable, and values with
 * blanks at an end, which are lost in headers.
 */
function checkHeaderValues({ required_headers }: HttpConfig, fields: Fields): void {
  for (const [name, value] of Object.entries(required_headers)) {
    if (value.trim() === '')
      fields.reportItem('required_headers', name, 'is empty and proves nothing; * accepts any value');
    else if (!/^[!-~](.*[!-~])?$/.test(value))
      fields.reportItem(
        'required_headers',
        name,
        'begins or ends with a blank or a non-ASCII character, which is lost in transit',
      );
  }
}

/** Standard Webhooks secrets are base64, with or without a `whsec_` prefix. */
function checkStandardSecrets(config: HttpConfig, fields: Fields): void {
  for (const key of ['webhook_secret', 'webhook_secret_previous'] as const) {
    const text = config[key]?.replace(/^whsec_/, '');
    if (text !== undefined && !/^[A-Za-z0-9+/]+={0,2}$/.test(text))
      fields.report(key, 'must be base64 with scheme standard, with or without a whsec_ prefix');
  }
}

function lowerCased(headers: Readonly<Record<string, string>>, fields: Fields): Record<string, string> {
  const result: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(headers)) {
    const key = name.toLowerCase();
    if (result[key] !== undefined) fields.report('required_headers', `names ${key} twice`);
    result[key] = value;
  }
  return result;
}

/** Returns true if a request may pass the checks of both triggers. */
function doRequestsOverlap(a: HttpConfig, b: HttpConfig): boolean {
  if (!a.methods.some((method) => b.methods.includes(method))) return false;
  if ((a.scheme === 'jwt') !== (b.scheme === 'jwt') || a.jwt?.issuer !== b.jwt?.issuer) return false;
  if (!haveSecretInCommon(a, b)) return false;
  if (a.webhook_secret !== undefined && (a.scheme !== b.scheme || a.signature_header !== b.signature_header))
    return false;
  return Object.entries(a.required_headers).every(([name, value]) => {
    const other = b.required_headers[name] ?? '*';
    return value === '*' || other === '*' || value === other;
  });
}
