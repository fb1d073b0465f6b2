// The commands by name, with the line that the help has for each. Apart from the commands themselves,
// so that the plain form can print its help without loading any of them.

export interface CommandSummary {
  /** What follows the name. */
  readonly usage: string;
  readonly description: string;
}

export type CommandName =
  | 'servers'
  | 'start'
  | 'stop'
  | 'reload'
  | 'stats'
  | 'nodes'
  | 'top'
  | 'inspector'
  | 'tools'
  | 'call'
  | 'resources'
  | 'prompts'
  | 'logs'
  | 'get'
  | 'run'
  | 'graph'
  | 'chat'
  | 'runs'
  | 'approvals'
  | 'send'
  | 'deliveries'
  | 'triggers'
  | 'agents'
  | 'fleets'
  | 'flows'
  | 'validate'
  | 'register'
  | 'machines'
  | 'store'
  | 'stdio'
  | 'connect'
  | 'add'
  | 'remove'
  | 'enable'
  | 'disable'
  | 'search'
  | 'install'
  | 'explain'
  | 'init'
  | 'completion'
  | 'import';

export const commandList: Readonly<Record<CommandName, CommandSummary>> = {
  servers: { usage: '[id]', description: 'all servers of a running gateway, or one in detail' },
  start: { usage: '<id>', description: 'start a server; ends a pause or a park' },
  stop: { usage: '<id>', description: 'stop a server; the next request starts it again' },
  reload: { usage: '', description: 'have the gateway read its catalog and its triggers again' },
  stats: { usage: '', description: 'the counters of the gateway' },
  nodes: { usage: '', description: 'the gateways that share a store, and whether they differ' },
  top: { usage: '', description: 'watch servers and triggers live' },
  inspector: { usage: '', description: "print a link that opens the inspector with the operator's rights" },
  tools: { usage: '[server] [tool]', description: 'list the tools of servers, or explain one' },
  call: {
    usage: '<server> <tool>',
    description: 'call a tool with name=value arguments, and print its result',
  },
  resources: { usage: '[server] [uri]', description: 'list the resources of servers, or read one' },
  prompts: { usage: '[server] [name]', description: 'list the prompts of servers, or give one' },
  logs: { usage: '[server]', description: 'what the servers say, and what happened to them; -f goes on' },
  get: {
    usage: '<kind> [name]',
    description: 'servers, triggers, agents, deliveries… of a running gateway; some of files, too',
  },
  run: {
    usage: '<kind> <name>',
    description: 'run a trigger of type Manual or a flow, or ask an agent or a fleet, and print the answer',
  },
  graph: { usage: '<flow>', description: 'print the graph of a flow as a Mermaid flowchart' },
  chat: { usage: '<agent>', description: 'talk with an agent in the terminal' },
  runs: {
    usage: '[verb] [id]',
    description: 'list, show, cancel or retry what agents, fleets and flows have done',
  },
  approvals: { usage: '[verb] [id]', description: 'list, show, approve or deny what waits for approval' },
  send: { usage: '<trigger>', description: 'send a message to a conversation of a trigger' },
  deliveries: { usage: '[verb] [id]', description: 'list, show, replay or discard what has been accepted' },
  triggers: {
    usage: '[verb] [name]',
    description: 'list, show, pause or resume triggers; paused, one keeps queueing',
  },
  agents: { usage: '[verb] [name]', description: 'list or show agents; of files, too' },
  fleets: { usage: '[verb] [name]', description: 'list or show fleets; of files, too' },
  flows: { usage: '[verb] [name]', description: 'list or show flows; of files, too' },
  validate: {
    usage: '-f <path>',
    description: 'check files of triggers, agents, fleets and flows, without a gateway',
  },
  register: {
    usage: '[trigger…]',
    description: 'put commands into the menus of platforms, without a gateway',
  },
  machines: { usage: '[name]', description: 'print the state machines as Mermaid diagrams' },
  store: {
    usage: '<verb>',
    description: 'export a store into a file, or import one: from one engine to the other, too',
  },
  stdio: { usage: '', description: 'serve one client that starts a program, on stdin and stdout' },
  connect: {
    usage: '[client]',
    description: 'print what a client such as an editor needs in its file, or put it there',
  },
  add: {
    usage: '<name> …',
    description: 'put a server into the catalog: -- and its command, or its address',
  },
  remove: { usage: '<name>', description: 'take a server out of the catalog' },
  enable: { usage: '<name>', description: 'switch a server of the catalog on' },
  disable: { usage: '<name>', description: 'switch a server of the catalog off' },
  search: { usage: '[word]', description: 'search a registry for servers' },
  install: { usage: '<name>', description: 'put a server of a registry into the catalog' },
  explain: { usage: '[field]', description: 'what a field of any file means: gateway.limits.body_bytes' },
  init: { usage: '[folder]', description: 'ask a few questions and write gateway.yaml and catalog.yaml' },
  completion: { usage: '<shell>', description: 'print what completes commands and names in a shell' },
  import: {
    usage: '[file]',
    description: 'write a catalog of the servers that clients on this machine have',
  },
};

/** The description of a command as a sentence, for its own help. */
export function sentenceOf(name: CommandName): string {
  const { description } = commandList[name];
  return `${description.charAt(0).toUpperCase()}${description.slice(1)}.`;
}

/** The part of the help that lists them. */
export function commandHelp(): string {
  const lines = Object.entries(commandList).map(([name, { usage, description }]) => {
    return `  ${`${name} ${usage}`.padEnd(22)}  ${description}`;
  });
  return ['Commands (each has its own --help):', ...lines].join('\n');
}
