// Reads the log calls with a literal message from the source, for docs/log-lines.md.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';

const LEVELS = new Set(['fatal', 'error', 'warn', 'info', 'debug', 'trace']);
/** Finds the files with log calls, because parsing all files takes long. */
const logCall = new RegExp(`\\blog\\s*\\??\\.\\s*(?:${[...LEVELS].join('|')})\\b`);

/**
 * Returns levels and fields by message, sorted. The field `…` means fields that the call does not list,
 * because its argument is a variable or contains a spread.
 */
export function logCalls(root) {
  const found = new Map();
  for (const folder of ['actors', 'src'])
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }))
      if (name.endsWith('.ts')) readCalls(join(root, folder, name), found);
  return new Map([...found].sort(([one], [other]) => (one < other ? -1 : 1)));
}

function readCalls(file, found) {
  const text = readFileSync(file, 'utf8');
  if (!logCall.test(text)) return;
  const { program } = parseSync(file, text);
  new Visitor({
    CallExpression({ callee, arguments: args }) {
      if (callee.type !== 'MemberExpression' || !LEVELS.has(callee.property.name)) return;
      // `log` is a variable or a member.
      if ((callee.object.name ?? callee.object.property?.name) !== 'log') return;
      for (const message of messagesOf(args.at(-1))) {
        const entry = found.get(message) ?? { levels: new Set(), fields: new Set() };
        found.set(message, entry);
        entry.levels.add(callee.property.name);
        if (args.length > 1) for (const field of fieldsOf(args[0])) entry.fields.add(field);
      }
    },
  }).visit(program);
}

/** Returns an argument's literal messages: one, or both of a conditional expression. */
function messagesOf(node) {
  if (node?.type === 'ConditionalExpression')
    return [...messagesOf(node.consequent), ...messagesOf(node.alternate)];
  return node?.type === 'Literal' && typeof node.value === 'string' ? [node.value] : [];
}

function fieldsOf(node) {
  if (node.type !== 'ObjectExpression') return ['…'];
  return node.properties.map(({ type, key }) => (type === 'Property' ? key.name : '…'));
}
