// `machines`: prints the state machines of the gateway as Mermaid diagrams. docs/state-charts.md is generated
// with this code.

import type { Command } from 'commander';
import type { AnyStateMachine } from 'xstate';
import { connectionMachine } from '../../../machines/connection.ts';
import { conversationMachine } from '../../../machines/conversation.ts';
import { gatewayMachine } from '../../../machines/gateway.ts';
import { serverMachine } from '../../../machines/server.ts';
import { supervisorMachine } from '../../../machines/supervisor.ts';
import { triggerMachine } from '../../../machines/trigger.ts';
import { CommandLineError } from '../api/target-options.ts';
import { hintFor } from '../api/unknown-name.ts';
import type { CommandModule } from '../command.ts';
import { mermaid } from '../views/mermaid.ts';
import { print } from '../views/output.ts';

/** All machines of machines/, from the root of the tree to the leaves. */
export const machineList: Readonly<Record<string, AnyStateMachine>> = {
  gateway: gatewayMachine,
  supervisor: supervisorMachine,
  server: serverMachine,
  trigger: triggerMachine,
  connection: connectionMachine,
  conversation: conversationMachine,
};

const declare = (command: Command) =>
  void command.addHelpText('after', '\nExit codes: 0 success, 2 invalid usage');

export const machineCommands = {
  list: {
    examples: ['actor-gateway machines > machines.mmd'],
    declare,
    run: async () => {
      const diagrams = Object.entries(machineList).map(
        ([name, machine]) => `%% ${name}\n${mermaid(machine)}`,
      );
      await print(diagrams.join('\n'));
      return 0;
    },
  },
  show: {
    examples: ['actor-gateway machines show server'],
    declare,
    run: async ({ args: [name = ''] }) => {
      if (!Object.hasOwn(machineList, name))
        throw new CommandLineError(
          `there is no machine ${JSON.stringify(name)}; ${hintFor(name, Object.keys(machineList))}`,
        );
      await print(mermaid(machineList[name] as AnyStateMachine));
      return 0;
    },
  },
} satisfies Readonly<Record<string, CommandModule>>;
