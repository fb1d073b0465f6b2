// Runs the command that the first words name. Commander dispatches; before a command is parsed, its module is imported and
// declares it, so that no other command's code is loaded.

import type { Command } from 'commander';
import { printable } from '../../terminal/terminal-text.ts';
import { ApiProblem } from '../api/api-client.ts';
import { UsageError } from '../api/target-options.ts';
import { type CommandModule, exitCodeOf } from '../command.ts';
import type { CommandName } from '../command-list.ts';
import { refuseOptionsBefore, rootProgram } from '../options.ts';
import { asInvoked } from '../program-name.ts';
import { complain } from '../views/output.ts';
import { commandTree, type Noun } from './command-tree.ts';
import { newForm } from './removed-forms.ts';

type OnCode = (code: number) => void;

/** Runs a command line and returns the exit code. */
export async function runCommand(words: readonly string[]): Promise<number> {
  if (words[0] === '__complete') {
    const { answerShell } = await import('../completion/answer.ts');
    return answerShell(words.slice(1), rootProgram(), (command) => declareCommand(command));
  }
  if (words[0] === 'help') return runCommand([...words.slice(1), '--help']);
  const form = newForm(words);
  if (form !== undefined) {
    complain(
      `error: there is no such command; use\n${asInvoked(`  actor-gateway ${form}`)}\n(--help explains the commands)`,
    );
    return 2;
  }
  let code = 0;
  const program = rootProgram().hook('preSubcommand', (_, command) =>
    declareCommand(command, words.slice(1), (each) => {
      code = each;
    }),
  );
  try {
    await program.parseAsync([...words], { from: 'user' });
    return code;
  } catch (error) {
    return failed(error);
  }
}

/** Loads the module of a command and declares it; a noun also declares its verbs. `words` follow its name. */
export async function declareCommand(
  command: Command,
  words: readonly string[] = [],
  onCode: OnCode = () => {},
): Promise<void> {
  const noun = command.parent?.parent == null ? undefined : command.parent;
  const entry = commandTree[(noun ?? command).name() as CommandName];
  const load =
    typeof entry === 'function' ? entry : noun === undefined ? undefined : entry.verbs[command.name()]?.[2];
  if (load !== undefined) return declareModule(command, await load(), onCode);
  declareNoun(command, entry as Noun, onCode);
  // Without a list the noun has subcommands only, and commander suggests one for an unknown word.
  const { list } = entry as Noun;
  if (list !== undefined && /^(-.*)?$/s.test(words[0] ?? '')) declareModule(command, await list(), onCode);
}

function declareNoun(noun: Command, { verbs }: Noun, onCode: OnCode): void {
  noun.helpCommand(false);
  for (const [name, [args, description]] of Object.entries(verbs))
    noun.command(`${name} ${args}`).description(description);
  noun.hook('preSubcommand', (_, verb) => {
    const isGiven = (name: string) => noun.getOptionValueSource(name) === 'cli';
    if (Object.keys(noun.opts()).some(isGiven)) refuseOptionsBefore(noun, verb);
    return declareCommand(verb, [], onCode);
  });
}

function declareModule(command: Command, { declare, run }: CommandModule, onCode: OnCode): void {
  declare(command);
  command.action(async () => onCode(await run(command)));
}

/** Prints the error and returns the exit code. Throws bugs of this program. */
function failed(error: unknown): number {
  if (error instanceof UsageError) {
    complain(`error: ${error.message}`);
    return 2;
  }
  if (!(error instanceof ApiProblem)) return exitCodeOf(error);
  complain([error.message, ...error.details].map(printable).join('\n  '));
  return 1;
}
