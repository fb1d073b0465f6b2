// Who serves models, as the gateway file says it, and what their tokens cost. providers.ts makes of it, and of the environment,
// what is asked.

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

/** Of the name of a provider, in `providers` and before the colon of a model. */
export const providerName = '[A-Za-z0-9][A-Za-z0-9._-]{0,62}';

/** Of a key: anything else cannot be sent in a header as it is. */
export const sendable = '^([!-~]([ -~]*[!-~])?)?$';

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
        'Protocol that it speaks. Default: its name, where that is one of these; else openai-compatible.',
    }),
  ),
  api_key: Type.Optional(
    Type.String({
      description:
        'Key of the account, as a reference to a variable. Default: the usual variable of the type, where there is no base_url.',
      pattern: sendable,
      patternErrorMessage: 'printable ASCII characters without spaces or line breaks at either end',
      writeOnly: true,
    }),
  ),
  base_url: Type.Optional(
    address('Where its API is. Default: that of the type, and for ollama OLLAMA_HOST or this machine.'),
  ),
  headers: Type.Optional(headersByName('HTTP headers sent with every request.')),
  structured_output: Type.Optional(
    Type.Enum(['json_schema', 'json_object', 'prompt'], {
      description:
        'How it is asked for answers by a schema: with the schema, for any JSON, or in words only. Default: json_schema; for groq json_object, for openai-compatible prompt.',
    }),
  ),
  timeout_seconds: Type.Optional(
    Type.Number({
      description:
        'An answer in which nothing comes for so long has failed. Default: 120 until it begins, and 60 from then on.',
      exclusiveMinimum: 0,
      maximum: maxTimerSeconds,
    }),
  ),
});

const price = (description: string) => Type.Number({ description, minimum: 0, maximum: 1_000_000 });

const priceSchema = Type.Object({
  input: price('A million tokens that are read.'),
  output: price('A million tokens that are written.'),
  cached_input: Type.Optional(
    price('A million tokens that are read from a cache of the provider. Default: as input.'),
  ),
});

export const providersSchema = byName(
  `^${providerName}$`,
  'a name of A-Z a-z 0-9 . _ -',
  providerSchema,
  'Who serves models, by name. openai, anthropic, google, groq and ollama are known without an entry.',
);

export const pricesSchema = byName(
  `^${providerName}:\\S+$`,
  'PROVIDER:MODEL, such as google:gemini-2.5-flash',
  priceSchema,
  'What models cost, by PROVIDER:MODEL, in any currency. None are built in.',
);

/** As written. */
export type WrittenProvider = Type.Static<typeof providerSchema>;
export type WrittenProviders = Type.Static<typeof providersSchema>;

export type Prices = Type.Static<typeof pricesSchema>;
