// Finds configuration fields by a dotted path, for `explain`: with a kind (`gateway.limits.body_bytes`), or
// as an error message prints it (`servers.files.env.TOKEN`). Suggests alternatives for unknown paths, and
// completes an unfinished one for the shell.

import {
  dottedPath,
  fieldAround,
  fieldsBelow,
  findField,
  kinds,
  membersOf,
  rootField,
  type SchemaField,
  type SchemaKind,
  typesOf,
} from '../../../config/json-schema/schema-fields.ts';
import { suggest } from '../../../config/reader/suggest.ts';
import { CommandLineError } from '../api/target-options.ts';
import { matchPrefix } from '../completion/match-prefix.ts';
import { meaningOf } from '../views/fields.ts';

export const kindMeanings: Readonly<Record<SchemaKind, string>> = {
  gateway: 'the gateway file',
  catalog: 'the catalog of tool servers',
  trigger: 'a Trigger file',
  agent: 'an Agent file',
  fleet: 'a Fleet file',
  flow: 'a Flow file',
};

/**
 * Returns the fields at a dotted path. Without a kind in the path, returns the field of each kind that has
 * it. Throws CommandLineError with suggestions.
 */
export function findNamedFields(text: string): readonly SchemaField[] {
  const [first = '', ...path] = segmentsOf(text);
  const kind = parseKind(first);
  const ofKind = kind === undefined ? [] : fieldsOfKinds([kind], path);
  if (ofKind.length > 0) return ofKind;
  const ofAnyKind = fieldsOfKinds(kinds, [first, ...path]);
  if (ofAnyKind.length > 0) return ofAnyKind;
  throw new CommandLineError(
    kind === undefined ? unknownKindText(first, path) : unknownFieldText(rootField(kind), path),
  );
}

function fieldsOfKinds(among: readonly SchemaKind[], path: readonly string[]): readonly SchemaField[] {
  const fields = among.flatMap((kind) => findField(rootField(kind), path) ?? []);
  return fields.length > 0 ? fields : among.flatMap((kind) => fieldAround(rootField(kind), path) ?? []);
}

/** Returns all paths that start with `text`, each with its meaning. */
export function completeFieldPath(text: string): readonly (readonly [path: string, meaning: string])[] {
  const at = text.lastIndexOf('.');
  if (at === -1)
    return expandOnlyMatch(
      kinds.map((kind) => [kind, kindMeanings[kind]] as const),
      text,
      (kind) => rootField(kind as SchemaKind),
    );
  const kind = parseKind(text.slice(0, at).split('.')[0] ?? '');
  const parent = kind && findField(rootField(kind), segmentsOf(text.slice(0, at)).slice(1));
  if (parent === undefined) return [];
  const before = text.slice(0, at + 1);
  const types = typesOf(parent).filter((type) => !type.includes(' '));
  const rows = [
    ...[...membersOf(parent)].map(([name, field]) => [`${before}${name}`, meaningOf(field)] as const),
    ...types.map((type) => [`${before}${type}`, 'only for this type'] as const),
  ];
  return expandOnlyMatch(rows, text, (path) => findField(parent, [path.slice(before.length)]));
}

/**
 * Returns the matching paths. If only one matches, adds the fields below it; otherwise the shell would treat
 * the word as complete.
 */
function expandOnlyMatch(
  rows: readonly (readonly [string, string])[],
  text: string,
  fieldOf: (path: string) => SchemaField | undefined,
): readonly (readonly [string, string])[] {
  const matches = matchPrefix(text, rows);
  const [only, ...others] = matches;
  if (only === undefined || others.length > 0) return matches;
  const field = fieldOf(only[0]);
  const below = field === undefined ? [] : [...membersOf(field)];
  return [only, ...below.map(([name, each]) => [`${only[0]}.${name}`, meaningOf(each)] as const)];
}

/** Parses a kind. Accepts variants such as `Trigger`, `triggers` and `AgentFlow`. */
function parseKind(word: string): SchemaKind | undefined {
  const kindName = word.toLowerCase().replace(/^agent(?=fleet|flow)/, '');
  return kinds.find((kind) => kind === kindName || `${kind}s` === kindName);
}

/**
 * Splits a path. Drops indices and quoted ids, which error messages have (`servers["my.server"].args[0]`).
 */
function segmentsOf(text: string): string[] {
  return text
    .slice(0, MAX_CHARACTERS)
    .replace(/\[[^\]]*\]/g, '')
    .split('.')
    .filter((segment) => segment !== '');
}

const MAX_CHARACTERS = 1000;
const MAX_PATHS = 5;

function unknownKindText(first: string, path: readonly string[]): string {
  const close = suggest(first, kinds);
  if (close !== undefined && path.length === 0) return `there is no such kind; did you mean ${close}?`;
  const field = close === undefined ? undefined : findField(rootField(close as SchemaKind), path);
  if (field !== undefined) return `there is no such kind; did you mean ${dottedPath(field)}?`;
  const paths = pathsEndingIn([first, ...path]);
  if (paths !== undefined) return `start the path with its kind: ${paths}`;
  return `there is no such kind; there are ${kinds.join(', ')}`;
}

/** Describes the first unknown part in the path, with suggestions. */
function unknownFieldText(root: SchemaField, path: readonly string[]): string {
  /** Deepest field of the path that exists. */
  let knownField = root;
  let at = 0;
  for (; at < path.length; at += 1) {
    const next = findField(root, path.slice(0, at + 1));
    if (next === undefined) break;
    knownField = next;
  }
  const message = `${dottedPath(knownField)} has no such field`;
  const suggestion = correctPath(knownField, path.slice(at));
  const otherPaths = pathsEndingIn(path.slice(at));
  const parts = [
    ...(suggestion === undefined ? [] : [`did you mean ${dottedPath(suggestion)}?`]),
    ...(otherPaths === undefined ? [] : [`other fields of that name: ${otherPaths}`]),
  ];
  if (parts.length > 0) return `${message}; ${parts.join(' ')}`;
  const names = namesBelow(knownField);
  return names.length === 0 ? `${message}; it has no fields` : `${message}; there are ${names.join(', ')}`;
}

const namesBelow = (field: SchemaField) => [...membersOf(field).keys(), ...typesOf(field)];

/** Replaces each unknown part in the path with the closest name. */
function correctPath(from: SchemaField, path: readonly string[]): SchemaField | undefined {
  const [name, ...rest] = path;
  if (name === undefined) return from;
  const close = suggest(name, namesBelow(from));
  const next = close === undefined ? undefined : findField(from, [close]);
  return next && (correctPath(next, rest) ?? next);
}

/** Lists the existing paths that end with `end`, shortest first; undefined if no path matches. */
function pathsEndingIn(end: readonly string[]): string | undefined {
  const suffix = `.${end.join('.')}`.toLowerCase();
  const paths = kinds
    .flatMap((kind) => [...fieldsBelow(rootField(kind))].map(dottedPath))
    .filter((path) => path.toLowerCase().endsWith(suffix))
    .sort((a, b) => a.length - b.length);
  if (paths.length === 0) return undefined;
  const firstPaths = paths.slice(0, MAX_PATHS).join(', ');
  return paths.length > MAX_PATHS ? `${firstPaths} and ${paths.length - MAX_PATHS} more` : firstPaths;
}
