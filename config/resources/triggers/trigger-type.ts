// Interface of trigger types. A type describes a source of events, such as a chat platform, by the schema of
// `spec.config` and by rules that the schema cannot express. Each type is an object in platforms/, listed in
// trigger-types.ts. Other code does not distinguish types by name. At run time, the adapters in
// actors/platforms handle the events and answers of a type.

import type * as Type from 'typebox';
import { joinPath } from '../../reader/field-path.ts';
import type { Problem } from '../../reader/problem.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import type { TriggerOf } from './trigger-of.ts';

/** Host and port of a listener: the gateway's, or a separate one of a trigger. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Webhook of a type. Its schema contains `path`, with the type's default (`webhookPath`). */
export interface WebhookRules<Config> {
  /** Returns true if the path is used. Default: always. */
  isUsed?(config: Config): boolean;
  /** Returns the separate listener of the trigger; undefined for the gateway's listener. */
  address?(config: Config): ListenAddress | undefined;
}

/** Verification of senders. The field `insecure_allow_unverified` allows a trigger without it. */
export interface ProofRules<Config> {
  /** Setting that enables the verification, for messages, such as `a webhook_secret`. */
  readonly setting: string;
  /** Returns true if the setting is in the file, valid or not. */
  isGiven(config: Config, fields: Fields): boolean;
}

/** Event source, as text for the terminal. */
export interface TriggerSource {
  readonly text: string;
  /** URL that accepts unverified JSON from this machine. */
  readonly openUrl?: string | undefined;
}

/** Runs that an operator starts manually. */
export interface ByHandRules<Config> {
  /** Returns true if the operator must confirm each run. */
  requiresConfirmation(config: Config): boolean;
  /** Returns the time limit that replaces `timeout_seconds`, with the name of its field. */
  timeLimit(config: Config): { readonly seconds: number; readonly field: string } | undefined;
}

/** Trigger, with the reader to which checks across triggers report problems. */
export interface TriggerWithReader<Config> {
  readonly reader: SchemaReader;
  readonly trigger: TriggerOf<string, Config>;
}

/** `Config` is the type of `spec.config` after defaults are applied. */
export interface TriggerType<Config = object> {
  /** Schema of `spec.config`. */
  readonly config: Type.TObject;
  /** Maturity level in the documentation. */
  readonly maturity?: 'Stable' | 'Experimental';
  /** True for chats, where users wait for an answer. */
  readonly isChat?: boolean;
  /**
   * Default for `spec.welcome` if the platform reports new conversations. `always`: the list of commands.
   * `if-written`: no message, unless the trigger file has `welcome`. If undefined, `welcome` is refused.
   */
  readonly welcome?: 'always' | 'if-written';
  /**
   * Default for `spec.mentions`. `none`: mentions in answers notify no users. `allow`: mentions notify users.
   * If undefined, answers cannot notify users, and `mentions` is refused.
   */
  readonly mentions?: 'none' | 'allow';
  /** Checks and normalises the config after defaults are applied. */
  complete?(config: Config, fields: Fields, listen: ListenAddress | undefined): Config;
  /**
   * True if the commands (keys in `spec.commands`) are event names. Commands in comments then keep their
   * slash, so that `/release` and `release` differ.
   */
  readonly hasEventNames?: boolean;
  /** Normalises command aliases for comparison. @default the command itself */
  plainCommand?(command: string): string;
  /** Returns the error message if the command is invalid. */
  commandFault?(command: string): string | undefined;
  /** Limits of the platform's command menu. */
  readonly menu?: {
    readonly maxCommands: number;
    readonly maxDescription: number;
    /** True if each guild (a server of the chat platform) has a separate menu. */
    readonly hasGuilds?: boolean;
  };
  /** Set for types with a webhook. */
  readonly webhook?: WebhookRules<Config>;
  /** Set for types that can verify senders and allow a trigger without verification. */
  readonly proof?: ProofRules<Config>;
  /**
   * Returns true if both triggers, with the same path, may accept the same event: then only the order of
   * their names decides.
   */
  isAmbiguous?(a: TriggerOf<string, Config>, b: TriggerOf<string, Config>): boolean;
  /** Reports conflicts between triggers of the type. */
  checkAll?(all: readonly TriggerWithReader<Config>[]): void;
  /** Describes the event source. `url` is the URL of the gateway. Default: POST to the trigger's path. */
  describeSource?(trigger: TriggerOf<string, Config>, url: string): TriggerSource;
  /** Set for types with manual runs. */
  readonly byHand?: ByHandRules<Config>;
}

/** Fields of a mapping such as `spec.config`: returns their state in the file, and reports problems there. */
export class Fields {
  readonly #reader: SchemaReader;
  readonly #path: string;
  readonly #platformDefaults: Readonly<Record<string, unknown>>;

  /** `platformDefaults` contains members from the platform settings, which count as set. */
  constructor(reader: SchemaReader, path: string, platformDefaults: Readonly<Record<string, unknown>> = {}) {
    this.#reader = reader;
    this.#path = path;
    this.#platformDefaults = platformDefaults;
  }

  /** Reports a problem at a member's value. */
  report(key: string, message: string, severity: Problem['severity'] = 'error'): void {
    this.#reader.report(this.#at(key), message, severity);
  }

  /** Reports a problem at a list item or mapping member. */
  reportItem(
    key: string,
    index: number | string,
    message: string,
    severity: Problem['severity'] = 'error',
  ): void {
    this.#reader.report(joinPath(this.#at(key), index), message, severity);
  }

  /** Returns true if the member has an error, so its value is a default. */
  isFaulty(key: string): boolean {
    return this.#reader.isFaulty(this.#at(key));
  }

  /** Reports a problem at a member's key. */
  reportKey(key: string, message: string, severity: Problem['severity'] = 'error'): void {
    this.#reader.reportKey(this.#at(key), message, severity);
  }

  /** Returns true if the member is set, valid or not. */
  has(key: string): boolean {
    return this.#reader.has(this.#at(key)) || this.#platformDefaults[key] !== undefined;
  }

  /** Returns true if `members` includes all members in the file, so none is invalid. */
  isWhole(key: string, members: object): boolean {
    return this.#reader.countBelow(this.#at(key)) <= Object.keys(members).length;
  }

  /** Returns the path of a member; for '', of the whole mapping. */
  #at(key: string): string {
    return key === '' ? this.#path : joinPath(this.#path, key);
  }
}
