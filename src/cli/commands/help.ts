// `help VERB`: looks up a verb without its noun (`help install`).

import { print } from '../views/output.ts';
import { table } from '../views/table.ts';
import { commandTree } from './grammar.ts';

interface VerbCommand {
  readonly noun: string;
  readonly args: string;
  readonly description: string;
}

/**
 * Returns the command line that prints the help. If several nouns have the verb, prints a list and returns
 * undefined.
 */
export async function helpCommand(words: readonly string[]): Promise<readonly string[] | undefined> {
  const [verb = '', ...more] = words;
  if (more.length > 0 || Object.hasOwn(commandTree, verb) || /^-|^$/.test(verb)) return [...words, '--help'];
  const commands = commandsWithVerb(verb);
  const [only, ...others] = commands;
  // Unknown verb: the caller runs it as a command, and the resulting error suggests a similar command.
  if (only === undefined) return [verb];
  if (others.length === 0) return [only.noun, verb, '--help'];
  const columns = [
    { title: 'COMMAND', text: ({ noun, args }: VerbCommand) => `${noun} ${verb} ${args}`.trimEnd() },
    { title: 'EFFECT', text: ({ description }: VerbCommand) => description },
  ];
  await print(`${table(columns, commands).join('\n')}\n`);
  return undefined;
}

function commandsWithVerb(verb: string): readonly VerbCommand[] {
  return Object.entries(commandTree).flatMap(([noun, entry]) => {
    if (typeof entry === 'function' || !Object.hasOwn(entry.verbs, verb)) return [];
    const [args = '', description = ''] = entry.verbs[verb] ?? [];
    return [{ noun, args, description }];
  });
}
