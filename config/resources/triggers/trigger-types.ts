// All types of triggers, by name. A new type is one file under types/ and one line here.

import { botMessengerType } from '../types/botmessenger.ts';
import { businessMessengerType } from '../types/businessmessenger.ts';
import { chatWorkspaceType } from '../types/chatworkspace.ts';
import { communityChatType } from '../types/communitychat.ts';
import { httpType } from '../types/http.ts';
import { incidentManagerType } from '../types/incidentmanager.ts';
import { issueTrackerType } from '../types/issuetracker.ts';
import { manualType } from '../types/manual.ts';
import { repoHostType } from '../types/repohost.ts';
import { repoHostBType, repoHostCType } from '../types/repohost-siblings.ts';
import { scheduleType } from '../types/schedule.ts';
import { teamChatType } from '../types/teamchat.ts';
import type { TriggerType } from './trigger-type.ts';
import { type TypeName, typeNames } from './type-names.ts';

export const triggerTypes: Readonly<Record<TypeName, TriggerType>> = {
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

/** How a trigger of a type without an adapter is refused. */
export function notBuilt(type: TypeName): string {
  const built = typeNames.filter((name) => triggerTypes[name].isBuilt);
  return `triggers of type ${type} are not built yet; ${built.join(', ')} are`;
}
