// Files as MCP resources. Every readable file has the URI file:///<path>. The list contains only files
// directly in the allowed folders, in pages, because the whole tree would be too long. Subscribers are
// notified of changes.

import { basename, dirname, join } from 'node:path';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  ErrorCode,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ReadResourceRequestSchema,
  type ReadResourceResult,
  type Resource,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { CallGate } from '../../call-gate.ts';
import { ToolError } from '../../tool-error.ts';
import { runWithDeadline } from '../call-deadline.ts';
import { ChangeWatch } from '../change-watch.ts';
import type { Confinement, Facts } from '../confinement/confinement.ts';
import {
  CALL_SECONDS,
  MAX_BLOB_BYTES,
  MAX_FOLDER_ENTRIES,
  MAX_RESOURCES_PER_FOLDER,
  MAX_SUBSCRIPTIONS,
  MAX_TEXT_BYTES,
  MAX_URI_CHARS,
  RESOURCES_PER_PAGE,
} from '../limits.ts';
import { pathToUri, uriToPath } from '../paths/file-uri.ts';
import { mediaTypeOf, mimeTypeOfName } from '../paths/media-type.ts';
import { ProtocolError, toProtocolError } from '../protocol-error.ts';
import { decodeText, readBytes } from '../text/partial-read.ts';

const template = {
  uriTemplate: 'file:///{+path}',
  name: 'file',
  title: 'File',
  description:
    'Any file in an allowed directory, by its absolute path without the first slash. Percent-encode characters such as #, ? and % in names.',
};

/** Node replaces invalid UTF-8 in names with this character. */
const REPLACEMENT = '\uFFFD';

export const resourceCapabilities = { resources: { subscribe: true, listChanged: true } };

/** Start of a list page: the file that follows `after`, in the allowed folder with index `folder`. */
interface PagePosition {
  readonly folder: number;
  readonly after: string;
}

export class FileResources {
  readonly #confinement: Confinement;
  readonly #gate: CallGate;
  /** Subscribed URIs, including pending subscriptions. */
  readonly #subscribedUris = new Set<string>();
  readonly #subscriptions = new ChangeWatch();
  readonly #lists = new ChangeWatch();

  /** @param gate concurrency limit of the requests */
  constructor(confinement: Confinement, gate: CallGate) {
    this.#confinement = confinement;
    this.#gate = gate;
  }

  register(mcp: McpServer): void {
    const { server } = mcp;
    const respond = <Result>(
      signal: AbortSignal,
      uri: string | undefined,
      work: (signal: AbortSignal) => Promise<Result>,
    ): Promise<Result> =>
      this.#gate
        .run(signal, () => runWithDeadline({ signal }, CALL_SECONDS * 1_000, true, work))
        .catch((error: unknown) => {
          // The client has canceled the request.
          if (signal.aborted) throw error;
          throw toProtocolError(error, uri);
        });
    server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: [template] }));
    server.setRequestHandler(ListResourcesRequestSchema, ({ params }, { signal }) =>
      respond(signal, undefined, async (signal) => {
        await this.#watchLists(() => mcp.sendResourceListChanged());
        return this.#page(positionOf(params?.cursor), signal);
      }),
    );
    server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }, { signal }) =>
      respond(signal, uri, () => this.#read(uri)),
    );
    server.setRequestHandler(SubscribeRequestSchema, async ({ params: { uri } }, { signal }) => {
      const path = pathOfUri(uri);
      if (this.#subscribedUris.has(uri)) return {};
      if (this.#subscribedUris.size >= MAX_SUBSCRIPTIONS)
        throw toProtocolError(tooManySubscriptionsError(), uri);
      // Set before the first await, because the client may unsubscribe immediately.
      this.#subscribedUris.add(uri);
      try {
        await respond(signal, uri, () =>
          this.#subscribe(uri, path, () => {
            // The client may have disconnected.
            server.sendResourceUpdated({ uri }).catch(() => {});
          }),
        );
      } catch (error) {
        this.#subscribedUris.delete(uri);
        throw error;
      }
      return {};
    });
    server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
      this.#subscribedUris.delete(uri);
      this.#subscriptions.remove(uri);
      return {};
    });
  }

  close(): void {
    this.#subscriptions.close();
    this.#lists.close();
  }

  async #page(
    from: PagePosition,
    signal: AbortSignal,
  ): Promise<{ resources: Resource[]; nextCursor?: string }> {
    const resources: Resource[] = [];
    const { folders } = this.#confinement;
    let last = from;
    for (let folder = from.folder; folder < folders.length; folder++) {
      const root = folders[folder] ?? '';
      const names = await this.#filesIn(root, signal);
      const start = folder === from.folder ? names.findIndex((name) => name > from.after) : 0;
      for (const name of start < 0 ? [] : names.slice(start)) {
        if (resources.length === RESOURCES_PER_PAGE) return { resources, nextCursor: cursorOf(last) };
        signal.throwIfAborted();
        resources.push(await this.#resourceOf(join(root, name), name));
        last = { folder, after: name };
      }
    }
    return { resources };
  }

  /**
   * Returns the first names in a locale-independent order, because cursors refer to it. Omits names that are
   * not UTF-8, because a URI cannot express them.
   */
  async #filesIn(folder: string, signal?: AbortSignal): Promise<string[]> {
    try {
      const { entries } = await this.#confinement.list(folder, MAX_FOLDER_ENTRIES, signal);
      return entries
        .filter(({ name, kind }) => kind === 'file' && !name.includes(REPLACEMENT))
        .map(({ name }) => name)
        .sort()
        .slice(0, MAX_RESOURCES_PER_FOLDER);
    } catch (error) {
      if (signal?.aborted || !(error instanceof ToolError)) throw error;
      // The other folders are listed nevertheless.
      return [];
    }
  }

  async #resourceOf(path: string, name: string): Promise<Resource> {
    const facts = await this.#factsOf(path);
    const mimeType = mimeTypeOfName(name);
    return {
      uri: pathToUri(path),
      name,
      ...(mimeType !== undefined && { mimeType }),
      ...(facts && { size: facts.sizeBytes, annotations: { lastModified: facts.modifiedAt.toISOString() } }),
    };
  }

  #read(uri: string): Promise<ReadResourceResult> {
    return this.#confinement.read(pathOfUri(uri), async ({ path, sizeBytes, handle }) => {
      if (sizeBytes > MAX_BLOB_BYTES) throw new ToolError(tooLargeMessage(path, sizeBytes, MAX_BLOB_BYTES));
      const bytes = await readBytes(handle, 0, sizeBytes);
      const { kind, mimeType } = mediaTypeOf(path, bytes);
      const text = kind === 'other' ? decodeText(bytes) : undefined;
      if (text === undefined) return { contents: [{ uri, mimeType, blob: bytes.toString('base64') }] };
      if (sizeBytes > MAX_TEXT_BYTES) throw new ToolError(tooLargeMessage(path, sizeBytes, MAX_TEXT_BYTES));
      return { contents: [{ uri, mimeType: mimeTypeOfName(path) ?? 'text/plain', text }] };
    });
  }

  async #subscribe(uri: string, requestedPath: string, onChange: () => void): Promise<void> {
    const { path, kind } = await this.#confinement.facts(requestedPath);
    if (kind !== 'file') throw new ToolError(`${path} is not a file. Only files support subscriptions.`);
    if (!this.#subscribedUris.has(uri)) return;
    const fingerprint = async () => fingerprintOf(await this.#factsOf(path));
    await this.#subscriptions.add(uri, {
      folder: dirname(path),
      name: basename(path),
      fingerprint,
      onChange,
    });
  }

  /**
   * Watches the allowed folders for changes of the list. Starts with the first list request: before it, the
   * client cannot have an outdated list.
   */
  async #watchLists(onChange: () => void): Promise<void> {
    for (const folder of this.#confinement.folders) {
      const fingerprint = async () => (await this.#filesIn(folder)).join('/');
      await this.#lists.add(folder, { folder, name: undefined, fingerprint, onChange });
    }
  }

  async #factsOf(path: string): Promise<Facts | undefined> {
    try {
      return await this.#confinement.facts(path);
    } catch {
      // Removed, or outside the allowed folders now. Subscribers do not distinguish these cases.
      return undefined;
    }
  }
}

function fingerprintOf(facts: Facts | undefined): string {
  if (facts === undefined) return 'gone';
  const { kind, sizeBytes, mode, modifiedAt, changedNs, createdAt } = facts;
  return [kind, sizeBytes, mode, modifiedAt.getTime(), changedNs, createdAt.getTime()].join(' ');
}

function tooManySubscriptionsError(): ToolError {
  return new ToolError(
    `The limit of ${MAX_SUBSCRIPTIONS} subscriptions is reached. Unsubscribe from resources that are no longer needed.`,
  );
}

function tooLargeMessage(path: string, sizeBytes: number, limit: number): string {
  return `${path} has ${sizeBytes} bytes; the limit for a resource is ${limit}. Use read_file or read_media_file to read parts of it.`;
}

function cursorOf(position: PagePosition): string {
  return Buffer.from(JSON.stringify([position.folder, position.after])).toString('base64url');
}

function positionOf(cursor: string | undefined): PagePosition {
  if (cursor === undefined) return { folder: 0, after: '' };
  try {
    const [folder, after] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (Number.isSafeInteger(folder) && Number(folder) >= 0 && typeof after === 'string')
      return { folder: Number(folder), after };
  } catch {
    // Falls through to the error below.
  }
  throw new ProtocolError(
    ErrorCode.InvalidParams,
    'Unknown cursor. Request the list without a cursor.',
    undefined,
  );
}

/** Returns the resource's path. Reports a malformed URI as invalid parameters, not as a missing file. */
function pathOfUri(uri: string): string {
  try {
    return uriToPath(uri);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    // The error does not repeat an excessively long URI.
    const data = uri.length > MAX_URI_CHARS ? undefined : uri;
    throw new ProtocolError(ErrorCode.InvalidParams, error.message, data);
  }
}
