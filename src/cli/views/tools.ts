// Formats tools, resources and prompts of MCP servers: lists, and pages for single tools.

import type { JsonSchema } from '../../../config/value-schema/schema-parts.ts';
import type { Paint } from '../../terminal/paint.ts';
import { printable, printableLines } from '../../terminal/terminal-text.ts';
import { exampleWords } from '../mcp/argument-words.ts';
import { formatValue } from '../mcp/call-arguments.ts';
import {
  fieldsOf,
  type InputField,
  itemField,
  objectPart,
  recordOf,
  typeText,
} from '../mcp/schema-fields.ts';
import { counted } from './figures.ts';
import { shellWord } from './shell-word.ts';
import { type Column, table } from './table.ts';

type Item = Readonly<Record<string, unknown>>;

/** A server's tools or prompts. */
export interface ItemGroup {
  readonly title: string;
  readonly items: readonly Item[];
}

/** Returns a heading per group and a line per item. */
export function groupLines(
  groups: readonly ItemGroup[],
  noun: string,
  paint: Paint,
  width?: number,
): string[] {
  const names = groups.flatMap(({ items }) => items.map(({ name }) => printable(String(name)).length));
  const widest = Math.max(0, ...names);
  return groups.flatMap(({ title, items }, at) => [
    ...(at === 0 ? [] : ['']),
    paint('strong', printable(`${title} (${counted(items.length, noun)})`)),
    ...items.map((item) => {
      const name = printable(String(item.name)).padEnd(widest);
      return `  ${name}  ${firstSentence(item)}`.slice(0, width).trimEnd();
    }),
  ]);
}

/** Returns the first sentence of the description, or the title. */
export function firstSentence({ description, title }: Item): string {
  const text = typeof description === 'string' && description.trim() !== '' ? description : title;
  if (typeof text !== 'string') return '';
  const [paragraph = ''] = text.trim().split(/\n\s*\n/, 1);
  const sentence = /^.*?[.!?](?=\s|$)/s.exec(paragraph)?.[0] ?? paragraph;
  return printable(sentence);
}

/** Program and options with which an example call starts. */
export interface Invocation {
  readonly program: string;
  readonly options: readonly string[];
}

/** Returns the tool's page: description, arguments and an example call. */
export function toolPage(server: string, tool: Item, paint: Paint, invocation: Invocation): string[] {
  const schema = recordOf(tool.inputSchema);
  const name = String(tool.name);
  const { title } = { ...recordOf(tool.annotations), ...tool };
  const { program, options } = invocation;
  const targetOptions = options.map(shellWord);
  const operands = [server, name].map(shellWord).concat(exampleWords(schema));
  // The name of a tool must not become an option of the command.
  const rest = operands.some((word) => /^(?:\$?')?-/.test(word))
    ? [...targetOptions, '--', ...operands]
    : [...operands, ...targetOptions];
  const example = [program, 'tools', 'call', ...rest].join(' ');
  return [
    paint('strong', printable(`${server} ${name}`)),
    ...(typeof title === 'string' && title !== name ? [printable(title)] : []),
    ...(typeof tool.description === 'string' ? ['', printableLines(tool.description.trim())] : []),
    ...hintLines(recordOf(tool.annotations)),
    '',
    ...argumentLines(schema),
    '',
    'Example:',
    `  ${example}`,
  ];
}

/** Texts for the annotations that are true. */
const hints: readonly (readonly [name: string, text: string])[] = [
  ['readOnlyHint', 'changes nothing'],
  ['destructiveHint', 'may delete or overwrite data'],
  ['idempotentHint', 'repeated calls have no further effect'],
  ['openWorldHint', 'accesses external systems'],
];

function hintLines(annotations: JsonSchema): string[] {
  const matching = hints.filter(([name]) => {
    const isMoot = name !== 'readOnlyHint' && name !== 'openWorldHint' && annotations.readOnlyHint === true;
    return annotations[name] === true && !isMoot;
  });
  return matching.length === 0
    ? []
    : ['', `According to its server: ${matching.map(([, text]) => text).join('; ')}.`];
}

/** Returns the table of arguments. Its lines are not cut. */
function argumentLines(schema: JsonSchema): string[] {
  const fields = fieldsOf(schema).flatMap((field) => withMembers(field, schema, 0));
  if (fields.length === 0) return ['No arguments.'];
  const columns: Column<InputField>[] = [
    { title: 'ARGUMENT', text: ({ name }) => name },
    { title: 'TYPE', text: (field) => typeText(field, schema) },
    { title: 'REQUIRED', text: ({ isRequired }) => (isRequired ? 'yes' : 'no') },
    { title: 'DEFAULT', text: (field) => (field.hasDefault ? formatValue(field.default) : '-') },
    { title: 'ALLOWED', text: (field) => allowedValues(field) },
    { title: 'MEANING', text: ({ description }) => description },
  ];
  const hasContent = ({ text }: Column<InputField>) =>
    fields.some((field) => !['', '-'].includes(text(field)));
  return table(columns.filter(hasContent), fields);
}

/**
 * Returns the field and its nested fields: the members of an object (`item.name`), or the members of list
 * items (`items[].name`).
 */
function withMembers(field: InputField, root: JsonSchema, depth: number): InputField[] {
  if (depth === MAX_DEPTH) return [field];
  const isList = field.types.includes('array');
  const inner = isList ? itemField(field, root) : field;
  if (!inner.types.includes('object')) return [field];
  const members = fieldsOf(objectPart(inner, root), root);
  const prefix = `${field.name}${isList ? '[]' : ''}.`;
  const named = members.map((member) => ({ ...member, name: `${prefix}${member.name}` }));
  return [field, ...named.flatMap((member) => withMembers(member, root, depth + 1))];
}

const MAX_DEPTH = 3;

function allowedValues({ choices, schema }: InputField): string {
  if (choices !== undefined) return choices.map(formatValue).join(', ');
  const { minimum, maximum } = schema;
  if (minimum === undefined && maximum === undefined) return '-';
  if (maximum === undefined) return `from ${String(minimum)}`;
  return minimum === undefined ? `to ${String(maximum)}` : `${String(minimum)} to ${String(maximum)}`;
}

/** Returns tables of resources and resource templates. */
export function resourceLines(
  resources: readonly Item[],
  templates: readonly Item[],
  width?: number,
): string[] {
  const columns = (title: string, uri: string): Column<Item>[] => [
    { title, text: (item) => String(item[uri]) },
    { title: 'NAME', text: ({ name }) => String(name ?? '') },
    { title: 'TYPE', text: ({ mimeType }) => String(mimeType ?? '-') },
    { title: 'DESCRIPTION', text: firstSentence },
  ];
  return [
    ...(resources.length === 0 ? [] : table(columns('RESOURCE', 'uri'), resources, width)),
    ...(resources.length === 0 || templates.length === 0 ? [] : ['']),
    ...(templates.length === 0 ? [] : table(columns('TEMPLATE', 'uriTemplate'), templates, width)),
  ];
}

/** Returns a schema for the prompt's arguments, which are all texts. */
export function promptSchema({ arguments: list }: Item): JsonSchema {
  const argumentList = (Array.isArray(list) ? list : []).map(recordOf);
  const properties = argumentList.map(({ name, description }) => [
    String(name),
    { type: 'string', description },
  ]);
  const required = argumentList.filter((each) => each.required === true).map(({ name }) => String(name));
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required,
    additionalProperties: false,
  };
}

/** Returns a list item whose description contains the arguments; optional arguments are in brackets. */
export function promptWithArguments(prompt: Item): Item {
  const words = fieldsOf(promptSchema(prompt)).map(({ name, isRequired }) =>
    isRequired ? name : `[${name}]`,
  );
  const sentence = firstSentence(prompt);
  const takes = words.length === 0 ? '' : `arguments: ${words.join(' ')}`;
  return { name: prompt.name, description: [takes, sentence].filter(Boolean).join('; ') };
}
