// One change of a catalog's text: a server more or less, or one that is switched. What is not touched stays byte for byte, since the
// text is cut at the positions of the parsed tree and never written anew.
//
// The file of a client is edited in its own words (config/catalog/dialects/entry-in-their-words.ts), comments and all.
//
// ED1  the edited text says what was meant: it is parsed again, and differs from the text before in that one server alone.
//      Otherwise there is a refusal, and no text.
// ED2  comments outside of that server stay.

import { isDeepStrictEqual } from 'node:util';
import { type Document, isMap, type Pair, parseDocument, type YAMLMap } from 'yaml';
import { type Span, withYamlComments } from '../reader/json-comments.ts';
import { hasError } from '../reader/problem.ts';
import { SourceFile } from '../reader/source-file.ts';
import { plainValue } from '../reader/yaml-members.ts';
import { parseYamlTree } from '../reader/yaml-tree.ts';
import { type Cut, cutText, endOf, keyOf, lineBreakOf, type Refusal, startOf } from './catalog-text.ts';
import { clientKeys } from './dialects/dialect.ts';
import { type FilesWords, wordsOf } from './dialects/entry-in-their-words.ts';
import { addToBlock, type EntryToWrite, linesOf, removeFromBlock, switchOffInBlock } from './edit-block.ts';
import { addToFlow, removeFromFlow, switchOffInFlow } from './edit-flow.ts';

export type CatalogEdit =
  | {
      readonly do: 'add';
      readonly name: string;
      readonly entry: EntryToWrite;
      /** Takes the place of one that is there. */
      readonly isReplacing?: boolean;
    }
  | { readonly do: 'remove'; readonly name: string }
  | { readonly do: 'switch'; readonly name: string; readonly isEnabled: boolean };

/** Keys under which servers stand, the strongest first. */
const listKeys = ['servers', ...clientKeys];

/** The edited text, which is the same where nothing is to be done. `path` tells whose file it is. */
export function editCatalog(text: string, given: CatalogEdit, path = ''): string | Refusal {
  const source = new SourceFile(path, text);
  const before = plainOf(source);
  if (before === undefined) return refused('its syntax is wrong; --check tells where');
  const words = wordsOf(source);
  const edit = given.do === 'add' ? { ...given, entry: words.entry(given.entry) } : given;
  const { text: yaml, comments } = withYamlComments(source);
  const list = findList(yaml);
  const known = list === undefined ? [] : list.map.items.map(keyOf);
  if (edit.do === 'add' && known.includes(edit.name) && edit.isReplacing !== true)
    return refused(`it has a server ${edit.name} already`);
  if (edit.do !== 'add' && !known.includes(edit.name)) return refused(`it has no server ${edit.name}`);
  const cuts = cutsFor(yaml, list, edit, words.off);
  if (!Array.isArray(cuts)) return cuts as Refusal;
  const after = cutText(text, cuts);
  const own = list?.map.items.find((item) => keyOf(item) === edit.name);
  if (
    cuts.length > 0 &&
    (!isAsMeant(before, plainOf(new SourceFile(path, after)), edit, words.off) ||
      isCommentTouched(cuts, comments, own))
  )
    return refused('it is written in a way that cannot be edited without other changes; edit it by hand');
  return after;
}

/** The names of the servers as the text has them, in its order; empty for one that cannot be read. */
export function serverNames(text: string, path = ''): readonly string[] {
  const source = new SourceFile(path, text);
  if (plainOf(source) === undefined) return [];
  return findList(withYamlComments(source).text)?.map.items.map(keyOf) ?? [];
}

/** Of other servers, or of none (ED2). */
function isCommentTouched(cuts: readonly Cut[], comments: readonly Span[], own: Pair | undefined): boolean {
  const [from, to] = own === undefined ? [0, 0] : [startOf(own), endOf(own)];
  const others = comments.filter(({ start, end }) => start < from || end > to);
  return cuts.some((cut) =>
    others.some(({ start, end }) => cut.start < end && (cut.end > start || cut.start > start)),
  );
}

interface ServerList {
  readonly map: YAMLMap;
  /** The pair whose value it is. */
  readonly owner: Pair;
  readonly isRootFlow: boolean;
}

function findList(text: string): ServerList | undefined {
  const { contents } = parsed(text);
  if (!isMap(contents)) return undefined;
  for (const key of listKeys) {
    const pair = contents.items.find((item) => keyOf(item) === key);
    if (pair !== undefined && isMap(pair.value))
      return { map: pair.value, owner: pair, isRootFlow: contents.flow === true };
  }
  return undefined;
}

function cutsFor(
  text: string,
  list: ServerList | undefined,
  edit: CatalogEdit,
  off: FilesWords['off'],
): Cut[] | Refusal {
  if (list === undefined) return edit.do === 'add' ? addFirst(text, edit) : refused('it has no servers');
  const { map, owner } = list;
  const block = { items: map.items, owner };
  const isFlow = map.flow === true;
  const pair = map.items.find((item) => keyOf(item) === edit.name);
  if (edit.do === 'add') {
    const { name, entry } = edit;
    if (!isFlow) return addToBlock(text, block, pair, name, entry);
    const isOpened = map.items.length === 0 && !list.isRootFlow;
    return isOpened ? openEmpty(text, list, edit) : addToFlow(text, map, pair, name, entry);
  }
  if (pair === undefined) return refused(`it has no server ${edit.name}`);
  if (edit.do === 'remove')
    return isFlow ? removeFromFlow(text, map, pair) : removeFromBlock(text, block, pair);
  if (!isMap(pair.value)) return refused(`${edit.name} is no mapping of its own there; edit it by hand`);
  const said = switched(text, pair.value, edit.isEnabled);
  if (said !== undefined) return said;
  if (edit.isEnabled) return [];
  return pair.value.flow === true
    ? switchOffInFlow(text, pair.value, off)
    : switchOffInBlock(text, pair.value, off);
}

/** Where the entry says already whether it is on; undefined where it does not. */
function switched(text: string, entry: YAMLMap, isEnabled: boolean): Cut[] | undefined {
  const cuts: Cut[] = [];
  let isSaid = false;
  for (const pair of entry.items) {
    const key = keyOf(pair);
    if (key !== 'enabled' && key !== 'disabled') continue;
    isSaid = true;
    const [start, end] = (pair.value as { range?: [number, number, number] } | null)?.range ?? [0, 0];
    const word = String(isEnabled === (key === 'enabled'));
    if (text.slice(start, end) !== word) cuts.push({ start, end, text: word });
  }
  return isSaid ? cuts : undefined;
}

type Addition = Extract<CatalogEdit, { do: 'add' }>;

/** Into a file that has no servers yet: an empty one, one of comments, or one that says `servers:` and no more. */
function addFirst(text: string, edit: Addition): Cut[] | Refusal {
  const { contents } = parsed(text);
  const pair = isMap(contents) ? contents.items.find((item) => listKeys.includes(keyOf(item))) : undefined;
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
  return refused('it has no mapping of servers to add one to');
}

/** `servers: {}` becomes a mapping of lines. */
function openEmpty(text: string, { map, owner }: ServerList, { name, entry }: Addition): Cut[] {
  const [start = 0, end = 0] = map.range ?? [];
  if (!/^\{\s*\}$/.test(text.slice(start, end))) return addToFlow(text, map, undefined, name, entry);
  const space = /[ \t]*$/.exec(text.slice(0, start))?.[0].length ?? 0;
  return [
    { start: start - space, end, text: '' },
    ...addToBlock(text, { items: [], owner }, undefined, name, entry),
  ];
}

function parsed(text: string): Document {
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

/** What JSON would have in its place; undefined where the syntax is wrong. */
function plainOf(source: SourceFile): unknown {
  const { root, problems, isBroken } = parseYamlTree(source);
  if (isBroken || hasError(problems)) return undefined;
  return root === undefined ? null : plainValue(root);
}

function isAsMeant(before: unknown, after: unknown, edit: CatalogEdit, off: FilesWords['off']): boolean {
  const root = isRecord(before) ? { ...before } : {};
  const key =
    listKeys.find((each) => isRecord(root[each])) ?? listKeys.find((each) => each in root) ?? 'servers';
  const servers: Record<string, unknown> = { ...(isRecord(root[key]) ? root[key] : {}) };
  if (edit.do === 'add') servers[edit.name] = edit.entry;
  else if (edit.do === 'remove') delete servers[edit.name];
  else
    servers[edit.name] = {
      ...(servers[edit.name] as object),
      ...switchOf(servers[edit.name], edit.isEnabled, off),
    };
  return isDeepStrictEqual(after, { ...root, [key]: servers });
}

function switchOf(entry: unknown, isEnabled: boolean, off: FilesWords['off']): object {
  const has = (key: string) => isRecord(entry) && Object.hasOwn(entry, key);
  if (!has('disabled') && !has('enabled'))
    return off.startsWith('d') ? { disabled: !isEnabled } : { enabled: isEnabled };
  return {
    ...(has('disabled') ? { disabled: !isEnabled } : {}),
    ...(has('enabled') ? { enabled: isEnabled } : {}),
  };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const refused = (refusal: string): Refusal => ({ refusal });
