// Who may decide about what has to be approved, where they are asked, and for how long: of a command, or of the tools of an agent.

import * as Type from 'typebox';
import { maxTimerSeconds } from '../duration-schema.ts';
import { name } from '../text-schema.ts';

export interface ApprovalRules {
  /** Users, as their platform calls them; none: whoever may by the trigger, else whoever is in the channel. */
  readonly approvers: readonly string[];
  readonly approval_channel: string | undefined;
  /** 0: it never expires. */
  readonly approval_timeout_seconds: number;
  /** Whether whoever asked may decide. */
  readonly self_approval: boolean;
}

const users = (description: string) =>
  Type.Array(name('A user.'), { description, default: [], maxItems: 1000 });

/** What may stand beside `requires_approval` of a command, or in the policy of an agent. */
export const approvalFields = {
  approvers: users('Users who may decide, as their platform calls them.'),
  approval_channel: Type.Optional(
    name('Channel in which is asked. Where no users are named, whoever is in it may decide.'),
  ),
  approval_timeout_seconds: Type.Number({
    description: 'What is not decided after so long is not approved; 0 = it waits for ever.',
    default: 86_400,
    minimum: 0,
    maximum: maxTimerSeconds,
  }),
  self_approval: Type.Boolean({ description: 'Whether whoever asked may decide.', default: false }),
};

/** Of a trigger of a chat. */
export const approval_allowed_users = users(
  'Users who may approve, where neither a command nor the policy of an agent names any.',
);

/** Whom a trigger with this `spec.config` lets approve. */
export function approversOf(config: object | undefined): readonly string[] {
  const given: { readonly approval_allowed_users?: readonly string[] } = { ...config };
  return given.approval_allowed_users ?? [];
}
