// Prints the functions with the largest share in a profile, without the functions they call: time in a
// .cpuprofile, bytes in a .heapprofile. Developer tools of browsers show the same files as flame charts.
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
  // A run may start several gateways, which write separate profiles.
  if (files.length > 1) console.log(`${basename(file)}:`);
  show(JSON.parse(readFileSync(file, 'utf8')));
}

function show(profile) {
  const shares = profile.head === undefined ? timesIn(profile) : bytesIn(profile.head);
  const total = [...shares.values()].reduce((sum, value) => sum + value, 0);
  const sorted = [...shares].sort(([, a], [, b]) => b - a).slice(0, count);
  for (const [label, value] of sorted)
    console.log(`${((value / total) * 100).toFixed(1).padStart(5)} %  ${label}`);
}

/** Returns the self time per function, without idle time. */
function timesIn({ nodes, samples, timeDeltas }) {
  const labels = new Map(nodes.map(({ id, callFrame }) => [id, labelOf(callFrame)]));
  const shares = new Map();
  for (const [at, id] of samples.entries()) add(shares, labels.get(id), timeDeltas[at]);
  shares.delete('(idle)');
  return shares;
}

/** Returns the allocated bytes per function. `head` is the root of the call tree. */
function bytesIn(head) {
  const shares = new Map();
  const pending = [head];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    add(shares, labelOf(node.callFrame), node.selfSize);
    pending.push(...node.children);
  }
  return shares;
}

function add(shares, label, value) {
  shares.set(label, (shares.get(label) ?? 0) + value);
}

function labelOf({ functionName, url, lineNumber }) {
  const name = functionName === '' ? '(anonymous)' : functionName;
  return url === '' ? name : `${name}  ${basename(url)}:${lineNumber + 1}`;
}
