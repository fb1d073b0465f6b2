// The rules that triggers of all repository hosts keep, around the words and the events of one.

import { joinPath } from '../../reader/field-path.ts';
import { checkAddress } from '../fields/address.ts';
import {
  commandsInCommon,
  doListsMeet,
  doNamesMeet,
  haveSecretInCommon,
} from '../triggers/ambiguous-triggers.ts';
import type { TriggerOf } from '../triggers/trigger-of.ts';
import type { Fields, ReadOfType, TriggerType } from '../triggers/trigger-type.ts';
import { type RepoConfig, type RepoConfigWords, repoConfigSchema } from './config.ts';
import { type EventNames, haveEventInCommon } from './event-names.ts';
import { branchFault, repositoryFault } from './wildcards.ts';

interface RepoRules {
  readonly words: RepoConfigWords;
  readonly maturity: 'Stable' | 'Experimental';
  readonly events: EventNames;
  /** Events that triggers for different branches may both take: they have no branch, or several. */
  readonly eventsOfAnyBranch: readonly string[];
  /** How many parts the name of a repository has. @default two */
  readonly maxParts?: number;
  /** What is wrong with a secret that says by its form what it is. */
  readonly secretFault?: (secret: string) => string | undefined;
}

type Repos = TriggerOf<string, RepoConfig>;

/** What ambiguity depends on, with every name of an event in one spelling. */
interface Answering extends Pick<Repos, 'commands' | 'default_target'> {
  readonly config: Pick<RepoConfig, 'repo_events'>;
}

export function repoType({
  words,
  maturity,
  events,
  eventsOfAnyBranch,
  maxParts = 2,
  secretFault = () => undefined,
}: RepoRules): TriggerType<RepoConfig> {
  const ofAnyBranch = eventsOfAnyBranch.map((event) => [event]);
  const plain = ({ config, commands, default_target }: Repos): Answering => ({
    config: { repo_events: config.repo_events.map((name) => events.plain(name)) },
    commands: commands.map((each) => ({ ...each, command: events.plain(each.command) })),
    default_target,
  });
  return {
    config: repoConfigSchema(words),
    maturity,
    mentions: 'none',
    webhook: {},
    proof: { what: 'a webhook_secret', isGiven: (_, fields) => fields.has('webhook_secret') },
    isAmbiguous(a, b) {
      if (!haveSecretInCommon(a.config, b.config)) return false;
      if (!doListsMeet(a.config.repositories, b.config.repositories, doNamesMeet, true)) return false;
      const areOfOneBranch = doListsMeet(a.config.branches, b.config.branches, doNamesMeet);
      return haveReachInCommon(plain(a), plain(b), areOfOneBranch ? [[]] : ofAnyBranch);
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
        fields.reportKey('webhook_secret_previous', 'stands beside webhook_secret, which is missing');
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

/** Nobody could ever give a command of which only the host knows who may give it, without a token to ask it with. */
function checkWriters({ reader, trigger: { config, commands } }: ReadOfType<RepoConfig>): void {
  if (config.commands_from === 'everyone' || config.token !== undefined || reader.has('spec.config.token'))
    return;
  for (const { command } of commands)
    if (command.startsWith('/'))
      reader.reportKey(
        joinPath('spec.commands', command),
        'is taken from those who may write to the repository, and only with a token the host says who may: give spec.config a token, or say commands_from: everyone',
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

function haveReachInCommon(a: Answering, b: Answering, reaches: readonly (readonly string[])[]): boolean {
  const { repo_events: as } = a.config;
  const { repo_events: bs } = b.config;
  // What people write is in comments, of which one of the two reaches may be all there are.
  const commands = commandsInCommon(a, b).map((command) =>
    command === undefined || command.startsWith('/') ? [] : [command],
  );
  return commands.some((command) => reaches.some((reach) => haveEventInCommon([as, bs, command, reach])));
}
