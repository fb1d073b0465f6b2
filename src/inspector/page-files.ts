// The files of the page, as `npm run build` has left them beside the program. Read once, when first asked for.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

export interface PageFile {
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
  read(name: string): Promise<PageFile | undefined> {
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
}
