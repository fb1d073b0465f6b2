// Asks the user to permit unusual items in a registry entry (unusual-items.ts), one by one. In scripts
// --allow permits an item by name; --yes does not include any.

import { printable } from '../../terminal/terminal-text.ts';
import { CommandLineError } from '../api/target-options.ts';
import { printMessage } from '../views/output.ts';
import { shellWord } from '../views/shell-word.ts';
import type { TerminalPrompt } from './terminal-prompt.ts';
import type { UnusualItem } from './unusual-items.ts';

/**
 * Asks for permission for each item that is not in `allowedNames`. Throws CommandLineError for a refused
 * item; in a script the error lists the options to add.
 */
export async function requirePermissions(
  items: readonly UnusualItem[],
  allowedNames: readonly string[],
  terminal: TerminalPrompt | undefined,
): Promise<void> {
  for (const name of allowedNames)
    if (!items.some((item) => printable(item.name) === name))
      printMessage(`warning: --allow ${printable(name)}: the entry has no such item`);
  for (const item of items) printMessage(`needs permission: ${textOf(item)}`);
  const others = items.filter(({ name }) => !allowedNames.includes(printable(name)));
  if (others.length === 0) return;
  if (terminal === undefined)
    throw new CommandLineError(
      [
        'nothing was written: the entry needs more permissions. To grant them, add',
        `  ${others.map(({ name }) => `--allow ${shellWord(printable(name))}`).join(' ')}`,
      ].join('\n'),
    );
  for (const item of others)
    if (!(await terminal.confirm(`Allow ${printable(item.name)}?`)))
      throw new CommandLineError('nothing was written');
}

function textOf({ name, value, reason }: UnusualItem): string {
  const what = value === undefined ? name : `${name} = ${value}`;
  return `${printable(what)}: ${reason}`;
}
