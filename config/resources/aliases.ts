// Aliases of trigger types, fields and kinds of files: vendor names and names from older files. This file
// contains only unambiguous aliases; other names are unknown keys with a suggestion.

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

/** Names and aliases for editors. */
export const allTypeNames: readonly string[] = [...typeNames, ...Object.keys(typeAliases)];

const typeByName: ReadonlyMap<string, TypeName> = new Map([
  ...typeNames.map((name) => [name.toLowerCase(), name] as const),
  ...Object.entries(typeAliases).map(([word, name]) => [word.toLowerCase(), name] as const),
]);

/** Returns the type for a name or alias, regardless of case. Platform names are type names in lower case. */
export function resolveType(word: string): TypeName | undefined {
  return typeByName.get(word.toLowerCase().replace(/[_-]/g, ''));
}

/** Aliases of fields in `spec.config`, by type. */
export const fieldAliases: Readonly<Partial<Record<TypeName, Readonly<Record<string, string>>>>> = {
  RepoHost: { github_events: 'repo_events' },
  RepoHostB: { gitlab_events: 'repo_events' },
  RepoHostC: { bitbucket_events: 'repo_events' },
  // This alias is also accepted in the platform settings of the gateway file.
  BusinessMessenger: { access_token: 'bot_token' },
};

export const resourceKinds = ['Trigger', 'Agent', 'Fleet', 'Flow'] as const;

export type ResourceKind = (typeof resourceKinds)[number];

const kindAliases: Readonly<Record<string, ResourceKind>> = { AgentFleet: 'Fleet', AgentFlow: 'Flow' };

/** Returns the kind for a name or alias, if known. */
export function resolveKind(word: string): ResourceKind | undefined {
  return (
    resourceKinds.find((kind) => kind === word) ??
    (Object.hasOwn(kindAliases, word) ? kindAliases[word] : undefined)
  );
}
