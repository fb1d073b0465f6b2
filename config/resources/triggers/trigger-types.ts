// All types of triggers, by name: a new type is one file under types/ and one line here. Their names, the platforms' words and the
// union of triggers (trigger.ts) follow from it, and actors/sources/adapters.ts does not compile without an adapter of each.

import { botMessengerType } from '../types/botmessenger.ts';
import { businessMessengerType } from '../types/businessmessenger.ts';
import { chatWorkspaceType } from '../types/chatworkspace.ts';
import { communityChatType } from '../types/communitychat.ts';
import { httpType } from '../types/http.ts';
import { incidentManagerType } from '../types/incidentmanager.ts';
import { issueTrackerType } from '../types/issuetracker.ts';
import { manualType } from '../types/manual.ts';
import { repoHostType } from '../types/repohost.ts';
import { repoHostBType } from '../types/repohostb.ts';
import { repoHostCType } from '../types/repohostc.ts';
import { scheduleType } from '../types/schedule.ts';
import { teamChatType } from '../types/teamchat.ts';
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

export type ConfigOf<Name extends TypeName> = Types[Name] extends TriggerType<infer Config> ? Config : never;

export const triggerTypes: Readonly<Record<TypeName, TriggerType>> = types;
export const typeNames = Object.keys(types) as readonly TypeName[];

/** A platform's word, as it stands in keys, ids and paths. */
export function platformOf(type: TypeName): string {
  return type.toLowerCase();
}
