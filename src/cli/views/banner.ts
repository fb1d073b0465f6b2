// Banner that a starting gateway prints for people: a line per server, trigger, agent, fleet and flow, and
// commands to try.

import type { LoadedTargets } from '../../../actors/automation/conversations/handlers.ts';
import type { TriggerEntry } from '../../../actors/automation/operator/operator.ts';
import type { GatewayRuntime } from '../../../actors/gateway/gateway.ts';
import type { ManagedServer } from '../../../actors/mcp/servers/managed-server.ts';
import { urlOf } from '../../../config/gateway-file/listen-addr.ts';
import type { Agent } from '../../../config/resources/agents/agent.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { counted } from './figures.ts';

export interface BannerOptions {
  readonly address: { readonly host: string; readonly port: number };
  /** Name of the HTTP server implementation. */
  readonly kind: string;
  readonly hasInspector: boolean;
  /** Path of the one-time link to the inspector; only for terminals. */
  readonly link?: string | undefined;
  readonly triggers: readonly TriggerEntry[];
  readonly targets: LoadedTargets;
  /** Returns a complete command line for this gateway (gateway-command-line.ts). */
  command(words: string): string;
}

export function banner(
  gateway: Pick<GatewayRuntime, 'version' | 'config' | 'redactor' | 'mcp'>,
  options: BannerOptions,
): string {
  const { address, kind, hasInspector, link, triggers, targets, command } = options;
  const url = urlOf(address);
  const servers = gateway.mcp.servers.all();
  const lines = [
    ...servers.map(({ id, entry }) => {
      const what =
        entry.runtime === 'stdio' ? [entry.command, ...entry.args].join(' ') : new URL(entry.url).origin;
      return [id, entry.enabled ? 'starts on demand' : 'disabled', what] as const;
    }),
    ...triggers.map(
      ({ trigger, source }) =>
        [trigger.name, trigger.enabled ? trigger.type : 'disabled', source(url).text] as const,
    ),
    ...targets.agents.map((agent) => [agent.name, 'Agent', agentText(agent)] as const),
    ...targets.fleets.map(({ name }) => [name, 'Fleet', ''] as const),
    ...targets.flows.map(({ name }) => [name, 'Flow', ''] as const),
  ];
  const width = Math.max(0, ...lines.map(([name]) => name.length));
  const stateWidth = Math.max(0, ...lines.map(([, state]) => state.length));
  const counts = [
    servers.length > 0 || lines.length === 0 ? counted(servers.length, 'server') : [],
    triggers.length > 0 ? counted(triggers.length, 'trigger') : [],
    ...targetCounts(targets),
  ].flat();
  return [
    `actor-gateway ${gateway.version} at ${url} (${kind}), ${counts.join(', ')}${lines.length > 0 ? ':' : ''}`,
    ...lines.map(([name, state, what]) =>
      `  ${name.padEnd(width)}  ${state.padEnd(stateWidth)}  ${printable(gateway.redactor.redact(what)).slice(0, 100)}`.trimEnd(),
    ),
    gateway.config.api_key === '' ? 'Try:' : 'Try, with the key in GATEWAY_API_KEY:',
    ...sampleCommands(servers, lines.length > 0).map((words) => `  ${command(words)}`),
    ...(triggers.length > 0 ? [`  ${command('triggers')}`] : []),
    ...targetCommands(targets).map((words) => `  ${command(words)}`),
    ...sampleRequestLine(triggers, url),
    ...(hasInspector ? [inspectorLine(url, link, command)] : []),
  ].join('\n');
}

function inspectorLine(url: string, link: string | undefined, command: BannerOptions['command']): string {
  if (link === undefined) return `Or open ${url}/ in a browser.`;
  return `Or open ${url}${link} in a browser (valid once, within 5 minutes). New link: ${command('inspector')}`;
}

/** Returns commands that list the tools of the first server and call one. */
function sampleCommands(servers: readonly ManagedServer[], hasOthers: boolean): readonly string[] {
  const id = servers.find(({ entry }) => entry.enabled)?.id;
  if (id !== undefined) return [`tools --server ${id}`, `tools call ${id} TOOL name=value`];
  return servers.length > 0 || !hasOthers ? ['servers'] : [];
}

/** Returns a command that runs the first agent, fleet or flow. */
function targetCommands({ agents: [agent], fleets: [fleet], flows: [flow] }: LoadedTargets): string[] {
  if (agent !== undefined) return [`agents run ${agent.name} --input "hello"`];
  if (fleet !== undefined) return [`fleets run ${fleet.name} --input "hello"`];
  return flow === undefined ? [] : [`flows run ${flow.name}`];
}

/** Returns the model of an agent, or the program's kind. */
export const agentText = ({ model, runtime }: Pick<Agent, 'model' | 'runtime'>): string =>
  model ?? runtime.kind;

function targetCounts({ agents, fleets, flows }: LoadedTargets): string[] {
  const counts = Object.entries({ agent: agents, fleet: fleets, flow: flows });
  return counts.flatMap(([noun, list]) => (list.length === 0 ? [] : [counted(list.length, noun)]));
}

/**
 * Returns a test request for the first trigger that accepts unverified requests. Other triggers require a
 * signature with a secret, which must not be printed.
 */
function sampleRequestLine(triggers: readonly TriggerEntry[], url: string): readonly string[] {
  const enabled = triggers.filter(({ trigger }) => trigger.enabled);
  const open = enabled.map(({ source }) => source(url).openUrl).find((at) => at !== undefined);
  if (open === undefined) return [];
  return [`  curl -s ${open} -H "Content-Type: application/json" -d '{"text":"hello"}'`];
}
