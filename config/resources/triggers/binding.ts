// Type of a binding: a command of a trigger with its target (agent, fleet or flow). A command is a key in
// `spec.commands`: a word such as /deploy in a message, or the name of an event.

import type { ApprovalRules } from '../approval-rules.ts';
import type { Target } from './target.ts';

/** Parameter of a command or of a flow. */
export interface Parameter {
  readonly name: string;
  /** Prompts for a missing value. */
  readonly required: boolean;
  readonly description: string | undefined;
  readonly default: string | undefined;
}

export interface Binding {
  /** Without a leading slash, except for trigger types whose commands are names of events. */
  readonly command: string;
  readonly target: Target;
  readonly description: string | undefined;
  readonly parameters: readonly Parameter[];
  /** Rules of the approval before each run; undefined if the command needs no approval. */
  readonly approval?: ApprovalRules | undefined;
}
