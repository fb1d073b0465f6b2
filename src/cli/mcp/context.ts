// Context that commands.ts passes to the commands: options, endpoint, session, output settings and abort
// signal.

import type { Paint } from '../../terminal/paint.ts';
import type { EndpointOptions, McpEndpoint } from './endpoint.ts';
import type { McpSession, RequestOptions } from './session.ts';

export interface McpOptions extends EndpointOptions {
  readonly args: readonly string[];
  readonly isJson: boolean;
  /** Arguments as a JSON object, `@FILE`, or `-` for stdin. */
  readonly input?: string;
  /** File to save the result in. */
  readonly output?: string;
}

export interface McpContext {
  readonly options: McpOptions;
  readonly endpoint: McpEndpoint;
  readonly session: McpSession;
  readonly paint: Paint;
  /** Width of the terminal; undefined if there is none. */
  readonly width: number | undefined;
  /** Timeout of requests to the HTTP API. */
  readonly timeoutMs: number;
  /** Options for each request: the signal, which includes the deadline, and the progress line. */
  readonly request: RequestOptions;
  /** Formats a value as JSON: on one line, or indented for a terminal. */
  json(value: unknown): string;
}

/** Returns the exit code. */
export type McpCommand = (context: McpContext) => Promise<number>;
