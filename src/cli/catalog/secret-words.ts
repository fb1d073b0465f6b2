// Values that most likely are secrets, by the names that they stand under. They go into `.env`, and a reference stands in their place.

import { isCredentialName } from '../../../config/credentials/credential-names.ts';
import { referencesIn } from '../../../config/reader/references.ts';
import { UsageError } from '../api/target-options.ts';
import { type EnvDraft, variableName } from './env-draft.ts';

/** Keeps values of one server. */
export class SecretKeeper {
  readonly #id: string;
  readonly #draft: EnvDraft;

  constructor(id: string, draft: EnvDraft) {
    this.#id = id;
    this.#draft = draft;
  }

  /** The reference to a value that is kept under this name. Throws UsageError. */
  keep(name: string, value: string): string {
    const kept = this.#draft.keep(value, [variableName(name), variableName(this.#id, name)]);
    if (kept === undefined)
      throw new UsageError(
        `the value of ${name} cannot be written into .env; set a variable and refer to it`,
      );
    return `\${${kept}}`;
  }

  /** The same for a name that says little without the server's. */
  keepOfServer(name: string, value: string): string {
    return this.keep(variableName(this.#id, name), value);
  }

  /** A variable of a program. */
  variable(name: string, value: string): string {
    return isCredentialName(name) && isValue(value) ? this.keep(name, value) : value;
  }

  /** A header; the word before its credentials stays. */
  header(name: string, value: string): string {
    if (!isCredentialName(name) || !isValue(value)) return value;
    const [, scheme = '', credentials = value] = /^([A-Za-z][\w-]*\s+)(\S.*)$/.exec(value) ?? [];
    return scheme + this.keepOfServer(name, credentials);
  }

  /** The address without the values of parameters that are keys. */
  url(text: string): string {
    return text.replace(/([?&])([^=&#]+)=([^&#]+)/g, (whole, mark: string, name: string, value: string) =>
      isCredentialName(name) && isValue(value) ? `${mark}${name}=${this.keepOfServer(name, value)}` : whole,
    );
  }

  /** Arguments of which options such as `--api-key` name keys. */
  args(words: readonly string[]): string[] {
    return words.map((word, at) => {
      const [, option, value] = /^(--?[\w-]+)=(.+)$/s.exec(word) ?? [];
      if (option !== undefined && value !== undefined)
        return isSecretOption(option) && isValue(value)
          ? `${option}=${this.keepOfServer(option, value)}`
          : word;
      const before = words[at - 1];
      const isGiven =
        before !== undefined && isSecretOption(before) && !word.startsWith('-') && isValue(word);
      return isGiven ? this.keepOfServer(before, word) : word;
    });
  }
}

/** Tests for options such as `--api-key`. */
const isSecretOption = (word: string) => word.startsWith('-') && isCredentialName(word);

/** A reference is none. */
const isValue = (text: string) => text !== '' && referencesIn(text).length === 0;
