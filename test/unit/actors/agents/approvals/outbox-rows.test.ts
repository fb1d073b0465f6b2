// Outbox rows for approval requests and outcomes, per platform.

import { expect, test } from 'vitest';
import {
  approvalOfRow,
  outcomeRows,
  requestRows,
} from '../../../../../actors/agents/approvals/outbox-rows.ts';
import type { ApprovalBody } from '../../../../../actors/agents/approvals/record.ts';
import { decisionActionId } from '../../../../../actors/events/decision-action.ts';
import type { OutboundTarget } from '../../../../../actors/events/outbox/message.ts';
import { renderedOf } from '../../../../../actors/events/outbox/rows.ts';
import { makeAdapters } from '../../../../../actors/platforms/adapters.ts';
import type { Trigger } from '../../../../../config/resources/triggers/trigger.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import {
  businessMessengerTrigger,
  chatWorkspaceTrigger,
  communityChatTrigger,
  teamChatTrigger,
} from '../../../../fixtures/automation/triggers.ts';

const ID = '01234567-89ab-4def-8123-456789abcdef';
const origin = { id: ID, run: 'a:1/approval/no/1' };
const adapters = makeAdapters(adapterServices());

const requestBody: Omit<ApprovalBody, 'question'> = {
  kind: 'tool',
  title: 'bank/pay',
  agent: 'payer',
  type: 'Manual',
  trace: '',
  digest: '',
  tool: { server: 'bank', tool: 'pay', arguments: { note: 'x & <y> "z" '.repeat(1_000) } },
  requestedBy: { platform: 'chat', account: 'app', user: 'U1', aliases: ['ada'] },
  rights: { approvers: ['ben'], selfApproval: false },
};

test.each<[Trigger, OutboundTarget, isEdited: boolean]>([
  [chatWorkspaceTrigger('t'), { place: 'C1' }, true],
  [communityChatTrigger('t'), { place: '1' }, true],
  [teamChatTrigger('t'), { place: '19:a', serviceUrl: 'https://chat.example/' }, true],
  [businessMessengerTrigger('t'), { place: '491' }, false],
])(
  '$type: a long approval request is sent as one message with two buttons, its outcome as one without buttons',
  (trigger, target, isEdited) => {
    const adapter = adapters.ofType(trigger.type);
    const at = { adapter, trigger, target };
    const { rows, question } = requestRows(at, origin, requestBody, 60_000);
    expect(rows).toHaveLength(1);
    const [row] = rows;
    if (row === undefined || question === undefined) throw new Error('expected an approval request');
    const rowText = JSON.stringify(renderedOf(row));
    for (const verdict of ['approve', 'deny'] as const)
      expect(rowText).toContain(decisionActionId(ID, verdict));
    expect(rowText).toContain('First ');
    expect(question.row).toBe(row.id);
    const outcome = { state: 'approved', at: 0, decision: { by: 'ben', via: 'chat' } } as const;
    const [edit, ...others] = outcomeRows(at, origin, requestBody, question, outcome);
    expect(others).toEqual([]);
    if (edit === undefined) throw new Error('expected an outcome');
    expect(JSON.parse(edit.meta)).toMatchObject({ action: isEdited ? 'edit' : 'post' });
    expect(JSON.stringify(renderedOf(edit))).not.toMatch(/approval\/(?:approve|deny)\//);
    expect(JSON.stringify(renderedOf(edit))).toContain('Approved by ben');
    expect([approvalOfRow(row.id), approvalOfRow(edit.id), approvalOfRow('outbox:a:1/1')]).toEqual([
      ID,
      ID,
      undefined,
    ]);
  },
);

test('on a platform with one reply per event, approval requests and outcomes do not use up the reply', () => {
  const trigger = communityChatTrigger('t');
  const adapter = adapters.ofType(trigger.type);
  const target = { place: '1', repliesTo: '2', orderedWith: '1/2' };
  const at = { adapter, trigger, target };
  const { rows, question } = requestRows(at, origin, requestBody, 60_000);
  if (question === undefined) throw new Error('expected an approval request');
  const outcome = outcomeRows(at, origin, requestBody, question, { state: 'cancelled' });
  for (const row of [...rows, ...outcome]) expect(renderedOf(row)).not.toHaveProperty('interaction');
  expect(outcome.map(renderedOf)).toMatchObject([{ of: question.row }]);
});
