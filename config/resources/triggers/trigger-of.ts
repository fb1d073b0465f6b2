// The type of a trigger after validation, with defaults and substituted variables, for any type of `config`.
// The union of all types is in trigger.ts, because the file of each trigger type imports this file.

import type { Binding } from './binding.ts';
import type { Target } from './target.ts';

/** Rule for texts in `spec.routing`, the alternative form of BusinessMessenger triggers. */
export interface TextRule {
  /** Lower-case texts; an event matches if its text contains one of them. */
  readonly contains: readonly string[];
  readonly target: Target;
}

/** Repetition of failed events. */
export interface TriggerRetry {
  /** Maximum attempts, including the first. */
  readonly attempts: number;
  readonly min_backoff_seconds: number;
  readonly max_backoff_seconds: number;
  /** Backoff multiplier. */
  readonly factor: number;
}

export interface TriggerOf<Type extends string, Config> {
  readonly name: string;
  readonly type: Type;
  readonly config: Config;
  readonly commands: readonly Binding[];
  /** Agent for events without a matching command: `default_agent` of the trigger, or else of gateway.yaml. */
  readonly default_target: Target | undefined;
  /** Rules for text that contains no command. The first match decides, before `default_target`. */
  readonly rules?: readonly TextRule[] | undefined;
  readonly enabled: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly retry: TriggerRetry;
  /** Time limit of one attempt to handle an event. */
  readonly timeout_seconds: number;
  /** `reply`: the sender of an event is notified when the event fails or is delayed; `silent`: never. */
  readonly on_failure: 'reply' | 'silent';
  /** `allow`: a mention in an answer notifies the person; `none`: it does not. */
  readonly mentions: 'none' | 'allow';
  /** Message to a conversation that the bot joins; empty = none, undefined = default of the type. */
  readonly welcome?: string | undefined;
  /** Absolute path of the trigger's file. */
  readonly file: string;
  /** Hash of the whole trigger, with the values of variables. Equal hashes need no reload. */
  readonly hash: string;
}
