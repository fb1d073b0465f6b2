// What the reader of triggers must know of a type: the schema of `spec.config`, and the rules that a schema cannot say.
// Each type says so in a file of its own under types/; trigger-types.ts lists them.

import type * as Type from 'typebox';
import { joinPath } from '../field-path.ts';
import type { Problem } from '../problem.ts';
import type { SchemaReader } from '../schema-reader.ts';

/** Where the gateway listens, as far as it is known. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export interface TriggerType<Config = object> {
  readonly config: Type.TObject;
  /** False: its fields are checked, and then it is refused by name. */
  readonly isBuilt: boolean;
  /** Checks what was written and filled, and gives it the form in which the rest of the program wants it. */
  complete?(config: Config, fields: Fields, listen: ListenAddress | undefined): Config;
  /** What is wrong with the name of a command as written; undefined when nothing is. */
  commandFault?(command: string): string | undefined;
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
