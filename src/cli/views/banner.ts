// What a person sees after the start on a terminal: one line per server and trigger, and something to try that works.

import type { ShownTrigger } from '../../../actors/automation/operator/operator.ts';
import type { Gateway } from '../../../actors/gateway/gateway.ts';
import type { ManagedServer } from '../../../actors/mcp/servers/managed-server.ts';
import { urlOf } from '../../../config/gateway-file/listen-addr.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { counted } from './figures.ts';

export interface Greeted {
  readonly address: { readonly host: string; readonly port: number };
  /** The filling of the HTTP seam. */
  readonly kind: string;
  readonly hasInspector: boolean;
  /** Path of the one-time inspector link; only for terminals. */
  readonly link?: string | undefined;
  readonly triggers: readonly ShownTrigger[];
  /** The line to type for a command with these words, as it reaches this gateway. */
  command(words: string): string;
}

export function banner(
  gateway: Pick<Gateway, 'version' | 'config' | 'redactor' | 'mcp'>,
  greeted: Greeted,
): string {
  const { address, kind, hasInspector, link, triggers, command } = greeted;
  const url = urlOf(address);
  const servers = gateway.mcp.servers.all();
  const lines = [
    ...servers.map(({ id, entry }) => {
      const what =
        entry.runtime === 'stdio' ? [entry.command, ...entry.args].join(' ') : new URL(entry.url).origin;
      return [id, entry.enabled ? 'starts on demand' : 'switched off', what] as const;
    }),
    ...triggers.map(
      ({ trigger, wayIn }) =>
        [trigger.name, trigger.enabled ? trigger.type : 'switched off', wayIn(url).text] as const,
    ),
  ];
  const width = Math.max(0, ...lines.map(([name]) => name.length));
  const stateWidth = Math.max(0, ...lines.map(([, state]) => state.length));
  const counts = [
    servers.length > 0 || triggers.length === 0 ? counted(servers.length, 'server') : [],
    triggers.length > 0 ? counted(triggers.length, 'trigger') : [],
  ].flat();
  return [
    `actor-gateway ${gateway.version} at ${url} (${kind}), ${counts.join(', ')}${lines.length > 0 ? ':' : ''}`,
    ...lines.map(([name, state, what]) =>
      `  ${name.padEnd(width)}  ${state.padEnd(stateWidth)}  ${printable(gateway.redactor.redact(what)).slice(0, 100)}`.trimEnd(),
    ),
    gateway.config.api_key === '' ? 'Try:' : 'Try, with the key in GATEWAY_API_KEY:',
    ...serverWords(servers, triggers.length > 0).map((words) => `  ${command(words)}`),
    ...(triggers.length > 0 ? [`  ${command('triggers')}`] : []),
    ...eventOf(triggers, url),
    ...(hasInspector ? [inspectorLine(url, link, command)] : []),
  ].join('\n');
}

function inspectorLine(url: string, link: string | undefined, command: Greeted['command']): string {
  if (link === undefined) return `Or open ${url}/ in a browser.`;
  return `Or open ${url}${link} in a browser; it works once, within 5 minutes, and then: ${command('inspector')}`;
}

/** What the first server offers, and how that is called; it starts with either. */
function serverWords(servers: readonly ManagedServer[], hasTriggers: boolean): readonly string[] {
  const id = servers.find(({ entry }) => entry.enabled)?.id;
  if (id !== undefined) return [`tools --server ${id}`, `tools call ${id} TOOL name=value`];
  return servers.length > 0 || !hasTriggers ? ['servers'] : [];
}

/** To a trigger that believes whoever is on this machine; others want a signature, whose secret is not told here. */
function eventOf(triggers: readonly ShownTrigger[], url: string): readonly string[] {
  const enabled = triggers.filter(({ trigger }) => trigger.enabled);
  const open = enabled.map(({ wayIn }) => wayIn(url).openUrl).find((at) => at !== undefined);
  if (open === undefined) return [];
  return [`  curl -s ${open} -H "Content-Type: application/json" -d '{"text":"hello"}'`];
}
