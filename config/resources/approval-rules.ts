// Rules for approvals: questions to people whether a command, a tool call of an agent or a flow may proceed.
// The rules name the approvers, the channel for the question and the timeout.

import * as Type from 'typebox';
import { maxTimerSeconds } from '../duration-schema.ts';
import { name } from '../text-schema.ts';

export interface ApprovalRules {
  /**
   * User names or ids on the platform. If empty, the approvers of the trigger decide; without these, the
   * members of the channel.
   */
  readonly approvers: readonly string[];
  /** Channel for the question. If undefined, the question is posted in the conversation of the event. */
  readonly approval_channel: string | undefined;
  /** Time before an undecided question expires; 0 disables the timeout. */
  readonly approval_timeout_seconds: number;
  /** Allows requesters to decide about their own requests. */
  readonly self_approval: boolean;
}

const users = (description: string) =>
  Type.Array(name('User.'), { description, default: [], maxItems: 1000 });

/** Schemas of the fields next to `requires_approval` of a command, or in an agent's policy. */
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

/** Schema of the field in chat triggers, for commands and agents that name no approvers. */
export const approval_allowed_users = users('Default approvers, for commands and agents without approvers.');

/** Returns the approvers in a trigger's `spec.config`. Only chat triggers have this field. */
export function approversOf(config: object | undefined): readonly string[] {
  const settings: { readonly approval_allowed_users?: readonly string[] } = { ...config };
  return settings.approval_allowed_users ?? [];
}
