// A command of a trigger, and the target that handles it.

import type { ApprovalRules } from '../approval-rules.ts';
import type { Target } from './target.ts';

export interface Parameter {
  readonly name: string;
  readonly required: boolean;
  readonly description: string | undefined;
  readonly default: string | undefined;
}

export interface Binding {
  /** As written, without a leading slash. Keeps the slash if the trigger's type has event names as commands. */
  readonly command: string;
  readonly target: Target;
  readonly description: string | undefined;
  readonly parameters: readonly Parameter[];
  /** Approval required before each run; without approvers of its own, the trigger's users approve. */
  readonly approval?: ApprovalRules | undefined;
}
