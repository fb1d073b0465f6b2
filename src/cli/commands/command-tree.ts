// Grammar of the command line: a noun alone lists, `NOUN VERB NAME` works on one. Each entry names the module that declares
// and runs it; it is imported when the command is parsed or completed, and only then.

import type { CommandModule } from '../command.ts';
import type { CommandName } from '../command-list.ts';

type Load = () => Promise<CommandModule>;

export interface Noun {
  /** Runs for the noun alone. */
  readonly list?: Load;
  readonly verbs: Readonly<Record<string, readonly [args: string, description: string, load: Load]>>;
}

/** Returns a loader for one of the commands that a module declares together. */
const oneOf =
  <Name extends string>(load: () => Promise<Readonly<Record<Name, CommandModule>>>) =>
  (name: Name): Load =>
  async () =>
    (await load())[name];

const gateway = oneOf(async () => (await import('./gateway-commands.ts')).gatewayCommands);
const server = oneOf(async () => (await import('./server-commands.ts')).serverCommands);
const trigger = oneOf(async () => (await import('./trigger-commands.ts')).triggerCommands);
const delivery = oneOf(async () => (await import('./delivery-commands.ts')).deliveryCommands);
const agent = oneOf(async () => (await import('./target-commands.ts')).agentCommands);
const fleet = oneOf(async () => (await import('./target-commands.ts')).fleetCommands);
const flow = oneOf(async () => (await import('./target-commands.ts')).flowCommands);
const run = oneOf(async () => (await import('./run-commands.ts')).runCommands);
const approval = oneOf(async () => (await import('./approval-commands.ts')).approvalCommands);
const catalog = oneOf(async () => (await import('../catalog/change-server.ts')).catalogCommands);
const mcp = oneOf(async () => (await import('../mcp/mcp-commands.ts')).mcpCommands);
const machine = oneOf(async () => (await import('./machines.ts')).machineCommands);

export const commandTree: Readonly<Record<CommandName, Load | Noun>> = {
  servers: {
    list: server('list'),
    verbs: {
      show: ['<server>', 'Show a server with its connections, tools and latencies.', server('show')],
      start: ['<server>', 'Start a server; ends a pause or a park.', server('start')],
      stop: ['<server>', 'Stop a server; the next request starts it again.', server('stop')],
      add: [
        '<name> [words...]',
        'Add a server to the catalog: -- and its command, or its address.',
        async () => (await import('../catalog/add-server.ts')).addServer,
      ],
      remove: ['<server>', 'Remove a server from the catalog.', catalog('remove')],
      enable: ['<server>', 'Enable a server of the catalog.', catalog('enable')],
      disable: ['<server>', 'Disable a server of the catalog.', catalog('disable')],
      search: [
        '[word]',
        'Search a registry for servers.',
        async () => (await import('../registry/search-registry.ts')).searchRegistry,
      ],
      install: [
        '<name>',
        'Add a server of a registry to the catalog.',
        async () => (await import('../registry/install-server.ts')).installServer,
      ],
      import: [
        '[file]',
        'Write a catalog of the servers that clients on this machine have.',
        async () => (await import('../import/import-command.ts')).importServers,
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
      pause: ['<trigger>', 'Pause a trigger: its events wait, also over a restart.', trigger('pause')],
      resume: ['<trigger>', 'Resume a paused trigger; its events are handled in order.', trigger('resume')],
      run: ['<trigger>', 'Run a trigger of type Manual, and print the answer.', trigger('run')],
      send: ['<trigger>', 'Send a message to a conversation, as an answer of the trigger.', trigger('send')],
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
      replay: ['<deliveries...>', 'Run deliveries that have ended once more.', delivery('replay')],
      discard: ['<deliveries...>', 'End waiting or dead deliveries without handling.', delivery('discard')],
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
        async () => (await import('../chat/chat.ts')).chat,
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
      show: ['<run>', 'Show the state, the use and the steps of a run.', run('show')],
      cancel: ['<run>', 'End a run that has not ended.', run('cancel')],
      retry: ['<run>', 'Continue a failed or cancelled run; no finished step is repeated.', run('retry')],
    },
  },
  approvals: {
    list: approval('list'),
    verbs: {
      show: ['<approval>', 'Show the request, the requester and the approvers.', approval('show')],
      approve: ['<approval>', 'Allow the request exactly as it stands.', approval('approve')],
      deny: ['<approval>', 'Refuse the request.', approval('deny')],
    },
  },
  top: async () => (await import('../top/top.ts')).top,
  logs: async () => (await import('./logs.ts')).logs,
  stats: gateway('stats'),
  nodes: gateway('nodes'),
  reload: gateway('reload'),
  inspector: gateway('inspector'),
  store: {
    verbs: {
      export: [
        '',
        'Write the whole store into a file; the store stays as it is.',
        async () => (await import('../store/export-store.ts')).exportStore,
      ],
      import: [
        '',
        'Fill an empty store from an export.',
        async () => (await import('../store/import-store.ts')).importStore,
      ],
    },
  },
  // main.ts runs it, without the code of the other commands.
  stdio: async () => {
    const { declareStdio } = await import('../stdio-options.ts');
    return { declare: (command) => declareStdio(command), run: async () => 0 };
  },
  init: async () => (await import('../init/init.ts')).init,
  connect: async () => (await import('../connect/connect.ts')).connect,
  validate: async () => (await import('./validate.ts')).validate,
  explain: async () => (await import('./explain.ts')).explain,
  machines: {
    list: machine('list'),
    verbs: { show: ['<machine>', 'Print one state machine.', machine('show')] },
  },
  completion: async () => (await import('./completion.ts')).completion,
};
