// A model, whoever serves it: it is asked once per step, with all that was said before, and gives one answer. Who asks again, calls
// tools and keeps a journal is actors/agents/model-agent/. Providers are the fillings (providers.ts), loaded where an agent has a model.

import type { ModelName } from '../../../config/resources/agents/model-runtime.ts';
import type { ModelAnswerRow } from '../../../machines/agent-run/journal.ts';
import type { ModelMessage, ToolOutput } from '../../../machines/agent-run/messages.ts';

export type { ModelMessage, ToolOutput };

export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

export interface ModelRequest {
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly OfferedTool[];
  /** False: the model has to answer in words, whatever tools there are. */
  readonly mayCall: boolean;
  readonly temperature: number | undefined;
  readonly maxTokens: number | undefined;
  /** JSON Schema that the answer in words should fit; whoever asks checks it. */
  readonly outputSchema: Readonly<Record<string, unknown>> | undefined;
}

export interface AskOptions {
  /** The first is asked; the next where that cannot answer after `retries`. */
  readonly models: readonly [ModelName, ...ModelName[]];
  readonly retries: number;
  /** No pause goes beyond it. */
  readonly leftMs: number;
  readonly signal: AbortSignal;
  /** The whole text of the answer so far. One that is thrown away begins anew. */
  readonly onText?: ((text: string) => void) | undefined;
  /** A request gave no answer, and there is another one after a pause: why, in words as those of the error. */
  readonly onRetry?: ((reason: string, inMs: number) => void) | undefined;
}

export type ModelAnswer = Omit<ModelAnswerRow, 'kind' | 'iteration'>;

export interface Models {
  /**
   * Rejects with a HandlerError: final for what asking again cannot help, too soon where a provider says so; its message has
   * provider, model and status, and nothing of what was sent or said (A9). Rejects with the reason of `signal` once that is aborted.
   */
  ask(request: ModelRequest, options: AskOptions): Promise<ModelAnswer>;
}
