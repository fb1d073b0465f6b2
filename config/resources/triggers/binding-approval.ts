// Reads the approval of a trigger's command (`requires_approval`): each run waits until an approver has
// decided. A command without a possible approver is an error, because its runs would wait unnoticed.

import { joinPath } from '../../reader/field-path.ts';
import { fillDefaults } from '../../reader/fill-defaults.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { type ApprovalRules, approvalFields } from '../approval-rules.ts';
import { approvalSchema, type WrittenBinding } from './binding-schema.ts';

/**
 * Returns the rules; undefined for a command without approval. `path` is the path of the command.
 * `triggerApprovers` are the approvers of the trigger, for commands that name none.
 */
export function readApproval(
  reader: SchemaReader,
  written: WrittenBinding,
  path: string,
  triggerApprovers: readonly string[],
): ApprovalRules | undefined {
  const has = (key: string) => reader.has(joinPath(path, key));
  const keys = Object.keys(approvalFields).filter(has);
  if (written.requires_approval !== true) {
    // An invalid value of requires_approval was reported. It may mean true, so there is no further warning.
    for (const key of has('requires_approval') && written.requires_approval === undefined ? [] : keys)
      reader.reportKey(joinPath(path, key), 'has no effect without requires_approval', 'warning');
    return undefined;
  }
  const { approvers, approval_channel, ...rules } = fillDefaults(approvalSchema, {
    approvers: written.approvers?.filter((each) => each !== undefined),
    approval_channel: written.approval_channel,
    approval_timeout_seconds: written.approval_timeout_seconds,
    self_approval: written.self_approval,
  });
  const deciders = approvers.length > 0 ? approvers : triggerApprovers;
  if (deciders.length === 0 && !has('approvers') && !has('approval_channel'))
    reader.report(
      joinPath(path, 'requires_approval'),
      'has no approver: set approvers or an approval_channel, or approval_allowed_users of the trigger for a chat',
    );
  return { ...rules, approvers: deciders, approval_channel };
}
