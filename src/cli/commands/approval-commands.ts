// `approvals`: pending requests, and the decisions on them.

import type { ApprovalList, ApprovalRecord } from '../../http/api/approval-shapes.ts';
import { approvalLine, approvalPage, approvalTable } from '../views/approval-views.ts';
import { explainBadValue, queryOf } from './list-options.ts';
import { type Operation, operationCommands } from './operation.ts';

const READ_SECONDS = 10;
const CHANGE_SECONDS = 30;

const approvalPath = (...segments: readonly string[]) =>
  ['approvals', ...segments.map(encodeURIComponent)].join('/');

const filters = ['state', 'run', 'before', 'limit'];

function deciding(verb: 'approve' | 'deny'): Operation {
  return {
    timeoutSeconds: CHANGE_SECONDS,
    examples: [`approvals ${verb} 8e0f… --as ada --comment "seen"`],
    declare: (command) => {
      command
        .option('--as <user>', 'in the name of that user, with their rights')
        .option('--comment <text>', 'why, for whoever asked and for the record');
    },
    ask: ({ client, args: [id = ''], options, timeoutMs }) => {
      const { as: by, comment } = options;
      return client.ask('POST', approvalPath(id, verb), timeoutMs, { body: { by, comment } });
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
        .option('--state <states>', 'only these, by commas: pending, approved, denied, expired, cancelled')
        .option('--run <id>', 'only of this run')
        .option('--before <place>', 'the page after one that ended there')
        .option('--limit <count>', 'at most this many (default: 50)');
    },
    ask: ({ client, options, timeoutMs }) =>
      client.ask('GET', `approvals${queryOf(options, filters)}`, timeoutMs),
    show: ({ body }, { paint, width }) => approvalTable(body as ApprovalList, paint, width),
    explain: explainBadValue,
  },
  show: {
    timeoutSeconds: READ_SECONDS,
    ask: ({ client, args: [id = ''], timeoutMs }) => client.ask('GET', approvalPath(id), timeoutMs),
    show: ({ body }, { paint }) => approvalPage(body as ApprovalRecord, paint),
    explain: explainBadValue,
  },
  approve: deciding('approve'),
  deny: deciding('deny'),
});
