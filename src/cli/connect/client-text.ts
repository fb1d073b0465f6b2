// Inserts the gateway's entry into the JSON text in a client's file, and removes it.
//
// Only the entry changes: other members, comments, commas, order, indentation and line breaks are kept.
// Removal restores the original text byte by byte. If the file was edited since the insertion, removal
// affects only the entry: it is deleted, or replaced by the entry that had this name before. A second
// insertion has no effect.

import { isDeepStrictEqual } from 'node:util';
import { getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import type { ClientEntries, ClientInput } from '../../../config/clients/client-entry.ts';
import { endOf, insertMember, removeMember } from './jsonc-edit.ts';

/** Where the entry belongs: the key of the client's server list (`mcpServers`), and the name in this list. */
export interface EntryLocation {
  readonly root: string;
  readonly name: string;
}

/** The text is not JSON of the expected shape. `offset` is the position of the error. */
export class InvalidClientText extends Error {
  readonly offset: number;
  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/** Returns the entry, if the text contains it. Throws InvalidClientText. */
export function entryIn(text: string, { root, name }: EntryLocation): unknown {
  const property = memberOf(objectAt(parseText(text).top, root), name);
  return property === undefined ? undefined : valueIn(property);
}

/**
 * Returns the text with the entry and its inputs. An input is a value that the client requests from the user.
 * Throws InvalidClientText.
 */
export function withEntry(text: string, location: EntryLocation, { entry, inputs }: ClientEntries): string {
  const { mark, body, top } = parseText(text);
  if (top === undefined) {
    const document = {
      ...(inputs.length === 0 ? {} : { inputs }),
      [location.root]: { [location.name]: entry },
    };
    return `${mark}${JSON.stringify(document, undefined, 2)}\n`;
  }
  return mark + withServer(inputs.reduce(withInput, body), location, entry);
}

/**
 * Returns the text without the entry. If the original text `before` has an entry of this name, restores it.
 * `before` is undefined if the file did not exist. Returns undefined if the file should be deleted. Throws
 * InvalidClientText.
 */
export function withoutEntry(
  text: string,
  location: EntryLocation,
  before: string | undefined,
): string | undefined {
  const { mark, body, top } = parseText(text);
  const servers = objectAt(top, location.root);
  const property = memberOf(servers, location.name);
  if (servers === undefined || property === undefined) return text;
  const entry = valueIn(property) as ClientEntries['entry'];
  const inputs = inputsOf(top, entry);
  if (withEntry(before ?? '', location, { entry, inputs }) === text) return before;
  const old = before === undefined ? undefined : textOfEntry(before, location);
  const rest = old === undefined ? removeMember(body, servers, property) : replaceValue(body, property, old);
  return mark + withoutInputs(rest, inputs, before);
}

function withServer(text: string, { root, name }: EntryLocation, entry: unknown): string {
  const top = topOf(text);
  const servers = objectAt(top, root);
  if (servers === undefined) return insertMember(text, top, top, root, { [name]: entry });
  const property = memberOf(servers, name);
  if (property === undefined) return insertMember(text, top, servers, name, entry);
  if (isDeepStrictEqual(valueIn(property), plain(entry))) return text;
  // Inserts the new value to get its formatted text, which then replaces the old value.
  const fresh = insertMember(text, top, servers, name, entry);
  return replaceValue(text, property, textOfEntry(fresh, { root, name }) ?? '');
}

function withInput(text: string, input: ClientInput): string {
  const top = topOf(text);
  const property = memberOf(top, 'inputs');
  if (property === undefined) return insertMember(text, top, top, 'inputs', [input]);
  const list = property.children?.[1];
  if (list?.type !== 'array') throw new InvalidClientText(property.offset, '`inputs` is not a list');
  const isPresent = (list.children ?? []).some((each) => idOf(each) === input.id);
  return isPresent ? text : insertMember(text, top, list, undefined, input);
}

/** Returns the inputs in the file that the entry references. */
function inputsOf(top: Node | undefined, entry: unknown): ClientInput[] {
  const json = JSON.stringify(entry);
  const list = inputList(top);
  const referenced = (list?.children ?? []).filter((each) => json.includes(`\${input:${idOf(each)}}`));
  return referenced.map((each) => plain(getNodeValue(each)) as ClientInput);
}

/** Removes the inputs that have become unused, except those in the original text `before`. */
function withoutInputs(text: string, inputs: readonly ClientInput[], before: string | undefined): string {
  const old = before === undefined ? undefined : inputList(parseText(before).top);
  const previousIds = (old?.children ?? []).map(idOf);
  return inputs.reduce((rest, { id }) => {
    if (rest.includes(`\${input:${id}}`) || previousIds.includes(id)) return rest;
    const list = inputList(topOf(rest));
    const element = list?.children?.find((each) => idOf(each) === id);
    return list === undefined || element === undefined ? rest : removeMember(rest, list, element);
  }, text);
}

function inputList(top: Node | undefined): Node | undefined {
  return memberOf(top, 'inputs')?.children?.[1];
}

function idOf(node: Node): unknown {
  const property = memberOf(node, 'id');
  return property === undefined ? undefined : valueIn(property);
}

function textOfEntry(text: string, { root, name }: EntryLocation): string | undefined {
  const { body, top } = parseText(text);
  const value = memberOf(objectAt(top, root), name)?.children?.[1];
  return value === undefined ? undefined : body.slice(value.offset, endOf(value));
}

function replaceValue(text: string, property: Node, value: string): string {
  const old = property.children?.[1] ?? property;
  return text.slice(0, old.offset) + value + text.slice(endOf(old));
}

/** Returns the last member with this key. Clients also use the last of duplicate keys. */
function memberOf(object: Node | undefined, key: string): Node | undefined {
  if (object?.type !== 'object') return undefined;
  return object.children?.findLast((property) => property.children?.[0]?.value === key);
}

function objectAt(top: Node | undefined, key: string): Node | undefined {
  const property = memberOf(top, key);
  const value = property?.children?.[1];
  if (value !== undefined && value.type !== 'object')
    throw new InvalidClientText(value.offset, `${JSON.stringify(key)} is not an object with servers by name`);
  return value;
}

function valueIn(property: Node): unknown {
  const value = property.children?.[1];
  return value === undefined ? undefined : plain(getNodeValue(value));
}

/** Copies the value. Objects of the parser have no prototype, so a deep comparison would fail. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

interface ParsedText {
  /** Byte order mark, or ''. */
  readonly mark: string;
  readonly body: string;
  /** Undefined if the text is empty. */
  readonly top: Node | undefined;
}

function parseText(text: string): ParsedText {
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : '';
  const body = text.slice(mark.length);
  return { mark, body, top: body.trim() === '' ? undefined : topOf(body) };
}

function topOf(text: string): Node {
  const errors: ParseError[] = [];
  const top = parseJson(text, errors);
  const [first] = errors;
  if (first !== undefined) throw new InvalidClientText(first.offset, errorText(first));
  if (top?.type !== 'object') throw new InvalidClientText(top?.offset ?? 0, 'the file is not a JSON object');
  return top;
}

function parseJson(text: string, errors: ParseError[]): Node | undefined {
  try {
    return parseTree(text, errors, { allowTrailingComma: true });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new InvalidClientText(0, 'the file is nested too deeply');
  }
}

/** Converts `CommaExpected` to "comma expected". */
function errorText({ error }: ParseError): string {
  const reason = printParseErrorCode(error).replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter}`);
  return `invalid JSON: ${reason.toLowerCase()}`;
}
