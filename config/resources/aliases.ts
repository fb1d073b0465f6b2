// Spellings found in the wild, on one page: words of vendors and of older files for the ones that are used here. Only
// what is certain; anything else is an unknown key with a suggestion.

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

/** As an editor may offer them. */
export const typeSpellings: readonly string[] = [...typeNames, ...Object.keys(typeAliases)];

const typeByWord: ReadonlyMap<string, TypeName> = new Map([
  ...typeNames.map((name) => [name.toLowerCase(), name] as const),
  ...Object.entries(typeAliases).map(([word, name]) => [word.toLowerCase(), name] as const),
]);

/** The type that a word means, in whatever case; also of a platform, whose word is its type in lower case. */
export function typeMeant(word: string): TypeName | undefined {
  return typeByWord.get(word.toLowerCase().replace(/[_-]/g, ''));
}

/** Fields of `spec.config` by type: what is written, what is meant. */
export const fieldAliases: Readonly<Partial<Record<TypeName, Readonly<Record<string, string>>>>> = {
  RepoHost: { github_events: 'repo_events' },
  RepoHostB: { gitlab_events: 'repo_events' },
  RepoHostC: { bitbucket_events: 'repo_events' },
  // The word of the daemon's configuration.
  BusinessMessenger: { access_token: 'bot_token' },
};

export const resourceKinds = ['Trigger', 'Agent', 'Fleet', 'Flow'] as const;

export type ResourceKind = (typeof resourceKinds)[number];

const kindAliases: Readonly<Record<string, ResourceKind>> = { AgentFleet: 'Fleet', AgentFlow: 'Flow' };

/** The kind that a word means; undefined for any other word. */
export function kindMeant(word: string): ResourceKind | undefined {
  return (
    resourceKinds.find((kind) => kind === word) ??
    (Object.hasOwn(kindAliases, word) ? kindAliases[word] : undefined)
  );
}
