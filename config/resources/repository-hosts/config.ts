// Schema of `spec.config` for triggers of repository hosts (GitHub, GitLab, Bitbucket). The hosts differ only
// in descriptions and defaults.

import * as Type from 'typebox';
import { maxTimerSeconds } from '../../duration-schema.ts';
import { secret } from '../../text-schema.ts';
import { address } from '../fields/address.ts';
import type { Filled } from '../fields/with-defaults.ts';
import { insecureAllowUnverified } from '../triggers/unverified.ts';
import { webhookPath } from '../triggers/webhook-path.ts';

/** Schema of a list of names. */
const names = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { description, default: [], maxItems: 1000 });

/** Descriptions and defaults of a host. */
export interface RepoConfigTexts {
  readonly description: string;
  /** Description of `webhook_secret`. */
  readonly secret: string;
  /** Examples such as `pull_request or pull_request.opened`. */
  readonly events: string;
  /** Example such as `owner/repo`. */
  readonly repository: string;
  /** Default path of the webhook. */
  readonly path: string;
  /** Description of `token`. */
  readonly token: string;
  /** Default base URL of the API. */
  readonly apiUrl: string;
  /** Sentence about the default of `replay_window_seconds`. */
  readonly replayWindow: string;
}

export function repoConfigSchema({
  description,
  secret: secretDescription,
  events,
  repository,
  ...texts
}: RepoConfigTexts) {
  return Type.Object(
    {
      webhook_secret: Type.Optional(
        secret(`${secretDescription}; required unless insecure_allow_unverified.`),
      ),
      webhook_secret_previous: Type.Optional(secret('Previous secret, still accepted during a rotation.')),
      repo_events: names(`Events to handle, such as ${events}; empty = all.`),
      repositories: names(`Repositories to handle, as ${repository} with wildcards; empty = all.`),
      branches: names('Branches to handle, with wildcards such as release/*; empty = all.'),
      path: webhookPath('Path of the webhook.', texts.path),
      token: Type.Optional(secret(texts.token)),
      api_url: address('Base URL of the API.', texts.apiUrl),
      ignore_senders: names('Users to ignore, in addition to the user of the token.'),
      commands_from: Type.Enum(['writers', 'everyone'], {
        description:
          'Users whose comments can be commands such as /deploy: users with write access (requires a token), or everyone.',
        default: 'writers',
      }),
      reviews: Type.Enum(['none', 'allow'], {
        description: 'Reviews by answers: `allow` permits the actions `approve` and `request_changes`.',
        default: 'none',
      }),
      replay_window_seconds: Type.Optional(
        Type.Number({
          description: `Time during which a repeated signed body is a duplicate, even with a different event id. ${texts.replayWindow}`,
          minimum: 0,
          maximum: maxTimerSeconds,
        }),
      ),
      insecure_allow_unverified: insecureAllowUnverified,
    },
    { description },
  );
}

/** Config with defaults. `webhook_secret` is '' only for a trigger with `insecure_allow_unverified`. */
export type RepoConfig = Omit<
  Filled<Type.Static<ReturnType<typeof repoConfigSchema>>>,
  'webhook_secret' | 'commands_from' | 'reviews'
> & {
  readonly webhook_secret: string;
  /** Users whose comments can be commands: users with write access, or everyone. */
  readonly commands_from: 'writers' | 'everyone';
  /** `allow`: an answer may approve, or request changes. */
  readonly reviews: 'none' | 'allow';
};
