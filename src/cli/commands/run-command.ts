// Runs a command line. When commander reaches a command name, the command's module is imported and declares
// the options, so no other command is loaded.

import type { Command } from 'commander';
import { printable } from '../../terminal/terminal-text.ts';
import { ApiProblem } from '../api/client.ts';
import { CommandLineError } from '../api/target-options.ts';
import { addExamples, type CommandModule, exitCodeOf } from '../command.ts';
import type { CommandName } from '../command-list.ts';
import { refuseOptionsBefore, rootProgram } from '../options.ts';
import { withProgramName } from '../program-name.ts';
import { printMessage } from '../views/output.ts';
import { commandTree, type NounCommands } from './grammar.ts';
import { helpCommand } from './help.ts';
import { newForm } from './removed-forms.ts';

type OnCode = (code: number) => void;

/** Runs a command line and returns the exit code. */
export async function runCommand(args: readonly string[]): Promise<number> {
  if (args[0] === '__complete') {
    const { respondToShell } = await import('../completion/shell-response.ts');
    return respondToShell(args.slice(1), rootProgram(), (command) => declareCommand(command));
  }
  if (args[0] === 'help') {
    const command = await helpCommand(args.slice(1));
    return command === undefined ? 0 : runCommand(command);
  }
  const form = newForm(args);
  if (form !== undefined) {
    printMessage(
      `error: there is no such command; use\n${withProgramName(`  actor-gateway ${form}`)}\n(--help explains the commands)`,
    );
    return 2;
  }
  let code = 0;
  const program = rootProgram().hook('preSubcommand', (_, command) =>
    declareCommand(command, args.slice(1), (each) => {
      code = each;
    }),
  );
  try {
    await program.parseAsync([...args], { from: 'user' });
    return code;
  } catch (error) {
    return reportFailure(error);
  }
}

/**
 * Imports a command's module and declares its options. For a noun, declares the verbs, and the options
 * of the list command if `args`, the arguments after the noun, contain no verb. `onCode` receives the exit
 * code.
 */
export async function declareCommand(
  command: Command,
  args: readonly string[] = [],
  onCode: OnCode = () => {},
): Promise<void> {
  const parent = command.parent?.parent == null ? undefined : command.parent;
  const entry = commandTree[(parent ?? command).name() as CommandName];
  if (typeof entry === 'function') return declareModule(command, await entry(), onCode);
  if (parent !== undefined) {
    const [, , load] = entry.verbs[command.name()] ?? [];
    if (load !== undefined) return declareModule(command, await load(), onCode);
  }
  declareNoun(command, entry, onCode);
  // Before an unknown word, the list command is not declared, so that commander suggests a verb.
  const { list } = entry;
  if (list !== undefined && /^(-.*)?$/s.test(args[0] ?? '')) declareModule(command, await list(), onCode);
}

function declareNoun(noun: Command, { verbs }: NounCommands, onCode: OnCode): void {
  noun.helpCommand(false);
  for (const [name, [args, description]] of Object.entries(verbs))
    noun.command(`${name} ${args}`).description(description);
  noun.hook('preSubcommand', (_, verb) => {
    const isSetByUser = (name: string) => noun.getOptionValueSource(name) === 'cli';
    if (Object.keys(noun.opts()).some(isSetByUser)) refuseOptionsBefore(noun, verb);
    return declareCommand(verb, [], onCode);
  });
}

function declareModule(command: Command, { examples, declare, run }: CommandModule, onCode: OnCode): void {
  declare(command);
  addExamples(command, examples);
  command.action(async () => onCode(await run(command)));
}

/** Prints an expected error and returns the exit code. Throws other errors, which are bugs. */
function reportFailure(error: unknown): number {
  if (error instanceof CommandLineError) {
    printMessage(`error: ${error.message}`);
    return 2;
  }
  if (!(error instanceof ApiProblem)) return exitCodeOf(error);
  printMessage([error.message, ...error.details].map(printable).join('\n  '));
  return 1;
}
