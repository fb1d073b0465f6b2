// The types of triggers, and which of them have an adapter. A platform's word, as it stands in keys, ids and paths, is
// the name of its type in lower case.

export const typeNames = [
  'ChatWorkspace',
  'BotMessenger',
  'CommunityChat',
  'TeamChat',
  'BusinessMessenger',
  'RepoHost',
  'RepoHostB',
  'RepoHostC',
  'IssueTracker',
  'IncidentManager',
  'HTTP',
  'Schedule',
  'Manual',
] as const;

export type TypeName = (typeof typeNames)[number];

export function platformOf(type: TypeName): string {
  return type.toLowerCase();
}
