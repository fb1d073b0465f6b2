// What a command puts into `.env`: values that nobody should read in a catalog. A variable that has another value already keeps it;
// then the new value gets another name.

import { parseEnvText } from '../../../config/reader/env-file.ts';
import { SourceFile } from '../../../config/reader/source-file.ts';
import type { Environment } from '../../../config/reader/substitute.ts';

export class EnvDraft {
  #before: string;
  #environment: Environment;
  readonly #added: Record<string, string> = {};

  /** `text` is the file's, and `environment` what references are read with, that text included. */
  constructor(text: string, environment: Environment) {
    this.#before = text;
    this.#environment = environment;
  }

  /**
   * The name of a variable with that value: the first of `names` that is free, or has the value already. Undefined for a value that
   * no file of this format can have.
   */
  keep(value: string, names: readonly string[]): string | undefined {
    if (lineFor('X', value) === undefined) return undefined;
    for (const name of candidates(names)) {
      const known = this.#added[name] ?? this.#environment[name];
      if (known === value) return name;
      if (known !== undefined) continue;
      this.#added[name] = value;
      return name;
    }
    return undefined;
  }

  /** The variables that the file does not have yet. */
  get added(): readonly string[] {
    return Object.keys(this.#added);
  }

  /** Whether the same can be added to another text of the file, which it then is. */
  canFollow(text: string): boolean {
    const { values } = parseEnvText(new SourceFile('', text));
    const isFree = ([name, value]: [string, string]) => (values[name] ?? value) === value;
    if (!Object.entries(this.#added).every(isFree)) return false;
    this.#before = text;
    this.#environment = { ...values, ...this.#environment };
    return true;
  }

  get environment(): Environment {
    return { ...this.#environment, ...this.#added };
  }

  /** The file with them at its end. */
  get text(): string {
    const { values } = parseEnvText(new SourceFile('', this.#before));
    const missing = Object.entries(this.#added).filter(([name]) => values[name] === undefined);
    const lines = missing.map(([name, value]) => `${lineFor(name, value) ?? ''}\n`);
    const gap = this.#before === '' || this.#before.endsWith('\n') ? '' : '\n';
    return lines.length === 0 ? this.#before : this.#before + gap + lines.join('');
  }

  get before(): string {
    return this.#before;
  }
}

const MOST = 100;

function* candidates(names: readonly string[]): Generator<string> {
  yield* names;
  for (let count = 2; count < MOST; count += 1) yield `${names.at(-1)}_${count}`;
}

/** In the first way of quoting by which it is read as it is. */
function lineFor(name: string, value: string): string | undefined {
  for (const quote of ['', "'", '"', '`']) {
    const line = `${name}=${quote}${value}${quote}`;
    const { values, problems } = parseEnvText(new SourceFile('', `${line}\n`));
    const isPlain = quote !== '' || /^[^\s'"`#\\]*$/.test(value);
    if (isPlain && problems.length === 0 && Object.keys(values).length === 1 && values[name] === value)
      return line;
  }
  return undefined;
}

/** Words in capitals, as variables are written. */
export function variableName(...words: readonly string[]): string {
  const name = words
    .join('_')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .toUpperCase();
  return /^[A-Z]/.test(name) ? name : `MCP_${name}`;
}
