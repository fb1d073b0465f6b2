// What triggers of the types RepoHostB and RepoHostC may say in spec.config: two further hosts of repositories, which
// follow the pattern of the first. Their adapters are not built; their events have names of their own.

import * as Type from 'typebox';
import { secret } from '../../text-schema.ts';
import { address, checkAddress } from '../fields/address.ts';
import type { Filled } from '../fields/filled.ts';
import type { TriggerType } from '../triggers/trigger-type.ts';
import { webhookPath } from '../triggers/webhook-path.ts';

const names = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { description, default: [], maxItems: 1000 });

const siblingConfigSchema = (path: string) =>
  Type.Object(
    {
      webhook_secret: secret('Secret of the signature, or of the header.'),
      repo_events: names('Events to handle; none = all.'),
      repositories: names('Repositories to handle, with wildcards; none = all.'),
      branches: names('Branches to handle, with wildcards; none = all.'),
      path: webhookPath('Path of the webhook.', path),
      token: Type.Optional(secret('Token of the API, to answer with comments.')),
      api_url: Type.Optional(address('Base of the API.')),
      ignore_senders: names('Users whose events are ignored.'),
    },
    { description: 'Webhooks of another repository host.' },
  );

type SiblingConfig = Filled<Type.Static<ReturnType<typeof siblingConfigSchema>>>;

const sibling = (path: string): TriggerType<SiblingConfig, false> => ({
  config: siblingConfigSchema(path),
  isBuilt: false,
  maturity: 'Experimental',
  mentions: 'none',
  webhook: {},
  complete(config, fields) {
    checkAddress(fields, 'api_url', config.api_url);
    return config;
  },
});

export const repoHostBType = sibling('/webhook/repohostb');
