// A completed client request: its form in memory, and as a line in a file. A record has no arguments and
// no results. Names come from clients, so they are truncated, and redacted when a line or response is made.

/** `ok`, or the kind of error. The position is the outcome's number in memory; append new outcomes. */
export const callOutcomes = [
  'ok',
  'tool',
  'protocol',
  'timeout',
  'overload',
  'start',
  'lost',
  'cancelled',
  'unavailable',
  'refused',
  'stopped',
  'internal',
] as const;

/**
 * `tool`: a result with `isError`. `protocol`: a JSON-RPC error or an invalid response of the server. `lost`:
 * the connection or the process ended. `refused`: the request is invalid, or the gateway does not know its
 * tool, method or server.
 */
export type RecordedOutcome = (typeof callOutcomes)[number];

/** Duration from which a call is slow, in milliseconds. */
export const SLOW_MS = 5_000;

/** Maximum length of a recorded name, in characters. */
export const MAX_RECORDED_CHARS = 200;

export interface RecordedCall {
  /** Sequence number. Calls are numbered in order of completion, across restarts. */
  readonly n: number;
  /** End time, in epoch milliseconds. */
  readonly at: number;
  readonly ms: number;
  /** Null if no server was selected. */
  readonly server: string | null;
  /** Name at the server; null for other methods than `tools/call`. */
  readonly tool: string | null;
  readonly method: string;
  readonly outcome: RecordedOutcome;
  /** Size of the response. */
  readonly bytes: number;
  /** Name of the client's program, if it has sent one. */
  readonly client: string | null;
  readonly session: string | null;
  /** Set for failed and slow calls only, like `trace` and `code`. */
  readonly requestId: string | null;
  readonly trace: string | null;
  /** Code of the gateway's error, or JSON-RPC error number. */
  readonly code: string | null;
}

/** Returns true for a call that is recorded with request id, trace and code. */
export function isNoteworthy({ outcome, ms }: Pick<RecordedCall, 'outcome' | 'ms'>): boolean {
  return outcome !== 'ok' || ms >= SLOW_MS;
}

/** Returns a function that redacts the texts of records. Equal texts of many records are redacted once. */
export function callRedactor(redactor: {
  redact(text: string): string;
}): (call: RecordedCall) => RecordedCall {
  const known = new Map<string, string>();
  const redacted = (text: string): string => {
    const value = known.get(text) ?? redactor.redact(text);
    known.set(text, value);
    return value;
  };
  const optional = (text: string | null) => (text === null ? null : redacted(text));
  return (call) => ({
    ...call,
    server: optional(call.server),
    tool: optional(call.tool),
    method: redacted(call.method),
    client: optional(call.client),
    requestId: optional(call.requestId),
  });
}

/** Returns the record's line, without a line break. */
export function lineOf(call: RecordedCall): string {
  const { n, at, ms, server, tool, method, outcome, bytes, client, session, requestId, trace, code } = call;
  return JSON.stringify([
    ...[n, at, ms, server, tool, method, outcome, bytes],
    ...[client, session, requestId, trace, code],
  ]);
}

/** Parses a line. Returns undefined for other text. */
export function parseLine(line: string): RecordedCall | undefined {
  let fields: unknown;
  try {
    fields = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!Array.isArray(fields) || fields.length !== 13) return undefined;
  const [n, at, ms, server, tool, method, outcome, bytes, client, session, requestId, trace, code] = fields;
  const isValid =
    [n, at, ms, bytes].every((value) => typeof value === 'number' && value >= 0) &&
    [server, tool, client, session, requestId, trace, code].every(
      (value) => value === null || isName(value),
    ) &&
    isName(method) &&
    callOutcomes.includes(outcome);
  if (!isValid || !Number.isSafeInteger(n) || Number.isNaN(new Date(at).getTime())) return undefined;
  return { n, at, ms, server, tool, method, outcome, bytes, client, session, requestId, trace, code };
}

/** Redaction marks may make a name longer than the maximum. */
function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 4 * MAX_RECORDED_CHARS;
}
