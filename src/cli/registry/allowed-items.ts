// Permission for a registry entry's unusual items. Each item is allowed by name; --yes does not allow any.

import { printable } from '../../terminal/terminal-text.ts';
import { UsageError } from '../api/target-options.ts';
import { complain } from '../views/output.ts';
import { shellWord } from '../views/shell-word.ts';
import type { TerminalQuestions } from './terminal-questions.ts';
import type { UnusualItem } from './unusual-items.ts';

/** Asks for each item that is missing in `given`. Throws UsageError for a refused item; in a script it lists the options to add. */
export async function allowed(
  items: readonly UnusualItem[],
  given: readonly string[],
  terminal: TerminalQuestions | undefined,
): Promise<void> {
  for (const name of given)
    if (!items.some((item) => printable(item.name) === name))
      complain(`warning: --allow ${printable(name)}: the entry has no such item`);
  for (const item of items) complain(`needs permission: ${textOf(item)}`);
  const others = items.filter(({ name }) => !given.includes(printable(name)));
  if (others.length === 0) return;
  if (terminal === undefined)
    throw new UsageError(
      [
        'nothing was written: the entry needs more permissions. To grant them, add',
        `  ${others.map(({ name }) => `--allow ${shellWord(printable(name))}`).join(' ')}`,
      ].join('\n'),
    );
  for (const item of others)
    if (!(await terminal.agrees(`Allow ${printable(item.name)}?`)))
      throw new UsageError('nothing was written');
}

function textOf({ name, value, reason }: UnusualItem): string {
  const what = value === undefined ? name : `${name} = ${value}`;
  return `${printable(what)}: ${reason}`;
}
