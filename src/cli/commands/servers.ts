// `servers`: lists, shows, starts and stops the MCP servers on a running gateway.

import type { ServerDetails, ServerList, ServerRecord } from '../../http/api/server-shapes.ts';
import type { Stats } from '../../http/api/stats-shapes.ts';
import { pathOf } from '../api/server-path.ts';
import { explainUnknownServer } from '../api/unknown-server.ts';
import { serverLine, serverPage, serverTable } from '../views/servers.ts';
import { type CommandContext, type Operation, operationCommands } from './operation.ts';

const READ_SECONDS = 10;
const CHANGE_SECONDS = 120;

async function statsOf({ client, timeoutMs }: CommandContext, id: string) {
  const { servers } = (await client.request('GET', 'stats', timeoutMs)).body as Stats;
  return Object.hasOwn(servers, id) ? servers[id] : undefined;
}

const changeOperation = (verb: 'start' | 'stop'): Operation => ({
  examples: [`servers ${verb} files`],
  timeoutSeconds: CHANGE_SECONDS,
  request: ({ client, args: [id = ''], timeoutMs }) =>
    client.request('POST', `${pathOf(id)}/${verb}`, timeoutMs),
  show: ({ body }) => [serverLine(body as ServerRecord)],
  explain: explainUnknownServer,
});

export const serverCommands = operationCommands({
  list: {
    examples: ['servers', 'servers --json'],
    timeoutSeconds: READ_SECONDS,
    request: ({ client, timeoutMs }) => client.request('GET', 'servers', timeoutMs),
    // The list has no latencies, so the statistics are requested too.
    show: async ({ body }, { client, timeoutMs, paint, width }) => {
      const { servers } = (await client.request('GET', 'stats', timeoutMs)).body as Stats;
      const rows = (body as ServerList).servers.map((server) => ({
        ...server,
        latency: Object.hasOwn(servers, server.id) ? servers[server.id]?.latency_ms : undefined,
      }));
      return serverTable(rows, paint, width);
    },
  },
  show: {
    examples: ['servers show files'],
    timeoutSeconds: READ_SECONDS,
    request: ({ client, args: [id = ''], timeoutMs }) => client.request('GET', pathOf(id), timeoutMs),
    show: async ({ body }, context) => {
      const { id } = body as ServerDetails;
      return serverPage(body as ServerDetails, await statsOf(context, id), context.paint);
    },
    explain: explainUnknownServer,
  },
  start: changeOperation('start'),
  stop: changeOperation('stop'),
});
