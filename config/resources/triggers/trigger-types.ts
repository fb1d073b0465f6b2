// Registry of trigger types: a new type needs a file in platforms/ and a line here. Type names, platform
// names and the union of triggers (trigger.ts) follow from it, and actors/platforms/adapters.ts does not
// compile if an adapter is missing.

import { botMessengerType } from '../platforms/botmessenger.ts';
import { businessMessengerType } from '../platforms/businessmessenger.ts';
import { chatWorkspaceType } from '../platforms/chatworkspace.ts';
import { communityChatType } from '../platforms/communitychat.ts';
import { httpType } from '../platforms/http.ts';
import { incidentManagerType } from '../platforms/incidentmanager.ts';
import { issueTrackerType } from '../platforms/issuetracker.ts';
import { manualType } from '../platforms/manual.ts';
import { repoHostType } from '../platforms/repohost.ts';
import { repoHostBType } from '../platforms/repohostb.ts';
import { repoHostCType } from '../platforms/repohostc.ts';
import { scheduleType } from '../platforms/schedule.ts';
import { teamChatType } from '../platforms/teamchat.ts';
import type { TriggerType } from './trigger-type.ts';

const types = {
  ChatWorkspace: chatWorkspaceType,
  BotMessenger: botMessengerType,
  CommunityChat: communityChatType,
  TeamChat: teamChatType,
  BusinessMessenger: businessMessengerType,
  RepoHost: repoHostType,
  RepoHostB: repoHostBType,
  RepoHostC: repoHostCType,
  IssueTracker: issueTrackerType,
  IncidentManager: incidentManagerType,
  HTTP: httpType,
  Schedule: scheduleType,
  Manual: manualType,
};

type Types = typeof types;

export type TypeName = keyof Types;

/** Type of `spec.config` after defaults are applied. */
export type ConfigOf<Name extends TypeName> = Types[Name] extends TriggerType<infer Config> ? Config : never;

export const triggerTypes: Readonly<Record<TypeName, TriggerType>> = types;
export const typeNames = Object.keys(types) as readonly TypeName[];

/** Returns the platform's name, for keys of conversations, ids and paths. */
export function platformOf(type: TypeName): string {
  return type.toLowerCase();
}
