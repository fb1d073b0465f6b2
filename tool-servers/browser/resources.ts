// MCP resources of the session: the console as text, and each screenshot as an image. Subscribers receive
// change notifications; for the console at most every NOTICE_MS, because a page may write many lines.

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
  readonly #subscribedUris = new Set<string>();
  #server: McpServer | undefined;
  #consoleTimer: NodeJS.Timeout | undefined;

  constructor(consoleLog: ConsoleLog, screenshots: Screenshots) {
    this.#consoleLog = consoleLog;
    this.#screenshots = screenshots;
  }

  /** Registers the resource request handlers. */
  register(server: McpServer): void {
    this.#server = server;
    const { server: requests } = server;
    requests.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: this.#list() }));
    requests.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
      resourceTemplates: [
        {
          uriTemplate: `${SCREENSHOT_SCHEME}{name}`,
          name: 'screenshot',
          title: 'Screenshot',
          description: 'A screenshot of this session, by its name in browser_screenshot',
        },
      ],
    }));
    requests.setRequestHandler(ReadResourceRequestSchema, ({ params }) => this.#read(params.uri));
    requests.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
      this.#read(params.uri);
      if (this.#subscribedUris.size >= MAX_SUBSCRIPTIONS)
        throw new McpError(
          INVALID_PARAMS,
          `The limit of ${MAX_SUBSCRIPTIONS} subscriptions is reached. Unsubscribe from another resource first.`,
        );
      this.#subscribedUris.add(params.uri);
      return {};
    });
    requests.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
      this.#subscribedUris.delete(params.uri);
      return {};
    });
  }

  /** Stores a screenshot and notifies the client. Returns the names of removed screenshots. */
  add(shot: Screenshot): string[] {
    const isNew = !this.#screenshots.has(shot.name);
    const removedNames = this.#screenshots.add(shot);
    for (const name of removedNames) this.#subscribedUris.delete(screenshotUri(name));
    if (isNew || removedNames.length > 0) this.#server?.sendResourceListChanged();
    else this.#notifyUpdated(screenshotUri(shot.name));
    return removedNames;
  }

  notifyConsole(): void {
    if (this.#consoleTimer !== undefined || !this.#subscribedUris.has(CONSOLE_URI)) return;
    this.#consoleTimer = setTimeout(() => {
      this.#consoleTimer = undefined;
      this.#notifyUpdated(CONSOLE_URI);
    }, NOTICE_MS);
  }

  close(): void {
    clearTimeout(this.#consoleTimer);
    this.#server = undefined;
  }

  #notifyUpdated(uri: string): void {
    if (!this.#subscribedUris.has(uri)) return;
    // The client may have disconnected.
    this.#server?.server.sendResourceUpdated({ uri }).catch(() => {});
  }

  #list(): Resource[] {
    return [
      {
        uri: CONSOLE_URI,
        name: 'logs',
        title: 'Console',
        description: 'Console messages of the pages of this session, the newest 1000 entries',
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
      ? this.#findScreenshot(uri.slice(SCREENSHOT_SCHEME.length))
      : undefined;
    if (shot === undefined)
      throw new McpError(
        RESOURCE_NOT_FOUND,
        `Unknown resource ${uri.slice(0, 300)}. Available: ${CONSOLE_URI} and the screenshots of this session.`,
        { uri },
      );
    return { contents: [{ uri, mimeType: shot.mimeType, blob: shot.data.toString('base64') }] };
  }

  /** Returns the screenshot for the name in a URI, percent-encoded or not. */
  #findScreenshot(encodedName: string): Screenshot | undefined {
    let decodedName = encodedName;
    try {
      decodedName = decodeURIComponent(encodedName);
    } catch {
      // The name contains a percent sign.
    }
    return this.#screenshots.get(decodedName) ?? this.#screenshots.get(encodedName);
  }
}
