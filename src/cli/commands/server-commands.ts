// `servers`: commands for the servers of a running gateway.

import type { ServerDetails, ServerList, ServerRecord } from '../../http/api/server-shapes.ts';
import type { Stats } from '../../http/api/stats-shapes.ts';
import { pathOf } from '../api/server-path.ts';
import { explainUnknownServer } from '../api/unknown-server.ts';
import { serverPage, serverTable, startedLine } from '../views/server-views.ts';
import { type Operation, operationCommands, type Situation } from './operation.ts';

const READ_SECONDS = 10;
const CHANGE_SECONDS = 120;

async function statsOf({ client, timeoutMs }: Situation, id: string) {
  const { servers } = (await client.ask('GET', 'stats', timeoutMs)).body as Stats;
  return Object.hasOwn(servers, id) ? servers[id] : undefined;
}

const change = (verb: 'start' | 'stop'): Operation => ({
  timeoutSeconds: CHANGE_SECONDS,
  ask: ({ client, args: [id = ''], timeoutMs }) => client.ask('POST', `${pathOf(id)}/${verb}`, timeoutMs),
  show: ({ body }) => [startedLine(body as ServerRecord)],
  explain: explainUnknownServer,
});

export const serverCommands = operationCommands({
  list: {
    timeoutSeconds: READ_SECONDS,
    ask: ({ client, timeoutMs }) => client.ask('GET', 'servers', timeoutMs),
    show: async ({ body }, { client, timeoutMs, paint, width }) => {
      const { servers } = (await client.ask('GET', 'stats', timeoutMs)).body as Stats;
      const rows = (body as ServerList).servers.map((server) => ({
        ...server,
        latency: Object.hasOwn(servers, server.id) ? servers[server.id]?.latency_ms : undefined,
      }));
      return serverTable(rows, paint, width);
    },
  },
  show: {
    timeoutSeconds: READ_SECONDS,
    ask: ({ client, args: [id = ''], timeoutMs }) => client.ask('GET', pathOf(id), timeoutMs),
    show: async ({ body }, situation) => {
      const { id } = body as ServerDetails;
      return serverPage(body as ServerDetails, await statsOf(situation, id), situation.paint);
    },
    explain: explainUnknownServer,
  },
  start: change('start'),
  stop: change('stop'),
});
