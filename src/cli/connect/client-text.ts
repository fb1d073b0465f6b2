// The text of a client's file with our entry in it, and without:
//
// FE1  nothing but the entry differs: other members, comments, commas, order, indentation and line ends stay
// FE2  taking it out gives the text as it was, byte by byte, where nobody has changed anything else meanwhile; otherwise
//      it takes out the entry alone, or puts back what stood under its name
// FE3  putting the same entry in twice changes nothing

import { isDeepStrictEqual } from 'node:util';
import { getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import type { ClientEntries, ClientInput } from '../../../config/clients/client-entry.ts';
import { endOf, insertMember, removeMember } from './jsonc-edit.ts';

/** Where an entry stands: the key that holds the client's servers, and the name among them. */
export interface EntryPlace {
  readonly root: string;
  readonly name: string;
}

/** The text is none that the entry could be put into. `offset` is where it says otherwise. */
export class UnusableText extends Error {
  readonly offset: number;
  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/** Undefined where there is no such entry. Throws UnusableText. */
export function entryIn(text: string, { root, name }: EntryPlace): unknown {
  const found = memberOf(objectAt(read(text).top, root), name);
  return found === undefined ? undefined : valueIn(found);
}

/** The text with the entry and what it refers to. Throws UnusableText. */
export function withEntry(text: string, place: EntryPlace, { entry, inputs }: ClientEntries): string {
  const { mark, body, top } = read(text);
  if (top === undefined) {
    const whole = { ...(inputs.length === 0 ? {} : { inputs }), [place.root]: { [place.name]: entry } };
    return `${mark}${JSON.stringify(whole, undefined, 2)}\n`;
  }
  return mark + withServer(inputs.reduce(withInput, body), place, entry);
}

/**
 * The text without the entry, or with what stood under its name in `before`, the text as it was before it was put in;
 * undefined for a file that was not there. Gives undefined when there is to be no file again. Throws UnusableText.
 */
export function withoutEntry(
  text: string,
  place: EntryPlace,
  before: string | undefined,
): string | undefined {
  const { mark, body, top } = read(text);
  const servers = objectAt(top, place.root);
  const property = memberOf(servers, place.name);
  if (servers === undefined || property === undefined) return text;
  const entry = valueIn(property) as ClientEntries['entry'];
  const inputs = inputsOf(top, entry);
  if (withEntry(before ?? '', place, { entry, inputs }) === text) return before;
  const old = before === undefined ? undefined : textOfEntry(before, place);
  const rest = old === undefined ? removeMember(body, servers, property) : replaced(body, property, old);
  return mark + withoutInputs(rest, inputs, before);
}

function withServer(text: string, { root, name }: EntryPlace, entry: unknown): string {
  const top = topOf(text);
  const servers = objectAt(top, root);
  if (servers === undefined) return insertMember(text, top, top, root, { [name]: entry });
  const property = memberOf(servers, name);
  if (property === undefined) return insertMember(text, top, servers, name, entry);
  if (isDeepStrictEqual(valueIn(property), plain(entry))) return text;
  // Laid out as a new one would be: taken out at its place and put in there again.
  const fresh = insertMember(text, top, servers, name, entry);
  return replaced(text, property, textOfEntry(fresh, { root, name }) ?? '');
}

function withInput(text: string, input: ClientInput): string {
  const top = topOf(text);
  const property = memberOf(top, 'inputs');
  if (property === undefined) return insertMember(text, top, top, 'inputs', [input]);
  const list = property.children?.[1];
  if (list?.type !== 'array') throw new UnusableText(property.offset, '`inputs` is no list');
  const isThere = (list.children ?? []).some((each) => idOf(each) === input.id);
  return isThere ? text : insertMember(text, top, list, undefined, input);
}

/** Those that the entry refers to. */
function inputsOf(top: Node | undefined, entry: unknown): ClientInput[] {
  const words = JSON.stringify(entry);
  const list = inputList(top);
  const named = (list?.children ?? []).filter((each) => words.includes(`\${input:${idOf(each)}}`));
  return named.map((each) => plain(getNodeValue(each)) as ClientInput);
}

/** Without those that were not there before and that nothing refers to any more. */
function withoutInputs(text: string, inputs: readonly ClientInput[], before: string | undefined): string {
  const old = before === undefined ? undefined : inputList(read(before).top);
  const known = (old?.children ?? []).map(idOf);
  return inputs.reduce((rest, { id }) => {
    if (rest.includes(`\${input:${id}}`) || known.includes(id)) return rest;
    const list = inputList(topOf(rest));
    const element = list?.children?.find((each) => idOf(each) === id);
    return list === undefined || element === undefined ? rest : removeMember(rest, list, element);
  }, text);
}

function inputList(top: Node | undefined): Node | undefined {
  return memberOf(top, 'inputs')?.children?.[1];
}

function idOf(node: Node): unknown {
  const found = memberOf(node, 'id');
  return found === undefined ? undefined : valueIn(found);
}

function textOfEntry(text: string, { root, name }: EntryPlace): string | undefined {
  const { body, top } = read(text);
  const value = memberOf(objectAt(top, root), name)?.children?.[1];
  return value === undefined ? undefined : body.slice(value.offset, endOf(value));
}

function replaced(text: string, property: Node, value: string): string {
  const old = property.children?.[1] ?? property;
  return text.slice(0, old.offset) + value + text.slice(endOf(old));
}

/** The last of that name, which is the one a client takes. */
function memberOf(object: Node | undefined, key: string): Node | undefined {
  if (object?.type !== 'object') return undefined;
  return object.children?.findLast((property) => property.children?.[0]?.value === key);
}

function objectAt(top: Node | undefined, key: string): Node | undefined {
  const property = memberOf(top, key);
  const value = property?.children?.[1];
  if (value !== undefined && value.type !== 'object')
    throw new UnusableText(value.offset, `${JSON.stringify(key)} is no object with servers by name`);
  return value;
}

function valueIn(property: Node): unknown {
  const value = property.children?.[1];
  return value === undefined ? undefined : plain(getNodeValue(value));
}

/** Objects without a prototype, as the parser makes them, compare as different from those with one. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

interface ReadText {
  /** The byte order mark, or nothing. */
  readonly mark: string;
  readonly body: string;
  /** Undefined for a text of nothing but space. */
  readonly top: Node | undefined;
}

function read(text: string): ReadText {
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : '';
  const body = text.slice(mark.length);
  return { mark, body, top: body.trim() === '' ? undefined : topOf(body) };
}

function topOf(text: string): Node {
  const errors: ParseError[] = [];
  const top = parsed(text, errors);
  const [first] = errors;
  if (first !== undefined) throw new UnusableText(first.offset, wordsFor(first));
  if (top?.type !== 'object') throw new UnusableText(top?.offset ?? 0, 'the file is no JSON object');
  return top;
}

function parsed(text: string, errors: ParseError[]): Node | undefined {
  try {
    return parseTree(text, errors, { allowTrailingComma: true });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UnusableText(0, 'it is nested too deeply');
  }
}

/** `CommaExpected` as "comma expected". */
function wordsFor({ error }: ParseError): string {
  const words = printParseErrorCode(error).replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter}`);
  return `it is no JSON: ${words.toLowerCase()}`;
}
