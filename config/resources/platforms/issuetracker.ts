// What a trigger of type IssueTracker may say in spec.config: webhooks of a tracker of issues.

import * as Type from 'typebox';
import { maxTimerSeconds } from '../../duration-schema.ts';
import { secret, text } from '../../text-schema.ts';
import { address, checkAddress } from '../fields/address.ts';
import type { Filled } from '../fields/filled.ts';
import { trackerEventFault } from '../fields/tracker-events.ts';
import { commandsInCommon, doListsMeet, haveSecretInCommon } from '../triggers/ambiguous-triggers.ts';
import type { TriggerOf } from '../triggers/trigger-of.ts';
import type { Fields, TriggerType } from '../triggers/trigger-type.ts';
import { insecureAllowUnverified } from '../triggers/unverified.ts';
import { webhookPath, webhookPathPattern } from '../triggers/webhook-path.ts';

const issueTrackerConfigSchema = Type.Object(
  {
    webhook_secret: Type.Optional(
      secret(
        'Secret of the signature or of the token, or the value of the header; required unless insecure_allow_unverified.',
      ),
    ),
    webhook_secret_previous: Type.Optional(
      secret('A secret still accepted while the tracker changes to the new one.'),
    ),
    auth_mode: Type.Enum(['hmac', 'static', 'jwt'], {
      description: 'How requests are proven: by a signature, by a fixed header, or by a token.',
      default: 'hmac',
    }),
    auth_header: Type.String({
      description: 'With `auth_mode: static` the header whose value is the secret.',
      default: 'X-Webhook-Secret',
      // A token of RFC 9110, section 5.6.2.
      pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
      patternErrorMessage: 'the name of an HTTP header',
    }),
    signed_path: Type.Optional(
      Type.String({
        description:
          'With `auth_mode: jwt` the path as the tracker signs it, where that is another than `path`: a proxy changes it, or an app has a base address.',
        pattern: webhookPathPattern,
        patternErrorMessage: 'a path such as /webhook/name',
      }),
    ),
    base_url: address('Address of the tracker, such as https://example.atlassian.net.'),
    api_token: Type.Optional(
      secret('Token of the API: to answer with comments, and to ask whether issues match `jql_filter`.'),
    ),
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
    jql_filter: Type.Optional(text('Issues to handle, as a query; needs email and api_token.')),
    ignore_senders: Type.Array(Type.String({ minLength: 1 }), {
      description: 'Accounts whose events are ignored, by their ids or names, besides that of the token.',
      default: [],
      maxItems: 1000,
    }),
    path: webhookPath('Path of the webhook.', '/webhook/issuetracker'),
    replay_window_seconds: Type.Optional(
      Type.Number({
        description:
          'For so long the same signed body under another id is the same event; without it, or with 0, it is another event.',
        minimum: 0,
        maximum: maxTimerSeconds,
      }),
    ),
    insecure_allow_unverified: insecureAllowUnverified,
  },
  { description: 'Webhooks of an issue tracker.' },
);

/** Filled; `webhook_secret` is '' under insecure_allow_unverified alone, `auth_header` in small letters. */
export type IssueTrackerConfig = Omit<
  Filled<Type.Static<typeof issueTrackerConfigSchema>>,
  'webhook_secret'
> & { readonly webhook_secret: string };

export const issueTrackerType: TriggerType<IssueTrackerConfig> = {
  config: issueTrackerConfigSchema,
  maturity: 'Stable',
  webhook: {},
  hasEventNames: true,
  proof: {
    what: 'a webhook_secret',
    isGiven: (_, fields) => fields.has('webhook_secret'),
  },
  isAmbiguous: doTrackersMeet,
  complete(config, fields) {
    checkBase(fields, config.base_url);
    checkCredentials(fields);
    checkProof(fields, config.auth_mode);
    return {
      ...config,
      webhook_secret: config.webhook_secret ?? '',
      auth_header: config.auth_header.toLowerCase(),
      base_url: URL.canParse(config.base_url)
        ? new URL(config.base_url).href.replace(/\/+$/, '')
        : config.base_url,
      ignore_senders: config.ignore_senders.map((sender) => sender.toLowerCase()),
    };
  },
  commandFault: trackerEventFault,
};

/** What comes below it is the API's own. */
function checkBase(fields: Fields, text: string): void {
  checkAddress(fields, 'base_url', text);
  if (fields.isFaulty('base_url') || !URL.canParse(text)) return;
  const { pathname, search, hash } = new URL(text);
  if (search !== '' || hash !== '') fields.report('base_url', 'holds a query or a fragment');
  const below = /\/(?:rest\/api|browse|jira\/(?:software|your-work|projects))(?:\/|$)/.exec(pathname);
  if (below !== null)
    fields.report(
      'base_url',
      `is the address of the tracker itself, without ${pathname.slice(below.index)}; calls go below it`,
    );
}

function checkCredentials(fields: Fields): void {
  const hasBoth = fields.has('email') && fields.has('api_token');
  if (fields.has('email') !== fields.has('api_token'))
    fields.report('', 'email and api_token belong together');
  if (fields.has('jql_filter') && !hasBoth)
    fields.report(
      'jql_filter',
      'needs email and api_token: only the tracker can say whether an issue matches, and no event is taken unasked',
    );
}

function checkProof(fields: Fields, mode: IssueTrackerConfig['auth_mode']): void {
  if (!fields.has('webhook_secret') && fields.has('webhook_secret_previous'))
    fields.reportKey('webhook_secret_previous', 'stands beside webhook_secret, which is missing');
  const useless = (key: string, only: string) => {
    if (fields.has(key) && mode !== only)
      fields.reportKey(key, `has an effect with auth_mode: ${only} only`, 'warning');
  };
  useless('auth_header', 'static');
  useless('signed_path', 'jwt');
}

type Tracker = TriggerOf<string, IssueTrackerConfig>;

/** Sprints have neither a project nor a type, so that both take them whatever their filters say. */
function doTrackersMeet(a: Tracker, b: Tracker): boolean {
  const isSameProof = a.config.auth_mode === b.config.auth_mode && haveSecretInCommon(a.config, b.config);
  // Each event belongs to one tracker, and says to which.
  if (!isSameProof || a.config.base_url !== b.config.base_url) return false;
  const commands = commandsInCommon(a, b);
  const isSprint = (command: string | undefined) => command === undefined || command.startsWith('sprint_');
  if (commands.some(isSprint)) return true;
  const same = (one: string, other: string) => one === other;
  return (
    commands.length > 0 &&
    doListsMeet(a.config.projects, b.config.projects, same) &&
    doListsMeet(a.config.issue_types, b.config.issue_types, same, true)
  );
}
