// What a command has while it talks with servers: where they are, how to print, what ends it.

import type { Paint } from '../../terminal/paint.ts';
import type { Place, PlaceOptions } from './mcp-place.ts';
import type { McpSession, RequestOptions } from './mcp-session.ts';

export interface McpOptions extends PlaceOptions {
  readonly args: readonly string[];
  readonly isJson: boolean;
  /** Arguments as one JSON object, as `@FILE`, or `-` for stdin. */
  readonly input?: string;
  /** A file for what the result has. */
  readonly output?: string;
}

export interface McpSituation {
  readonly options: McpOptions;
  readonly place: Place;
  readonly session: McpSession;
  readonly paint: Paint;
  /** Characters in a line of the terminal; undefined elsewhere. */
  readonly width: number | undefined;
  /** For questions to the HTTP API beside. */
  readonly timeoutMs: number;
  /** Of each request: ends at a signal and at the deadline, and shows progress. */
  readonly request: RequestOptions;
  /** JSON as it is printed here: on one line, or indented for a person. */
  json(value: unknown): string;
}

/** Gives the exit code. */
export type McpCommand = (situation: McpSituation) => Promise<number>;
