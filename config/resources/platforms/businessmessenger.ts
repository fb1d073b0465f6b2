// Schema and checks of triggers for BusinessMessenger (WhatsApp), a messenger for businesses. It sends
// messages to a webhook and receives answers by its cloud API.

import * as Type from 'typebox';
import { secret, text } from '../../text-schema.ts';
import { approval_allowed_users } from '../approval-rules.ts';
import { address, checkAddress } from '../fields/address.ts';
import { warnOfTwoCredentials } from '../fields/one-credential.ts';
import type { Filled } from '../fields/with-defaults.ts';
import { commandsInCommon, doListsOverlap } from '../triggers/ambiguous-triggers.ts';
import type { TriggerOf } from '../triggers/trigger-of.ts';
import type { TriggerType } from '../triggers/trigger-type.ts';
import { insecureAllowUnverified } from '../triggers/unverified.ts';
import { webhookPath } from '../triggers/webhook-path.ts';

const list = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { description, default: [], maxItems: 10_000 });

const businessMessengerConfigSchema = Type.Object(
  {
    bot_token: secret('Access token of the cloud API, named access_token or bot_token.'),
    phone_number_id: text('Id of the phone number that receives and sends.'),
    verify_token: secret('Token for the verification of the webhook by the platform.'),
    app_secret: Type.Optional(
      secret('Secret for the signature (HMAC-SHA256); required unless insecure_allow_unverified.'),
    ),
    business_account_id: Type.Optional(text('Id of the business account.')),
    path: webhookPath('Path of the webhook.', '/webhook/businessmessenger'),
    allowed_numbers: list('Phone numbers to respond to, in addition to allowed_users.'),
    allowed_users: list('Ids of users to respond to (US.1349…). Without both lists: all users.'),
    approval_allowed_users,
    api_version: Type.String({
      description: 'Version of the cloud API.',
      default: 'v18.0',
      pattern: '^v[0-9]{1,3}\\.[0-9]{1,3}$',
      patternErrorMessage: 'a version such as v24.0',
    }),
    graph_url: address('Base URL of the cloud API, without the version.', 'https://graph.facebook.com'),
    insecure_allow_unverified: insecureAllowUnverified,
  },
  { description: 'Messenger for businesses.' },
);

/** Config with defaults. `app_secret` is '' only for a trigger with `insecure_allow_unverified`. */
export type BusinessMessengerConfig = Omit<
  Filled<Type.Static<typeof businessMessengerConfigSchema>>,
  'app_secret'
> & { readonly app_secret: string };

/**
 * Oldest major version that the platform still supports: it supports a version for two years. The default of
 * `api_version` is older, and causes a warning.
 */
const OLDEST_SUPPORTED_VERSION = 21;

export const businessMessengerType: TriggerType<BusinessMessengerConfig> = {
  config: businessMessengerConfigSchema,
  isChat: true,
  // Without `welcome` in the trigger file, there is no message to new conversations.
  welcome: 'if-written',
  webhook: {},
  // The secret verifies the requests.
  proof: { setting: 'an app_secret', isGiven: (_, fields) => fields.has('app_secret') },
  isAmbiguous: doMessagesOverlap,
  checkAll(all) {
    warnOfTwoCredentials(all, 'bot_token', ({ phone_number_id, graph_url }) =>
      JSON.stringify([phone_number_id, graph_url]),
    );
  },
  complete(config, fields) {
    checkAddress(fields, 'graph_url', config.graph_url);
    for (const [index, number] of config.allowed_numbers.entries()) {
      if (!/^\+?[0-9]{5,20}$/.test(number))
        fields.reportItem(
          'allowed_numbers',
          index,
          'must be a phone number of digits, with or without a leading +',
        );
    }
    for (const [index, id] of config.allowed_users.entries())
      if (/^\+?[0-9]+$/.test(id))
        fields.reportItem('allowed_users', index, 'is a phone number; write it into allowed_numbers');
    const isOld = Number(/^v([0-9]+)/.exec(config.api_version)?.[1]) < OLDEST_SUPPORTED_VERSION;
    if (isOld && !fields.isFaulty('api_version'))
      fields.report(
        'api_version',
        `${config.api_version} is no longer supported by the platform, which uses its oldest version instead; write a current version, such as v24.0`,
        'warning',
      );
    return {
      ...config,
      app_secret: config.app_secret ?? '',
      graph_url: config.graph_url.replace(/\/+$/, ''),
      allowed_numbers: config.allowed_numbers.map((number) => number.replace(/^\+/, '')),
    };
  },
};

type NumberTrigger = TriggerOf<string, BusinessMessengerConfig>;

/**
 * Returns true if a message may match both triggers: they accept a common sender, and both have rules for
 * texts (`spec.routing`) or they have a common command. A trigger with lists of senders takes precedence over
 * a trigger without lists, so they do not overlap. The words of rules are not compared.
 */
function doMessagesOverlap(a: NumberTrigger, b: NumberTrigger): boolean {
  if (a.config.phone_number_id !== b.config.phone_number_id || a.config.app_secret !== b.config.app_secret)
    return false;
  const sendersOfA = [...a.config.allowed_numbers, ...a.config.allowed_users];
  const sendersOfB = [...b.config.allowed_numbers, ...b.config.allowed_users];
  if ((sendersOfA.length === 0) !== (sendersOfB.length === 0)) return false;
  if (!doListsOverlap(sendersOfA, sendersOfB, (one, other) => one === other)) return false;
  const haveRules = (a.rules ?? []).length > 0 && (b.rules ?? []).length > 0;
  return haveRules || commandsInCommon(a, b).length > 0;
}
