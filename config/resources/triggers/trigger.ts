// The type of a validated trigger: the union of all trigger types, and a type for each of them.

import type { TriggerOf } from './trigger-of.ts';
import type { ConfigOf, TypeName } from './trigger-types.ts';

export type Trigger = { [Name in TypeName]: TriggerOf<Name, ConfigOf<Name>> }[TypeName];

export type TriggerOfType<Name extends TypeName> = Extract<Trigger, { readonly type: Name }>;

export type BotMessengerTrigger = TriggerOfType<'BotMessenger'>;
export type ChatWorkspaceTrigger = TriggerOfType<'ChatWorkspace'>;
export type HttpTrigger = TriggerOfType<'HTTP'>;
export type IssueTrackerTrigger = TriggerOfType<'IssueTracker'>;
export type RepoHostTrigger = TriggerOfType<'RepoHost'>;
export type RepoHostCTrigger = TriggerOfType<'RepoHostC'>;
export type RepoHostBTrigger = TriggerOfType<'RepoHostB'>;
export type ScheduleTrigger = TriggerOfType<'Schedule'>;
export type BusinessMessengerTrigger = TriggerOfType<'BusinessMessenger'>;
export type TeamChatTrigger = TriggerOfType<'TeamChat'>;
export type CommunityChatTrigger = TriggerOfType<'CommunityChat'>;
export type ManualTrigger = TriggerOfType<'Manual'>;
export type IncidentManagerTrigger = TriggerOfType<'IncidentManager'>;
