// `completion`: prints the script by which a shell completes our command lines.

import { Argument } from 'commander';
import { parseProgram } from '../command.ts';
import { sentenceOf } from '../command-list.ts';
import { type Shell, scripts, shells } from '../completion/scripts.ts';
import { print } from '../views/output.ts';

const after = `
It completes commands, options and what they take; names of servers, tools, triggers, agents and flows are those of the
gateway that runs.

Examples:
  source <(actor-gateway completion bash)                                 # in ~/.bashrc
  source <(actor-gateway completion zsh)                                  # in ~/.zshrc, after compinit
  actor-gateway completion fish > ~/.config/fish/completions/actor-gateway.fish

Exit codes: 0 done, 2 wrong usage`;

/** Gives the exit code. */
export async function completion(args: readonly string[], version: string): Promise<number> {
  const parsed = parseProgram<Shell>(
    {
      name: 'actor-gateway completion',
      description: sentenceOf('completion'),
      version,
      after,
      declare: (command) => command.addArgument(new Argument('<shell>', 'for which shell').choices(shells)),
      read: (command) => command.args[0] as Shell,
    },
    args,
  );
  if (parsed.do === 'exit') return parsed.code;
  await print(scripts[parsed.options]);
  return 0;
}
