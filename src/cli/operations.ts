// The commands that ask a running gateway one thing: which request each makes, and what it shows of the answer.

import type { Reloaded, ServerDetails, ServerList, ServerRecord, Stats } from './api-answers.ts';
import { pathOf } from './api-answers.ts';
import type { Answer, ApiClient } from './api-client.ts';
import type { CommandName } from './command-list.ts';
import type { Paint } from './paint.ts';
import { reloadedPage, serverPage, serverTable, startedLine, statsPage } from './server-views.ts';

export interface Situation {
  readonly client: ApiClient;
  readonly id: string | undefined;
  readonly timeoutMs: number;
  readonly paint: Paint;
  /** Characters in a line of the terminal; undefined elsewhere. */
  readonly width: number | undefined;
}

export interface Operation {
  readonly id: 'none' | 'optional' | 'required';
  /** A start or stop takes its time, and the gateway bounds both. */
  readonly timeoutSeconds: number;
  /** The request whose answer `--json` prints. */
  ask(situation: Situation): Promise<Answer>;
  show(answer: Answer, situation: Situation): Promise<readonly string[]> | readonly string[];
}

const READ_SECONDS = 10;
const CHANGE_SECONDS = 120;

export const operations: Readonly<Record<Exclude<CommandName, 'top' | 'machines'>, Operation>> = {
  servers: {
    id: 'optional',
    timeoutSeconds: READ_SECONDS,
    ask: ({ client, id, timeoutMs }) =>
      client.ask('GET', id === undefined ? 'servers' : pathOf(id), timeoutMs),
    show: async ({ body }, situation) => {
      const { client, id, timeoutMs, paint, width } = situation;
      const { servers } = (await client.ask('GET', 'stats', timeoutMs)).body as Stats;
      const statsOf = (each: string) => (Object.hasOwn(servers, each) ? servers[each] : undefined);
      if (id !== undefined) return serverPage(body as ServerDetails, statsOf(id), paint);
      const rows = (body as ServerList).servers.map((server) => ({
        ...server,
        latency: statsOf(server.id)?.latency_ms,
      }));
      return serverTable(rows, paint, width);
    },
  },
  start: {
    id: 'required',
    timeoutSeconds: CHANGE_SECONDS,
    ask: ({ client, id = '', timeoutMs }) => client.ask('POST', `${pathOf(id)}/start`, timeoutMs),
    show: ({ body }) => [startedLine(body as ServerRecord)],
  },
  stop: {
    id: 'required',
    timeoutSeconds: CHANGE_SECONDS,
    ask: ({ client, id = '', timeoutMs }) => client.ask('POST', `${pathOf(id)}/stop`, timeoutMs),
    show: ({ body }) => [startedLine(body as ServerRecord)],
  },
  reload: {
    id: 'none',
    timeoutSeconds: CHANGE_SECONDS,
    ask: ({ client, timeoutMs }) => client.ask('POST', 'admin/reload', timeoutMs),
    show: ({ body }) => reloadedPage(body as Reloaded),
  },
  stats: {
    id: 'none',
    timeoutSeconds: READ_SECONDS,
    ask: ({ client, timeoutMs }) => client.ask('GET', 'stats', timeoutMs),
    show: ({ body }, { paint }) => statsPage(body as Stats, paint),
  },
};
