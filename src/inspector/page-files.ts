// Files of the page, built by `npm run build`. Each file is read once, on first use.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExchangeContext } from '../http/mcp/exchange-context.ts';
import { securityHeaders } from './response-headers.ts';

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
}

/** File names of the build; no other name is looked up on disk. */
const NAME = /^[a-z][a-z-]*\.(html|js|css|svg)$/;

export class PageFiles {
  readonly #folder: string;
  readonly #files = new Map<string, Promise<PageFile | undefined>>();

  constructor(folder: string = join(import.meta.dirname, 'inspector')) {
    this.#folder = folder;
  }

  #read(name: string): Promise<PageFile | undefined> {
    const type = NAME.test(name) ? types[name.slice(name.lastIndexOf('.') + 1)] : undefined;
    if (type === undefined) return Promise.resolve(undefined);
    let file = this.#files.get(name);
    if (file === undefined) {
      file = readFile(join(this.#folder, name)).then(
        (bytes) => ({ type, bytes }),
        () => undefined,
      );
      // Caches existing files only: requests for unknown names must not fill the memory.
      void file.then((content) => {
        if (content !== undefined) this.#files.set(name, Promise.resolve(content));
      });
    }
    return file;
  }

  /** Sends a file. `change` modifies its text. The links in an HTML file become relative to the request. */
  async send(
    context: ExchangeContext,
    status: number,
    name: string,
    change?: (text: string) => string,
  ): Promise<void> {
    const file = await this.#read(name);
    if (file === undefined)
      context.error(
        404,
        'this installation has no inspector page; reinstall it, or run npm run build in a source tree',
      );
    else
      context.reply.send(
        status,
        context.headers([...securityHeaders, ['content-type', file.type]]),
        name.endsWith('.html') ? pageText(file, context.request.path, change) : file.bytes,
      );
  }
}

function pageText({ bytes }: PageFile, path: string, change = (text: string) => text): string {
  return change(bytes.toString('utf8').replaceAll('"/inspector/', `"${relativeHome(path)}`));
}

/**
 * Returns the inspector's path relative to a path of the inspector: `../` for `/inspector/view/files`. A
 * proxy may serve the gateway below a prefix that the gateway does not know.
 */
function relativeHome(path: string): string {
  const depth = path.split('/').length - '/inspector/'.split('/').length;
  if (depth < 0) return 'inspector/';
  return depth === 0 ? './' : '../'.repeat(depth);
}
