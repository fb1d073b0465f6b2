// Questions and outcomes as each platform gets them.

import { expect, test } from 'vitest';
import type { ApprovalBody } from '../../../../../actors/agents/approvals/approval-record.ts';
import {
  approvalOfRow,
  outcomeRows,
  questionRows,
} from '../../../../../actors/agents/approvals/approval-rows.ts';
import { decisionActionId } from '../../../../../actors/events/decision-action.ts';
import type { OutboundTarget } from '../../../../../actors/events/outbox/outbound-message.ts';
import { renderedOf } from '../../../../../actors/events/outbox/outbox-rows.ts';
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

const asked: Omit<ApprovalBody, 'question'> = {
  ...{ kind: 'tool', title: 'bank/pay', agent: 'payer', type: 'Manual', trace: '', digest: '' },
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
  '$type: a long question is one message with both buttons, and so is its outcome without them (AMS2)',
  (trigger, target, isEdited) => {
    const adapter = adapters.ofType(trigger.type);
    const at = { adapter, trigger, target };
    const { rows, question } = questionRows(at, origin, asked, 60_000);
    expect(rows).toHaveLength(1);
    const [row] = rows;
    if (row === undefined || question === undefined) throw new Error('nothing is asked');
    const sent = JSON.stringify(renderedOf(row));
    for (const verdict of ['approve', 'deny'] as const) expect(sent).toContain(decisionActionId(ID, verdict));
    expect(sent).toContain('These are the first');
    expect(question.row).toBe(row.id);
    const outcome = { state: 'approved', at: 0, decision: { by: 'ben', via: 'chat' } } as const;
    const [edit, ...others] = outcomeRows(at, origin, asked, question, outcome);
    expect(others).toEqual([]);
    if (edit === undefined) throw new Error('nothing is told');
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

test('where one place is for all that answers an event, neither questions nor outcomes take it (CCM2)', () => {
  const trigger = communityChatTrigger('t');
  const adapter = adapters.ofType(trigger.type);
  const target = { place: '1', repliesTo: '2', orderedWith: '1/2' };
  const at = { adapter, trigger, target };
  const { rows, question } = questionRows(at, origin, asked, 60_000);
  if (question === undefined) throw new Error('nothing is asked');
  const told = outcomeRows(at, origin, asked, question, { state: 'cancelled' });
  for (const row of [...rows, ...told]) expect(renderedOf(row)).not.toHaveProperty('interaction');
  expect(told.map(renderedOf)).toMatchObject([{ of: question.row }]);
});
