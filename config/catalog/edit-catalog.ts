// Adds, removes, enables or disables one server in a catalog or a client's file. Only text at the parsed
// positions is replaced; all other bytes are unchanged. A client's file keeps its own format.
//
// The edited text is parsed again. If it differs from the old text in more than that server, or if a comment
// outside the server would change, the edit is refused.

import { isDeepStrictEqual } from 'node:util';
import { type Document, isMap, type Pair, parseDocument, type YAMLMap } from 'yaml';
import { isBundlePath } from '../reader/bundle-path.ts';
import { isTomlPath } from '../reader/file-tree.ts';
import { type CommentSpan, withYamlComments } from '../reader/json-comments.ts';
import { hasError } from '../reader/problem.ts';
import { SourceFile } from '../reader/source-file.ts';
import { memberOf, plainValue } from '../reader/yaml-members.ts';
import { parseYamlTree } from '../reader/yaml-tree.ts';
import {
  applyReplacements,
  type EditRefusal,
  endOf,
  keyOf,
  lineBreakOf,
  startOf,
  type TextReplacement,
} from './catalog-text.ts';
import { clientKeys } from './dialects/dialect.ts';
import { type FileFormat, formatOf } from './dialects/export-entry.ts';
import { nestedServers } from './dialects/locate-servers.ts';
import { addToBlock, type EntryToWrite, linesOf, removeFromBlock, switchOffInBlock } from './edit-block.ts';
import { addToFlow, removeFromFlow, switchOffInFlow } from './edit-flow.ts';

export type CatalogEdit =
  | {
      readonly do: 'add';
      readonly name: string;
      readonly entry: EntryToWrite;
      /** True if `add` may replace an existing server. */
      readonly isReplacing?: boolean;
    }
  | { readonly do: 'remove'; readonly name: string }
  | { readonly do: 'switch'; readonly name: string; readonly isEnabled: boolean };

/** Top-level keys for servers, in order of precedence. */
const serversKeys = ['servers', ...clientKeys];

/** Returns the edited text, unchanged if no edit is needed. `path` determines the format. */
export function editCatalog(text: string, requestedEdit: CatalogEdit, path = ''): string | EditRefusal {
  const source = new SourceFile(path, text);
  if (isReadOnly(source)) return refuse('files of this client are only read; edit it by hand');
  const before = plainOf(source);
  if (before === undefined) return refuse('the file has syntax errors; run --check for details');
  const format = formatOf(source);
  const edit =
    requestedEdit.do === 'add'
      ? { ...requestedEdit, entry: format.entry(requestedEdit.entry) }
      : requestedEdit;
  // `yaml` has the comments of JSON in YAML notation. Its positions are equal to the positions in `text`.
  const { text: yaml, comments } = withYamlComments(source);
  const servers = findServers(yaml);
  const names = servers === undefined ? [] : servers.map.items.map(keyOf);
  if (edit.do === 'add' && names.includes(edit.name) && edit.isReplacing !== true)
    return refuse(`it already has a server ${edit.name}`);
  if (edit.do !== 'add' && !names.includes(edit.name)) return refuse(`it has no server ${edit.name}`);
  const replacements = replacementsFor(yaml, servers, edit, format.disablingLine);
  if (!Array.isArray(replacements)) return replacements as EditRefusal;
  const after = applyReplacements(text, replacements);
  const editedPair = servers?.map.items.find((item) => keyOf(item) === edit.name);
  if (
    replacements.length > 0 &&
    (!isExpectedResult(before, plainOf(new SourceFile(path, after)), edit, format.disablingLine) ||
      isCommentTouched(replacements, comments, editedPair))
  )
    return refuse('it cannot be edited without changes elsewhere; edit it by hand');
  return after;
}

/** Returns true for formats that the gateway reads, but does not write. */
function isReadOnly(source: SourceFile): boolean {
  if (isTomlPath(source.path) || isBundlePath(source.path)) return true;
  const { root } = parseYamlTree(source);
  if (root === undefined || serversKeys.some((key) => memberOf(root, key) !== undefined)) return false;
  // Files with the servers below another key, such as settings of an editor, are only read.
  return nestedServers(root) !== undefined;
}

/** Returns the names of the servers in file order; empty if the file cannot be parsed. */
export function serverNames(text: string, path = ''): readonly string[] {
  const source = new SourceFile(path, text);
  if (plainOf(source) === undefined) return [];
  return findServers(withYamlComments(source).text)?.map.items.map(keyOf) ?? [];
}

/**
 * Returns true if a replacement touches a comment outside the edited server: it overlaps the comment, or
 * inserts text inside it.
 */
function isCommentTouched(
  replacements: readonly TextReplacement[],
  comments: readonly CommentSpan[],
  editedPair: Pair | undefined,
): boolean {
  const [from, to] = editedPair === undefined ? [0, 0] : [startOf(editedPair), endOf(editedPair)];
  const outsideComments = comments.filter(({ start, end }) => start < from || end > to);
  return replacements.some((replacement) =>
    outsideComments.some(
      ({ start, end }) => replacement.start < end && (replacement.end > start || replacement.start > start),
    ),
  );
}

interface ServersMap {
  readonly map: YAMLMap;
  /** Pair that contains the mapping. */
  readonly owner: Pair;
  /** True if the root is a flow mapping (`{ … }`), so its values cannot become block mappings. */
  readonly isRootFlow: boolean;
}

function findServers(text: string): ServersMap | undefined {
  const { contents } = parseText(text);
  if (!isMap(contents)) return undefined;
  for (const key of serversKeys) {
    const pair = contents.items.find((item) => keyOf(item) === key);
    if (pair !== undefined && isMap(pair.value))
      return { map: pair.value, owner: pair, isRootFlow: contents.flow === true };
  }
  return undefined;
}

function replacementsFor(
  text: string,
  servers: ServersMap | undefined,
  edit: CatalogEdit,
  disablingLine: FileFormat['disablingLine'],
): TextReplacement[] | EditRefusal {
  if (servers === undefined) return edit.do === 'add' ? addFirst(text, edit) : refuse('it has no servers');
  const { map, owner } = servers;
  const block = { items: map.items, owner };
  const isFlow = map.flow === true;
  const pair = map.items.find((item) => keyOf(item) === edit.name);
  if (edit.do === 'add') {
    const { name, entry } = edit;
    if (!isFlow) return addToBlock(text, block, pair, name, entry);
    const canBecomeBlock = map.items.length === 0 && !servers.isRootFlow;
    return canBecomeBlock
      ? replaceEmptyByBlock(text, servers, edit)
      : addToFlow(text, map, pair, name, entry);
  }
  if (pair === undefined) return refuse(`it has no server ${edit.name}`);
  if (edit.do === 'remove')
    return isFlow ? removeFromFlow(text, map, pair) : removeFromBlock(text, block, pair);
  if (!isMap(pair.value)) return refuse(`${edit.name} is not a plain mapping; edit it by hand`);
  const switchReplacements = switchExistingField(text, pair.value, edit.isEnabled);
  if (switchReplacements !== undefined) return switchReplacements;
  if (edit.isEnabled) return [];
  return pair.value.flow === true
    ? switchOffInFlow(text, pair.value, disablingLine)
    : switchOffInBlock(text, pair.value, disablingLine);
}

/** Changes an existing `enabled` or `disabled` field; returns undefined if the entry has neither. */
function switchExistingField(
  text: string,
  entry: YAMLMap,
  isEnabled: boolean,
): TextReplacement[] | undefined {
  const replacements: TextReplacement[] = [];
  let hasField = false;
  for (const pair of entry.items) {
    const key = keyOf(pair);
    if (key !== 'enabled' && key !== 'disabled') continue;
    hasField = true;
    const [start, end] = (pair.value as { range?: [number, number, number] } | null)?.range ?? [0, 0];
    const value = String(isEnabled === (key === 'enabled'));
    if (text.slice(start, end) !== value) replacements.push({ start, end, text: value });
  }
  return hasField ? replacements : undefined;
}

type Addition = Extract<CatalogEdit, { do: 'add' }>;

/** Adds the first server: the file is empty, has only comments, or has `servers:` with no value. */
function addFirst(text: string, edit: Addition): TextReplacement[] | EditRefusal {
  const { contents } = parseText(text);
  const pair = isMap(contents) ? contents.items.find((item) => serversKeys.includes(keyOf(item))) : undefined;
  const value = pair?.value as { range?: [number, number, number]; value?: unknown } | null | undefined;
  if (contents === null || (isMap(contents) && contents.items.length === 0 && contents.flow !== true)) {
    const eol = lineBreakOf(text);
    const gap = text === '' || text.endsWith('\n') ? '' : eol;
    return [
      {
        start: text.length,
        end: text.length,
        text: `${gap}servers:${eol}${linesOf(edit.name, edit.entry, '  ', 2, eol)}`,
      },
    ];
  }
  if (isMap(contents) && contents.flow === true && pair === undefined)
    return addToFlow(text, contents, undefined, 'servers', { [edit.name]: edit.entry });
  if (isMap(contents) && contents.flow !== true && pair !== undefined && (value?.value ?? null) === null)
    return addToBlock(text, { items: [], owner: pair }, undefined, edit.name, edit.entry);
  return refuse('it has no mapping of servers');
}

/** Replaces `servers: {}` with a block mapping. */
function replaceEmptyByBlock(
  text: string,
  { map, owner }: ServersMap,
  { name, entry }: Addition,
): TextReplacement[] {
  const [start = 0, end = 0] = map.range ?? [];
  if (!/^\{\s*\}$/.test(text.slice(start, end))) return addToFlow(text, map, undefined, name, entry);
  const space = /[ \t]*$/.exec(text.slice(0, start))?.[0].length ?? 0;
  return [
    { start: start - space, end, text: '' },
    ...addToBlock(text, { items: [], owner }, undefined, name, entry),
  ];
}

function parseText(text: string): Document {
  return parseDocument(text, {
    keepSourceTokens: true,
    prettyErrors: false,
    stringKeys: true,
    uniqueKeys: false,
    logLevel: 'silent',
    schema: 'core',
    resolveKnownTags: false,
  }) as unknown as Document;
}

/** Parses a text to its JSON value; undefined for invalid syntax. */
function plainOf(source: SourceFile): unknown {
  const { root, problems, isBroken } = parseYamlTree(source);
  if (isBroken || hasError(problems)) return undefined;
  return root === undefined ? null : plainValue(root);
}

/**
 * Returns true if `after` is the content `before` with only this edit. Both are parsed contents of the file.
 */
function isExpectedResult(
  before: unknown,
  after: unknown,
  edit: CatalogEdit,
  disablingLine: FileFormat['disablingLine'],
): boolean {
  const root = isRecord(before) ? { ...before } : {};
  const key =
    serversKeys.find((each) => isRecord(root[each])) ?? serversKeys.find((each) => each in root) ?? 'servers';
  const servers: Record<string, unknown> = { ...(isRecord(root[key]) ? root[key] : {}) };
  if (edit.do === 'add') servers[edit.name] = edit.entry;
  else if (edit.do === 'remove') delete servers[edit.name];
  else
    servers[edit.name] = {
      ...(servers[edit.name] as object),
      ...switchOf(servers[edit.name], edit.isEnabled, disablingLine),
    };
  return isDeepStrictEqual(after, { ...root, [key]: servers });
}

/** Returns the fields that enable or disable a server, with their new values. */
function switchOf(entry: unknown, isEnabled: boolean, disablingLine: FileFormat['disablingLine']): object {
  const has = (key: string) => isRecord(entry) && Object.hasOwn(entry, key);
  if (!has('disabled') && !has('enabled'))
    return disablingLine === 'disabled: true' ? { disabled: !isEnabled } : { enabled: isEnabled };
  return {
    ...(has('disabled') ? { disabled: !isEnabled } : {}),
    ...(has('enabled') ? { enabled: isEnabled } : {}),
  };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const refuse = (refusal: string): EditRefusal => ({ refusal });
