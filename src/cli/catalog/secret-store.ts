// Moves the secrets of a new catalog entry into `.env`, and returns references to them.

import { CommandLineError } from '../api/target-options.ts';
import {
  namedSecrets,
  type ReplaceSecret,
  replaceHeaderValue,
  replaceInArguments,
  replaceNamedValue,
  replaceSecrets,
  splitSecrets,
} from './detect-secrets.ts';
import { type EnvDraft, toVariableName } from './env-draft.ts';

/** Part of a text: literal text, or a reference to a stored secret. */
export interface TextPiece {
  readonly text: string;
  readonly isReference: boolean;
}

/** Stores the secrets of one server. */
export class SecretStore {
  readonly #id: string;
  readonly #draft: EnvDraft;

  constructor(id: string, draft: EnvDraft) {
    this.#id = id;
    this.#draft = draft;
  }

  /**
   * Stores a value and returns the reference `${NAME}`. Throws CommandLineError if `.env` cannot contain it.
   */
  store(name: string, value: string): string {
    const variable = this.#draft.addValue(value, [toVariableName(name), toVariableName(this.#id, name)]);
    if (variable === undefined)
      throw new CommandLineError(
        `the value of ${name} cannot be written to .env; set a variable and reference it`,
      );
    return `\${${variable}}`;
  }

  /** Same as `store`; the variable's name contains the id of the server. */
  storeForServer(name: string, value: string): string {
    return this.store(toVariableName(this.#id, name), value);
  }

  /** Returns the value for an environment variable of the program, with references to the secrets. */
  variable(name: string, value: string): string {
    return replaceNamedValue(name, value, this.#replace, { isOfServer: false });
  }

  /** Returns the value for a header. Replaces credentials, but not the scheme before them (`Bearer`). */
  header(name: string, value: string): string {
    return replaceHeaderValue(name, value, this.#replace);
  }

  /** Returns the address. Replaces passwords, keys and secret parameters. */
  url(text: string): string {
    return replaceSecrets(text, this.#replace);
  }

  /** Returns the arguments. Replaces the values of options such as `--api-key`, and other secrets. */
  args(args: readonly string[]): string[] {
    return replaceInArguments(args, this.#replace);
  }

  readonly #replace: ReplaceSecret = (value, name, { isOfServer }) =>
    isOfServer ? this.storeForServer(name, value) : this.store(name, value);
}

/** Splits a text into its secrets, which `store` replaces by references, and the text between them. */
export function withoutSecrets(
  name: string,
  text: string,
  store: (name: string, value: string) => string,
): readonly TextPiece[] {
  return splitSecrets(text, namedSecrets(name, text)).map((part) =>
    part.name === undefined
      ? { text: part.text, isReference: false }
      : { text: store(part.name, part.text), isReference: true },
  );
}
