// `audit`: lists the recent lines of the audit of a running gateway.

import type { AuditList } from '../../http/api/audit-shapes.ts';
import { auditTable } from '../views/audit.ts';
import { operationCommands } from './operation.ts';
import { explainBadValue, queryString } from './query-options.ts';

const READ_SECONDS = 20;
const FILTERS = ['principal', 'action', 'target', 'outcome', 'since', 'until', 'before', 'limit'];

export const auditCommands = operationCommands({
  list: {
    timeoutSeconds: READ_SECONDS,
    examples: [
      'audit',
      'audit --outcome failed --since 1h',
      'audit --principal token:ada --action tools/call --json',
    ],
    declare: (command) => {
      command
        .option('--principal <name>', 'only lines of this principal, such as key:api_key or agent:NAME')
        .option('--action <name>', 'only this action, such as tools/call or servers/stop')
        .option('--target <name>', 'only this target, such as SERVER/TOOL')
        .option('--outcome <outcome>', 'only this outcome; failed: all except ok')
        .option('--since <time>', 'only lines after this time, or within a duration such as 15m')
        .option('--until <time>', 'only lines before this time')
        .option('--before <n>', 'return lines before this number')
        .option('--limit <count>', 'maximum number of rows (default: 50)');
    },
    request: ({ client, options, timeoutMs }) =>
      client.request('GET', `audit${queryString(options, FILTERS)}`, timeoutMs),
    show: ({ body }, { paint, width }) => auditTable(body as AuditList, paint, width),
    explain: explainBadValue,
  },
});
