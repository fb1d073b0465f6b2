// What the program must know of a type of triggers, beside how its events come in and answers go out (actors/platforms): the
// schema of `spec.config` and the rules that a schema cannot say. Each type is one object in a file of its own under types/;
// trigger-types.ts lists them, and nothing else asks which type a trigger is of.

import type * as Type from 'typebox';
import { joinPath } from '../../reader/field-path.ts';
import type { Problem } from '../../reader/problem.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import type { TriggerOf } from './trigger-of.ts';

/** Where the gateway listens, as far as it is known. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** A path to which the platform sends. The schema has it as `path`, with the type's default (`webhookPath`). */
export interface WebhookRules<Config> {
  /** Whether the path is used; without this it always is. */
  isUsed?(config: Config): boolean;
  /** A listener of the trigger's own; undefined for the gateway's. */
  address?(config: Config): ListenAddress | undefined;
}

/** What proves who sends. The schema has `insecure_allow_unverified` for a trigger without it. */
export interface ProofRules<Config> {
  /** For whoever has to add it: `a webhook_secret`. */
  readonly what: string;
  /** `fields` says what was written, well or badly. */
  isGiven(config: Config, fields: Fields): boolean;
}

/** How events come to a trigger, for a person at the terminal. */
export interface WayIn {
  readonly text: string;
  /** Where whoever is on this machine can post JSON without any proof. */
  readonly openUrl?: string | undefined;
}

/** What runs by hand need: who asks for one knows neither the schema nor the adapter. */
export interface ByHandRules<Config> {
  requiresConfirmation(config: Config): boolean;
  /** In place of `timeout_seconds`, under the name of its field. */
  timeLimit(config: Config): { readonly seconds: number; readonly field: string } | undefined;
}

/** One of all triggers of a type, and where to report what is wrong with it beside the others. */
export interface ReadOfType<Config> {
  readonly reader: SchemaReader;
  readonly trigger: TriggerOf<string, Config>;
}

export interface TriggerType<Config = object> {
  readonly config: Type.TObject;
  /** As the contract labels it. */
  readonly maturity?: 'Stable' | 'Experimental';
  /** People write there and wait for an answer. */
  readonly isChat?: boolean;
  /**
   * Whether the platform tells that our bot was brought into a conversation, and what is said there without a `welcome`: something
   * (`always`) or nothing (`if-written`). Undefined where it does not tell: `welcome` is refused then.
   */
  readonly welcome?: 'always' | 'if-written';
  /** What `mentions` is without being written. Undefined where nothing in an answer notifies anybody: it is refused then. */
  readonly mentions?: 'none' | 'allow';
  /** Checks what was written and filled, and gives it the form in which the rest of the program wants it. */
  complete?(config: Config, fields: Fields, listen: ListenAddress | undefined): Config;
  /**
   * Its commands are names of events. What people write as a command keeps its slash, so that `/release` and `release` are two;
   * elsewhere both are one.
   */
  readonly hasEventNames?: boolean;
  /** Of several spellings of one command the one by which they are compared. @default the command itself */
  plainCommand?(command: string): string;
  /** What is wrong with the name of a command as written; undefined when nothing is. */
  commandFault?(command: string): string | undefined;
  /** What the platform's menu of commands holds, for a type that has one. */
  readonly menu?: {
    readonly maxCommands: number;
    readonly maxDescription: number;
    /** It has one for each guild beside the one for all. */
    readonly hasGuilds?: boolean;
  };
  /** For a type that events are sent to. */
  readonly webhook?: WebhookRules<Config>;
  readonly proof?: ProofRules<Config>;
  /**
   * Whether there may be an event of which only the names of two triggers with one path decide who gets it. What is certain
   * to be apart is not ambiguous.
   */
  isAmbiguous?(a: TriggerOf<string, Config>, b: TriggerOf<string, Config>): boolean;
  /** Reports what is wrong with triggers of the type only beside each other, or beside their commands. */
  checkAll?(all: readonly ReadOfType<Config>[]): void;
  /** `url` is that of the gateway. Without it: POST to its path. */
  wayIn?(trigger: TriggerOf<string, Config>, url: string): WayIn;
  /** For a type whose triggers somebody runs. */
  readonly byHand?: ByHandRules<Config>;
}

/** The members of one mapping, to report about. */
export class Fields {
  readonly #reader: SchemaReader;
  readonly #path: string;
  readonly #given: Readonly<Record<string, unknown>>;

  /** `given` came from elsewhere, and is as good as written here. */
  constructor(reader: SchemaReader, path: string, given: Readonly<Record<string, unknown>> = {}) {
    this.#reader = reader;
    this.#path = path;
    this.#given = given;
  }

  /** At the value of a member. */
  report(key: string, message: string, severity: Problem['severity'] = 'error'): void {
    this.#reader.report(this.#at(key), message, severity);
  }

  /** At an item of a list, or at a member of a mapping. */
  reportItem(
    key: string,
    index: number | string,
    message: string,
    severity: Problem['severity'] = 'error',
  ): void {
    this.#reader.report(joinPath(this.#at(key), index), message, severity);
  }

  /** Whether an error of this member was reported: what stands in its place is a default. */
  isFaulty(key: string): boolean {
    return this.#reader.isFaulty(this.#at(key));
  }

  reportKey(key: string, message: string, severity: Problem['severity'] = 'error'): void {
    this.#reader.reportKey(this.#at(key), message, severity);
  }

  /** Whether it was written, well or badly: what is bad has been reported already. */
  has(key: string): boolean {
    return this.#reader.has(this.#at(key)) || this.#given[key] !== undefined;
  }

  /** Whether `members` are all that was written of a mapping: what is bad has been reported and is not among them. */
  isWhole(key: string, members: object): boolean {
    return this.#reader.countBelow(this.#at(key)) <= Object.keys(members).length;
  }

  #at(key: string): string {
    return key === '' ? this.#path : joinPath(this.#path, key);
  }
}
