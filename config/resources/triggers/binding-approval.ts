// What a command says of its approval: nobody runs it before somebody who may has said so.
//
// BA1  a guarded command of which nobody could decide is an error: it would wait, and nobody would know.

import { joinPath } from '../../reader/field-path.ts';
import { fillDefaults } from '../../reader/fill-defaults.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { type ApprovalRules, approvalFields } from '../approval-rules.ts';
import { approvalSchema, type WrittenBinding } from './binding-schema.ts';

/** Undefined for a command that needs none. `byTrigger` are the users whom the trigger lets decide. */
export function readApproval(
  reader: SchemaReader,
  written: WrittenBinding,
  path: string,
  byTrigger: readonly string[],
): ApprovalRules | undefined {
  const has = (key: string) => reader.has(joinPath(path, key));
  const keys = Object.keys(approvalFields).filter(has);
  if (written.requires_approval !== true) {
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
  const deciders = approvers.length > 0 ? approvers : byTrigger;
  if (deciders.length === 0 && !has('approvers') && !has('approval_channel'))
    reader.report(
      joinPath(path, 'requires_approval'),
      'nobody may decide: name approvers or an approval_channel, or approval_allowed_users of the trigger where it is a chat',
    );
  return { ...rules, approvers: deciders, approval_channel };
}
