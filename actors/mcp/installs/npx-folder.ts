// Folder into which npx installs packages: `_npx/HASH` in npm's cache, where the hash depends on the packages
// only. npm writes `.package-lock.json` into it last. A process killed before that leaves an incomplete
// folder, which npx uses as it is: all later starts fail with "Cannot find module".

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';

/** Part of the name of a folder that `moveAside` has renamed. */
const ASIDE = '.unfinished-';
/** Messages of Node about missing modules. */
const missingModule = /Cannot find (?:module|package)|ERR_MODULE_NOT_FOUND/;

export class NpxFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** True after a complete installation, unless npm is changing the folder. */
  get isComplete(): boolean {
    return this.#has('node_modules/.package-lock.json') && !this.#has('concurrency.lock');
  }

  /** True if an installation has begun and is not complete. */
  get isUnfinished(): boolean {
    return existsSync(this.path) && !this.isComplete;
  }

  /** Renames the folder, so that npx installs again. Stop the writers before. Never throws. */
  moveAside(): void {
    try {
      renameSync(this.path, `${this.path}${ASIDE}${Date.now().toString(36)}`);
    } catch {
      // The folder was removed meanwhile, or is not writable. Then npm cannot write it either.
    }
  }

  /** Removes renamed folders. Never rejects. */
  async removeRenamed(): Promise<void> {
    const cache = dirname(this.path);
    const prefix = `${basename(this.path)}${ASIDE}`;
    try {
      const names = readdirSync(cache).filter((name) => name.startsWith(prefix));
      await Promise.all(names.map((name) => rm(join(cache, name), { recursive: true, force: true })));
    } catch {
      // A remaining folder only takes space.
    }
  }

  /** Returns the remedy if a start failed because the folder is incomplete. `stderr`: the last lines. */
  remedyFor(stderr: readonly string[]): string | undefined {
    const isNamed = stderr.some((line) => line.includes(`_npx/${basename(this.path)}/`));
    const lacksModule = isNamed && stderr.some((line) => missingModule.test(line));
    if (!lacksModule && !this.isUnfinished) return undefined;
    return `the installation of npx is incomplete; remove it: rm -rf ${quoted(this.path)}`;
  }

  #has(name: string): boolean {
    return existsSync(join(this.path, name));
  }
}

export interface NpxSurroundings {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** Returns the folder for these packages. `cache` is the value of npx's option. */
export function npxFolder(
  packages: readonly string[],
  cache: string | undefined,
  { env, cwd }: NpxSurroundings,
): NpxFolder {
  // npx computes the hash in the same way.
  const specs = packages.map((spec) => localFolder(spec, cwd) ?? spec);
  const hash = createHash('sha512')
    .update(specs.sort((one, other) => one.localeCompare(other, 'en')).join('\n'))
    .digest('hex')
    .slice(0, 16);
  return new NpxFolder(resolve(cwd, cache ?? npmCache(env), '_npx', hash));
}

/** Returns a local folder's absolute path; undefined for other packages. */
function localFolder(spec: string, cwd: string): string | undefined {
  if (!/^(?:file:)?\.{0,2}\//.test(spec)) return undefined;
  const path = resolve(cwd, spec.replace(/^file:/, ''));
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? path : undefined;
}

/** Returns npm's cache: from a variable, the user's `.npmrc`, or the default. */
function npmCache(env: Readonly<Record<string, string>>): string {
  const variable = (name: string) =>
    Object.entries(env).find(([each]) => each.toLowerCase() === `npm_config_${name}`)?.[1];
  const home = env.HOME ?? homedir();
  const file = variable('userconfig') ?? join(home, '.npmrc');
  return variable('cache') ?? cacheIn(file)?.replace(/^~(?=\/)/, home) ?? join(home, '.npm');
}

function cacheIn(file: string): string | undefined {
  try {
    return /^\s*cache\s*=\s*"?([^"\n]*[^"\s])/m.exec(readFileSync(file, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

/** Quotes a path for a shell. */
function quoted(path: string): string {
  return /^[\w./~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
