// `completion`: prints a shell script that completes command lines when the user presses Tab.

import { Argument } from 'commander';
import type { CommandModule } from '../command.ts';
import { type Shell, scripts, shells } from '../completion/scripts.ts';
import { print } from '../views/output.ts';

const after = `
It completes commands, options and their values. Names of servers, tools, triggers, agents and flows are
requested from the running gateway.

Exit codes: 0 success, 2 invalid usage`;

export const completion: CommandModule = {
  examples: [
    'source <(actor-gateway completion bash)                                 # in ~/.bashrc',
    'source <(actor-gateway completion zsh)                                  # in ~/.zshrc, after compinit',
    'actor-gateway completion fish > ~/.config/fish/completions/actor-gateway.fish',
  ],
  declare: (command) =>
    command
      .addArgument(new Argument('<shell>', 'name of the shell').choices(shells))
      .addHelpText('after', after),
  run: async ({ args: [shell] }) => {
    await print(scripts[shell as Shell]);
    return 0;
  },
};
