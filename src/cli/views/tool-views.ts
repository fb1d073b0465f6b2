// What servers offer, for people: tools, resources and prompts as lists with a line each, and one tool or prompt in detail.

import type { JsonSchema } from '../../../config/value-schema/schema-parts.ts';
import type { Paint } from '../../terminal/paint.ts';
import { printable, printableLines } from '../../terminal/terminal-text.ts';
import { shown } from '../mcp/call-values.ts';
import { type Field, fieldsOf, itemField, objectPart, recordOf, typeText } from '../mcp/schema-fields.ts';
import { exampleWords } from '../mcp/value-words.ts';
import { counted } from './figures.ts';
import { shellWord } from './shell-word.ts';
import { type Column, table } from './table.ts';

type Item = Readonly<Record<string, unknown>>;

/** Tools or prompts of one server. */
export interface Group {
  readonly title: string;
  readonly items: readonly Item[];
}

/** The head of each group, and below it a line for each of its items. */
export function groupLines(groups: readonly Group[], noun: string, paint: Paint, width?: number): string[] {
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

/** Up to its first full stop; without a description the title. */
export function firstSentence({ description, title }: Item): string {
  const text = typeof description === 'string' && description.trim() !== '' ? description : title;
  if (typeof text !== 'string') return '';
  const [paragraph = ''] = text.trim().split(/\n\s*\n/, 1);
  const sentence = /^.*?[.!?](?=\s|$)/s.exec(paragraph)?.[0] ?? paragraph;
  return printable(sentence);
}

/** How a call of it is typed here: the program, and the options that say where its server is. */
export interface Invocation {
  readonly program: string;
  readonly options: readonly string[];
}

/** One tool: what it does, its arguments, and how it is called. */
export function toolPage(server: string, tool: Item, paint: Paint, invocation: Invocation): string[] {
  const schema = recordOf(tool.inputSchema);
  const name = String(tool.name);
  const { title } = { ...recordOf(tool.annotations), ...tool };
  const { program, options } = invocation;
  const place = options.map(shellWord);
  const words = [
    program,
    'tools',
    'call',
    shellWord(server),
    shellWord(name),
    ...exampleWords(schema),
    ...place,
  ];
  const example = words.join(' ');
  return [
    paint('strong', printable(`${server} ${name}`)),
    ...(typeof title === 'string' && title !== name ? [printable(title)] : []),
    ...(typeof tool.description === 'string' ? ['', printableLines(tool.description.trim())] : []),
    ...hintLines(recordOf(tool.annotations)),
    '',
    ...argumentLines(schema),
    '',
    'Example:',
    `  ${printable(example)}`,
  ];
}

const hints: readonly (readonly [name: string, value: boolean, text: string])[] = [
  ['readOnlyHint', true, 'changes nothing'],
  ['destructiveHint', true, 'may destroy something'],
  ['idempotentHint', true, 'a second time makes no difference'],
  ['openWorldHint', true, 'reaches beyond its server'],
];

function hintLines(annotations: JsonSchema): string[] {
  const said = hints.filter(([name, value]) => {
    const isMoot = name !== 'readOnlyHint' && name !== 'openWorldHint' && annotations.readOnlyHint === true;
    return annotations[name] === value && !isMoot;
  });
  return said.length === 0 ? [] : ['', `It says of itself: ${said.map(([, , text]) => text).join('; ')}.`];
}

/** Never cut: a line that is too long goes on in the next one. */
function argumentLines(schema: JsonSchema): string[] {
  const fields = fieldsOf(schema).flatMap((field) => withMembers(field, schema, 0));
  if (fields.length === 0) return ['It takes no arguments.'];
  const columns: Column<Field>[] = [
    { title: 'ARGUMENT', text: ({ name }) => name },
    { title: 'TYPE', text: (field) => typeText(field, schema) },
    { title: 'REQUIRED', text: ({ isRequired }) => (isRequired ? 'yes' : 'no') },
    { title: 'DEFAULT', text: (field) => (field.hasDefault ? shown(field.default) : '-') },
    { title: 'ALLOWED', text: (field) => allowed(field) },
    { title: 'MEANING', text: ({ description }) => description },
  ];
  const isSaid = ({ text }: Column<Field>) => fields.some((field) => !['', '-'].includes(text(field)));
  return table(columns.filter(isSaid), fields);
}

/** Of an object its members too, as they are typed (`item.name`), and those of each item of an array (`items[].name`). */
function withMembers(field: Field, root: JsonSchema, depth: number): Field[] {
  if (depth === MOST_NESTED) return [field];
  const isList = field.types.includes('array');
  const inner = isList ? itemField(field, root) : field;
  if (!inner.types.includes('object')) return [field];
  const members = fieldsOf(objectPart(inner, root), root);
  const prefix = `${field.name}${isList ? '[]' : ''}.`;
  const named = members.map((member) => ({ ...member, name: `${prefix}${member.name}` }));
  return [field, ...named.flatMap((member) => withMembers(member, root, depth + 1))];
}

const MOST_NESTED = 3;

function allowed({ choices, schema }: Field): string {
  if (choices !== undefined) return choices.map(shown).join(', ');
  const { minimum, maximum } = schema;
  if (minimum === undefined && maximum === undefined) return '-';
  if (maximum === undefined) return `from ${String(minimum)}`;
  return minimum === undefined ? `to ${String(maximum)}` : `${String(minimum)} to ${String(maximum)}`;
}

/** Resources, and the templates of others. */
export function resourceLines(
  resources: readonly Item[],
  templates: readonly Item[],
  width?: number,
): string[] {
  const columns = (title: string, uri: string): Column<Item>[] => [
    { title, text: (item) => String(item[uri]) },
    { title: 'NAME', text: ({ name }) => String(name ?? '') },
    { title: 'TYPE', text: ({ mimeType }) => String(mimeType ?? '-') },
    { title: 'WHAT IT IS', text: firstSentence },
  ];
  return [
    ...(resources.length === 0 ? [] : table(columns('RESOURCE', 'uri'), resources, width)),
    ...(resources.length === 0 || templates.length === 0 ? [] : ['']),
    ...(templates.length === 0 ? [] : table(columns('TEMPLATE', 'uriTemplate'), templates, width)),
  ];
}

/** The arguments of a prompt as the schema of an object of texts. */
export function promptSchema({ arguments: list }: Item): JsonSchema {
  const given = (Array.isArray(list) ? list : []).map(recordOf);
  const properties = given.map(({ name, description }) => [String(name), { type: 'string', description }]);
  const required = given.filter((each) => each.required === true).map(({ name }) => String(name));
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required,
    additionalProperties: false,
  };
}

/** `style` where it may be left out. */
export function promptWithArguments(prompt: Item): Item {
  const words = fieldsOf(promptSchema(prompt)).map(({ name, isRequired }) =>
    isRequired ? name : `[${name}]`,
  );
  const sentence = firstSentence(prompt);
  const takes = words.length === 0 ? '' : `takes ${words.join(' ')}`;
  return { name: prompt.name, description: [takes, sentence].filter(Boolean).join('; ') };
}
