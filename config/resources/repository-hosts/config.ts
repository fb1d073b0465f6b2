// What triggers of repository hosts may say in spec.config: the same for each of them, but for the words of the host.

import * as Type from 'typebox';
import { maxTimerSeconds } from '../../duration-schema.ts';
import { secret } from '../../text-schema.ts';
import { address } from '../fields/address.ts';
import type { Filled } from '../fields/filled.ts';
import { insecureAllowUnverified } from '../triggers/unverified.ts';
import { webhookPath } from '../triggers/webhook-path.ts';

const names = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { description, default: [], maxItems: 1000 });

/** What differs. */
export interface RepoConfigWords {
  readonly description: string;
  /** What the secret proves, and how. */
  readonly secret: string;
  /** Such as `pull_request or pull_request.opened`. */
  readonly events: string;
  /** Such as `owner/repo`. */
  readonly repository: string;
  readonly path: string;
  /** What it is for, besides answers. */
  readonly token: string;
  readonly apiUrl: string;
  /** What holds where `replay_window_seconds` is not written. */
  readonly replayWindow: string;
}

export function repoConfigSchema({
  description,
  secret: proof,
  events,
  repository,
  ...words
}: RepoConfigWords) {
  return Type.Object(
    {
      webhook_secret: Type.Optional(secret(`${proof}; required unless insecure_allow_unverified.`)),
      webhook_secret_previous: Type.Optional(
        secret('A secret still accepted while the host changes to the new one.'),
      ),
      repo_events: names(`Events to handle, such as ${events}; none = all.`),
      repositories: names(`Repositories to handle, ${repository} with wildcards; none = all.`),
      branches: names('Branches to handle, with wildcards such as release/*; none = all.'),
      path: webhookPath('Path of the webhook.', words.path),
      token: Type.Optional(secret(words.token)),
      api_url: address('Base of the API.', words.apiUrl),
      ignore_senders: names('Users whose events are ignored, besides the one of the token.'),
      commands_from: Type.Enum(['writers', 'everyone'], {
        description:
          'Whose comments may be commands such as /deploy: of those who may write to the repository, which needs a token, or of everyone.',
        default: 'writers',
      }),
      reviews: Type.Enum(['none', 'allow'], {
        description:
          'Whether an answer may approve a request or ask for changes, by an action `approve` or `request_changes`.',
        default: 'none',
      }),
      replay_window_seconds: Type.Optional(
        Type.Number({
          description: `For so long the same signed body under another id is the same event; ${words.replayWindow}`,
          minimum: 0,
          maximum: maxTimerSeconds,
        }),
      ),
      insecure_allow_unverified: insecureAllowUnverified,
    },
    { description },
  );
}

/** Filled; `webhook_secret` is '' under insecure_allow_unverified alone. */
export type RepoConfig = Omit<
  Filled<Type.Static<ReturnType<typeof repoConfigSchema>>>,
  'webhook_secret' | 'commands_from' | 'reviews'
> & {
  readonly webhook_secret: string;
  readonly commands_from: 'writers' | 'everyone';
  readonly reviews: 'none' | 'allow';
};
