// A trigger as the rest of the program sees it: read, checked, filled, with the variables in it replaced.

import type { ApprovalRules } from '../approval-rules.ts';
import type { Target } from './target.ts';
import type { ConfigOf, TypeName } from './trigger-types.ts';

export interface Parameter {
  readonly name: string;
  readonly required: boolean;
  readonly description: string | undefined;
  readonly default: string | undefined;
}

/** A command and what it leads to. */
export interface Binding {
  /** As written, without a leading slash; where commands are names of events, what people write keeps it. */
  readonly command: string;
  readonly target: Target;
  readonly description: string | undefined;
  readonly parameters: readonly Parameter[];
  /** Of a command that nobody runs before it was approved; the trigger's users are among the approvers where it names none. */
  readonly approval?: ApprovalRules | undefined;
}

/** Of the form with `spec.routing`. */
export interface TextRule {
  /** In small letters; one of them must be in the text. */
  readonly contains: readonly string[];
  readonly target: Target;
}

export interface TriggerRetry {
  readonly attempts: number;
  readonly min_backoff_seconds: number;
  readonly max_backoff_seconds: number;
  readonly factor: number;
}

export interface TriggerOf<Type extends string, Config> {
  readonly name: string;
  readonly type: Type;
  readonly config: Config;
  readonly commands: readonly Binding[];
  /** The trigger's own, or the one of the daemon's configuration. */
  readonly default_target: Target | undefined;
  /** For what no command takes; the first that holds decides, before `default_target`. */
  readonly rules?: readonly TextRule[] | undefined;
  readonly enabled: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly retry: TriggerRetry;
  /** How long its handler may take for one attempt. */
  readonly timeout_seconds: number;
  /** Whether whoever sent an event is told that it is given up, or has to wait. */
  readonly on_failure: 'reply' | 'silent';
  /** Whether what looks like a mention in an answer may notify anybody. */
  readonly mentions: 'none' | 'allow';
  /** What is said where the bot comes to; an empty text says nothing. Undefined: what its type says by itself. */
  readonly welcome?: string | undefined;
  /** Absolute path. */
  readonly file: string;
  /** Of all of it, values of variables included: two that are equal need no reload. */
  readonly hash: string;
}

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
