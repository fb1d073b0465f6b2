// Moves values from a new catalog entry into `.env` if they are probably secrets, judged by their names, and
// returns references to them.

import { isCredentialName } from '../../../config/credentials/credential-names.ts';
import { referencesIn } from '../../../config/reader/references.ts';
import { CommandLineError } from '../api/target-options.ts';
import { type EnvDraft, toVariableName } from './env-draft.ts';

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

  /** Returns the value for an environment variable of the program: `value`, or a reference. */
  variable(name: string, value: string): string {
    return isCredentialName(name) && isValue(value) ? this.store(name, value) : value;
  }

  /** Returns the value for a header. Replaces credentials, but not the scheme before them (`Bearer`). */
  header(name: string, value: string): string {
    if (!isCredentialName(name) || !isValue(value)) return value;
    const [, scheme = '', credentials = value] = /^([A-Za-z][\w-]*\s+)(\S.*)$/.exec(value) ?? [];
    return scheme + this.storeForServer(name, credentials);
  }

  /** Returns the address. Replaces secret query parameters. */
  url(text: string): string {
    return text.replace(/([?&])([^=&#]+)=([^&#]+)/g, (whole, mark: string, name: string, value: string) =>
      isCredentialName(name) && isValue(value) ? `${mark}${name}=${this.storeForServer(name, value)}` : whole,
    );
  }

  /** Returns the arguments. Replaces the values of options such as `--api-key`. */
  args(args: readonly string[]): string[] {
    return args.map((arg, at) => {
      const [, option, value] = /^(--?[\w-]+)=(.+)$/s.exec(arg) ?? [];
      if (option !== undefined && value !== undefined)
        return isSecretOption(option) && isValue(value)
          ? `${option}=${this.storeForServer(option, value)}`
          : arg;
      const before = args[at - 1];
      const isSecretValue =
        before !== undefined && isSecretOption(before) && !arg.startsWith('-') && isValue(arg);
      return isSecretValue ? this.storeForServer(before, arg) : arg;
    });
  }
}

const isSecretOption = (arg: string) => arg.startsWith('-') && isCredentialName(arg);

/** Returns false for empty values and references. */
const isValue = (text: string) => text !== '' && referencesIn(text).length === 0;
