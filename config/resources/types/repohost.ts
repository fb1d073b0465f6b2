// What a trigger of type RepoHost may say in spec.config: webhooks of a host of repositories.

import * as Type from 'typebox';
import { maxTimerSeconds } from '../../duration-schema.ts';
import { secret } from '../../text-schema.ts';
import { address, checkAddress } from '../fields/address.ts';
import type { Filled } from '../fields/filled.ts';
import { eventsOfAnyBranch, haveEventInCommon, repoEventFault } from '../fields/repo-events.ts';
import { branchFault, repositoryFault } from '../fields/wildcards.ts';
import {
  commandsInCommon,
  doListsMeet,
  doNamesMeet,
  haveSecretInCommon,
} from '../triggers/ambiguous-triggers.ts';
import type { TriggerOf } from '../triggers/trigger.ts';
import type { Fields, TriggerType } from '../triggers/trigger-type.ts';
import { insecureAllowUnverified } from '../triggers/unverified.ts';
import { webhookPath } from '../triggers/webhook-path.ts';

const names = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { description, default: [], maxItems: 1000 });

const repoHostConfigSchema = Type.Object(
  {
    webhook_secret: Type.Optional(
      secret('Secret of the signature (HMAC-SHA256); required unless insecure_allow_unverified.'),
    ),
    webhook_secret_previous: Type.Optional(
      secret('A secret still accepted while the host changes to the new one.'),
    ),
    repo_events: names('Events to handle, such as pull_request or pull_request.opened; none = all.'),
    repositories: names('Repositories to handle, owner/repo with wildcards; none = all.'),
    branches: names('Branches to handle, with wildcards such as release/*; none = all.'),
    path: webhookPath('Path of the webhook.', '/webhook/repohost'),
    token: Type.Optional(
      secret('Token of the API: to answer with comments, and to ask for failed deliveries again.'),
    ),
    api_url: address('Base of the API.', 'https://api.github.com'),
    ignore_senders: names('Logins whose events are ignored, besides the login of the token.'),
    replay_window_seconds: Type.Optional(
      Type.Number({
        description:
          'For so long the same signed body under another id is the same event; without it an hour. 0: it is another event.',
        minimum: 0,
        maximum: maxTimerSeconds,
      }),
    ),
    insecure_allow_unverified: insecureAllowUnverified,
  },
  { description: 'Webhooks of a repository host.' },
);

/** Filled; `webhook_secret` is '' under insecure_allow_unverified alone. */
export type RepoHostConfig = Omit<Filled<Type.Static<typeof repoHostConfigSchema>>, 'webhook_secret'> & {
  readonly webhook_secret: string;
};

export const repoHostType: TriggerType<RepoHostConfig, true> = {
  config: repoHostConfigSchema,
  isBuilt: true,
  maturity: 'Stable',
  mentions: 'none',
  webhook: {},
  proof: { what: 'a webhook_secret', isGiven: (_, fields) => fields.has('webhook_secret') },
  isAmbiguous: doReposMeet,
  complete(config, fields) {
    checkAddress(fields, 'api_url', config.api_url);
    checkEach(fields, 'repo_events', config.repo_events, repoEventFault);
    checkEach(fields, 'repositories', config.repositories, repositoryFault);
    checkEach(fields, 'branches', config.branches, branchFault);
    if (!fields.has('webhook_secret') && fields.has('webhook_secret_previous'))
      fields.reportKey('webhook_secret_previous', 'stands beside webhook_secret, which is missing');
    return {
      ...config,
      webhook_secret: config.webhook_secret ?? '',
      api_url: config.api_url.replace(/\/+$/, ''),
      ignore_senders: config.ignore_senders.map((login) => login.toLowerCase()),
    };
  },
  commandFault: repoEventFault,
};

function checkEach(
  fields: Fields,
  key: string,
  items: readonly string[],
  faultOf: (item: string) => string | undefined,
): void {
  for (const [index, item] of items.entries()) {
    const fault = faultOf(item);
    if (fault !== undefined) fields.reportItem(key, index, fault);
  }
}

type Repos = TriggerOf<string, RepoHostConfig>;

function doReposMeet(a: Repos, b: Repos): boolean {
  if (!haveSecretInCommon(a.config, b.config)) return false;
  if (!doListsMeet(a.config.repositories, b.config.repositories, doNamesMeet, true)) return false;
  const { repo_events: as } = a.config;
  const { repo_events: bs } = b.config;
  const commands = commandsInCommon(a, b).map((command) => (command === undefined ? [] : [command]));
  const areOfOneBranch = doListsMeet(a.config.branches, b.config.branches, doNamesMeet);
  const reaches = areOfOneBranch ? [[]] : eventsOfAnyBranch.map((event) => [event]);
  return commands.some((command) => reaches.some((reach) => haveEventInCommon([as, bs, command, reach])));
}
