// The run journal: JSON rows in the order in which they became durable. A run that continues after a crash
// reads them and repeats nothing. Rows are stored permanently: released fields keep their meaning, and
// changes only add fields.

/** Model response tokens as counted by the provider; undefined if not reported. */
export interface Usage {
  readonly input: number | undefined;
  readonly output: number | undefined;
  /** Input tokens read from the provider's cache; included in `input`. */
  readonly cached: number | undefined;
}

/** A tool call requested by a model. */
export interface ToolCall {
  /** Unique in the run. */
  readonly id: string;
  /** Tool name towards the model. */
  readonly name: string;
  /** Arguments as JSON text of the model; may be invalid. */
  readonly input: string;
}

/** A tool as fixed at the start of the run: a restarted server cannot rename it. */
export interface JournaledTool {
  /** Name towards the model. */
  readonly name: string;
  readonly server: string;
  readonly tool: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** Effects declared by the server. */
  readonly hints: ToolHints;
  /** Policy decision at the start of the run. */
  readonly verdict: 'allow' | 'ask';
}

export interface ToolHints {
  readonly isReadOnly: boolean;
  readonly isDestructive: boolean;
  readonly isIdempotent: boolean;
  /** The tool stores progress and continues an interrupted call, which is not a second call. */
  readonly goesOn?: boolean | undefined;
}

/** A model response. */
export interface ModelAnswerRow {
  readonly kind: 'answer';
  /** Number of model calls so far, including this one. */
  readonly iteration: number;
  /** Responding model as PROVIDER:MODEL. */
  readonly model: string;
  readonly text: string;
  readonly calls: readonly ToolCall[];
  /** Provider-specific form of the response, sent back unchanged. */
  readonly raw: unknown;
  readonly finish: 'stop' | 'calls' | 'length' | 'filtered' | 'other';
  readonly usage: Usage;
  /** Cost in the unit of `prices`; undefined if the price is unknown. */
  readonly cost: number | undefined;
  readonly tookMs: number;
  /** Tools of the run that the request did not offer, because the provider refuses them. */
  readonly omitted?: readonly { readonly tool: string; readonly reason: string }[];
}

/** An image in a tool result. */
export interface ResultImage {
  readonly mediaType: string;
  /** Base64. */
  readonly data: string;
}

export type JournalRow =
  /** First row for agent runs. */
  | {
      readonly kind: 'begun';
      readonly agent: string;
      /** Random, so that call keys are unique, also across runs of the same event. */
      readonly nonce: string;
      /** Text of the agent file, as JSON (`ModelRuntime.definition`). */
      readonly definition: string;
      readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly text: string }[];
      readonly tools: readonly JournaledTool[];
    }
  | ModelAnswerRow
  /** The response of the iteration is empty or does not match `output_schema`; the model is informed. */
  | {
      readonly kind: 'unfit';
      readonly iteration: number;
      readonly reason: string;
      /** True if the response has no text and no calls. */
      readonly isEmpty?: boolean;
    }
  /** The call starts after this row and may be executed from now on. */
  | { readonly kind: 'called'; readonly id: string; readonly isRepeated?: boolean | undefined }
  | {
      readonly kind: 'result';
      readonly id: string;
      readonly text: string;
      readonly isError: boolean;
      /** `interrupted`: possibly executed. `refused`: was not executed. */
      readonly how: 'called' | 'interrupted' | 'refused';
      readonly tookMs: number;
      /** For models that accept images; the text describes them. */
      readonly images?: readonly ResultImage[];
    }
  /** Approval was requested for `call`, or without `call` for a whole command (any kind of run). */
  | { readonly kind: 'asked'; readonly approval: string; readonly call?: string | undefined }
  | {
      readonly kind: 'decided';
      readonly approval: string;
      readonly state: 'approved' | 'denied' | 'expired' | 'cancelled';
      readonly by: string | undefined;
      readonly comment: string | undefined;
    }
  /** Last row of every run. */
  | {
      readonly kind: 'ended';
      readonly text: string;
      /** Response according to `output_schema`. */
      readonly data?: unknown;
      /** Reason why the text is incomplete. */
      readonly cut?: CutReason | undefined;
    };

/** `length`: limit of tokens or of the context window. `filtered`: content filter of the provider. */
export type CutReason = 'length' | 'filtered';

/** Usage for lists of runs, updated with each step. */
export interface RunFigures {
  /** Last responding model as PROVIDER:MODEL. */
  readonly model?: string | undefined;
  readonly iterations: number;
  readonly tool_calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost?: number | undefined;
  /** Work time in milliseconds. */
  readonly worked_ms: number;
}
