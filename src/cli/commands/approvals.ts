// `approvals`: lists approval requests, approves and denies them.

import type { ApprovalList, ApprovalRecord } from '../../http/api/approval-shapes.ts';
import { approvalLine, approvalPage, approvalTable } from '../views/approvals.ts';
import { type Operation, operationCommands } from './operation.ts';
import { explainBadValue, queryString } from './query-options.ts';

const READ_SECONDS = 10;
const CHANGE_SECONDS = 30;

const approvalPath = (...segments: readonly string[]) =>
  ['approvals', ...segments.map(encodeURIComponent)].join('/');

const filters = ['state', 'run', 'before', 'limit'];

function decisionOperation(verb: 'approve' | 'deny'): Operation {
  return {
    timeoutSeconds: CHANGE_SECONDS,
    examples: [`approvals ${verb} 8e0f… --as ada --comment "seen"`],
    declare: (command) => {
      command
        .option('--as <user>', "decide as this user, with the user's rights")
        .option('--comment <text>', 'reason, for the requester and the record');
    },
    request: ({ client, args: [id = ''], options, timeoutMs }) => {
      const { as: by, comment } = options;
      return client.request('POST', approvalPath(id, verb), timeoutMs, { body: { by, comment } });
    },
    show: ({ body }) => [approvalLine(body as ApprovalRecord)],
    explain: explainBadValue,
  };
}

export const approvalCommands = operationCommands({
  list: {
    timeoutSeconds: READ_SECONDS,
    examples: ['approvals --state pending', 'approvals --run http:alerts/alert-2 --json'],
    declare: (command) => {
      command
        .option(
          '--state <states>',
          'only these states, separated by commas: pending, approved, denied, expired, cancelled',
        )
        .option('--run <id>', 'only approvals of this run')
        .option('--before <cursor>', 'return approvals before this cursor')
        .option('--limit <count>', 'maximum number of rows (default: 50)');
    },
    request: ({ client, options, timeoutMs }) =>
      client.request('GET', `approvals${queryString(options, filters)}`, timeoutMs),
    show: ({ body }, { paint, width }) => approvalTable(body as ApprovalList, paint, width),
    explain: explainBadValue,
  },
  show: {
    examples: ['approvals show 8e0f…'],
    timeoutSeconds: READ_SECONDS,
    request: ({ client, args: [id = ''], timeoutMs }) => client.request('GET', approvalPath(id), timeoutMs),
    show: ({ body }, { paint }) => approvalPage(body as ApprovalRecord, paint),
    explain: explainBadValue,
  },
  approve: decisionOperation('approve'),
  deny: decisionOperation('deny'),
});
