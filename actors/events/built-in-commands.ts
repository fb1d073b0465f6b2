// The commands that a chat with a menu has beside those of its triggers, so that people can ask what is there and what is at
// work, have an agent do something, and stop it: their names and options, for the menu, and what a call of one means.
// Platforms that have no such menu have none of them (`Adapter.hasBuiltIns`).
//
// A command of a trigger goes before a built-in one of its name. What asks no agent (who only looks, stops, or has said too
// little) is a call of control: it goes into a mailbox beside that of its conversation, where no run holds it up.

/** All values are text. */
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
  /** Required ones first. */
  readonly options: readonly BuiltInOption[];
  /** What somebody is asked by a call; undefined where the gateway answers it alone. */
  readonly asks: (options: Readonly<Record<string, string>>) => string | undefined;
}

/** The option that holds what is asked, with the action `run`. */
const asking =
  (name: string): BuiltInCommand['asks'] =>
  (options) =>
    options.action === 'run' ? filled(options[name]) : undefined;

const filled = (text: string | undefined) => (text === undefined || text.trim() === '' ? undefined : text);

const option = (
  name: string,
  description: string,
  required: boolean,
  choices?: readonly string[],
): BuiltInOption => ({ name, description, required, choices });

export const builtInCommands: readonly BuiltInCommand[] = [
  {
    name: 'agent',
    description: 'Ask an agent, see what is at work, or stop it',
    options: [
      option('action', 'What to do', true, ['run', 'status', 'stop']),
      option('agent_id', 'Which agent', false),
      option('input', 'What it is asked', false),
    ],
    asks: asking('input'),
  },
  {
    name: 'task',
    description: 'Have a task done, or see what is at work',
    options: [
      option('action', 'What to do', true, ['run', 'status']),
      option('description', 'What is to be done', false),
    ],
    asks: asking('description'),
  },
  {
    name: 'fleet',
    description: 'Ask a fleet of agents, or see which there are',
    options: [
      option('action', 'What to do; none: see which there are', false, ['run', 'status']),
      option('fleet', 'Which fleet', false),
      option('input', 'What it is asked', false),
    ],
    asks: asking('input'),
  },
  {
    name: 'flow',
    description: 'Run a flow, or see which there are',
    options: [
      option('workflow', 'Which flow; none: see which there are', false),
      option('action', 'What to do with it', false, ['run', 'show']),
      option('parameters', 'As name=value, several with blanks between them', false),
    ],
    asks: ({ workflow, action, parameters = '' }) =>
      filled(workflow) === undefined || action === 'show' ? undefined : parameters,
  },
];

/** Undefined for any other command. With or without a slash. */
export function builtInCommand(name: string): BuiltInCommand | undefined {
  const plain = name.startsWith('/') ? name.slice(1) : name;
  return builtInCommands.find((command) => command.name === plain);
}

/** A call of a built-in command that asks nobody, so that it may pass what its conversation is at. */
export function isControlCall(name: string, options: Readonly<Record<string, string>>): boolean {
  const command = builtInCommand(name);
  return command !== undefined && command.asks(options) === undefined;
}

const CONTROL = '/commands';

/** The key for calls of control in the conversation of that key. */
export const controlKey = (conversationKey: string): string => conversationKey + CONTROL;

/** The key of the conversation that a call is about, by the key of the call. */
export const conversationKeyOf = (key: string): string =>
  key.endsWith(CONTROL) ? key.slice(0, -CONTROL.length) : key;
