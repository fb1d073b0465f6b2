// `completion`: prints the script by which a shell completes our command lines.

import { Argument } from 'commander';
import type { CommandModule } from '../command.ts';
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

export const completion: CommandModule = {
  declare: (command) =>
    command
      .addArgument(new Argument('<shell>', 'for which shell').choices(shells))
      .addHelpText('after', after),
  run: async ({ args: [shell] }) => {
    await print(scripts[shell as Shell]);
    return 0;
  },
};
