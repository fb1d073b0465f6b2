// What the page is told of tools, of the calls that it makes, and of how clients connect, for both ends. Types only. Field names are those of the JSON.

export interface ToolRow {
  readonly name: string;
  readonly title: string | null;
}

export interface ToolList {
  /** False: the server has never been asked for its tools. */
  readonly is_known: boolean;
  /** Those that match the filter, in the order of the server; MAX_ROWS at most. */
  readonly tools: readonly ToolRow[];
  readonly matching: number;
  readonly total: number;
  /** Why the list is not whole, and what to do. */
  readonly cut: string | null;
}

export interface ToolDetails {
  readonly name: string;
  readonly title: string | null;
  readonly description: string;
  /** What the server says of it in `annotations`, in words. */
  readonly hints: readonly string[];
  /** The schema of its arguments; null where there is none that can be used. */
  readonly input_schema: unknown;
  /** Why there is none. */
  readonly schema_problem: string | null;
}

export type ShownPart =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'image' | 'audio';
      /** One of a few that a browser shows. */
      readonly type: string;
      /** In Base64. */
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
  /** Instead of what is not shown. */
  | { readonly kind: 'note'; readonly text: string };

export interface ShownResult {
  /** The tool says of itself that it has failed. */
  readonly is_error: boolean;
  readonly parts: readonly ShownPart[];
  /** Structured content, as text of JSON. */
  readonly structured: string | null;
}

export interface ShownProgress {
  readonly progress: number | null;
  readonly total: number | null;
  readonly message: string | null;
}

export interface CallProblem {
  /** Of the gateway (`ERR_DEADLINE`), or that of a JSON-RPC error. */
  readonly code: string;
  readonly message: string;
}

/** How a call has ended; one of both. */
export interface CallEnd {
  readonly ms: number;
  readonly result: ShownResult | null;
  readonly problem: CallProblem | null;
}

export type CallMessage =
  | { readonly kind: 'progress'; readonly data: ShownProgress }
  | { readonly kind: 'end'; readonly data: CallEnd };

/** How clients connect. */
export interface ConnectFacts {
  /** The gateway asks its clients for a key. */
  readonly needs_key: boolean;
  /** What starts the stdio form on the gateway's own machine. */
  readonly program: { readonly command: string; readonly args: readonly string[] };
  /** Parts of all servers, by name. */
  readonly profiles: readonly string[];
  /** Those that can be reached by an address of their own. */
  readonly servers: readonly string[];
}
