// A session of the terminal with a gateway's MCP address: the public SDK's client, as any other client has it. Loaded only where a
// command needs one. Results are given as they came: whether they fit their schemas is not for us to say.

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
import type { JsonSchema } from '../../../config/value-schema/schema-parts.ts';
import { type ApiClient, ApiProblem } from '../api/api-client.ts';

export interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** What a server asks a person. */
export interface Question {
  readonly message: string;
  /** A form; without it `url` is to be opened. */
  readonly form?: JsonSchema;
  readonly url?: string;
}

export interface QuestionAnswer {
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content?: Record<string, string | number | boolean | string[]>;
}

export interface SessionListener {
  /** A logging message of a server. */
  onMessage(level: string, logger: string | undefined, data: unknown): void;
  onQuestion(question: Question, signal: AbortSignal): Promise<QuestionAnswer>;
}

export interface SessionTarget {
  readonly url: URL;
  /** Source of the key and of error messages. */
  readonly api: ApiClient;
  readonly version: string;
}

export type Item = Readonly<Record<string, unknown>>;

export interface Listed {
  readonly items: readonly Item[];
  /** Servers of which something is missing. */
  readonly incomplete: readonly string[];
}

export interface RequestOptions {
  /** Ends the request, which is cancelled at the server then. */
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** It has ended, in whatever way. */
  readonly onEnd?: () => void;
}

export type McpResult = Readonly<Record<string, unknown>>;

/** A server answered with an error of the protocol. */
export class McpRefusal extends ApiProblem {
  readonly code: number;
  readonly data: unknown;

  constructor(message: string, code: number, data: unknown) {
    super(message, false);
    this.code = code;
    this.data = data;
  }
}

const MAX_PAGES = 1_000;
const LONGEST_MS = 2 ** 31 - 1;
const CLOSE_MS = 1_000;
/** Longest wait for the gateway's proof (operator-proof.ts). */
const PROOF_MS = 10_000;
const PREFIX = /^MCP error -?\d+: /;

export class McpSession {
  readonly #client: Client;
  readonly #transport: Transport;

  private constructor(client: Client, transport: Transport) {
    this.#client = client;
    this.#transport = transport;
  }

  /** Rejects with an ApiProblem. */
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
    const transport = new Transport(url, { fetch: toldFetch(target.api) });
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

  /** Whether the server says that it has such lists. */
  has(capability: 'tools' | 'resources' | 'prompts'): boolean {
    return this.#client.getServerCapabilities()?.[capability] !== undefined;
  }

  /** Rejects with an ApiProblem, an McpRefusal for an error of the server. */
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

  /** All pages of a list whose items stand under `member`. */
  async list(method: string, member: string, options: RequestOptions): Promise<Listed> {
    const items: Item[] = [];
    const incomplete = new Set<string>();
    const seen = new Set<unknown>();
    let cursor: unknown;
    do {
      seen.add(cursor);
      const page = await this.request(method, cursor === undefined ? {} : { cursor }, options);
      if (Array.isArray(page[member])) items.push(...page[member]);
      for (const id of incompleteIn(page)) incomplete.add(id);
      cursor = page.nextCursor;
    } while (typeof cursor === 'string' && !seen.has(cursor) && seen.size < MAX_PAGES);
    return { items, incomplete: [...incomplete] };
  }

  /** Ends the session at the gateway; what was sent last has arrived then, or a second has passed. */
  async close(): Promise<void> {
    const ended = (async () => {
      await this.#transport.sent();
      await this.#transport.terminateSession();
    })();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((done) => {
      timer = setTimeout(done, CLOSE_MS);
    });
    await Promise.race([ended.catch(() => {}), late]);
    clearTimeout(timer);
    await this.#client.close().catch(() => {});
  }
}

/** Knows when its notifications have gone: a cancellation must not be overtaken by the end of the session. */
class Transport extends StreamableHTTPClientTransport {
  readonly #sending = new Set<Promise<void>>();

  override async send(
    message: JSONRPCMessage | JSONRPCMessage[],
    options?: TransportSendOptions,
  ): Promise<void> {
    const sending = super.send(message, options as never);
    if (Array.isArray(message) || 'id' in message) return sending;
    const noted = sending.catch(() => {});
    this.#sending.add(noted);
    void noted.then(() => this.#sending.delete(noted));
    return sending;
  }

  async sent(): Promise<void> {
    await Promise.all(this.#sending);
  }
}

/** `fetch`, which says in plain words why a request of ours has no good answer. */
function toldFetch(api: ApiClient): FetchLike {
  return async (url, init) => {
    const headers = new Headers(init?.headers);
    const key = await api.keyHeaders(PROOF_MS, init?.signal ?? undefined);
    for (const [name, value] of Object.entries(key)) headers.set(name, value);
    const request = { ...init, headers };
    if (init?.method !== 'POST') return fetch(url, request);
    const response = await fetch(url, request).catch((error: Error & { cause?: Error }) => {
      if (init.signal?.aborted === true) throw error;
      throw api.unreachable(error.cause ?? error, LONGEST_MS);
    });
    if (response.ok) return response;
    const text = await response.text();
    const body = parsed(text) as
      | { error?: { message?: unknown; code?: unknown; data?: unknown } }
      | undefined;
    const { message, code, data } = typeof body?.error === 'object' ? (body.error ?? {}) : {};
    const { status } = response;
    // The API client explains problems with the key.
    if (typeof message === 'string' && status !== 401 && status !== 403)
      throw new McpRefusal(message, Number(code), data);
    throw api.refusal({ status, text, body });
  };
}

function problemOf(error: unknown): unknown {
  return error instanceof McpError
    ? new McpRefusal(error.message.replace(PREFIX, ''), error.code, error.data)
    : error;
}

function incompleteIn({ _meta }: McpResult): readonly string[] {
  const meta = (_meta ?? {}) as Record<string, { servers?: unknown } | undefined>;
  const servers = meta['actor-gateway/incomplete']?.servers;
  return Array.isArray(servers) ? servers.map(String) : [];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
