// The arrow of imports: src → actors → machines → config. Each room may import the rooms to its right.
// This test reads the import lines, so that the picture in ARCHITECTURE.md stays true by force.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '..');

const rooms = ['config', 'machines', 'actors', 'src', 'libs', 'tool-servers'] as const;
type Room = (typeof rooms)[number];

const maySee: Record<Room, readonly Room[]> = {
  config: [],
  machines: ['config'],
  actors: ['config', 'machines', 'libs'],
  src: ['config', 'machines', 'actors'],
  // What the gateway and the programs of its own share: clients of HTTP APIs, globs.
  libs: [],
  // Programs of their own.
  'tool-servers': ['libs'],
};

/** Packages that only these rooms may name; every other package is free. */
const packageHomes: Record<string, readonly Room[]> = {
  yaml: ['config'],
  xstate: ['machines', 'actors', 'src'],
  pino: ['src'],
  'uWebSockets.js': ['src'],
  '@modelcontextprotocol/sdk/server/mcp.js': ['tool-servers'],
  'playwright-core': ['tool-servers'],
  zod: ['tool-servers'],
};

interface Import {
  readonly file: string;
  readonly room: Room;
  readonly from: string;
  readonly isTypeOnly: boolean;
}

function sourcesOf(room: Room): string[] {
  return readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(root, room, name));
}

function importsOf(room: Room): Import[] {
  return sourcesOf(room).flatMap((file) => {
    const text = readFileSync(file, 'utf8');
    const found = text.matchAll(
      /^\s*(?:import|export)\s+(type\s)?[^'";]*?from\s+'([^']+)'|^\s*import\s+'([^']+)'|\bimport\('([^']+)'\)/gm,
    );
    return [...found].map((match) => ({
      file: relative(root, file),
      room,
      from: match[2] ?? match[3] ?? match[4] ?? '',
      isTypeOnly: match[1] !== undefined,
    }));
  });
}

function roomOf(file: string, from: string): string | undefined {
  if (!from.startsWith('.')) return undefined;
  return relative(root, resolve(root, dirname(file), from)).split(/[\\/]/)[0];
}

const everyImport = rooms.flatMap(importsOf);

describe('the rooms', () => {
  test('are not empty, so that this test cannot pass by finding nothing', () => {
    for (const room of rooms) expect(sourcesOf(room).length, room).toBeGreaterThan(1);
    expect(everyImport.length).toBeGreaterThan(50);
  });

  test('import only the rooms to their right', () => {
    const wrong = everyImport.filter(({ file, room, from }) => {
      const target = roomOf(file, from);
      // The program's version is the one thing that stands outside of all rooms.
      if (target === undefined || target === room || target === 'package.json') return false;
      return !maySee[room].includes(target as Room);
    });
    expect(wrong).toEqual([]);
  });

  test('of actors/ import values of lower rooms only', () => {
    const upper = ['automation', 'agents', 'platforms', 'events', 'gateway', 'cluster'];
    const order = [...upper, 'mcp', 'store', 'state', 'identity', 'base'];
    const layerOf = (path: string) => {
      const [room, layer = ''] = relative(root, resolve(root, path)).split(/[\\/]/);
      return room === 'actors' ? order.indexOf(layer) : undefined;
    };
    const actors = everyImport.filter(({ file, from }) => file.startsWith('actors/') && from.startsWith('.'));
    expect(actors.length).toBeGreaterThan(1_500);
    expect(actors.filter(({ file }) => layerOf(file) === -1)).toEqual([]);
    const wrong = actors.filter(({ file, from, isTypeOnly }) => {
      const target = layerOf(join(dirname(file), from));
      return !isTypeOnly && target !== undefined && target < (layerOf(file) ?? 0);
    });
    expect(wrong).toEqual([]);
  });

  test('machines take nothing but types from config, and nothing from Node', () => {
    const wrong = everyImport.filter(
      ({ file, room, from, isTypeOnly }) =>
        room === 'machines' && (from.startsWith('node:') || (roomOf(file, from) === 'config' && !isTypeOnly)),
    );
    expect(wrong).toEqual([]);
  });

  test('name only the packages that are theirs', () => {
    const wrong = everyImport.filter(({ room, from }) => {
      const homes = packageHomes[from];
      return homes !== undefined && !homes.includes(room);
    });
    expect(wrong).toEqual([]);
  });

  test('let the page of the inspector import only the wire types, the known clients and the check of values by a schema', () => {
    const page = everyImport.filter(({ file }) => file.startsWith('src/inspector/page/'));
    expect(page.length).toBeGreaterThan(20);
    const wrong = page.filter(({ file, from, isTypeOnly }) => {
      const target = from.startsWith('.') ? relative(root, resolve(root, dirname(file), from)) : from;
      if (target.startsWith('src/inspector/page/')) return false;
      return (
        !(isTypeOnly && /^src\/inspector\/wire\//.test(target)) &&
        !/^config\/(clients|value-schema)\/[\w-]+\.ts$/.test(target) &&
        !/^(preact(\/hooks)?|@dagrejs\/dagre)$/.test(from)
      );
    });
    expect(wrong).toEqual([]);
  });

  test('hold no junk drawer', () => {
    const drawers = rooms
      .flatMap(sourcesOf)
      .filter((file) => /\/(utils?|helpers?|common|misc)\.tsx?$/.test(file));
    expect(drawers).toEqual([]);
  });
});
