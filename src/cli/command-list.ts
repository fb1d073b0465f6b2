// Names and descriptions of all commands, in the groups of the help. Separate from the code of the commands,
// which `--help` and the start of the gateway do not need.

export const commandGroups = {
  'Tool servers:': {
    servers: 'List servers; start, stop, add and install them.',
    tools: 'List tools; explain and call them.',
    resources: 'List resources; read one.',
    prompts: 'List prompts; get one.',
  },
  'Automation:': {
    triggers: 'List triggers; pause, resume, run and register them.',
    deliveries: 'List accepted events; replay and discard them.',
    agents: 'List agents; ask them and chat with them.',
    fleets: 'List fleets; ask them.',
    flows: 'List flows; run and draw them.',
    runs: 'List runs; cancel and retry them.',
    approvals: 'List approvals; approve and deny them.',
  },
  'The gateway:': {
    top: 'Watch servers and triggers live.',
    calls: 'List the recent calls of clients.',
    audit: 'List the lines of the audit; verify the files.',
    logs: 'Show what servers print and what happened to them.',
    stats: 'Show the counters of the gateway.',
    nodes: 'List the gateways that share a store, and how they differ.',
    keys: 'List access keys; create, rotate and revoke them.',
    whoami: 'Show the principal and the role of the key in use.',
    reload: 'Read the catalog and the triggers again.',
    inspector: "Print a link that opens the inspector with the operator's rights.",
    store: 'Back up or export a store into a file, or import one, also into another engine.',
    stdio: 'Serve one client on stdin and stdout.',
  },
  'Setting up:': {
    warm: 'Install the servers of a catalog ahead of time, without a gateway.',
    init: 'Ask a few questions and write gateway.yaml and catalog.yaml.',
    connect: "Print or write the entry for a client's file.",
    validate: 'Check files of triggers, agents, fleets and flows, without a gateway.',
    explain: 'Explain a field of any file, such as gateway.limits.body_bytes.',
    machines: 'Print the state machines as Mermaid diagrams.',
    completion: 'Print the completion script of a shell.',
  },
} as const;

type CommandGroup = (typeof commandGroups)[keyof typeof commandGroups];

type NamesIn<Each> = Each extends unknown ? keyof Each : never;

export type CommandName = NamesIn<CommandGroup>;
