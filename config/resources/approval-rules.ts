// Rules for approvals of commands and of agents' tool calls: approvers, channel and timeout.

import * as Type from 'typebox';
import { maxTimerSeconds } from '../duration-schema.ts';
import { name } from '../text-schema.ts';

export interface ApprovalRules {
  /**
   * User names or ids on the platform. Default: the approvers of the trigger, otherwise the members of the
   * channel.
   */
  readonly approvers: readonly string[];
  readonly approval_channel: string | undefined;
  /** 0 disables the timeout. */
  readonly approval_timeout_seconds: number;
  /** Allows requesters to decide about their own requests. */
  readonly self_approval: boolean;
}

const users = (description: string) =>
  Type.Array(name('User.'), { description, default: [], maxItems: 1000 });

/** Fields next to `requires_approval`, or in an agent's policy. */
export const approvalFields = {
  approvers: users('Users who may decide, by their name or id on the platform.'),
  approval_channel: Type.Optional(
    name('Channel for approval requests. Without approvers, all members may decide.'),
  ),
  approval_timeout_seconds: Type.Number({
    description: 'Time before an undecided request expires; 0 = never.',
    default: 86_400,
    minimum: 0,
    maximum: maxTimerSeconds,
  }),
  self_approval: Type.Boolean({
    description: 'Allow requesters to decide about their own requests.',
    default: false,
  }),
};

/** Approvers in chat triggers. */
export const approval_allowed_users = users('Default approvers, for commands and agents without approvers.');

/** Returns the approvers in a trigger's `spec.config`. */
export function approversOf(config: object | undefined): readonly string[] {
  const settings: { readonly approval_allowed_users?: readonly string[] } = { ...config };
  return settings.approval_allowed_users ?? [];
}
