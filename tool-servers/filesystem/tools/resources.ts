// Files as MCP resources. Every file that may be read has the URI file:///<path>; listed are the files right in the
// allowed folders, in pages, since the whole tree would be too long for anybody. A subscriber hears of changes.

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
import { inTime } from '../call-deadline.ts';
import { ChangeWatch } from '../change-watch.ts';
import type { Confinement, Facts } from '../confinement/confinement.ts';
import {
  CALL_SECONDS,
  MAX_BLOB_BYTES,
  MAX_ENTRIES_READ,
  MAX_RESOURCES_PER_FOLDER,
  MAX_SUBSCRIPTIONS,
  MAX_TEXT_BYTES,
  MAX_URI_CHARS,
  RESOURCES_PER_PAGE,
} from '../limits.ts';
import { pathToUri, uriToPath } from '../paths/file-uri.ts';
import { mediaTypeOf, mimeTypeOfName } from '../paths/media-type.ts';
import { ProtocolError, protocolErrorOf } from '../protocol-error.ts';
import { decodeText, readBytes } from '../text/text-part.ts';

const template = {
  uriTemplate: 'file:///{+path}',
  name: 'file',
  title: 'File',
  description:
    'Any file in an allowed directory, by its absolute path without the first slash. Signs such as #, ? and % in a name are percent-encoded.',
};

/** Stands in a name for bytes that are no UTF-8. */
const REPLACEMENT = '\uFFFD';

export const resourceCapabilities = { resources: { subscribe: true, listChanged: true } };

/** Where a page of the list begins: behind the file `after` of a folder. */
interface Place {
  readonly folder: number;
  readonly after: string;
}

export class FileResources {
  readonly #confinement: Confinement;
  readonly #line: CallGate;
  /** URIs that are subscribed to, also those whose file is still being looked for. */
  readonly #wanted = new Set<string>();
  readonly #subscriptions = new ChangeWatch();
  readonly #lists = new ChangeWatch();

  /** @param line where its requests wait for their turn */
  constructor(confinement: Confinement, line: CallGate) {
    this.#confinement = confinement;
    this.#line = line;
  }

  offer(mcp: McpServer): void {
    const { server } = mcp;
    const answer = <Result>(
      signal: AbortSignal,
      uri: string | undefined,
      work: (signal: AbortSignal) => Promise<Result>,
    ): Promise<Result> =>
      this.#line
        .run(signal, () => inTime({ signal }, CALL_SECONDS * 1_000, true, work))
        .catch((error: unknown) => {
          // Nobody waits for the answer any more.
          if (signal.aborted) throw error;
          throw protocolErrorOf(error, uri);
        });
    server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: [template] }));
    server.setRequestHandler(ListResourcesRequestSchema, ({ params }, { signal }) =>
      answer(signal, undefined, async (signal) => {
        await this.#watchLists(() => mcp.sendResourceListChanged());
        return this.#page(placeOf(params?.cursor), signal);
      }),
    );
    server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }, { signal }) =>
      answer(signal, uri, () => this.#read(uri)),
    );
    server.setRequestHandler(SubscribeRequestSchema, async ({ params: { uri } }, { signal }) => {
      const path = pathOfUri(uri);
      if (this.#wanted.has(uri)) return {};
      if (this.#wanted.size >= MAX_SUBSCRIPTIONS) throw protocolErrorOf(tooManySubscriptions(), uri);
      // Before anything is waited for: the end of the subscription may come at once.
      this.#wanted.add(uri);
      try {
        await answer(signal, uri, () =>
          this.#subscribe(uri, path, () => {
            // A client that is gone has no use for it.
            server.sendResourceUpdated({ uri }).catch(() => {});
          }),
        );
      } catch (error) {
        this.#wanted.delete(uri);
        throw error;
      }
      return {};
    });
    server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
      this.#wanted.delete(uri);
      this.#subscriptions.remove(uri);
      return {};
    });
  }

  close(): void {
    this.#subscriptions.close();
    this.#lists.close();
  }

  async #page(from: Place, signal: AbortSignal): Promise<{ resources: Resource[]; nextCursor?: string }> {
    const resources: Resource[] = [];
    const { folders } = this.#confinement;
    let reached = from;
    for (let folder = from.folder; folder < folders.length; folder++) {
      const root = folders[folder] ?? '';
      const names = await this.#filesIn(root, signal);
      const start = folder === from.folder ? names.findIndex((name) => name > from.after) : 0;
      for (const name of start < 0 ? [] : names.slice(start)) {
        if (resources.length === RESOURCES_PER_PAGE) return { resources, nextCursor: cursorOf(reached) };
        signal.throwIfAborted();
        resources.push(await this.#resourceOf(join(root, name), name));
        reached = { folder, after: name };
      }
    }
    return { resources };
  }

  /**
   * The first names, in an order that does not depend on the language of the machine: cursors point into it. Names that
   * are not UTF-8 have no URI that leads to them.
   */
  async #filesIn(folder: string, signal?: AbortSignal): Promise<string[]> {
    try {
      const { entries } = await this.#confinement.list(folder, MAX_ENTRIES_READ, signal);
      return entries
        .filter(({ name, kind }) => kind === 'file' && !name.includes(REPLACEMENT))
        .map(({ name }) => name)
        .sort()
        .slice(0, MAX_RESOURCES_PER_FOLDER);
    } catch (error) {
      if (signal?.aborted || !(error instanceof ToolError)) throw error;
      // The others are listed all the same.
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
      if (sizeBytes > MAX_BLOB_BYTES) throw new ToolError(tooLargeOf(path, sizeBytes, MAX_BLOB_BYTES));
      const bytes = await readBytes(handle, 0, sizeBytes);
      const { kind, mimeType } = mediaTypeOf(path, bytes);
      const text = kind === 'other' ? decodeText(bytes) : undefined;
      if (text === undefined) return { contents: [{ uri, mimeType, blob: bytes.toString('base64') }] };
      if (sizeBytes > MAX_TEXT_BYTES) throw new ToolError(tooLargeOf(path, sizeBytes, MAX_TEXT_BYTES));
      return { contents: [{ uri, mimeType: mimeTypeOfName(path) ?? 'text/plain', text }] };
    });
  }

  async #subscribe(uri: string, said: string, changed: () => void): Promise<void> {
    const { path, kind } = await this.#confinement.facts(said);
    if (kind !== 'file') throw new ToolError(`${path} is no file. Only files can be subscribed to.`);
    if (!this.#wanted.has(uri)) return;
    const look = async () => fingerprintOf(await this.#factsOf(path));
    await this.#subscriptions.add(uri, { folder: dirname(path), name: basename(path), look, changed });
  }

  /** From the first list on: a client that never asked has nothing that could change. */
  async #watchLists(changed: () => void): Promise<void> {
    for (const folder of this.#confinement.folders) {
      const look = async () => (await this.#filesIn(folder)).join('/');
      await this.#lists.add(folder, { folder, name: undefined, look, changed });
    }
  }

  async #factsOf(path: string): Promise<Facts | undefined> {
    try {
      return await this.#confinement.facts(path);
    } catch {
      // Gone, or outside now: both are the same to whoever watches it.
      return undefined;
    }
  }
}

function fingerprintOf(facts: Facts | undefined): string {
  if (facts === undefined) return 'gone';
  const { kind, sizeBytes, mode, modifiedAt, changedNs, createdAt } = facts;
  return [kind, sizeBytes, mode, modifiedAt.getTime(), changedNs, createdAt.getTime()].join(' ');
}

function tooManySubscriptions(): ToolError {
  return new ToolError(
    `There are ${MAX_SUBSCRIPTIONS} subscriptions already. Unsubscribe from what is no longer needed.`,
  );
}

function tooLargeOf(path: string, sizeBytes: number, limit: number): string {
  return `${path} has ${sizeBytes} bytes; as a resource ${limit} are allowed. The tools read_file and read_media_file give parts of it.`;
}

function cursorOf(place: Place): string {
  return Buffer.from(JSON.stringify([place.folder, place.after])).toString('base64url');
}

function placeOf(cursor: string | undefined): Place {
  if (cursor === undefined) return { folder: 0, after: '' };
  try {
    const [folder, after] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (Number.isSafeInteger(folder) && Number(folder) >= 0 && typeof after === 'string')
      return { folder: Number(folder), after };
  } catch {
    // Said below.
  }
  throw new ProtocolError(
    ErrorCode.InvalidParams,
    'This cursor is not one of this list. Ask without one to begin again.',
    undefined,
  );
}

/** The path a resource stands for. A URI that cannot be one is a mistake of the caller, not a file that is missing. */
function pathOfUri(uri: string): string {
  try {
    return uriToPath(uri);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    // One that is too long is not sent back.
    const data = uri.length > MAX_URI_CHARS ? undefined : uri;
    throw new ProtocolError(ErrorCode.InvalidParams, error.message, data);
  }
}
