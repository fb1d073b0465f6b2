// Creates the trigger type of a repository host (GitHub, GitLab, Bitbucket) from the texts and events of the
// host. The checks are the same for all hosts.

import { joinPath } from '../../reader/field-path.ts';
import { checkAddress } from '../fields/address.ts';
import {
  commandsInCommon,
  doListsOverlap,
  doNamesOverlap,
  haveSecretInCommon,
} from '../triggers/ambiguous-triggers.ts';
import type { TriggerOf } from '../triggers/trigger-of.ts';
import type { Fields, TriggerType, TriggerWithReader } from '../triggers/trigger-type.ts';
import { type RepoConfig, type RepoConfigTexts, repoConfigSchema } from './config.ts';
import { type EventNames, haveEventInCommon } from './event-names.ts';
import { branchFault, repositoryFault } from './wildcards.ts';

/** Differences between the hosts. */
interface RepoRules {
  /** Descriptions and defaults of the config. */
  readonly texts: RepoConfigTexts;
  /** Maturity level in the documentation. */
  readonly maturity: 'Stable' | 'Experimental';
  /** Known events of the host. */
  readonly events: EventNames;
  /**
   * Events without a branch, or with several. Two triggers with different branch filters may both accept such
   * an event.
   */
  readonly eventsWithoutOneBranch: readonly string[];
  /** Maximum number of parts in a repository name. @default 2 */
  readonly maxParts?: number;
  /** Returns the error message for a malformed secret with a known prefix. */
  readonly secretFault?: (secret: string) => string | undefined;
}

/** Repository names are compared regardless of case. */
const IGNORE_CASE = true;

type Repos = TriggerOf<string, RepoConfig>;

/** Members of a trigger that decide if it accepts an event, with normalised event names. */
interface RepoCommands extends Pick<Repos, 'commands' | 'default_target'> {
  readonly config: Pick<RepoConfig, 'repo_events'>;
}

export function repoType({
  texts,
  maturity,
  events,
  eventsWithoutOneBranch,
  maxParts = 2,
  secretFault = () => undefined,
}: RepoRules): TriggerType<RepoConfig> {
  const withoutOneBranch = eventsWithoutOneBranch.map((event) => [event]);
  const plain = ({ config, commands, default_target }: Repos): RepoCommands => ({
    config: { repo_events: config.repo_events.map((name) => events.plain(name)) },
    commands: commands.map((each) => ({ ...each, command: events.plain(each.command) })),
    default_target,
  });
  return {
    config: repoConfigSchema(texts),
    maturity,
    mentions: 'none',
    webhook: {},
    // The secret verifies the requests.
    proof: { setting: 'a webhook_secret', isGiven: (_, fields) => fields.has('webhook_secret') },
    isAmbiguous(a, b) {
      if (!haveSecretInCommon(a.config, b.config)) return false;
      const { repositories } = a.config;
      if (!doListsOverlap(repositories, b.config.repositories, doNamesOverlap, IGNORE_CASE)) return false;
      // With disjoint branches, only events without a single branch can match both triggers.
      const areOfOneBranch = doListsOverlap(a.config.branches, b.config.branches, doNamesOverlap);
      return doCommandsOverlap(plain(a), plain(b), areOfOneBranch ? [[]] : withoutOneBranch);
    },
    complete(config, fields) {
      checkAddress(fields, 'api_url', config.api_url);
      for (const key of ['webhook_secret', 'webhook_secret_previous'] as const) {
        const fault = secretFault(config[key] ?? '');
        if (fault !== undefined) fields.report(key, fault);
      }
      checkEach(fields, 'repo_events', config.repo_events, (name) => events.faultOf(name));
      checkEach(fields, 'repositories', config.repositories, (name) => repositoryFault(name, maxParts));
      checkEach(fields, 'branches', config.branches, branchFault);
      if (!fields.has('webhook_secret') && fields.has('webhook_secret_previous'))
        fields.reportKey('webhook_secret_previous', 'requires webhook_secret, which is missing');
      if (config.reviews === 'allow' && !fields.has('token'))
        fields.reportKey('reviews', 'has no effect without a token', 'warning');
      return {
        ...config,
        webhook_secret: config.webhook_secret ?? '',
        api_url: config.api_url.replace(/\/+$/, ''),
        ignore_senders: config.ignore_senders.map((login) => login.toLowerCase()),
      };
    },
    checkAll(all) {
      for (const each of all) checkWriters(each);
    },
    hasEventNames: true,
    plainCommand: (command) => events.plain(command),
    commandFault: (command) => events.commandFaultOf(command),
  };
}

/** Reports commands for users with write access if there is no token to query the users' permissions. */
function checkWriters({ reader, trigger: { config, commands } }: TriggerWithReader<RepoConfig>): void {
  if (config.commands_from === 'everyone' || config.token !== undefined || reader.has('spec.config.token'))
    return;
  for (const { command } of commands)
    if (command.startsWith('/'))
      reader.reportKey(
        joinPath('spec.commands', command),
        'is only accepted from users with write access, which requires a token to check: set spec.config.token, or commands_from: everyone',
      );
}

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

/**
 * Returns true if both triggers handle the same command for the same event. The event must be in one of
 * `eventLists`; an empty list means any event.
 */
function doCommandsOverlap(
  a: RepoCommands,
  b: RepoCommands,
  eventLists: readonly (readonly string[])[],
): boolean {
  const filters = [a.config.repo_events, b.config.repo_events];
  // Any comment event can contain the command, so any overlap of both event filters counts.
  const commands = commandsInCommon(a, b).map((command) =>
    command === undefined || command.startsWith('/') ? [] : [command],
  );
  return commands.some((command) =>
    eventLists.some((events) => haveEventInCommon([...filters, command, events])),
  );
}
