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
import { CallGate } from '../call-gate.ts';
import { ToolError } from '../tool-error.ts';
import { inTime } from './call-deadline.ts';
import { ChangeWatch } from './change-watch.ts';
import type { Confinement, Facts } from './confinement.ts';
import { pathToUri, uriToPath } from './file-uri.ts';
import {
  CALL_SECONDS,
  CONCURRENT_CALLS,
  MAX_BLOB_BYTES,
  MAX_RESOURCES_PER_FOLDER,
  MAX_SUBSCRIPTIONS,
  MAX_TEXT_BYTES,
  RESOURCES_PER_PAGE,
} from './limits.ts';
import { mediaTypeOf, mimeTypeOfName } from './media-type.ts';
import { ProtocolError, protocolErrorOf } from './protocol-error.ts';
import { decodeText, readBytes } from './text-part.ts';

const template = {
  uriTemplate: 'file:///{+path}',
  name: 'file',
  title: 'File',
  description:
    'Any file in an allowed directory, by its absolute path without the first slash. Signs such as #, ? and % in a name are percent-encoded.',
};

export const resourceCapabilities = { resources: { subscribe: true, listChanged: true } };

/** Where a page of the list begins: behind the file `after` of a folder. */
interface Place {
  readonly folder: number;
  readonly after: string;
}

export class FileResources {
  readonly #confinement: Confinement;
  readonly #gate = new CallGate(CONCURRENT_CALLS);
  readonly #subscriptions = new ChangeWatch();
  readonly #lists = new ChangeWatch();

  constructor(confinement: Confinement) {
    this.#confinement = confinement;
  }

  offer(mcp: McpServer): void {
    const { server } = mcp;
    const answer = <Result>(
      signal: AbortSignal,
      uri: string | undefined,
      work: () => Promise<Result>,
    ): Promise<Result> =>
      this.#gate
        .run(signal, () => inTime({ signal }, CALL_SECONDS * 1_000, true, work))
        .catch((error: unknown) => {
          throw protocolErrorOf(error, uri);
        });
    server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: [template] }));
    server.setRequestHandler(ListResourcesRequestSchema, ({ params }, { signal }) =>
      answer(signal, undefined, async () => {
        await this.#watchLists(() => mcp.sendResourceListChanged());
        return this.#page(placeOf(params?.cursor));
      }),
    );
    server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }, { signal }) =>
      answer(signal, uri, () => this.#read(uri)),
    );
    server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }, { signal }) =>
      answer(signal, uri, async () => {
        await this.#subscribe(uri, () => {
          // A client that is gone has no use for it.
          server.sendResourceUpdated({ uri }).catch(() => {});
        });
        return {};
      }),
    );
    server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
      this.#subscriptions.remove(uri);
      return {};
    });
  }

  close(): void {
    this.#subscriptions.close();
    this.#lists.close();
  }

  async #page(from: Place): Promise<{ resources: Resource[]; nextCursor?: string }> {
    const resources: Resource[] = [];
    const { folders } = this.#confinement;
    let reached = from;
    for (let folder = from.folder; folder < folders.length; folder++) {
      const root = folders[folder] ?? '';
      const names = await this.#filesIn(root);
      const start = folder === from.folder ? names.findIndex((name) => name > from.after) : 0;
      for (const name of start < 0 ? [] : names.slice(start)) {
        if (resources.length === RESOURCES_PER_PAGE) return { resources, nextCursor: cursorOf(reached) };
        resources.push(await this.#resourceOf(join(root, name), name));
        reached = { folder, after: name };
      }
    }
    return { resources };
  }

  /** Names in an order that does not depend on the language of the machine: cursors point into it. */
  async #filesIn(folder: string): Promise<string[]> {
    try {
      const { entries } = await this.#confinement.list(folder, MAX_RESOURCES_PER_FOLDER);
      return entries
        .filter(({ kind }) => kind === 'file')
        .map(({ name }) => name)
        .sort();
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
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

  async #subscribe(uri: string, changed: () => void): Promise<void> {
    if (this.#subscriptions.has(uri)) return;
    const { path, kind } = await this.#confinement.facts(pathOfUri(uri));
    if (kind !== 'file') throw new ToolError(`${path} is no file. Only files can be subscribed to.`);
    if (this.#subscriptions.size >= MAX_SUBSCRIPTIONS)
      throw new ToolError(
        `There are ${MAX_SUBSCRIPTIONS} subscriptions already. Unsubscribe from what is no longer needed.`,
      );
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
  const { kind, sizeBytes, mode, modifiedAt, createdAt } = facts;
  return [kind, sizeBytes, mode, modifiedAt.getTime(), createdAt.getTime()].join(' ');
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
    throw new ProtocolError(ErrorCode.InvalidParams, error.message, uri);
  }
}
