// Other accepted names for trigger types, for fields of `spec.config` and for the `kind` of a file: names of
// vendors, and names in older files. Only unambiguous names are accepted. Any other name is reported as
// unknown, with a suggestion.

import { type TypeName, typeNames } from './triggers/trigger-types.ts';

const typeAliases: Readonly<Record<string, TypeName>> = {
  Slack: 'ChatWorkspace',
  Telegram: 'BotMessenger',
  Discord: 'CommunityChat',
  Teams: 'TeamChat',
  MSTeams: 'TeamChat',
  MicrosoftTeams: 'TeamChat',
  WhatsApp: 'BusinessMessenger',
  GitHub: 'RepoHost',
  GitLab: 'RepoHostB',
  Bitbucket: 'RepoHostC',
  Jira: 'IssueTracker',
  PagerDuty: 'IncidentManager',
  Webhook: 'HTTP',
  Cron: 'Schedule',
};

/** Names and aliases of all trigger types, for completion in editors and for suggestions. */
export const allTypeNames: readonly string[] = [...typeNames, ...Object.keys(typeAliases)];

const typeByName: ReadonlyMap<string, TypeName> = new Map([
  ...typeNames.map((name) => [name.toLowerCase(), name] as const),
  ...Object.entries(typeAliases).map(([word, name]) => [word.toLowerCase(), name] as const),
]);

/**
 * Returns the type for a name or alias, regardless of case, `_` and `-`. Names of platforms are accepted too,
 * because they are type names in lower case.
 */
export function resolveType(word: string): TypeName | undefined {
  return typeByName.get(word.toLowerCase().replace(/[_-]/g, ''));
}

/** Field names of `spec.config` by alias, for each type. */
export const fieldAliases: Readonly<Partial<Record<TypeName, Readonly<Record<string, string>>>>> = {
  RepoHost: { github_events: 'repo_events' },
  RepoHostB: { gitlab_events: 'repo_events' },
  RepoHostC: { bitbucket_events: 'repo_events' },
  // The platform settings in the gateway file (gateway.yaml) accept this alias too.
  BusinessMessenger: { access_token: 'bot_token' },
};

/** Values of `kind` in resource files. */
export const resourceKinds = ['Trigger', 'Agent', 'Fleet', 'Flow'] as const;

export type ResourceKind = (typeof resourceKinds)[number];

const kindAliases: Readonly<Record<string, ResourceKind>> = { AgentFleet: 'Fleet', AgentFlow: 'Flow' };

/** Returns the kind for a name or alias, if known. Unlike type names, these are case-sensitive. */
export function resolveKind(word: string): ResourceKind | undefined {
  return (
    resourceKinds.find((kind) => kind === word) ??
    (Object.hasOwn(kindAliases, word) ? kindAliases[word] : undefined)
  );
}
