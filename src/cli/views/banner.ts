// What a person sees after the start on a terminal: one line per server and trigger, and something to try that works.

import type { ShownTrigger } from '../../../actors/automation/operator/operator.ts';
import type { Gateway } from '../../../actors/gateway/gateway.ts';
import { urlOf } from '../../../config/gateway-file/listen-addr.ts';
import { counted } from './figures.ts';
import { printable } from './terminal-text.ts';

export function banner(
  gateway: Gateway,
  address: { host: string; port: number },
  kind: string,
  triggers: readonly ShownTrigger[],
): string {
  const url = urlOf(address);
  const servers = gateway.servers.all();
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
  const key = gateway.config.api_key === '' ? '' : ' -H "X-API-Key: $GATEWAY_API_KEY"';
  const counts = [
    servers.length > 0 || triggers.length === 0 ? counted(servers.length, 'server') : [],
    triggers.length > 0 ? counted(triggers.length, 'trigger') : [],
  ].flat();
  return [
    `actor-gateway ${gateway.version} at ${url} (${kind}), ${counts.join(', ')}${lines.length > 0 ? ':' : ''}`,
    ...lines.map(([name, state, what]) =>
      `  ${name.padEnd(width)}  ${state.padEnd(stateWidth)}  ${printable(gateway.redactor.redact(what)).slice(0, 100)}`.trimEnd(),
    ),
    'Try:',
    ...(servers.length > 0 || triggers.length === 0 ? [`  curl -s${key} ${url}/servers`] : []),
    ...callOf(servers.find(({ entry }) => entry.enabled)?.id, url, key),
    ...(triggers.length > 0 ? [`  curl -s${key} ${url}/triggers`] : []),
    ...eventOf(triggers, url),
  ].join('\n');
}

function callOf(server: string | undefined, url: string, key: string): readonly string[] {
  if (server === undefined) return [];
  return [
    `  curl -s${key} ${url}/rpc -H "X-MCP-Server: ${server}" -H "Content-Type: application/json" \\`,
    `    -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`,
  ];
}

/** To a trigger that believes whoever is on this machine; others want a signature, whose secret is not told here. */
function eventOf(triggers: readonly ShownTrigger[], url: string): readonly string[] {
  const enabled = triggers.filter(({ trigger }) => trigger.enabled);
  const open = enabled.map(({ wayIn }) => wayIn(url).openUrl).find((at) => at !== undefined);
  if (open === undefined) return [];
  return [`  curl -s ${open} -H "Content-Type: application/json" -d '{"text":"hello"}'`];
}
