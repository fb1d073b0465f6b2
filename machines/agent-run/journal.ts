// The journal of a run: what it has done, as rows of JSON in the order in which they became durable. A run that goes on after a
// crash reads them back and repeats nothing. Rows stand in files on disk: what is released keeps its meaning, and is only added to.

/** Tokens of one answer, as its provider counted them; undefined where it does not say. */
export interface Usage {
  readonly input: number | undefined;
  readonly output: number | undefined;
  /** Of `input`, those that were read from a cache of the provider. */
  readonly cached: number | undefined;
}

/** A call of a tool that a model asks for. */
export interface ToolCall {
  /** Unique in the run. */
  readonly id: string;
  /** As the model knows the tool. */
  readonly name: string;
  /** JSON text as the model wrote it; perhaps none. */
  readonly input: string;
}

/** One tool as the run knows it from its beginning to its end: a server that is restarted cannot rename it. */
export interface JournaledTool {
  /** Towards the model. */
  readonly name: string;
  readonly server: string;
  readonly tool: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** What the server says of its effects. */
  readonly hints: ToolHints;
  /** By the policy of the agent, at the beginning of the run. */
  readonly verdict: 'allow' | 'ask';
}

export interface ToolHints {
  readonly isReadOnly: boolean;
  readonly isDestructive: boolean;
  readonly isIdempotent: boolean;
  /** It keeps what it has done and goes on from there: a call of it that was interrupted is no other call. */
  readonly goesOn?: boolean | undefined;
}

/** What an answer of a model was. */
export interface ModelAnswerRow {
  readonly kind: 'answer';
  /** Calls of the model so far, this one included. */
  readonly iteration: number;
  /** PROVIDER:MODEL that gave it. */
  readonly model: string;
  readonly text: string;
  readonly calls: readonly ToolCall[];
  /** As the provider's client wants it back: parts that only it understands. */
  readonly raw: unknown;
  readonly finish: 'stop' | 'calls' | 'length' | 'filtered' | 'other';
  readonly usage: Usage;
  /** In the unit of `prices`; undefined where no price is known. */
  readonly cost: number | undefined;
  readonly tookMs: number;
}

export type JournalRow =
  /** Of an agent's run, first. */
  | {
      readonly kind: 'begun';
      readonly agent: string;
      /** By chance: the keys of its calls are no other run's, of the same event neither. */
      readonly nonce: string;
      /** `ModelRuntime.definition`. */
      readonly definition: string;
      readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly text: string }[];
      readonly tools: readonly JournaledTool[];
    }
  | ModelAnswerRow
  /** The answer of the iteration does not fit `output_schema`, and the model is told so. */
  | { readonly kind: 'unfit'; readonly iteration: number; readonly reason: string }
  /** A call is about to be made: from here on it may have happened. */
  | { readonly kind: 'called'; readonly id: string; readonly isRepeated?: boolean | undefined }
  | {
      readonly kind: 'result';
      readonly id: string;
      readonly text: string;
      readonly isError: boolean;
      /** `interrupted`: it may have happened; `refused`: it was not made. */
      readonly how: 'called' | 'interrupted' | 'refused';
      readonly tookMs: number;
    }
  /** Of any run: somebody was asked, about a call or the command itself. */
  | { readonly kind: 'asked'; readonly approval: string; readonly call?: string | undefined }
  | {
      readonly kind: 'decided';
      readonly approval: string;
      readonly state: 'approved' | 'denied' | 'expired' | 'cancelled';
      readonly by: string | undefined;
      readonly comment: string | undefined;
    }
  /** Of any run, last. */
  | {
      readonly kind: 'ended';
      readonly text: string;
      /** An answer by `output_schema`. */
      readonly data?: unknown;
    };

/** What lists show of a run: it is written over with each of its steps. */
export interface RunFigures {
  /** PROVIDER:MODEL that answered last. */
  readonly model?: string | undefined;
  readonly iterations: number;
  readonly tool_calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost?: number | undefined;
  /** Of work, in milliseconds. */
  readonly worked_ms: number;
}
