// Messages about tools, calls and connecting clients, from the gateway to pages. Types only; member names are
// the JSON names.

export interface ToolRow {
  readonly name: string;
  readonly title: string | null;
}

export interface ToolList {
  /** False if the server's tools were never listed. */
  readonly is_known: boolean;
  /** First MAX_ROWS tools that match the filter, in the server's order. */
  readonly tools: readonly ToolRow[];
  readonly matching: number;
  readonly total: number;
  /** Reason and remedy, if the list is incomplete. */
  readonly cut: string | null;
}

export interface ToolDetails {
  readonly name: string;
  readonly title: string | null;
  readonly description: string;
  /** Annotations of the server, as text. */
  readonly hints: readonly string[];
  /** Schema of the arguments; null if it is missing or unusable. */
  readonly input_schema: unknown;
  /** Reason for a missing schema. */
  readonly schema_problem: string | null;
}

export type ResultPart =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'image' | 'audio';
      /** Media type that browsers can show. */
      readonly type: string;
      /** Base64. */
      readonly data: string;
    }
  | {
      readonly kind: 'link';
      readonly name: string;
      readonly uri: string;
      readonly type: string;
      readonly description: string;
    }
  | { readonly kind: 'resource'; readonly uri: string; readonly type: string; readonly text: string }
  /** Replaces an omitted part. */
  | { readonly kind: 'note'; readonly text: string };

export interface ResultView {
  /** True if the tool reports an error. */
  readonly is_error: boolean;
  readonly parts: readonly ResultPart[];
  /** Structured content, formatted as JSON. */
  readonly structured: string | null;
}

export interface CallProgress {
  readonly progress: number | null;
  readonly total: number | null;
  readonly message: string | null;
}

export interface CallProblem {
  /** Error code of the gateway (`ERR_DEADLINE`) or of JSON-RPC. */
  readonly code: string;
  readonly message: string;
}

/** Call result; either `result` or `problem` is null. */
export interface CallEnd {
  /** Duration. */
  readonly ms: number;
  readonly result: ResultView | null;
  readonly problem: CallProblem | null;
}

export type CallMessage =
  | { readonly kind: 'progress'; readonly data: CallProgress }
  | { readonly kind: 'end'; readonly data: CallEnd };

/** Facts about connecting clients. */
export interface ConnectFacts {
  /** True if the gateway requires a key. */
  readonly needs_key: boolean;
  /** Command of the stdio program on the gateway's machine. */
  readonly program: { readonly command: string; readonly args: readonly string[] };
  /** Path of the gateway file (`--config`); null if the gateway was started with a list of servers only. */
  readonly gateway_file: string | null;
  /** Names of profiles. */
  readonly profiles: readonly string[];
  /** Ids of enabled servers; each has an endpoint at /mcp/ID. */
  readonly servers: readonly string[];
}
