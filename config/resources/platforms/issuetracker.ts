// Schema and checks of triggers for IssueTracker (Jira), which sends webhooks about issues.

import * as Type from 'typebox';
import { maxTimerSeconds } from '../../duration-schema.ts';
import { secret, text } from '../../text-schema.ts';
import { address, checkAddress } from '../fields/address.ts';
import { trackerEventFault } from '../fields/tracker-events.ts';
import type { Filled } from '../fields/with-defaults.ts';
import { commandsInCommon, doListsOverlap, haveSecretInCommon } from '../triggers/ambiguous-triggers.ts';
import type { TriggerOf } from '../triggers/trigger-of.ts';
import type { Fields, TriggerType } from '../triggers/trigger-type.ts';
import { insecureAllowUnverified } from '../triggers/unverified.ts';
import { webhookPath, webhookPathPattern } from '../triggers/webhook-path.ts';

const issueTrackerConfigSchema = Type.Object(
  {
    webhook_secret: Type.Optional(
      secret(
        'Secret for the signature or token, or value of the header; required unless insecure_allow_unverified.',
      ),
    ),
    webhook_secret_previous: Type.Optional(secret('Previous secret, still accepted during a rotation.')),
    auth_mode: Type.Enum(['hmac', 'static', 'jwt'], {
      description: 'Verification of requests: a signature, a fixed header, or a token.',
      default: 'hmac',
    }),
    auth_header: Type.String({
      description: 'Header with the secret, for `auth_mode: static`.',
      default: 'X-Webhook-Secret',
      // Token, RFC 9110, section 5.6.2.
      pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
      patternErrorMessage: 'the name of an HTTP header',
    }),
    signed_path: Type.Optional(
      Type.String({
        description:
          'Path signed by the tracker, for `auth_mode: jwt`. Needed if it differs from `path`, because of a proxy or the base address of an app. Default: path.',
        pattern: webhookPathPattern,
        patternErrorMessage: 'a path such as /webhook/name',
      }),
    ),
    base_url: address('URL of the tracker, such as https://example.atlassian.net.'),
    api_token: Type.Optional(secret('API token, for answers as comments and for `jql_filter`.')),
    email: Type.Optional(text('Account of the token.')),
    projects: Type.Array(
      Type.String({
        pattern: '^[A-Z][A-Z0-9_]*$',
        patternErrorMessage: 'the key of a project, such as OPS',
      }),
      { description: 'Keys of projects to handle; empty = all.', default: [], maxItems: 1000 },
    ),
    issue_types: Type.Array(Type.String({ minLength: 1 }), {
      description: 'Types of issues to handle; empty = all.',
      default: [],
      maxItems: 1000,
    }),
    jql_filter: Type.Optional(text('Query for issues to handle; requires email and api_token.')),
    ignore_senders: Type.Array(Type.String({ minLength: 1 }), {
      description: 'Ids or names of accounts to ignore, in addition to the account of the token.',
      default: [],
      maxItems: 1000,
    }),
    path: webhookPath('Path of the webhook.', '/webhook/issuetracker'),
    replay_window_seconds: Type.Optional(
      Type.Number({
        description:
          'Time during which a repeated signed body is a duplicate, even with a different event id. Default: 0 = never.',
        minimum: 0,
        maximum: maxTimerSeconds,
      }),
    ),
    insecure_allow_unverified: insecureAllowUnverified,
  },
  { description: 'Webhooks of an issue tracker.' },
);

/**
 * Config with defaults. `webhook_secret` is '' only with insecure_allow_unverified; `auth_header` is in lower
 * case.
 */
export type IssueTrackerConfig = Omit<
  Filled<Type.Static<typeof issueTrackerConfigSchema>>,
  'webhook_secret'
> & { readonly webhook_secret: string };

export const issueTrackerType: TriggerType<IssueTrackerConfig> = {
  config: issueTrackerConfigSchema,
  maturity: 'Stable',
  webhook: {},
  hasEventNames: true,
  // The secret verifies the requests.
  proof: {
    setting: 'a webhook_secret',
    isGiven: (_, fields) => fields.has('webhook_secret'),
  },
  isAmbiguous: doEventsOverlap,
  complete(config, fields) {
    checkBase(fields, config.base_url);
    checkCredentials(fields);
    checkVerificationFields(fields, config.auth_mode);
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

/** Reports a base URL with the path of an API call or of a page. */
function checkBase(fields: Fields, text: string): void {
  checkAddress(fields, 'base_url', text);
  if (fields.isFaulty('base_url') || !URL.canParse(text)) return;
  const { pathname, search, hash } = new URL(text);
  if (search !== '' || hash !== '') fields.report('base_url', 'contains a query or a fragment');
  const below = /\/(?:rest\/api|browse|jira\/(?:software|your-work|projects))(?:\/|$)/.exec(pathname);
  if (below !== null)
    fields.report('base_url', `must be the base URL: remove ${pathname.slice(below.index)}`);
}

function checkCredentials(fields: Fields): void {
  const hasBoth = fields.has('email') && fields.has('api_token');
  if (fields.has('email') !== fields.has('api_token'))
    fields.report('', 'email and api_token must be set together');
  if (fields.has('jql_filter') && !hasBoth)
    fields.report('jql_filter', 'needs email and api_token: the tracker evaluates the filter');
}

/** Reports fields that have no effect with the chosen verification of requests. */
function checkVerificationFields(fields: Fields, mode: IssueTrackerConfig['auth_mode']): void {
  if (!fields.has('webhook_secret') && fields.has('webhook_secret_previous'))
    fields.reportKey('webhook_secret_previous', 'requires webhook_secret, which is missing');
  const checkMode = (key: string, only: string) => {
    if (fields.has(key) && mode !== only)
      fields.reportKey(key, `only has an effect with auth_mode: ${only}`, 'warning');
  };
  checkMode('auth_header', 'static');
  checkMode('signed_path', 'jwt');
}

/** Types of issues are compared regardless of case, unlike keys of projects, which are in upper case. */
const IGNORE_CASE = true;

type Tracker = TriggerOf<string, IssueTrackerConfig>;

/**
 * Returns true if both triggers may match the same event. Filters do not separate triggers with sprint
 * events, because these have neither project nor issue type.
 */
function doEventsOverlap(a: Tracker, b: Tracker): boolean {
  const doSecretsMatch = a.config.auth_mode === b.config.auth_mode && haveSecretInCommon(a.config, b.config);
  // Each event contains the address of its tracker.
  if (!doSecretsMatch || a.config.base_url !== b.config.base_url) return false;
  const commands = commandsInCommon(a, b);
  // Commands (keys in `spec.commands`) are names of events here. Undefined: both triggers have a default
  // agent, which handles all other events, sprint events included.
  const mayBeSprint = (command: string | undefined) => command === undefined || command.startsWith('sprint_');
  if (commands.some(mayBeSprint)) return true;
  const isSame = (one: string, other: string) => one === other;
  return (
    commands.length > 0 &&
    doListsOverlap(a.config.projects, b.config.projects, isSame) &&
    doListsOverlap(a.config.issue_types, b.config.issue_types, isSame, IGNORE_CASE)
  );
}
