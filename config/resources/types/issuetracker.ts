// What a trigger of type IssueTracker may say in spec.config: webhooks of a tracker of issues.

import * as Type from 'typebox';
import { secret, text } from '../../text-schema.ts';
import { address, checkAddress } from '../fields/address.ts';
import type { Filled } from '../fields/filled.ts';
import type { TriggerType } from '../triggers/trigger-type.ts';
import { insecureAllowUnverified } from '../triggers/unverified.ts';
import { webhookPath } from '../triggers/webhook-path.ts';

const issueTrackerConfigSchema = Type.Object(
  {
    webhook_secret: Type.Optional(secret('Secret of the signature, or of the header.')),
    auth_mode: Type.Enum(['hmac', 'static', 'jwt'], {
      description: 'How requests are proven: by a signature, by a fixed header, or by a token.',
      default: 'hmac',
    }),
    base_url: address('Address of the tracker.'),
    api_token: Type.Optional(secret('Token of the API.')),
    email: Type.Optional(text('Account that the token belongs to.')),
    projects: Type.Array(
      Type.String({
        pattern: '^[A-Z][A-Z0-9_]*$',
        patternErrorMessage: 'the key of a project, such as OPS',
      }),
      { description: 'Projects to handle; none = all.', default: [], maxItems: 1000 },
    ),
    issue_types: Type.Array(Type.String({ minLength: 1 }), {
      description: 'Types of issues to handle; none = all.',
      default: [],
      maxItems: 1000,
    }),
    jql_filter: Type.Optional(text('Issues to handle, as a query.')),
    path: webhookPath('Path of the webhook.', '/webhook/issuetracker'),
    insecure_allow_unverified: insecureAllowUnverified,
  },
  { description: 'Webhooks of an issue tracker.' },
);

type IssueTrackerConfig = Filled<Type.Static<typeof issueTrackerConfigSchema>>;

export const issueTrackerType: TriggerType<IssueTrackerConfig, false> = {
  config: issueTrackerConfigSchema,
  isBuilt: false,
  maturity: 'Stable',
  webhook: {},
  proof: {
    what: 'a webhook_secret',
    isGiven: (_, fields) => fields.has('webhook_secret'),
  },
  complete(config, fields) {
    checkAddress(fields, 'base_url', config.base_url);
    if (fields.has('email') !== fields.has('api_token'))
      fields.report('', 'email and api_token belong together');
    return config;
  },
};
