// The files of the page, as `npm run build` has left them beside the program. Read once, when first asked for.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExchangeContext } from '../http/mcp/exchange-context.ts';
import { securityHeaders } from './answer-headers.ts';

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

/** Names that a build makes; nothing else is ever looked for on the disk. */
const isName = /^[a-z][a-z-]*\.(html|js|css|svg)$/;

export class PageFiles {
  readonly #folder: string;
  readonly #files = new Map<string, Promise<PageFile | undefined>>();

  constructor(folder: string = join(import.meta.dirname, 'inspector')) {
    this.#folder = folder;
  }

  /** Undefined when there is no such file. */
  #read(name: string): Promise<PageFile | undefined> {
    const type = isName.test(name) ? types[name.slice(name.lastIndexOf('.') + 1)] : undefined;
    if (type === undefined) return Promise.resolve(undefined);
    let file = this.#files.get(name);
    if (file === undefined) {
      file = readFile(join(this.#folder, name)).then(
        (bytes) => ({ type, bytes }),
        () => undefined,
      );
      // Only what is there is kept: names that are asked for in vain must not fill the memory.
      void file.then((found) => {
        if (found !== undefined) this.#files.set(name, Promise.resolve(found));
      });
    }
    return file;
  }

  /** Answers with that file, its text changed by `change`. */
  async send(
    context: ExchangeContext,
    status: number,
    name: string,
    change?: (text: string) => string,
  ): Promise<void> {
    const file = await this.#read(name);
    if (file === undefined) context.error(404, 'this build of the gateway has no inspector page');
    else
      context.reply.send(
        status,
        context.headers([...securityHeaders, ['content-type', file.type]]),
        change === undefined ? file.bytes : change(file.bytes.toString('utf8')),
      );
  }
}
