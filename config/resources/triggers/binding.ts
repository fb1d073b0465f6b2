// Type of a binding: a command of a trigger with its target (agent, fleet or flow).

import type { ApprovalRules } from '../approval-rules.ts';
import type { Target } from './target.ts';

export interface Parameter {
  readonly name: string;
  readonly required: boolean;
  readonly description: string | undefined;
  readonly default: string | undefined;
}

export interface Binding {
  /** The leading slash is removed. Keeps the slash if the commands of the trigger's type are event names. */
  readonly command: string;
  readonly target: Target;
  readonly description: string | undefined;
  readonly parameters: readonly Parameter[];
  /** Approval required before each run. Default approvers: the approvers of the trigger. */
  readonly approval?: ApprovalRules | undefined;
}
