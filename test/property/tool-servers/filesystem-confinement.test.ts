// The confinement on generated trees with generated paths, compared with an oracle that resolves paths on its
// own. Each call acts inside as specified, or is refused without changes. The outside stays unread and
// unchanged. No link leaves the folder of the test.

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
const MAX_LINKS = 40;
/** Minimum number of each kind of call in all runs. */
const MANY = 10;

/**
 * Folders per run: `box`, `annex` (given as the link `alias`) and `box/inner` are allowed, the rest is
 * outside.
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

const name = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('a', 'b', 'c') },
  { weight: 1, arbitrary: fc.constantFrom(...names) },
);
const step = fc.oneof(
  { weight: 6, arbitrary: name },
  { weight: 1, arbitrary: fc.constantFrom('..', '.', '') },
);
const steps = fc.array(step, { maxLength: 4 }).map((parts) => parts.join('/'));

/** A path as written by a person, a link or an attacker. ROOT is the folder of the run. */
const absolute = fc
  .tuple(
    fc.constantFrom('', '', '', '/proc/self/root'),
    fc.constantFrom(...bases),
    fc.constantFrom('/', '//'),
    steps,
  )
  .map(([prefix, base, slash, rest]) => `${prefix}ROOT/${base}${rest === '' ? '' : slash}${rest}`);
const relative = fc
  .tuple(
    fc.array(fc.constant('..'), { maxLength: 3 }),
    fc.option(fc.constantFrom(...bases), { nil: '.' }),
    steps,
  )
  .map(([ups, base, rest]) => [...ups, ...(ups.length === 0 ? [] : [base]), rest].join('/'));
const target = fc.oneof(
  { weight: 4, arbitrary: relative },
  { weight: 4, arbitrary: absolute },
  { weight: 4, arbitrary: name },
  {
    weight: 1,
    arbitrary: fc.constantFrom('.', '..', '/', '/proc/self/fd/0', '/proc/self/root', '/dev/fd/0'),
  },
);
/** Existing entries by number, so that calls hit them more often. */
const createdName = (kind: 'PLACE' | 'FILE' | 'FOLDER') =>
  fc.nat({ max: 20 }).map((number) => `${kind}${number}`);
const below = fc
  .tuple(createdName('FOLDER'), fc.oneof(name, fc.constant('new')))
  .map((parts) => parts.join('/'));
const texts = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(createdName('PLACE'), steps).map((parts) => parts.join('/')) },
  { weight: 4, arbitrary: createdName('PLACE') },
  { weight: 3, arbitrary: steps },
  { weight: 2, arbitrary: absolute },
  { weight: 1, arbitrary: relative },
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

const location = fc.tuple(
  fc.constantFrom('box', 'box', 'box', 'annex', 'annex', 'box/inner', 'outside', 'box-evil'),
  fc.array(name, { minLength: 1, maxLength: 3 }),
);
const tree = fc.record({
  folders: fc.array(location, { minLength: 3, maxLength: 10, size: 'max' }),
  files: fc.array(location, { minLength: 3, maxLength: 10, size: 'max' }),
  links: fc.array(fc.tuple(location, target), { minLength: 1, maxLength: 12, size: 'max' }),
});
const calling = (does: string, ...paths: fc.Arbitrary<string>[]) =>
  fc.record({ does: fc.constant(does), path: fc.oneof(texts, ...paths), to: fc.oneof(texts, below, below) });
const call = fc.oneof(
  calling('read', createdName('FILE')),
  calling('list', createdName('FOLDER')),
  calling('facts'),
  calling('write', createdName('FILE'), below),
  calling('change', createdName('FILE')),
  calling('makeDirectory'),
  calling('move', createdName('PLACE')),
);
type Call = { does: string; path: string; to: string };

/** A tree and its calls, in a separate folder. */
class World {
  readonly root = memoryFolder('confinement-');
  readonly allowed = ['box', 'annex'].map((folder) => join(this.root, folder));
  readonly #places: string[] = [];
  readonly #files: string[] = [];
  readonly #folders: string[] = [];

  constructor({ folders, files, links }: typeof tree extends fc.Arbitrary<infer Tree> ? Tree : never) {
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
      this.#put(base, parts, (path) => symlinkSync(this.really(to) || '.', path));
    symlinkSync('annex', join(this.root, 'alias'));
  }

  /** Called before files and links exist. */
  #makeParents(base: string, parts: readonly string[]): void {
    mkdirSync(dirname(join(this.root, base, ...parts)), { recursive: true });
  }

  /** Creates nothing through a link: `path` is in a real folder and free. */
  #put(base: string, parts: readonly string[], make: (path: string) => void): void {
    const path = join(this.root, base, ...parts);
    const parent = dirname(path);
    if (!existsSync(parent) || realpathSync(parent) !== parent || !lstatSync(parent).isDirectory()) return;
    if (entryAt(path) !== undefined) return;
    make(path);
    this.#places.push(path);
  }

  really(path: string): string {
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

  /** Returns the path by the text alone. Undefined if it must be refused for the text. */
  letters(path: string): string | undefined {
    if (path === '' || path.includes('\0') || /^(~$|~\/|file:)/.test(path)) return undefined;
    const absolutePath = resolve(join(this.root, 'box'), path);
    const forms = [...this.allowed, join(this.root, 'alias')];
    return forms.some((form) => absolutePath === form || absolutePath.startsWith(`${form}/`))
      ? this.#asOnDisk(absolutePath)
      : undefined;
  }

  /** Replaces each missing name by its equivalent Unicode form on disk. */
  #asOnDisk(path: string): string {
    let at = '/';
    for (const part of path.split('/')) {
      const folder = this.end(at);
      const isAmong = folder !== undefined && lstatSync(folder).isDirectory();
      const alike = isAmong ? readdirSync(folder).filter((entry) => isSameName(entry, part)) : [];
      at = join(at, (alike.includes(part) ? part : alike.length === 1 && alike[0]) || part);
    }
    return at;
  }

  /** Returns the target after all links, if it exists inside. */
  end(path: string, isLastFollowed = true): string | undefined {
    const end = resolveLinks(path, isLastFollowed);
    return end !== undefined && this.#isInside(end) ? end : undefined;
  }

  isAllowedFolder(path: string): boolean {
    return [...this.allowed, join(this.root, 'box', 'inner'), join(this.root, 'alias')].includes(path);
  }

  /** Every entry with all metadata that changes with a write. Links are not followed. */
  everything(below = ''): string[] {
    return readdirSync(join(this.root, below))
      .sort()
      .flatMap((entry) => {
        const path = join(below, entry);
        const stats = lstatSync(join(this.root, path), { bigint: true });
        const { ino, mode, nlink, mtimeNs, ctimeNs } = stats;
        const line = `${path} ${ino} ${mode} ${nlink} ${mtimeNs} ${ctimeNs}`;
        return stats.isDirectory() ? [line, ...this.everything(path)] : [line];
      });
  }

  outside(): string[] {
    return this.everything().filter((line) => !/^(box|annex)(\/| )/.test(line));
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

/** Resolves `path` as in path_resolution(7). */
function resolveLinks(path: string, isLastFollowed: boolean): string | undefined {
  let at = '/';
  const todo = path.split('/');
  let links = 0;
  while (todo.length > 0) {
    const next = todo.shift() ?? '';
    if (!lstatSync(at).isDirectory()) return undefined;
    if (next === '' || next === '.') continue;
    const nextPath = next === '..' ? dirname(at) : join(at, next);
    const entry = entryAt(nextPath);
    if (entry === undefined) return undefined;
    if (!entry.isSymbolicLink() || (todo.length === 0 && !isLastFollowed)) at = nextPath;
    else {
      if (++links > MAX_LINKS) return undefined;
      const to = readlinkSync(nextPath);
      if (to.startsWith('/')) at = '/';
      todo.unshift(...to.split('/'));
    }
  }
  return at;
}

const requiresFolder = (path: string) => /\/\.{0,2}$/.test(path);

/** Makes the call. Returns a function that checks its effect. */
type Act = (world: World, disk: Confinement, path: string, to: string) => Promise<() => void>;

/** The required effect of each kind of call. Undefined if it must be refused. */
const oracle: Record<string, (world: World, path: string, to: string) => Act | undefined> = {
  read: (world, path) => {
    const end = fileEnd(world, path);
    if (end === undefined) return undefined;
    return async (_world, disk) => {
      const text = await disk.read(path, ({ handle }) => handle.readFile('utf8'));
      return () => expect(text).toBe(readFileSync(end, 'utf8'));
    };
  },
  list: (world, path) => {
    const end = endOf(world, path);
    if (end === undefined || !lstatSync(end).isDirectory()) return undefined;
    return async (_world, disk) => {
      const { entries } = await disk.list(path, 1_000);
      return () => expect(entries.map((entry) => entry.name)).toEqual(readdirSync(end).sort());
    };
  },
  facts: (world, path) => {
    const end = endOf(world, path);
    if (end === undefined || (requiresFolder(path) && !lstatSync(end).isDirectory())) return undefined;
    return async (_world, disk) => {
      const { kind, sizeBytes } = await disk.facts(path);
      return () => {
        expect(kind).toBe(lstatSync(end).isDirectory() ? 'directory' : 'file');
        expect(sizeBytes).toBe(lstatSync(end).size);
      };
    };
  },
  write: (world, path) => {
    const free = freePath(world, path);
    const end = requiresFolder(path) ? undefined : (free ?? fileEnd(world, path));
    if (end === undefined) return undefined;
    return async (_world, disk) => {
      expect(await disk.write(path, 'written')).toMatchObject({ existed: free === undefined });
      return () => {
        expect(lstatSync(end).isFile()).toBe(true);
        expect(readFileSync(end, 'utf8')).toBe('written');
      };
    };
  },
  change: (world, path) => {
    const end = fileEnd(world, path);
    if (end === undefined) return undefined;
    return async (_world, disk) => {
      const before = readFileSync(end, 'utf8');
      await disk.change(path, 1_000, (content) => Buffer.concat([content, Buffer.from('!')]));
      return () => expect(readFileSync(end, 'utf8')).toBe(`${before}!`);
    };
  },
  makeDirectory: (world, path) => {
    const letters = world.letters(path);
    if (letters === undefined || !canBeFolder(world, letters)) return undefined;
    return async (_world, disk) => {
      await disk.makeDirectory(path);
      return () => expect(lstatSync(world.end(letters) ?? '').isDirectory()).toBe(true);
    };
  },
  move: (world, path, to) => {
    const source = entryPath(world, path);
    const destination = freePath(world, to);
    if (source === undefined || destination === undefined) return undefined;
    if ((requiresFolder(path) || requiresFolder(to)) && !lstatSync(source).isDirectory()) return undefined;
    if (join(world.root, 'box', 'inner').startsWith(`${source}/`) || world.isAllowedFolder(source))
      return undefined;
    if (destination.startsWith(`${source}/`)) return undefined;
    return async (_world, disk) => {
      const { ino, mode } = lstatSync(source);
      await disk.move(path, to);
      return () => {
        expect(entryAt(source)).toBeUndefined();
        expect(lstatSync(destination).mode).toBe(mode);
        if (!lstatSync(destination).isSymbolicLink()) expect(lstatSync(destination).ino).toBe(ino);
      };
    };
  },
};

function endOf(world: World, path: string): string | undefined {
  const letters = world.letters(path);
  return letters === undefined ? undefined : world.end(letters);
}

function fileEnd(world: World, path: string): string | undefined {
  const end = requiresFolder(path) ? undefined : endOf(world, path);
  return end !== undefined && lstatSync(end).isFile() ? end : undefined;
}

/** Returns the entry of the last name of the path in its folder, if the folder is inside. */
function parentPath(world: World, path: string): string | undefined {
  const letters = world.letters(path);
  if (letters === undefined || world.isAllowedFolder(letters)) return undefined;
  const parent = world.end(dirname(letters));
  return parent !== undefined && lstatSync(parent).isDirectory()
    ? join(parent, basename(letters))
    : undefined;
}

function entryPath(world: World, path: string): string | undefined {
  const there = parentPath(world, path);
  return there !== undefined && entryAt(there) !== undefined ? there : undefined;
}

function freePath(world: World, path: string): string | undefined {
  const there = parentPath(world, path);
  return there !== undefined && entryAt(there) === undefined ? there : undefined;
}

/** Returns true if there is a folder at the path, or if all missing folders could be created. */
function canBeFolder(world: World, letters: string): boolean {
  const end = world.end(letters);
  if (end !== undefined) return lstatSync(end).isDirectory();
  // A dangling link, or a link to the outside.
  if (resolveLinks(letters, false) !== undefined) return false;
  return dirname(letters) !== letters && canBeFolder(world, dirname(letters));
}

test('every filesystem call acts in the allowed folder or is refused, and nothing outside is read or changed', async () => {
  const counts = new Map<string, number>();
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(
      tree,
      fc.array(call, { minLength: 4, maxLength: 12, size: 'max' }),
      fc.constantFrom(pinByProc, pinByName),
      async (treeOfRun, calls, pin) => {
        const world = new World(treeOfRun);
        try {
          const folders = ['box', 'alias', 'box/inner'].map((folder) => join(world.root, folder));
          const disk = await openConfinement(folders, pin);
          const outside = world.outside();
          for (const { does, path, to } of calls) {
            const [reallyPath, reallyTo] = [world.really(path), world.really(to)];
            const act = oracle[does]?.(world, reallyPath, reallyTo);
            if (act) {
              const check = await act(world, disk, reallyPath, reallyTo);
              check();
              counts.set(does, (counts.get(does) ?? 0) + 1);
            } else {
              await expectRefusal(world, disk, { does, path: reallyPath, to: reallyTo });
              refused++;
            }
            expect(world.outside()).toEqual(outside);
          }
          await disk.close();
        } finally {
          world.close();
        }
      },
    ),
    { numRuns: RUNS },
  );
  // Each kind of call must be accepted and refused often enough.
  for (const does of Object.keys(oracle)) expect(counts.get(does), does).toBeGreaterThan(MANY);
  expect(refused).toBeGreaterThan(MANY);
});

async function expectRefusal(world: World, disk: Confinement, { does, path, to }: Call): Promise<void> {
  const before = world.everything();
  const work: Record<string, () => Promise<unknown>> = {
    read: () => disk.read(path, ({ handle }) => handle.readFile('utf8')),
    list: () => disk.list(path, 1_000),
    facts: () => disk.facts(path),
    write: () => disk.write(path, 'written'),
    change: () => disk.change(path, 1_000, () => Buffer.from('written')),
    makeDirectory: () => disk.makeDirectory(path),
    move: () => disk.move(path, to),
  };
  const error = await work[does]?.().then(
    (result) => new Error(`${does} was let through: ${JSON.stringify(result)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ToolError)) throw error;
  expect(error.message).not.toContain('SECRET');
  expect(error.message).not.toContain('/proc/self/fd/');
  if (![path, to].some((spoken) => spoken.includes('outside')))
    expect(error.message).not.toContain('outside/');
  // Folders created before the failure may remain.
  if (does !== 'makeDirectory') expect(world.everything()).toEqual(before);
}
