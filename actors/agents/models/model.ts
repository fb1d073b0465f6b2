// Interface of models: one request per step, with the whole conversation, and one answer. Implemented by
// provider-models.ts; actors/agents/model-agent/ has the tool calls, the journal and the retries of events.

import type { ModelName } from '../../../config/resources/agents/model-runtime.ts';
import type { ModelAnswerRow } from '../../../machines/agent-run/journal.ts';
import type { ModelMessage, ToolOutput } from '../../../machines/agent-run/messages.ts';

export type { ModelMessage, ToolOutput };

/** Limit of tool calls per answer: each has a result row. */
export const MAX_CALLS = 1_024;

export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

export interface ModelRequest {
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly OfferedTool[];
  /** False: the model must answer in text, even if there are tools. */
  readonly mayCall: boolean;
  readonly temperature: number | undefined;
  readonly maxTokens: number | undefined;
  /** JSON Schema for the text answer; the caller validates it. */
  readonly outputSchema: Readonly<Record<string, unknown>> | undefined;
}

export interface ModelRequestOptions {
  /** Models in order of preference. The next one is used if a model gives no answer after its retries. */
  readonly models: readonly [ModelName, ...ModelName[]];
  /** Number of repetitions per model. */
  readonly retries: number;
  /** Remaining time in milliseconds, which also limits pauses. */
  readonly remainingMs: number;
  readonly signal: AbortSignal;
  /** Called with the whole text so far. If an answer is discarded, a new text follows. */
  readonly onText?: ((text: string) => void) | undefined;
  /** Called before the pause that follows failed requests, with the error text. */
  readonly onRetry?: ((reason: string, inMs: number) => void) | undefined;
}

export type ModelAnswer = Omit<ModelAnswerRow, 'kind' | 'iteration'>;

export interface Models {
  /**
   * Rejects with a HandlerError: final if a retry cannot help, `isRateLimited` for rate limits. The message
   * contains provider, model and status, but no text of the conversation. Rejects with the reason of
   * `signal` when it is aborted.
   */
  ask(request: ModelRequest, options: ModelRequestOptions): Promise<ModelAnswer>;
}

export interface LoadableModels extends Models {
  /** Loads the clients of these models before the first request. Never rejects. */
  prepare(models: readonly ModelName[]): Promise<void>;
}
