// `calls`: lists the recent calls of clients on a running gateway.

import { Option } from 'commander';
import type { CallList } from '../../http/api/call-shapes.ts';
import { callTable } from '../views/calls.ts';
import { operationCommands } from './operation.ts';
import { explainBadValue, queryString } from './query-options.ts';

const READ_SECONDS = 10;

export const callCommands = operationCommands({
  list: {
    timeoutSeconds: READ_SECONDS,
    examples: ['calls', 'calls --failed --server files', 'calls --tool files/read_file --limit 10 --json'],
    declare: (command) => {
      command
        .option('--failed', 'only calls that failed')
        .option('--server <server>', 'only calls of this server')
        .addOption(new Option('--tool <server/tool>', 'only calls of this tool').conflicts('server'))
        .option('--before <n>', 'return calls before this number')
        .option('--limit <count>', 'maximum number of rows (default: 50)');
    },
    request: ({ client, options, timeoutMs }) => {
      const query = {
        ...options,
        ...(options.server === undefined ? {} : { of: `server:${options.server}` }),
        ...(options.tool === undefined ? {} : { of: `tool:${options.tool}` }),
        ...(options.failed === true ? { outcome: 'failed' } : {}),
      };
      const path = `history/calls${queryString(query, ['of', 'outcome', 'before', 'limit'])}`;
      return client.request('GET', path, timeoutMs);
    },
    show: ({ body }, { paint, width }) => callTable(body as CallList, paint, width),
    explain: explainBadValue,
  },
});
