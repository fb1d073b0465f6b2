// Replaces the secrets in imported servers with references to variables. Equal secrets get the same variable,
// and different secrets get different ones.
//
// A secret of MIN_LENGTH or more characters is replaced everywhere in the result (A9, ARCHITECTURE.md). A
// shorter secret is replaced only at the position where it was found, because it can be part of another word.

import type { OwnEntry } from '../../../config/catalog/importable-servers.ts';
import {
  namedSecrets,
  type ReplaceSecret,
  replaceHeaderValue,
  replaceInArguments,
  replaceNamedValue,
  replaceSecrets,
} from '../catalog/detect-secrets.ts';

export interface NamedServer {
  readonly id: string;
  readonly entry: OwnEntry;
}

export interface WithoutSecrets<S extends NamedServer> {
  readonly servers: readonly S[];
  /** Variables that the servers reference, each with the ids of these servers. */
  readonly variables: readonly Variable[];
}

export interface Variable {
  readonly name: string;
  readonly servers: readonly string[];
  /** True if the imported file contains the value. */
  readonly wasWritten: boolean;
}

const MIN_LENGTH = 6;

const reference = /(?<!\$)\$\{([A-Za-z_]\w*)(:-[^}]*)?\}/g;

export function hideSecrets<S extends NamedServer>(originals: readonly S[]): WithoutSecrets<S> {
  const names = new VariableNames(
    originals.flatMap(({ entry }) => referencesOf(entry).map(({ name }) => name)),
  );
  const hidden = originals.map((server) => ({ ...server, entry: hideInEntry(server, names) }));
  const servers = hidden.map((server) => {
    return {
      ...server,
      entry: mapTexts(server.entry, (text) => names.replaceAll(removeSecretDefaults(text))),
    };
  });
  const usage = new Map<string, Set<string>>();
  for (const { id, entry } of servers)
    for (const { name, hasDefault } of referencesOf(entry))
      if (!hasDefault) usage.set(name, (usage.get(name) ?? new Set()).add(id));
  const variables = [...usage].map(([name, ids]) => {
    return { name, servers: [...ids], wasWritten: names.hasValue(name) };
  });
  return { servers, variables };
}

function hideInEntry({ id, entry }: NamedServer, names: VariableNames): OwnEntry {
  const hide: ReplaceSecret = (value, name, { isOfServer }) =>
    `\${${names.nameFor(value, id, name, isOfServer)}}`;
  // References in `args` prefer the variables of `env`, so these get their names first: another secret in
  // `args` must not get the same name.
  const env = mapMembers(entry.env ?? {}, (name, text) =>
    replaceNamedValue(name, text, hide, { isOfServer: false }),
  );
  return Object.fromEntries(
    Object.entries(entry).map(([key, value]) => {
      if (key === 'env') return [key, env];
      if (key === 'args' && Array.isArray(value)) return [key, replaceInArguments(value.map(String), hide)];
      if (key === 'headers')
        return [key, mapMembers(value, (name, text) => replaceHeaderValue(name, text, hide))];
      return [key, mapTexts(value, (text) => replaceSecrets(text, hide))];
    }),
  );
}

/** Removes defaults from references (`${NAME:-default}`) that are probably secrets. */
function removeSecretDefaults(text: string): string {
  return text.replace(reference, (whole, name: string, fallback?: string) => {
    if (fallback === undefined) return whole;
    const isSecret = namedSecrets(name, fallback).length > 0;
    return isSecret && fallback.length > 2 ? `\${${name}}` : whole;
  });
}

/** Names of the variables for all secrets. */
class VariableNames {
  readonly #byName = new Map<string, string | undefined>();
  readonly #byValue = new Map<string, string>();

  /** `referencedNames` are variables that the files already reference; their values are unknown. */
  constructor(referencedNames: readonly string[]) {
    for (const name of referencedNames) this.#byName.set(name, undefined);
  }

  hasValue(name: string): boolean {
    return this.#byName.get(name) !== undefined;
  }

  nameFor(value: string, server: string, wantedName: string, isOfServer: boolean): string {
    const existing = value.length < MIN_LENGTH ? undefined : this.#byValue.get(value);
    if (existing !== undefined) return existing;
    const short = variableName(wantedName);
    const long = variableName(`${server}_${wantedName}`);
    const wishes = isOfServer && !short.startsWith(variableName(server)) ? [long] : [short, long];
    const numbered = Array.from({ length: this.#byName.size + 2 }, (_, index) => `${long}_${index + 2}`);
    const isFree = (name: string) => !this.#byName.has(name) || this.#byName.get(name) === value;
    const name = [...wishes, ...numbered].find(isFree) ?? long;
    this.#byName.set(name, value);
    this.#byValue.set(value, name);
    return name;
  }

  /** Replaces all known secrets in a text, the longest first, but not inside references. */
  replaceAll(text: string): string {
    const values = [...this.#byValue.keys()]
      .filter((value) => value.length >= MIN_LENGTH && text.includes(value))
      .sort((a, b) => b.length - a.length);
    return values.reduce((rest, value) => {
      const parts = rest.split(/((?<!\$)\$\{[^}]*\})/);
      return parts
        .map((part, index) =>
          index % 2 === 1 ? part : part.replaceAll(value, () => `\${${this.#byValue.get(value)}}`),
        )
        .join('');
    }, text);
  }
}

function variableName(wantedName: string): string {
  const name = wantedName
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');
  return /^[A-Z]/.test(name) ? name : `_${name}`;
}

/** Returns the references to variables of the gateway. Variables in `args` may be defined by `env`. */
function referencesOf({ args, ...rest }: OwnEntry): { name: string; hasDefault: boolean }[] {
  const references: { name: string; hasDefault: boolean }[] = [];
  const collect = (value: unknown, ownVariables: object) =>
    mapTexts(value, (text) => {
      for (const [, name = '', fallback] of text.matchAll(reference))
        if (!Object.hasOwn(ownVariables, name)) references.push({ name, hasDefault: fallback !== undefined });
      return text;
    });
  collect(rest, {});
  collect(args, rest.env ?? {});
  return references;
}

function mapMembers(value: unknown, change: (name: string, text: string) => string): unknown {
  return Object.fromEntries(
    Object.entries(value as Record<string, unknown>).map(([name, text]) => [
      name,
      change(name, String(text)),
    ]),
  );
}

function mapTexts<T>(value: T, change: (text: string) => string): T {
  if (typeof value === 'string') return change(value) as T;
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, mapTexts(member, change)]),
  ) as T;
}
