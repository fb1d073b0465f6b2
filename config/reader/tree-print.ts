// Prints a configuration file as text for the public hash by which cluster nodes are compared. The text does
// not depend on key order and secrets: it contains references such as `${VAR}`, but not the values of the
// variables.
//
// Secrets are replaced by a mark and the names of the variables in them: values that the schema (or, without
// one, the name) declares secret; values below `env` and `headers`; addresses beyond the host; values after
// options such as `--token`; and texts that look like keys. Defaults of variables with a credential name are
// omitted.

import { isCredentialName } from '../credentials/credential-names.ts';
import { withoutKeyForms } from './key-forms.ts';
import { isBareAddress } from './visible-values.ts';
import type { YamlTree } from './yaml-tree.ts';

const MARK = '***';

/** All values below them may be secrets. */
const secretMaps: ReadonlySet<string> = new Set(['env', 'environment', 'headers', 'http_headers']);

/** Returns true if the schema marks the scalar as secret; undefined if no schema covers it. */
export type IsSecret = (scalar: object) => boolean | undefined;

/** Prints a tree; `key` is the key that contains it. */
export function treePrint(tree: YamlTree, isSecret: IsSecret, key = ''): string {
  if (tree.kind === 'scalar') return scalarPrint(tree.value, isSecret(tree) ?? isCredentialName(key));
  if (secretMaps.has(key.toLowerCase())) return maskTree(tree);
  if (tree.kind === 'list') {
    const items = tree.items.map((item, index) =>
      followsCredentialOption(tree.items[index - 1]) ? maskTree(item) : treePrint(item, isSecret, key),
    );
    return `[${items.join(',')}]`;
  }
  return mapPrint(tree.pairs, (pair) => treePrint(pair.value, isSecret, pair.key));
}

/** Only texts can be secrets: numbers and booleans are printed. */
function scalarPrint(value: unknown, isSecret: boolean): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'null';
  return isSecret ? maskValue(value) : JSON.stringify(printText(value));
}

function mapPrint<Pair extends { readonly key: string }>(
  pairs: readonly Pair[],
  print: (pair: Pair) => string,
): string {
  const sorted = [...pairs].sort((a, b) => (a.key < b.key ? -1 : 1));
  return `{${sorted.map((pair) => `${JSON.stringify(pair.key)}:${print(pair)}`).join(',')}}`;
}

function maskTree(tree: YamlTree): string {
  if (tree.kind === 'list') return `[${tree.items.map(maskTree).join(',')}]`;
  if (tree.kind === 'map') return mapPrint(tree.pairs, ({ value }) => maskTree(value));
  return maskValue(tree.value);
}

/** For options such as `--token`, the value is the next argument. */
function followsCredentialOption(before: YamlTree | undefined): boolean {
  const word = before?.kind === 'scalar' && typeof before.value === 'string' ? before.value : '';
  return /^-{1,2}[\w-]+$/.test(word) && (isCredentialName(word) || /^(?:-H|--headers?)$/.test(word));
}

const reference = /(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-[^}]*)?\}/g;

/** Replaces a secret with the names of the variables in it. */
function maskValue(value: unknown): string {
  const names = [...String(value).matchAll(reference)].map(([, name = '']) => name);
  return `(${[MARK, ...names].join(' ')})`;
}

const address = /\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s"'<>]+/gi;
/** Matches `--token=…`, `Authorization: …`, up to the end of the line. */
const underName = /((?:key|token|secret|pass|credential|auth|_pat)[\w-]{0,40}["']?[ \t]*[=:][ \t]*)(\S.*)/gi;
const withScheme = /\b(Bearer|Basic|Token)[ \t]+(\S+)/gi;

/** Prints a text that is not secret as a whole. */
function printText(text: string): string {
  const shown = text
    .replace(reference, (whole, name: string) => (isCredentialName(name) ? `\${${name}}` : whole))
    .replace(address, (found) => (isBareAddress(found) ? found : `${originOf(found)}/${maskValue(found)}`))
    .replace(underName, (_, start: string, value: string) => start + maskValue(value))
    .replace(withScheme, (_, scheme: string, value: string) => `${scheme} ${maskValue(value)}`);
  return withoutKeyForms(shown, MARK);
}

function originOf(text: string): string {
  if (!URL.canParse(text)) return MARK;
  const { protocol, host } = new URL(text);
  return `${protocol}//${host}`;
}
