// The commands of gateway-http by name, with the line that the help has for each. Apart from the commands themselves,
// so that the plain form can print its help without loading any of them.

export interface CommandSummary {
  /** What follows the name. */
  readonly usage: string;
  readonly description: string;
}

export type CommandName = 'servers' | 'start' | 'stop' | 'reload' | 'stats' | 'top' | 'machines';

export const commandList: Readonly<Record<CommandName, CommandSummary>> = {
  servers: { usage: '[id]', description: 'all servers of a running gateway, or one in detail' },
  start: { usage: '<id>', description: 'start a server; ends a pause or a park' },
  stop: { usage: '<id>', description: 'stop a server; the next request starts it again' },
  reload: { usage: '', description: 'have the gateway read its catalog again' },
  stats: { usage: '', description: 'the counters of the gateway' },
  top: { usage: '', description: 'watch the servers live' },
  machines: { usage: '[name]', description: 'print the state machines as Mermaid diagrams' },
};

/** The part of the help that lists them. */
export function commandHelp(): string {
  const lines = Object.entries(commandList).map(([name, { usage, description }]) => {
    return `  ${`${name} ${usage}`.padEnd(16)}  ${description}`;
  });
  return ['Commands (each has its own --help):', ...lines].join('\n');
}
