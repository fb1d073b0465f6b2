// Confinement of the filesystem server to its allowed folders, with random trees, links and paths. An oracle,
// which resolves paths separately, decides the result of each call. A call acts inside as specified, or is
// refused without changes. The outside is neither read nor changed.

import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Confinement } from '../../../tool-servers/filesystem/confinement/confinement.ts';
import { openConfinement } from '../../../tool-servers/filesystem/confinement/open-confinement.ts';
import { pinByName } from '../../../tool-servers/filesystem/confinement/pin-by-name.ts';
import { pinByProc } from '../../../tool-servers/filesystem/confinement/pinned-entry.ts';
import { ToolError } from '../../../tool-servers/tool-error.ts';
import { memoryFolder } from '../../fixtures/store/memory-folder.ts';

const RUNS = 150;
/** Maximum number of links in a path, as in Linux. */
const MAX_LINKS = 40;
/** All runs together must contain more accepted calls of each kind, and more refused calls. */
const MIN_CALLS = 10;

/**
 * Folders per run: `box`, `annex` (given as the link `alias`) and `box/inner` are allowed, the rest is
 * outside. The names `box-evil` and `annex-evil` only begin like an allowed folder.
 */
const bases = [
  'box',
  'annex',
  'alias',
  'box/inner',
  'outside',
  'box-evil',
  'annex-evil',
  '.',
  'no-such',
] as const;
const names = ['a', 'b', 'c', 'd', 'inner', '\u00e4', 'a\u0308', 'A'] as const;

const arbName = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('a', 'b', 'c') },
  { weight: 1, arbitrary: fc.constantFrom(...names) },
);
const arbStep = fc.oneof(
  { weight: 6, arbitrary: arbName },
  { weight: 1, arbitrary: fc.constantFrom('..', '.', '') },
);
const arbSteps = fc.array(arbStep, { maxLength: 4 }).map((parts) => parts.join('/'));

/** Paths as people, links or attackers write them. ROOT is replaced by the folder of the run. */
const arbAbsolutePath = fc
  .tuple(
    fc.constantFrom('', '', '', '/proc/self/root'),
    fc.constantFrom(...bases),
    fc.constantFrom('/', '//'),
    arbSteps,
  )
  .map(([prefix, base, slash, rest]) => `${prefix}ROOT/${base}${rest === '' ? '' : slash}${rest}`);
const arbRelativePath = fc
  .tuple(
    fc.array(fc.constant('..'), { maxLength: 3 }),
    fc.option(fc.constantFrom(...bases), { nil: '.' }),
    arbSteps,
  )
  .map(([ups, base, rest]) => [...ups, ...(ups.length === 0 ? [] : [base]), rest].join('/'));
const arbLinkTarget = fc.oneof(
  { weight: 4, arbitrary: arbRelativePath },
  { weight: 4, arbitrary: arbAbsolutePath },
  { weight: 4, arbitrary: arbName },
  {
    weight: 1,
    arbitrary: fc.constantFrom('.', '..', '/', '/proc/self/fd/0', '/proc/self/root', '/dev/fd/0'),
  },
);
/**
 * Placeholder of an existing entry, for example `FILE3`, so that calls hit existing entries more often. PLACE
 * is an entry of any kind.
 */
const createdName = (kind: 'PLACE' | 'FILE' | 'FOLDER') =>
  fc.nat({ max: 20 }).map((number) => `${kind}${number}`);
/** Path of an entry in an existing folder. */
const arbNewPath = fc
  .tuple(createdName('FOLDER'), fc.oneof(arbName, fc.constant('new')))
  .map((parts) => parts.join('/'));
/** A call's path argument. */
const arbPath = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(createdName('PLACE'), arbSteps).map((parts) => parts.join('/')) },
  { weight: 4, arbitrary: createdName('PLACE') },
  { weight: 3, arbitrary: arbSteps },
  { weight: 2, arbitrary: arbAbsolutePath },
  { weight: 1, arbitrary: arbRelativePath },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '',
      '.',
      '..',
      '/',
      '~',
      '~/a',
      'a\0b',
      '/proc/self/root',
      'file:///a',
      './file:/a',
      'BOX/a',
    ),
  },
);

/** Created entry: base folder and names. */
const arbLocation = fc.tuple(
  fc.constantFrom('box', 'box', 'box', 'annex', 'annex', 'box/inner', 'outside', 'box-evil'),
  fc.array(arbName, { minLength: 1, maxLength: 3 }),
);
const arbTree = fc.record({
  folders: fc.array(arbLocation, { minLength: 3, maxLength: 10, size: 'max' }),
  files: fc.array(arbLocation, { minLength: 3, maxLength: 10, size: 'max' }),
  links: fc.array(fc.tuple(arbLocation, arbLinkTarget), { minLength: 1, maxLength: 12, size: 'max' }),
});
const callOf = (operation: string, ...paths: fc.Arbitrary<string>[]) =>
  fc.record({
    operation: fc.constant(operation),
    path: fc.oneof(arbPath, ...paths),
    to: fc.oneof(arbPath, arbNewPath, arbNewPath),
  });
const arbCall = fc.oneof(
  callOf('read', createdName('FILE')),
  callOf('list', createdName('FOLDER')),
  callOf('facts'),
  callOf('write', createdName('FILE'), arbNewPath),
  callOf('change', createdName('FILE')),
  callOf('makeDirectory'),
  callOf('move', createdName('PLACE')),
);
type Call = { operation: string; path: string; to: string };

/** A run's tree, in a separate folder. */
class World {
  readonly root = memoryFolder('confinement-');
  readonly allowed = ['box', 'annex'].map((folder) => join(this.root, folder));
  /** Paths of all created entries, and of the files and folders among them. */
  readonly #places: string[] = [];
  readonly #files: string[] = [];
  readonly #folders: string[] = [];

  constructor({ folders, files, links }: typeof arbTree extends fc.Arbitrary<infer Tree> ? Tree : never) {
    for (const base of ['box/inner', 'annex', 'outside', 'box-evil', 'annex-evil'])
      mkdirSync(join(this.root, base), { recursive: true });
    for (const [base, parts] of [...folders, ...files]) this.#makeParents(base, parts);
    for (const [base, parts] of folders) this.#put(base, parts, (path) => mkdirSync(path));
    for (const [base, parts] of files)
      this.#put(base, parts, (path) =>
        writeFileSync(path, `${this.#isInside(path) ? 'public' : 'SECRET'} ${this.#places.length}`),
      );
    this.#folders.push(...this.#places.filter((path) => lstatSync(path).isDirectory()));
    this.#files.push(...this.#places.filter((path) => lstatSync(path).isFile()));
    for (const [[base, parts], to] of links)
      this.#put(base, parts, (path) => symlinkSync(this.resolvePlaceholders(to) || '.', path));
    symlinkSync('annex', join(this.root, 'alias'));
  }

  /** Creates the parent folders. Called before files and links exist. */
  #makeParents(base: string, parts: readonly string[]): void {
    mkdirSync(dirname(join(this.root, base, ...parts)), { recursive: true });
  }

  /** Creates an entry, if its path is free and leads through no link. */
  #put(base: string, parts: readonly string[], make: (path: string) => void): void {
    const path = join(this.root, base, ...parts);
    const parent = dirname(path);
    if (!existsSync(parent) || realpathSync(parent) !== parent || !lstatSync(parent).isDirectory()) return;
    if (entryAt(path) !== undefined) return;
    make(path);
    this.#places.push(path);
  }

  /** Replaces ROOT and the placeholders of existing entries. */
  resolvePlaceholders(path: string): string {
    const namesByKind = { PLACE: this.#places, FILE: this.#files, FOLDER: this.#folders };
    return path
      .replaceAll('ROOT', this.root)
      .replace(/^(PLACE|FILE|FOLDER)(\d+)/, (_, kind: keyof typeof namesByKind, number) => {
        return namesByKind[kind][Number(number) % namesByKind[kind].length] ?? '';
      });
  }

  #isInside(path: string): boolean {
    return this.allowed.some((folder) => path === folder || path.startsWith(`${folder}/`));
  }

  /**
   * Returns the absolute path, computed from the text alone. Undefined if the text alone is a reason to
   * refuse.
   */
  pathByText(path: string): string | undefined {
    if (path === '' || path.includes('\0') || /^(~$|~\/|file:)/.test(path)) return undefined;
    const absolutePath = resolve(join(this.root, 'box'), path);
    const forms = [...this.allowed, join(this.root, 'alias')];
    return forms.some((form) => absolutePath === form || absolutePath.startsWith(`${form}/`))
      ? this.#asOnDisk(absolutePath)
      : undefined;
  }

  /** Replaces missing names by the single name on disk that differs only in its Unicode form. */
  #asOnDisk(path: string): string {
    let at = '/';
    for (const part of path.split('/')) {
      const folder = this.realPathInside(at);
      const isFolder = folder !== undefined && lstatSync(folder).isDirectory();
      const sameNames = isFolder ? readdirSync(folder).filter((entry) => isSameName(entry, part)) : [];
      const [onlyName = part] = sameNames;
      at = join(at, sameNames.length === 1 ? onlyName : part);
    }
    return at;
  }

  /** Returns the real path after all links, if it exists and is inside. */
  realPathInside(path: string, isLastFollowed = true): string | undefined {
    const realPath = resolveLinks(path, isLastFollowed);
    return realPath !== undefined && this.#isInside(realPath) ? realPath : undefined;
  }

  isAllowedFolder(path: string): boolean {
    return [...this.allowed, join(this.root, 'box', 'inner'), join(this.root, 'alias')].includes(path);
  }

  /** Returns a line per entry, with all metadata that changes with a write. Links are not followed. */
  entriesBelow(folder = ''): string[] {
    return readdirSync(join(this.root, folder))
      .sort()
      .flatMap((entry) => {
        const path = join(folder, entry);
        const stats = lstatSync(join(this.root, path), { bigint: true });
        const { ino, mode, nlink, mtimeNs, ctimeNs } = stats;
        const line = `${path} ${ino} ${mode} ${nlink} ${mtimeNs} ${ctimeNs}`;
        return stats.isDirectory() ? [line, ...this.entriesBelow(path)] : [line];
      });
  }

  outsideEntries(): string[] {
    return this.entriesBelow().filter((line) => !/^(box|annex)(\/| )/.test(line));
  }

  close(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

function isSameName(left: string, other: string): boolean {
  return left.normalize('NFC') === other.normalize('NFC');
}

function entryAt(path: string) {
  return lstatSync(path, { throwIfNoEntry: false });
}

/** Resolves all links in a path, by the rules of path_resolution(7). Undefined if an entry does not exist. */
function resolveLinks(path: string, isLastFollowed: boolean): string | undefined {
  let at = '/';
  const remaining = path.split('/');
  let links = 0;
  while (remaining.length > 0) {
    const next = remaining.shift() ?? '';
    if (!lstatSync(at).isDirectory()) return undefined;
    if (next === '' || next === '.') continue;
    const nextPath = next === '..' ? dirname(at) : join(at, next);
    const entry = entryAt(nextPath);
    if (entry === undefined) return undefined;
    if (!entry.isSymbolicLink() || (remaining.length === 0 && !isLastFollowed)) at = nextPath;
    else {
      if (++links > MAX_LINKS) return undefined;
      const to = readlinkSync(nextPath);
      if (to.startsWith('/')) at = '/';
      remaining.unshift(...to.split('/'));
    }
  }
  return at;
}

/** Returns true if the path ends with `/`, `/.` or `/..`: only a folder can have such a path. */
const requestsFolder = (path: string) => /\/\.{0,2}$/.test(path);

/** Makes the call. Returns a function that checks its effect. */
type EffectCheck = (world: World, confinement: Confinement, path: string, to: string) => Promise<() => void>;

/** The oracle: the required effect of each kind of call. Undefined if the call must be refused. */
const oracle: Record<string, (world: World, path: string, to: string) => EffectCheck | undefined> = {
  read: (world, path) => {
    const realPath = realFilePath(world, path);
    if (realPath === undefined) return undefined;
    return async (_world, confinement) => {
      const text = await confinement.read(path, ({ handle }) => handle.readFile('utf8'));
      return () => expect(text).toBe(readFileSync(realPath, 'utf8'));
    };
  },
  list: (world, path) => {
    const realPath = realPathOf(world, path);
    if (realPath === undefined || !lstatSync(realPath).isDirectory()) return undefined;
    return async (_world, confinement) => {
      const { entries } = await confinement.list(path, 1_000);
      return () => expect(entries.map((entry) => entry.name)).toEqual(readdirSync(realPath).sort());
    };
  },
  facts: (world, path) => {
    const realPath = realPathOf(world, path);
    if (realPath === undefined || (requestsFolder(path) && !lstatSync(realPath).isDirectory()))
      return undefined;
    return async (_world, confinement) => {
      const { kind, sizeBytes } = await confinement.facts(path);
      return () => {
        expect(kind).toBe(lstatSync(realPath).isDirectory() ? 'directory' : 'file');
        expect(sizeBytes).toBe(lstatSync(realPath).size);
      };
    };
  },
  write: (world, path) => {
    const free = freePath(world, path);
    const realPath = requestsFolder(path) ? undefined : (free ?? realFilePath(world, path));
    if (realPath === undefined) return undefined;
    return async (_world, confinement) => {
      expect(await confinement.write(path, 'written')).toMatchObject({ existed: free === undefined });
      return () => {
        expect(lstatSync(realPath).isFile()).toBe(true);
        expect(readFileSync(realPath, 'utf8')).toBe('written');
      };
    };
  },
  change: (world, path) => {
    const realPath = realFilePath(world, path);
    if (realPath === undefined) return undefined;
    return async (_world, confinement) => {
      const before = readFileSync(realPath, 'utf8');
      await confinement.change(path, 1_000, (content) => Buffer.concat([content, Buffer.from('!')]));
      return () => expect(readFileSync(realPath, 'utf8')).toBe(`${before}!`);
    };
  },
  makeDirectory: (world, path) => {
    const pathByText = world.pathByText(path);
    if (pathByText === undefined || !canBeFolder(world, pathByText)) return undefined;
    return async (_world, confinement) => {
      await confinement.makeDirectory(path);
      return () => expect(lstatSync(world.realPathInside(pathByText) ?? '').isDirectory()).toBe(true);
    };
  },
  move: (world, path, to) => {
    const source = entryPath(world, path);
    const destination = freePath(world, to);
    if (source === undefined || destination === undefined) return undefined;
    if ((requestsFolder(path) || requestsFolder(to)) && !lstatSync(source).isDirectory()) return undefined;
    // An allowed folder, or a folder above one, cannot be moved.
    if (join(world.root, 'box', 'inner').startsWith(`${source}/`) || world.isAllowedFolder(source))
      return undefined;
    if (destination.startsWith(`${source}/`)) return undefined;
    return async (_world, confinement) => {
      const { ino, mode } = lstatSync(source);
      await confinement.move(path, to);
      return () => {
        expect(entryAt(source)).toBeUndefined();
        expect(lstatSync(destination).mode).toBe(mode);
        if (!lstatSync(destination).isSymbolicLink()) expect(lstatSync(destination).ino).toBe(ino);
      };
    };
  },
};

/** Returns a path argument's real path, if it exists and is inside. */
function realPathOf(world: World, path: string): string | undefined {
  const pathByText = world.pathByText(path);
  return pathByText === undefined ? undefined : world.realPathInside(pathByText);
}

function realFilePath(world: World, path: string): string | undefined {
  const realPath = requestsFolder(path) ? undefined : realPathOf(world, path);
  return realPath !== undefined && lstatSync(realPath).isFile() ? realPath : undefined;
}

/** Returns the path of an entry in its real folder, if this folder is inside. The entry need not exist. */
function locationOf(world: World, path: string): string | undefined {
  const pathByText = world.pathByText(path);
  if (pathByText === undefined || world.isAllowedFolder(pathByText)) return undefined;
  const parent = world.realPathInside(dirname(pathByText));
  return parent !== undefined && lstatSync(parent).isDirectory()
    ? join(parent, basename(pathByText))
    : undefined;
}

function entryPath(world: World, path: string): string | undefined {
  const location = locationOf(world, path);
  return location !== undefined && entryAt(location) !== undefined ? location : undefined;
}

function freePath(world: World, path: string): string | undefined {
  const location = locationOf(world, path);
  return location !== undefined && entryAt(location) === undefined ? location : undefined;
}

/** Returns true if there is a folder at the path, or if all missing folders could be created. */
function canBeFolder(world: World, pathByText: string): boolean {
  const realPath = world.realPathInside(pathByText);
  if (realPath !== undefined) return lstatSync(realPath).isDirectory();
  // The path ends in a link without a target, or in a link to the outside.
  if (resolveLinks(pathByText, false) !== undefined) return false;
  return dirname(pathByText) !== pathByText && canBeFolder(world, dirname(pathByText));
}

test('every filesystem call acts in the allowed folder or is refused, and nothing outside is read or changed', async () => {
  const counts = new Map<string, number>();
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(
      arbTree,
      fc.array(arbCall, { minLength: 4, maxLength: 12, size: 'max' }),
      fc.constantFrom(pinByProc, pinByName),
      async (treeOfRun, operations, pin) => {
        const world = new World(treeOfRun);
        try {
          const folders = ['box', 'alias', 'box/inner'].map((folder) => join(world.root, folder));
          const confinement = await openConfinement(folders, pin);
          const outsideBefore = world.outsideEntries();
          for (const { operation, path, to } of operations) {
            const paths = [world.resolvePlaceholders(path), world.resolvePlaceholders(to)] as const;
            const act = oracle[operation]?.(world, ...paths);
            if (act) {
              const checkEffect = await act(world, confinement, ...paths);
              checkEffect();
              counts.set(operation, (counts.get(operation) ?? 0) + 1);
            } else {
              await expectRefusal(world, confinement, { operation, path: paths[0], to: paths[1] });
              refused++;
            }
            expect(world.outsideEntries()).toEqual(outsideBefore);
          }
          await confinement.close();
        } finally {
          world.close();
        }
      },
    ),
    { numRuns: RUNS },
  );
  // All kinds of calls must be accepted and refused often enough.
  for (const operation of Object.keys(oracle))
    expect(counts.get(operation), operation).toBeGreaterThan(MIN_CALLS);
  expect(refused).toBeGreaterThan(MIN_CALLS);
});

/** Makes a call that must be refused, without changes and without names or contents of the outside. */
async function expectRefusal(
  world: World,
  confinement: Confinement,
  { operation, path, to }: Call,
): Promise<void> {
  const before = world.entriesBelow();
  const callsByOperation: Record<string, () => Promise<unknown>> = {
    read: () => confinement.read(path, ({ handle }) => handle.readFile('utf8')),
    list: () => confinement.list(path, 1_000),
    facts: () => confinement.facts(path),
    write: () => confinement.write(path, 'written'),
    change: () => confinement.change(path, 1_000, () => Buffer.from('written')),
    makeDirectory: () => confinement.makeDirectory(path),
    move: () => confinement.move(path, to),
  };
  const error = await callsByOperation[operation]?.().then(
    (result) => new Error(`${operation} was let through: ${JSON.stringify(result)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ToolError)) throw error;
  expect(error.message).not.toContain('SECRET');
  expect(error.message).not.toContain('/proc/self/fd/');
  if (![path, to].some((argument) => argument.includes('outside')))
    expect(error.message).not.toContain('outside/');
  // Folders created before the failure may remain.
  if (operation !== 'makeDirectory') expect(world.entriesBelow()).toEqual(before);
}
