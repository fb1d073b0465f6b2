// The functions with the largest share of their own in a profile, as text: of time in a .cpuprofile, of bytes in a
// .heapprofile. Browsers' developer tools show the same files as flame charts.
//
// node bench/top.mjs FILE... [COUNT]

import { readFileSync } from 'node:fs';
import { basename } from 'node:path';

const files = process.argv.slice(2);
const count = /^\d+$/.test(files.at(-1) ?? '') ? Number(files.pop()) : 30;
if (files.length === 0) {
  console.error('usage: node bench/top.mjs FILE... [COUNT]');
  process.exit(2);
}
for (const file of files) {
  // A run may start several gateways, which write a profile each.
  if (files.length > 1) console.log(`${basename(file)}:`);
  show(JSON.parse(readFileSync(file, 'utf8')));
}

function show(profile) {
  const shares = profile.head === undefined ? timesIn(profile) : bytesIn(profile.head);
  const total = [...shares.values()].reduce((sum, value) => sum + value, 0);
  const sorted = [...shares].sort(([, a], [, b]) => b - a).slice(0, count);
  for (const [place, value] of sorted)
    console.log(`${((value / total) * 100).toFixed(1).padStart(5)} %  ${place}`);
}

/** Time without the time of what is called; waiting is left out. */
function timesIn({ nodes, samples, timeDeltas }) {
  const places = new Map(nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]));
  const found = new Map();
  for (const [at, id] of samples.entries()) add(found, places.get(id), timeDeltas[at]);
  found.delete('(idle)');
  return found;
}

function bytesIn(head) {
  const found = new Map();
  const left = [head];
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    add(found, placeOf(node.callFrame), node.selfSize);
    left.push(...node.children);
  }
  return found;
}

function add(found, place, value) {
  found.set(place, (found.get(place) ?? 0) + value);
}

function placeOf({ functionName, url, lineNumber }) {
  const name = functionName === '' ? '(anonymous)' : functionName;
  return url === '' ? name : `${name}  ${basename(url)}:${lineNumber + 1}`;
}
