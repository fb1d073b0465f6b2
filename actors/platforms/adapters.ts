// All adapters, by trigger type and by platform name. Created once per gateway, because adapters own the
// state that their triggers share: webhook paths and API clients.

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

/** Payloads of this host contain ids and times, so that two events never have the same body. */
const REPLAY_WINDOW_MS = 3_600_000;

export interface Adapters {
  readonly all: readonly Adapter[];
  /** Names of platforms with outbound messages. */
  readonly platforms: readonly string[];
  ofType(type: Trigger['type']): Adapter;
  /** Finds an adapter by the platform in a mailbox key: `repohost`. */
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
    BusinessMessenger: businessMessengerAdapter(services),
    ChatWorkspace: chatWorkspaceAdapter(services),
    TeamChat: teamChatAdapter(services),
    CommunityChat: communityChatAdapter(services),
    IncidentManager: incidentManagerAdapter(services),
    Schedule: scheduleAdapter(),
    Manual: manualAdapter,
  };
  // An adapter only receives triggers and events of its own type.
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
