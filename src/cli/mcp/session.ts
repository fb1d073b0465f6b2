// MCP session between a command and the gateway; uses the client of the public SDK. Imported only by commands
// that need a session. Results are not validated.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { FetchLike, TransportSendOptions } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  ElicitRequestSchema,
  type JSONRPCMessage,
  LoggingMessageNotificationSchema,
  McpError,
  ResultSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { within } from '../../../actors/base/time/within.ts';
import type { JsonSchema } from '../../../config/value-schema/schema-parts.ts';
import { type ApiClient, ApiProblem } from '../api/client.ts';

export interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** Question from a server to the user (elicitation). */
export interface ServerQuestion {
  readonly message: string;
  /** Form to fill in. If undefined, the user has to open `url`. */
  readonly form?: JsonSchema;
  readonly url?: string;
}

export interface QuestionAnswer {
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content?: Record<string, string | number | boolean | string[]>;
}

export interface SessionListener {
  /** Called for log messages of servers. */
  onMessage(level: string, logger: string | undefined, data: unknown): void;
  onQuestion(question: ServerQuestion, signal: AbortSignal): Promise<QuestionAnswer>;
}

export interface SessionTarget {
  readonly url: URL;
  /** Provides the key, and error messages for failed requests. */
  readonly api: ApiClient;
  readonly version: string;
}

export type ListedItem = Readonly<Record<string, unknown>>;

export interface ItemList {
  readonly items: readonly ListedItem[];
  /** Servers whose items are missing in the list. */
  readonly incomplete: readonly string[];
}

export interface RequestOptions {
  /** Aborts the request and cancels it at the server. */
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** Called when the request has succeeded or failed. */
  readonly onEnd?: () => void;
}

export type McpResult = Readonly<Record<string, unknown>>;

/** Protocol error in a server's response. */
export class McpRefusal extends ApiProblem {
  readonly code: number;
  readonly data: unknown;

  constructor(message: string, code: number, data: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

const MAX_PAGES = 1_000;
/** Longest timeout of the SDK, so that only CallDeadline aborts requests. */
const LONGEST_MS = 2 ** 31 - 1;
const CLOSE_MS = 1_000;
/** Timeout for the gateway's proof (operator-proof.ts). */
const PROOF_MS = 10_000;
const PREFIX = /^MCP error -?\d+: /;

export class McpSession {
  readonly #client: Client;
  readonly #transport: NotifyingTransport;

  private constructor(client: Client, transport: NotifyingTransport) {
    this.#client = client;
    this.#transport = transport;
  }

  /** Opens a session. Rejects with an ApiProblem. */
  static async open(
    target: SessionTarget,
    listener: SessionListener,
    { signal }: RequestOptions,
  ): Promise<McpSession> {
    const { url, version } = target;
    const client = new Client(
      { name: 'actor-gateway-terminal', title: 'actor-gateway in a terminal', version },
      { capabilities: { elicitation: { form: {}, url: {} } } },
    );
    client.setRequestHandler(ElicitRequestSchema, async ({ params }, extra) => {
      const question =
        params.mode === 'url'
          ? { message: params.message, url: params.url }
          : { message: params.message, form: params.requestedSchema as JsonSchema };
      return { ...(await listener.onQuestion(question, extra.signal)) };
    });
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
      listener.onMessage(params.level, params.logger, params.data);
    });
    const transport = new NotifyingTransport(url, { fetch: fetchWithKey(target.api) });
    const session = new McpSession(client, transport);
    try {
      const options = { timeout: LONGEST_MS, signal };
      await client.connect(transport as Parameters<Client['connect']>[0], options);
      return session;
    } catch (error) {
      await session.close();
      throw problemOf(error);
    }
  }

  /** Returns true if the server declares the capability. */
  hasCapability(capability: 'tools' | 'resources' | 'prompts'): boolean {
    return this.#client.getServerCapabilities()?.[capability] !== undefined;
  }

  /**
   * Sends a request. Rejects with McpRefusal if the server returns an error, else with another ApiProblem.
   */
  async request(
    method: string,
    params: Record<string, unknown>,
    { signal, onProgress, onEnd }: RequestOptions,
  ): Promise<McpResult> {
    try {
      const options = {
        timeout: LONGEST_MS,
        signal,
        ...(onProgress === undefined ? {} : { onprogress: onProgress }),
      };
      return await this.#client.request({ method, params } as never, ResultSchema, options);
    } catch (error) {
      throw problemOf(error);
    } finally {
      onEnd?.();
    }
  }

  /** Requests all pages in a list. `member` names the page member that contains the items. */
  async list(method: string, member: string, options: RequestOptions): Promise<ItemList> {
    const items: ListedItem[] = [];
    const incomplete = new Set<string>();
    const seenCursors = new Set<unknown>();
    let cursor: unknown;
    do {
      seenCursors.add(cursor);
      const page = await this.request(method, cursor === undefined ? {} : { cursor }, options);
      if (Array.isArray(page[member])) items.push(...page[member]);
      for (const id of incompleteIn(page)) incomplete.add(id);
      cursor = page.nextCursor;
    } while (isCursor(cursor) && !seenCursors.has(cursor) && seenCursors.size < MAX_PAGES);
    return { items, incomplete: [...incomplete] };
  }

  /** Terminates the session at the gateway, after pending notifications. Stops trying after CLOSE_MS. */
  async close(): Promise<void> {
    const closing = (async () => {
      await this.#transport.whenSent();
      await this.#transport.terminateSession();
    })();
    await within(CLOSE_MS, closing).catch(() => {});
    await this.#client.close().catch(() => {});
  }
}

/** Tracks notifications that are being sent: a cancellation must arrive before the session is terminated. */
class NotifyingTransport extends StreamableHTTPClientTransport {
  readonly #sending = new Set<Promise<void>>();

  override async send(
    message: JSONRPCMessage | JSONRPCMessage[],
    options?: TransportSendOptions,
  ): Promise<void> {
    const sending = super.send(message, options as never);
    if (Array.isArray(message) || 'id' in message) return sending;
    const tracked = sending.catch(() => {});
    this.#sending.add(tracked);
    void tracked.then(() => this.#sending.delete(tracked));
    return sending;
  }

  async whenSent(): Promise<void> {
    await Promise.all(this.#sending);
  }
}

/** Returns a `fetch` that adds the key and converts failures to ApiProblem. */
function fetchWithKey(api: ApiClient): FetchLike {
  return async (url, init) => {
    const headers = new Headers(init?.headers);
    const key = await api.keyHeaders(PROOF_MS, init?.signal ?? undefined);
    for (const [name, value] of Object.entries(key)) headers.set(name, value);
    const request = { ...init, headers };
    if (init?.method !== 'POST') return fetch(url, request);
    const response = await fetch(url, request).catch((error: Error & { cause?: Error }) => {
      if (init.signal?.aborted === true) throw error;
      throw api.unreachableProblem(error.cause ?? error, LONGEST_MS);
    });
    if (response.ok) return response;
    const text = await response.text();
    const body = parseJson(text) as
      | { error?: { message?: unknown; code?: unknown; data?: unknown } }
      | undefined;
    const { message, code, data } = typeof body?.error === 'object' ? (body.error ?? {}) : {};
    const { status } = response;
    // ApiClient explains 401 and 403.
    if (typeof message === 'string' && status !== 401 && status !== 403)
      throw new McpRefusal(message, Number(code), data);
    throw api.problemOf({ status, text, body });
  };
}

function problemOf(error: unknown): unknown {
  return error instanceof McpError
    ? new McpRefusal(error.message.replace(PREFIX, ''), error.code, error.data)
    : error;
}

/** Returns false on the last page, which has no cursor, or the empty cursor that some servers send. */
function isCursor(cursor: unknown): cursor is string {
  return typeof cursor === 'string' && cursor !== '';
}

function incompleteIn({ _meta }: McpResult): readonly string[] {
  const meta = (_meta ?? {}) as Record<string, { servers?: unknown } | undefined>;
  const servers = meta['actor-gateway/incomplete']?.servers;
  return Array.isArray(servers) ? servers.map(String) : [];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
