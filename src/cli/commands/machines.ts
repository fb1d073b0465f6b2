// `machines`: prints the state machines of this program as Mermaid diagrams. docs/state-charts.md is generated from them.

import type { AnyStateMachine } from 'xstate';
import { suggest } from '../../../config/reader/suggest.ts';
import { connectionMachine } from '../../../machines/connection.ts';
import { conversationMachine } from '../../../machines/conversation.ts';
import { gatewayMachine } from '../../../machines/gateway.ts';
import { serverMachine } from '../../../machines/server.ts';
import { supervisorMachine } from '../../../machines/supervisor.ts';
import { triggerMachine } from '../../../machines/trigger.ts';
import { UsageError } from '../api/target-options.ts';
import { parseProgram } from '../command.ts';
import { sentenceOf } from '../command-list.ts';
import { mermaid } from '../views/mermaid.ts';
import { print } from '../views/output.ts';

/** Each machine in machines/, from the root of the tree to its leaves. */
export const machineList: Readonly<Record<string, AnyStateMachine>> = {
  gateway: gatewayMachine,
  supervisor: supervisorMachine,
  server: serverMachine,
  trigger: triggerMachine,
  connection: connectionMachine,
  conversation: conversationMachine,
};

/** Prints one machine, or all of them, and gives the exit code. */
export async function machines(args: readonly string[], version: string): Promise<number> {
  const names = Object.keys(machineList);
  const parsed = parseProgram(
    {
      name: 'actor-gateway machines',
      description: sentenceOf('machines'),
      version,
      after: '\nExit codes: 0 done, 2 wrong usage',
      declare: (command) => command.argument('[name]', `one of ${names.join(', ')}; all without it`),
      read: (command) => command.args[0],
    },
    args,
  );
  if (parsed.do === 'exit') return parsed.code;
  const { options: name } = parsed;
  if (name !== undefined && !Object.hasOwn(machineList, name)) {
    const close = suggest(name, names);
    throw new UsageError(
      `there is no such machine; ${close === undefined ? `there are ${names.join(', ')}` : `did you mean ${close}?`}`,
    );
  }
  const wanted = Object.entries(machineList).filter(([each]) => name === undefined || each === name);
  const diagrams = wanted.map(([each, machine]) =>
    name === undefined ? `%% ${each}\n${mermaid(machine)}` : mermaid(machine),
  );
  await print(diagrams.join('\n'));
  return 0;
}
