// The direction of imports: src → actors → machines → config, and top down through the rooms of actors/.
// Imports of types count too; the parser finds each form of an import. Biome forbids cycles
// (import-cycles.test.ts).

import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { describe, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '..');

const rooms = ['config', 'machines', 'actors', 'src', 'libs', 'tool-servers'] as const;
type Room = (typeof rooms)[number];

const maySee: Record<Room, readonly Room[]> = {
  config: [],
  machines: ['config'],
  actors: ['config', 'machines', 'libs'],
  src: ['config', 'machines', 'actors'],
  // Shared by the gateway and its tool servers: clients of HTTP APIs, globs.
  libs: [],
  // Separate programs.
  'tool-servers': ['libs'],
};

/** Packages that only these rooms may import; any room may import other packages. */
const packageHomes: Record<string, readonly Room[]> = {
  yaml: ['config'],
  xstate: ['machines', 'actors', 'src'],
  pino: ['src'],
  'uWebSockets.js': ['src'],
  '@modelcontextprotocol/sdk/server/mcp.js': ['tool-servers'],
  'playwright-core': ['tool-servers'],
  zod: ['tool-servers'],
};

/** The rooms of actors/, top down. */
const actorRooms = [
  'automation',
  'agents',
  'platforms',
  'events',
  'gateway',
  'cluster',
  'mcp',
  'store',
  'audit',
  'history',
  'state',
  'identity',
  'base',
];

interface Import {
  /** Paths are relative to the root of the repository. */
  readonly file: string;
  readonly room: Room;
  /** File path or package name. */
  readonly target: string;
  /** True if the import is erased at run time. */
  readonly isTypeOnly: boolean;
}

function sourcesOf(room: Room): string[] {
  return readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => `${room}/${name}`);
}

/** Returns a file's imports: static and dynamic imports, re-exports, and imports within types. */
function importsOf(file: string, text: string): readonly Import[] {
  const { program, errors } = parseSync(file, text);
  expect(errors, file).toEqual([]);
  const imports: Import[] = [];
  const add = (source: object | null, isTypeOnly: boolean) => {
    if (source === null || !('value' in source) || typeof source.value !== 'string') return;
    const from = source.value;
    const target = from.startsWith('.') ? join(file, '..', from) : from;
    imports.push({ file, room: roomOf(file) as Room, target, isTypeOnly });
  };
  new Visitor({
    ImportDeclaration: ({ source, importKind }) => add(source, importKind === 'type'),
    ExportNamedDeclaration: ({ source, exportKind }) => add(source, exportKind === 'type'),
    ExportAllDeclaration: ({ source, exportKind }) => add(source, exportKind === 'type'),
    ImportExpression: ({ source }) => add(source, false),
    TSImportType: ({ source }) => add(source, true),
    TSExternalModuleReference: ({ expression }) => add(expression, false),
  }).visit(program);
  return imports;
}

function roomOf(path: string): string {
  return path.split('/')[0] ?? '';
}

/** Returns an actors/ file's position in the room order; undefined outside actors/. */
function levelOf(path: string): number | undefined {
  const [room, actorRoom = ''] = path.split('/');
  return room === 'actors' ? actorRooms.indexOf(actorRoom) : undefined;
}

function leavesRooms({ room, target }: Import): boolean {
  const other = roomOf(target) as Room;
  return rooms.includes(other) && other !== room && !maySee[room].includes(other);
}

function pointsUp({ file, target }: Import): boolean {
  const level = levelOf(file);
  const other = levelOf(target);
  return level !== undefined && other !== undefined && other < level;
}

function breaksMachines({ room, target, isTypeOnly }: Import): boolean {
  if (room !== 'machines') return false;
  return target.startsWith('node:') || (roomOf(target) === 'config' && !isTypeOnly);
}

function breaksPackages({ room, target }: Import): boolean {
  const homes = packageHomes[target];
  return homes !== undefined && !homes.includes(room);
}

function breaksPage({ file, target, isTypeOnly }: Import): boolean {
  const page = 'src/inspector/page/';
  if (!file.startsWith(page) || target.startsWith(page)) return false;
  return (
    !(isTypeOnly && /^src\/(?:inspector\/wire\/|http\/api\/[\w-]+-shapes\.ts$)/.test(target)) &&
    !/^config\/(clients|value-schema)\/[\w-]+\.ts$/.test(target) &&
    !/^(preact(\/hooks)?|@dagrejs\/dagre)$/.test(target)
  );
}

const everyImport = rooms
  .flatMap(sourcesOf)
  .flatMap((file) => importsOf(file, readFileSync(join(root, file), 'utf8')));

describe('the rooms (top-level source folders)', () => {
  test('are not empty, and the number of imports found is plausible', () => {
    for (const room of rooms) expect(sourcesOf(room).length, room).toBeGreaterThan(1);
    expect(sourcesOf('actors').filter((file) => levelOf(file) === -1)).toEqual([]);
    expect(everyImport.filter(({ file }) => levelOf(file) !== undefined).length).toBeGreaterThan(3_000);
    expect(everyImport.filter(({ file }) => file.startsWith('src/inspector/page/')).length).toBeGreaterThan(
      20,
    );
  });

  test('import each other only in the allowed order', () => {
    expect(everyImport.filter(leavesRooms)).toEqual([]);
  });

  test('let folders inside actors/ import only lower layers, type imports included', () => {
    expect(everyImport.filter(pointsUp)).toEqual([]);
  });

  test('let machines/ import only types from config/, and nothing from Node', () => {
    expect(everyImport.filter(breaksMachines)).toEqual([]);
  });

  test('import only the packages that the room may use', () => {
    expect(everyImport.filter(breaksPackages)).toEqual([]);
  });

  test('let the inspector page import only API types, known clients and the schema check', () => {
    expect(everyImport.filter(breaksPage)).toEqual([]);
  });

  test('have no file that imports itself', () => {
    expect(everyImport.filter(({ file, target }) => file === target)).toEqual([]);
  });

  test('have no file for miscellaneous code', () => {
    const drawers = rooms
      .flatMap(sourcesOf)
      .filter((file) => /\/(utils?|helpers?|common|misc)\.tsx?$/.test(file));
    expect(drawers).toEqual([]);
  });
});

describe('the rules find each form of an import:', () => {
  const typeForms = [
    "import type { A } from 'X';",
    "import type {} from 'X';",
    "import type * as all from 'X';",
    "export type { A } from 'X';",
    "export type * from 'X';",
    "export type B = import('X').A;",
    "export let b: typeof import('X');",
  ];
  const valueForms = [
    "import { a } from 'X';",
    "import {} from 'X';",
    "import 'X';",
    "import { type A } from 'X';",
    "import * as all from 'X';",
    "import {\n  // }\n  a,\n} from\n  'X';",
    "const b = 1; import { a } from 'X';",
    'import { a } from "X";',
    "export { a } from 'X';",
    "export { type A } from 'X';",
    "export * from 'X';",
    "export const load = () => import('X');",
    "export const load = () => import(/* late */ 'X');",
    "import a = require('X');",
  ];
  const importsIn = (form: string, file: string, target: string) =>
    importsOf(file, form.replace('X', target));

  test.each([...typeForms, ...valueForms])('%s', (form) => {
    expect(importsIn(form, 'actors/mcp/links/x.ts', '../../gateway/gateway.ts').map(pointsUp)).toEqual([
      true,
    ]);
    expect(importsIn(form, 'actors/gateway/x.ts', '../mcp/links/link.ts').map(pointsUp)).toEqual([false]);
    expect(importsIn(form, 'config/x.ts', '../machines/server.ts').map(leavesRooms)).toEqual([true]);
    expect(importsIn(form, 'src/x.ts', '../tool-servers/stderr-log.ts').map(leavesRooms)).toEqual([true]);
    expect(importsIn(form, 'machines/x.ts', 'node:fs').map(breaksMachines)).toEqual([true]);
    expect(importsIn(form, 'actors/base/x.ts', 'pino').map(breaksPackages)).toEqual([true]);
    expect(importsIn(form, 'src/inspector/page/x.tsx', '../access.ts').map(breaksPage)).toEqual([true]);
  });

  test.each(typeForms)('%s imports types only', (form) => {
    expect(importsIn(form, 'machines/x.ts', '../config/config-hash.ts').map(breaksMachines)).toEqual([false]);
    expect(importsIn(form, 'src/inspector/page/x.ts', '../wire/wire.ts').map(breaksPage)).toEqual([false]);
  });

  test.each(valueForms)('%s imports values', (form) => {
    expect(importsIn(form, 'machines/x.ts', '../config/config-hash.ts').map(breaksMachines)).toEqual([true]);
    expect(importsIn(form, 'src/inspector/page/x.ts', '../wire/wire.ts').map(breaksPage)).toEqual([true]);
  });
});
