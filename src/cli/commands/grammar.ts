// All commands and the modules that implement them. A noun alone (`servers`) lists; `NOUN VERB NAME` shows or
// changes one entry (`servers stop files`). A module is imported only when its command is parsed or
// completed.

import type { CommandModule } from '../command.ts';
import type { CommandName } from '../command-list.ts';

type Load = () => Promise<CommandModule>;

export interface NounCommands {
  /** Command for the noun alone. */
  readonly list?: Load;
  readonly verbs: Readonly<Record<string, readonly [args: string, description: string, load: Load]>>;
}

/** Returns a function that looks up the loader for a command name. */
const loaderFor =
  <Name extends string>(load: () => Promise<Readonly<Record<Name, CommandModule>>>) =>
  (name: Name): Load =>
  async () =>
    (await load())[name];

const gateway = loaderFor(async () => (await import('./gateway.ts')).gatewayCommands);
const server = loaderFor(async () => (await import('./servers.ts')).serverCommands);
const trigger = loaderFor(async () => (await import('./triggers.ts')).triggerCommands);
const delivery = loaderFor(async () => (await import('./deliveries.ts')).deliveryCommands);
const agent = loaderFor(async () => (await import('./targets.ts')).agentCommands);
const fleet = loaderFor(async () => (await import('./targets.ts')).fleetCommands);
const flow = loaderFor(async () => (await import('./targets.ts')).flowCommands);
const run = loaderFor(async () => (await import('./runs.ts')).runCommands);
const approval = loaderFor(async () => (await import('./approvals.ts')).approvalCommands);
const catalog = loaderFor(async () => (await import('../catalog/change-server.ts')).catalogCommands);
const mcp = loaderFor(async () => (await import('../mcp/commands.ts')).mcpCommands);
const call = loaderFor(async () => (await import('./calls.ts')).callCommands);
const key = loaderFor(async () => (await import('./keys.ts')).keyCommands);
const audit = loaderFor(async () => (await import('./audit.ts')).auditCommands);
const machine = loaderFor(async () => (await import('./machines.ts')).machineCommands);

export const commandTree: Readonly<Record<CommandName, Load | NounCommands>> = {
  servers: {
    list: server('list'),
    verbs: {
      show: ['<server>', 'Show a server with its connections, tools and latencies.', server('show')],
      start: ['<server>', 'Start a server, even if it is paused or parked.', server('start')],
      stop: ['<server>', 'Stop a server; the next request starts it again.', server('stop')],
      add: [
        '<name> [words...]',
        'Add a server to the catalog, by its command (after --) or its address.',
        async () => (await import('../catalog/add-server.ts')).addServer,
      ],
      remove: ['<server>', 'Remove a server from the catalog.', catalog('remove')],
      enable: ['<server>', 'Enable a server of the catalog.', catalog('enable')],
      disable: ['<server>', 'Disable a server of the catalog.', catalog('disable')],
      search: [
        '[word]',
        'Search a registry for servers.',
        async () => (await import('../registry/search.ts')).searchRegistry,
      ],
      install: [
        '<name>',
        'Add a server of a registry to the catalog.',
        async () => (await import('../registry/install.ts')).installServer,
      ],
      import: [
        '[file]',
        'Write a catalog of the servers of clients on this machine.',
        async () => (await import('../import/command.ts')).importServers,
      ],
    },
  },
  tools: {
    list: mcp('tools'),
    verbs: {
      show: ['<server> <tool>', 'Explain a tool: its arguments, and an example of a call.', mcp('showTool')],
      call: ['<server> [tool] [name=value...]', 'Call a tool, and print its result.', mcp('callTool')],
    },
  },
  resources: {
    list: mcp('resources'),
    verbs: { show: ['<server> <uri>', 'Read a resource.', mcp('showResource')] },
  },
  prompts: {
    list: mcp('prompts'),
    verbs: { show: ['<server> <prompt> [name=value...]', 'Get a prompt.', mcp('showPrompt')] },
  },
  triggers: {
    list: trigger('list'),
    verbs: {
      show: ['<trigger>', 'Show the state, last refusals, menu and limits of a trigger.', trigger('show')],
      pause: ['<trigger>', 'Pause a trigger; its events wait, even across restarts.', trigger('pause')],
      resume: ['<trigger>', 'Resume a paused trigger; its events are handled in order.', trigger('resume')],
      run: ['<trigger>', 'Run a trigger of type Manual, and print the answer.', trigger('run')],
      send: ['<trigger>', 'Send a message to a conversation of the trigger.', trigger('send')],
      register: [
        '[triggers...]',
        'Register commands in the menus of platforms, without a gateway.',
        async () => (await import('./register.ts')).register,
      ],
    },
  },
  deliveries: {
    list: delivery('list'),
    verbs: {
      show: ['<delivery>', 'Show a delivery with its attempts, its answer and its body.', delivery('show')],
      replay: ['<deliveries...>', 'Run finished deliveries again.', delivery('replay')],
      discard: ['<deliveries...>', 'Discard waiting or dead deliveries.', delivery('discard')],
    },
  },
  agents: {
    list: agent('list'),
    verbs: {
      show: ['<agent>', 'Show an agent.', agent('show')],
      run: ['<agent>', 'Ask an agent, and print its answer.', agent('run')],
      chat: [
        '<agent>',
        'Chat with an agent in the terminal.',
        async () => (await import('../chat/command.ts')).chat,
      ],
    },
  },
  fleets: {
    list: fleet('list'),
    verbs: {
      show: ['<fleet>', 'Show a fleet.', fleet('show')],
      run: ['<fleet>', 'Ask a fleet of agents, and print its answer.', fleet('run')],
    },
  },
  flows: {
    list: flow('list'),
    verbs: {
      show: ['<flow>', 'Show the parameters and the nodes of a flow.', flow('show')],
      run: ['<flow>', 'Run a flow, and print its answer.', flow('run')],
      graph: ['<flow>', 'Print the graph of a flow as a Mermaid flowchart.', flow('graph')],
    },
  },
  runs: {
    list: run('list'),
    verbs: {
      show: ['<run>', 'Show the state, the usage and the steps of a run.', run('show')],
      cancel: ['<run>', 'Cancel a run.', run('cancel')],
      retry: ['<run>', 'Continue a failed or cancelled run; no finished step is repeated.', run('retry')],
    },
  },
  approvals: {
    list: approval('list'),
    verbs: {
      show: ['<approval>', 'Show the request, the requester and the approvers.', approval('show')],
      approve: ['<approval>', 'Approve the request without changes.', approval('approve')],
      deny: ['<approval>', 'Refuse the request.', approval('deny')],
    },
  },
  top: async () => (await import('../top/command.ts')).top,
  calls: call('list'),
  audit: {
    list: audit('list'),
    verbs: {
      verify: [
        '',
        'Verify the hash chain of the audit files, without a gateway.',
        async () => (await import('../audit/verify.ts')).verifyAudit,
      ],
    },
  },
  logs: async () => (await import('./logs.ts')).logs,
  stats: gateway('stats'),
  nodes: gateway('nodes'),
  keys: {
    list: key('noun'),
    verbs: {
      list: ['', 'List the keys: role, expiry and last use.', key('list')],
      create: ['<name>', 'Create a key, and print it once.', key('create')],
      rotate: ['<id>', 'Replace a key by a new one with the same name and role.', key('rotate')],
      revoke: ['<id>', 'End a key on all gateways.', key('revoke')],
    },
  },
  whoami: key('whoami'),
  reload: gateway('reload'),
  inspector: gateway('inspector'),
  store: {
    verbs: {
      export: [
        '',
        'Write the whole store to a file; the store is unchanged.',
        async () => (await import('../store/export.ts')).exportStore,
      ],
      backup: [
        '',
        'Write the whole live store to a file.',
        async () => (await import('../store/backup.ts')).backupStore,
      ],
      import: [
        '',
        'Fill an empty store from an export.',
        async () => (await import('../store/import.ts')).importStore,
      ],
    },
  },
  // Only for help and completion: main.ts runs stdio itself, without loading commands.
  stdio: async () => {
    const { declareStdio, stdioExamples } = await import('../stdio-options.ts');
    return { examples: stdioExamples(), declare: declareStdio, run: async () => 0 };
  },
  warm: async () => (await import('./warm.ts')).warm,
  init: async () => (await import('../init/command.ts')).init,
  connect: async () => (await import('../connect/command.ts')).connect,
  validate: async () => (await import('./validate.ts')).validate,
  explain: async () => (await import('./explain.ts')).explain,
  machines: {
    list: machine('list'),
    verbs: { show: ['<machine>', 'Print one state machine.', machine('show')] },
  },
  completion: async () => (await import('./completion.ts')).completion,
};
