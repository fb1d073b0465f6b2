// The session as MCP resources: the console as text, each screenshot as a picture. Clients that subscribed hear of changes;
// nobody else does, and a page that floods the console makes a notice now and then, not one a line.

import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  type ReadResourceResult,
  type Resource,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { ConsoleLog } from './pages/console-log.ts';
import { type Screenshot, type Screenshots, screenshotUri } from './pages/screenshots.ts';

const CONSOLE_URI = 'console://logs';
const SCREENSHOT_SCHEME = 'screenshot://';
const NOTICE_MS = 500;
const MAX_SUBSCRIPTIONS = 200;
const RESOURCE_NOT_FOUND = -32002;
const INVALID_PARAMS = -32602;

export const resourceCapabilities = { resources: { subscribe: true, listChanged: true } } as const;

export class SessionResources {
  readonly #consoleLog: ConsoleLog;
  readonly #screenshots: Screenshots;
  readonly #subscribed = new Set<string>();
  #server: McpServer | undefined;
  #notice: NodeJS.Timeout | undefined;

  constructor(consoleLog: ConsoleLog, screenshots: Screenshots) {
    this.#consoleLog = consoleLog;
    this.#screenshots = screenshots;
  }

  /** Answers the requests about resources. */
  offer(server: McpServer): void {
    this.#server = server;
    const { server: requests } = server;
    requests.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: this.#list() }));
    requests.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
      resourceTemplates: [
        {
          uriTemplate: `${SCREENSHOT_SCHEME}{name}`,
          name: 'screenshot',
          title: 'Screenshot',
          description: 'A screenshot of this session, by the name given to browser_screenshot',
        },
      ],
    }));
    requests.setRequestHandler(ReadResourceRequestSchema, ({ params }) => this.#read(params.uri));
    requests.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
      this.#read(params.uri);
      if (this.#subscribed.size >= MAX_SUBSCRIPTIONS)
        throw new McpError(INVALID_PARAMS, `At most ${MAX_SUBSCRIPTIONS} resources can be subscribed to.`);
      this.#subscribed.add(params.uri);
      return {};
    });
    requests.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
      this.#subscribed.delete(params.uri);
      return {};
    });
  }

  /** Keeps a screenshot, and tells the client. Gives the names that had to go for it. */
  keep(shot: Screenshot): string[] {
    const isNew = !this.#screenshots.has(shot.name);
    const dropped = this.#screenshots.add(shot);
    for (const name of dropped) this.#subscribed.delete(screenshotUri(name));
    if (isNew || dropped.length > 0) this.#server?.sendResourceListChanged();
    else this.#updated(screenshotUri(shot.name));
    return dropped;
  }

  consoleChanged(): void {
    if (this.#notice !== undefined || !this.#subscribed.has(CONSOLE_URI)) return;
    this.#notice = setTimeout(() => {
      this.#notice = undefined;
      this.#updated(CONSOLE_URI);
    }, NOTICE_MS);
  }

  close(): void {
    clearTimeout(this.#notice);
    this.#server = undefined;
  }

  #updated(uri: string): void {
    if (!this.#subscribed.has(uri)) return;
    // A client that is gone has no use for it.
    this.#server?.server.sendResourceUpdated({ uri }).catch(() => {});
  }

  #list(): Resource[] {
    return [
      {
        uri: CONSOLE_URI,
        name: 'logs',
        title: 'Console',
        description: 'What the pages of this session wrote to the console, the newest 1000 entries',
        mimeType: 'text/plain',
      },
      ...this.#screenshots.list().map(({ name, mimeType, data, pageUrl, width, height, at }) => ({
        uri: screenshotUri(name),
        name,
        title: `Screenshot ${name}`,
        description: `${width} by ${height} pixels of ${pageUrl.slice(0, 300)}`,
        mimeType,
        size: data.length,
        annotations: { lastModified: at.toISOString() },
      })),
    ];
  }

  #read(uri: string): ReadResourceResult {
    if (uri === CONSOLE_URI)
      return { contents: [{ uri, mimeType: 'text/plain', text: this.#consoleLog.text() }] };
    const shot = uri.startsWith(SCREENSHOT_SCHEME)
      ? this.#shotOf(uri.slice(SCREENSHOT_SCHEME.length))
      : undefined;
    if (shot === undefined)
      throw new McpError(
        RESOURCE_NOT_FOUND,
        `There is no ${uri.slice(0, 300)}. There are ${CONSOLE_URI} and the screenshots of this session.`,
        { uri },
      );
    return { contents: [{ uri, mimeType: shot.mimeType, blob: shot.data.toString('base64') }] };
  }

  /** By the name as it stands in the address, encoded or not. */
  #shotOf(written: string): Screenshot | undefined {
    let decoded = written;
    try {
      decoded = decodeURIComponent(written);
    } catch {
      // A percent sign of the name itself.
    }
    return this.#screenshots.get(decoded) ?? this.#screenshots.get(written);
  }
}
