// One name, one type: an exported type name occurs in one room only, and no local type has the name of an
// exported one.

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { filesIn } from './plan.ts';

const root = resolve(import.meta.dirname, '..');
const EXPORTED = /^export (?:abstract )?(?:interface|type|class|enum) ([A-Z]\w*)/gm;
const LOCAL = /^(?:abstract )?(?:interface|type|class|enum) ([A-Z]\w*)/gm;

const sources = ['actors', 'config', 'libs', 'machines', 'src', 'tool-servers'].flatMap((folder) =>
  filesIn(folder, (name) => /\.tsx?$/.test(name) && !name.includes('node_modules')),
);

/** Returns the rooms of each type name that matches. */
function roomsOf(declaration: RegExp): Map<string, Set<string>> {
  const rooms = new Map<string, Set<string>>();
  for (const path of sources) {
    for (const [, name = ''] of readFileSync(join(root, path), 'utf8').matchAll(declaration)) {
      const found = rooms.get(name) ?? new Set();
      rooms.set(name, found.add(roomOf(path)));
    }
  }
  return rooms;
}

/** `actors/mcp` and `src/http` are rooms, and so is `config`. */
function roomOf(path: string): string {
  const [top = '', folder = ''] = path.split('/');
  return top === 'actors' || top === 'src' ? `${top}/${folder}` : top;
}

test('an exported type name occurs in one room', () => {
  const exported = roomsOf(EXPORTED);
  expect(exported.size).toBeGreaterThan(1_000);
  const repeated = [...exported].filter(([, rooms]) => rooms.size > 1);
  expect(repeated.map(([name, rooms]) => `${name}: ${[...rooms].join(' ')}`)).toEqual([]);
});

test('no local type has the name of an exported type', () => {
  const exported = roomsOf(EXPORTED);
  expect([...roomsOf(LOCAL).keys()].filter((name) => exported.has(name))).toEqual([]);
});
