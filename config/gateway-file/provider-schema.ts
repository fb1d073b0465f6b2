// Schemas of model providers and token prices in the gateway file. providers.ts resolves them with the
// environment.

import * as Type from 'typebox';
import { maxTimerSeconds } from '../duration-schema.ts';
import { address } from '../resources/fields/address.ts';
import { headersByName } from '../text-schema.ts';

export const providerTypes = [
  'openai',
  'anthropic',
  'google',
  'groq',
  'ollama',
  'openai-compatible',
] as const;

export type ProviderType = (typeof providerTypes)[number];

/** Pattern of provider names, in `providers` and before the colon in model names. */
export const providerName = '[A-Za-z0-9][A-Za-z0-9._-]{0,62}';

/** Pattern of keys that can be sent in a header. */
export const sendableKeyPattern = '^([!-~]([ -~]*[!-~])?)?$';

/** Mapping from names that match the pattern `key`; `keyMeaning` describes the names in messages. */
const byName = <Member extends Type.TSchema>(
  key: string,
  keyMeaning: string,
  member: Member,
  description: string,
) =>
  Type.Unsafe<Readonly<Record<string, Type.Static<Member>>>>({
    type: 'object',
    patternProperties: { [key]: member },
    additionalProperties: false,
    patternErrorMessage: keyMeaning,
    description,
    default: {},
  });

const providerSchema = Type.Object({
  type: Type.Optional(
    Type.Enum([...providerTypes], {
      description:
        'Protocol of the API. Default: the provider name if it is a known type, otherwise openai-compatible.',
    }),
  ),
  api_key: Type.Optional(
    Type.String({
      description:
        'API key, as a reference to a variable. Default without base_url: the usual variable of the type.',
      pattern: sendableKeyPattern,
      patternErrorMessage: 'printable ASCII characters without spaces or line breaks at either end',
      writeOnly: true,
    }),
  ),
  base_url: Type.Optional(
    address('Base URL of the API. Default: by type; for ollama OLLAMA_HOST or this machine.'),
  ),
  headers: Type.Optional(headersByName('HTTP headers sent with every request.')),
  structured_output: Type.Optional(
    Type.Enum(['json_schema', 'json_object', 'prompt'], {
      description:
        'Method for structured output: JSON with the schema, any JSON, or only a prompt. Default: json_schema; for groq json_object, for openai-compatible prompt.',
    }),
  ),
  timeout_seconds: Type.Optional(
    Type.Number({
      description: 'Maximum time without data in a response. Default: 120 before the first data, then 60.',
      exclusiveMinimum: 0,
      maximum: maxTimerSeconds,
    }),
  ),
});

const price = (description: string) => Type.Number({ description, minimum: 0, maximum: 1_000_000 });

const priceSchema = Type.Object({
  input: price('Price per million input tokens.'),
  output: price('Price per million output tokens.'),
  cached_input: Type.Optional(price('Price per million cached input tokens. Default: the price of input.')),
});

export const providersSchema = byName(
  `^${providerName}$`,
  'a name of A-Z a-z 0-9 . _ -',
  providerSchema,
  'Model providers by name. openai, anthropic, google, groq and ollama need no entry.',
);

export const pricesSchema = byName(
  `^${providerName}:\\S+$`,
  'PROVIDER:MODEL, such as google:gemini-2.5-flash',
  priceSchema,
  'Model prices by PROVIDER:MODEL, in any currency. Default: none.',
);

/** Provider before defaults. */
export type WrittenProvider = Type.Static<typeof providerSchema>;
export type WrittenProviders = Type.Static<typeof providersSchema>;

export type Prices = Type.Static<typeof pricesSchema>;
