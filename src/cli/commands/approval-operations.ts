// `approvals`: what waits for somebody's word, and how it was decided.

import type { ApprovalList, ApprovalRecord } from '../api/api-responses.ts';
import { approvalLine, approvalPage, approvalTable } from '../views/approval-views.ts';
import { explainBadValue, queryOf } from './list-options.ts';
import type { Operation } from './operation.ts';

const READ_SECONDS = 10;
const CHANGE_SECONDS = 30;
const APPROVAL = 'id of an approval, as the list shows it';

const approvalPath = (...segments: readonly string[]) =>
  ['approvals', ...segments.map(encodeURIComponent)].join('/');

const filters = ['state', 'run', 'before', 'limit'];

function deciding(verb: 'approve' | 'deny', description: string): Operation {
  return {
    description,
    args: [['<id>', APPROVAL]],
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

export const approvalOperations = {
  'approvals list': {
    description: 'What waits for approval, and what was decided, the newest first.',
    args: [],
    timeoutSeconds: READ_SECONDS,
    examples: ['approvals list --state pending', 'approvals list --run http:alerts/alert-2 --json'],
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
  'approvals show': {
    description: 'One approval: who asks for what, who may decide, and all that is to be approved.',
    args: [['<id>', APPROVAL]],
    timeoutSeconds: READ_SECONDS,
    ask: ({ client, args: [id = ''], timeoutMs }) => client.ask('GET', approvalPath(id), timeoutMs),
    show: ({ body }, { paint }) => approvalPage(body as ApprovalRecord, paint),
    explain: explainBadValue,
  },
  'approvals approve': deciding('approve', 'Have what waits go on, exactly as it was asked.'),
  'approvals deny': deciding('deny', 'Have what waits not happen.'),
} satisfies Readonly<Record<string, Operation>>;
