// A field as somebody names it on a command line: the one that is meant, what there is besides where there is none of that
// name, and what a word that is not finished may become.

import {
  dottedPath,
  type Field,
  fieldsBelow,
  findField,
  type Kind,
  kinds,
  membersOf,
  rootField,
  typesOf,
} from '../../../config/json-schema/schema-fields.ts';
import { suggest } from '../../../config/reader/suggest.ts';
import { UsageError } from '../api/target-options.ts';
import { fittingWords } from '../completion/fitting-words.ts';
import { meaningOf } from '../views/field-views.ts';

export const kindMeanings: Readonly<Record<Kind, string>> = {
  gateway: 'the gateway file',
  catalog: 'the catalog of tool servers',
  trigger: 'a file of a Trigger',
  agent: 'a file of an Agent',
  fleet: 'a file of a Fleet',
  flow: 'a file of a Flow',
};

/** The field that is meant by words with dots between them. Throws UsageError, which says what there is. */
export function fieldNamed(words: string): Field {
  const [first = '', ...path] = segmentsOf(words);
  const kind = kindNamed(first);
  if (kind === undefined) throw new UsageError(withoutKind(first, path));
  const field = findField(rootField(kind), path);
  if (field !== undefined) return field;
  throw new UsageError(withoutField(rootField(kind), path));
}

/** What a word of which this is the beginning may become, each with what it is for. */
export function fieldsBeginning(words: string): readonly (readonly [path: string, meaning: string])[] {
  const at = words.lastIndexOf('.');
  if (at === -1)
    return fitting(
      kinds.map((kind) => [kind, kindMeanings[kind]] as const),
      words,
      (kind) => rootField(kind as Kind),
    );
  const kind = kindNamed(words.slice(0, at).split('.')[0] ?? '');
  const above = kind && findField(rootField(kind), segmentsOf(words.slice(0, at)).slice(1));
  if (above === undefined) return [];
  const before = words.slice(0, at + 1);
  const types = typesOf(above).filter((type) => !type.includes(' '));
  const rows = [
    ...[...membersOf(above)].map(([name, field]) => [`${before}${name}`, meaningOf(field)] as const),
    ...types.map((type) => [`${before}${type}`, 'of this type alone'] as const),
  ];
  return fitting(rows, words, (path) => findField(above, [path.slice(before.length)]));
}

/** With those below it where only one fits, so that a shell does not take the word for whole. */
function fitting(
  rows: readonly (readonly [string, string])[],
  words: string,
  fieldOf: (path: string) => Field | undefined,
): readonly (readonly [string, string])[] {
  const fits = fittingWords(words, rows);
  const [only, ...others] = fits;
  if (only === undefined || others.length > 0) return fits;
  const field = fieldOf(only[0]);
  const below = field === undefined ? [] : [...membersOf(field)];
  return [only, ...below.map(([name, each]) => [`${only[0]}.${name}`, meaningOf(each)] as const)];
}

/** `Trigger`, `triggers` and `AgentFlow` are kinds too. */
function kindNamed(word: string): Kind | undefined {
  const plain = word.toLowerCase().replace(/^agent(?=fleet|flow)/, '');
  return kinds.find((kind) => kind === plain || `${kind}s` === plain);
}

/** Indices and quoted ids as they stand in messages (`servers["my.server"].args[0]`) are left out. */
function segmentsOf(words: string): string[] {
  return words
    .slice(0, MOST_CHARACTERS)
    .replace(/\[[^\]]*\]/g, '')
    .split('.')
    .filter((segment) => segment !== '');
}

const MOST_CHARACTERS = 1000;
const MOST_PLACES = 5;

function withoutKind(first: string, path: readonly string[]): string {
  const close = suggest(first, kinds);
  if (close !== undefined && path.length === 0) return `there is no such kind; did you mean ${close}?`;
  const whole = close === undefined ? undefined : findField(rootField(close as Kind), path);
  if (whole !== undefined) return `there is no such kind; did you mean ${dottedPath(whole)}?`;
  const places = placesOf([first, ...path]);
  if (places !== undefined) return `a field is named from its kind on: ${places}`;
  return `there is no such kind; there are ${kinds.join(', ')}`;
}

/** Of a path that goes wrong somewhere: where, and what is there. */
function withoutField(root: Field, path: readonly string[]): string {
  let good = root;
  let at = 0;
  for (; at < path.length; at += 1) {
    const next = findField(root, path.slice(0, at + 1));
    if (next === undefined) break;
    good = next;
  }
  const said = `${dottedPath(good)} has no such field`;
  const meant = corrected(good, path.slice(at));
  const elsewhere = placesOf(path.slice(at));
  const parts = [
    ...(meant === undefined ? [] : [`did you mean ${dottedPath(meant)}?`]),
    ...(elsewhere === undefined ? [] : [`elsewhere there is ${elsewhere}`]),
  ];
  if (parts.length > 0) return `${said}; ${parts.join(' ')}`;
  const known = knownBelow(good);
  return known.length === 0 ? `${said}, nor any other` : `${said}; there are ${known.join(', ')}`;
}

const knownBelow = (field: Field) => [...membersOf(field).keys(), ...typesOf(field)];

/** The field that is reached where each slip is taken for what is closest. */
function corrected(from: Field, path: readonly string[]): Field | undefined {
  const [name, ...rest] = path;
  if (name === undefined) return from;
  const close = suggest(name, knownBelow(from));
  const next = close === undefined ? undefined : findField(from, [close]);
  return next && (corrected(next, rest) ?? next);
}

/** Where fields of that name are, the shortest paths first; undefined where there is none. */
function placesOf(end: readonly string[]): string | undefined {
  const wanted = `.${end.join('.')}`.toLowerCase();
  const paths = kinds
    .flatMap((kind) => [...fieldsBelow(rootField(kind))].map(dottedPath))
    .filter((path) => path.toLowerCase().endsWith(wanted))
    .sort((a, b) => a.length - b.length);
  if (paths.length === 0) return undefined;
  const shown = paths.slice(0, MOST_PLACES).join(', ');
  return paths.length > MOST_PLACES ? `${shown} and ${paths.length - MOST_PLACES} more` : shown;
}
