// Command lines of version 0.1 that were removed, and their replacements, for error messages. To be deleted
// after one version.

import { suggest } from '../../../config/reader/suggest.ts';
import { commandTree } from './grammar.ts';

/**
 * The first match counts. Groups capture only nouns and verbs, because other words may be secrets (A9,
 * ARCHITECTURE.md).
 */
const newForms: readonly (readonly [removed: RegExp, form: string])[] = [
  [/^get (NOUN) ./, '$1 show NAME'],
  [/^get (NOUN)/, '$1'],
  [/^get/, 'NOUN, or NOUN show NAME'],
  [/^(NOUN) list\b/, '$1'],
  [/^run (trigger|agent|fleet|flow)\b/, '$1s run NAME'],
  [/^(start|stop|add|remove|enable|disable|install|search|import)\b/, 'servers $1'],
  [/^graph\b/, 'flows graph NAME'],
  [/^chat\b/, 'agents chat NAME'],
  [/^(send|register)\b/, 'triggers $1'],
  [/^call\b/, 'tools call SERVER TOOL'],
  [/^(tools|resources|prompts) \S+ ./, '$1 show SERVER NAME'],
  [/^(tools|resources|prompts|logs) ./, '$1 --server SERVER'],
  [/^(servers|triggers|agents|fleets|flows|machines) ./, '$1 show NAME'],
  [/^\S+\.ya?ml\b/i, '--config FILE'],
];

/**
 * Returns the replacement for a removed command line. Returns undefined for any other command line, also if
 * it is mistyped or unknown.
 */
export function newForm(words: readonly string[]): string | undefined {
  const end = words.findIndex((word) => word.startsWith('-'));
  const operands = end === -1 ? words : words.slice(0, end);
  const [noun = '', verb] = operands;
  const verbs = verbsOf(noun);
  if (verb !== undefined && (verbs.includes(verb) || suggest(verb, verbs) !== undefined)) return undefined;
  const line = operands.join(' ');
  const nouns = Object.keys(commandTree).join('|');
  for (const [removed, form] of newForms) {
    const match = new RegExp(removed.source.replace('NOUN', nouns), removed.flags).exec(line);
    if (match !== null) return form.replace('$1', match[1] ?? '');
  }
  return undefined;
}

function verbsOf(name: string): readonly string[] {
  const entry = Object.hasOwn(commandTree, name) ? commandTree[name as keyof typeof commandTree] : undefined;
  return entry === undefined || typeof entry === 'function' ? [] : Object.keys(entry.verbs);
}
