// Takes the secrets out of the servers of a catalog. Each becomes a reference to a variable; the same secret is the same
// variable wherever it stands, and a variable is one secret only.
//
// HSE1 (A9)  a value that was taken out stands nowhere in what is given back, as long as it has six characters: shorter
//           ones are replaced at their places alone, since they may well be parts of other words.

import type { OwnEntry } from '../../../config/catalog/importable-servers.ts';
import { type Hide, hiddenArguments, hiddenHeader, hiddenUnder, withoutSecrets } from './secret-places.ts';

export interface NamedServer {
  readonly id: string;
  readonly entry: OwnEntry;
}

export interface WithoutSecrets<S extends NamedServer> {
  readonly servers: readonly S[];
  /** Variables that the servers refer to, each with the ids of those that do. */
  readonly variables: readonly Variable[];
}

export interface Variable {
  readonly name: string;
  readonly servers: readonly string[];
  /** Whether its value stands in the file that it was imported from. */
  readonly wasWritten: boolean;
}

const MIN_LENGTH = 6;

const reference = /(?<!\$)\$\{([A-Za-z_]\w*)(:-[^}]*)?\}/g;

export function hiddenSecrets<S extends NamedServer>(given: readonly S[]): WithoutSecrets<S> {
  const names = new VariableNames(given.flatMap(({ entry }) => referencesOf(entry).map(({ name }) => name)));
  const hidden = given.map((server) => ({ ...server, entry: hiddenEntry(server, names) }));
  const servers = hidden.map((server) => {
    return { ...server, entry: eachText(server.entry, (text) => names.replaceAll(withoutDefaults(text))) };
  });
  const used = new Map<string, Set<string>>();
  for (const { id, entry } of servers)
    for (const { name, hasDefault } of referencesOf(entry))
      if (!hasDefault) used.set(name, (used.get(name) ?? new Set()).add(id));
  const variables = [...used].map(([name, ids]) => {
    return { name, servers: [...ids], wasWritten: names.isOwn(name) };
  });
  return { servers, variables };
}

function hiddenEntry({ id, entry }: NamedServer, names: VariableNames): OwnEntry {
  const hide: Hide = (value, name, isOfServer) => `\${${names.of(value, id, name, isOfServer)}}`;
  return Object.fromEntries(
    Object.entries(entry).map(([key, value]) => {
      if (key === 'args' && Array.isArray(value)) return [key, hiddenArguments(value.map(String), hide)];
      if (key === 'env')
        return [key, eachMember(value, (name, text) => hiddenUnder(name, text, hide, false))];
      if (key === 'headers') return [key, eachMember(value, (name, text) => hiddenHeader(name, text, hide))];
      return [key, eachText(value, (text) => withoutSecrets(text, hide))];
    }),
  );
}

/** A default that stands for a key is one that everybody may read. */
function withoutDefaults(text: string): string {
  return text.replace(reference, (whole, name: string, fallback?: string) => {
    if (fallback === undefined) return whole;
    const isSecret =
      /key|token|secret|password/i.test(name) || withoutSecrets(fallback, () => '') !== fallback;
    return isSecret && fallback.length > 2 ? `\${${name}}` : whole;
  });
}

/** Which variable stands for which value. */
class VariableNames {
  readonly #byName = new Map<string, string | undefined>();
  readonly #byValue = new Map<string, string>();

  /** `referred` are variables whose values nobody knows here. */
  constructor(referred: readonly string[]) {
    for (const name of referred) this.#byName.set(name, undefined);
  }

  isOwn(name: string): boolean {
    return this.#byName.get(name) !== undefined;
  }

  of(value: string, server: string, wish: string, isOfServer: boolean): string {
    const known = value.length < MIN_LENGTH ? undefined : this.#byValue.get(value);
    if (known !== undefined) return known;
    const short = variableName(wish);
    const long = variableName(`${server}_${wish}`);
    const wishes = isOfServer && !short.startsWith(variableName(server)) ? [long] : [short, long];
    const numbered = Array.from({ length: this.#byName.size + 2 }, (_, index) => `${long}_${index + 2}`);
    const isFree = (name: string) => !this.#byName.has(name) || this.#byName.get(name) === value;
    const name = [...wishes, ...numbered].find(isFree) ?? long;
    this.#byName.set(name, value);
    this.#byValue.set(value, name);
    return name;
  }

  /** Longer values first, which may hold others; what stands in references is left alone. */
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

function variableName(wish: string): string {
  const name = wish
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');
  return /^[A-Z]/.test(name) ? name : `_${name}`;
}

function referencesOf(value: unknown): { name: string; hasDefault: boolean }[] {
  const found: { name: string; hasDefault: boolean }[] = [];
  eachText(value, (text) => {
    for (const [, name = '', fallback] of text.matchAll(reference))
      found.push({ name, hasDefault: fallback !== undefined });
    return text;
  });
  return found;
}

function eachMember(value: unknown, change: (name: string, text: string) => string): unknown {
  return Object.fromEntries(
    Object.entries(value as Record<string, unknown>).map(([name, text]) => [
      name,
      change(name, String(text)),
    ]),
  );
}

function eachText<T>(value: T, change: (text: string) => string): T {
  if (typeof value === 'string') return change(value) as T;
  if (Array.isArray(value)) return value.map((item) => eachText(item, change)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, eachText(member, change)]),
  ) as T;
}
