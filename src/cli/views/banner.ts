// What a person sees after the start on a terminal: one line per server and trigger, and something to try that works.

import type { Gateway } from '../../../actors/gateway/gateway.ts';
import type { Trigger } from '../../../config/resources/trigger.ts';
import { counted } from './figures.ts';
import { printable } from './terminal-text.ts';

export function banner(
  gateway: Gateway,
  address: { host: string; port: number },
  kind: string,
  triggers: readonly Trigger[],
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
      (trigger) =>
        [trigger.name, trigger.enabled ? trigger.type : 'switched off', wayIn(trigger, url)] as const,
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

/** How this machine reaches whoever listens on all addresses. */
const LOCAL_NAMES: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': 'localhost' };

function urlOf({ host, port }: { host: string; port: number }): string {
  const name = LOCAL_NAMES[host] ?? (host.includes(':') ? `[${host}]` : host);
  return `http://${name}:${port}`;
}

/** How events come to a trigger. */
function wayIn(trigger: Trigger, url: string): string {
  switch (trigger.type) {
    case 'HTTP': {
      const { methods, path, port, host } = trigger.config;
      const base = port === undefined ? url : urlOf({ host: host ?? '127.0.0.1', port });
      return `${methods.join(', ')} ${base}${path}`;
    }
    case 'BotMessenger':
      return trigger.config.mode === 'webhook' ? `POST ${url}${trigger.config.path}` : 'asks for messages';
    case 'RepoHost':
    case 'BusinessMessenger':
      return `POST ${url}${trigger.config.path}`;
    case 'Schedule':
      return `${trigger.config.cron} (${trigger.config.timezone})`;
    case 'Manual':
      return `by hand: run trigger ${trigger.name}`;
  }
}

function callOf(server: string | undefined, url: string, key: string): readonly string[] {
  if (server === undefined) return [];
  return [
    `  curl -s${key} ${url}/rpc -H "X-MCP-Server: ${server}" -H "Content-Type: application/json" \\`,
    `    -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`,
  ];
}

/** To a trigger that believes whoever is on this machine; others want a signature, whose secret is not told here. */
function eventOf(triggers: readonly Trigger[], url: string): readonly string[] {
  const open = triggers.find(
    (trigger) =>
      trigger.type === 'HTTP' &&
      trigger.enabled &&
      trigger.config.port !== 0 &&
      trigger.config.webhook_secret === undefined &&
      Object.keys(trigger.config.required_headers).length === 0 &&
      trigger.config.methods.includes('POST'),
  );
  if (open === undefined) return [];
  const where = wayIn(open, url).split(' ').at(-1);
  return [`  curl -s ${where} -H "Content-Type: application/json" -d '{"text":"hello"}'`];
}
