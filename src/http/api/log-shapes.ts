// Types of the JSON of `GET /logs`, for API and CLI (see server-shapes.ts).

import type { LogLine } from '../../../actors/mcp/servers/lines/recent.ts';

export interface LogRecord extends Pick<LogLine, 'kind' | 'level' | 'from' | 'text'> {
  readonly at: string;
  /** Null for the store and the gateway. */
  readonly name: string | null;
  /** The name of a server; null for other kinds. */
  readonly server: string | null;
}
