// Files that import each other's values, around any number of corners, can be read in no order and tested in no part. Types
// (`import type`) may refer to each other, and an `import()` comes when everything has been loaded.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '..');
const rooms = ['config', 'machines', 'actors', 'libs', 'src', 'tool-servers'];

/** Of each file those whose values it imports. */
function valueImports(): Map<string, readonly string[]> {
  const files = rooms.flatMap((room) =>
    readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => join(room, name)),
  );
  return new Map(files.map((file) => [file, importsOf(file)]));
}

function importsOf(file: string): readonly string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const found = text.matchAll(/^(?:import|export)\s(?!type\b)(?:[^'";]*?\sfrom\s)?'(\.[^']+)'/gm);
  return [...found].map(([, from = '']) => relative(root, resolve(root, dirname(file), from)));
}

/** Groups of files each of which leads to each other of its group (Tarjan). */
function cyclesOf(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const cycles: string[][] = [];
  const visit = (file: string): number => {
    const at = order.size;
    order.set(file, at);
    lowest.set(file, at);
    open.push(file);
    for (const next of graph.get(file) ?? []) {
      const there = order.has(next) ? (open.includes(next) ? (order.get(next) ?? at) : at) : visit(next);
      lowest.set(file, Math.min(lowest.get(file) ?? at, there));
    }
    if (lowest.get(file) === at) {
      const group = open.splice(open.indexOf(file));
      if (group.length > 1 || graph.get(file)?.includes(file)) cycles.push(group.sort());
    }
    return lowest.get(file) ?? at;
  };
  for (const file of graph.keys()) if (!order.has(file)) visit(file);
  return cycles;
}

test('a cycle is found, however long it is, and whatever leads into it', () => {
  const graph = new Map([
    ['in', ['a', 'out']],
    ['a', ['b']],
    ['b', ['c', 'out']],
    ['c', ['a']],
    ['out', []],
    ['self', ['self']],
  ]);
  expect(cyclesOf(graph)).toEqual([['a', 'b', 'c'], ['self']]);
});

test('the graph has its files and arrows, so that nothing passes by finding nothing', () => {
  const graph = valueImports();
  expect(graph.size).toBeGreaterThan(400);
  expect([...graph.values()].flat().length).toBeGreaterThan(1_500);
  const unknown = [...graph.values()].flat().filter((file) => !graph.has(file) && file !== 'package.json');
  expect(unknown).toEqual([]);
});

test('no file leads back to itself by imports of values', () => {
  expect(cyclesOf(valueImports())).toEqual([]);
});
