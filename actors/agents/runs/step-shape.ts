// View of a run's journal row, shared with the inspector's page. The API and the store call such a row a
// step.

import type { Usage } from '../../../machines/agent-run/journal.ts';

export interface StepView {
  /** Number of the step within the run. */
  readonly n: number;
  /** Epoch ms. */
  readonly at: number;
  /** Kind of the row. Rows of later versions can have other kinds. */
  readonly kind: string;
  /** Path of the flow node or fleet member, e.g. `vote/security`. */
  readonly part?: string | undefined;
  readonly text?: string | undefined;
  /** Number of the model request within the run. */
  readonly iteration?: number | undefined;
  readonly model?: string | undefined;
  readonly tokens?: Usage | undefined;
  readonly cost?: number | undefined;
  readonly tookMs?: number | undefined;
  /** Id of the tool call. */
  readonly call?: string | undefined;
  readonly tool?: string | undefined;
  readonly arguments?: string | undefined;
  readonly result?: string | undefined;
  /** Outcome of a tool call, or the state of an approval. */
  readonly state?: string | undefined;
  /** Id of the approval. */
  readonly approval?: string | undefined;
  /** Person who decided. */
  readonly by?: string | undefined;
  /** A node's output, as JSON text. */
  readonly output?: string | undefined;
  /** Target nodes of the taken connections. */
  readonly taken?: readonly string[] | undefined;
  /** Reason of the failure or repetition. */
  readonly reason?: string | undefined;
  /** End of the pause, in epoch ms. */
  readonly until?: number | undefined;
  readonly waitingFor?: 'approval' | 'slot' | 'time' | undefined;
  /** Tools that the model was not offered, with the reasons. */
  readonly omitted?: readonly string[] | undefined;
  /** Reason why the answer is incomplete. */
  readonly cut?: 'length' | 'filtered' | undefined;
  /** Loop node's turn, counted from 1. */
  readonly turn?: number | undefined;
}
