// Draft of a `.env` file: collects new variables for secrets that must not be in the catalog. Nothing is
// written here; `text` is the new content of the file. An existing variable never changes: a new value gets a
// free name.

import { parseEnvText } from '../../../config/reader/env-file.ts';
import { SourceFile } from '../../../config/reader/source-file.ts';
import type { Environment } from '../../../config/reader/substitute.ts';

export class EnvDraft {
  #originalText: string;
  #environment: Environment;
  readonly #added: Record<string, string> = {};

  /** `text` is the content of the file; `environment` includes its variables. */
  constructor(text: string, environment: Environment) {
    this.#originalText = text;
    this.#environment = environment;
  }

  /**
   * Adds a value and returns the variable's name: the first of `names` that is free or already has this
   * value. Returns undefined if the file format cannot express the value.
   */
  addValue(value: string, names: readonly string[]): string | undefined {
    if (lineFor('X', value) === undefined) return undefined;
    for (const name of candidates(names)) {
      const existing = this.#added[name] ?? this.#environment[name];
      if (existing === value) return name;
      if (existing !== undefined) continue;
      this.#added[name] = value;
      return name;
    }
    return undefined;
  }

  /** Variables that are not in the file yet. */
  get addedNames(): readonly string[] {
    return Object.keys(this.#added);
  }

  /**
   * Applies the draft to a new content of the file, after a concurrent change. Returns false if a variable
   * has another value there.
   */
  rebase(text: string): boolean {
    const { values } = parseEnvText(new SourceFile('', text));
    const isFree = ([name, value]: [string, string]) => (values[name] ?? value) === value;
    if (!Object.entries(this.#added).every(isFree)) return false;
    this.#originalText = text;
    // The earlier values have priority: they include the variables of the process, which override the file.
    this.#environment = { ...values, ...this.#environment };
    return true;
  }

  /** All variables, with the new ones. */
  get environment(): Environment {
    return { ...this.#environment, ...this.#added };
  }

  /** Content of the file with the new variables at the end. */
  get text(): string {
    const { values } = parseEnvText(new SourceFile('', this.#originalText));
    const newVariables = Object.entries(this.#added).filter(([name]) => values[name] === undefined);
    const lines = newVariables.map(([name, value]) => `${lineFor(name, value) ?? ''}\n`);
    const gap = this.#originalText === '' || this.#originalText.endsWith('\n') ? '' : '\n';
    return lines.length === 0 ? this.#originalText : this.#originalText + gap + lines.join('');
  }

  /** Content of the file before the draft. */
  get originalText(): string {
    return this.#originalText;
  }
}

const MAX_CANDIDATES = 100;

function* candidates(names: readonly string[]): Generator<string> {
  yield* names;
  for (let count = 2; count < MAX_CANDIDATES; count += 1) yield `${names.at(-1)}_${count}`;
}

/** Returns `NAME=value` with the first quotes that preserve the value; undefined if none does. */
function lineFor(name: string, value: string): string | undefined {
  const needsQuotes = /[\s'"`#\\]/.test(value);
  for (const quote of needsQuotes ? ["'", '"', '`'] : ['', "'", '"', '`']) {
    const line = `${name}=${quote}${value}${quote}`;
    const { values, problems } = parseEnvText(new SourceFile('', `${line}\n`));
    if (problems.length === 0 && Object.keys(values).length === 1 && values[name] === value) return line;
  }
  return undefined;
}

/** Joins the parts to a valid name in capitals: `my-server`, `token` → `MY_SERVER_TOKEN`. */
export function toVariableName(...parts: readonly string[]): string {
  const name = parts
    .join('_')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .toUpperCase();
  return /^[A-Z]/.test(name) ? name : `MCP_${name}`;
}
