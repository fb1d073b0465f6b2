// What a trigger of type BusinessMessenger may say in spec.config: a messenger for businesses, by webhook and cloud API.

import * as Type from 'typebox';
import { secret, text } from '../../text-schema.ts';
import { address, checkAddress } from '../address.ts';
import type { Filled } from '../filled.ts';
import type { TriggerType } from '../trigger-type.ts';
import { checkUnverified, insecureAllowUnverified } from '../unverified.ts';

const list = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { description, default: [], maxItems: 10_000 });

const businessMessengerConfigSchema = Type.Object(
  {
    bot_token: secret('Access token of the cloud API; access_token is the same.'),
    phone_number_id: text('Id of the phone number that sends.'),
    verify_token: secret('What proves that the webhook is ours when the platform asks.'),
    app_secret: Type.Optional(secret('Secret of the signature (HMAC-SHA256).')),
    business_account_id: Type.Optional(text('Id of the business account.')),
    allowed_numbers: list('Phone numbers that are answered; none = all.'),
    allowed_users: list('Users without a phone number that are answered, by their ids; none = all.'),
    api_version: Type.String({
      description: 'Version of the cloud API.',
      default: 'v18.0',
      pattern: '^v[0-9]+\\.[0-9]+$',
      patternErrorMessage: 'a version such as v18.0',
    }),
    graph_url: Type.Optional(address('Base of the cloud API.')),
    insecure_allow_unverified: insecureAllowUnverified,
  },
  { description: 'A messenger for businesses.' },
);

type BusinessMessengerConfig = Filled<Type.Static<typeof businessMessengerConfigSchema>>;

export const businessMessengerType: TriggerType<BusinessMessengerConfig> = {
  config: businessMessengerConfigSchema,
  isBuilt: false,
  complete(config, fields, listen) {
    checkAddress(fields, 'graph_url', config.graph_url);
    if (!fields.has('app_secret'))
      checkUnverified(fields, config.insecure_allow_unverified, 'an app_secret', listen?.host);
    for (const [index, number] of config.allowed_numbers.entries()) {
      if (!/^\+?[0-9]{5,20}$/.test(number))
        fields.reportItem(
          'allowed_numbers',
          index,
          'must be a phone number of digits, with or without a leading +',
        );
    }
    return config;
  },
};
