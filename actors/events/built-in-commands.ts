// Built-in chat commands: list agents, fleets and flows, show running work, start work and stop it. This file
// has names and options for the command menu, and decides which calls start work. Only platforms with a
// command menu support them (`Adapter.hasBuiltIns`).
//
// A trigger's command takes precedence over the built-in command of the same name. A call that starts no
// agent, fleet or flow (status, stop, missing input) is a control call. It has a separate mailbox, so that a
// run in the conversation does not delay it.

/** Option of a command; all values are text. */
export interface BuiltInOption {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
  readonly choices?: readonly string[] | undefined;
}

export interface BuiltInCommand {
  /** Without a slash. */
  readonly name: string;
  readonly description: string;
  /** Required options first. */
  readonly options: readonly BuiltInOption[];
  /** Returns the request to the agent, fleet or flow; undefined if the gateway answers the call itself. */
  readonly requestOf: (options: Readonly<Record<string, string>>) => string | undefined;
}

/** For the action `run`, the request is in this option. */
const requestFrom =
  (name: string): BuiltInCommand['requestOf'] =>
  (options) =>
    options.action === 'run' ? nonBlank(options[name]) : undefined;

const nonBlank = (text: string | undefined) => (text === undefined || text.trim() === '' ? undefined : text);

const option = (
  name: string,
  description: string,
  required: boolean,
  choices?: readonly string[],
): BuiltInOption => ({ name, description, required, choices });

export const builtInCommands: readonly BuiltInCommand[] = [
  {
    name: 'agent',
    description: 'Ask an agent, show running work, or stop it',
    options: [
      option('action', 'Action', true, ['run', 'status', 'stop']),
      option('agent_id', 'Agent', false),
      option('input', 'Request', false),
    ],
    requestOf: requestFrom('input'),
  },
  {
    name: 'task',
    description: 'Run a task, or show running work',
    options: [option('action', 'Action', true, ['run', 'status']), option('description', 'Task', false)],
    requestOf: requestFrom('description'),
  },
  {
    name: 'fleet',
    description: 'Ask a fleet of agents, or list the fleets',
    options: [
      option('action', 'Action; without one, the fleets are listed', false, ['run', 'status']),
      option('fleet', 'Fleet', false),
      option('input', 'Request', false),
    ],
    requestOf: requestFrom('input'),
  },
  {
    name: 'flow',
    description: 'Run a flow, or list the flows',
    options: [
      option('workflow', 'Flow; without one, the flows are listed', false),
      option('action', 'Action', false, ['run', 'show']),
      option('parameters', 'name=value, separated by blanks', false),
    ],
    requestOf: ({ workflow, action, parameters = '' }) =>
      nonBlank(workflow) === undefined || action === 'show' ? undefined : parameters,
  },
];

/** Returns the built-in command with this name (with or without slash), if any. */
export function builtInCommand(name: string): BuiltInCommand | undefined {
  const plain = name.startsWith('/') ? name.slice(1) : name;
  return builtInCommands.find((command) => command.name === plain);
}

/** Returns true if the call of the built-in command starts no agent, fleet or flow. */
export function isControlCall(name: string, options: Readonly<Record<string, string>>): boolean {
  const command = builtInCommand(name);
  return command !== undefined && command.requestOf(options) === undefined;
}
