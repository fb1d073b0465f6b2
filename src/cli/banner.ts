// What a person sees after the start on a terminal: one line per server, and a command to try.

import type { Gateway } from '../../actors/gateway/gateway.ts';

export function banner(gateway: Gateway, address: { host: string; port: number }, kind: string): string {
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  const url = `http://${host === '0.0.0.0' ? '127.0.0.1' : host}:${address.port}`;
  const servers = gateway.fleet.all();
  const width = Math.max(0, ...servers.map(({ id }) => id.length));
  const lines = servers.map(({ id, entry }) => {
    const what =
      entry.runtime === 'stdio' ? [entry.command, ...entry.args].join(' ') : new URL(entry.url).origin;
    const state = entry.enabled ? 'starts on demand' : 'switched off';
    return `  ${id.padEnd(width)}  ${state}  ${gateway.redactor.redact(what).slice(0, 100)}`;
  });
  const key = gateway.config.api_key === '' ? '' : ' -H "X-API-Key: $GATEWAY_API_KEY"';
  return [
    `actor-gateway ${gateway.version} at ${url} (${kind}), ${servers.length} server${servers.length === 1 ? '' : 's'}:`,
    ...lines,
    'Try:',
    `  curl -s${key} ${url}/servers`,
    `  curl -s${key} ${url}/rpc -H "X-MCP-Server: ${servers[0]?.id ?? 'ID'}" -H "Content-Type: application/json" \\`,
    `    -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`,
  ].join('\n');
}
