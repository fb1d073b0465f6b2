// All adapters, by the type of their triggers and by the word for their platform. Made once per gateway: what triggers
// share (paths, clients of an API) is kept in them.

import type { Trigger, TriggerOfType } from '../../config/resources/triggers/trigger.ts';
import { platformOf, type TypeName } from '../../config/resources/triggers/trigger-types.ts';
import type { Adapter, AdapterServices } from './adapter.ts';
import { botMessengerAdapter } from './botmessenger/adapter.ts';
import { businessMessengerAdapter } from './businessmessenger/adapter.ts';
import { chatWorkspaceAdapter } from './chatworkspace/adapter.ts';
import { communityChatAdapter } from './communitychat/adapter.ts';
import { httpAdapter } from './http/adapter.ts';
import { incidentManagerAdapter } from './incidentmanager/adapter.ts';
import { issueTrackerAdapter } from './issuetracker/adapter.ts';
import { manualAdapter } from './manual/adapter.ts';
import { repoHostAdapter } from './repository-hosts/repohost/adapter.ts';
import { repoHostBAdapter } from './repository-hosts/repohostb/adapter.ts';
import { repoHostCAdapter } from './repository-hosts/repohostc/adapter.ts';
import { scheduleAdapter } from './schedule/adapter.ts';
import { teamChatAdapter } from './teamchat/adapter.ts';

/** No two events of this repository host say the same: there are ids and times in them. */
const REPLAY_WINDOW_MS = 3_600_000;

export interface Adapters {
  readonly all: readonly Adapter[];
  /** Words of the platforms that messages are sent to. */
  readonly platforms: readonly string[];
  ofType(type: Trigger['type']): Adapter;
  /** By the second part of a mailbox's key, `repohost`. */
  ofPlatform(platform: string): Adapter | undefined;
}

export function makeAdapters(services: AdapterServices): Adapters {
  const { maxBodyBytes } = services;
  const adapters: { readonly [Name in TypeName]: Adapter<TriggerOfType<Name>> } = {
    HTTP: httpAdapter(maxBodyBytes),
    RepoHost: repoHostAdapter({ maxBodyBytes, replayWindowMs: REPLAY_WINDOW_MS }),
    RepoHostC: repoHostCAdapter({ maxBodyBytes }),
    IssueTracker: issueTrackerAdapter(services),
    RepoHostB: repoHostBAdapter({ maxBodyBytes }),
    BotMessenger: botMessengerAdapter(services),
    BusinessMessenger: businessMessengerAdapter(maxBodyBytes),
    ChatWorkspace: chatWorkspaceAdapter(services),
    TeamChat: teamChatAdapter(services),
    CommunityChat: communityChatAdapter(services),
    IncidentManager: incidentManagerAdapter(services),
    Schedule: scheduleAdapter(),
    Manual: manualAdapter,
  };
  // An adapter is only ever given triggers and events of its own type.
  const byType = adapters as unknown as Readonly<Record<TypeName, Adapter>>;
  const byPlatform = new Map(Object.values(byType).map((adapter) => [platformOf(adapter.type), adapter]));
  return {
    all: Object.values(byType),
    platforms: [...byPlatform].flatMap(([platform, { outbound }]) =>
      outbound === undefined ? [] : [platform],
    ),
    ofType: (type) => byType[type],
    ofPlatform: (platform) => byPlatform.get(platform),
  };
}
