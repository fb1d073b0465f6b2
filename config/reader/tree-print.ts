// What a configuration file says, as a text in which neither the order of keys nor a secret makes a difference: of it a hash is made that
// others may see. It is made of the file as it is written: a reference stands for itself, whatever its variable has for a value.
//
// TPR1  no text of the print depends on a secret: what a schema calls one (where none knows the field, what stands under the name of one),
//       what stands below `env` and `headers`, in an address beyond its host, after a word such as `--token`, and whatever looks like a key
//       has a mark in its place.

import { isCredentialName } from '../credentials/credential-names.ts';
import { withoutKeyForms } from './key-forms.ts';
import { isBareAddress } from './shown-values.ts';
import type { YamlTree } from './yaml-tree.ts';

const MARK = '***';

/** Whatever is below them may be a secret. */
const secretMaps: ReadonlySet<string> = new Set(['env', 'environment', 'headers', 'http_headers']);

/** Whether the schema of a scalar calls it a secret; undefined where none was asked. */
export type IsSecret = (scalar: object) => boolean | undefined;

/** `key` is that under which the tree stands. */
export function treePrint(tree: YamlTree, isSecret: IsSecret, key = ''): string {
  if (tree.kind === 'scalar') return scalarPrint(tree.value, isSecret(tree) ?? isCredentialName(key));
  if (secretMaps.has(key.toLowerCase())) return marked(tree);
  if (tree.kind === 'list') {
    const items = tree.items.map((item, at) =>
      isValueOfKeyWord(tree.items[at - 1]) ? marked(item) : treePrint(item, isSecret, key),
    );
    return `[${items.join(',')}]`;
  }
  return mapPrint(tree.pairs, (pair) => treePrint(pair.value, isSecret, pair.key));
}

/** A secret is a text: numbers and switches are shown. */
function scalarPrint(value: unknown, isSecret: boolean): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'null';
  return isSecret ? mark(value) : JSON.stringify(shownText(value));
}

function mapPrint<Pair extends { readonly key: string }>(
  pairs: readonly Pair[],
  print: (pair: Pair) => string,
): string {
  const sorted = [...pairs].sort((a, b) => (a.key < b.key ? -1 : 1));
  return `{${sorted.map((pair) => `${JSON.stringify(pair.key)}:${print(pair)}`).join(',')}}`;
}

function marked(tree: YamlTree): string {
  if (tree.kind === 'list') return `[${tree.items.map(marked).join(',')}]`;
  if (tree.kind === 'map') return mapPrint(tree.pairs, ({ value }) => marked(value));
  return mark(tree.value);
}

/** Of an option such as `--token` the value is the next argument. */
function isValueOfKeyWord(before: YamlTree | undefined): boolean {
  const word = before?.kind === 'scalar' && typeof before.value === 'string' ? before.value : '';
  return /^-{1,2}[\w-]+$/.test(word) && (isCredentialName(word) || /^(?:-H|--headers?)$/.test(word));
}

const reference = /(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-[^}]*)?\}/g;

/** What is left of a secret: the names of the variables in it. */
function mark(value: unknown): string {
  const names = [...String(value).matchAll(reference)].map(([, name = '']) => name);
  return `(${[MARK, ...names].join(' ')})`;
}

const address = /\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s"'<>]+/gi;
/** `--token=…`, `Authorization: …`, up to the end of the line. */
const underName = /((?:key|token|secret|pass|credential|auth|_pat)[\w-]{0,40}["']?[ \t]*[=:][ \t]*)(\S.*)/gi;
const withScheme = /\b(Bearer|Basic|Token)[ \t]+(\S+)/gi;

/** A text that is no secret as a whole. */
function shownText(text: string): string {
  const shown = text
    .replace(reference, (whole, name: string) => (isCredentialName(name) ? `\${${name}}` : whole))
    .replace(address, (found) => (isBareAddress(found) ? found : `${originOf(found)}/${mark(found)}`))
    .replace(underName, (_, start: string, value: string) => start + mark(value))
    .replace(withScheme, (_, scheme: string, value: string) => `${scheme} ${mark(value)}`);
  return withoutKeyForms(shown, MARK);
}

function originOf(text: string): string {
  if (!URL.canParse(text)) return MARK;
  const { protocol, host } = new URL(text);
  return `${protocol}//${host}`;
}
