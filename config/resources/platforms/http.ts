// What a trigger of type HTTP may say in spec.config: requests that any program sends, signed or with a header that
// proves them.

import * as Type from 'typebox';
import { seconds, secondsOrZero } from '../../duration-schema.ts';
import { urlOf } from '../../gateway-file/listen-addr.ts';
import { jwtFault, jwtSchema } from '../../jwt-schema.ts';
import { headersByName, secret } from '../../text-schema.ts';
import type { Filled } from '../fields/filled.ts';
import { commandsInCommon, haveSecretInCommon } from '../triggers/ambiguous-triggers.ts';
import type { Fields, TriggerType } from '../triggers/trigger-type.ts';
import { insecureAllowUnverified } from '../triggers/unverified.ts';
import { checkOwnPort, webhookPath } from '../triggers/webhook-path.ts';

const httpConfigSchema = Type.Object(
  {
    path: webhookPath('Path of the webhook.', '/'),
    methods: Type.Array(Type.Enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']), {
      description: 'Methods that are accepted.',
      default: ['POST'],
    }),
    webhook_secret: Type.Optional(secret('Secret of the signature (HMAC-SHA256).')),
    webhook_secret_previous: Type.Optional(
      secret('A secret still accepted while senders change to the new one.'),
    ),
    scheme: Type.Enum(['hub', 'standard', 'jwt'], {
      description:
        'How requests are proven: hub (sha256=HEX over the body), standard (Standard Webhooks, whose time and id are signed too) or jwt (a bearer token; the body is not signed).',
      default: 'hub',
    }),
    signature_header: Type.String({
      description: 'Header with the signature under scheme hub.',
      default: 'x-hub-signature-256',
      pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
      patternErrorMessage: 'an HTTP header name',
    }),
    jwt: Type.Optional(jwtSchema('Whose tokens are taken under scheme jwt.')),
    required_headers: headersByName('Headers that must be there, with their values; * = any value.'),
    port: Type.Optional(
      Type.Integer({
        description: "A port of its own; without it the gateway's listener is used.",
        minimum: 0,
        maximum: 65_535,
      }),
    ),
    host: Type.Optional(
      Type.String({
        description: 'Host to listen on, with port. Default 127.0.0.1.',
        pattern: '^([A-Za-z0-9._-]+|[0-9A-Fa-f:.]+)$',
        patternErrorMessage: 'a host name or an IP address',
      }),
    ),
    key: Type.Optional(
      Type.String({
        description:
          'Which events belong to one conversation: header:NAME, or body:MEMBER.MEMBER of a JSON body. Without it, all of the trigger.',
        pattern: "^(header:[!#$%&'*+.^_`|~0-9A-Za-z-]+|body:[^.\\s]+(\\.[^.\\s]+)*)$",
        patternErrorMessage: 'header:NAME or body:MEMBER.MEMBER',
      }),
    ),
    respond: Type.Enum(['async', 'sync'], {
      description: 'sync: the answer of the agent is the answer to the request.',
      default: 'async',
    }),
    respond_timeout_seconds: seconds('Under respond sync, 202 is answered after this long.', 30),
    replay_window_seconds: secondsOrZero(
      'Under scheme standard how far the signed time may be off. Under scheme hub for how long the same signed body under another id is the same event; 0: it is another.',
      300,
    ),
    insecure_allow_unverified: insecureAllowUnverified,
  },
  { description: 'Requests of any program.' },
);

/**
 * Filled; names of headers are in lower case. With `port` there is a `host`; without, the gateway's listener is meant.
 */
export type HttpConfig = Omit<Filled<Type.Static<typeof httpConfigSchema>>, 'methods'> & {
  readonly methods: readonly string[];
};

export const httpType: TriggerType<HttpConfig> = {
  config: httpConfigSchema,
  maturity: 'Stable',
  webhook: {
    address: ({ host, port }) => (host === undefined || port === undefined ? undefined : { host, port }),
  },
  proof: {
    what: 'a webhook_secret, or required_headers with a value',
    isGiven: (config, fields) =>
      config.scheme === 'jwt' || fields.has('webhook_secret') || isProvenByHeader(config, fields),
  },
  isAmbiguous: (a, b) => doRequestsMeet(a.config, b.config) && commandsInCommon(a, b).length > 0,
  wayIn({ config }, url) {
    const { methods, path, port, host = '127.0.0.1' } = config;
    const at = `${port === undefined ? url : urlOf({ host, port })}${path}`;
    const isOpen = isProvenByNothing(config) && port !== 0 && methods.includes('POST');
    return { text: `${methods.join(', ')} ${at}`, openUrl: isOpen ? at : undefined };
  },
  complete(config, fields, listen) {
    const { port, methods } = config;
    checkOwnPort(fields, config, listen);
    if (methods.length === 0) fields.report('methods', 'must name a method at least');
    const host = port === undefined ? undefined : (config.host ?? '127.0.0.1');
    checkHeaderValues(config, fields);
    checkVerification(config, fields);
    if (config.scheme === 'standard') checkStandardSecrets(config, fields);
    return {
      ...config,
      methods: [...new Set(methods)],
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
    fields.reportKey('webhook_secret_previous', 'stands beside webhook_secret, which is missing');
  const isStandard = config.scheme === 'standard';
  if (isStandard && !fields.has('webhook_secret')) fields.report('scheme', 'needs a webhook_secret');
  if (isStandard && config.replay_window_seconds === 0)
    fields.report('replay_window_seconds', 'must be above 0 under scheme standard');
  if (!fields.has('webhook_secret') && fields.has('replay_window_seconds'))
    fields.reportKey('replay_window_seconds', 'has no effect: nothing is signed', 'warning');
}

function checkTokens({ jwt }: HttpConfig, fields: Fields): void {
  for (const key of ['webhook_secret', 'webhook_secret_previous', 'replay_window_seconds'] as const)
    if (fields.has(key))
      fields.reportKey(key, 'has no effect under scheme jwt, where nothing is signed but the token');
  if (!fields.has('jwt')) fields.report('scheme', 'needs jwt, which says whose tokens are taken');
  const fault = jwt && jwtFault(jwt);
  if (fault !== undefined) fields.reportItem('jwt', fault.field, fault.message);
}

function isProvenByNothing({ webhook_secret, required_headers, scheme }: HttpConfig): boolean {
  return webhook_secret === undefined && scheme !== 'jwt' && Object.keys(required_headers).length === 0;
}

/** Any value will do for `*`, so it proves nothing; of a value that could not be read the best is assumed. */
function isProvenByHeader({ required_headers }: HttpConfig, fields: Fields): boolean {
  const values = Object.values(required_headers);
  return values.some((value) => value !== '*') || !fields.isWhole('required_headers', required_headers);
}

/** Everybody can send an empty header: the variable behind it has no value, say. Of others the ends may not arrive. */
function checkHeaderValues({ required_headers }: HttpConfig, fields: Fields): void {
  for (const [name, value] of Object.entries(required_headers)) {
    if (value.trim() === '')
      fields.reportItem('required_headers', name, 'is empty, which proves nothing; * is any value');
    else if (!/^[!-~](.*[!-~])?$/.test(value))
      fields.reportItem(
        'required_headers',
        name,
        'begins or ends with a blank or a character beyond ASCII, which headers lose on their way',
      );
  }
}

/** Of Standard Webhooks, base64 with or without `whsec_` before it. */
function checkStandardSecrets(config: HttpConfig, fields: Fields): void {
  for (const key of ['webhook_secret', 'webhook_secret_previous'] as const) {
    const text = config[key]?.replace(/^whsec_/, '');
    if (text !== undefined && !/^[A-Za-z0-9+/]+={0,2}$/.test(text))
      fields.report(key, 'must be base64 under scheme standard, with or without whsec_ before it');
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

function doRequestsMeet(a: HttpConfig, b: HttpConfig): boolean {
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
